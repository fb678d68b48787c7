"""Nominating one workload: flavors, places on nodes, and the victims that would make room for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler import classical, fair
from policycheck.systems.kueue.scheduler.assign import (
    FIT,
    NO_CANDIDATES,
    NO_FIT,
    PREEMPT,
    RECLAIM,
    Assigner,
    Assignment,
    Attempt,
    Chosen,
    Oracle,
    Scan,
    SetResult,
)
from policycheck.systems.kueue.scheduler.bound import may_find
from policycheck.systems.kueue.scheduler.land import Land
from policycheck.systems.kueue.scheduler.local import Ledger
from policycheck.systems.kueue.scheduler.plan import Plan
from policycheck.systems.kueue.scheduler.pool import Pool
from policycheck.systems.kueue.scheduler.reduce import search
from policycheck.systems.kueue.scheduler.shape import Shape
from policycheck.systems.kueue.scheduler.share import Shares
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.topology import Placer, lost_any
from policycheck.systems.kueue.scheduler.victims import Contest, Target, Trace

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.world import World

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
    land: Land | None = None


class Nominator:
    """Nominates against the usage that the scene's tree shows at the moment."""

    def __init__(
        self, scene: Scene, *, attempts: list[Attempt] | None = None, trace: Trace | None = None
    ) -> None:
        self._scene = scene
        self._attempts = attempts
        self._trace = trace
        self._pool = Pool()
        self._pools = False  # while nominations are made in the state that the cycle found
        # Of this workload: the victims that would make room for one amount alone, by (cell, amount).
        self._victims: dict[tuple[int, int], list[Target]] = {}

    def nominate(
        self, item: Item, queue: Queue, scan: Scan | None, pinned: Pinned | None, old: Item | None = None
    ) -> Nomination:
        """Full size first; with fewer pods only when neither quota nor preemption allow full size.

        ``old`` is the slice of the same job that ``item`` replaces.
        """
        self._pools = pinned is None
        placer = self._placer(item, queue, old)
        plan = self._plain(item, queue) if scan is None and pinned is None and placer is None else None
        if plan is None:
            return self._long(item, queue, scan, pinned, placer)
        reach = self._reach(plan)
        if reach is None:
            return self._long(item, queue, scan, pinned, placer)
        kin = queue.kin_of(item) if item.bag is None else item.bag.kin
        if kin.fit is not None and kin.fit[0] == reach:
            return Nomination(kin.fit[1], [])
        known = queue.fitting.get((item.shape.number, reach))
        if known is None:
            found = self._long(item, queue, scan, pinned, placer)
            known = found.assignment
            if known.mode != FIT:
                return found
            queue.fitting[item.shape.number, reach] = known
        kin.fit = reach, known
        return Nomination(known, [])

    def _plain(self, item: Item, queue: Queue) -> Plan | None:
        """The plan of a workload without a choice of flavors, when nobody wants to know what was tried: where
        it fits, its assignment is the same each time, but for how high it borrows.
        """
        shape = item.shape
        if item.reserved or shape.allowed is not None or not queue.rules.heeds or self._attempts is not None:
            return None
        kin = queue.kin_of(item) if item.bag is None else item.bag.kin
        if kin.plan is None:
            kin.plan = self._scene.plan(queue, shape, shape.pods)
        return kin.plan if kin.plan.plain else None

    def _reach(self, plan: Plan) -> tuple[int, ...] | None:
        """How high each amount borrows; None when not all of them fit."""
        tree = self._scene.tree
        for cell, amount in plan.ways[0]:
            if amount > tree.free(cell) or amount > tree.ceiling[cell]:
                return None
        return tuple([tree.reach(cell, amount)[0] for cell, amount in plan.ways[0]])

    def _long(
        self, item: Item, queue: Queue, scan: Scan | None, pinned: Pinned | None, placer: Placer | None
    ) -> Nomination:
        self._victims.clear()
        found = self._nominate(item, queue, scan, pinned, placer)
        if placer is not None:
            self._place_preempting(item, found, placer)
        return found

    def _nominate(
        self, item: Item, queue: Queue, scan: Scan | None, pinned: Pinned | None, placer: Placer | None
    ) -> Nomination:
        scene, shape = self._scene, item.shape
        assigner = Assigner(scene.tree, queue.rules, self._oracle(item, queue), self._attempts)

        def assign(pods: tuple[int, ...]) -> Assignment:
            made = assigner.assign(scene.plan(queue, shape, pods), scan, pinned, shape.allowed)
            if placer is not None and made.mode != NO_FIT:
                placer.settle(made)
            return made

        full = assign(shape.pods) if not item.reserved else self._kept(item, queue, placer)
        found = self._complete(item, queue, full, placer)
        if found is not None:
            return found
        if shape.reducible and scene.world.strategy.partial_admission and not item.reserved:
            spans = [(s.spec.pods, s.least) for s in shape.sets]
            assigner.attempts = None
            reduced = search(spans, lambda counts: self._complete(item, queue, assign(tuple(counts)), placer))
            if reduced is not None:
                return reduced
        return Nomination(full, [])

    # -- places ---------------------------------------------------------------------------------

    def _placer(self, item: Item, queue: Queue, old: Item | None) -> Placer | None:
        land = self._scene.land
        if land is None or queue.traits is None:
            return None
        profile = self._scene.world.profile
        telling = self._attempts is not None
        return Placer(land, profile, queue.traits, item, old, telling=telling)

    def _kept(self, item: Item, queue: Queue, placer: Placer | None) -> Assignment:
        """The assignment of a workload that holds quota and is to be placed (again)."""
        tree, made = self._scene.tree, Assignment()
        made.size = tree.size
        given = {s.name: s for s in (item.admission.pod_sets if item.admission else ())}
        for member, one in enumerate(item.shape.sets):
            kept = given.get(one.name)
            if kept is None:
                continue
            flavors = {}
            for resource, flavor in kept.flavors.items():
                cell = tree.cell(queue.node, (flavor, resource))
                amount = kept.usage.get(resource, 0)
                flavors[resource] = Chosen(flavor, FIT, 0, cell, amount)
                made.usage[cell] = made.usage.get(cell, 0) + amount
            made.sets.append(SetResult(member, kept.pods, flavors, dict(kept.usage), True, ""))
            if kept.topology is not None:
                made.topology[member] = kept.topology
            if kept.delayed_topology:
                made.delayed[member] = kept.delayed_topology
        if placer is not None:
            placer.settle(made)
        return made

    def _place_preempting(self, item: Item, found: Nomination, placer: Placer) -> None:
        """Places that the workload will take once its victims are gone; without victims those it would
        take if nobody else were placed, so that they can be held back.
        """
        made, targets = found
        if made.mode != PREEMPT or not placer.wanted or lost_any(item):
            return
        asks = placer.asks(made)
        for victim, _ in targets:
            placer.land.remove(victim.placed)
        result = placer.find(asks, empty=not targets)
        for victim, _ in targets:
            placer.land.add(victim.placed)
        placer.accept(made, result)

    # -- victims --------------------------------------------------------------------------------

    def _complete(
        self, item: Item, queue: Queue, assignment: Assignment, placer: Placer | None
    ) -> Nomination | None:
        """The nomination when the assignment fits or victims are found for it."""
        if assignment.mode == FIT:
            return Nomination(assignment, [])
        if assignment.mode != PREEMPT:
            return None
        known = self._known(assignment)
        if known is not None and (not known or placer is None or not placer.asks(assignment)):
            # A place on nodes could only make it harder.
            return Nomination(assignment, known) if known else None
        contest = self.contest(item, queue, tuple(assignment.usage.items()), assignment.columns)
        if placer is not None:
            asks = placer.asks(assignment)
            contest = contest._replace(
                land=placer.land,
                place=(lambda: placer.find(asks).failure is None) if asks else None,
            )
        targets = self.targets(contest, self._trace)
        return Nomination(assignment, targets) if targets else None

    def _known(self, assignment: Assignment) -> list[Target] | None:
        """The victims, when all that the assignment asks for is one amount that was asked already."""
        amounts = assignment.amounts
        if len(amounts) != 1 or self._trace is not None:
            return None
        return self._victims.get(amounts[0])

    def contest(self, item: Item, queue: Queue, amounts: Amounts, columns: frozenset[int]) -> Contest:
        """What ``item`` needs of the scene."""
        scene, pool = self._scene, self._pool if self._pools else None
        return Contest(item, queue, scene.tree, scene.members, amounts, columns, scene.now, pool=pool)

    def targets(self, contest: Contest, trace: Trace | None = None) -> list[Target]:
        """The victims for ``contest``, or []."""
        world = self._scene.world
        preemption = contest.queue.config.preemption
        if preemption.within_cluster_queue == "Never" and preemption.reclaim_within_cohort == "Never":
            return []
        if trace is None and not may_find(contest, classical=world.fair is None):
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
            targets = self._victims[cell, amount] = self.targets(contest)
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
