"""One scheduling cycle: nominate every head against the same state, order, decide one by one, requeue.

Sources: documentation "Concepts / Workload queueing", KEP-1714; facts 1c "Cycle" and the facts
learned from running the real scheduler (conformance README, 1 to 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter

from policycheck.simulate.scheduler import (
    EVICTED,
    PREEMPTING,
    RESERVED,
    WAITING,
    Decision,
    Displaced,
    Explanation,
    Grant,
)
from policycheck.systems.kueue.scheduler.entry import (
    FAILED,
    GENERIC,
    MIGRATION,
    MISMATCH,
    NO_FIT_AT_ALL,
    NO_VICTIMS,
    NODE_FAILURES,
    PENDING_PREEMPTION,
    Entry,
    Passed,
    Refused,
)
from policycheck.systems.kueue.scheduler.explain import Asked, Evidence, capture, plain, survey
from policycheck.systems.kueue.scheduler.giving import give, requests
from policycheck.systems.kueue.scheduler.glance import hopeless, is_plain
from policycheck.systems.kueue.scheduler.grant import grant_of
from policycheck.systems.kueue.scheduler.life import begin_checks, checks_pass
from policycheck.systems.kueue.scheduler.limits import violation
from policycheck.systems.kueue.scheduler.nominate import Nominator
from policycheck.systems.kueue.scheduler.process import Process
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import AWAY, Item, Queue
from policycheck.systems.kueue.scheduler.variant import kept_flavors, replaced
from policycheck.systems.kueue.scheduler.victims import WHILE_BORROWING

Heads = list[tuple[Item, Queue]]
_NAME = attrgetter("name")
_FAILED = ("Retry", "Rejected")  # states of admission checks


class Cycle:
    """One cycle of a session. Trees have nothing to do with each other and are decided one by one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._decisions: list[Decision] = []

    def run(self) -> Iterator[list[Decision]]:
        """Decide on all heads: the decisions of one tree after the other, or of trees that share nodes. All that
        is done about one tree is done before the next is looked at, while it is at hand: in a large cluster
        they do not all fit into the processor's caches.
        """
        session = self._session
        busy: dict[int, list[Queue]] = {}
        for queue in session.busy.values():
            if not queue.inactive:
                busy.setdefault(queue.tree, []).append(queue)
        placing: dict[int, Heads] = {}
        for name in sorted(session.second):
            item = session.second[name]
            if item.queue is not None and not item.queue.inactive:
                placing.setdefault(item.queue.tree, []).append((item, item.queue))
        trees = sorted(busy.keys() | placing.keys())
        shared: dict[int, Heads] = {}  # of trees that share nodes: decided when it is the first one's turn
        for tree in trees:
            if session.group[tree] == session.first:
                heads = [*placing.get(tree, ()), *self._heads(busy.get(tree, ()))]
                if heads:
                    shared[tree] = heads
        first = next(iter(shared), -1)
        for tree in trees:
            if tree == first:
                yield self._together(list(shared), shared)
            elif session.group[tree] != session.first:
                heads = [*placing.get(tree, ()), *self._heads(busy.get(tree, ()))]
                if heads:
                    yield self._together([tree], {tree: heads})

    def _heads(self, queues: Iterable[Queue]) -> Heads:
        """The heads of a tree's queues; those that have none are not busy any more."""
        found: Heads = []
        for queue in sorted(queues, key=_NAME):
            item = self._head(queue)
            if item is None:
                del self._session.busy[queue.name]
            else:
                found.append((item, queue))
        return found

    def _head(self, queue: Queue) -> Item | None:
        """The head. It is taken out only when it does not stay where it is."""
        ledger = self._session.ledger
        if queue.by_local and ledger is not None:
            use = {kin.local: ledger.use(kin.local) for kin in queue.kin.values()}
            return queue.pop_by_use(use)
        return queue.head()

    def _together(self, numbers: list[int], heads: dict[int, Heads]) -> list[Decision]:
        """Decide on the heads of trees that share nodes, or of one tree."""
        session = self._session
        self._decisions = []
        nominators: dict[int, Nominator] = {}
        by_tree: dict[int, list[Entry]] = {}
        refused: list[Refused] = []
        looked: list[Entry | Passed] = []
        ground = (
            survey(session) if session.explaining and session.group[numbers[0]] == session.first else None
        )
        for number in numbers:
            evidence = capture(session, number, ground) if session.explaining else None
            for item, queue in heads[number]:
                why = self._refusal(item, queue)
                if why is not None:
                    _take_out(item, queue)
                    refused.append(why)
                    continue
                reason = hopeless(session, item, queue)
                if reason:
                    item.scan_generation = queue.generation
                    reasons = Asked.of(item, queue, evidence) if evidence is not None else None
                    looked.append(Passed(item, queue, reason, reasons))
                    continue
                nominator = nominators.get(number)
                if nominator is None:
                    nominator = nominators[number] = Nominator(session.scene(number))
                    by_tree[number] = []
                entry = self._nominate(item, queue, nominator, evidence)
                by_tree[number].append(entry)
                looked.append(entry)
        if by_tree:
            self._process(numbers, nominators, by_tree)
        for head in looked:
            if isinstance(head, Entry):
                self._finish(head)
            else:
                self._pass_by(head)
        for one in refused:
            self._requeue(one.item, one.queue, one.back, one.reason)
            one.item.message = one.message
            if one.reason:
                one.item.reason = one.reason
            self._decide(one.item, one.queue, WAITING, one.reason, one.message)
        return self._decisions

    def _process(
        self, numbers: list[int], nominators: dict[int, Nominator], by_tree: dict[int, list[Entry]]
    ) -> None:
        """Decide on all that was nominated; usage is left as it was."""
        session = self._session
        process = Process(session, nominators)
        before = [(session.trees[n].usage, session.trees[n].usage.copy()) for n in numbers]
        for entry in self._ordered(by_tree):
            process.entry(entry)
        for usage, was in before:  # what was only held back goes; what was reserved comes next
            usage[: len(was)] = was
            usage[len(was) :] = [0] * (len(usage) - len(was))
        process.undo()

    def _refusal(self, item: Item, queue: Queue) -> Refused | None:
        """Why the head is not nominated, or None."""
        session = self._session
        if item.checked and any(check.state in _FAILED for check in item.workload.check_states):
            message = "The workload has failed admission checks"
            return Refused(item, queue, "PendingEvaluation", message, GENERIC)
        if item.foreign if not item.reserved else not session.entrance.takes(queue, item):
            message = "Workload namespace doesn't match ClusterQueue selector"
            return Refused(item, queue, "Misconfigured", message, MISMATCH)
        if item.plain is None:
            problem = violation(item.workload, session.world.limit_rules)
            if problem:
                return Refused(item, queue, "Misconfigured", problem, GENERIC)
            item.plain = is_plain(item.workload)
        return None

    def _nominate(self, item: Item, queue: Queue, nominator: Nominator, evidence: Evidence | None) -> Entry:
        if item.scan_generation != queue.generation:
            item.scan = None
        reasons = Asked.of(item, queue, evidence) if evidence is not None else None
        self._session.nominations += 1
        old = replaced(self._session, item, queue) if self._session.world.strategy.elastic else None
        if old is None:
            assignment, targets = nominator.nominate(item, queue, item.scan, None)
        else:
            _take_out(item, queue)
            land, tree = self._session.land, self._session.trees[queue.tree]
            with_old = queue.holders
            queue.holders = {name: holder for name, holder in with_old.items() if holder is not old}
            tree.remove_all(old.amounts)
            if land is not None:
                land.remove(old.placed)
            assignment, targets = nominator.nominate(item, queue, item.scan, kept_flavors(old), old)
            tree.add_all(old.amounts)
            if land is not None:
                land.add(old.placed)
            queue.holders = with_old
        item.scan = assignment.scan
        item.scan_generation = queue.generation
        entry = Entry(item, queue, assignment, targets, reasons)
        entry.replaces = old
        return entry

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

    def _ordered(self, by_tree: dict[int, list[Entry]]) -> Iterator[Entry]:
        """The order of all entries; under fair sharing tree by tree, those that hold quota first."""
        if self._session.world.fair is None:
            yield from self.classical([entry for entries in by_tree.values() for entry in entries])
            return
        from policycheck.systems.kueue.scheduler.tournament import Tournament

        yield from (e for entries in by_tree.values() for e in entries if e.item.reserved)
        for number, entries in by_tree.items():
            yield from Tournament(self._session, number, [e for e in entries if not e.item.reserved])

    def _finish(self, entry: Entry) -> None:
        """After all entries are decided: reserve, or put back."""
        item, queue, session = entry.item, entry.queue, self._session
        if entry.taken:
            self._reserve(entry)
            return
        if entry.targets and entry.back == PENDING_PREEMPTION and not entry.deferred:
            for victim, reason in entry.targets:
                self._evict(victim, reason)
        if entry.migrates is not None:
            self._evict(entry.migrates, MIGRATION)
        if entry.failed_node:
            session.second.pop(item.id, None)
            self._evict(item, NODE_FAILURES)
        if entry.skipped and entry.back == GENERIC:
            entry.back = FAILED
        item.message = entry.message
        if entry.reason is not None:
            item.reason = entry.reason
        self._requeue(item, queue, entry.back, entry.reason or "")
        outcome = PREEMPTING if entry.back == PENDING_PREEMPTION and not entry.deferred else WAITING
        if entry.failed_node:
            outcome = EVICTED
        self._decide(item, queue, outcome, entry.reason or "", entry.message, entry)
        session.busy[queue.name] = queue

    def _pass_by(self, head: Passed) -> None:
        """It goes back as if it had been nominated in vain."""
        item, queue, reason, reasons = head
        session = self._session
        item.message, item.reason = "", reason
        together = queue.is_settled(item) and not queue.strict and session.world.strategy.equivalence
        if together and not session.backs_off(item):
            queue.park_kin(item, reason)  # what it comes to for nearly all of them
        else:
            self._requeue(item, queue, NO_VICTIMS, reason)
        explain = partial(plain, "") if reasons is None else reasons.explain
        decision = Decision(item.id, queue.name, WAITING, reason, "", None, False, (), explain)
        self._decisions.append(decision)
        if reasons is not None:
            self._remember(item, queue, reasons, (), "")

    def _remember(
        self, item: Item, queue: Queue, reasons: Asked | None, notes: tuple[str, ...], message: str
    ) -> None:
        """The reasons of the last decision about a class can be asked for."""
        bag = item.bag
        kin = queue.kin_of(item) if bag is None else bag.kin
        self._session.turns = kin.turn = self._session.turns + 1
        kin.last, kin.notes, kin.message = reasons, notes, message

    def _reserve(self, entry: Entry) -> None:
        item, queue, session = entry.item, entry.queue, self._session
        _take_out(item, queue)
        given = give(entry, session.trees[queue.tree])
        admission = given.admission
        if queue.preemptor is item:
            queue.preemptor = None
        if entry.replaces is not None:
            session.release([entry.replaces.id])
        if item.reserved:
            session.rehold(item, queue, admission)
            begin_checks(item, queue, admission)
            item.admitted = checks_pass(item, queue, admission)
            self._decide(item, queue, RESERVED, "", "", entry, given.grant)
            return
        item.off = AWAY
        item.scan = None
        item.reason, item.message = None, ""
        item.evicted = False
        item.time = item.created
        session.hold(item, queue, admission, session.now, given.charges)
        queue.renew()
        begin_checks(item, queue, admission)
        item.admitted = checks_pass(item, queue, admission)
        if session.ledger is not None and queue.by_local:
            session.ledger.charge(item.local, requests(item))
        session.busy[queue.name] = queue
        self._decide(item, queue, RESERVED, "", "", entry, given.grant)

    def _evict(self, victim: Item, reason: str) -> None:
        if victim.evicted:
            return
        session = self._session
        victim.evicted, victim.held = True, None
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
        if item.reserved:
            session.tried[item.id] = session.stamp
            return  # it is looked at again, but not as a head of its queue
        if back == PENDING_PREEMPTION:
            queue.preemptor = item
        at_once = back != MISMATCH if queue.strict else back in (FAILED, PENDING_PREEMPTION)
        held, settled = session.backs_off(item), queue.is_settled(item)
        if not settled:
            _take_out(item, queue)
        if not held and (at_once or item.scan is not None):
            if not settled:
                queue.push(item)
            session.busy[queue.name] = queue
            return
        together = (
            session.world.strategy.equivalence and not queue.strict and back in (NO_FIT_AT_ALL, NO_VICTIMS)
        )
        if held or not (settled and together):
            _take_out(item, queue)
            queue.park(item, held=held)
        if together:
            queue.park_kin(item, reason or "PendingEvaluation")

    def _decide(
        self,
        item: Item,
        queue: Queue,
        outcome: str,
        reason: str,
        message: str,
        entry: Entry | None = None,
        grant: Grant | None = None,
    ) -> None:
        victims: tuple[Displaced, ...] = ()
        if outcome == EVICTED:
            victims = (Displaced(item.id, queue.name, NODE_FAILURES),)
        if outcome == PREEMPTING and entry is not None:
            victims = tuple(Displaced(v.id, v.queue.name if v.queue else "", r) for v, r in entry.targets)
            if entry.migrates is not None:
                victims = (*victims, Displaced(entry.migrates.id, queue.name, MIGRATION))
        if grant is None and item.admission is not None:
            grant = grant_of(item.admission)
        reasons = None if entry is None else entry.reasons
        notes = tuple(entry.notes) if entry is not None else ()
        explain: Callable[[], Explanation] = partial(plain, message)
        if reasons is not None:
            explain = partial(reasons.explain, notes)
        decision = Decision(
            item.id, queue.name, outcome, reason, message, grant, item.admitted, victims, explain
        )
        self._decisions.append(decision)
        if outcome != RESERVED and self._session.explaining:
            self._remember(item, queue, reasons, notes, message)


def _take_out(item: Item, queue: Queue) -> None:
    if item.bag is not None:
        queue.fly(item)
