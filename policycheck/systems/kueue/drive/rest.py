"""Queues whose heads are looked at in vain rest until something happens in their tree.

A StrictFIFO head that does not fit stays active, and so does one that waits for its victims: Kueue looks at
them in every cycle. When a cycle changes nothing and leaves all as it was, the next would do the same; so
its queues rest, and an event elsewhere costs nothing for them. Trees that share nodes wake together, and a
tree as a whole: a head that can not be admitted may hold back quota from another's (#4809). Where cycles
wait for admitted pods to run (blockAdmission) what happens in one tree lets others go on: all are one.
"""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Queue


class Rest:
    """The resting queues of a session. Everything is kept by group: trees that are decided together, by the
    first of them.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._resting: dict[int, list[Queue]] = {}
        self._states: dict[int, set[object]] = {}  # after cycles that changed nothing, since the last event

    def _groups(self) -> list[int]:
        """The group of every tree."""
        return [0] * len(self._session.group) if self._session.blocks else self._session.group

    def _group(self, tree: int) -> int:
        return 0 if self._session.blocks else self._session.group[tree]

    def wake(self, trees: Iterable[int]) -> None:
        """Something has happened in ``trees``: their queues are looked at again."""
        for tree in trees:
            self._wake(self._group(tree))

    def _wake(self, group: int) -> None:
        self._states.pop(group, None)
        for queue in self._resting.pop(group, ()):
            self._session.busy[queue.name] = queue

    def before_cycle(self) -> None:
        """Who is looked at brings the rest of the group."""
        resting = self._resting
        if not resting:
            return
        session = self._session
        group_of = self._groups()
        looked = {group_of[queue.tree] for queue in session.busy.values()}
        looked |= {group_of[item.queue.tree] for item in session.second.values() if item.queue is not None}
        for group in sorted(looked & resting.keys()):
            self._wake(group)

    def after_cycle(self, trees: Iterable[int]) -> None:
        """A cycle is over, in which something was reserved or evicted in ``trees`` and nowhere else."""
        session = self._session
        changed = {self._group(tree) for tree in trees}
        for group in changed:
            self._states.pop(group, None)
        groups: dict[int, list[Queue]] = {}
        group_of = self._groups()
        for queue in session.busy.values():
            group = group_of[queue.tree]
            if group not in changed and queue.waiting:
                groups.setdefault(group, []).append(queue)
        for group, queues in groups.items():
            state = tuple([queue.standing for queue in queues])
            seen = self._states.setdefault(group, set())
            if state not in seen:
                seen.add(state)
                continue
            self._resting.setdefault(group, []).extend(queues)
            for queue in queues:
                del session.busy[queue.name]
