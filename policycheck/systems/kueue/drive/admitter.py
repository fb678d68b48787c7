"""Kueue's scheduler as the event engine drives it: implements simulate.events.Admitter over a Session.

Virtual time 0 is the session's own time when it was opened; Kueue's times are nanoseconds from there on.
"""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.simulate.events import NEVER, Check, Entry, QueueFacts, Spread, Wishes
from policycheck.simulate.job import Job
from policycheck.simulate.placer import Set
from policycheck.simulate.scheduler import RESERVED, Decision, Grant
from policycheck.systems.kueue.drive.facts import WORDS, patience, principal, queue_facts
from policycheck.systems.kueue.drive.wish import amount_of, wishes
from policycheck.systems.kueue.drive.words import nowhere, sentence
from policycheck.systems.kueue.drive.workload import NANOS, stamp, workload
from policycheck.systems.kueue.model import CheckState
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler.run import queue_state
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item

Alike = tuple[str, int, int]  # queue, shape, priority


class KueueAdmitter:
    """One run of Kueue. ``opening`` is what holds at virtual time 0."""

    words = WORDS

    def __init__(self, opening: Opening, resource: str = "") -> None:
        self._opening = opening
        self._session: Session = opening.session()
        self._zero = -(-opening.now // NANOS)  # in ms
        objects = opening.objects
        self.resource = resource or principal(objects)
        self.patience = patience(objects.configuration, opening.target)
        self.nominations = 0
        self._entries: dict[tuple[str, int], tuple[int, Wishes]] = {}  # by queue and shape
        self._last: dict[Alike, Decision] = {}  # the last decision by which some of a kind went on waiting
        self._second, self._prefix = -1, ""

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
        session.now = self._nanos(now)
        made = [workload(job, number, self._stamp(job.submit)) for number, job in jobs]
        session.offer(made)
        return [self._entry(session.items[one.id]) for one in made]

    def _entry(self, item: Item) -> Entry:
        queue = item.queue
        if queue is None or queue.inactive:
            reason, why = nowhere(self._session, item.workload)
            name = "" if queue is None else queue.name
            return Entry(name, amount_of(item.shape, self.resource), (), reason, why)
        key = (queue.name, item.shape.number)
        found = self._entries.get(key)
        if found is None:
            known = wishes(self._session, queue, item.shape)
            found = self._entries[key] = (amount_of(item.shape, self.resource), known)
        return Entry(queue.name, *found)

    def finish(self, ids: Sequence[str], now: int) -> None:
        """Workloads are finished."""
        self._session.now = self._nanos(now)
        self._session.release(ids)

    def settle(self, ids: Sequence[str], now: int) -> None:
        """Preempted workloads have released their quota and wait again."""
        session = self._session
        session.now = self._nanos(now)
        gone = set(ids)
        session.victims = [v for v in session.victims if v.id not in gone]
        session.release(ids, requeue=True)

    def evict(self, name: str, reason: str, now: int, until: int) -> None:
        """The workload is evicted for another reason than a cycle; ``until`` -1: it is deactivated."""
        session = self._session
        session.now = self._nanos(now)
        item = session.items.get(name)
        if item is None:
            return
        session.victims = [v for v in session.victims if v is not item]
        if until == NEVER:
            session.release([name])
            return
        waits = self._opening.objects.configuration.wait_for_pods_ready
        if reason == WORDS.check or (reason == WORDS.not_ready and waits.requeuing_timestamp == "Eviction"):
            item.time = session.now
        if until > now:
            item.workload = item.workload._replace(requeue_at=stamp(self._zero + until))
        session.release([name], requeue=True)

    def wake(self, now: int) -> None:
        """Workloads whose backoff is over are queued."""
        session = self._session
        session.now = self._nanos(now)
        session.return_parked(range(len(session.trees)))

    # -- cycles -------------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Whether any ClusterQueue has a head."""
        return self._session.has_work()

    def cycle(self, now: int, most: int = NEVER) -> Sequence[Decision]:  # noqa: ARG002 - to come
        """One scheduling cycle."""
        session = self._session
        decisions = session.cycle(self._nanos(now))
        self.nominations += len(decisions)
        for decision in decisions:
            if decision.outcome != RESERVED:
                item = session.items[decision.workload]
                self._last[decision.queue, item.shape.number, item.priority] = decision
        return decisions

    def same(self) -> object:
        """Who waits where, and how far each flavor scan is."""
        return queue_state(self._session)

    def outline(self) -> object:
        """Usage and queue lengths."""
        session = self._session
        usage = tuple(tuple(tree.usage) for tree in session.trees)
        return usage, tuple(queue.waiting for queue in session.queues.values())

    def digest(self) -> str:
        """The session's own."""
        return self._session.digest()

    # -- what holds quota ---------------------------------------------------------------------------

    def checks(self, name: str) -> list[Check]:
        """Admission checks of its queue that apply to the flavors it was given."""
        item = self._session.items[name]
        if item.queue is None or item.admission is None:
            return []
        flavors = {f for s in item.admission.pod_sets for f in s.flavors.values()}
        ready = {c.name for c in item.workload.check_states if c.state == "Ready"}
        known = self._opening.objects.checks
        return [
            Check(rule.name, known[rule.name].controller if rule.name in known else "")
            for rule in item.queue.config.checks
            if rule.name not in ready and (not rule.on_flavors or not flavors.isdisjoint(rule.on_flavors))
        ]

    def passed(self, name: str, check: str, now: int) -> bool:
        """An admission check is Ready."""
        session = self._session
        session.now = self._nanos(now)
        item = session.items[name]
        states = (*item.workload.check_states, CheckState(check, "Ready"))
        item.workload = item.workload._replace(check_states=states)
        item.admitted = not self.checks(name)
        return item.admitted

    def sets(self, job: Job, grant: Grant) -> list[Set]:
        """Podsets as their flavors change them."""
        return [Set(spec, spec.pods, job.models, job.milli) for spec in job.pod_sets]

    def spread(self, job: Job, grant: Grant) -> Spread:  # noqa: ARG002 - to come
        """How far the placement is spread."""
        return ()

    def node(self, name: str, now: int, *, up: bool) -> Sequence[str]:  # noqa: ARG002 - to come
        """Nothing was placed."""
        return ()

    def supply(self) -> tuple[int, int] | None:
        """Nothing is known of nodes."""
        return None

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
        decision = self._last.get((queue.name, item.shape.number, item.priority))
        implied = queue.moved.get(queue.alike(item))
        reason = item.reason or implied or "PendingEvaluation"
        return reason, "" if decision is None else sentence(decision)

    # -- times --------------------------------------------------------------------------------------

    def _nanos(self, now: int) -> int:
        return (self._zero + now) * NANOS

    def _stamp(self, now: int) -> str:
        """RFC 3339 of a virtual time; those of one second share most of it."""
        second, millis = divmod(self._zero + now, 1000)
        if second != self._second:
            self._second, self._prefix = second, stamp(second * 1000)[:-1]
        return f"{self._prefix}.{millis:03d}Z" if millis else f"{self._prefix}Z"
