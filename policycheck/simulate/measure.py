"""Measures of nodes and what is left on them: fragmentation, the largest gang, stranded cards, topology.

All are exact integers of a state, and no measure knows how pods came to where they are. ``Tally`` and
``Gauge`` keep what each node contributes, so that a change of one node costs that node only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policycheck.simulate import device
from policycheck.simulate.card import WHOLE, Card, answers
from policycheck.simulate.device import DeviceAsk, Devices
from policycheck.simulate.meter import Fragment, Meter
from policycheck.simulate.room import (
    PLENTY,
    Room,
    Shape,
    blockers,
    idle,
    is_admitted,
    less,
    pods_by_amounts,
    pods_on,
    room,
    usable,
)
from policycheck.simulate.stranded import Stranded, stranded

__all__ = (
    "Fragment",
    "Gang",
    "Gauge",
    "Meter",
    "Room",
    "Shape",
    "Stranded",
    "Tally",
    "blockers",
    "domain_of",
    "idle",
    "is_admitted",
    "least_domains",
    "less",
    "pods_on",
    "room",
    "spanned",
    "stranded",
    "units_per_pod",
    "usable",
)

Domain = tuple[str, ...]  # values of the levels from the widest down


def domain_of(labels: Mapping[str, str], levels: Sequence[str]) -> Domain | None:
    """The domain of a node at the last of ``levels`` (label keys, widest first): domains nest, so that one is
    told by the values of all levels above it too. None for a node that lacks one of the labels.
    """
    found = tuple(labels.get(key, "") for key in levels)
    return found if all(found) else None


def units_per_pod(card: Card, ask: DeviceAsk) -> int:
    """Thousandths of cards like this one that a pod takes; 0 when the card can not serve the ask."""
    kind = card.kind
    total = 0
    for resource, number in ask.units.items():
        sizes = [p.size for p in kind.partitions if answers(p, resource)]
        if kind.whole == resource:
            total += number * ask.milli
        elif kind.share == resource:
            total += number * WHOLE // kind.shares
        elif sizes and kind.slices:
            total += number * min(sizes) * WHOLE // kind.slices
    return total


class Gang(NamedTuple):
    """The largest gang of a shape: pods that fit at once (``pods``), and that what is idle would allow if it
    were all in one piece (``allowed``), both on nodes that may take the shape at all. ``domain`` is the
    domain that holds the most, and () where no level is asked for.
    """

    pods: int
    allowed: int
    domain: Domain = ()


class _Part(NamedTuple):
    """What one node adds."""

    pods: int
    idle: int  # thousandths of cards that could serve the shape
    domains: tuple[Domain | None, ...]  # at each level


class Tally:
    """How many pods of one shape fit, over all nodes and in each domain of each level, kept up node by node.

    ``levels`` are label keys, widest first. A node that lacks a label is in no domain of that level.
    """

    def __init__(self, shape: Shape, levels: Sequence[str] = ()) -> None:
        self.shape = shape
        self.levels = tuple(levels)
        self.pods = 0
        self._idle = 0
        self._parts: dict[str, _Part] = {}
        self._domains: tuple[dict[Domain, int], ...] = tuple({} for _ in self.levels)
        self._kept: dict[Devices, tuple[int, int]] = {}
        self._per_pod = 0

    def put(self, room: Room) -> None:
        """The node has this left now."""
        self.drop(room.node)
        by_devices, open_idle = 0, 0
        if is_admitted(room, self.shape):
            by_devices, open_idle = self._of_devices(room.devices)
        by_amounts = pods_by_amounts(room.free, self.shape.needs)
        pods = min(by_amounts, by_devices if by_devices >= 0 else PLENTY)
        domains = tuple(domain_of(room.labels, self.levels[: i + 1]) for i in range(len(self.levels)))
        self._count(room.node, _Part(pods, open_idle, domains))

    def _of_devices(self, devices: Devices) -> tuple[int, int]:
        key = device.canonical(devices)
        found = self._kept.get(key)
        if found is None:
            ask = self.shape.ask
            per_pod = max((units_per_pod(card, ask) for card in devices), default=0)
            self._per_pod = max(self._per_pod, per_pod)
            models = ask.models
            open_idle = sum(
                device.idle(card)
                for card in devices
                if units_per_pod(card, ask) and (not models or card.kind.model in models)
            )
            found = self._kept[key] = (device.pods(devices, ask), open_idle)
        return found

    def drop(self, node: str) -> None:
        """The node is gone, or takes no pods."""
        part = self._parts.pop(node, None)
        if part is not None:
            self._add(part, -1)

    def _count(self, node: str, part: _Part) -> None:
        self._parts[node] = part
        self._add(part, 1)

    def _add(self, part: _Part, sign: int) -> None:
        self.pods += sign * part.pods
        self._idle += sign * part.idle
        for sums, domain in zip(self._domains, part.domains, strict=True):
            if domain is not None:
                sums[domain] = sums.get(domain, 0) + sign * part.pods

    def by_domain(self, level: str) -> Mapping[Domain, int]:
        """Pods that fit in each domain of a level. Raises ValueError for a level that is not kept."""
        return self._domains[self.levels.index(level)]

    def largest(self, level: str = "") -> Gang:
        """The largest gang now: over all nodes, or within one domain of ``level``. Of equal domains the first
        by its values. Raises ValueError for a level that is not kept.
        """
        allowed = self._idle // self._per_pod if self._per_pod else self.pods
        if not level:
            return Gang(self.pods, allowed)
        sums = self.by_domain(level)
        if not sums:
            return Gang(0, allowed)
        best = min(sums, key=lambda domain: (-sums[domain], domain))
        return Gang(sums[best], allowed, best)

    def least(self, level: str, pods: int) -> int:
        """The fewest domains of ``level`` that hold ``pods`` pods of the shape now; 0 when all do not."""
        return least_domains(self.by_domain(level).values(), pods)


def least_domains(capacities: Iterable[int], pods: int) -> int:
    """The fewest domains that hold ``pods`` pods together, when each takes so many; 0 when all do not.

    Exact for pods of one shape. For a gang of several shapes the largest of the numbers of each is a bound.
    """
    held = 0
    for number, capacity in enumerate(sorted(capacities, reverse=True), 1):
        held += capacity
        if held >= pods:
            return number
    return 0


def spanned(nodes: Iterable[str], labels: Mapping[str, Mapping[str, str]], levels: Sequence[str]) -> int:
    """Domains of the last of ``levels`` that pods on ``nodes`` are in; ``labels`` by node. A node that lacks a
    label is a domain of its own: nothing says that it is near to any other.
    """
    found: set[Domain] = set()
    for node in nodes:
        domain = domain_of(labels.get(node, {}), levels)
        found.add(("", node) if domain is None else domain)
    return len(found)


class Gauge:
    """All that a supply of nodes shows over time, kept up node by node: the fragment against a mix, and the
    largest gang of a reference shape, in units of cards.
    """

    def __init__(self, mix: Sequence[Shape], reference: Shape, level: str = "") -> None:
        self.meter = Meter(mix)
        self.tally = Tally(reference, (level,) if level else ())
        self.level = level
        self.fragment = Fragment(self.meter.weight)
        self._parts: dict[str, Fragment] = {}

    def put(self, room: Room) -> None:
        """The node has this left now."""
        self.drop(room.node)
        part = self.meter.of(room)
        self._parts[room.node] = part
        self.fragment = self.fragment.plus(part)
        self.tally.put(room)

    def drop(self, node: str) -> None:
        """The node is gone."""
        part = self._parts.pop(node, None)
        if part is not None:
            self.fragment = self.fragment.minus(part)
        self.tally.drop(node)

    def measures(self) -> dict[str, int]:
        """``largest`` and ``allowed`` (units of the reference shape's gang: pods times units of each) and
        ``fragment`` (whole cards, rounded down).
        """
        gang = self.tally.largest(self.level)
        each = max(1, sum(n for n in self.tally.shape.ask.units.values() if n > 0))
        return {
            "largest": gang.pods * each,
            "allowed": gang.allowed * each,
            "fragment": self.fragment.lost // WHOLE,
        }
