"""How broken up the free part of the nodes was over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policycheck.simulate.quantile import Ratio
from policycheck.simulate.series import NO_TIME
from policycheck.simulate.timeline import Supply, Timeline

NOT_PLACED = "nodes were not simulated"
POINTS = 96  # of a series


class Shape(NamedTuple):
    """How broken up what is free was, in a stretch of time beginning at ``at``. ``fragment`` is the part
    of what is free that the mix can not use, ``gang`` the largest gang that fits over what as many free
    units would allow.
    """

    at: int
    fragment: Ratio
    gang: Ratio


class Fragmentation(NamedTuple):
    """Over the whole scenario, and as a series. Definitions: FGD (ATC'23) for ``fragment``; ``broken`` is
    the share of time in which the largest gang was smaller than what is free would allow.
    """

    fragment: Ratio
    gang: Ratio
    broken: Ratio
    worst: Supply | None  # the moment at which the least of what is free could be had by one gang
    series: tuple[Shape, ...]
    why: str = ""


def fragmentation(timeline: Timeline, points: int = POINTS) -> Fragmentation:
    """How broken up the nodes were, from the steps of supply."""
    known = [one for one in timeline.supply if one.largest >= 0 or one.fragment >= 0]
    if not known or not timeline.end:
        why = NOT_PLACED if not known else NO_TIME
        nothing = Ratio(0, 0, why)
        return Fragmentation(nothing, nothing, nothing, None, (), why)
    width = -(-timeline.end // points)
    sums = [[0, 0, 0, 0, 0, 0] for _ in range(-(-timeline.end // width))]
    for begin, until, one in _held(known, timeline.end):
        for number in range(begin // width, -(-until // width)):
            length = min(until, (number + 1) * width) - max(begin, number * width)
            _add(sums[number], length, one)
    whole = [sum(column) for column in zip(*sums, strict=True)]
    series = tuple(Shape(n * width, _fragment(row), _gang(row)) for n, row in enumerate(sums))
    return Fragmentation(
        _fragment(whole),
        _gang(whole),
        Ratio(whole[5], whole[4], NOT_PLACED),
        _worst(known),
        series,
    )


def _held(known: Sequence[Supply], end: int) -> Iterator[tuple[int, int, Supply]]:
    for number, one in enumerate(known):
        until = known[number + 1].at if number + 1 < len(known) else end
        if min(until, end) > one.at:
            yield one.at, min(until, end), one


def _add(row: list[int], length: int, one: Supply) -> None:
    """Row: fragment, free where that is known, largest, allowed, time where that is known, time broken."""
    if one.fragment >= 0:
        row[0] += length * one.fragment
        row[1] += length * one.free
    if one.largest >= 0:
        row[2] += length * one.largest
        row[3] += length * one.allowed
        row[4] += length
        row[5] += length * (one.largest < one.allowed)


def _fragment(row: Sequence[int]) -> Ratio:
    return Ratio(row[0], row[1], "nothing was free")


def _gang(row: Sequence[int]) -> Ratio:
    return Ratio(row[2], row[3], "nothing was free")


def _worst(known: Sequence[Supply]) -> Supply | None:
    some = [one for one in known if 0 <= one.largest < one.allowed]
    return min(some, key=lambda one: (one.largest / one.allowed, one.at), default=None)
