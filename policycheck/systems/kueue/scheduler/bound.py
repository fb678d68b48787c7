"""What preemption can free at most, from sums that are kept: most searches for victims end before they begin.

Bounds only: where they hold, the search may still find nobody; where they do not, it can not find anybody.
Removing an amount anywhere in a tree frees at most that much for a queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policycheck.systems.kueue.scheduler.victims import Contest

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.state import Queue

Ranks = dict[int, list[tuple[int, int]]]  # by cell: (priority, what holders up to it use), ascending


def ranks(queue: Queue) -> Ranks:
    """What holders of ``queue`` use, by priority; worked out anew when they have changed."""
    version, known = queue.ranks
    if version == queue.version and known is not None:
        return known
    sums: dict[int, dict[int, int]] = {}
    for holder in queue.holders.values():
        for cell, amount in holder.amounts:
            mine = sums.setdefault(cell, {})
            mine[holder.priority] = mine.get(holder.priority, 0) + amount
    found: Ranks = {}
    for cell, by_priority in sums.items():
        total, row = 0, []
        for priority in sorted(by_priority):
            total += by_priority[priority]
            row.append((priority, total))
        found[cell] = row
    queue.ranks = (queue.version, found)
    return found


def _own(contest: Contest, cell: int) -> int:
    """What the preemptor may take from its own queue at most."""
    policy = contest.queue.config.preemption.within_cluster_queue
    if policy == "Never":
        return 0
    most = contest.item.priority - (policy == "LowerPriority")
    found = 0
    for priority, total in ranks(contest.queue).get(cell, ()):
        if policy != "Any" and priority > most:
            break
        found = total
    return found


def may_find(contest: Contest, *, classical: bool) -> bool:
    """False when no set of victims can make room for the contest's preemptor."""
    tree, node, size = contest.tree, contest.queue.node, contest.tree.size
    preemption = contest.queue.config.preemption
    others = preemption.reclaim_within_cohort != "Never" and size > 1
    own = [_own(contest, cell) for cell, _ in contest.amounts]
    if others and classical and preemption.borrow_within_cohort.policy == "Never":
        others = not _only_own(contest, own)
    for (cell, amount), mine in zip(contest.amounts, own, strict=True):
        base = cell - node
        more = sum(tree.usage[base : base + size]) - tree.usage[cell] if others else 0
        if amount > tree.available(cell) + mine + more:
            return False
    return True


def _only_own(contest: Contest, own: list[int]) -> bool:
    """Whether others' workloads are out of reach: in a cohort without cohorts, for a preemptor that may not
    take them while it borrows, and that would borrow even without those of its own queue.
    """
    tree, node = contest.tree, contest.queue.node
    if tree.nodes[node].parent != 0 or tree.height[0] > 1:
        return False
    return any(
        tree.usage[cell] - mine + amount > tree.nominal[cell]
        for (cell, amount), mine in zip(contest.amounts, own, strict=True)
    )
