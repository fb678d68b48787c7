"""Nominating one workload: flavors, and the victims that would make room for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
    Oracle,
    Scan,
)
from policycheck.systems.kueue.scheduler.local import Ledger
from policycheck.systems.kueue.scheduler.plan import Plan
from policycheck.systems.kueue.scheduler.reduce import search
from policycheck.systems.kueue.scheduler.shape import Shape
from policycheck.systems.kueue.scheduler.share import Shares
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.victims import Contest, Target, Trace

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.session import World

Pinned = dict[tuple[int, str], str]


class Nomination(NamedTuple):
    """What a workload would be given, and who must go first."""

    assignment: Assignment
    targets: list[Target]


class Scene(NamedTuple):
    """One tree as nominations see it: the live one, or one put back as it was when reasons are asked."""

    world: World
    tree: Tree
    members: Sequence[Queue | None]
    shares: Shares
    ledger: Ledger | None
    now: int
    plan: Callable[[Queue, Shape, tuple[int, ...]], Plan]


class Nominator:
    """Nominates against the usage that the scene's tree shows at the moment."""

    def __init__(
        self, scene: Scene, *, attempts: list[Attempt] | None = None, trace: Trace | None = None
    ) -> None:
        self._scene = scene
        self._attempts = attempts
        self._trace = trace

    def nominate(self, item: Item, queue: Queue, scan: Scan | None, pinned: Pinned | None) -> Nomination:
        """Full size first; with fewer pods only when neither quota nor preemption allow full size."""
        scene, shape = self._scene, item.shape
        assigner = Assigner(scene.tree, queue.rules, self._oracle(item, queue), self._attempts)
        pods = tuple(s.pods for s in shape.sets)
        full = assigner.assign(scene.plan(queue, shape, pods), scan, pinned, shape.allowed)
        found = self._complete(item, queue, full)
        if found is not None:
            return found
        if shape.reducible and scene.world.strategy.partial_admission:
            spans = [(s.spec.pods, s.least) for s in shape.sets]
            assigner.attempts = None

            def attempt(counts: list[int]) -> Nomination | None:
                plan = scene.plan(queue, shape, tuple(counts))
                return self._complete(item, queue, assigner.assign(plan, scan, pinned, shape.allowed))

            reduced = search(spans, attempt)
            if reduced is not None:
                return reduced
        return Nomination(full, [])

    def _complete(self, item: Item, queue: Queue, assignment: Assignment) -> Nomination | None:
        """The nomination when the assignment fits or victims are found for it."""
        if assignment.mode == FIT:
            return Nomination(assignment, [])
        if assignment.mode == PREEMPT:
            contest = self.contest(item, queue, assignment.amounts, assignment.columns)
            targets = self.targets(contest, self._trace)
            if targets:
                return Nomination(assignment, targets)
        return None

    def contest(self, item: Item, queue: Queue, amounts: Amounts, columns: frozenset[int]) -> Contest:
        """What ``item`` needs of the scene."""
        scene = self._scene
        return Contest(item, queue, scene.tree, scene.members, amounts, columns, scene.now)

    def targets(self, contest: Contest, trace: Trace | None = None) -> list[Target]:
        """The victims for ``contest``, or []."""
        world = self._scene.world
        preemption = contest.queue.config.preemption
        if preemption.within_cluster_queue == "Never" and preemption.reclaim_within_cohort == "Never":
            return []
        local_use = None if self._scene.ledger is None else self._local_use
        if world.fair is None:
            return classical.targets(contest, local_use, trace)
        return fair.targets(
            contest,
            self._scene.shares,
            world.fair,
            local_use,
            within_nominal=world.strategy.within_nominal,
            trace=trace,
        )

    def _local_use(self, victim: Item) -> float | None:
        ledger = self._scene.ledger
        if ledger is None or victim.queue is None or not victim.queue.by_local:
            return None
        return ledger.use(victim.local)

    def _oracle(self, item: Item, queue: Queue) -> Oracle:
        tree = self._scene.tree

        def simulate(cell: int, amount: int) -> tuple[int, int]:
            """Mode and borrowing height once preemption has made room for one resource alone."""
            contest = self.contest(item, queue, ((cell, amount),), frozenset({cell // tree.size}))
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
