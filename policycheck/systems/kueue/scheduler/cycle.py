"""One scheduling cycle: nominate every head against the same state, order, decide one by one, requeue.

Sources: documentation "Concepts / Workload queueing", KEP-1714; facts 1c "Cycle" and the facts
learned from running the real scheduler (conformance README, 1 to 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from policycheck.simulate.scheduler import (
    PREEMPTING,
    RESERVED,
    WAITING,
    Decision,
    Displaced,
    Explanation,
)
from policycheck.systems.kueue.model import Admission, PodSetAssignment
from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler.assign import FIT, NO_FIT, PREEMPT, Assignment
from policycheck.systems.kueue.scheduler.explain import Asked, Evidence, capture, plain
from policycheck.systems.kueue.scheduler.limits import violation
from policycheck.systems.kueue.scheduler.nominate import Nominator
from policycheck.systems.kueue.scheduler.session import Session, grant_of
from policycheck.systems.kueue.scheduler.state import AWAY, Item, Queue
from policycheck.systems.kueue.scheduler.victims import WHILE_BORROWING, Target

# Why a head goes back to its queue.
GENERIC, FAILED, PENDING_PREEMPTION, NO_FIT_AT_ALL, NO_VICTIMS, MISMATCH, GATED = range(7)

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPS = "Workload has overlapping preemption targets with another workload"
DEFERRED = OVERLAPS + ", but will fit after these preemptions complete"


class Entry:
    """One nominated head and what becomes of it."""

    __slots__ = (
        "assignment",
        "back",
        "deferred",
        "item",
        "message",
        "notes",
        "queue",
        "reason",
        "reasons",
        "skipped",
        "taken",
        "targets",
    )

    def __init__(
        self,
        item: Item,
        queue: Queue,
        assignment: Assignment,
        targets: list[Target],
        reasons: Asked | None = None,
    ) -> None:
        self.item = item
        self.queue = queue
        self.assignment = assignment
        self.targets = targets
        self.back = GENERIC
        self.reason: str | None = None
        self.message = ""
        self.skipped = False  # failed after nomination: its status is written again
        self.taken = False  # reserved quota
        self.deferred = False
        self.notes: list[str] = []
        self.reasons = reasons


class Refused(NamedTuple):
    """A head that was not nominated."""

    item: Item
    queue: Queue
    reason: str
    message: str
    back: int


class Cycle:
    """One cycle of a session. Trees have nothing to do with each other and are decided one by one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._decisions: list[Decision] = []

    def run(self) -> list[Decision]:
        """Decide on all heads."""
        session = self._session
        heads: dict[int, list[tuple[Item, Queue]]] = {}
        for name in sorted(session.busy):
            queue = session.busy[name]
            if queue.inactive:
                continue
            item = self._pop(queue)
            if item is None:
                del session.busy[name]
            else:
                heads.setdefault(queue.tree, []).append((item, queue))
        for tree in sorted(heads):
            self._tree(tree, heads[tree])
        return self._decisions

    def _pop(self, queue: Queue) -> Item | None:
        ledger = self._session.ledger
        if queue.by_local and ledger is not None:
            use = {kin.local: ledger.use(kin.local) for kin in queue.kin.values()}
            return queue.pop_by_use(use)
        return queue.pop()

    def _tree(self, number: int, heads: list[tuple[Item, Queue]]) -> None:
        session = self._session
        tree = session.trees[number]
        nominator = Nominator(session.scene(number))
        evidence = capture(session, number)
        entries: list[Entry] = []
        refused: list[Refused] = []
        for item, queue in heads:
            why = self._refusal(item, queue)
            if why is None:
                entries.append(self._nominate(item, queue, nominator, evidence))
            else:
                refused.append(why)
        process = _Process(session, nominator, tree)
        before = tree.usage.copy()
        ordered = self._fair(number, entries) if session.world.fair is not None else self.classical(entries)
        for entry in ordered:
            process.entry(entry)
        tree.usage[:] = before  # what was only held back in this cycle goes; what was reserved comes next
        for entry in entries:
            self._finish(entry)
        for one in refused:
            self._requeue(one.item, one.queue, one.back, one.reason)
            one.item.message = one.message
            if one.reason:
                one.item.reason = one.reason
            self._decide(one.item, one.queue, WAITING, one.reason, one.message)

    def _refusal(self, item: Item, queue: Queue) -> Refused | None:
        """Why the head is not nominated, or None."""
        session = self._session
        states = {c.state for c in item.workload.check_states}
        if states & {"Retry", "Rejected"}:
            message = "The workload has failed admission checks"
            return Refused(item, queue, "PendingEvaluation", message, GENERIC)
        if not session.namespace_matches(queue, item):
            message = "Workload namespace doesn't match ClusterQueue selector"
            return Refused(item, queue, "Misconfigured", message, MISMATCH)
        problem = violation(item.workload, session.world.limit_rules)
        if problem:
            return Refused(item, queue, "Misconfigured", problem, GENERIC)
        return None

    def _nominate(self, item: Item, queue: Queue, nominator: Nominator, evidence: Evidence) -> Entry:
        if item.scan_generation != queue.generation:
            item.scan = None
        reasons = Asked.of(item, queue, evidence)
        assignment, targets = nominator.nominate(item, queue, item.scan, None)
        item.scan = assignment.scan
        item.scan_generation = queue.generation
        return Entry(item, queue, assignment, targets, reasons)

    def classical(self, entries: list[Entry]) -> list[Entry]:
        """The order without fair sharing: lower borrowing height, then priority, then time (quota already reserved comes first)."""
        rules = self._session.world.strategy

        def key(entry: Entry) -> tuple[object, ...]:
            item = entry.item
            return (
                not item.reserved,
                rules.preemptors_first and entry.queue.preemptor is not item,
                entry.assignment.height,
                -item.priority if rules.priority_within_cohort else 0,
                item.time,
            )

        return sorted(entries, key=key)

    def _fair(self, number: int, entries: list[Entry]) -> Iterator[Entry]:
        from policycheck.systems.kueue.scheduler.tournament import Tournament

        return iter(Tournament(self._session, number, entries))

    def _finish(self, entry: Entry) -> None:
        """After all entries are decided: reserve, or put back."""
        item, queue, session = entry.item, entry.queue, self._session
        if entry.taken:
            self._reserve(entry)
            return
        if entry.targets and entry.back == PENDING_PREEMPTION and not entry.deferred:
            for victim, reason in entry.targets:
                self._evict(victim, reason)
        if entry.skipped and entry.back == GENERIC:
            entry.back = FAILED
        item.message = entry.message
        if entry.reason is not None:
            item.reason = entry.reason
        self._requeue(item, queue, entry.back, entry.reason or "")
        outcome = PREEMPTING if entry.back == PENDING_PREEMPTION and not entry.deferred else WAITING
        self._decide(item, queue, outcome, entry.reason or "", entry.message, entry)
        session.busy[queue.name] = queue

    def _reserve(self, entry: Entry) -> None:
        item, queue, session = entry.item, entry.queue, self._session
        admission = _admission(entry)
        if queue.preemptor is item:
            queue.preemptor = None
        item.place = AWAY
        item.scan = None
        item.reason, item.message = None, ""
        item.evicted = False
        session.hold(item, queue, admission, session.now)
        item.admitted = _checks_pass(item, queue, admission)
        if session.ledger is not None and queue.by_local:
            session.ledger.charge(item.local, _requests(item))
        session.busy[queue.name] = queue
        self._decide(item, queue, RESERVED, "", "", entry)

    def _evict(self, victim: Item, reason: str) -> None:
        if victim.evicted:
            return
        session = self._session
        victim.evicted = True
        if reason == WHILE_BORROWING and not session.world.strategy.priority_within_cohort:
            victim.time = session.now + 1_000_000
        session.victims.append(victim)
        if victim.queue is not None:
            session.changed(victim.queue)

    def _requeue(self, item: Item, queue: Queue, back: int, reason: str) -> None:
        """Back among the active, or parked until something changes, its like with it.

        Who has once preempted goes first until it is admitted or deleted, even after it was parked and
        returned; only the next preemptor of the queue takes that place (recorded runs).
        """
        session = self._session
        if back == PENDING_PREEMPTION:
            queue.preemptor = item
        at_once = back != MISMATCH if queue.strict else back in (FAILED, PENDING_PREEMPTION)
        if not session.backs_off(item) and (at_once or item.scan is not None):
            queue.push(item)
            session.busy[queue.name] = queue
            return
        queue.park(item)
        if session.world.strategy.equivalence and not queue.strict and back in (NO_FIT_AT_ALL, NO_VICTIMS):
            queue.park_kin(item, reason or "PendingEvaluation")

    def _decide(
        self,
        item: Item,
        queue: Queue,
        outcome: str,
        reason: str,
        message: str,
        entry: Entry | None = None,
    ) -> None:
        victims: tuple[Displaced, ...] = ()
        if outcome == PREEMPTING and entry is not None:
            victims = tuple(Displaced(v.id, v.queue.name if v.queue else "", r) for v, r in entry.targets)
        grant = grant_of(item.admission) if item.admission is not None else None
        explain: Callable[[], Explanation] = partial(plain, message)
        if entry is not None and entry.reasons is not None:
            explain = partial(entry.reasons.explain, tuple(entry.notes))
        self._decisions.append(
            Decision(item.id, queue.name, outcome, reason, message, grant, item.admitted, victims, explain)
        )


def _requests(item: Item) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in item.shape.sets:
        for resource, amount in one.total(one.pods).items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _admission(entry: Entry) -> Admission:
    shape = entry.item.shape
    sets = [
        PodSetAssignment(
            shape.sets[r.member].name,
            r.pods,
            {resource: c.flavor for resource, c in r.flavors.items()},
            {resource: c.amount for resource, c in r.flavors.items()},
        )
        for r in entry.assignment.sets
    ]
    return Admission(entry.queue.name, tuple(sets))


def _checks_pass(item: Item, queue: Queue, admission: Admission) -> bool:
    """Whether every check that applies to the flavors given is in the workload's status and Ready."""
    flavors = {f for s in admission.pod_sets for f in s.flavors.values()}
    states = {c.name: c.state for c in item.workload.check_states}
    for rule in queue.config.checks:
        if rule.on_flavors and flavors.isdisjoint(rule.on_flavors):
            continue
        if states.get(rule.name) != "Ready":
            return False
    return all(state == "Ready" for state in states.values())


class _Process:
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
        self._tree.add_all(assignment.amounts)
        self._before.append(entry.item.id)
        if assignment.mode == PREEMPT or entry.deferred:
            self._gone.update({victim.id: victim for victim, _ in entry.targets})
            entry.back, entry.reason = PENDING_PREEMPTION, "WaitingForPreemptedWorkloads"
            entry.item.scan = None
            entry.message = DEFERRED if entry.deferred else ""
            return
        entry.taken = True

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
