"""What Kueue does by the clock beside its cycles: parked workloads return in batches, and use is sampled."""

from __future__ import annotations

from policycheck.systems.kueue.drive.workload import NANOS
from policycheck.systems.kueue.scheduler.life import usage_by_local
from policycheck.systems.kueue.scheduler.session import Session


class Batches:
    """Parked workloads of a tree return ``period`` nanoseconds after the first release since they did."""

    def __init__(self, session: Session, period: int) -> None:
        session.returning = set()
        self._session = session
        self._period = period
        self._due: dict[int, int] = {}  # by tree

    def collect(self) -> None:
        """Trees in which quota was freed just now."""
        session = self._session
        for tree in sorted(session.returning or ()):
            if any(queue is not None and (queue.lying or queue.moved) for queue in session.members[tree]):
                self._due.setdefault(tree, session.now + self._period)
        session.returning = set()

    def next_due(self) -> int | None:
        """When some return; None when nobody is to."""
        return min(self._due.values(), default=None)

    def wake(self, now: int) -> None:
        """Those that are due by ``now`` return."""
        due = [tree for tree, at in self._due.items() if at <= now]
        for tree in due:
            del self._due[tree]
        self._session.return_parked(due)


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

    def sample(self, now: int) -> None:
        """Everything that was due by ``now``."""
        ledger = self._session.ledger
        if not self._every or ledger is None or self._at + self._every > now:
            return
        usage = usage_by_local(self._session)
        while self._at + self._every <= now:
            self._at += self._every
            ledger.sample(usage)
