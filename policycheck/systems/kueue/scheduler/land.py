"""What placed pods take of nodes: the domains of every flavor, and usage that they share.

Flavors whose lowest level is the hostname share hosts, so that what one flavor takes is gone for the
other (TASHandleOverlappingFlavors, 0.18); else each flavor has leaves of its own. A *spot* is one such
leaf, whoever shares it. Usage is one flat list: a block of cells, one a spot, for every resource of every
set of spots. Whatever changes at a spot is written in a log, so that what was counted before is mended
only where it has to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from policycheck.model.capacity import expand
from policycheck.model.inventory import Node
from policycheck.model.placement import Taint
from policycheck.systems.kueue.model import KueueObjects, TopologyAssignment
from policycheck.systems.kueue.scheduler.domains import HOSTNAME, Domains, Values, build
from policycheck.systems.kueue.target import Strategy

PODS = "pods"
Claim = tuple[str, int, Mapping[str, int], int]  # flavor, leaf, what one pod takes, pods


class Taken(NamedTuple):
    """Amounts by cell, and the spots at which they are."""

    cells: tuple[tuple[int, int], ...] = ()
    spots: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spots)


TAKES_NOTHING = Taken()


class Space:
    """Spots with the blocks of usage that belong to them; what is numbered here never changes."""

    __slots__ = ("blocks", "names", "offset", "size")

    def __init__(self, names: Sequence[Values], offset: int) -> None:
        self.names = {name: number for number, name in enumerate(names)}
        self.size = len(names)
        self.offset = offset  # of the first spot among all spots
        self.blocks: dict[str, int] = {}  # where the cells of a resource begin


class Place(NamedTuple):
    """Where a flavor's leaves are: the spot within its space by leaf, and the leaf by spot or -1."""

    space: Space
    spots: tuple[int, ...]
    leaves: tuple[int, ...]
    straight: bool  # leaf n is spot n


class Land:
    """Domains by flavor with the usage of their leaves. Adding and removing are exact opposites."""

    __slots__ = (
        "_nothing",
        "asked",
        "counted",
        "empty",
        "epoch",
        "fields",
        "frozen",
        "known",
        "left",
        "log",
        "places",
        "spots",
        "usage",
    )

    def __init__(self, fields: Mapping[str, Domains], *, shared: bool) -> None:
        self.fields = dict(fields)
        self.usage: list[int] = []
        self.log: list[int] = []  # spots at which usage changed, or nodes (~spot), in order
        self.epoch = 0  # grows when the log begins anew
        self.known: dict[object, Any] = {}  # what was counted, by those who count
        self.counted = 0  # domains of all that
        self.left: dict[tuple[str, str], Any] = {}  # what leaves have left, by flavor and resource
        self.asked: dict[object, Any] = {}  # the same, by asks
        self.empty: dict[object, Any] = {}  # what was found with nobody placed
        self._nothing: dict[int, list[int]] = {}
        self.spots = 0
        self.frozen: dict[str, Domains] | None = None
        self.places: dict[str, Place] = {}
        hosts = sorted({n for d in fields.values() if shared and d.hostname for n in d.names})
        common = self._space(hosts)
        for flavor, domains in fields.items():
            space = common if shared and domains.hostname else self._space(domains.names)
            spots = tuple(space.names[name] for name in domains.names)
            leaves = [-1] * space.size
            for leaf, spot in enumerate(spots):
                leaves[spot] = leaf
            straight = spots == tuple(range(space.size))
            self.places[flavor] = Place(space, spots, tuple(leaves), straight)

    def _space(self, names: Sequence[Values]) -> Space:
        made = Space(names, self.spots)
        self.spots += made.size
        return made

    def copy(self) -> Land:
        """The same land with usage and nodes of its own; numbering is shared."""
        other = Land.__new__(Land)
        other.fields = {flavor: domains.copy() for flavor, domains in self.fields.items()}
        other.usage = self.usage.copy()
        other._nothing = self._nothing  # noqa: SLF001 - it never changes
        other.log, other.epoch = [], 0
        other.known, other.asked, other.empty, other.left, other.counted = {}, {}, {}, {}, 0
        other.spots, other.places, other.frozen = self.spots, self.places, None
        return other

    def nothing(self, size: int) -> list[int]:
        """Zeros that nobody changes."""
        found = self._nothing.get(size)
        if found is None:
            found = self._nothing[size] = [0] * size
        return found

    def nodes(self) -> Mapping[str, Domains]:
        """The domains by flavor with nodes as they are now, whatever comes."""
        if self.frozen is None:
            self.frozen = {flavor: domains.copy() for flavor, domains in self.fields.items()}
        return self.frozen

    def place(self, flavor: str) -> Place:
        """Where the flavor's leaves are."""
        return self.places[flavor]

    def _block(self, space: Space, resource: str) -> int:
        """Where the cells of ``resource`` begin. Blocks may have been laid out through another copy."""
        begin = space.blocks.get(resource)
        if begin is None:
            begin = space.blocks[resource] = self._end()
        if len(self.usage) < begin + space.size:
            self.usage.extend([0] * (begin + space.size - len(self.usage)))
        return begin

    def _end(self) -> int:
        spaces = {id(p.space): p.space for p in self.places.values()}.values()
        return max((b + s.size for s in spaces for b in s.blocks.values()), default=0)

    def used(self, flavor: str, resource: str) -> list[int]:
        """What is used of ``resource``, leaf by leaf."""
        place = self.places[flavor]
        begin, usage = self._block(place.space, resource), self.usage
        if place.straight:
            return usage[begin : begin + place.space.size]
        return [usage[begin + spot] for spot in place.spots]

    def cell(self, flavor: str, leaf: int, resource: str) -> int:
        """Where the usage of one leaf is."""
        place = self.places[flavor]
        return self._block(place.space, resource) + place.spots[leaf]

    def begins(self, flavor: str, resources: Iterable[str]) -> list[int]:
        """Where the usage of spot 0 would be, resource by resource; add the leaf's spot."""
        space = self.places[flavor].space
        return [self._block(space, resource) for resource in resources]

    def taken(self, claims: Iterable[Claim]) -> Taken:
        """What ``claims`` take, by cell: what their pods request and a pod slot each."""
        found: dict[int, int] = {}
        spots: dict[int, None] = {}
        blocks: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for flavor, leaf, each, pods in claims:
            place = self.places[flavor]
            key = (id(place.space), id(each))
            begins = blocks.get(key)
            if begins is None:
                asked = [(r, a) for r, a in each.items() if r != PODS and a]
                begins = blocks[key] = [(self._block(place.space, r), a) for r, a in (*asked, (PODS, 1))]
            spot = place.spots[leaf]
            spots[place.space.offset + spot] = None
            for begin, amount in begins:
                found[begin + spot] = found.get(begin + spot, 0) + amount * pods
        return Taken(tuple(found.items()), tuple(spots))

    def add(self, taken: Taken) -> None:
        """Use more."""
        usage = self.usage
        for cell, amount in taken.cells:
            usage[cell] += amount
        self.log += taken.spots

    def remove(self, taken: Taken) -> None:
        """Undo ``add``."""
        usage = self.usage
        for cell, amount in taken.cells:
            usage[cell] -= amount
        self.log += taken.spots

    def trim(self) -> None:
        """Begin the log anew when it is so long that counting everything costs less than reading it."""
        if len(self.log) > 4 * self.spots + 1000:
            self.log = []
            self.epoch += 1

    def switch(self, name: str, *, on: bool) -> list[str]:
        """A node can be used from now on, or no more: the flavors that it belongs to."""
        changed = []
        self.frozen = None
        self.empty = {}
        for flavor, domains in self.fields.items():
            leaf = domains.switch(name, on=on)
            if leaf >= 0:
                place = self.places[flavor]
                self.log.append(~(place.space.offset + place.spots[leaf]))
                changed.append(flavor)
        return changed

    def retaint(self, name: str, taints: tuple[Taint, ...]) -> list[str]:
        """A node has other taints from now on: the flavors that it belongs to."""
        self.frozen, self.empty = None, {}
        self.asked.clear()
        return [flavor for flavor, domains in self.fields.items() if domains.retaint(name, taints) >= 0]

    def fits(self, claims: Iterable[Claim], freed: Mapping[int, int] = {}) -> bool:
        """Whether every claim by itself still has room, ``freed`` (by cell) being had as well. The pod
        slots are not asked again.
        """
        usage = self.usage
        for flavor, leaf, each, pods in claims:
            free = self.fields[flavor].free
            for resource, amount in each.items():
                if resource == PODS or amount <= 0:
                    continue
                column = free.get(resource)
                cell = self.cell(flavor, leaf, resource)
                left = (column[leaf] if column else 0) - usage[cell] + freed.get(cell, 0)
                if left < pods * amount:
                    return False
        return True

    def claims(
        self, flavor: str, assignment: TopologyAssignment | None, each: Mapping[str, int]
    ) -> list[Claim]:
        """The claims of an assignment; domains that are not there (any more) take nothing."""
        domains = self.fields.get(flavor)
        if domains is None or assignment is None:
            return []
        where = domains.where
        return [(flavor, where[values], each, pods) for values, pods in assignment.domains if values in where]


def survey(objects: KueueObjects, nodes: Iterable[Node], rules: Strategy) -> Land | None:
    """The land of all flavors that have a topology; None when there are none, or the gate is off.

    A flavor one of whose nodes does not say what it has is left out: quota alone decides about it,
    since nobody can tell whether there is a place.
    """
    if not rules.topology:
        return None
    known = {name for name, topology in objects.topologies.items() if topology.levels}
    flavors = [f for f in objects.flavors.values() if f.topology in known]
    if not flavors:
        return None
    every = tuple(nodes)
    single = [n for node in every for n in expand(node) if n.machines]
    fields = {}
    for flavor in flavors:
        topology = objects.topologies[flavor.topology]
        domains = build(topology, flavor, single if HOSTNAME in topology.levels else every)
        if all(n.allocatable is not None for machines in domains.machines for n in machines):
            fields[flavor.name] = domains
    return Land(fields, shared=rules.topology_overlapping)
