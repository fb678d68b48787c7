"""Fragmentation by the definition of FGD: how much of what is idle the pods that people ask for can not use.

Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent", USENIX ATC 2023. For a node n and a mix M of pods m with shares p_m, F_n(M) is the sum of
p_m F_n(m). F_n(m) is all idle of n when n can not host m (cards, cpu, memory or model lacking, or m wants no
card at all); else what is idle on cards that have less left than m needs of one card.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from policycheck.model.capacity import CORE
from policycheck.simulate import device
from policycheck.simulate.device import Card, DeviceAsk
from policycheck.simulate.room import Room, Shape, is_admitted, is_short


class Fragment(NamedTuple):
    """Idle of one node or of many, split by what pods of the mix could do with it.

    Each is in thousandths of a card times weight; their sum is the idle times ``weight``, the weight of the
    whole mix. Classes carry FGD's names: pods that want no card (``xl``: the node has the cpu they need,
    ``xr``: it has not), pods kept off by model, taint or labels (``no_access``), and pods that lack cards
    (``q2``), cpu or memory (``q4``), both (``q1``) or nothing (``q3``: what they can use).
    """

    weight: int
    q1: int = 0
    q2: int = 0
    q3: int = 0
    q4: int = 0
    xl: int = 0
    xr: int = 0
    no_access: int = 0

    @property
    def lost(self) -> int:
        """The fragment: thousandths of cards, rounded down."""
        return (sum(self[1:]) - self.q3) // self.weight

    @property
    def idle(self) -> int:
        """What is idle: thousandths of cards."""
        return sum(self[1:]) // self.weight

    @property
    def rate(self) -> int:
        """The fragment in thousandths of what is idle; 0 when nothing is."""
        every = sum(self[1:])
        return (every - self.q3) * 1000 // every if every else 0

    def plus(self, other: Fragment) -> Fragment:
        """Both together; they are of one mix."""
        return Fragment(self.weight, *(a + b for a, b in zip(self[1:], other[1:], strict=True)))

    def minus(self, other: Fragment) -> Fragment:
        """The exact opposite of ``plus``."""
        return Fragment(self.weight, *(a - b for a, b in zip(self[1:], other[1:], strict=True)))


class _Group(NamedTuple):
    """Shapes of the mix that ask for the same devices and may go to the same nodes."""

    one: Shape
    needs: tuple[tuple[tuple[int, ...], int], ...]  # (amounts in the order of ``resources``, weight)


class Meter:
    """Measures fragmentation against one mix. Results are kept by what decides them: a node's state, with
    amounts beyond the largest need counted as that need.

    Raises ValueError for a mix without weight.
    """

    def __init__(self, mix: Sequence[Shape]) -> None:
        self.mix = tuple(shape for shape in mix if shape.weight > 0)
        self.weight = sum(shape.weight for shape in self.mix)
        if not self.weight:
            raise ValueError("a mix needs at least one shape with a weight above 0")
        self._resources = tuple(sorted({r for s in self.mix for r, n in s.needs.items() if n > 0}))
        most = [max(s.needs.get(r, 0) for s in self.mix) for r in self._resources]
        self._limits = tuple(
            (r, n, n if r in CORE else 0) for r, n in zip(self._resources, most, strict=True)
        )  # what is not said of every node's own resources is not short
        self._groups = _grouped(self.mix, self._resources)
        self._labels = tuple(sorted({key for s in self.mix for key in _label_keys(s)}))
        self._is_named = any(term.fields for s in self.mix for term in s.affinity)
        self._kept: dict[tuple[object, ...], Fragment] = {}

    def of(self, room: Room) -> Fragment:
        """F_n(M) of one node, split by class; nothing for a node that takes no new pods."""
        if room.blocked or not room.devices:
            return Fragment(self.weight)
        key = (
            tuple(min(room.free.get(r, none), most) for r, most, none in self._limits),
            device.canonical(room.devices),
            room.taints,
            tuple(room.labels.get(k) for k in self._labels),
            room.node if self._is_named else "",
        )
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._measure(room)
        return found

    def over(self, rooms: Iterable[Room]) -> Fragment:
        """The sum over nodes."""
        every = Fragment(self.weight)
        for room in rooms:
            every = every.plus(self.of(room))
        return every

    def _measure(self, room: Room) -> Fragment:
        cards: dict[Card, int] = {}
        for card in room.devices:
            alike = card._replace(numa=-1, domain="")
            cards[alike] = cards.get(alike, 0) + 1
        left = [(card, n * device.idle(card)) for card, n in cards.items()]
        every = sum(amount for _, amount in left)
        sums = dict.fromkeys(Fragment._fields[1:], 0)
        for group in self._groups:
            rich, poor = self._by_amounts(room, group)
            ask = group.one.ask
            if not any(n > 0 for n in ask.units.values()):
                sums["xl"] += rich * every
                sums["xr"] += poor * every
            elif not is_admitted(room, group.one) or not _has_model(room, ask):
                sums["no_access"] += (rich + poor) * every
            elif device.fits(room.devices, ask):
                useless = sum(amount for card, amount in left if not device.serves(card, ask))
                sums["q2"] += rich * useless
                sums["q3"] += rich * (every - useless)
                sums["q4"] += poor * every
            else:
                sums["q2"] += rich * every
                sums["q1"] += poor * every
        return Fragment(self.weight, **sums)

    def _by_amounts(self, room: Room, group: _Group) -> tuple[int, int]:
        """Weight of the shapes for which the node has enough beside devices, and of those for which it lacks."""
        rich = poor = 0
        for amounts, weight in group.needs:
            if any(is_short(room.free, r, n) for r, n in zip(self._resources, amounts, strict=True)):
                poor += weight
            else:
                rich += weight
        return rich, poor


def _has_model(room: Room, ask: DeviceAsk) -> bool:
    return not ask.models or any(card.kind.model in ask.models for card in room.devices)


def _label_keys(shape: Shape) -> set[str]:
    return set(shape.selector) | {r.key for term in shape.affinity for r in term.expressions}


def _grouped(mix: Sequence[Shape], resources: tuple[str, ...]) -> tuple[_Group, ...]:
    found: dict[tuple[object, ...], tuple[Shape, dict[tuple[int, ...], int]]] = {}
    for shape in mix:
        selector = tuple(sorted(shape.selector.items()))
        key = (device.key(shape.ask), selector, shape.affinity, shape.tolerations)
        _, needs = found.setdefault(key, (shape, {}))
        amounts = tuple(max(0, shape.needs.get(r, 0)) for r in resources)
        needs[amounts] = needs.get(amounts, 0) + shape.weight
    return tuple(_Group(one, tuple(needs.items())) for one, needs in found.values())
