"""Queues whose heads are looked at in vain rest until something happens in their tree.

A StrictFIFO head that does not fit stays active, and so does one that waits for its victims: Kueue looks at
them in every cycle. When a cycle changes nothing and leaves all as it was, the next would do the same; so
its queues rest, and an event elsewhere costs nothing for them. Trees that share nodes wake together, and a
tree as a whole: a head that can not be admitted may hold back quota from another's (#4809).
"""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Queue


class Rest:
    """The resting queues of a session, by the first tree of their group."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._resting: dict[int, list[Queue]] = {}
        self._states: set[object] = set()  # after cycles that changed nothing, since the last event

    def stir(self) -> None:
        """Something has happened."""
        if self._states:
            self._states.clear()

    def wake(self, trees: Iterable[int]) -> None:
        """Something has happened in ``trees``: their queues are looked at again."""
        self.stir()
        if self._resting:
            for tree in trees:
                for queue in self._resting.pop(self._session.group[tree], ()):
                    self._session.busy[queue.name] = queue

    def before_cycle(self) -> None:
        """Who is looked at brings the rest of the tree."""
        if self._resting:
            placing = [item.queue for item in self._session.second.values() if item.queue is not None]
            self.wake([queue.tree for queue in (*self._session.busy.values(), *placing)])

    def after_cycle(self, *, changed: bool) -> None:
        """A cycle is over; whether anything was reserved or anybody evicted."""
        if changed:
            self.stir()
            return
        session = self._session
        state = tuple((name, queue.signature) for name, queue in session.busy.items() if queue.waiting)
        if state not in self._states:
            self._states.add(state)
            return
        for queue in session.busy.values():
            if queue.waiting:
                self._resting.setdefault(session.group[queue.tree], []).append(queue)
        session.busy.clear()
