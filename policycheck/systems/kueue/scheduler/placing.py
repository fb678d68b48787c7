"""Finding nodes for one podset (or a leader with its workers) in one flavor.

First every domain learns how much it can hold (stock). Then the search begins at the level that was
asked for: one domain that holds everything, the tightest; else, unless it is required, the next level
up, and at the top several domains. From there it goes down again level by level, each time with as few
domains as will do. Sources: KEP-2724 "Topology aware scheduling" (algorithm and profiles), facts 1c,
conformance README 17.
"""

from __future__ import annotations

from policycheck.systems.kueue.scheduler.counts import Counts, Profile, cut
from policycheck.systems.kueue.scheduler.deal import Deal, Share
from policycheck.systems.kueue.scheduler.domains import Domains
from policycheck.systems.kueue.scheduler.land import Land
from policycheck.systems.kueue.scheduler.room import Assumed
from policycheck.systems.kueue.scheduler.search import Search
from policycheck.systems.kueue.scheduler.stock import Stock, stock_of
from policycheck.systems.kueue.scheduler.wish import Ask, Wish, resolve

Placement = tuple[tuple[int, int], ...]  # (leaf, pods), in the order of leaves


class Finder:
    """Finds places in one flavor, given what the land's usage is at the moment, or (``empty``) as if
    nobody had been placed.
    """

    def __init__(
        self, land: Land, flavor: str, profile: Profile, *, empty: bool = False, telling: bool = False
    ) -> None:
        self.flavor = flavor
        self.land = land
        self.domains: Domains = land.fields[flavor]
        self.profile = profile
        self._empty = empty
        self._telling = telling  # failures say which nodes were left out, and why

    def place(
        self, ask: Ask, leader: Ask | None, assumed: Assumed, *, within: int | None = None
    ) -> tuple[Placement, Placement] | str:
        """Leaves for the pods of ``ask`` and for the leader, or why there are none."""
        counted = self._counted(ask, leader)
        if isinstance(counted, str):
            return counted
        (wish, stock), leaders = counted, 0 if leader is None else 1
        if assumed:
            stock.assume(assumed)
        counts = stock.counts if within is None else stock.within(within)
        balanced = self._balance(counts, wish, ask.pods, leaders)
        if balanced is not None:
            counts, level, found = balanced
        else:
            ranked = stock if within is None and not leaders and not stock.eligible.weights else None
            hit = Search(self.domains, self.profile, counts, wish, ask.pods, leaders, ranked).run()
            if isinstance(hit, str):
                return hit + self._left_out(stock, ask, assumed, within)
            level, found = hit
        shares = self._descend(counts, wish, ask.pods, leaders, level, found, balanced=balanced is not None)
        base = self.domains.first[-2]
        ordered = sorted(shares)
        workers = tuple((s.domain - base, s.pods) for s in ordered if s.pods > 0)
        return workers, tuple((s.domain - base, s.leaders) for s in ordered if s.leaders > 0)

    def _counted(self, ask: Ask, leader: Ask | None) -> tuple[Wish, Stock] | str:
        """What ``ask`` means here, and what there is for it; asks that are alike are looked up."""
        key = None
        if ask.key is not None and (leader is None or leader.key is not None):
            key = (self.flavor, ask.key, None if leader is None else leader.key, self._empty)
            found: tuple[Wish, Stock] | None = self.land.asked.get(key)
            if found is not None:
                found[1].mend()
                return found
        wish = resolve(ask, self.domains.levels, multi_layer=self.profile.multi_layer)
        if isinstance(wish, str):
            return wish
        scored = self.profile.prefers
        stock = stock_of(self.land, self.flavor, ask, leader, wish, scored=scored, empty=self._empty)
        if key is not None:
            self.land.asked[key] = (wish, stock)
            stock.keys.append(key)
        return wish, stock

    def _left_out(self, stock: Stock, ask: Ask, assumed: Assumed, within: int | None) -> str:
        return stock.room.left_out(ask, assumed, within) if self._telling else ""

    def _balance(
        self, counts: Counts, wish: Wish, pods: int, leaders: int
    ) -> tuple[Counts, int, list[int]] | None:
        if not self.profile.balanced or wish.required or wish.spread:
            return None
        from policycheck.systems.kueue.scheduler.balanced import balance

        return balance(self.domains, self.profile, counts, wish, pods, leaders)

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
        if wish.inner and not balanced:
            counts = counts.copy()  # inner slices are cut for this workload alone
        deal = Deal(counts, wish, self.profile)
        if len(found) == 1 and not leaders and deal.plain:
            found[0], level = deal.straight(self.domains.kids, found[0], pods, level, last)
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
                    cut(counts, unit, low, high)
                after.extend(deal.out(kids, share.pods, share.leaders, unit, slices=unit > 1))
            shares = after
            level += 1
        return shares
