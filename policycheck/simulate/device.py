"""The devices of one node as a value: whole cards, shares of cards, and partitions with real geometry.

Nodes whose state is equal answer every question alike, so results can be kept by (state, ask). A state
is made and changed only through these functions; what a partition is comes from the system that knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from policycheck.simulate.card import (
    WHOLE,
    Card,
    CardKind,
    Partition,
    answers,
    card_units,
    cut,
    has_room,
    idle,
    is_free,
    mark,
    starts,
    uncut,
    unused,
)
from policycheck.simulate.draw import mixed
from policycheck.simulate.fitting import (
    DeviceAsk,
    Devices,
    allowed,
    by_numa,
    canonical,
    fits,
    fits_at,
    free_units,
    is_coupled,
    key,
    rounds,
    serves,
    together,
)

__all__ = (
    "Card",
    "CardKind",
    "DeviceAsk",
    "Devices",
    "Partition",
    "Piece",
    "Taken",
    "canonical",
    "fits",
    "fits_at",
    "free_units",
    "give",
    "idle",
    "key",
    "pods",
    "serves",
    "take",
    "take_at",
    "ways",
)

MILLI, SLOT = "milli", "slot"


class Piece(NamedTuple):
    """A part of what an ask took: of the card at a position, thousandths (``what`` is "milli"), a share
    ("slot"), or an instance (``what`` is its partition, ``amount`` 1 when it was made for the ask, 0 when
    it was there before).
    """

    card: int
    what: str
    amount: int
    start: int = -1


Taken = tuple[Piece, ...]


def take(devices: Devices, ask: DeviceAsk, pick: str = "best", draw: int = 0) -> tuple[Devices, Taken] | None:
    """The devices with the ask met, and what it took; None when it does not fit.

    ``pick``: "best" leaves the most for others (the fullest card that has room, the NUMA node with the
    fewest free cards, the start that costs the fewest other placements), "first" is the lowest position and
    start, "random" follows ``draw``. A choice that would leave the rest of the ask without room is not made.
    """
    units = [(r, n) for r, n in ask.units.items() if n > 0]
    positions = allowed(devices, ask)
    groups = list(by_numa(devices, positions).values()) if ask.aligned and units else [positions]
    groups = [group for group in groups if fits_at(devices, group, units, ask.milli)]
    if not groups:
        return None
    if pick == "best":
        groups.sort(key=lambda group: sum(is_free(devices[i]) for i in group))
    chosen = groups[mixed(draw) % len(groups)] if pick == "random" else groups[0]
    return take_at(devices, chosen, ask, pick, draw)


def take_at(
    devices: Devices, positions: list[int], ask: DeviceAsk, pick: str, draw: int
) -> tuple[Devices, Taken]:
    """What an ask takes of the cards at ``positions``, where it has to fit (``fits_at``)."""
    units = {r: n for r, n in ask.units.items() if n > 0}
    state = list(devices)
    taken: list[Piece] = []
    if ask.milli < WHOLE or len(units) == 1 or not is_coupled([devices[i] for i in positions], units):
        _take_units(state, positions, units, ask.milli, (pick, draw), taken)
        return tuple(state), tuple(taken)
    if pick == "best":
        positions = sorted(positions, key=lambda i: (idle(devices[i]), i))
    elif pick == "random":
        turn = mixed(draw) % len(positions)
        positions = positions[turn:] + positions[:turn]
    shares = together([devices[i] for i in positions], list(units.items()))
    for i, share in zip(positions, shares or (), strict=True):
        own = {r: n for r, n in zip(units, share, strict=True) if n}
        _take_units(state, [i], own, WHOLE, (pick, draw), taken)
    return tuple(state), tuple(taken)


def _take_units(
    state: list[Card],
    positions: list[int],
    units: Mapping[str, int],
    milli: int,
    how: tuple[str, int],
    taken: list[Piece],
) -> None:
    """Take ``units`` one by one, what needs most of a card first; of a single card also where its instances
    get in each other's way.
    """
    pick, draw = how
    left = dict(units)
    here = [state[i] for i in positions]
    is_careful = len(left) > 1 and len(positions) == 1
    for resource in sorted(left, key=lambda r: (-_reach(here, r), r)):
        while left[resource]:
            gone = {piece.card for piece in taken} if milli < WHOLE else set[int]()
            found = _candidates(state, [i for i in positions if i not in gone], resource, milli)
            if pick == "best":
                found.sort(key=_best(state, found, left[resource], taken))
            elif pick == "random":
                turn = mixed(draw + len(taken) + 1) % len(found)
                found = found[turn:] + found[:turn]
            left[resource] -= 1
            rest = [(r, n) for r, n in left.items() if n > 0]
            piece = next(p for p in found if not is_careful or _leaves(state, p, positions, rest))
            state[piece.card] = _with(state[piece.card], piece)
            taken.append(piece)


def _reach(cards: list[Card], resource: str) -> int:
    """How much of a card a unit takes: what takes most is placed first."""
    sizes = [p.size for c in cards for p in c.kind.partitions if answers(p, resource)]
    return min(sizes, default=WHOLE)


def _leaves(state: list[Card], piece: Piece, positions: list[int], rest: list[tuple[str, int]]) -> bool:
    """Whether the rest of an ask still fits once the piece is taken."""
    after = list(state)
    after[piece.card] = _with(state[piece.card], piece)
    return not rest or fits_at(tuple(after), positions, rest, WHOLE)


def _candidates(state: list[Card], positions: list[int], resource: str, milli: int) -> list[Piece]:
    """Everything that one unit of ``resource`` could be, by position and start."""
    found: list[Piece] = []
    for i in positions:
        card = state[i]
        kind = card.kind
        if kind.whole == resource and has_room(card, resource, milli):
            found.append(Piece(i, MILLI, milli))
        elif milli == WHOLE and kind.share == resource and card_units(card, resource):
            found.append(Piece(i, SLOT, 1))
        elif milli == WHOLE and kind.partitions:
            found += [Piece(i, name, 0, start) for name, start in unused(card, resource)]
            if kind.dynamic:
                fitting = [p for p in kind.partitions if answers(p, resource)]
                found += [Piece(i, p.name, 1, start) for p in fitting for start in starts(card, p)]
    return found


Score = tuple[int, int, int, int, int, int]


def _best(state: list[Card], found: list[Piece], wanted: int, taken: list[Piece]) -> Callable[[Piece], Score]:
    """The order in which pieces leave the most for others."""
    near = {state[piece.card].numa for piece in taken}
    free: dict[int, int] = {}
    for piece in found:
        if piece.what == MILLI:
            free[state[piece.card].numa] = free.get(state[piece.card].numa, 0) + 1

    def score(piece: Piece) -> Score:
        card = state[piece.card]
        if piece.what == MILLI:
            most = free[card.numa]
            spill = (0, most) if most >= wanted else (1, -most)
            return (card.milli, len(card.kind.partitions), int(card.numa not in near), *spill, piece.card)
        if piece.what == SLOT:
            return (card.slots, 0, 0, 0, piece.card, 0)
        size = next(p.size for p in card.kind.partitions if p.name == piece.what)
        if not piece.amount:
            idle = sum(not used for _, _, used in card.made)
            return (0, size, idle, 0, piece.card, piece.start)
        after = cut(card, piece.what, piece.start)
        return (1, size, _openings(card), -_openings(after), piece.card, piece.start)

    return score


def _openings(card: Card) -> int:
    """How much could still be made on a card: placements left, each by its size."""
    return sum(len(starts(card, p)) * p.size for p in card.kind.partitions)


def _with(card: Card, piece: Piece) -> Card:
    """The card once the piece is taken from it."""
    if piece.what == MILLI:
        return card._replace(milli=card.milli - piece.amount)
    if piece.what == SLOT:
        return card._replace(slots=card.slots - piece.amount)
    if piece.amount:
        return cut(card, piece.what, piece.start)
    return mark(card, piece.what, piece.start, used=True)


def give(devices: Devices, taken: Taken) -> Devices:
    """The devices once what was taken is back: the exact opposite of ``take``.

    Raises ValueError for an instance that is not there, in use.
    """
    state = list(devices)
    for piece in taken:
        card = state[piece.card]
        if piece.what == MILLI:
            state[piece.card] = card._replace(milli=card.milli + piece.amount)
        elif piece.what == SLOT:
            state[piece.card] = card._replace(slots=card.slots + piece.amount)
        elif piece.amount:
            state[piece.card] = uncut(card, piece.what, piece.start)
        else:
            state[piece.card] = mark(card, piece.what, piece.start, used=False)
    return tuple(state)


def ways(devices: Devices, ask: DeviceAsk) -> tuple[tuple[Devices, Taken], ...]:
    """The states that an ask for one unit can lead to, one for each that differs by more than which of
    several equal cards is used; the best alone for an ask for more. () when it does not fit.
    """
    if sum(n for n in ask.units.values() if n > 0) != 1:
        one = take(devices, ask)
        return (one,) if one else ()
    resource = next(r for r, n in ask.units.items() if n > 0)
    state = list(devices)
    found: dict[tuple[Card, str, int, int], tuple[Devices, Taken]] = {}
    for piece in _candidates(state, allowed(devices, ask), resource, ask.milli):
        card = state[piece.card]
        alike = (card, *piece[1:])
        if alike not in found:
            after = (*devices[: piece.card], _with(card, piece), *devices[piece.card + 1 :])
            found[alike] = (after, (piece,))
    return tuple(found.values())


def pods(devices: Devices, ask: DeviceAsk) -> int:
    """How many pods with this ask the cards take, one after another; -1 when the ask limits nothing.

    Exact for an ask of one resource; for several, what taking the best again and again comes to.
    """
    units = [(r, n) for r, n in ask.units.items() if n > 0]
    if not units or ask.milli <= 0:
        return -1
    if len(units) > 1:
        found, state = 0, take(devices, ask)
        while state is not None:
            found, state = found + 1, take(state[0], ask)
        return found
    resource, number = units[0]
    positions = allowed(devices, ask)
    groups = by_numa(devices, positions).values() if ask.aligned else (positions,)
    if ask.milli == WHOLE:
        return sum(sum(card_units(devices[i], resource) for i in group) // number for group in groups)
    held = [
        [devices[i].milli // ask.milli for i in g if has_room(devices[i], resource, ask.milli)]
        for g in groups
    ]
    return sum(rounds(group, number) for group in held)
