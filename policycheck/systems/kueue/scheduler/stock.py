"""What one flavor's domains can hold of one kind of pod, mended only where something changed.

Counting ten thousand leaves takes milliseconds, and between two workloads of a kind a few leaves have
changed. So counts are kept, and the log of the land says which leaves to look at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policycheck.model.workload import PodSet
from policycheck.systems.kueue.scheduler.counts import Counts, add_up, cut, is_single, roll
from policycheck.systems.kueue.scheduler.domains import Domains, Eligible
from policycheck.systems.kueue.scheduler.land import Land
from policycheck.systems.kueue.scheduler.left import Left, left_of
from policycheck.systems.kueue.scheduler.ranks import Ranks
from policycheck.systems.kueue.scheduler.room import MOST, Assumed, Room, with_slot
from policycheck.systems.kueue.scheduler.wish import NOTHING, Ask, Wish

_MOST_COUNTED = 2_000_000  # domains of all stocks that one land keeps; the longest unused go first


class Kind(NamedTuple):
    """What two asks must share to share a stock."""

    flavor: str
    each: tuple[tuple[str, int], ...]
    eligible: Eligible
    leader: tuple[tuple[str, int], ...] | None
    slice_level: int
    slice_size: int
    inner: tuple[tuple[int, int], ...]
    empty: bool


class Stock:
    """The counts of one kind. ``counts`` is right after ``mend``."""

    __slots__ = (
        "_at",
        "_each",
        "_epoch",
        "_free",
        "_leader",
        "_leaves",
        "_offset",
        "_ranks",
        "_rows",
        "_stale",
        "_wish",
        "counts",
        "eligible",
        "keys",
        "kind",
        "land",
        "room",
        "used",
    )

    def __init__(
        self, land: Land, kind: Kind, each: Mapping[str, int], leader: Ask | None, wish: Wish
    ) -> None:
        self.land = land
        self.kind = kind
        self.eligible = kind.eligible
        self.room = Room(land, kind.flavor, empty=kind.empty)
        self._each = dict(each)
        self._leader = leader
        self._wish = wish
        place = land.place(kind.flavor)
        self._offset, self._leaves = place.space.offset, place.leaves
        self._epoch = -1
        self._at = 0
        self._stale: list[int] = []  # leaves that show something else than what is
        self._free: object = None
        self._rows: list[tuple[int, list[int], int]] | None = []
        self._ranks: dict[int, Ranks] = {}
        self.counts = Counts(0, led=False)
        self.used = False
        self.keys: list[object] = []  # under which asks find it

    @property
    def domains(self) -> Domains:
        """The domains that are counted."""
        return self.room.domains

    def ranks(self, level: int) -> Ranks:
        """The domains of ``level`` in order."""
        found = self._ranks.get(level)
        if found is None:
            first = self.domains.first
            found = self._ranks[level] = Ranks(self.counts, first[level], first[level + 1])
        return found

    # -- keeping up -----------------------------------------------------------------------------

    def mend(self) -> None:
        """Catch up with the land."""
        land = self.land
        self.used = True
        land.trim()
        stale, self._stale = self._stale, []
        if self._epoch != land.epoch:
            self._all()
            self._epoch, self._at = land.epoch, len(land.log)
            return
        if self._at < len(land.log):
            spots = set(land.log[self._at :])
            self._at = len(land.log)
            stale += self._leaves_at(spots)
        if len(stale) * 8 > self.domains.leaves > 64:
            self._all()
        elif stale:
            self._some(dict.fromkeys(stale))

    def _leaves_at(self, spots: Iterable[int]) -> list[int]:
        """The leaves at ``spots`` of the log; negative ones are nodes that came or went."""
        leaves, offset, size = self._leaves, self._offset, len(self._leaves)
        found = []
        for spot in spots:
            if spot < 0:
                at = ~spot - offset
            elif self.kind.empty:
                continue
            else:
                at = spot - offset
            if 0 <= at < size and leaves[at] >= 0:
                found.append(leaves[at])
        return found

    def _all(self) -> None:
        domains, wish = self.domains, self._wish
        led, scored = self._leader is not None, bool(self.eligible.weights)
        single = is_single(wish, len(domains.levels))
        nothing = None if led or scored else self.land.nothing(domains.size)
        counts = self.counts = Counts(domains.size, led=led, single=single, nothing=nothing)
        self._ranks = {}
        base = domains.first[-2]
        few = None if led or scored else self._few()
        if few is not None:
            held = [leaf for leaf in few if self._set(counts, base + leaf, self._count(leaf))]
            self._climb({base + leaf for leaf in held})
            return
        may = bytes(map(int.__and__, domains.live, self.eligible.fits))
        room = self._column()
        counts.pods[base:] = room if all(may) else [n if m else 0 for n, m in zip(room, may, strict=True)]
        if scored:
            counts.score[base:] = [w * m for w, m in zip(self.eligible.weights, may, strict=True)]
        if led:
            for leaf in range(domains.leaves):
                self._lead(leaf, {})
        roll(domains, counts, wish, 0, domains.first[1], 0, scored=scored)

    @staticmethod
    def _set(counts: Counts, domain: int, pods: int) -> int:
        counts.pods[domain] = pods
        return pods

    def _few(self) -> list[int] | None:
        """The leaves that have the scarcest of what is asked for; None when these are not few."""
        if self.kind.empty:
            return None
        best: tuple[int, Left, int] | None = None
        for resource, amount in with_slot(self._each).items():
            if amount > 0:
                left = left_of(self.land, self.kind.flavor, resource)
                having = left.having(amount)
                if best is None or having < best[0]:
                    best = having, left, amount
        if best is None or best[0] * 4 > self.domains.leaves:
            return None
        return best[1].leaves(best[2])

    def _column(self) -> list[int]:
        """How many pods every leaf has room for, whoever may go there."""
        domains, flavor = self.domains, self.kind.flavor
        wants = [(r, a) for r, a in with_slot(self._each).items() if a > 0]
        if any(r not in domains.free for r, _ in wants):
            return [0] * domains.leaves
        if self.kind.empty:
            classes, examples = domains.alike()
            most = [self.room.at(leaf, self._each) for leaf in examples]
            return [most[number] for number in classes]
        columns = [[n // a for n in left_of(self.land, flavor, r).amounts] for r, a in wants]
        least = columns[0] if len(columns) == 1 else list(map(min, *columns))
        return least if max(least, default=0) <= MOST else [min(n, MOST) for n in least]

    def _some(self, leaves: Iterable[int]) -> None:
        """Count some leaves again, and what is above them."""
        domains, score = self.domains, self.eligible.weights
        if score:
            base = domains.first[-2]
            for leaf in leaves:
                self.counts.score[base + leaf] = score[leaf] * domains.live[leaf]
        if score or self._leader is not None:
            self._sums(leaves, {})
            return
        for leaf in leaves:
            self._put(leaf, self._count(leaf))

    def _count(self, leaf: int) -> int:
        """Pods for which ``leaf`` has room; as ``Room.at``, without looking up the same things again."""
        domains, land = self.domains, self.land
        if not domains.live[leaf] or not self.eligible.fits[leaf]:
            return 0
        if self._free is not domains.free:
            self._free, self._rows = domains.free, self._prepare()
        if self._rows is None:
            return 0
        best, usage = MOST, land.usage
        spot = 0 if self.kind.empty else land.place(self.kind.flavor).spots[leaf]
        for begin, free, amount in self._rows:
            left = free[leaf] if begin < 0 else free[leaf] - usage[begin + spot]
            if left < amount:
                return 0
            if left < best * amount:
                best = left // amount
        return best

    def _prepare(self) -> list[tuple[int, list[int], int]] | None:
        """(first cell, free by leaf, amount) of every resource; None when one is nowhere to be had."""
        wants = [(r, a) for r, a in with_slot(self._each).items() if a > 0]
        free = self.domains.free
        if any(r not in free for r, _ in wants):
            return None
        begins = [-1] * len(wants)
        if not self.kind.empty:
            begins = self.land.begins(self.kind.flavor, (r for r, _ in wants))
        return [(begin, free[r], a) for begin, (r, a) in zip(begins, wants, strict=True)]

    def _put(self, leaf: int, pods: int) -> None:
        """``leaf`` holds ``pods``: it and everything above it, without a leader."""
        domains, counts, wish = self.domains, self.counts, self._wish
        held, slices, ranks = counts.pods, counts.slices, self._ranks
        domain = domains.first[-2] + leaf
        more, whole = pods - held[domain], 0
        if not more:
            return
        single, size, inner = counts.single, wish.slice_size, wish.inner
        level = len(domains.levels) - 1
        while domain >= 0:
            before, before_slices = held[domain], slices[domain]
            held[domain] = after = before + more
            if not single:
                if level == wish.slice_level:
                    whole = after // size - before_slices
                    slices[domain] = before_slices + whole
                elif level < wish.slice_level:
                    slices[domain] = before_slices + whole
                unit = inner.get(level, 1)
                if unit > 1:
                    more = after - after % unit - before + before % unit
            if level in ranks:
                ranks[level].move(domain, before_slices, before)
            if not more and not whole:
                return
            domain = domains.up[domain]
            level -= 1

    def _sums(self, leaves: Iterable[int], assumed: Assumed) -> None:
        """Count leaves again with all that is above them, a leader and preferences included."""
        domains, counts, base = self.domains, self.counts, self.domains.first[-2]
        some = {base + leaf for leaf in leaves}
        for leaf in leaves:
            more = assumed.get(domains.names[leaf])
            usable = domains.live[leaf] and self.eligible.fits[leaf]
            counts.pods[base + leaf] = (
                self.room.at(leaf, self._each, (more,) if more else ()) if usable else 0
            )
            if self._leader is not None:
                self._lead(leaf, assumed)
        self._climb(some)
        self._ranks = {}

    def _climb(self, some: set[int]) -> None:
        """Sum up what is above some leaves."""
        domains, counts, wish = self.domains, self.counts, self._wish
        scored, last = bool(self.eligible.weights), len(domains.levels) - 1
        for level in range(last, -1, -1):
            if level < last:
                some = {domains.up[d] for d in some}
                add_up(domains, counts, some, wish.inner.get(level + 1, 1), scored=scored)
            if level == wish.slice_level and not counts.single:
                for domain in some:
                    cut(counts, wish.slice_size, domain, domain + 1)

    def _lead(self, leaf: int, assumed: Assumed) -> None:
        """What ``leaf`` holds beside the leader."""
        leader, counts, domains = self._leader, self.counts, self.domains
        at = domains.first[-2] + leaf
        counts.leaders[at], counts.pods_led[at] = 0, counts.pods[at]
        if leader is None or not domains.live[leaf] or not self.eligible.fits[leaf]:
            return
        before = assumed.get(domains.names[leaf], {})
        if self.room.at(leaf, leader.each, (before,)) > 0:
            counts.leaders[at] = 1
            counts.pods_led[at] = self.room.at(leaf, self._each, (before, with_slot(leader.each)))

    # -- other views ----------------------------------------------------------------------------

    def assume(self, assumed: Assumed) -> None:
        """Show what is left beside ``assumed``, until the next time that it is mended."""
        domains, where = self.domains, self.domains.where
        leaves = [where[values] for values in assumed if values in where]
        if not leaves:
            return
        self._stale += leaves
        if self.eligible.weights or self._leader is not None:
            self._sums(leaves, assumed)
            return
        for leaf in leaves:
            if domains.live[leaf] and self.eligible.fits[leaf]:
                self._put(leaf, self.room.at(leaf, self._each, (assumed[domains.names[leaf]],)))

    def within(self, domain: int) -> Counts:
        """Counts in which nothing outside ``domain`` holds anything."""
        domains, wish = self.domains, self._wish
        counts = Counts(domains.size, led=False, single=self.counts.single)
        base = domains.first[-2]
        low, high = domains.under(domain)
        counts.pods[base + low : base + high] = self.counts.pods[base + low : base + high]
        counts.score[base + low : base + high] = self.counts.score[base + low : base + high]
        scored = bool(self.eligible.weights)
        roll(domains, counts, wish, 0, domains.first[1], 0, scored=scored)
        return counts


def stock_of(
    land: Land, flavor: str, ask: Ask, leader: Ask | None, wish: Wish, *, scored: bool, empty: bool
) -> Stock:
    """The stock for ``ask``, mended."""
    kind = Kind(
        flavor,
        tuple(sorted(ask.each.items())),
        land.fields[flavor].eligible(ask.spec, scored=scored),
        None if leader is None else tuple(sorted(leader.each.items())),
        wish.slice_level,
        wish.slice_size,
        tuple(sorted(wish.inner.items())),
        empty,
    )
    found: Stock | None = land.known.get(kind)
    if found is None:
        size = land.fields[flavor].size
        _make_room(land, size)
        found = land.known[kind] = Stock(land, kind, ask.each, leader, wish)
        land.counted += size
    found.mend()
    return found


def holds(land: Land, flavor: str, spec: PodSet) -> Counts:
    """How many pods of ``spec`` every domain of ``flavor`` can hold now; domains are numbered as in Domains.
    Not to be changed, nor kept: it follows the land.
    """
    last = len(land.fields[flavor].levels) - 1
    wish = Wish(last, last, 1, required=False, spread=True, inner={}, layers=())
    ask = Ask(0, 1, spec.requests, spec, NOTHING)
    return stock_of(land, flavor, ask, None, wish, scored=False, empty=False).counts


def _make_room(land: Land, more: int) -> None:
    """Forget stocks until ``more`` domains may be counted as well; one that was of use since it was last
    looked at is spared once.
    """
    known = land.known
    while known and land.counted + more > _MOST_COUNTED:
        kind = next(iter(known))
        old: Stock = known.pop(kind)
        if old.used:
            old.used = False
            known[kind] = old
            continue
        land.counted -= old.domains.size
        for key in old.keys:
            land.asked.pop(key, None)
