"""Random numbers that are a function of a seed and of what they are for.

There is no shared generator: a stream derives from (seed, names), so that adding a queue or a class
leaves the draws of all others as they were. The generator is SplitMix64 (Steele, Lea and Flood 2014),
which is the same on every platform and Python.
"""

from __future__ import annotations

import math
from typing import TypeVar

from policycheck.digest import sha256

T = TypeVar("T")

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def mixed(value: int) -> int:
    """64 well mixed bits of ``value``."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


class Draw:
    """A stream of random numbers."""

    __slots__ = ("_state",)

    def __init__(self, state: int) -> None:
        self._state = state & _MASK

    def bits(self) -> int:
        """The next 64 bits."""
        self._state = (self._state + _STEP) & _MASK
        return mixed(self._state)

    def below(self, end: int) -> int:
        """0 <= n < ``end``, which must be positive. The bias is below end / 2^64."""
        return (self.bits() * end) >> 64

    def unit(self) -> float:
        """0 <= x < 1, in steps of 2^-53."""
        return (self.bits() >> 11) * 2.0**-53

    def exponential(self, mean: float) -> float:
        """Exponentially distributed with ``mean``."""
        return -mean * math.log1p(-self.unit())

    def normal(self) -> float:
        """Standard normal (Box and Muller; one of the two is thrown away)."""
        radius = math.sqrt(-2.0 * math.log1p(-self.unit()))
        return radius * math.cos(2.0 * math.pi * self.unit())

    def shuffle(self, items: list[T]) -> None:
        """Put ``items`` in a random order (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def stream(seed: int, *names: object) -> Draw:
    """The stream for ``names`` under ``seed``: equal names, equal numbers; names differ by their text."""
    text = "\x00".join([str(seed), *map(str, names)])
    return Draw(int.from_bytes(sha256(text.encode()).digest()[:8], "big"))
