"""Who may be preempted, in which order, and the search that both ways of preempting share.

Sources: documentation "Preemption" of ClusterQueue and of cohorts; KEP-79, KEP-1714; facts 1c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler.land import Land
from policycheck.systems.kueue.scheduler.state import Item, Queue

IN_QUEUE = "InClusterQueue"
RECLAMATION = "InCohortReclamation"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
FAIR = "InCohortFairSharing"

Target = tuple[Item, str]  # victim, reason
Use = Callable[[Item], float | None]  # what its LocalQueue has used, where that counts
T = TypeVar("T")

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.pool import Pool


class Weighed(NamedTuple):
    """One workload that holds contested quota, and why it was taken or spared."""

    victim: str
    queue: str
    taken: bool
    why: str


Trace = list[Weighed]


class Contest(NamedTuple):
    """One preemptor and what it needs."""

    item: Item
    queue: Queue
    tree: Tree
    members: Sequence[Queue | None]  # queues of the tree by node
    amounts: Amounts  # all that the preemptor would use
    columns: frozenset[int]  # of it, what is contested
    now: int
    land: Land | None = None  # when victims free nodes as well
    pool: Pool | None = None  # candidates that others look at in the same cycle
    place: Callable[[], bool] | None = None  # whether all pods find a place, when they need one

    def remove(self, victim: Item) -> None:
        """As if ``victim`` were gone."""
        self.tree.remove_all(victim.amounts)
        if self.land is not None and victim.placed:
            self.land.remove(victim.placed)

    def put_back(self, victim: Item) -> None:
        """Undo ``remove``."""
        self.tree.add_all(victim.amounts)
        if self.land is not None and victim.placed:
            self.land.add(victim.placed)

    def within_nominal(self, node: int) -> bool:
        """Whether ``node`` keeps to its quota in every contested column."""
        usage, subtree, size = self.tree.usage, self.tree.subtree, self.tree.size
        for column in self.columns:  # noqa: SIM110 - asked a million times a run: all() costs half as much again
            if usage[column * size + node] > subtree[column * size + node]:
                return False
        return True

    def under_nominal(self) -> bool:
        """Whether the preemptor's queue has nominal quota left in every contested column."""
        tree, node = self.tree, self.queue.node
        return all(
            tree.nominal[c * tree.size + node] > tree.usage[c * tree.size + node] for c in self.columns
        )

    def fits(self, *, borrowing: bool) -> bool:
        """Whether the preemptor fits now, with or without borrowing, quota and nodes."""
        tree = self.tree
        if not borrowing:
            usage, nominal = tree.usage, tree.nominal
            for cell, amount in self.amounts:
                if usage[cell] + amount > nominal[cell]:
                    return False
        for cell, amount in self.amounts:
            if amount > tree.free(cell):
                return False
        return self.place is None or self.place()


def allowed(policy: str, item: Item, victim: Item) -> bool:
    """Whether ``policy`` lets ``item`` take ``victim``'s place."""
    if policy == "Any":
        return True
    if policy == "LowerPriority":
        return victim.priority < item.priority
    if policy == "LowerOrNewerEqualPriority":
        return victim.priority < item.priority or (
            victim.priority == item.priority and item.time < victim.time
        )
    return False


def holders(queue: Queue, columns: frozenset[int]) -> list[Item]:
    """Workloads of ``queue`` that use one of ``columns``."""
    return [v for v in queue.holders.values() if not columns.isdisjoint(v.columns)]


def rank(victim: Item, now: int) -> tuple[int, int, str, str]:
    """Order among victims of equal standing: lower priority, then reserved later, then uid."""
    return (
        victim.priority,
        -(victim.reserved_at if victim.reserved else now),
        victim.uid,
        victim.id,
    )


def sort(candidates: list[tuple[Any, Item, T]], now: int, local_use: Use | None) -> list[tuple[Any, Item, T]]:
    """(standing, victim, anything) in order: standing first, then what the LocalQueue has used (more
    goes first; only between LocalQueues of one ClusterQueue), then ``rank``.
    """
    if local_use is None:
        # Ranks at once, and not by a function for each: half of the time of most searches for victims.
        rows = [
            (c[0], v.priority, -(v.reserved_at if v.reserved else now), v.uid, v.id, n)
            for n, c in enumerate(candidates)
            for v in (c[1],)
        ]
        rows.sort()
        return [candidates[row[5]] for row in rows]
    use = local_use

    def compare(a: tuple[Any, Item, T], b: tuple[Any, Item, T]) -> int:
        if a[0] != b[0]:
            return -1 if a[0] < b[0] else 1
        if a[1].queue is b[1].queue and a[1].local != b[1].local:
            mine, theirs = use(a[1]), use(b[1])
            if mine is not None and theirs is not None and mine != theirs:
                return -1 if mine > theirs else 1
        first, second = rank(a[1], now), rank(b[1], now)
        return (first > second) - (first < second)

    return sorted(candidates, key=cmp_to_key(compare))


def minimal(contest: Contest, taken: list[Target], *, borrowing: bool) -> list[Target]:
    """``taken`` (removed, in this order, and enough) less those that still fit when put back.

    All but the last are tried, in reverse. Usage is left as it was before any removal.
    """
    kept = [taken[-1]]
    for target in reversed(taken[:-1]):
        contest.put_back(target[0])
        if contest.fits(borrowing=borrowing):
            continue
        contest.remove(target[0])
        kept.append(target)
    for victim, _ in kept:
        contest.put_back(victim)
    return kept
