"""Stranded cards: idle, and of no use to any shape that people ask for, with what keeps them so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policycheck.simulate import device
from policycheck.simulate.room import (
    GANG,
    TOPOLOGY,
    Room,
    Shape,
    blockers,
    idle,
    is_admitted,
    less,
    pods_on,
)

UNASKED = "unasked"  # no shape wants such devices at all


class Left(NamedTuple):
    """Idle on one node that nothing can take: thousandths of cards, why, and the shape that comes closest."""

    node: str
    amount: int
    why: str
    shape: str


class Stranded(NamedTuple):
    """Thousandths of cards: all that is idle, what the shapes can take, and the rest by what keeps it: a reason
    of ``room`` or the name of the resource that is short.
    """

    idle: int
    taken: int
    by_reason: Mapping[str, int]
    nodes: tuple[Left, ...]

    @property
    def total(self) -> int:
        """All that is stranded."""
        return self.idle - self.taken


def stranded(rooms: Iterable[Room], shapes: Sequence[Shape]) -> Stranded:
    """What of the idle cards no shape can take, node by node.

    What can be taken of a node is the most that comes of filling it with one shape first and then with the
    others, each shape's turn at being first. A gang takes nothing where all its pods do not fit (within one
    domain of its level). What is left is put down to the shape with the fewest blockers (then the heaviest),
    and to the first of these.
    """
    every = list(rooms)
    wanting = _least([s for s in shapes if s.ask.milli > 0 and any(n > 0 for n in s.ask.units.values())])
    homeless = _homeless(every, wanting)
    kept: dict[tuple[object, ...], tuple[int, str, str]] = {}
    total, lost = 0, 0
    by_reason: dict[str, int] = {}
    found: list[Left] = []
    for room in every:
        own = idle(room)
        total += own
        if not own:
            continue
        out = {
            i: why for i, shape in enumerate(wanting) if (why := homeless.get((i, _domain(room, shape)), ""))
        }
        key = (_state(room, wanting), tuple(sorted(out.items())))
        if key not in kept:
            kept[key] = _left(room, wanting, out)
        amount, why, shape = kept[key]
        if amount:
            lost += amount
            by_reason[why] = by_reason.get(why, 0) + amount
            found.append(Left(room.node, amount, why, shape))
    ordered = dict(sorted(by_reason.items(), key=lambda one: (-one[1], one[0])))
    return Stranded(total, total - lost, ordered, tuple(found))


def _least(shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes without those for which another one asks the same devices, may go to the same nodes, is no
    larger a gang, and needs nothing more: whatever they could take, that one can.
    """
    groups: dict[tuple[object, ...], list[Shape]] = {}
    for shape in shapes:
        selector = tuple(sorted(shape.selector.items()))
        same = (device.key(shape.ask), selector, shape.affinity, shape.tolerations, shape.level, shape.pods)
        groups.setdefault(same, []).append(shape)
    found: list[Shape] = []
    for group in groups.values():
        group.sort(key=lambda s: (sum(s.needs.values()), -s.weight, s.name))
        kept: list[Shape] = []
        for shape in group:
            if not any(all(n <= shape.needs.get(r, 0) for r, n in other.needs.items()) for other in kept):
                kept.append(shape)
        found += kept
    return found


def _state(room: Room, shapes: Sequence[Shape]) -> tuple[object, ...]:
    admitted = tuple(is_admitted(room, shape) for shape in shapes)
    why = tuple(blockers(room, shape)[:1] for shape, fine in zip(shapes, admitted, strict=True) if not fine)
    return (tuple(sorted(room.free.items())), device.canonical(room.devices), room.blocked, admitted, why)


def _domain(room: Room, shape: Shape) -> str:
    return room.labels.get(shape.level, "") if shape.level else ""


def _homeless(rooms: Sequence[Room], shapes: Sequence[Shape]) -> dict[tuple[int, str], str]:
    """The gangs, by position and domain, for which that domain has too little room, and the reason."""
    found: dict[tuple[int, str], str] = {}
    for i, shape in enumerate(shapes):
        if shape.pods <= 1:
            continue
        sums: dict[str, int] = {}
        for room in rooms:
            where = _domain(room, shape)
            sums[where] = sums.get(where, 0) + pods_on(room, shape)
        for where, number in sums.items():
            if number < shape.pods or (shape.level and not where):
                found[i, where] = TOPOLOGY if shape.level else GANG
    return found


def _left(room: Room, shapes: Sequence[Shape], out: Mapping[int, str]) -> tuple[int, str, str]:
    """Idle that stays when the node is filled as full as can be, the reason, and the shape closest to it."""
    can = [(i, s) for i, s in enumerate(shapes) if i not in out and not blockers(room, s)]
    can.sort(key=lambda one: (-sum(one[1].ask.units.values()) * one[1].ask.milli, one[0]))
    best = room
    for first in can:
        if not idle(best):
            break
        full = _filled(room, [first[1], *(s for i, s in can if i != first[0])])
        if idle(full) < idle(best):
            best = full
    amount = idle(best)
    if not amount:
        return 0, "", ""
    if not shapes:
        return amount, room.blocked or UNASKED, ""
    near: list[tuple[int, int, int, str, str]] = []
    for i, shape in enumerate(shapes):
        why = (*blockers(best, shape), *((out[i],) if i in out else ()))
        near.append((len(why), -shape.weight, i, why[0], shape.name))
    _, _, _, reason, name = min(near)
    return amount, reason, name


def _filled(room: Room, shapes: Sequence[Shape]) -> Room:
    """The node with as many pods of each shape as it takes, one shape after the other."""
    for shape in shapes:
        after: Room | None = room
        while after is not None:
            room, after = after, less(after, shape)
    return room
