"""What numbers are drawn from: distributions fitted to what publications tell of a cluster.

A mean and a median make a log-normal distribution, since run times in every published trace have a
mean far above their median. All give the mean of what is really drawn, bounds included: offered load
is worked out of it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from policycheck.simulate.draw import Draw

UNBOUNDED = math.inf
_WIDEST, _STEP = (
    8.0,
    0.05,
)  # a sigma beyond anything recorded; the mean within bounds rises and may fall again


class Spread(Protocol):
    """A distribution of non-negative numbers."""

    def take(self, draw: Draw) -> float:
        """The next number."""

    def mean(self) -> float:
        """The expectation of ``take``."""


class Constant(NamedTuple):
    """Always the same number."""

    value: float

    def take(self, draw: Draw) -> float:  # noqa: ARG002 - draws nothing
        """The number."""
        return self.value

    def mean(self) -> float:
        """The number."""
        return self.value


class LogNormal(NamedTuple):
    """exp of a normal distribution with ``mu`` and ``sigma``, held within ``least`` and ``most``."""

    mu: float
    sigma: float
    least: float = 0.0
    most: float = UNBOUNDED

    def take(self, draw: Draw) -> float:
        """The next number."""
        return min(max(math.exp(self.mu + self.sigma * draw.normal()), self.least), self.most)

    def mean(self) -> float:
        """The expectation, bounds included."""
        return self.below(self.most) - self.below(self.least) + self.least

    def below(self, bound: float) -> float:
        """The expectation of the smaller of a number and ``bound``."""
        whole = math.exp(self.mu + self.sigma**2 / 2)
        if bound == UNBOUNDED:
            return whole
        if bound <= 0:
            return 0.0
        if self.sigma == 0:
            return min(whole, bound)
        at = (math.log(bound) - self.mu) / self.sigma
        return whole * _phi(at - self.sigma) + bound * (1 - _phi(at))


def fitted(mean: float, median: float, least: float = 0.0, most: float = UNBOUNDED) -> LogNormal:
    """The log-normal distribution with this mean and median: sigma = sqrt(2 ln(mean / median)).

    With bounds sigma is larger, so that the mean of what is drawn within them is ``mean`` all the same.
    Raises ValueError for a median of 0 or one above the mean, which no log-normal distribution has, and for
    bounds within which no median is, or that keep the mean from being reached.
    """
    if not 0 < median <= mean:
        raise ValueError("a median has to be above 0 and not above the mean")
    plain = LogNormal(math.log(median), math.sqrt(2 * math.log(mean / median)), least, most)
    if least <= 0 and most == UNBOUNDED:
        return plain
    if not least <= median <= most:
        raise ValueError("the median of a log-normal distribution lies within its bounds")
    steps = (plain._replace(sigma=n * _STEP) for n in range(1, int(_WIDEST / _STEP)))
    reached = next((one.sigma for one in steps if one.mean() >= mean), 0.0)
    if not reached:
        raise ValueError("no log-normal distribution with this median has this mean within the bounds")
    low, high = reached - _STEP, reached
    for _ in range(50):
        middle = (low + high) / 2
        if plain._replace(sigma=middle).mean() < mean:
            low = middle
        else:
            high = middle
    return plain._replace(sigma=high)


class Exponential(NamedTuple):
    """Memoryless, of ``average`` without bounds, held within ``least`` and ``most``."""

    average: float
    least: float = 0.0
    most: float = UNBOUNDED

    def take(self, draw: Draw) -> float:
        """The next number."""
        return min(max(draw.exponential(self.average), self.least), self.most)

    def mean(self) -> float:
        """The expectation, bounds included."""
        lower = math.exp(-self.least / self.average)
        upper = 0.0 if self.most == UNBOUNDED else math.exp(-self.most / self.average)
        return self.least + self.average * (lower - upper)


class Uniform(NamedTuple):
    """Evenly from ``least`` up to ``most``."""

    least: float
    most: float

    def take(self, draw: Draw) -> float:
        """The next number."""
        return self.least + (self.most - self.least) * draw.unit()

    def mean(self) -> float:
        """The middle."""
        return (self.least + self.most) / 2


class Choice(NamedTuple):
    """One of ``values``; ``ends`` are the sums of the odds up to each, the last is 1. ``of`` makes one."""

    values: tuple[float, ...]
    ends: tuple[float, ...]

    def take(self, draw: Draw) -> float:
        """The next number."""
        return self.values[min(bisect_right(self.ends, draw.unit()), len(self.values) - 1)]

    def mean(self) -> float:
        """The expectation."""
        odds = (end - start for start, end in pairwise((0.0, *self.ends)))
        return sum(value * odd for value, odd in zip(self.values, odds, strict=True))


def choice(odds: Mapping[float, float]) -> Choice:
    """Each value with its odds, which need not add up to 1. Raises ValueError when all are 0."""
    total = math.fsum(odds.values())
    if not odds or total <= 0 or min(odds.values()) < 0:
        raise ValueError("odds have to be 0 or more, and one of them above 0")
    ends = tuple(end / total for end in accumulate(odds.values()))
    return Choice(tuple(odds), ends)


def evenly(values: Sequence[float]) -> Choice:
    """Each of ``values`` as often as it stands there."""
    return Choice(tuple(values), tuple((n + 1) / len(values) for n in range(len(values))))


class Quantiles(NamedTuple):
    """A curve through published quantiles: ``shares`` from 0 to 1 rising, and the value at each.

    Between two of them the logarithm of the value rises evenly (of the value plus 1, so that 0 has one).
    """

    shares: tuple[float, ...]
    values: tuple[float, ...]

    def take(self, draw: Draw) -> float:
        """The next number."""
        return self.at(draw.unit())

    def at(self, share: float) -> float:
        """The value below which ``share`` of all numbers are."""
        after = min(max(bisect_right(self.shares, share), 1), len(self.shares) - 1)
        low, high = self.shares[after - 1], self.shares[after]
        first, last = math.log1p(self.values[after - 1]), math.log1p(self.values[after])
        return math.expm1(first + (last - first) * min(max((share - low) / (high - low), 0.0), 1.0))

    def mean(self) -> float:
        """The expectation."""
        total = 0.0
        for n in range(1, len(self.shares)):
            low, high = self.values[n - 1] + 1, self.values[n] + 1
            middle = low if high == low else (high - low) / math.log(high / low)
            total += (self.shares[n] - self.shares[n - 1]) * (middle - 1)
        return total


def _phi(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2))
