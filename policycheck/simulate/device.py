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
    cut,
    is_free,
    mark,
    most_more,
    starts,
    uncut,
    unused,
    vectors,
)
from policycheck.simulate.draw import mixed

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
    "free_units",
    "give",
    "key",
    "take",
    "ways",
)

Devices = tuple[Card, ...]


class DeviceAsk(NamedTuple):
    """What one pod wants of devices: ``units`` of each resource; with ``milli`` below 1000 so many thousandths
    of each of so many cards instead. ``models``: only cards of these; () any. ``aligned``: all on one NUMA
    node, where cards whose NUMA node is not known count as one.
    """

    units: Mapping[str, int]
    milli: int = WHOLE
    models: tuple[str, ...] = ()
    aligned: bool = False


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


def key(ask: DeviceAsk) -> tuple[tuple[tuple[str, int], ...], int, tuple[str, ...], bool]:
    """The ask as a value that can be hashed: equal for equal asks, in whatever order units were written."""
    units = tuple(sorted((r, n) for r, n in ask.units.items() if n > 0))
    return units, ask.milli, tuple(sorted(ask.models)), ask.aligned


def canonical(devices: Devices) -> Devices:
    """The cards in an order of their own: equal for nodes that answer ``fits`` alike, whichever card holds
    what. For keys of results without positions only: a Taken names positions of the state it was taken from.
    """
    return tuple(sorted(devices))


def free_units(devices: Devices, resource: str) -> int:
    """Units of ``resource`` that could be taken at once: free cards, shares, and instances that are there or
    could be made (each card counted for this resource alone).
    """
    return sum(_units(card, resource) for card in devices)


def _units(card: Card, resource: str) -> int:
    kind = card.kind
    if kind.whole == resource:
        return int(is_free(card))
    if kind.share == resource:
        return card.slots if card.milli == WHOLE and not card.made else 0
    if not kind.partitions:
        return 0
    return sum(1 for _ in unused(card, resource)) + most_more(card, resource)


def _has_room(card: Card, resource: str, milli: int) -> bool:
    """Whether ``milli`` thousandths of the card are left, uncut and unshared."""
    kind = card.kind
    return (
        kind.whole == resource
        and card.milli >= milli
        and not card.made
        and (not kind.share or card.slots == kind.shares)
    )


def fits(devices: Devices, ask: DeviceAsk) -> bool:
    """Whether the ask can be met now. Exact, for partitions too: all placements are considered."""
    units = [(r, n) for r, n in ask.units.items() if n > 0]
    if not units:
        return True
    positions = _allowed(devices, ask)
    groups = _by_numa(devices, positions).values() if ask.aligned else (positions,)
    return any(_fit(devices, group, units, ask.milli) for group in groups)


def _allowed(devices: Devices, ask: DeviceAsk) -> list[int]:
    if not ask.models:
        return list(range(len(devices)))
    return [i for i, card in enumerate(devices) if card.kind.model in ask.models]


def _by_numa(devices: Devices, positions: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for i in positions:
        found.setdefault(devices[i].numa, []).append(i)
    return dict(sorted(found.items()))


def _fit(devices: Devices, positions: list[int], units: list[tuple[str, int]], milli: int) -> bool:
    if milli < WHOLE:
        return all(sum(_has_room(devices[i], r, milli) for i in positions) >= n for r, n in units)
    cards = [devices[i] for i in positions]
    if any(sum(_units(card, r) for card in cards) < n for r, n in units):
        return False
    return len(units) == 1 or not _is_coupled(cards, units) or _fit_together(cards, units)


def _is_coupled(cards: list[Card], units: list[tuple[str, int]]) -> bool:
    """Whether some card could serve two of the resources, so that they can not be counted apart."""
    for kind in {card.kind for card in cards}:
        names = (kind.whole, kind.share)
        served = sum(r in names or any(answers(p, r) for p in kind.partitions) for r, _ in units)
        if served > 1:
            return True
    return False


def _fit_together(cards: list[Card], units: list[tuple[str, int]]) -> bool:
    """Whether the cards can serve all resources at once: what is left after each card, over all its ways."""
    names = tuple(r for r, _ in units)
    left = {tuple(n for _, n in units)}
    ways_of: dict[Card, frozenset[tuple[int, ...]]] = {}
    for card in cards:
        alike = card._replace(numa=-1, domain="")
        if alike not in ways_of:
            ways_of[alike] = _servings(card, names)
        left = {
            tuple(max(0, a - b) for a, b in zip(rest, way, strict=True))
            for rest in left
            for way in ways_of[alike]
        }
    return (0,) * len(names) in left


def _servings(card: Card, names: tuple[str, ...]) -> frozenset[tuple[int, ...]]:
    """Every combination of units of ``names`` that one card could serve now, the best ones at least."""
    zero = (0,) * len(names)
    found = {zero}
    for i, name in enumerate(names):
        if card.kind.whole == name or card.kind.share == name:
            found.add((*zero[:i], _units(card, name), *zero[i + 1 :]))
    if not card.kind.partitions:
        return frozenset(found)
    there = {zero}  # instances that are there, each for one of the names
    for instance, _, used in card.made:
        if used:
            continue
        partition = next(p for p in card.kind.partitions if p.name == instance)
        fitting = [i for i, name in enumerate(names) if answers(partition, name)]
        there = {(*v[:i], v[i] + 1, *v[i + 1 :]) for v in there for i in fitting} or there
    more = vectors(card, names) if card.kind.dynamic else frozenset({zero})
    found |= {tuple(a + b for a, b in zip(v, w, strict=True)) for v in there for w in more}
    return frozenset(found)


def take(devices: Devices, ask: DeviceAsk, pick: str = "best", draw: int = 0) -> tuple[Devices, Taken] | None:
    """The devices with the ask met, and what it took; None when it does not fit.

    ``pick``: "best" leaves the most for others (the fullest card that has room, the NUMA node with the
    fewest free cards, the start that costs the fewest other placements), "first" is the lowest position and
    start, "random" follows ``draw``. A choice that would leave the rest of the ask without room is not made.
    """
    units = [(r, n) for r, n in ask.units.items() if n > 0]
    positions = _allowed(devices, ask)
    groups = list(_by_numa(devices, positions).values()) if ask.aligned and units else [positions]
    groups = [group for group in groups if _fit(devices, group, units, ask.milli)]
    if not groups:
        return None
    if pick == "best":
        groups.sort(key=lambda group: sum(is_free(devices[i]) for i in group))
    chosen = groups[mixed(draw) % len(groups)] if pick == "random" else groups[0]
    return _taken(devices, chosen, ask, pick, draw)


def _taken(
    devices: Devices, positions: list[int], ask: DeviceAsk, pick: str, draw: int
) -> tuple[Devices, Taken]:
    """What an ask takes of the cards at ``positions``, on which it fits."""
    here = [devices[i] for i in positions]
    left = {r: n for r, n in ask.units.items() if n > 0}
    is_coupled = ask.milli == WHOLE and len(left) > 1 and _is_coupled(here, list(left.items()))
    state = list(devices)
    taken: list[Piece] = []
    for resource in sorted(left, key=lambda r: (-_reach(here, r), r)):
        while left[resource]:
            gone = {piece.card for piece in taken} if ask.milli < WHOLE else set[int]()
            free = [i for i in positions if i not in gone]
            found = _candidates(state, free, resource, ask.milli)
            if pick == "best":
                found.sort(key=_best(state, found, left[resource]))
            elif pick == "random":
                turn = mixed(draw + len(taken) + 1) % len(found)
                found = found[turn:] + found[:turn]
            left[resource] -= 1
            rest = [(r, n) for r, n in left.items() if n > 0]
            piece = next(p for p in found if not is_coupled or _leaves(state, p, positions, rest))
            state[piece.card] = _with(state[piece.card], piece)
            taken.append(piece)
    return tuple(state), tuple(taken)


def _reach(cards: list[Card], resource: str) -> int:
    """How much of a card a unit takes: what takes most is placed first."""
    sizes = [p.size for c in cards for p in c.kind.partitions if answers(p, resource)]
    return min(sizes, default=WHOLE)


def _leaves(state: list[Card], piece: Piece, positions: list[int], rest: list[tuple[str, int]]) -> bool:
    """Whether the rest of an ask still fits once the piece is taken."""
    after = list(state)
    after[piece.card] = _with(state[piece.card], piece)
    return not rest or _fit(tuple(after), positions, rest, WHOLE)


def _candidates(state: list[Card], positions: list[int], resource: str, milli: int) -> list[Piece]:
    """Everything that one unit of ``resource`` could be, by position and start."""
    found: list[Piece] = []
    for i in positions:
        card = state[i]
        kind = card.kind
        if kind.whole == resource and _has_room(card, resource, milli):
            found.append(Piece(i, MILLI, milli))
        elif milli == WHOLE and kind.share == resource and _units(card, resource):
            found.append(Piece(i, SLOT, 1))
        elif milli == WHOLE and kind.partitions:
            found += [Piece(i, name, 0, start) for name, start in unused(card, resource)]
            if kind.dynamic:
                fitting = [p for p in kind.partitions if answers(p, resource)]
                found += [Piece(i, p.name, 1, start) for p in fitting for start in starts(card, p)]
    return found


Score = tuple[int, int, int, int, int, int]


def _best(state: list[Card], found: list[Piece], wanted: int) -> Callable[[Piece], Score]:
    """The order in which pieces leave the most for others."""
    free: dict[int, int] = {}
    for piece in found:
        if piece.what == MILLI:
            free[state[piece.card].numa] = free.get(state[piece.card].numa, 0) + 1

    def score(piece: Piece) -> Score:
        card = state[piece.card]
        if piece.what == MILLI:
            near = free[card.numa]
            spill = (0, near) if near >= wanted else (1, -near)
            return (card.milli, len(card.kind.partitions), *spill, piece.card, 0)
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
    for piece in _candidates(state, _allowed(devices, ask), resource, ask.milli):
        card = state[piece.card]
        alike = (card, *piece[1:])
        if alike not in found:
            after = (*devices[: piece.card], _with(card, piece), *devices[piece.card + 1 :])
            found[alike] = (after, (piece,))
    return tuple(found.values())
