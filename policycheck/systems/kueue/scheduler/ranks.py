"""Domains of one level in the order of what they hold, kept in order while that changes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from policycheck.systems.kueue.scheduler.counts import Counts

_NUMBER, _PODS = 24, 64  # bits for the number of a domain, and for the pods that it holds


class Ranks:
    """Domains that hold a slice: fewest slices first, of equals fewest pods, then by number. One integer a
    domain, so that finding and moving one costs a bisection.
    """

    __slots__ = ("_counts", "_keys", "_mask", "_shift")

    def __init__(self, counts: Counts, low: int, high: int) -> None:
        self._counts = counts
        self._shift = _NUMBER if counts.single else _NUMBER + _PODS
        self._mask = (1 << _NUMBER) - 1
        pods, slices = counts.pods, counts.slices
        if counts.single:
            keys = [n << _NUMBER | d for d, n in enumerate(pods[low:high], low) if n]
        else:
            keys = [self._key(n, pods[d], d) for d, n in enumerate(slices[low:high], low) if n]
        keys.sort()
        self._keys = keys

    def _key(self, slices: int, pods: int, domain: int) -> int:
        key = slices << self._shift | domain
        return key if self._shift == _NUMBER else key | pods << _NUMBER

    def move(self, domain: int, slices: int, pods: int) -> None:
        """``domain`` held ``slices`` and ``pods`` before."""
        keys, now = self._keys, self._counts.slices[domain]
        if slices:
            del keys[bisect_left(keys, self._key(slices, pods, domain))]
        if now:
            insort(keys, self._key(now, self._counts.pods[domain], domain))

    @property
    def most(self) -> int:
        """The most slices that a domain holds."""
        return self._keys[-1] >> self._shift if self._keys else 0

    def tightest(self, wanted: int) -> int:
        """The domain that holds ``wanted`` slices (at least one) with the least to spare, or -1."""
        at = bisect_left(self._keys, wanted << self._shift)
        return self._keys[at] & self._mask if at < len(self._keys) else -1

    def rising(self) -> Iterator[int]:
        """Those with the fewest slices first."""
        for key in self._keys:
            yield key & self._mask

    def falling(self) -> Iterator[int]:
        """Those with the most slices first, equals in the order of the rest."""
        keys, end = self._keys, len(self._keys)
        while end:
            begin = bisect_left(keys, keys[end - 1] >> self._shift << self._shift, 0, end)
            for at in range(begin, end):
                yield keys[at] & self._mask
            end = begin
