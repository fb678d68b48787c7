"""Required levels against the nodes: podsets that are larger than any domain.

Necessary conditions again: a domain counts with all that its nodes may have, empty. First the sum of
accelerators, which is plain; then pods on nodes, since two pods of five do not go to a node of eight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.lint.hit import Hit
from policycheck.model import capacity
from policycheck.model.amount import scale, show
from policycheck.model.capacity import HOSTNAME
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.systems.core.mend import renamed
from policycheck.systems.kueue.checks import holding
from policycheck.systems.kueue.checks.ask import Ask, accelerators_first, asks
from policycheck.systems.kueue.checks.common import Found, Params, derived, ground, state
from policycheck.systems.kueue.checks.holding import Gang
from policycheck.systems.kueue.checks.requests import annotation_place, nodes_for
from policycheck.wording import plural

if TYPE_CHECKING:
    from policycheck.simulate.hold import Answer, Machines, Part


class Want(NamedTuple):
    """Pods that have to share one domain of a level: a whole podset with its group, or a slice."""

    ask: Ask
    level: str
    pods: int
    parts: tuple[Part, ...]
    is_slice: bool = False


def _levels(ask: Ask) -> list[tuple[str, int]]:
    """The levels that the podset has to share, with how many pods."""
    request = ask.pods.topology
    if request is None:
        return []
    wanted: list[tuple[str, int]] = []
    if request.mode == "required" and request.level:
        wanted.append((request.level, ask.least))
    if request.slice_level and request.slice_size:
        wanted.append((request.slice_level, request.slice_size))
    return wanted


def wants(gang: Gang) -> Iterator[Want]:
    """What a workload has to hold together. Podsets of one group count as one, once."""
    seen: set[str] = set()
    for ask in gang.placed:
        request = ask.pods.topology
        group = request.group if request is not None else ""
        if request is None or (group and group in seen):
            continue
        seen.add(group)
        for level, pods in _levels(ask):
            parts: tuple[Part, ...] = (holding.part(ask)._replace(pods=pods),)
            if group and level == request.level:
                parts = tuple(
                    holding.part(a)
                    for a in gang.placed
                    if a.pods.topology is not None and a.pods.topology.group == group
                )
            yield Want(ask, level, pods, parts, is_slice=level != request.level or not request.mode)


# -- larger than any domain --------------------------------------------------------------------------


def required_domain_too_small(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A podset that has to fit one domain of a level, and no domain is that large."""
    yield from derived(cluster, too_small).values()


def too_small(cluster: Cluster) -> dict[tuple[object, str], Hit]:
    """What no domain holds, by podset and level."""
    found: dict[tuple[object, str], Hit] = {}
    for ask in asks(cluster):
        for level, pods in _levels(ask):
            hit = _by_sum(cluster, ask, level, pods)
            if hit is not None:
                found[key_of(ask), level] = hit
    for gang in holding.gangs(cluster):
        for want in wants(gang):
            if (key_of(want.ask), want.level) in found:
                continue
            some = rooms(cluster, want)
            if some and all(room.answer.outcome == "FAILS" for room in some):
                found[key_of(want.ask), want.level] = _by_nodes(cluster, want, some)
    return found


def key_of(ask: Ask) -> object:
    """What tells podsets apart."""
    return ask.key, ask.pods.path, ask.pods.name


def _by_sum(cluster: Cluster, ask: Ask, level: str, pods: int) -> Hit | None:
    base = ground(cluster)
    for resource, amount in accelerators_first(ask.pods.requests):
        nodes = nodes_for(base, ask, resource)
        if nodes is None or amount <= 0 or not any(nodes.values()):
            continue
        best = _largest_domain(cluster, nodes, level, resource)
        total = scale(amount, pods)
        if best is None or total <= best:
            continue
        needs = f"{show(resource, total)} {resource} ({pods} pods x {show(resource, amount)})"
        return _hit(cluster, ask, level, needs, f"the largest has {show(resource, best)}")
    return None


def _hit(cluster: Cluster, ask: Ask, level: str, needs: str, largest: str) -> Hit:
    values = {
        "workload": ask.workload,
        "needs": needs,
        "level": level,
        "largest": largest,
        "queue": ask.queue.name,
    }
    at = annotation_place(cluster, ask, level)
    is_required = at[-1:] == ("kueue.x-k8s.io/podset-required-topology",)
    preferred = renamed(ask.id, (at,), "kueue.x-k8s.io/podset-preferred-topology") if is_required else ()
    return Hit(ask.id, at, values, changes=preferred)


def _largest_domain(
    cluster: Cluster, nodes: Mapping[str, tuple[Node, ...]], level: str, resource: str
) -> int | None:
    """The most that one domain of ``level`` may hold; None when nobody can tell."""
    known, best = derived(cluster, _Largest), None
    for name in nodes:
        flavor = state(cluster).objects.flavors.get(name)
        topology = holding.topology_of(cluster, name)
        if flavor is not None and flavor.topology and topology is None:
            return None
        if topology is not None and level in topology.levels:
            most = known(name, topology.levels, level, resource)
            if most is None:
                return None
            best = max(best or 0, most) if most >= 0 else best
    return best


class _Largest:
    """The largest domain of every flavor, level and resource, worked out once."""

    def __init__(self, cluster: Cluster) -> None:
        self.nodes = ground(cluster).nodes
        self.found: dict[tuple[str, str, str], int | None] = {}

    def __call__(self, flavor: str, levels: Sequence[str], level: str, resource: str) -> int | None:
        """The most that is free in one domain: -1 when there is none, None when it is not told."""
        key = flavor, level, resource
        if key not in self.found:
            self.found[key] = self._look(self.nodes[flavor], levels, levels.index(level), resource)
        return self.found[key]

    def _look(self, nodes: Sequence[Node], levels: Sequence[str], depth: int, resource: str) -> int | None:
        if any(n.source != "node" and n.machines == 1 and lv not in n.labels for n in nodes for lv in levels):
            return None
        most = -1
        for domain in capacity.domains(nodes, levels, resource)[depth]:
            if domain.free.high is None:
                return None
            most = max(most, domain.free.high)
        return most


class Room(NamedTuple):
    """What one flavor says to a want: its classes of nodes, and whether they hold it."""

    flavor: str
    classes: tuple[Machines, ...]
    depth: int
    answer: Answer


def rooms(cluster: Cluster, want: Want, *, most: bool = True) -> list[Room]:
    """Every flavor that has the level; none when of one of them nobody can tell its domains. With ``most``
    pools are as grown as they may be, else as small.
    """
    return derived(cluster, _Rooms)(want, most=most)


class _Rooms:
    """The rooms for every shape that has to share a domain, worked out once."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.kept: dict[object, list[Room]] = {}
        self.seen: dict[object, tuple[Node, ...]] = {}

    def __call__(self, want: Want, *, most: bool) -> list[Room]:
        nodes = holding.open_nodes(self.cluster, want.ask)
        if not nodes:
            return []
        shape = tuple((tuple(sorted(p.each.items())), p.pods) for p in want.parts)
        key = (id(nodes), want.level, shape, most)
        if key not in self.kept:
            self.kept[key] = self._look(want, nodes, most=most)
        return self.kept[key]

    def _look(self, want: Want, nodes: Mapping[str, tuple[Node, ...]], *, most: bool) -> list[Room]:
        from policycheck.simulate.hold import Demand, hold

        found: list[Room] = []
        for flavor, some in nodes.items():
            topology = holding.topology_of(self.cluster, flavor)
            if topology is None or want.level not in topology.levels or not some:
                continue
            if not holding.tells_levels(some, topology.levels):
                return []
            wanted, wide = holding.resources([want.ask]), holding.wide(topology.levels)
            behind = {flavor: self._seen(some, topology.levels, most=most)}
            if not behind[flavor]:
                return []  # that placement sees none of them is another rule's
            classes = holding.surveyed(self.cluster, behind, wanted, wide).classes
            depth = holding.depth_of(want.level, topology.levels)
            demand = Demand(want.ask.workload, want.parts, 1, (tuple(range(len(classes))),), depth)
            found.append(Room(flavor, classes, depth, hold(classes, [demand], holding.STEPS)))
        return found

    def _seen(self, some: tuple[Node, ...], levels: Sequence[str], *, most: bool) -> tuple[Node, ...]:
        """The nodes that placement sees, in the very same tuple for the same nodes."""
        key = (id(some), tuple(levels), most)
        if key not in self.seen:
            nodes = holding.visible(some, levels)
            self.seen[key] = nodes if most else tuple(n._replace(most=n.machines) for n in nodes)
        return self.seen[key]


def _by_nodes(cluster: Cluster, want: Want, some: Sequence[Room]) -> Hit:
    needs, largest = told(want, max(some, key=nearness))
    return _hit(cluster, want.ask, want.level, needs, largest)


def nearness(room: Room) -> int:
    """How much of what is asked there is room for, in thousandths."""
    bound = room.answer.bound
    return 1000 * bound.room // bound.need if bound is not None and bound.need else -1


def told(want: Want, room: Room) -> tuple[str, str]:
    """What is asked, and what the roomiest domain of one flavor has for it."""
    from policycheck.simulate.hold.words import amounts
    from policycheck.simulate.hold.words import rooms as listed

    bound = room.answer.bound
    first = want.parts[bound.part if bound is not None and bound.part < len(want.parts) else 0]
    needs = f"{plural(first.pods, 'pod')} of {amounts(first.each)}"
    if want.level == HOSTNAME and len(want.parts) == 1:
        best = max((pods_on(c, first) for c in room.classes), default=0)
        return needs, f"a node takes {best or 'none'} of them"
    if bound is not None and bound.kind == "gang" and not bound.resource:
        return needs, f"the roomiest takes {bound.room or 'none'} of them ({listed(bound.rooms)})"
    if bound is not None and bound.kind == "gang":
        needs = f"{show(bound.resource, bound.need)} {bound.resource}"
        return needs, f"pods like these can use {show(bound.resource, bound.room)} of the roomiest"
    return needs, room.answer.why


def pods_on(machines: Machines, part: Part) -> int:
    """How many pods of a part one machine takes."""
    return min((machines.free.get(r, 0) // a for r, a in part.each.items() if a), default=0)
