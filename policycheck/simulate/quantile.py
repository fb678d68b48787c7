"""Shares and percentiles that say when there is nothing to measure, and when a number is only a bound.

What has not ended when the scenario does is censored: it counts with what it has reached, is never
dropped, and every percentile that a later end could raise is marked as a lower bound. No distribution is
assumed; a survival estimate (Kaplan and Meier) would take those that still wait to be like the rest, and
in a queue they are not: what waits longest is what fits worst.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

P50, P90, P99, MOST = "p50", "p90", "p99", "max"
_RANKS = ((P50, 50), (P90, 90), (P99, 99), (MOST, 100))
Number = int | float


class Ratio(NamedTuple):
    """``part`` of ``whole``, both exact; when there is no whole, ``why`` says so and there is no value."""

    part: int
    whole: int
    why: str = ""

    @property
    def value(self) -> float | None:
        """The quotient; None without a whole."""
        return self.part / self.whole if self.whole else None


class Spread(NamedTuple):
    """Percentiles by nearest rank: the smallest value that so many of 100 do not exceed.

    None where there is nothing, and ``why`` says it. ``bounds`` names those that are lower bounds,
    because of the ``censored`` values among the ``size``; ``total`` is the sum of all.
    """

    size: int = 0
    censored: int = 0
    p50: Number | None = None
    p90: Number | None = None
    p99: Number | None = None
    most: Number | None = None
    total: Number = 0
    bounds: tuple[str, ...] = ()
    why: str = ""

    @property
    def mean(self) -> float | None:
        """The mean; a lower bound when any value is censored."""
        return self.total / self.size if self.size else None

    def is_bound(self, name: str) -> bool:
        """Whether the percentile ``name`` may in truth be larger."""
        return name in self.bounds


def spread(values: Sequence[Number], censored: Sequence[Number] = (), why: str = "") -> Spread:
    """The percentiles of ``values`` and of what has reached ``censored`` so far."""
    size = len(values) + len(censored)
    if not size:
        return Spread(why=why or "there is nothing to measure")
    low = sorted([*values, *censored])
    ended = sorted(values)
    picked = {name: low[_rank(size, share)] for name, share in _RANKS}
    # A percentile is exact if it comes out the same when everything censored goes on for ever.
    bounds = tuple(
        name
        for name, share in _RANKS
        if censored and ((at := _rank(size, share)) >= len(ended) or ended[at] != picked[name])
    )
    return Spread(
        size,
        len(censored),
        picked[P50],
        picked[P90],
        picked[P99],
        picked[MOST],
        _sum(low),
        bounds,
    )


def _rank(size: int, share: int) -> int:
    return max(1, -(-size * share // 100)) - 1


def _sum(values: Sequence[Number]) -> Number:
    """Exact for integers, correctly rounded for floats: the order does not matter."""
    return sum(values) if all(isinstance(v, int) for v in values) else math.fsum(values)


def jain(shares: Sequence[float]) -> float | None:
    """(sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything (Jain 1984); None
    without shares, or when nobody has any.
    """
    squares = math.fsum(x * x for x in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else None
