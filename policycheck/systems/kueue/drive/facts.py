"""What the engine is told of a Kueue configuration before the run: queues, patience, the principal resource."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.amount import UNLIMITED, add
from policycheck.simulate.events import NEVER, Pair, Patience, QueueFacts, Words
from policycheck.systems.gpu.resources import is_accelerator, is_whole
from policycheck.systems.kueue.model import ClusterQueue, Configuration, KueueObjects
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.state import quotas
from policycheck.systems.kueue.target import Target, gates

# Reasons of the conditions Evicted and, beneath Deactivated, of what led to it (API reference, Workload).
WORDS = Words(
    preempted="Preempted",
    not_ready="PodsReadyTimeout",
    node_lost="NodeFailures",
    check="AdmissionCheck",
    given_up="Deactivated",
    retried_out="RequeuingLimitExceeded",
    too_long="MaximumExecutionTimeExceeded",
)


def principal(objects: KueueObjects) -> str:
    """The resource that a simulation is told in: whole accelerators if queues have any, else accelerators
    in another form, else the first that queues give quota in. Of several the one with the most quota.
    """
    total: dict[str, int] = {}
    for queue in objects.cluster_queues.values():
        for (_, resource), quota in quotas(queue.groups).items():
            total[resource] = add(total.get(resource, 0), quota.nominal)
    for kind in (is_whole, is_accelerator):
        found = [resource for resource in total if kind(resource)]
        if found:
            return max(found, key=lambda r: (total[r], r))
    return next(iter(total), "cpu")


def patience(configuration: Configuration, target: Target) -> Patience:
    """Timeouts of waitForPodsReady in ms. Without a Configuration in sight it is on from 0.19 (K#11366)."""
    waits = configuration.wait_for_pods_ready
    on = waits.enabled if configuration.found else gates(target)["WaitForPodsReadyDefault"]
    if not on:
        return Patience()
    return Patience(
        timeout=round(waits.timeout * 1000),
        recovery=round(waits.recovery_timeout * 1000),
        base=round(waits.backoff_base * 1000),
        cap=round(waits.backoff_max * 1000),
        most=NEVER if waits.backoff_limit is None else waits.backoff_limit,
        alone=waits.block_admission,
    )


def queue_facts(session: Session, queue: ClusterQueue, resource: str) -> QueueFacts:
    """A ClusterQueue for the record; the limit is what all flavors together could ever give it."""
    nominal: Mapping[Pair, int] = {pair: quota.nominal for pair, quota in quotas(queue.groups).items()}
    place = session.queues[queue.name]
    tree = session.trees[place.tree]
    limit = 0
    for pair in nominal:
        if pair[1] == resource:
            limit = add(limit, min(tree.ceiling[tree.cell(place.node, pair)], UNLIMITED))
    weight = 1000 if queue.fair_weight is None else queue.fair_weight
    return QueueFacts(queue.name, queue.cohort, nominal, limit, weight)
