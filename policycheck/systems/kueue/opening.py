"""A linked cluster as the scheduler finds it: everything a session needs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from policycheck.model.capacity import CORE
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

_ENOUGH = 10_000  # machines of a pool without a bound
_PLENTY = 1 << 50  # of cpu, memory, pods: more than is ever asked for, and far from where amounts saturate


class Pools(NamedTuple):
    """The nodes when pools that grow on demand are as small, and as large, as they may be.

    A pool without a bound has as many machines at most as there are pods in sight.
    """

    least: tuple[Node, ...]
    most: tuple[Node, ...]
    names: tuple[str, ...]  # of the pools


class Opening(NamedTuple):
    """What holds before the first cycle. ``now`` is a second after the last time in sight.

    ``nodes`` are what pods are placed on; None when they are not all known, since pools that grow on
    demand or no inventory at all leave placement undecided: then quota alone decides. ``pools`` are both
    ends of what elastic pools leave open; ``near`` the flavors that have nodes in common, by flavor. What
    every node has some of and no source tells of (``untold``) they have enough of.
    """

    objects: KueueObjects
    namespaces: Mapping[str, Mapping[str, str]]
    limit_rules: tuple[LimitRule, ...]
    target: Target
    now: int
    nodes: tuple[Node, ...] | None = None
    pools: Pools | None = None
    near: Mapping[str, frozenset[str]] = {}
    untold: frozenset[str] = frozenset()

    def smallest(self) -> Opening:
        """The same with all pools at their minimum; as it is when there are none."""
        return self if self.pools is None else self._replace(nodes=self.pools.least, pools=None)

    def largest(self) -> Opening:
        """The same with all pools at their maximum; as it is when there are none."""
        return self if self.pools is None else self._replace(nodes=self.pools.most, pools=None)

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
    inventory = cluster.inventory._replace(nodes=tuple(map(filled, cluster.inventory.nodes)))
    return Opening(
        state.objects,
        namespaces,
        tuple(_limit_rules(cluster)),
        target_of(said, state.objects.configuration),
        _now(state.objects.workloads.values()),
        _nodes(inventory),
        _pools(inventory, state.objects),
        _near(inventory, state.objects),
        frozenset(r for node in cluster.inventory.nodes for r in _untold(node)),
    )


def _untold(node: Node) -> frozenset[str]:
    return frozenset() if node.allocatable is None else CORE - node.allocatable.keys()


def filled(node: Node) -> Node:
    """The node with enough of what its list of amounts leaves out though every node has some."""
    lacking = _untold(node)
    if not lacking or node.allocatable is None:
        return node
    return node._replace(allocatable={**dict.fromkeys(sorted(lacking), _PLENTY), **node.allocatable})


def _nodes(inventory: Inventory) -> tuple[Node, ...] | None:
    return inventory.nodes if inventory.known and not _elastic(inventory) else None


def _elastic(inventory: Inventory) -> list[Node]:
    return [node for node in inventory.nodes if node.most != node.machines]


def _pools(inventory: Inventory, objects: KueueObjects) -> Pools | None:
    elastic = _elastic(inventory)
    if not elastic:
        return None
    pods = sum(one.pods for w in objects.workloads.values() for one in w.pod_sets)
    enough = max(1, min(pods, _ENOUGH))
    least = tuple(node._replace(most=node.machines) for node in inventory.nodes if node.machines)
    most = []
    for node in inventory.nodes:
        machines = node.machines + enough if node.most is None else node.most
        if machines:
            most.append(node._replace(machines=machines, most=machines))
    return Pools(least, tuple(most), tuple(node.name for node in elastic))


def _near(inventory: Inventory, objects: KueueObjects) -> dict[str, frozenset[str]]:
    """For every flavor the others that select some node that it selects."""
    labels = [(name, flavor.node_labels.items()) for name, flavor in objects.flavors.items()]
    together = {
        tuple(name for name, wanted in labels if all(node.labels.get(k) == v for k, v in wanted))
        for node in inventory.nodes
    }
    near: dict[str, set[str]] = {}
    for names in together:
        for name in names if len(names) > 1 else ():
            near.setdefault(name, set()).update(names)
    return {name: frozenset(others) for name, others in near.items()}


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
