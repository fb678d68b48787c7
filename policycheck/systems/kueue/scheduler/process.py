"""Entries of one tree, decided one after the other against what those before them took."""

from __future__ import annotations

from policycheck.systems.kueue.quota import Amounts, Tree
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
from policycheck.systems.kueue.scheduler.nominate import Nominator
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item
from policycheck.systems.kueue.scheduler.variant import may_migrate, sibling


class Process:
    """Entries of one tree, one after the other, each against what those before it took."""

    def __init__(self, session: Session, nominator: Nominator, tree: Tree) -> None:
        self._session = session
        self._nominator = nominator
        self._tree = tree
        self._gone: dict[str, Item] = {}  # victims of this cycle
        self._before: list[str] = []  # who has taken or claimed quota in this cycle

    def entry(self, entry: Entry) -> None:
        """Decide ``entry``."""
        rules = self._session.world.strategy
        if rules.concurrent and sibling(entry.item, entry.queue, better=True) is not None:
            self._wait(entry, "A more favorable variant is already admitted")
            entry.skipped, entry.item.scan = True, None
            return
        if rules.recomputes_overlap and self._overlaps(entry):
            self._recompute(entry)
        assignment = entry.assignment
        if assignment.mode == NO_FIT:
            entry.back, entry.reason = NO_FIT_AT_ALL, assignment.reason
            return
        if assignment.mode == PREEMPT and not entry.targets:
            entry.back, entry.reason = NO_VICTIMS, "WaitingForQuota"
            if entry.queue.config.preemption.reclaim_within_cohort != "Any":
                self._tree.add_all(to_reserve(assignment, self._tree))
                entry.notes.append("holds back quota from later workloads of this cycle while it waits")
            return
        if assignment.mode == PREEMPT and rules.preemption_gates and entry.item.workload.preemption_gates:
            entry.back, entry.reason = GATED, "AdmissionGated"
            entry.message = "Workload requires preemption, but it's gated"
            entry.skipped, entry.item.scan = True, None
            return
        if self._overlaps(entry):
            self._skip(entry, OVERLAPS)
            return
        if not self._fits(entry):
            self._skip(entry, NO_LONGER_FITS)
            return
        if entry.replaces is not None:
            self._tree.remove_all(entry.replaces.amounts)
        self._tree.add_all(assignment.amounts)
        self._before.append(entry.item.id)
        if assignment.mode == PREEMPT or entry.deferred:
            self._gone.update({victim.id: victim for victim, _ in entry.targets})
            entry.back, entry.reason = PENDING_PREEMPTION, "WaitingForPreemptedWorkloads"
            entry.item.scan = None
            entry.message = DEFERRED if entry.deferred else ""
            return
        if rules.concurrent and self._migrates(entry):
            return
        entry.taken = True

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
        return any(victim.id in self._gone for victim, _ in entry.targets)

    def _skip(self, entry: Entry, message: str) -> None:
        entry.skipped = True
        entry.message = message
        entry.notes.append(message)
        if self._before:
            entry.notes.append("decided before it in this cycle: " + ", ".join(self._before))
        entry.reason = "WaitingForQuota"
        if not self._session.world.strategy.keeps_scan:
            entry.item.scan = None

    def _fits(self, entry: Entry) -> bool:
        """Whether the entry fits once all victims of this cycle and its own are gone."""
        tree = self._tree
        away = dict(self._gone)
        away.update({victim.id: victim for victim, _ in entry.targets})
        if entry.replaces is not None:
            away[entry.replaces.id] = entry.replaces
        for victim in away.values():
            tree.remove_all(victim.amounts)
        fits = tree.fits(entry.assignment.amounts)
        for victim in away.values():
            tree.add_all(victim.amounts)
        return fits

    def _recompute(self, entry: Entry) -> None:
        """Nominate again as if the victims so far were gone, each resource kept to its flavor."""
        tree = self._tree
        pinned = {
            (r.member, resource): c.flavor for r in entry.assignment.sets for resource, c in r.flavors.items()
        }
        queues = []
        for victim in self._gone.values():
            tree.remove_all(victim.amounts)
            if victim.queue is not None:
                queues.append((victim.queue, dict(victim.queue.holders)))
                del victim.queue.holders[victim.id]
        assignment, targets = self._nominator.nominate(entry.item, entry.queue, None, pinned)
        for queue, holders in reversed(queues):
            queue.holders = holders
        for victim in self._gone.values():
            tree.add_all(victim.amounts)
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
