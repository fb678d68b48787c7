"""Entries of one tree (or of several that share nodes), decided one after the other against what those
before them took.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler.afterwards import FITS, NO_PLACE, Afterwards
from policycheck.systems.kueue.scheduler.assign import FIT, NO_FIT, PREEMPT, Assignment
from policycheck.systems.kueue.scheduler.entry import (
    DEFERRED,
    FAILED,
    GATED,
    NO_FIT_AT_ALL,
    NO_LONGER_FITS,
    NO_VICTIMS,
    OVERLAPS,
    PENDING_PREEMPTION,
    Entry,
)
from policycheck.systems.kueue.scheduler.land import Taken
from policycheck.systems.kueue.scheduler.nominate import Nominator, Pinned
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item
from policycheck.systems.kueue.scheduler.topology import lost_any
from policycheck.systems.kueue.scheduler.variant import may_migrate, sibling


class Process:
    """Entries one after the other, each against what those before it took."""

    def __init__(self, session: Session, nominators: Mapping[int, Nominator]) -> None:
        self._session = session
        self._nominators = nominators
        self._land = session.land
        self._after = Afterwards(session.trees, session.land)
        self._undo: list[tuple[Taken, bool]] = []  # what nodes showed beside what is held: (what, added)
        self._before: list[str] = []  # who has taken or claimed quota in this cycle

    def entry(self, entry: Entry) -> None:
        """Decide ``entry``."""
        rules = self._session.world.strategy
        if self._session.stalled:
            self._hold_up(entry)
            return
        if rules.concurrent and sibling(entry.item, entry.queue, better=True) is not None:
            self._wait(entry, "A more favorable variant is already admitted")
            entry.skipped, entry.item.scan = True, None
            return
        check = self._check(entry)
        if rules.recomputes_overlap and self._overlaps(entry):
            self._recompute(entry)
            check = self._check(entry)
        elif check == NO_PLACE and rules.topology_recomputes:
            self._place_again(entry)
            check = self._check(entry)
        if rules.topology_fail_fast and entry.assignment.mode != FIT and lost_any(entry.item):
            entry.failed_node = True
            entry.notes.append("a node of it failed, and there is no other for its pods")
        elif not self._refused(entry, check):
            self._go(entry)

    def _refused(self, entry: Entry, check: int) -> bool:
        """Whether the entry goes back without having taken anything, but what it may hold back."""
        rules, assignment = self._session.world.strategy, entry.assignment
        tree = self._session.trees[entry.queue.tree]
        if assignment.mode == NO_FIT:
            entry.back, entry.reason = NO_FIT_AT_ALL, assignment.reason
            entry.message = assignment.trouble
        elif assignment.mode == PREEMPT and not entry.targets:
            entry.back, entry.reason = NO_VICTIMS, "WaitingForQuota"
            entry.message = assignment.trouble
            if entry.queue.config.preemption.reclaim_within_cohort != "Any":
                self._after.add(entry.queue.tree, to_reserve(assignment, tree))
                self._claim(assignment)
                entry.notes.append("holds back quota from later workloads of this cycle while it waits")
        elif assignment.mode == PREEMPT and rules.preemption_gates and entry.item.workload.preemption_gates:
            entry.back, entry.reason = GATED, "AdmissionGated"
            entry.message = "Workload requires preemption, but it's gated"
            entry.skipped, entry.item.scan = True, None
        elif self._overlaps(entry):
            self._skip(entry, OVERLAPS)
        elif check != FITS:
            self._skip(entry, NO_LONGER_FITS)
        else:
            return False
        return True

    def _go(self, entry: Entry) -> None:
        """The entry takes its quota, or waits for its victims to free it."""
        session, assignment = self._session, entry.assignment
        if entry.replaces is not None:
            self._after.replace(entry.replaces)
            self._undo.append((entry.replaces.placed, False))
        self._after.add(entry.queue.tree, assignment.amounts)
        self._claim(assignment)
        self._before.append(entry.item.id)
        if assignment.mode == PREEMPT or entry.deferred:
            self._after.lose(victim for victim, _ in entry.targets)
            entry.back, entry.reason = PENDING_PREEMPTION, "WaitingForPreemptedWorkloads"
            entry.item.scan = None
            entry.message = DEFERRED if entry.deferred else ""
            return
        if session.world.strategy.concurrent and self._migrates(entry):
            return
        if session.unready and not entry.item.reserved:
            session.stalled = True
            self._hold_up(entry)
            return
        entry.taken = True
        if session.blocks:
            session.unready.add(entry.item.id)

    def _hold_up(self, entry: Entry) -> None:
        """blockAdmission: nothing is admitted, nor is anything decided after it, until all admitted pods
        run. The real scheduler stands still right here and then goes on with the same entry; here it is
        nominated again.
        """
        entry.back, entry.reason = FAILED, "WaitingForPodsReady"
        entry.message = "waiting for all admitted workloads to be in PodsReady condition"
        entry.targets = []
        entry.notes.append(entry.message)

    def _wait(self, entry: Entry, message: str) -> None:
        entry.reason, entry.message = "PendingEvaluation", message
        entry.notes.append(message)

    def _migrates(self, entry: Entry) -> bool:
        """Whether a less favorable variant is admitted: it makes way first, if the policy allows."""
        less = sibling(entry.item, entry.queue, better=False)
        if less is None:
            return False
        if not may_migrate(entry.item, entry.queue):
            # Back at once, as recorded: its class has failed after nomination.
            self._wait(entry, "Target flavor is below LastAcceptableFlavorName")
            entry.back = FAILED
            return True
        entry.migrates = less
        entry.item.scan = None
        entry.back, entry.reason = PENDING_PREEMPTION, "WaitingForPreemptedWorkloads"
        return True

    def _overlaps(self, entry: Entry) -> bool:
        return any(victim.id in self._after.gone for victim, _ in entry.targets)

    def _skip(self, entry: Entry, message: str) -> None:
        entry.skipped = True
        entry.message = message
        entry.notes.append(message)
        if self._before:
            entry.notes.append("decided before it in this cycle: " + ", ".join(self._before))
        entry.reason = "WaitingForQuota"
        if not self._session.world.strategy.keeps_scan:
            entry.item.scan = None

    def _claim(self, assignment: Assignment) -> None:
        if self._land is not None and assignment.claims:
            taken = self._land.taken(assignment.claims)
            self._land.add(taken)
            self._undo.append((taken, True))

    def undo(self) -> None:
        """Nodes show what is held again."""
        for taken, added in reversed(self._undo):
            if self._land is not None:
                (self._land.remove if added else self._land.add)(taken)
        self._undo = []

    def _take(self, victim: Item) -> None:
        """As if ``victim`` were gone."""
        if victim.queue is not None:
            self._session.trees[victim.queue.tree].remove_all(victim.amounts)
        if self._land is not None and victim.placed:
            self._land.remove(victim.placed)

    def _put_back(self, victim: Item) -> None:
        if victim.queue is not None:
            self._session.trees[victim.queue.tree].add_all(victim.amounts)
        if self._land is not None and victim.placed:
            self._land.add(victim.placed)

    def _check(self, entry: Entry) -> int:
        """Whether the entry fits once all victims of this cycle and its own are gone."""
        assignment, land = entry.assignment, self._land
        if assignment.mode != FIT and not entry.targets and (land is None or land.fits(assignment.claims)):
            return FITS  # without victims only a lost place would count
        more = [victim for victim, _ in entry.targets]
        if entry.replaces is not None:
            more.append(entry.replaces)
        return self._after.check(entry.queue.tree, assignment, more)

    def _pins(self, entry: Entry) -> Pinned:
        """Each resource kept to its flavor."""
        return {
            (r.member, resource): c.flavor for r in entry.assignment.sets for resource, c in r.flavors.items()
        }

    def _place_again(self, entry: Entry) -> None:
        """Nominate again, since an entry before it took its place; flavors stay."""
        nominator = self._nominators[entry.queue.tree]
        self._session.nominations += 1
        entry.assignment, entry.targets = nominator.nominate(entry.item, entry.queue, None, self._pins(entry))
        entry.item.scan = entry.assignment.scan
        entry.notes.append("its place was taken by a workload decided before it; looked for another")

    def _recompute(self, entry: Entry) -> None:
        """Nominate again as if the victims so far were gone, flavors staying as they are."""
        queues = []
        for victim in self._after.gone.values():
            self._take(victim)
            if victim.queue is not None:
                queues.append((victim.queue, dict(victim.queue.holders)))
                del victim.queue.holders[victim.id]
        nominator = self._nominators[entry.queue.tree]
        self._session.nominations += 1
        assignment, targets = nominator.nominate(entry.item, entry.queue, None, self._pins(entry))
        for queue, holders in reversed(queues):
            queue.holders = holders
        for victim in self._after.gone.values():
            self._put_back(victim)
        entry.assignment, entry.targets = assignment, targets
        entry.notes.append(
            "shared victims with a workload decided before it; looked for others with the same flavors"
        )
        entry.item.scan = assignment.scan
        entry.deferred = assignment.mode == FIT


def to_reserve(assignment: Assignment, tree: Tree) -> Amounts:
    """What a head that needs preemption but finds no victims holds back in this cycle.

    Borrowing: up to the borrowing limit; else what is left of nominal. Source: #4809 and the recorded
    suite ``resources-to-reserve``.
    """
    out = []
    for cell, amount in assignment.amounts:
        left = tree.nominal[cell] - tree.usage[cell]
        if assignment.height > 0:
            limit = tree.limit[cell]
            out.append((cell, amount if limit is None else min(amount, left + limit)))
        else:
            out.append((cell, max(0, min(amount, left))))
    return out
