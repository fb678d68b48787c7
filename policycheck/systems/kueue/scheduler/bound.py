"""What preemption can free at most, from sums that are kept: most searches for victims end before they begin.

Bounds only: where they hold, the search may still find nobody; where they do not, it can not find anybody.
Removing an amount anywhere in a tree frees at most that much for a queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.victims import Contest

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.state import Queue

NOBODY, ANYBODY = -(1 << 62), 1 << 62  # as the highest priority that may be taken


def most(queue: Queue, priority: int) -> int:
    """The highest priority of those that a workload of ``priority`` may take the place of in its own queue."""
    policy = queue.config.preemption.within_cluster_queue
    if policy == "Never":
        return NOBODY
    return ANYBODY if policy == "Any" else priority - (policy == "LowerPriority")


def own(queue: Queue, most: int, cell: int) -> int:
    """What holders of ``queue`` up to priority ``most`` use."""
    found = 0
    for priority, row in queue.sums.items():
        if priority <= most:
            found += row.get(cell, 0)
    return found


def may_find(contest: Contest, *, classical: bool) -> bool:
    """False when no set of victims can make room for the contest's preemptor."""
    tree, node, size = contest.tree, contest.queue.node, contest.tree.size
    preemption = contest.queue.config.preemption
    others = preemption.reclaim_within_cohort != "Never" and size > 1
    up_to = most(contest.queue, contest.item.priority)
    owned = [own(contest.queue, up_to, cell) for cell, _ in contest.amounts]
    if others and classical and preemption.borrow_within_cohort.policy == "Never":
        others = not _only_own(contest, owned)
    for (cell, amount), mine in zip(contest.amounts, owned, strict=True):
        base = cell - node
        more = sum(tree.usage[base : base + size]) - tree.usage[cell] if others else 0
        if amount > tree.available(cell) + mine + more:
            return False
    return True


def flat(tree: Tree, node: int) -> bool:
    """Whether a queue is in a cohort without cohorts."""
    return tree.nodes[node].parent == 0 and tree.height[0] <= 1


def _only_own(contest: Contest, owned: list[int]) -> bool:
    """Whether others' workloads are out of reach: in a cohort without cohorts, for a preemptor that may not
    take them while it borrows, and that would borrow even without those of its own queue.
    """
    tree, node = contest.tree, contest.queue.node
    if not flat(tree, node):
        return False
    return any(
        tree.usage[cell] - mine + amount > tree.nominal[cell]
        for (cell, amount), mine in zip(contest.amounts, owned, strict=True)
    )
