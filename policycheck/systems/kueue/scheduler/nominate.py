"""Nominating one workload: flavors, and the victims that would make room for it."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler import classical, fair
from policycheck.systems.kueue.scheduler.assign import (
    FIT,
    NO_CANDIDATES,
    PREEMPT,
    RECLAIM,
    Assigner,
    Assignment,
    Attempt,
    Scan,
)
from policycheck.systems.kueue.scheduler.reduce import search
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.victims import Contest, Target, Trace

Pinned = dict[tuple[int, str], str]


class Nomination(NamedTuple):
    """What a workload would be given, and who must go first."""

    assignment: Assignment
    targets: list[Target]


class Nominator:
    """Nominates against the usage that the session's trees show at the moment."""

    def __init__(
        self, session: Session, *, attempts: list[Attempt] | None = None, trace: Trace | None = None
    ) -> None:
        self._session = session
        self._attempts = attempts
        self._trace = trace

    def nominate(self, item: Item, queue: Queue, scan: Scan | None, pinned: Pinned | None) -> Nomination:
        """Full size first; with fewer pods only when neither quota nor preemption allow full size."""
        session = self._session
        shape = item.shape
        tree = session.trees[queue.tree]
        assigner = Assigner(tree, queue.rules, self._oracle(item, queue, tree), self._attempts)
        pods = tuple(s.pods for s in shape.sets)
        full = assigner.assign(session.plan(queue, shape, pods), scan, pinned, shape.allowed)
        found = self._complete(item, queue, tree, full)
        if found is not None:
            return found
        if shape.reducible and session.world.strategy.partial_admission:
            spans = [(s.spec.pods, s.least) for s in shape.sets]

            def attempt(counts: list[int]) -> Nomination | None:
                plan = session.plan(queue, shape, tuple(counts))
                return self._complete(item, queue, tree, assigner.assign(plan, scan, pinned, shape.allowed))

            reduced = search(spans, attempt)
            if reduced is not None:
                return reduced
        return Nomination(full, [])

    def _complete(self, item: Item, queue: Queue, tree: Tree, assignment: Assignment) -> Nomination | None:
        """The nomination when the assignment fits or victims are found for it."""
        if assignment.mode == FIT:
            return Nomination(assignment, [])
        if assignment.mode == PREEMPT:
            contest = self._contest(item, queue, tree, assignment.amounts, assignment.columns)
            targets = self.targets(contest, self._trace)
            if targets:
                return Nomination(assignment, targets)
        return None

    def _contest(
        self, item: Item, queue: Queue, tree: Tree, amounts: Amounts, columns: frozenset[int]
    ) -> Contest:
        members = self._session.members[queue.tree]
        return Contest(item, queue, tree, members, amounts, columns, self._session.now)

    def targets(self, contest: Contest, trace: Trace | None = None) -> list[Target]:
        """The victims for ``contest``, or []."""
        world, ledger = self._session.world, self._session.ledger
        preemption = contest.queue.config.preemption
        if preemption.within_cluster_queue == "Never" and preemption.reclaim_within_cohort == "Never":
            return []
        local_use = None
        if ledger is not None:

            def local_use(victim: Item) -> float | None:
                counts = victim.queue is not None and victim.queue.by_local
                return ledger.use(victim.local) if counts else None

        if world.fair is None:
            return classical.targets(contest, local_use, trace)
        return fair.targets(
            contest,
            world.shares[contest.queue.tree],
            world.fair,
            local_use,
            within_nominal=world.strategy.within_nominal,
            trace=trace,
        )

    def _oracle(self, item: Item, queue: Queue, tree: Tree):  # type: ignore[no-untyped-def] # noqa: ANN202
        def simulate(cell: int, amount: int) -> tuple[int, int]:
            """Mode and borrowing height once preemption has made room for one resource alone."""
            contest = self._contest(item, queue, tree, ((cell, amount),), frozenset({cell // tree.size}))
            targets = self.targets(contest)
            if not targets:
                return NO_CANDIDATES, tree.reach(cell, amount)[0]
            for victim, _ in targets:
                tree.remove_all(victim.amounts)
            height, _ = tree.reach(cell, amount)
            for victim, _ in targets:
                tree.add_all(victim.amounts)
            own = any(victim.queue is queue for victim, _ in targets)
            return (PREEMPT if own else RECLAIM), height

        return simulate
