"""Whether an ask for devices fits on a node's cards, and how often.

An ask for one resource is counted. An ask for several that the same cards could serve is held against all
ways in which each card could serve them, so that the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policycheck.simulate.card import WHOLE, Card, answers, card_units, has_room, vectors

Devices = tuple[Card, ...]
Vector = tuple[int, ...]  # units, resource by resource


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
    """Whether the ask can be met now. Exact, for partitions too: all placements are considered (``together``
    names the one limit).
    """
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
    return len(units) == 1 or not is_coupled(cards, dict(units)) or together(cards, units) is not None


def is_coupled(cards: Sequence[Card], resources: Iterable[str]) -> bool:
    """Whether some card could serve two of the resources, so that they can not be counted apart."""
    wanted = tuple(resources)
    for kind in {card.kind for card in cards}:
        names = (kind.whole, kind.share)
        served = sum(r in names or any(answers(p, r) for p in kind.partitions) for r in wanted)
        if served > 1:
            return True
    return False


_MOST_TRIED = 20_000  # states of the search; only an ask for many partitions of many kinds comes near


def together(cards: Sequence[Card], units: Sequence[tuple[str, int]]) -> list[Vector] | None:
    """Units of each resource that each card serves so that all of ``units`` are served; None when there is no
    such way. The first cards are filled first.

    Exact, unless the search is given up after a fixed number of states: then it counts as not fitting.
    """
    names = tuple(r for r, _ in units)
    ways_of: dict[Card, list[Vector]] = {}
    ways: list[list[Vector]] = []
    for card in cards:
        alike = card._replace(numa=-1, domain="")
        if alike not in ways_of:
            ways_of[alike] = _most(_servings(card, names))
        ways.append(ways_of[alike])
    after = [(0,) * len(names)]  # of each resource, the most that the cards from here on could serve
    for way in reversed(ways):
        after.append(tuple(n + max(v[i] for v in way) for i, n in enumerate(after[-1])))
    after.reverse()
    return _searched(ways, after, tuple(n for _, n in units))


def _searched(
    ways: Sequence[Sequence[Vector]], after: Sequence[Vector], wanted: Vector
) -> list[Vector] | None:
    """A way for each card, depth first, without those that lead to what failed before."""
    failed: set[tuple[int, Vector]] = set()
    path: list[Vector] = []
    stack = [(wanted, iter(_useful(ways[0], wanted) if ways else ()))]
    tried = 0
    while stack:
        rest, choices = stack[-1]
        way = next(choices, None)
        if way is None or tried > _MOST_TRIED:
            failed.add((len(stack) - 1, rest))
            stack.pop()
            if path:
                path.pop()
            continue
        tried += 1
        left = tuple(a - b for a, b in zip(rest, way, strict=True))
        depth = len(stack)
        if not any(left):
            return [*path, way, *[(0,) * len(wanted)] * (len(ways) - depth)]
        if depth == len(ways) or (depth, left) in failed:
            continue
        if all(a <= b for a, b in zip(left, after[depth], strict=True)):
            path.append(way)
            stack.append((left, iter(_useful(ways[depth], left))))
    return None


def _useful(ways: Iterable[Vector], rest: Vector) -> list[Vector]:
    """What of each way is still wanted, once each, those first that serve the largest part of the rest."""
    found = _most({tuple(map(min, way, rest)) for way in ways})
    found.sort(key=lambda v: (-sum(n * 1000 // r for n, r in zip(v, rest, strict=True) if r), v))
    return found


def _most(found: Iterable[Vector]) -> list[Vector]:
    """The vectors that no other one equals or exceeds in every place."""
    kept: list[Vector] = []
    for one in sorted(found, key=lambda v: (-sum(v), v)):
        if not any(all(a >= b for a, b in zip(other, one, strict=True)) for other in kept):
            kept.append(one)
    return kept


def _servings(card: Card, names: tuple[str, ...]) -> frozenset[Vector]:
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
