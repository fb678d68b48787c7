"""What is promised as a question about nodes: which of them each kind of pod may go to, for ``simulate.hold``.

Nodes count with what is certain of them (lower ends), pools as small as they may be, or as large where
that is asked. What holds so, holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.certify.arena import Holding, Load, Posed
from policycheck.model.inventory import Node
from policycheck.model.placement import untolerated
from policycheck.model.workload import PodSet
from policycheck.simulate.hold import ALONE, Demand, Part
from policycheck.simulate.hold.nodes import kinds
from policycheck.systems.core.inventory import admits
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import sums
from policycheck.systems.kueue.link import PROVISIONING
from policycheck.systems.kueue.model import KueueObjects, ResourceFlavor
from policycheck.systems.kueue.state import KueueState

_HOSTNAME = "kubernetes.io/hostname"
_COUNTED = frozenset({"cpu", "memory"})  # beside accelerators: what every node has
_ENOUGH = 10_000  # machines of a pool without a bound


def holdings(state: KueueState) -> list[Holding]:
    """Who holds quota of accelerators: queues, stopped ones of a cohort too, and cohorts (``sums.promises``)."""
    found = []
    trees = {
        (kind, name): tuple(tree.queues)
        for tree in state.trees.values()
        for kind, names in (("ClusterQueue", tree.queues), ("Cohort", tree.cohorts))
        for name in names
    }
    for resource in sums.resources(state, is_accelerator):
        for flavor, some in sorted(sums.promises(state, resource).items()):
            for one in some:
                holder = one.holder
                queues = trees.get((holder.kind, holder.name), ())
                found.append(
                    Holding(holder.name, holder.kind, flavor, resource, holder.quota.nominal, queues)
                )
    return found


def lets(node: Node, spec: PodSet, flavor: ResourceFlavor | None) -> bool:
    """Whether pods of ``spec`` may go to the node, through ``flavor`` or through no queue (amounts aside)."""
    if not node.usable:
        return False
    if flavor is None:
        return admits(node, spec)
    if any(node.labels.get(k) != v for k, v in flavor.node_labels.items()):
        return False
    if untolerated(flavor.node_taints, (*spec.tolerations, *flavor.tolerations)) is not None:
        return False
    return admits(node, spec, flavor.tolerations)


def posed(loads: Sequence[Load], nodes: Iterable[Node], objects: KueueObjects) -> Posed:
    """The question. Levels that pods require count where all flavors that are asked have one topology."""
    every = tuple(nodes)
    if any(node.allocatable is None for node in every):
        return Posed(why="a node does not say what it has")
    marks: dict[str, set[str]] = {}
    for n, load in enumerate(loads):
        for name in load.flavors or ("",):
            flavor = objects.flavors.get(name)
            if name and flavor is None:
                return Posed(why=f"ResourceFlavor {name} is not in sight, so its nodes are not known")
            for node in every:
                if lets(node, load.pods, flavor):
                    marks.setdefault(node.name, set()).add(f"{n} {name}")
    levels, doubt = _levels(loads, objects)
    resources = tuple(dict.fromkeys(r for load in loads for r in _each(load.pods)))
    frozen = {name: frozenset(some) for name, some in marks.items()}
    wide = tuple(level for level in levels if level != _HOSTNAME)
    found = kinds(every, (*resources, "pods"), frozen, wide, most=False)
    demands = []
    for n, load in enumerate(loads):
        homes = (found.marked(f"{n} {name}") for name in load.flavors or ("",))
        made = Demand(
            load.name,
            (Part(_each(load.pods), load.pods.pods),),
            load.times,
            tuple(home for home in homes if home),
        )
        demands.append(_leveled(made, load.pods, levels))
    return Posed(found.classes, tuple(demands), doubt=doubt)


def _each(spec: PodSet) -> dict[str, int]:
    return {r: a for r, a in spec.requests.items() if a > 0 and (is_accelerator(r) or r in _COUNTED)}


def _levels(loads: Sequence[Load], objects: KueueObjects) -> tuple[tuple[str, ...], str]:
    """The levels of those that require one; and why the question is easier than what is promised, or ""."""
    known: dict[tuple[str, ...], None] = {}
    doubt = ""
    for load in loads:
        asked = load.pods.topology
        if load.pods.neighbours is not None:
            doubt = f"{load.name} has rules on other pods beside it (affinity), which are not counted"
        if asked is None or not (asked.mode == "required" or asked.slice_size):
            continue
        if asked.group or asked.slices:
            doubt = f"{load.name} asks for a group of podsets or for nested slices, which are not counted"
        for name in load.flavors:
            topology = objects.topologies.get(objects.flavors[name].topology)
            if topology is not None:
                known[topology.levels] = None
            else:
                doubt = f"{load.name} requires a topology, and flavor {name} has none"
    if len(known) > 1:
        return (), "jobs require levels of different topologies, which are not counted together"
    return next(iter(known), ()), doubt


def _leveled(made: Demand, spec: PodSet, levels: Sequence[str]) -> Demand:
    asked = spec.topology
    if asked is None:
        return made

    def depth(level: str) -> int:
        return ALONE if level == _HOSTNAME else levels.index(level) + 1

    if asked.mode == "required" and asked.level in levels:
        made = made._replace(level=depth(asked.level))
    if asked.slice_size and asked.slice_level in levels:
        made = made._replace(slice_pods=asked.slice_size, slice_level=depth(asked.slice_level))
    return made


def grown(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Pools as large as they may be."""
    found = []
    for node in nodes:
        machines = node.machines + _ENOUGH if node.most is None else node.most
        if machines:
            found.append(node._replace(machines=machines, most=machines))
    return tuple(found)


def provisioning(objects: KueueObjects) -> tuple[str, ...]:
    """Admission checks that bring nodes."""
    used = {rule.name for queue in objects.cluster_queues.values() for rule in queue.checks}
    return tuple(
        sorted(n for n, check in objects.checks.items() if check.controller == PROVISIONING and n in used)
    )
