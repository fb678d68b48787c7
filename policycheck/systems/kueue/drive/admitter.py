"""Kueue's scheduler as the event engine drives it: implements simulate.events.Admitter over a Session.

Virtual time 0 is the session's own time when it was opened; Kueue's times are nanoseconds from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policycheck.simulate.events import (
    GIVES_UP,
    LEAVES,
    NEVER,
    STARTS,
    Check,
    Entry,
    QueueFacts,
    Spread,
    Turn,
)
from policycheck.simulate.job import SECOND, Job
from policycheck.simulate.placer import Set, Where
from policycheck.simulate.scheduler import RESERVED, Decision, Grant
from policycheck.systems.kueue.drive.clock import Batches, Sampler
from policycheck.systems.kueue.drive.facts import check, patience, principal, queue_facts
from policycheck.systems.kueue.drive.field import Field
from policycheck.systems.kueue.drive.rest import Rest
from policycheck.systems.kueue.drive.state import digest
from policycheck.systems.kueue.drive.wish import amount_of, wishes
from policycheck.systems.kueue.drive.words import nowhere, sentence
from policycheck.systems.kueue.drive.workload import NANOS, stamp, workload
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler import life
from policycheck.systems.kueue.scheduler.explain import plain
from policycheck.systems.kueue.scheduler.kin import Kin
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item, Queue

_TURNS = {life.ADMITTED: STARTS, life.EVICTED: LEAVES, life.DEACTIVATED: GIVES_UP}


class KueueAdmitter:
    """One run of Kueue. ``opening`` is what holds at virtual time 0.

    ``batch``: parked workloads return so many ms after quota was freed in their tree; Kueue itself takes a
    second, to look at them less often (#9232, from 0.15.5 and 0.16.2 on).
    """

    # Reasons of the conditions Evicted and, beneath Deactivated, of what led to it (API reference, Workload).
    preempted = "Preempted"
    too_long = "MaximumExecutionTimeExceeded"

    def __init__(self, opening: Opening, resource: str = "", *, batch: int = 0) -> None:
        self._opening = opening
        self._session: Session = opening.session()
        self._zero = -(-opening.now // NANOS)  # in ms
        objects = opening.objects
        self.resource = resource or principal(objects)
        self.patience = patience(self._session)
        self._entries: dict[tuple[str, int, int | None], Entry] = {}  # by queue, shape and longest run
        self._said: dict[Kin, tuple[int, str]] = {}  # what stood in the way when one was looked at last
        self._taking: tuple[int, ...] = ()  # trees in which somebody was evicted last
        self._field = Field(self._session)
        self._batches = Batches(self._session, batch * NANOS) if batch > 0 else None
        self._sampler = Sampler(self._session)
        self._rest = Rest(self._session)
        self._by_use = sorted({q.tree for q in self._session.queues.values() if q.by_local})
        self._second, self._prefix = -1, ""
        self._stamped = -1, ""

    @property
    def nominations(self) -> int:
        """Nominations so far, those of one cycle for the same workload each counted."""
        return self._session.nominations

    # -- coming and going -------------------------------------------------------------------------

    def queues(self) -> list[QueueFacts]:
        """All ClusterQueues."""
        queues = self._opening.objects.cluster_queues
        return [queue_facts(self._session, queues[name], self.resource) for name in sorted(queues)]

    def amount(self, job: Job) -> int:
        """What all pods of a job ask of the principal resource, by quota's count."""
        return amount_of(self._session.world.shapes.of(workload(job, 0, "")), self.resource)

    def offer(self, jobs: Sequence[tuple[int, Job]], now: int) -> list[Entry]:
        """Submit jobs as Workloads."""
        session = self._session
        self._at(now)
        made = [session.submit(workload(job, n, self._stamp(job.submit)), job.id) for n, job in jobs]
        self._rest.wake([item.queue.tree for item in made if item.queue is not None])
        return [self._entry(item) for item in made]

    def _entry(self, item: Item) -> Entry:
        queue = item.queue
        if queue is None or queue.inactive:
            reason, why = nowhere(self._session, item.workload)
            name = "" if queue is None else queue.name
            return Entry(name, amount_of(item.shape, self.resource), (), reason, why)
        seconds = item.workload.max_execution_seconds
        key = (queue.name, item.shape.number, seconds)
        found = self._entries.get(key)
        if found is None:
            known = wishes(self._session, queue, item.shape)
            limit = seconds * SECOND if seconds else 0
            found = Entry(queue.name, amount_of(item.shape, self.resource), known, limit=limit)
            self._entries[key] = found
        return found

    def finish(self, ids: Sequence[str], now: int) -> None:
        """Workloads are finished."""
        self._at(now)
        self._wake_for(ids)
        self._session.release(ids)
        self._collect()

    def _wake_for(self, ids: Sequence[str]) -> None:
        """Something has happened to these workloads."""
        session = self._session
        homes = [session.home_of(name, session.items.get(name)) for name in ids]
        self._rest.wake([home for home in homes if home >= 0])

    def _collect(self) -> None:
        if self._batches is not None:
            self._batches.collect()

    def settle(self, ids: Sequence[str], now: int) -> None:
        """Evicted workloads have released their quota; those that are active wait again."""
        session = self._session
        self._at(now)
        self._wake_for(ids)
        gone = set(ids)
        session.victims = [v for v in session.victims if v.id not in gone]
        session.release(ids, requeue=True)
        self._collect()

    # -- cycles -------------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Whether any ClusterQueue has a head."""
        return self._session.has_work()

    def cycle(self, now: int) -> Iterable[Decision]:
        """One scheduling cycle. What was decided about one tree may be carried out before the next is looked at,
        unless cycles wait for pods to run: then this could let others go on.
        """
        decisions = self._decide(now)
        return list(decisions) if self._session.blocks else decisions

    def _decide(self, now: int) -> Iterator[Decision]:
        session = self._session
        self._at(now)
        self._rest.before_cycle()
        going = len(session.victims)
        given: set[int] = set()
        for decisions in session.deciding(session.now):
            for decision in decisions:
                if decision.outcome == RESERVED:
                    given.add(session.queues[decision.queue].tree)
            yield from decisions
        taking = {victim.home for victim in session.victims[going:]}
        if taking:
            self._taking = tuple(sorted(taking))
        self._rest.after_cycle(taking | given)

    def same(self) -> object:
        """Who waits where in queues that are looked at, and how far each flavor scan is."""
        return tuple([queue.standing for queue in self._session.busy.values()])

    def outline(self) -> object:
        """Usage and queue lengths of the trees in which somebody was evicted last."""
        trees = [self._session.trees[n] for n in self._taking]
        queues = [q.waiting for n in self._taking for q in self._session.members[n] if q is not None]
        return self._taking, tuple(tuple(tree.usage) for tree in trees), tuple(queues)

    def digest(self) -> str:
        """Of the same trees: trees have nothing to do with each other, unless they share nodes."""
        return digest(self._session, self._taking)

    # -- what holds quota ---------------------------------------------------------------------------

    def checks(self, name: str) -> list[Check]:
        """Admission checks that apply to the flavors it was given and are not Ready."""
        return [check(self._opening.objects, one) for one in self._session.pending_checks(name)]

    def agree(self, name: str, agreed: str, now: int) -> list[Turn]:
        """An admission check is Ready."""
        self._wake_for([name])
        return self._turns(self._session.check(name, agreed, "Ready", self._nanos(now)))

    def ready(self, name: str, now: int) -> None:
        """The condition PodsReady."""
        if self._session.blocks:
            self._wake_for([name])
        self._session.ready(name, self._nanos(now))

    def not_ready(self, name: str, now: int) -> list[Turn]:
        """The timeout of waitForPodsReady is over."""
        self._wake_for([name])
        return self._turns(self._session.not_ready(name, self._nanos(now)))

    def give_up(self, name: str, cause: str, now: int) -> list[Turn]:
        """The workload is deactivated."""
        self._wake_for([name])
        return self._turns(self._session.deactivate(name, cause, self._nanos(now)))

    def next_due(self) -> int:
        """The end of the next back-off, or a node that is about to count as failed."""
        due = self._session.next_due()
        batch = None if self._batches is None else self._batches.next_due()
        if batch is not None and (due is None or batch < due):
            due = batch
        return NEVER if due is None else -(-due // NANOS) - self._zero

    def wake(self, now: int) -> list[Turn]:
        """Back-offs are over, nodes count as failed, parked workloads return."""
        self._wake_placing()
        found = self._turns(self._session.wake(self._nanos(now)))
        if self._batches is not None:
            self._rest.wake(self._batches.wake(self._nanos(now)))
        return found

    def _wake_placing(self) -> None:
        """Something may have happened to nodes."""
        if self._session.first >= 0:
            self._rest.wake([self._session.first])

    def _turns(self, turns: Iterable[life.Turn]) -> list[Turn]:
        """Those that change what becomes of a workload; that one is to be moved shows in the next cycle."""
        return [Turn(t.workload, _TURNS[t.what], t.reason, t.cause) for t in turns if t.what in _TURNS]

    # -- nodes --------------------------------------------------------------------------------------

    def node(self, name: str, now: int, *, up: bool) -> list[Turn]:
        """A node is not Ready, or is so again."""
        self._wake_placing()
        if up:
            self._session.node_up(name, self._nanos(now))
            return []
        return self._turns(self._session.node_down(name, self._nanos(now), gone=False))

    def sets(self, job: Job, grant: Grant) -> list[Set]:
        """Podsets as their flavors change them, on the nodes that were chosen where any were."""
        return self._field.sets(job, grant)

    def where(self, grant: Grant) -> Where:
        """The lowest domains that were chosen."""
        return self._field.where(grant)

    def spread(self, job: Job, grant: Grant) -> Spread:
        """How far the placement is spread."""
        return self._field.spread(job, grant)

    def total(self) -> int:
        """What flavors with a topology have."""
        return self._field.total(self.resource)

    # -- looking in ---------------------------------------------------------------------------------

    def explain(self, name: str) -> tuple[str, str]:
        """Kueue's reason, and what stood in the way when the workload or one just like it was looked at."""
        session = self._session
        item = session.items.get(name)
        if item is None:
            return "", ""
        reason, why = nowhere(session, item.workload)
        queue = item.queue
        if reason or queue is None:
            return reason, why
        implied = queue.moved.get(queue.alike(item))
        reason = item.reason or implied or "PendingEvaluation"
        return reason, self._say(queue, queue.last(queue.alike(item)))

    def _say(self, queue: Queue, kin: Kin | None) -> str:
        """Worked out once for all that wait for the same reason."""
        if kin is None:
            return ""
        known = self._said.get(kin)
        if known is None or known[0] != kin.turn:
            explanation = plain(kin.message) if kin.last is None else kin.last.explain(kin.notes)
            said = sentence(self._session, queue.name, explanation, kin.message)
            known = self._said[kin] = kin.turn, said
        return known[1]

    # -- times --------------------------------------------------------------------------------------

    def _nanos(self, now: int) -> int:
        return (self._zero + now) * NANOS

    def _at(self, now: int) -> None:
        """It is ``now``; what was due to be sampled before is."""
        at = self._nanos(now)
        if self._sampler.sample(at):
            self._rest.wake(self._by_use)  # others may be first in turn
        self._session.now = at

    def _stamp(self, now: int) -> str:
        """RFC 3339 of a virtual time; those of one second share most of it, those of one instant all."""
        at, text = self._stamped
        if at == now:
            return text
        second, millis = divmod(self._zero + now, SECOND)
        if second != self._second:
            self._second, self._prefix = second, stamp(second * SECOND)[:-1]
        text = f"{self._prefix}.{millis:03d}Z" if millis else f"{self._prefix}Z"
        self._stamped = now, text
        return text
