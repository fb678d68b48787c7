"""How much every domain can hold: pods, whole slices, and both beside a leader.

Leaves first: what is free there less what is used, divided by what one pod takes, a pod slot included.
Then the sums upward. Source: KEP-2724 "Topology aware scheduling", phase 1 of the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policycheck.systems.kueue.scheduler.domains import Domains, Values
from policycheck.systems.kueue.scheduler.land import PODS, Land
from policycheck.systems.kueue.scheduler.wish import Ask, Wish

Assumed = dict[Values, dict[str, int]]  # by leaf as written: what earlier podsets of the workload take
_MOST = (1 << 31) - 1


class Profile(NamedTuple):
    """Ways of placing that version and gates decide."""

    mixed: bool  # unconstrained pods go where least is free; else the tightest fit for all
    multi_layer: bool
    balanced: bool
    prefers: bool  # preferred node affinity is heeded
    overlapping: bool
    keeps_pod_owned: bool  # a workload owned by a single pod keeps its node
    elastic: bool


class Counts:
    """How much each domain can hold. The ``_led`` ones hold beside a leader; without a leader they are
    the very same lists.
    """

    __slots__ = ("leaders", "pods", "pods_led", "score", "slices", "slices_led")

    def __init__(self, size: int, *, led: bool) -> None:
        self.pods = [0] * size
        self.slices = [0] * size
        self.pods_led = [0] * size if led else self.pods
        self.slices_led = [0] * size if led else self.slices
        self.leaders = [0] * size
        self.score = [0] * size

    def copy(self) -> Counts:
        """An independent copy."""
        other = Counts.__new__(Counts)
        led = self.pods_led is not self.pods
        other.pods, other.slices = self.pods.copy(), self.slices.copy()
        other.pods_led = self.pods_led.copy() if led else other.pods
        other.slices_led = self.slices_led.copy() if led else other.slices
        other.leaders, other.score = self.leaders.copy(), self.score.copy()
        return other


class Room:
    """Room in one flavor, given what the land's usage is at the moment."""

    def __init__(self, land: Land, flavor: str, profile: Profile) -> None:
        self.land = land
        self.flavor = flavor
        self.domains: Domains = land.fields[flavor]
        self.profile = profile

    def _room(self, each: Mapping[str, int], assumed: Assumed, *, empty: bool) -> list[int]:
        """How many pods every leaf has room for; ``empty`` as if nobody had been placed."""
        domains, usage = self.domains, self.land.usage
        wants = [(r, a) for r, a in each.items() if a > 0 and r != PODS]
        wants.append((PODS, each.get(PODS, 0) + 1))
        room: list[int] | None = None
        for resource, amount in wants:
            free = domains.free.get(resource)
            if free is None:
                return [0] * domains.leaves
            if empty:
                column = [f // amount for f in free]
            else:
                cells = self.land.cells(self.flavor, resource)
                column = [(f - usage[c]) // amount for f, c in zip(free, cells, strict=True)]
            room = column if room is None else list(map(min, room, column))
        out = [min(max(n, 0), _MOST) for n in room or ()]
        for values, more in assumed.items():
            leaf = domains.where.get(values)
            if leaf is not None:
                out[leaf] = self._room_at(leaf, each, (more,), empty=empty)
        return out

    def _room_at(
        self, leaf: int, each: Mapping[str, int], less: Iterable[Mapping[str, int]], *, empty: bool
    ) -> int:
        """How many pods ``leaf`` has room for when ``less`` is taken as well."""
        best = _MOST
        for resource, amount in {**each, PODS: each.get(PODS, 0) + 1}.items():
            if amount > 0:
                left = self._left(leaf, resource, empty=empty) - sum(m.get(resource, 0) for m in less)
                best = min(best, left // amount)
        return max(best, 0)

    def _left(self, leaf: int, resource: str, *, empty: bool) -> int:
        free = self.domains.free.get(resource)
        if free is None:
            return 0
        return free[leaf] - (0 if empty else self.land.usage[self.land.cells(self.flavor, resource)[leaf]])

    def count(
        self, ask: Ask, leader: Ask | None, wish: Wish, assumed: Assumed, within: int | None, *, empty: bool
    ) -> Counts:
        """What every domain can hold of ``ask``, in the domain ``within`` only if that is given."""
        domains = self.domains
        counts = Counts(domains.size, led=leader is not None)
        base, begin, end = domains.first[-2], 0, domains.leaves
        if within is not None:
            level = len(domains.values[within]) - 1
            low, high = domains.spans(within, within + 1, level)[-1]
            begin, end = low - base, high - base
        room = self._room(ask.each, assumed, empty=empty)
        for leaf, score in domains.eligible(ask.spec, scored=self.profile.prefers):
            if not begin <= leaf < end:
                continue
            counts.pods[base + leaf] = room[leaf]
            counts.score[base + leaf] = score
            if leader is not None:
                self._lead(counts, leaf, ask, leader, assumed, empty=empty)
        self.roll(counts, wish, 0, domains.first[1], 0, wish.inner)
        return counts

    def _lead(
        self, counts: Counts, leaf: int, ask: Ask, leader: Ask, assumed: Assumed, *, empty: bool
    ) -> None:
        before = assumed.get(self.domains.written(leaf), {})
        at = self.domains.first[-2] + leaf
        counts.pods_led[at] = counts.pods[at]
        if self._room_at(leaf, leader.each, (before,), empty=empty) > 0:
            counts.leaders[at] = 1
            slot = {**leader.each, PODS: leader.each.get(PODS, 0) + 1}
            counts.pods_led[at] = self._room_at(leaf, ask.each, (before, slot), empty=empty)

    def roll(
        self, counts: Counts, wish: Wish, begin: int, end: int, level: int, inner: Mapping[int, int]
    ) -> None:
        """Sum up from the leaves to the domains ``begin`` to ``end`` of ``level``."""
        spans = self.domains.spans(begin, end, level)
        last = len(self.domains.levels) - 1
        if wish.slice_level == last:
            cut(counts, wish.slice_size, *spans[-1])
        led = counts.pods_led is not counts.pods
        for at in range(last - 1, level - 1, -1):
            low, high = spans[at - level]
            for domain in range(low, high):
                self._sum(counts, domain, inner.get(at + 1, 1), led=led)
            if at == wish.slice_level:
                cut(counts, wish.slice_size, low, high)

    def _sum(self, counts: Counts, domain: int, unit: int, *, led: bool) -> None:
        """One domain out of its children, each of which counts in whole slices of ``unit``."""
        low, high = self.domains.kids[domain]
        pods = counts.pods[low:high]
        if unit > 1:
            pods = [n - n % unit for n in pods]
        slices = counts.slices[low:high]
        counts.pods[domain], counts.slices[domain] = sum(pods), sum(slices)
        counts.leaders[domain] = max(counts.leaders[low:high], default=0)
        counts.score[domain] = sum(counts.score[low:high])
        if not led:
            return
        able = [k for k in range(high - low) if counts.leaders[low + k] > 0]
        if not able:
            counts.pods_led[domain] = counts.slices_led[domain] = 0
            return
        pods_led = counts.pods_led[low:high]
        if unit > 1:
            pods_led = [n - n % unit for n in pods_led]
        counts.pods_led[domain] = counts.pods[domain] - min(pods[k] - pods_led[k] for k in able)
        lost = min(slices[k] - counts.slices_led[low + k] for k in able)
        counts.slices_led[domain] = counts.slices[domain] - lost

    def left_out(self, ask: Ask, assumed: Assumed, within: int | None, *, empty: bool) -> str:
        """Which leaves hold not one pod, counted by reason."""
        domains, why = self.domains, dict[str, int]()
        for leaf in range(domains.leaves):
            reason = domains.refusal(leaf, ask.spec) if domains.hostname else ""
            if not reason and within is not None:
                inside = domains.above(leaf, len(domains.values[within]) - 1) == within
                reason = "" if inside else "topologyDomain"
            reason = reason or self._lacking(leaf, ask, assumed, empty=empty)
            if reason:
                why[reason] = why.get(reason, 0) + 1
        if not why:
            return ""
        listed = ", ".join(sorted(f"{reason}: {n}" for reason, n in why.items()))
        return f". Total nodes: {domains.leaves}; excluded: {listed}"

    def _lacking(self, leaf: int, ask: Ask, assumed: Assumed, *, empty: bool) -> str:
        """The resource of which ``leaf`` has too little for one pod, or ""."""
        more = assumed.get(self.domains.written(leaf), {})
        for resource, amount in sorted({**ask.each, PODS: 1}.items()):
            left = self._left(leaf, resource, empty=empty) - more.get(resource, 0)
            if left < amount and amount > 0:
                return f'resource "{resource}"'
        return ""


def cut(counts: Counts, size: int, low: int, high: int) -> None:
    """Slices of ``size`` in the domains ``low`` to ``high``, each by itself."""
    for domain in range(low, high):
        counts.slices[domain] = counts.pods[domain] // size
        counts.slices_led[domain] = counts.pods_led[domain] // size
