"""Where placing begins: the level, and at it the domain or domains that hold everything."""

from __future__ import annotations

from policycheck.systems.kueue.scheduler.counts import Counts, Profile
from policycheck.systems.kueue.scheduler.deal import Deal
from policycheck.systems.kueue.scheduler.domains import Domains
from policycheck.systems.kueue.scheduler.stock import Stock
from policycheck.systems.kueue.scheduler.wish import Wish


class Search:
    """The level and the domains from which placing goes down.

    ``ranked`` is the stock of ``counts`` when neither a leader nor preferences have a say: then the order
    of a level is known and need not be made. Both ways find the same.
    """

    def __init__(
        self,
        domains: Domains,
        profile: Profile,
        counts: Counts,
        wish: Wish,
        pods: int,
        leaders: int,
        ranked: Stock | None = None,
    ) -> None:
        self._domains = domains
        self._ranked = ranked
        self._prefers = profile.prefers
        self._counts = counts
        self._wish = wish
        self._pods = pods
        self._wanted = pods // wish.slice_size
        self._leaders = leaders
        self._deal = Deal(counts, wish, profile)

    def run(self) -> tuple[int, list[int]] | str:
        """Level and domains, or why nothing fits."""
        wish, first = self._wish, self._domains.first
        level = wish.level
        if not any(self._domains.live):
            return f"no topology domains at level: {self._domains.levels[level]}"
        if self._ranked is not None and self._wanted > 0:
            return self._run_ranked(self._ranked, level)
        while True:
            among = self._deal.ordered_led(range(first[level], first[level + 1]))
            one = self._one(among)
            if one is not None:
                return level, [one]
            if wish.required:
                return self._short(level, self._counts.slices[among[-1 if self._deal.least_free else 0]])
            if level == 0 or wish.spread:
                return self._several(level, among)
            level -= 1

    def _run_ranked(self, stock: Stock, level: int) -> tuple[int, list[int]] | str:
        """The same with domains in order."""
        wish, wanted = self._wish, self._wanted
        while True:
            ranks = stock.ranks(level)
            one = ranks.tightest(wanted)
            if one >= 0:
                return level, [one]
            if wish.required:
                return self._short(level, ranks.most)
            if level == 0 or wish.spread:
                return self._several_ranked(stock, level)
            level -= 1

    def _several_ranked(self, stock: Stock, level: int) -> tuple[int, list[int]] | str:
        slices, ranks, left = self._counts.slices, stock.ranks(level), self._wanted
        total = sum(slices[: self._domains.first[1]])
        if total < left:
            return self._short(level, total)
        found: list[int] = []
        least_free = self._deal.least_free
        for domain in ranks.rising() if least_free else ranks.falling():
            if not least_free and slices[domain] >= left:
                last = ranks.tightest(left)
                found.append(domain if slices[last] == slices[domain] else last)
                break
            found.append(domain)
            left -= slices[domain]
            if left <= 0:
                break
        return level, found

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
        if self._wish.required and self._prefers:
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
        domains, wish = self._domains, self._wish
        if wish.layers:
            return self._short_layers(level)
        unit = "pod" if wish.slice_size == 1 else "slice"
        asked = f"{self._wanted} {unit}(s) at level {domains.levels[level]}"
        if fits == 0:
            return f'topology "{domains.topology}" doesn\'t allow to fit any of {asked}'
        return f'topology "{domains.topology}" allows to fit only {fits} out of {asked}'

    def _short_layers(self, level: int) -> str:
        domains, counts = self._domains, self._counts
        among = range(domains.first[level], domains.first[level + 1])
        alive = [d for d in among if any(domains.live[slice(*domains.under(d))])]
        best = max(alive, key=lambda d: (counts.slices[d], -d))
        text = f'topology "{domains.topology}" doesn\'t allow to fit'
        spans = domains.spans(best, best + 1, level)
        for key, size in self._wish.layers:
            at = domains.level(key)
            fit = sum(counts.pods[d] // size for d in range(*spans[at - level])) if at >= level else 0
            text += f"; {fit}/{self._pods // size} slice(s) fit on level {key}"
        return text
