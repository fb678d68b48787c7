"""Whom heads of one cohort may take quota from, worked out once for all of them in a cycle.

In a cohort without cohorts every head that is short looks at the same workloads: those of queues above their
quota, but for its own. Their order is the same for all, too; and most searches end after the first few.
"""

from __future__ import annotations

from policycheck.systems.kueue.scheduler.victims import Contest, holders

# In the order in which they are taken: being evicted already or not, priority, later first, uid, id, node.
Row = tuple[bool, int, int, str, str, int]
Key = tuple[int, ...]  # usage in the columns, and how many hold quota


class Pool:
    """Of one tree in one cycle, by contested columns."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[frozenset[int], tuple[Key, list[Row]]] = {}

    def rows(self, contest: Contest) -> list[Row]:
        """All holders of contested quota in queues above their own, the first to go first."""
        key = self._key(contest)
        known = self._known.get(contest.columns)
        if known is not None and known[0] == key:
            return known[1]
        rows: list[Row] = []
        for node in contest.tree.children[0]:
            queue = contest.members[node]
            if queue is None or contest.within_nominal(node):
                continue
            for v in holders(queue, contest.columns):
                since = -(v.reserved_at if v.reserved else contest.now)
                rows.append((not v.evicted, v.priority, since, v.uid, v.id, node))
        rows.sort()
        self._known[contest.columns] = key, rows
        return rows

    def _key(self, contest: Contest) -> Key:
        """What the rows are made of; within a cycle some may be taken out for a while."""
        usage, size = contest.tree.usage, contest.tree.size
        found = [len(queue.holders) for queue in contest.members if queue is not None]
        for column in contest.columns:
            found += usage[column * size : column * size + size]
        return tuple(found)
