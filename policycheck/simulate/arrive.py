"""When jobs arrive: processes that give rising times in integer milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count as numbers
from itertools import islice, repeat
from typing import NamedTuple

from policycheck.simulate.curve import FLAT, Curve
from policycheck.simulate.draw import Draw

POISSON, INTERVAL, START, REPLAY = "poisson", "interval", "start", "replay"
PROCESSES = (POISSON, INTERVAL, START, REPLAY)


class Process(NamedTuple):
    """How jobs of a class arrive.

    ``jitter`` moves each arrival of an interval process by up to so much of the interval, either way;
    ``first`` is the time of its first arrival (-1: one interval after the start). ``times`` are replayed.
    """

    kind: str = POISSON
    jitter: float = 0.0
    first: int = -1
    times: tuple[int, ...] = ()


def arrivals(
    process: Process, gap: float, most: int, end: int, draw: Draw, curve: Curve = FLAT
) -> Sequence[int]:
    """Times before ``end`` (0: no end), at most ``most`` of them (0: no bound), rising.

    ``gap`` is the mean time between two in ms; 0 spreads ``most`` over the time until ``end``. A process
    without end or bound gives nothing.
    """
    if process.kind == START:
        return (max(process.first, 0),) * most
    if process.kind == REPLAY:
        return [t for t in (islice(process.times, most) if most else process.times) if not end or t < end]
    if not gap:
        if not (most and end):
            return ()
        if process.kind == POISSON:  # given their number, arrivals are anywhere alike
            return [int(t) for t in curve.bend(sorted(end * draw.unit() for _ in range(most)))]
        gap = end / most
    elif not (most or end):
        return ()
    even = _gaps(draw, gap) if process.kind == POISSON else _intervals(process, gap)
    moved = gap * process.jitter if process.kind == INTERVAL else 0.0
    found: list[int] = []
    for time in islice(curve.bend(even), most) if most else curve.bend(even):
        if end and time - moved >= end:
            break
        at = time + moved * (2 * draw.unit() - 1) if moved else time
        if not end or at < end:
            found.append(max(int(at), 0))
    return sorted(found) if process.jitter > 0.5 else found


def _gaps(draw: Draw, gap: float) -> Iterator[float]:
    time = 0.0
    for mean in repeat(gap):
        time += draw.exponential(mean)
        yield time


def _intervals(process: Process, gap: float) -> Iterator[float]:
    first = gap if process.first < 0 else float(process.first)
    for n in numbers():
        yield first + n * gap
