"""What leaves have left of one resource, in order, so that those with enough of it are found at once.

When a cluster is nearly full most leaves have too little of what is scarce. A kind of pod that was never
seen before then has to be counted only where the scarcest of what it asks for is to be had.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.land import Land

_NUMBER = 24  # bits for the number of a leaf
_MASK = (1 << _NUMBER) - 1


class Left:
    """One resource in one flavor. ``amounts`` is by leaf, right after ``mend``; 0 where a leaf is not live
    or more is used than there is.
    """

    __slots__ = ("_at", "_begin", "_epoch", "_flavor", "_keys", "_resource", "amounts", "land")

    def __init__(self, land: Land, flavor: str, resource: str) -> None:
        self.land = land
        self._flavor = flavor
        self._resource = resource
        (self._begin,) = land.begins(flavor, (resource,))
        self._epoch, self._at = -1, 0
        self.amounts: list[int] = []
        self._keys: list[int] = []  # amount and leaf of all that have any, in order

    def mend(self) -> None:
        """Catch up with the land."""
        land = self.land
        if self._epoch != land.epoch:
            self._all()
        elif self._at < len(land.log):
            place = land.place(self._flavor)
            spots = {~s if s < 0 else s for s in land.log[self._at :]}
            self._at = len(land.log)
            leaves, offset = place.leaves, place.space.offset
            some = [leaves[s - offset] for s in spots if 0 <= s - offset < len(leaves)]
            if len(some) * 8 > len(self.amounts) > 64:
                self._all()
            else:
                self._some([leaf for leaf in some if leaf >= 0])

    def _all(self) -> None:
        land = self.land
        domains = land.fields[self._flavor]
        free, used = domains.free.get(self._resource), land.used(self._flavor, self._resource)
        if free is None:
            self.amounts = [0] * domains.leaves
        else:
            left = [f - u for f, u in zip(free, used, strict=True)]
            self.amounts = [n if n > 0 and on else 0 for n, on in zip(left, domains.live, strict=True)]
        self._keys = sorted([n << _NUMBER | leaf for leaf, n in enumerate(self.amounts) if n])
        self._epoch, self._at = land.epoch, len(land.log)

    def _some(self, leaves: list[int]) -> None:
        land, amounts, keys = self.land, self.amounts, self._keys
        domains = land.fields[self._flavor]
        free = domains.free.get(self._resource)
        spots, begin, usage = land.place(self._flavor).spots, self._begin, land.usage
        for leaf in leaves:
            left = free[leaf] - usage[begin + spots[leaf]] if free is not None and domains.live[leaf] else 0
            now, before = max(left, 0), amounts[leaf]
            if now != before:
                amounts[leaf] = now
                if before:
                    del keys[bisect_left(keys, before << _NUMBER | leaf)]
                if now:
                    insort(keys, now << _NUMBER | leaf)

    def having(self, amount: int) -> int:
        """How many leaves have ``amount`` (which is above 0)."""
        return len(self._keys) - bisect_left(self._keys, amount << _NUMBER)

    def leaves(self, amount: int) -> list[int]:
        """The leaves that have ``amount``, in no particular order."""
        return [key & _MASK for key in self._keys[bisect_left(self._keys, amount << _NUMBER) :]]


def left_of(land: Land, flavor: str, resource: str) -> Left:
    """What is left of ``resource``, mended."""
    found = land.left.get((flavor, resource))
    if found is None:
        found = land.left[flavor, resource] = Left(land, flavor, resource)
    found.mend()
    return found
