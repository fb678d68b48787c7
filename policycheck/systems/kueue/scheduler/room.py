"""How many pods one leaf has room for: what is free there less what is used, divided by what one takes.

A pod slot is part of what a pod takes. Source: KEP-2724, phase 1 of the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policycheck.systems.kueue.scheduler.domains import Domains, Values
from policycheck.systems.kueue.scheduler.land import PODS, Land
from policycheck.systems.kueue.scheduler.wish import Ask

Amounts = Mapping[str, int]
Assumed = dict[Values, dict[str, int]]  # by leaf as written: what earlier podsets of the workload take
MOST = (1 << 31) - 1


def with_slot(each: Amounts) -> dict[str, int]:
    """What one pod takes of a node."""
    return {**each, PODS: each.get(PODS, 0) + 1}


class Room:
    """Room in one flavor, as things are or (``empty``) as if nobody had been placed."""

    __slots__ = ("_empty", "domains", "flavor", "land")

    def __init__(self, land: Land, flavor: str, *, empty: bool) -> None:
        self.land = land
        self.flavor = flavor
        self.domains: Domains = land.fields[flavor]
        self._empty = empty

    def at(self, leaf: int, each: Amounts, less: Iterable[Amounts] = ()) -> int:
        """How many pods ``leaf`` has room for when ``less`` is taken as well."""
        best = MOST
        for resource, amount in with_slot(each).items():
            if amount > 0:
                left = self.left(leaf, resource) - sum(m.get(resource, 0) for m in less)
                best = min(best, left // amount)
        return max(best, 0)

    def left(self, leaf: int, resource: str) -> int:
        """What ``leaf`` has left of ``resource``."""
        free = self.domains.free.get(resource)
        if free is None:
            return 0
        used = 0 if self._empty else self.land.usage[self.land.cell(self.flavor, leaf, resource)]
        return free[leaf] - used

    def left_out(self, ask: Ask, assumed: Assumed, within: int | None) -> str:
        """Which leaves hold not one pod, counted by reason."""
        domains, why = self.domains, dict[str, int]()
        for leaf in range(domains.leaves):
            if not domains.live[leaf]:
                continue
            reason = domains.refusal(leaf, ask.spec) if domains.hostname else ""
            if not reason and within is not None:
                inside = domains.above(leaf, len(domains.values[within]) - 1) == within
                reason = "" if inside else "topologyDomain"
            reason = reason or self._lacking(leaf, ask, assumed)
            if reason:
                why[reason] = why.get(reason, 0) + 1
        if not why:
            return ""
        listed = ", ".join(sorted(f"{reason}: {n}" for reason, n in why.items()))
        return f". Total nodes: {sum(domains.live)}; excluded: {listed}"

    def _lacking(self, leaf: int, ask: Ask, assumed: Assumed) -> str:
        """The resource of which ``leaf`` has too little for one pod, or ""."""
        more = assumed.get(self.domains.names[leaf], {})
        for resource, amount in sorted({**ask.each, PODS: 1}.items()):
            left = self.left(leaf, resource) - more.get(resource, 0)
            if left < amount and amount > 0:
                return f'resource "{resource}"'
        return ""
