"""Balanced placement: over as few domains as will do, as evenly as possible (gate TASBalancedPlacement).

For each group of sibling domains at the requested level: the greatest number of slices that every domain
used could be given at least. The best group is cut down to domains that reach it, of those the set with
the least capacity is taken, and each gets the threshold first and then what is over. Source: KEP-2724,
"Balanced placement". When it cannot be done the caller falls back to the ordinary search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from policycheck.systems.kueue.scheduler.counts import Counts, Profile, add_up, roll
from policycheck.systems.kueue.scheduler.deal import Deal
from policycheck.systems.kueue.scheduler.domains import Domains
from policycheck.systems.kueue.scheduler.wish import Wish

_MOST_STATES = 200_000  # of the set search; beyond it the ordinary search takes over


class _Greedy(NamedTuple):
    """How many domains a greedy placement uses, and what the last one holds: with the leader beside it,
    without one, and what that one would hold beside one. None where there was no such domain.
    """

    used: int
    least_led: int | None
    least: int | None
    least_if_led: int | None


class _Best(NamedTuple):
    counts: Counts
    domains: range
    threshold: int
    used: int


def balance(
    domains: Domains, profile: Profile, counts: Counts, wish: Wish, pods: int, leaders: int
) -> tuple[Counts, int, list[int]] | None:
    """Counts, level and domains from which to go down, or None."""
    task = _Task(domains, profile, wish, pods // wish.slice_size, leaders)
    best = task.best_group(counts)
    return None if best is None else task.apply(best)


class _Task:
    def __init__(self, domains: Domains, profile: Profile, wish: Wish, wanted: int, leaders: int) -> None:
        self._domains = domains
        self._profile = profile
        self._wish = wish
        self._wanted = wanted
        self._evenness: dict[tuple[int, ...], float] = {}
        self._leaders = leaders

    def best_group(self, counts: Counts) -> _Best | None:
        """The siblings with the highest threshold, of equals those of which fewer are used."""
        level, first = self._wish.level, self._domains.first
        if level == 0:
            groups = [(0, first[1])]
        else:
            groups = [self._domains.kids[d] for d in range(first[level - 1], first[level])]
        best: _Best | None = None
        for low, high in groups:
            found = self._group(counts, range(low, high), best.threshold if best else 0)
            if found is not None and (
                best is None
                or found.threshold > best.threshold
                or (found.threshold == best.threshold and found.used < best.used)
            ):
                best = found
        return best

    def _group(self, counts: Counts, among: range, least: int) -> _Best | None:
        wish = self._wish
        lower: Sequence[int] = among
        if wish.level < wish.slice_level and among:
            lower = range(self._domains.kids[among[0]][0], self._domains.kids[among[-1]][1])
        greedy = self._greedy(counts, lower)
        if greedy is None or not greedy.used:
            return None
        threshold = self._wanted // greedy.used
        if greedy.least_led is not None:
            threshold = min(threshold, greedy.least_led)
        if greedy.least is not None:
            threshold = min(threshold, greedy.least)
        tries = [threshold]
        if self._leaders and greedy.least_if_led is not None:
            tries.append(min(threshold, greedy.least_if_led))
        for attempt in dict.fromkeys(tries):
            if attempt <= 0 or attempt < least:
                return None
            pruned = self._prune(counts, among, attempt)
            after = self._greedy(pruned, among)
            if after is not None:
                return _Best(pruned, among, attempt, after.used)
        return None

    def _below(self, among: Iterable[int]) -> list[int]:
        return [k for d in among for k in range(*self._domains.kids[d])]

    def _greedy(self, counts: Counts, among: Sequence[int]) -> _Greedy | None:
        """A greedy placement of all slices and the leader; None when they do not fit."""
        if not self._leaders and not self._profile.prefers:
            held = counts.slices
            some = held[among.start : among.stop] if isinstance(among, range) else [held[d] for d in among]
            return self._greedy_plain(some)
        deal = Deal(counts, self._wish, self._profile)
        left, leaders, used, last_led, last = self._wanted, self._leaders, 0, -1, -1
        rest = deal.ordered_led(among) if leaders else list(among)
        while leaders > 0 and rest and counts.leaders[rest[0]] > 0:
            last_led = rest.pop(0)
            used += 1
            leaders -= counts.leaders[last_led]
            left -= counts.slices_led[last_led]
        if leaders > 0:
            return None
        for domain in deal.ordered(rest):
            if left <= 0 or counts.slices[domain] <= 0:
                break
            used += 1
            last = domain
            left -= counts.slices[domain]
        if left > 0:
            return None
        return _Greedy(
            used,
            counts.slices_led[last_led] if last_led >= 0 else None,
            counts.slices[last] if last >= 0 else None,
            counts.slices_led[last] if last >= 0 else None,
        )

    def _greedy_plain(self, slices: list[int]) -> _Greedy | None:
        """The same when nothing but slices counts: domains need not be told apart."""
        left, used, last = self._wanted, 0, None
        most = max(slices, default=0)
        if most < left:
            slices.sort(reverse=True)
        else:
            slices = [most]
        for held in slices:
            if left <= 0 or held <= 0:
                break
            used += 1
            last = held
            left -= held
        return None if left > 0 else _Greedy(used, None, last, last)

    def _prune(self, counts: Counts, among: range, threshold: int) -> Counts:
        """A copy in which domains that cannot reach the threshold hold nothing."""
        pruned, level = counts.copy(), self._wish.level
        changed: list[int] = []
        for domain in among:
            low, high = self._domains.kids[domain]
            if counts.led:
                weak: Sequence[int] = range(low, high)
            else:
                held = counts.slices[low:high]
                weak = (
                    ()
                    if held and min(held) >= threshold
                    else [low + k for k, n in enumerate(held) if n < threshold]
                )
            for kid in weak:
                self._cut(pruned, kid, threshold, level + 1)
            if weak:
                changed.append(domain)
        if counts.single and level == len(self._domains.levels) - 2:
            add_up(self._domains, pruned, changed, 1, scored=self._profile.prefers)
        elif among and (changed or self._wish.inner):
            plain, scored = self._wish._replace(inner={}), self._profile.prefers
            roll(self._domains, pruned, plain, among[0], among[-1] + 1, level, scored=scored)
        for domain in among:
            if counts.led or pruned.slices[domain] < threshold:
                self._cut(pruned, domain, threshold, level)
        return pruned

    def _cut(self, counts: Counts, domain: int, threshold: int, level: int) -> None:
        led = counts.pods_led is not counts.pods
        if counts.slices[domain] < threshold:
            lists = [counts.pods, counts.slices, counts.leaders]
            lists += [counts.pods_led, counts.slices_led] if led else []
        elif led and counts.leaders[domain] > 0 and counts.slices_led[domain] < threshold:
            lists = [counts.pods_led, counts.slices_led, counts.leaders]
        else:
            return
        for low, high in self._domains.spans(domain, domain + 1, level):
            for amounts in lists:
                amounts[low:high] = [0] * (high - low)

    def apply(self, best: _Best) -> tuple[Counts, int, list[int]] | None:
        """The set of domains, each with its part as all that it holds."""
        wish, counts, level = self._wish, best.counts, self._wish.level
        among: Sequence[int] = best.domains
        if level < wish.slice_level:
            chosen = self._select(counts, among, ranked=True)
            if chosen is None:
                return None
            among, level = sorted(self._below(chosen)), level + 1
        chosen = self._select(counts, among)
        if chosen is None or self._wanted < len(chosen) * best.threshold:
            return None
        ordered = Deal(counts, wish, self._profile).ordered_led(chosen)
        if not self._fill(counts, ordered, best.threshold):
            return None
        return counts, level, ordered

    def _ranked(self, counts: Counts, among: Iterable[int]) -> list[int]:
        """Most capacity first; of equals the one whose children are most even."""
        equals: dict[tuple[int, int], list[int]] = {}
        for domain in among:
            equals.setdefault((-counts.leaders[domain], -counts.slices_led[domain]), []).append(domain)
        out: list[int] = []
        for key in sorted(equals):
            some = equals[key]
            if len(some) > 1:
                some = sorted(some, key=lambda d: (-self._entropy(counts, d), d))
            out += some
        return out

    def _entropy(self, counts: Counts, domain: int) -> float:
        """How evenly the children hold pods."""
        pods = tuple(counts.pods[slice(*self._domains.kids[domain])])
        found = self._evenness.get(pods)
        if found is None:
            held = [n for n in pods if n > 0]
            total = float(sum(held))
            found = self._evenness[pods] = sum(-(n / total) * math.log2(n / total) for n in held)
        return found

    def _fill(self, counts: Counts, ordered: list[int], threshold: int) -> bool:
        size = self._wish.slice_size
        over, leaders = self._wanted - len(ordered) * threshold, self._leaders
        for domain in ordered:
            lead, more = 0, 0
            if leaders > 0:
                more, lead = min(counts.slices_led[domain] - threshold, over), 1
                leaders -= 1
            elif over > 0:
                more = min(counts.slices[domain] - threshold, over)
            slices = threshold + more
            counts.leaders[domain] = lead
            counts.slices[domain] = counts.slices_led[domain] = slices
            counts.pods_led[domain] = slices * size - lead
            counts.pods[domain] = slices * size
            over -= more
        return over <= 0 and leaders <= 0

    def _select(self, counts: Counts, among: Sequence[int], *, ranked: bool = False) -> list[int] | None:
        """Of the sets with as few domains as a greedy placement uses, one with the least capacity; the
        first met counts, with those first that are ranked first if so asked.
        """
        greedy = self._greedy(counts, among)
        if greedy is None:
            return None
        if greedy.used == 1 and not self._leaders:
            wanted = self._wanted * self._wish.slice_size
            able = [(counts.pods[d], d) for d in among if counts.pods[d] >= wanted and counts.slices[d] > 0]
            least = min(able)[0] if able else 0
            tight = [d for pods, d in able if pods == least]
            return (self._ranked(counts, tight) if ranked and len(tight) > 1 else tight)[:1] or None
        return self._combine(counts, self._ranked(counts, among) if ranked else among, greedy)

    def _combine(self, counts: Counts, among: Sequence[int], greedy: _Greedy) -> list[int] | None:
        """(leaders, pods) still to place -> the set that leads there, by its size."""
        steps: list[dict[tuple[int, int], tuple[int, ...]]] = [{} for _ in range(greedy.used + 1)]
        steps[0][self._leaders, self._wanted * self._wish.slice_size] = ()
        for domain in among:
            for used in range(greedy.used, 0, -1):
                for (leaders, pods), before in sorted(steps[used - 1].items()):
                    if leaders <= 0 and pods <= 0:
                        continue
                    after = (*before, domain)
                    if leaders > 0 and counts.leaders[domain] > 0:
                        state = (leaders - counts.leaders[domain], pods - counts.pods_led[domain])
                        steps[used].setdefault(state, after)
                    if counts.slices[domain] > 0:
                        steps[used].setdefault((leaders, pods - counts.pods[domain]), after)
                if len(steps[used]) > _MOST_STATES:
                    return None
        ends = {pods: chosen for (leaders, pods), chosen in steps[-1].items() if leaders == 0 and pods <= 0}
        return list(ends[max(ends)]) if ends else None
