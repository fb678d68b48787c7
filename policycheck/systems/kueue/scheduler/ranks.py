"""Domains of one level in the order of what they hold, kept in order while that changes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from policycheck.systems.kueue.scheduler.counts import Counts

_NUMBER, _PODS = 24, 64  # bits for the number of a domain, and for the pods that it holds


class Ranks:
    """Fewest slices first, of equals fewest pods, then by number. One integer a domain, so that finding
    and moving one costs a bisection.
    """

    __slots__ = ("_counts", "_keys", "_mask", "_shift")

    def __init__(self, counts: Counts, low: int, high: int) -> None:
        self._counts = counts
        self._shift = _NUMBER if counts.single else _NUMBER + _PODS
        self._mask = (1 << _NUMBER) - 1
        pods, slices = counts.pods, counts.slices
        self._keys = sorted(self._key(slices[d], pods[d], d) for d in range(low, high))

    def _key(self, slices: int, pods: int, domain: int) -> int:
        key = slices << self._shift | domain
        return key if self._shift == _NUMBER else key | pods << _NUMBER

    def move(self, domain: int, slices: int, pods: int) -> None:
        """``domain`` held ``slices`` and ``pods`` before."""
        keys, counts = self._keys, self._counts
        del keys[bisect_left(keys, self._key(slices, pods, domain))]
        insort(keys, self._key(counts.slices[domain], counts.pods[domain], domain))

    @property
    def most(self) -> int:
        """The most slices that a domain holds."""
        return self._keys[-1] >> self._shift if self._keys else 0

    def tightest(self, wanted: int) -> int:
        """The domain that holds ``wanted`` slices with the least to spare, or -1."""
        at = bisect_left(self._keys, wanted << self._shift)
        return self._keys[at] & self._mask if at < len(self._keys) else -1

    def rising(self) -> Iterator[int]:
        """Domains that hold a slice, those with the fewest first."""
        keys = self._keys
        for at in range(bisect_left(keys, 1 << self._shift), len(keys)):
            yield keys[at] & self._mask

    def falling(self) -> Iterator[int]:
        """Domains that hold a slice, those with the most first, equals in the order of the rest."""
        keys, end = self._keys, len(self._keys)
        while end:
            slices = keys[end - 1] >> self._shift
            if not slices:
                return
            begin = bisect_left(keys, slices << self._shift, 0, end)
            for at in range(begin, end):
                yield keys[at] & self._mask
            end = begin
