"""Workloads in queues as demands on nodes: what the question "can this be held" is asked with.

Everything is taken at the upper end of what is known: pools as grown as they may be, unknown amounts as
enough, taints as tolerated (another rule speaks of them), partial admission with the fewest pods. So that
what fails here fails on every cluster that the inventory may mean. Only pods that ask for accelerators
count: inventories of GPU nodes leave out where the others run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.model import capacity
from policycheck.model.capacity import HOSTNAME
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import Path
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.ask import Ask, asks, is_refused, request_place
from policycheck.systems.kueue.checks.common import derived, ground, state
from policycheck.systems.kueue.checks.matching import flavors_of, matches
from policycheck.systems.kueue.model import ResourceGroup, Topology

if TYPE_CHECKING:
    from policycheck.simulate.hold import Demand, Machines, Part
    from policycheck.simulate.hold.nodes import Kinds

COUNTED = ("cpu", "memory", "pods")  # beside accelerators: what every node has and pods are held against
STEPS = 2000  # that a rule may search for a placement


class Gang(NamedTuple):
    """A workload that waits: its podsets, and those of them that ask for accelerators."""

    asks: tuple[Ask, ...]
    placed: tuple[Ask, ...]

    @property
    def first(self) -> Ask:
        """The podset that speaks for it: the one with most accelerators."""
        return max(self.placed, key=lambda a: a.least * sum(accelerators(a).values()))


def gangs(cluster: Cluster) -> tuple[Gang, ...]:
    """Every workload that waits for accelerators in a queue that is beyond doubt and takes work."""
    return derived(cluster, _gangs)


def _gangs(cluster: Cluster) -> tuple[Gang, ...]:
    found: dict[object, list[Ask]] = {}
    for ask in asks(cluster):
        if ask.queue.stop_policy == "None":
            found.setdefault((ask.key, ask.made.name), []).append(ask)
    made = (Gang(tuple(some), tuple(a for a in some if accelerators(a))) for some in found.values())
    return tuple(gang for gang in made if gang.placed)


def accelerators(ask: Ask) -> dict[str, int]:
    """The accelerators that one pod asks for."""
    return {r: a for r, a in ask.pods.requests.items() if a > 0 and is_accelerator(r)}


def accelerator_place(cluster: Cluster, ask: Ask) -> Path:
    """Where the pods ask for their first accelerator."""
    return request_place(cluster, ask, next(iter(accelerators(ask))))


def group_of(ask: Ask) -> ResourceGroup | None:
    """The resource group that gives the pods their accelerators."""
    devices = accelerators(ask)
    return next((g for g in ask.queue.groups if any(r in g.covered for r in devices)), None)


def open_nodes(cluster: Cluster, ask: Ask) -> dict[str, tuple[Node, ...]] | None:
    """The nodes that the pods may go to, by flavor that is for them; None when nobody can tell.

    A flavor whose nodes come on demand or are not in sight may have any.
    """
    return derived(cluster, _known_nodes)(ask)


class _Known:
    """The nodes of every ask. Alike asks of a queue get the very same answer, by which others can be kept."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.base = ground(cluster)
        self.blind = not capacity.knows_labels(cluster.inventory)
        self.found: dict[object, dict[str, tuple[Node, ...]] | None] = {}

    def __call__(self, ask: Ask) -> dict[str, tuple[Node, ...]] | None:
        group, pods = group_of(ask), ask.pods
        flavors = tuple(f.name for f in group.flavors) if group is not None else ()
        selector = frozenset(pods.node_selector.items())
        key = (flavors, selector, pods.has_affinity, pods.affinity, pods.tolerations)
        if key not in self.found:
            self.found[key] = self._look(ask, group)
        return self.found[key]

    def _look(self, ask: Ask, group: ResourceGroup | None) -> dict[str, tuple[Node, ...]] | None:
        flavors = flavors_of(self.cluster, group) if group is not None else None
        if not flavors or (self.blind and (ask.pods.node_selector or ask.pods.has_affinity)):
            return None
        found = {}
        for flavor in flavors:
            if is_refused(flavor, ask):
                continue
            if flavor.name not in self.base.nodes:
                return None
            nodes = capacity.usable(self.base.nodes[flavor.name])
            found[flavor.name] = tuple(n for n in nodes if matches(ask.pods, n))
        return found


def _known_nodes(cluster: Cluster) -> _Known:
    return _Known(cluster)


def part(ask: Ask) -> Part:
    """The podset as the pods of a gang: what nodes are counted for, of what each takes."""
    from policycheck.simulate.hold import Part

    each = {r: a for r, a in ask.pods.requests.items() if a > 0 and (is_accelerator(r) or r in COUNTED)}
    return Part(each, ask.least, ask.pods.name)


def resources(some: Iterable[Ask]) -> tuple[str, ...]:
    """Everything that these podsets are counted for."""
    found = dict.fromkeys(r for ask in some for r in part(ask).each)
    return (*(r for r in found if r != "pods"), "pods")


def topology_of(cluster: Cluster, flavor: str) -> Topology | None:
    """The topology of a flavor, when both are in sight."""
    objects = state(cluster).objects
    found = objects.flavors.get(flavor)
    return objects.topologies.get(found.topology) if found is not None else None


def tells_levels(nodes: Iterable[Node], levels: Sequence[str], *, every: bool = False) -> bool:
    """Whether the source of the nodes says in which domains they are. Only Node objects carry all labels;
    of a record of many machines the hostname goes without saying. ``every``: and all of them are in some.
    """
    wanted = wide(levels)
    return all(
        (n.source == "node" and not every) or all(level in n.labels for level in wanted) for n in nodes
    )


def visible(nodes: Iterable[Node], levels: Sequence[str]) -> tuple[Node, ...]:
    """The nodes that placement by topology sees: those with a label for every level."""
    return tuple(
        n
        for n in nodes
        if all(level in n.labels or (level == HOSTNAME and n.source != "node") for level in levels)
    )


def depth_of(level: str, levels: Sequence[str]) -> int:
    """How far down a level is, as ``hold`` counts: single machines are ALONE."""
    from policycheck.simulate.hold import ALONE

    return ALONE if level == HOSTNAME else levels.index(level) + 1


def wide(levels: Sequence[str]) -> tuple[str, ...]:
    """The levels above single machines."""
    return tuple(level for level in levels if level != HOSTNAME)


def surveyed(
    cluster: Cluster, nodes: Mapping[str, Sequence[Node]], wanted: Sequence[str], levels: Sequence[str] = ()
) -> Kinds:
    """Nodes as classes at the upper end of what is known, each marked with the names under which it is
    listed in ``nodes``. For the very same lists the answer is kept.
    """
    kept = derived(cluster, _kept)
    key = (tuple((name, id(some)) for name, some in nodes.items()), tuple(wanted), tuple(levels))
    if key not in kept:
        kept[key] = (_survey(nodes, wanted, levels), tuple(nodes.values()))
    return kept[key][0]


def _kept(cluster: Cluster) -> dict[object, tuple[Kinds, object]]:  # noqa: ARG001 - made once for each
    """Classes by lists, with the lists, which so stay the same."""
    return {}


def _survey(nodes: Mapping[str, Sequence[Node]], wanted: Sequence[str], levels: Sequence[str]) -> Kinds:
    from policycheck.simulate.hold.nodes import kinds

    marks: dict[str, set[str]] = {}
    every: dict[str, Node] = {}
    for name, some in nodes.items():
        for node in some:
            every[node.name] = node
            marks.setdefault(node.name, set()).add(name)
    frozen = {name: frozenset(some) for name, some in marks.items()}
    return kinds(every.values(), wanted, frozen, levels)


class Entry(NamedTuple):
    """A podset, ``times`` over, and the nodes that it may go to by flavor: all pods of one to one flavor."""

    ask: Ask
    nodes: Mapping[str, Sequence[Node]]
    times: int = 1


def posed(
    cluster: Cluster, entries: Sequence[Entry], topology: Topology | None = None
) -> tuple[tuple[Machines, ...], list[Demand]]:
    """The question whether nodes hold all ``entries`` at once, for ``hold``. Demands are in their order.

    Required levels count where all flavors have ``topology`` and the nodes tell their domains.
    """
    levels = topology.levels if topology is not None else ()
    every = [n for e in entries for nodes in e.nodes.values() for n in nodes]
    if not tells_levels(every, levels, every=True):
        levels = ()
    marked = {f"{n} {flavor}": nodes for n, e in enumerate(entries) for flavor, nodes in e.nodes.items()}
    kinds = surveyed(cluster, marked, resources([e.ask for e in entries]), wide(levels))
    demands = [
        leveled(e.ask, e.times, tuple(kinds.marked(f"{n} {f}") for f in e.nodes), levels)
        for n, e in enumerate(entries)
    ]
    return kinds.classes, demands


def leveled(ask: Ask, times: int, allowed: tuple[tuple[int, ...], ...], levels: Sequence[str]) -> Demand:
    """A podset as a demand, with what it requires of these levels."""
    from policycheck.simulate.hold import Demand

    made = Demand(ask.workload, (part(ask),), times, allowed)
    request = ask.pods.topology
    if request is None:
        return made
    if request.mode == "required" and request.level in levels:
        made = made._replace(level=depth_of(request.level, levels))
    if request.slice_size and request.slice_level in levels:
        depth = depth_of(request.slice_level, levels)
        made = made._replace(slice_pods=request.slice_size, slice_level=depth)
    return made
