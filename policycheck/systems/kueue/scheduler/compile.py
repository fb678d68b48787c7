"""Objects to a session: trees, queues with their reasons for being inactive, and initial workloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policycheck.model.inventory import Node
from policycheck.systems.kueue.model import (
    AdmissionFairSharing,
    ClusterQueue,
    KueueObjects,
    WaitForPodsReady,
)
from policycheck.systems.kueue.quota import build
from policycheck.systems.kueue.scheduler.land import survey
from policycheck.systems.kueue.scheduler.limits import LimitRule
from policycheck.systems.kueue.scheduler.local import Ledger
from policycheck.systems.kueue.scheduler.outage import failing
from policycheck.systems.kueue.scheduler.plan import Rules
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.shape import Shapes
from policycheck.systems.kueue.scheduler.share import Shares
from policycheck.systems.kueue.scheduler.state import Queue
from policycheck.systems.kueue.scheduler.topology import profile, traits
from policycheck.systems.kueue.scheduler.world import World
from policycheck.systems.kueue.target import Strategy, Target, gates, strategy

_LATEST = Target()
Namespaces = Mapping[str, Mapping[str, str]]


def compile_session(
    objects: KueueObjects,
    namespaces: Namespaces,
    target: Target = _LATEST,
    *,
    limit_rules: Iterable[LimitRule] = (),
    nodes: Iterable[Node] | None = None,
    now: int = 0,
) -> Session:
    """A session of all queues, with every unfinished workload of ``objects`` in its place.

    ``nodes`` are what flavors with a topology place pods on; None when nobody knows them: then quota
    alone decides.

    ``namespaces`` gives labels by namespace; one that is not listed has none. Never raises for what
    the objects say: a queue that cannot work is inactive with Kueue's own reason.
    """
    rules, on = strategy(target), gates(target)
    configuration = objects.configuration
    forest = build(objects.cluster_queues.values(), objects.cohorts.values(), lending=rules.lending)
    fair = configuration.fair_sharing
    every = () if nodes is None else tuple(nodes)
    land = None if nodes is None else survey(objects, every, rules)
    queues = {}
    for config in objects.cluster_queues.values():
        tree, node = forest.place[config.name]
        queue = Queue(config, tree, node, _rules(config, rules, fair=fair is not None))
        queue.inactive = "CohortCycleDetected" if config.name in forest.cyclic else inactive(config, objects)
        queue.by_local = _orders_by_local(config, configuration.admission_fair_sharing, rules)
        queue.traits = traits(config, objects, land)
        queues[config.name] = queue
        for group in config.groups:
            for flavor in group.flavors:
                for resource in group.covered:
                    forest.trees[tree].cell(node, (flavor.name, resource))
    locals_ = {f"{q.namespace}/{q.name}": q for q in objects.local_queues.values()}
    world = World(
        objects=objects,
        strategy=rules,
        namespaces=namespaces,
        limit_rules=tuple(limit_rules),
        shapes=Shapes(configuration, reclaims=rules.reclaimable_pods, variants=rules.concurrent),
        shares=tuple(map(Shares, forest.trees)),
        fair=fair.preemption_strategies if fair else None,
        ignore_undeclared=rules.ignores_undeclared
        and configuration.quota_check_strategy == "IgnoreUndeclared",
        locals=locals_,
        profile=profile(rules)._replace(least_free=_least_free(target)),
        failing=failing(on, target.version),
        waits=on["WaitForPodsReadyDefault"] or configuration.wait_for_pods_ready != WaitForPodsReady(),
    )
    ledger = None
    if rules.admission_fair_sharing and configuration.admission_fair_sharing is not None:
        ledger = Ledger(configuration.admission_fair_sharing, locals_)
    session = Session(world, forest.trees, queues, ledger, now, land, every)
    session.offer(objects.workloads.values())
    return session


def _least_free(target: Target) -> bool:
    """The gate that made LeastFreeCapacity the profile of all pods is gone since 0.17."""
    return target.version < (0, 17) and target.gates.get("TASProfileLeastFreeCapacity") is True


def _rules(config: ClusterQueue, rules: Strategy, *, fair: bool) -> Rules:
    preemption = config.preemption
    borrowing = preemption.borrow_within_cohort.policy != "Never" or (
        fair and preemption.reclaim_within_cohort != "Never"
    )
    return Rules(config.fungibility, borrowing, rules.fungibility)


def _orders_by_local(config: ClusterQueue, config_fair: AdmissionFairSharing | None, rules: Strategy) -> bool:
    return (
        rules.admission_fair_sharing
        and config_fair is not None
        and config.admission_mode == "UsageBasedAdmissionFairSharing"
    )


def inactive(queue: ClusterQueue, objects: KueueObjects) -> str:
    """Why a ClusterQueue takes no workloads, or "" (documentation, ClusterQueue status)."""
    if queue.deleting:
        return "Terminating"
    if queue.stop_policy in ("Hold", "HoldAndDrain"):
        return "Stopped"
    flavors = [f.name for group in queue.groups for f in group.flavors]
    if any(name not in objects.flavors for name in flavors):
        return "FlavorNotFound"
    checks = [objects.checks.get(rule.name) for rule in queue.checks]
    if any(check is None for check in checks):
        return "AdmissionCheckNotFound"
    if any(check is not None and check.active is False for check in checks):
        return "AdmissionCheckInactive"
    topologies = {objects.flavors[name].topology for name in flavors} - {""}
    if any(name not in objects.topologies for name in topologies):
        return "TopologyNotFound"
    return ""
