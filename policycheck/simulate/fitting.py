"""Whether an ask for devices fits on a node's cards, and how often.

An ask for one resource is counted. An ask for several that the same cards could serve is held against all
ways in which each card could serve them, so that the answer is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.simulate.card import WHOLE, Card, answers, card_units, has_room, vectors

Devices = tuple[Card, ...]


class DeviceAsk(NamedTuple):
    """What one pod wants of devices: ``units`` of each resource; with ``milli`` (1 to 1000) below 1000 so many
    thousandths of each of so many different cards instead. ``models``: only cards of these; () any. ``aligned``: all on one NUMA
    node, where cards whose NUMA node is not known count as one.
    """

    units: Mapping[str, int]
    milli: int = WHOLE
    models: tuple[str, ...] = ()
    aligned: bool = False


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
    return sum(card_units(card, resource) for card in devices)


def serves(card: Card, ask: DeviceAsk) -> bool:
    """Whether the card could serve one unit of the ask, whatever the other cards have."""
    if ask.models and card.kind.model not in ask.models:
        return False
    if ask.milli < WHOLE:
        return any(n > 0 and has_room(card, r, ask.milli) for r, n in ask.units.items())
    return any(n > 0 and card_units(card, r) > 0 for r, n in ask.units.items())


def rounds(held: list[int], number: int) -> int:
    """How often ``number`` different cards can be used when each can be used so often."""
    low, high = 0, sum(held) // number
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(middle, n) for n in held) >= middle * number:
            low = middle
        else:
            high = middle - 1
    return low


def fits(devices: Devices, ask: DeviceAsk) -> bool:
    """Whether the ask can be met now. Exact, for partitions too: all placements are considered."""
    units = [(r, n) for r, n in ask.units.items() if n > 0]
    if not units:
        return True
    positions = allowed(devices, ask)
    groups = by_numa(devices, positions).values() if ask.aligned else (positions,)
    return any(fits_at(devices, group, units, ask.milli) for group in groups)


def allowed(devices: Devices, ask: DeviceAsk) -> list[int]:
    """Positions of the cards whose model the ask takes."""
    if not ask.models:
        return list(range(len(devices)))
    return [i for i, card in enumerate(devices) if card.kind.model in ask.models]


def by_numa(devices: Devices, positions: list[int]) -> dict[int, list[int]]:
    """The positions by NUMA node, in order."""
    found: dict[int, list[int]] = {}
    for i in positions:
        found.setdefault(devices[i].numa, []).append(i)
    return dict(sorted(found.items()))


def fits_at(devices: Devices, positions: list[int], units: list[tuple[str, int]], milli: int) -> bool:
    """Whether so many units of each resource fit on the cards at ``positions``."""
    if milli < WHOLE:
        return all(sum(has_room(devices[i], r, milli) for i in positions) >= n for r, n in units)
    cards = [devices[i] for i in positions]
    if any(sum(card_units(card, r) for card in cards) < n for r, n in units):
        return False
    return len(units) == 1 or not is_coupled(cards, units) or _fit_together(cards, units)


def is_coupled(cards: list[Card], units: list[tuple[str, int]]) -> bool:
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
            found.add((*zero[:i], card_units(card, name), *zero[i + 1 :]))
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
