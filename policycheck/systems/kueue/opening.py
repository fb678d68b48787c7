"""A linked cluster as the scheduler finds it: everything a session needs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Inventory, Node
from policycheck.record import NamedTuple
from policycheck.systems.core.defaults import LimitRange
from policycheck.systems.core.link import CoreState
from policycheck.systems.kueue.model import Configuration, KueueObjects, KueueWorkload
from policycheck.systems.kueue.scheduler.compile import compile_session
from policycheck.systems.kueue.scheduler.limits import LimitRule
from policycheck.systems.kueue.scheduler.moment import NANOS, moment
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.state import KueueState
from policycheck.systems.kueue.target import Target, parse_version

if TYPE_CHECKING:
    from policycheck.lint.settings import Target as Said


class Opening(NamedTuple):
    """What holds before the first cycle. ``now`` is a second after the last time in sight.

    ``nodes`` are what pods are placed on; None when they are not all known, since pools that grow on
    demand or no inventory at all leave placement undecided: then quota alone decides.
    """

    objects: KueueObjects
    namespaces: Mapping[str, Mapping[str, str]]
    limit_rules: tuple[LimitRule, ...]
    target: Target
    now: int
    nodes: tuple[Node, ...] | None = None

    def session(self) -> Session:
        """A session in which no cycle has been run."""
        return compile_session(
            self.objects,
            self.namespaces,
            self.target,
            limit_rules=self.limit_rules,
            nodes=self.nodes,
            now=self.now,
        )


def target_of(said: Said | None, configuration: Configuration) -> Target:
    """The Kueue that is assumed: as said, with gates that the Configuration sets beneath those said.

    Raises TargetError for a version that is none.
    """
    gates = dict(configuration.feature_gates)
    if said is None:
        return Target(gates=gates)
    return Target(parse_version(said.version), {**gates, **said.gates}, said.assumed)


def opening(cluster: Cluster, said: Said | None) -> Opening:
    """The opening of ``cluster``, which must have been linked with Kueue. Raises TargetError."""
    state, core = cluster.systems.get("kueue"), cluster.systems.get("core")
    if not isinstance(state, KueueState):
        raise TypeError("the cluster was linked without Kueue")
    known = core.namespaces if isinstance(core, CoreState) else {}
    namespaces = {
        name: {**namespace.labels, "kubernetes.io/metadata.name": name} for name, namespace in known.items()
    }
    for namespace, _ in (*state.objects.local_queues, *state.objects.workloads):
        namespaces.setdefault(namespace, {"kubernetes.io/metadata.name": namespace})
    return Opening(
        state.objects,
        namespaces,
        tuple(_limit_rules(cluster)),
        target_of(said, state.objects.configuration),
        _now(state.objects.workloads.values()),
        _nodes(cluster.inventory),
    )


def _nodes(inventory: Inventory) -> tuple[Node, ...] | None:
    is_fixed = all(node.most == node.machines for node in inventory.nodes)
    return inventory.nodes if inventory.known and is_fixed else None


def _now(workloads: Iterable[KueueWorkload]) -> int:
    times = [0]
    for workload in workloads:
        times.append(moment(workload.created))
        times.extend(moment(c.since) for c in workload.conditions.values())
    return max(times) + NANOS


def _limit_rules(cluster: Cluster) -> Iterable[LimitRule]:
    for _, entry in cluster.index.of_kind("", "LimitRange"):
        found = entry.facts.typed
        if isinstance(found, LimitRange):
            yield LimitRule(found.namespace, "Container", found.most, found.least)
            yield LimitRule(found.namespace, "Pod", found.pod_most, found.pod_least)
