"""Preemption under fair sharing: from the root down, whoever has most loses first.

Source: KEP-1714 "Fair sharing", rules S2-a (LessThanOrEqualToFinalShare) and S2-b
(LessThanInitialShare); facts 1c. borrowWithinCohort has no effect here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from policycheck.systems.kueue.scheduler.share import NOTHING, Rank, Shares
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.victims import (
    FAIR,
    IN_QUEUE,
    RECLAMATION,
    Contest,
    Target,
    Trace,
    Use,
    Weighed,
    allowed,
    holders,
    minimal,
    rank,
    sort,
)

FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


def targets(
    contest: Contest,
    shares: Shares,
    strategies: tuple[str, ...],
    local_use: Use | None,
    *,
    within_nominal: bool,
    trace: Trace | None = None,
) -> list[Target]:
    """The victims that make room for the contest's preemptor; [] when there are none.

    ``within_nominal``: a queue that stays within nominal takes what it is owed, whatever the shares.
    """
    candidates = _candidates(contest, local_use)
    if not candidates:
        return []
    search = _Search(contest, shares, trace)
    found = search.run(candidates, strategies, within_nominal=within_nominal)
    return minimal(contest, found, borrowing=True) if found else []


def _candidates(contest: Contest, local_use: Use | None) -> list[Item]:
    item, queue, tree = contest.item, contest.queue, contest.tree
    preemption = queue.config.preemption
    found: list[Item] = []
    if preemption.within_cluster_queue != "Never":
        policy = preemption.within_cluster_queue
        found.extend(v for v in holders(queue, contest.columns) if allowed(policy, item, v))
    if tree.nodes[queue.node].parent >= 0 and preemption.reclaim_within_cohort != "Never":
        policy = preemption.reclaim_within_cohort
        for other in contest.members:
            if other is not None and other is not queue and not contest.within_nominal(other.node):
                found.extend(v for v in holders(other, contest.columns) if allowed(policy, item, v))

    standing = [((not v.evicted, v.queue is queue), v, None) for v in found]
    return [v for _, v, _ in sort(standing, contest.now, local_use)]


class _Search:
    """One search; usage is the tree's, with the preemptor's own on top while victims are picked."""

    def __init__(self, contest: Contest, shares: Shares, trace: Trace | None) -> None:
        self._contest = contest
        self._tree = contest.tree
        self._shares = shares
        self._trace = trace
        self._ancestors = frozenset(self._tree.path(contest.queue.node))
        self._taken: list[Target] = []

    def run(
        self, candidates: list[Item], strategies: tuple[str, ...], *, within_nominal: bool
    ) -> list[Target]:
        """Victims, removed from usage in this order; [] with nothing removed when they do not suffice."""
        tree, contest = self._tree, self._contest
        tree.add_all(contest.amounts)
        owed = within_nominal and contest.within_nominal(contest.queue.node)
        rest: list[Item] = []
        enough = self._first(candidates, strategies[0], rest, owed=owed)
        if not enough and len(strategies) > 1:
            enough = self._second(rest)
        tree.remove_all(contest.amounts)
        if enough:
            return self._taken
        for victim, _ in self._taken:
            contest.put_back(victim)
        return []

    def _take(self, victim: Item, reason: str) -> bool:
        """Remove the victim; whether the preemptor then fits."""
        tree, contest = self._tree, self._contest
        contest.remove(victim)
        self._taken.append((victim, reason))
        self._note(victim, reason, taken=True)
        tree.remove_all(contest.amounts)
        fits = contest.fits(borrowing=True)
        tree.add_all(contest.amounts)
        return fits

    def _note(self, victim: Item, why: str, *, taken: bool) -> None:
        if self._trace is not None:
            queue = victim.queue.name if victim.queue else ""
            self._trace.append(Weighed(victim.id, queue, taken, why))

    def _first(self, candidates: list[Item], strategy: str, rest: list[Item], *, owed: bool) -> bool:
        order = _Order(self._contest, self._shares, self._ancestors, candidates)
        for queue, waiting in order:
            if queue is self._contest.queue:
                if self._take(waiting.popleft(), IN_QUEUE):
                    return True
                continue
            if owed:
                if self._take(waiting.popleft(), RECLAMATION):
                    return True
                continue
            mine, theirs = self._rivals(queue)
            my_share, their_share = self._shares.rank(mine), self._shares.rank(theirs)
            while waiting:
                victim = waiting.popleft()
                if self._passes(strategy, my_share, their_share, theirs, victim):
                    if self._take(victim, FAIR):
                        return True
                    break  # shares have changed: another queue may now have most
                self._note(victim, f"{strategy} does not hold", taken=False)
                rest.append(victim)
        return False

    def _passes(self, strategy: str, mine: Rank, theirs: Rank, node: int, victim: Item) -> bool:
        if strategy == INITIAL_SHARE:
            return mine < theirs
        self._tree.remove_all(victim.amounts)
        after = self._shares.rank(node)
        self._tree.add_all(victim.amounts)
        return mine <= after

    def _second(self, rest: list[Item]) -> bool:
        order = _Order(self._contest, self._shares, self._ancestors, rest)
        for queue, waiting in order:
            mine, theirs = self._rivals(queue)
            victim = waiting.popleft()
            if self._shares.rank(mine) < self._shares.rank(theirs):
                if self._take(victim, FAIR):
                    return True
            else:
                self._note(victim, f"{INITIAL_SHARE} does not hold", taken=False)
            order.drop(queue)
        return False

    def _rivals(self, queue: Queue) -> tuple[int, int]:
        """The two nodes just below the lowest cohort that both queues have in common."""
        tree = self._tree
        theirs = queue.node
        meeting = -1
        for node in tree.path(queue.node):
            if node in self._ancestors:
                meeting = node
                break
            theirs = node
        mine = self._contest.queue.node
        for node in tree.path(mine):
            if node == meeting:
                break
            mine = node
        return mine, theirs


class _Order:
    """Yields the queue to look at next: at each cohort the child with the highest share that still has
    candidates, a cohort before a queue when equal. The consumer takes at least one candidate, or drops
    the queue.
    """

    def __init__(
        self, contest: Contest, shares: Shares, ancestors: frozenset[int], candidates: list[Item]
    ) -> None:
        self._contest = contest
        self._shares = shares
        self._ancestors = ancestors
        self._pruned: set[int] = set()
        self._waiting: dict[int, deque[Item]] = {}
        for victim in candidates:
            if victim.queue is not None:
                self._waiting.setdefault(victim.queue.node, deque()).append(victim)

    def drop(self, queue: Queue) -> None:
        """No more candidates of ``queue``."""
        self._pruned.add(queue.node)

    def __iter__(self) -> Iterator[tuple[Queue, deque[Item]]]:
        own = self._contest.queue
        if self._contest.tree.nodes[own.node].parent < 0:
            waiting = self._waiting.get(own.node, deque())
            while waiting:
                yield own, waiting
            return
        while 0 not in self._pruned:
            queue = self._next()
            if queue is not None:
                yield queue, self._waiting[queue.node]

    def _next(self) -> Queue | None:
        """The next queue; None when only some node was pruned."""
        node = 0
        while True:
            queue, queue_rank = self._best_queue(node)
            cohort, cohort_rank = self._best_cohort(node)
            if queue is None and cohort < 0:
                self._pruned.add(node)
                return None
            if queue is not None and (cohort < 0 or cohort_rank < queue_rank):
                return queue
            node = cohort

    def _best_queue(self, cohort: int) -> tuple[Queue | None, Rank]:
        best: Queue | None = None
        best_rank = NOTHING
        own = self._contest.queue
        for child in self._contest.tree.children[cohort]:
            queue = self._contest.members[child]
            if queue is None or child in self._pruned:
                continue
            if not self._waiting.get(child):
                self._pruned.add(child)
                continue
            standing, nothing = self._shares.standing(child)
            if nothing and queue is not own:
                self._pruned.add(child)
                continue
            if standing > best_rank or (
                standing == best_rank and best is not None and self._earlier(child, best.node)
            ):
                best, best_rank = queue, standing
        return best, best_rank

    def _earlier(self, a: int, b: int) -> bool:
        return self._key(self._waiting[a][0]) < self._key(self._waiting[b][0])

    def _key(self, victim: Item) -> tuple[object, ...]:
        own = victim.queue is self._contest.queue
        return (not victim.evicted, own, *rank(victim, self._contest.now))

    def _best_cohort(self, cohort: int) -> tuple[int, Rank]:
        best, best_rank = -1, NOTHING
        for child in self._contest.tree.children[cohort]:
            if self._contest.members[child] is not None or child in self._pruned:
                continue
            standing, nothing = self._shares.standing(child)
            if nothing and child not in self._ancestors:
                self._pruned.add(child)
                continue
            if standing >= best_rank:
                best, best_rank = child, standing
        return best, best_rank
