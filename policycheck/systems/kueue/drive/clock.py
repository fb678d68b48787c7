"""What Kueue does by the clock beside its cycles: parked workloads return in batches, and use is sampled."""

from __future__ import annotations

from collections import deque

from policycheck.systems.kueue.drive.workload import NANOS
from policycheck.systems.kueue.scheduler.life import usage_by_local
from policycheck.systems.kueue.scheduler.session import Session


class Batches:
    """Parked workloads of a tree return ``period`` nanoseconds after the first release since they did."""

    def __init__(self, session: Session, period: int) -> None:
        session.returning = set()
        self._session = session
        self._period = period
        self._due: deque[tuple[int, int]] = deque()  # (when, tree); the clock does not go back
        self._trees: set[int] = set()  # of these

    def collect(self) -> None:
        """Trees in which quota was freed just now."""
        session = self._session
        for tree in sorted(session.returning or ()):
            if tree in self._trees:
                continue
            if any(queue is not None and (queue.lying or queue.moved) for queue in session.members[tree]):
                self._due.append((session.now + self._period, tree))
                self._trees.add(tree)
        session.returning = set()

    def next_due(self) -> int | None:
        """When some return; None when nobody is to."""
        return self._due[0][0] if self._due else None

    def wake(self, now: int) -> list[int]:
        """Those that are due by ``now`` return; their trees."""
        due: list[int] = []
        while self._due and self._due[0][0] <= now:
            due.append(self._due.popleft()[1])
        self._trees.difference_update(due)
        self._session.return_parked(due)
        return due


class Sampler:
    """Admission fair sharing looks at what LocalQueues use every so often. Between two events nothing of
    that changes, so that it is enough to catch up before each.
    """

    def __init__(self, session: Session) -> None:
        config = session.world.objects.configuration.admission_fair_sharing
        self._session = session
        self._every = 0
        if session.ledger is not None and config is not None:
            self._every = max(1, round(config.sampling * 1000)) * NANOS
        self._at = session.now

    def sample(self, now: int) -> bool:
        """Everything that was due by ``now``; whether anything was."""
        ledger = self._session.ledger
        if not self._every or ledger is None or self._at + self._every > now:
            return False
        usage = usage_by_local(self._session)
        while self._at + self._every <= now:
            self._at += self._every
            ledger.sample(usage)
        return True
