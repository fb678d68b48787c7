"""Finding nodes for one podset (or a leader with its workers) in one flavor.

First every domain learns how many pods and slices it can hold, leaves first. Then the search begins at
the level that was asked for: one domain that holds everything, the tightest; else, unless it is
required, the next level up, and at the top several domains. From there it goes down again level by
level, each time with as few domains as will do. Sources: KEP-2724 "Topology aware scheduling"
(algorithm and profiles), facts 1c, conformance README 17.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policycheck.systems.kueue.scheduler.domains import Domains, Values
from policycheck.systems.kueue.scheduler.land import PODS, Land
from policycheck.systems.kueue.scheduler.wish import Ask, Wish, resolve

Placement = tuple[tuple[int, int], ...]  # (leaf, pods), in the order of leaves
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


class Share(NamedTuple):
    """What one domain is given."""

    domain: int
    pods: int
    leaders: int


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


class Finder:
    """Finds places in one flavor, given what the land's usage is at the moment."""

    def __init__(self, land: Land, flavor: str, profile: Profile, *, telling: bool = False) -> None:
        self.land = land
        self.flavor = flavor
        self.domains: Domains = land.fields[flavor]
        self.profile = profile
        self.telling = telling  # failures say which nodes were left out, and why

    # -- how much fits --------------------------------------------------------------------------

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
            _cut(counts, wish.slice_size, *spans[-1])
        led = counts.pods_led is not counts.pods
        for at in range(last - 1, level - 1, -1):
            low, high = spans[at - level]
            for domain in range(low, high):
                self._sum(counts, domain, inner.get(at + 1, 1), led=led)
            if at == wish.slice_level:
                _cut(counts, wish.slice_size, low, high)

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

    # -- which domains --------------------------------------------------------------------------

    def place(
        self,
        ask: Ask,
        leader: Ask | None,
        assumed: Assumed,
        *,
        empty: bool = False,
        within: int | None = None,
    ) -> tuple[Placement, Placement] | str:
        """Leaves for the pods of ``ask`` and for the leader, or why there are none."""
        wish = resolve(ask, self.domains.levels, multi_layer=self.profile.multi_layer)
        if isinstance(wish, str):
            return wish
        counts = self.count(ask, leader, wish, assumed, within, empty=empty)
        leaders = 0 if leader is None else 1
        balanced = self._balance(counts, wish, ask.pods, leaders)
        if balanced is not None:
            counts, level, found = balanced
        else:
            search = Search(self, counts, wish, ask.pods, leaders)
            hit = search.run()
            if isinstance(hit, str):
                return hit + (self._left_out(ask, assumed, within, empty=empty) if self.telling else "")
            level, found = hit
        shares = self._descend(counts, wish, ask.pods, leaders, level, found, balanced=balanced is not None)
        base = self.domains.first[-2]
        ordered = sorted(shares)
        workers = tuple((s.domain - base, s.pods) for s in ordered if s.pods > 0)
        return workers, tuple((s.domain - base, s.leaders) for s in ordered if s.leaders > 0)

    def _balance(
        self, counts: Counts, wish: Wish, pods: int, leaders: int
    ) -> tuple[Counts, int, list[int]] | None:
        if not self.profile.balanced or wish.required or wish.spread:
            return None
        from policycheck.systems.kueue.scheduler.balanced import balance

        return balance(self, counts, wish, pods, leaders)

    def _descend(
        self,
        counts: Counts,
        wish: Wish,
        pods: int,
        leaders: int,
        level: int,
        found: list[int],
        *,
        balanced: bool,
    ) -> list[Share]:
        """From the domains found down to leaves. Down to the slices' level all children compete for
        everything; below it (and when balanced) each domain divides its own part.
        """
        last, size = len(self.domains.levels) - 1, wish.slice_size
        deal = Deal(self, counts, wish)
        shares = deal.out(found, pods, leaders, size, slices=True)
        while level < min(last, wish.slice_level) and not balanced:
            below = [k for s in shares for k in range(*self.domains.kids[s.domain])]
            shares = deal.out(deal.ordered(below), pods, leaders, size, slices=True)
            level += 1
        while level < last:
            unit = size if level < wish.slice_level else wish.inner.get(level + 1, 1)
            after: list[Share] = []
            for share in shares:
                low, high = self.domains.kids[share.domain]
                kids = deal.ordered(range(low, high))
                if unit > 1:
                    _cut(counts, unit, low, high)
                after.extend(deal.out(kids, share.pods, share.leaders, unit, slices=unit > 1))
            shares = after
            level += 1
        return shares

    def _left_out(self, ask: Ask, assumed: Assumed, within: int | None, *, empty: bool) -> str:
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


def _cut(counts: Counts, size: int, low: int, high: int) -> None:
    """Slices of ``size`` in the domains ``low`` to ``high``, each by itself."""
    for domain in range(low, high):
        counts.slices[domain] = counts.pods[domain] // size
        counts.slices_led[domain] = counts.pods_led[domain] // size


class Deal:
    """Gives pods to domains in an order, the last of them the tightest that holds the rest."""

    def __init__(self, finder: Finder, counts: Counts, wish: Wish) -> None:
        self.counts = counts
        self.least_free = wish.spread and finder.profile.mixed
        self._prefers = finder.profile.prefers

    def ordered(self, among: Iterable[int]) -> list[int]:
        """Domains of one level, most slices (or where least is free, fewest) first."""
        counts, sign = self.counts, 1 if self.least_free else -1
        return sorted(among, key=lambda d: (-counts.score[d], sign * counts.slices[d], counts.pods[d], d))

    def ordered_led(self, among: Iterable[int]) -> list[int]:
        """The same with those first that can take a leader, by what they hold beside it."""
        counts, sign = self.counts, 1 if self.least_free else -1
        return sorted(
            among,
            key=lambda d: (
                -counts.leaders[d],
                -counts.score[d],
                sign * counts.slices_led[d],
                counts.pods_led[d],
                d,
            ),
        )

    def tightest(self, among: Sequence[int], amounts: list[int], wanted: int, leaders: int) -> int:
        """The domain that holds ``wanted`` with the least to spare, the first of equals; among those
        that preferences put first. The first domain when none does.
        """
        counts = self.counts
        best = -1
        for domain in among:
            if self._prefers and counts.score[domain] != counts.score[among[0]]:
                break
            fits = counts.leaders[domain] >= leaders and amounts[domain] >= wanted
            if fits and (best < 0 or amounts[domain] < amounts[best]):
                best = domain
        return best if best >= 0 else among[0]

    def out(self, among: Sequence[int], pods: int, leaders: int, size: int, *, slices: bool) -> list[Share]:
        """Shares of ``pods`` and ``leaders``; [] when the domains do not hold them after all."""
        counts = self.counts
        unit = size if slices else 1
        held, held_led = (counts.slices, counts.slices_led) if slices else (counts.pods, counts.pods_led)
        left = pods // unit
        among = self.leader_first(among, held, held_led, left, leaders)
        shares: list[Share] = []
        for number, domain in enumerate(among):
            room = held_led if leaders else held
            if room[domain] >= left and counts.leaders[domain] >= leaders:
                if not self.least_free:
                    domain = self.tightest(among[number:], room, left, leaders)  # noqa: PLW2901 - the last one
                shares.append(Share(domain, left * unit, leaders))
                return shares
            given, led = min(room[domain], left), min(counts.leaders[domain], leaders)
            shares.append(Share(domain, given * unit, led))
            left -= given
            leaders -= led
        return []

    def leader_first(
        self, among: Sequence[int], held: list[int], held_led: list[int], wanted: int, leaders: int
    ) -> Sequence[int]:
        """``among`` with a domain in front that can take the leader without all of them together
        holding too little for the workers.
        """
        if not leaders or len(among) < 2:
            return among
        total = sum(held[d] for d in among)
        for number, domain in enumerate(among):
            lost = held[domain] - held_led[domain]
            if self.counts.leaders[domain] >= leaders and total - lost >= wanted:
                return [domain, *among[:number], *among[number + 1 :]] if number else among
        return among


class Search:
    """The level and the domains from which placing goes down."""

    def __init__(self, finder: Finder, counts: Counts, wish: Wish, pods: int, leaders: int) -> None:
        self._finder = finder
        self._counts = counts
        self._wish = wish
        self._pods = pods
        self._wanted = pods // wish.slice_size
        self._leaders = leaders
        self._deal = Deal(finder, counts, wish)

    def run(self) -> tuple[int, list[int]] | str:
        """Level and domains, or why nothing fits."""
        wish, first = self._wish, self._finder.domains.first
        level = wish.level
        while True:
            among = self._deal.ordered_led(range(first[level], first[level + 1]))
            if not among:
                return f"no topology domains at level: {self._finder.domains.levels[level]}"
            one = self._one(among)
            if one is not None:
                return level, [one]
            if wish.required:
                return self._short(level, self._counts.slices[among[0]])
            if level == 0 or wish.spread:
                return self._several(level, among)
            level -= 1

    def _fits(self, domain: int) -> bool:
        counts = self._counts
        return counts.slices_led[domain] >= self._wanted and counts.leaders[domain] >= self._leaders

    def _one(self, among: list[int]) -> int | None:
        """One domain that holds everything."""
        counts, deal = self._counts, self._deal
        if deal.least_free:
            return next((d for d in among if self._fits(d)), None)
        if self._fits(among[0]):
            return deal.tightest(among, counts.slices_led, self._wanted, self._leaders)
        if self._wish.required and self._finder.profile.prefers:
            for number, domain in enumerate(among):
                if self._fits(domain):
                    return deal.tightest(among[number:], counts.slices_led, self._wanted, self._leaders)
        return None

    def _several(self, level: int, among: list[int]) -> tuple[int, list[int]] | str:
        """As many domains as it takes, those with the leader first."""
        counts, deal = self._counts, self._deal
        order = list(deal.leader_first(among, counts.slices, counts.slices_led, self._wanted, self._leaders))
        found: list[int] = []
        left, leaders = self._wanted, self._leaders
        while leaders > 0 and order and counts.leaders[order[0]] > 0:
            domain = order[0]
            if not deal.least_free and counts.slices_led[domain] >= left:
                domain = deal.tightest(order, counts.slices_led, left, leaders)
            found.append(domain)
            order.pop(0)
            leaders -= counts.leaders[domain]
            left -= counts.slices_led[domain]
        if leaders > 0:
            return self._short(level, self._leaders - leaders)
        rest = deal.ordered(order)
        for number, domain in enumerate(rest):
            if left <= 0:
                break
            if not deal.least_free and counts.slices[domain] >= left:
                domain = deal.tightest(rest[number:], counts.slices, left, 0)  # noqa: PLW2901 - the last one
            found.append(domain)
            left -= counts.slices[domain]
        return self._short(level, self._wanted - left) if left > 0 else (level, found)

    def _short(self, level: int, fits: int) -> str:
        """Why it does not fit, in the words of the system itself, and at which level."""
        domains, wish = self._finder.domains, self._wish
        if wish.layers:
            return self._short_layers(level)
        unit = "pod" if wish.slice_size == 1 else "slice"
        asked = f"{self._wanted} {unit}(s) at level {domains.levels[level]}"
        if fits == 0:
            return f'topology "{domains.topology}" doesn\'t allow to fit any of {asked}'
        return f'topology "{domains.topology}" allows to fit only {fits} out of {asked}'

    def _short_layers(self, level: int) -> str:
        domains, counts = self._finder.domains, self._counts
        among = range(domains.first[level], domains.first[level + 1])
        best = max(among, key=lambda d: (counts.slices[d], -d))
        text = f'topology "{domains.topology}" doesn\'t allow to fit'
        spans = domains.spans(best, best + 1, level)
        for key, size in self._wish.layers:
            at = domains.level(key)
            fit = sum(counts.pods[d] // size for d in range(*spans[at - level])) if at >= level else 0
            text += f"; {fit}/{self._pods // size} slice(s) fit on level {key}"
        return text
