"""What becomes of each job: quota, checks, pods, work, evictions, the end.

Every step is a method that is told the time; what has to happen later is put on the agenda. A step that
frees quota or lets others in says so by ``changed``, for the engine to run a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush

from policycheck.simulate.events import NEVER, Admitter, Delays, Entry
from policycheck.simulate.ground import Ground
from policycheck.simulate.job import Job
from policycheck.simulate.keep import Keeper
from policycheck.simulate.live import (
    CHECKING,
    GIVEN_UP,
    HOLDING,
    OVER,
    STARTING,
    STOPPING,
    WAITING,
    WORKING,
    Live,
)
from policycheck.simulate.scheduler import EVICTED, Decision, Grant
from policycheck.simulate.timeline import Happening

# What can be due, in the order in which it happens at one instant.
FINISH, SETTLE, NODE, CHECK, START, READY, TIMEOUT, LIMIT, WAKE, PAUSE = range(10)
Due = tuple[int, int, int, int]  # time, what, job number, ticket


class Course:
    """All jobs of one run. ``unready`` counts admitted ones that are not ready."""

    def __init__(
        self,
        admitter: Admitter,
        ground: Ground,
        keeper: Keeper,
        agenda: list[Due],
        delays: Delays,
        told: list[Happening] | None,
    ) -> None:
        self.admitter = admitter
        self.ground = ground
        self.keeper = keeper
        self.agenda = agenda
        self.delays = delays
        self.told = told
        self.lives: dict[str, Live] = {}
        self.by_number: list[Live] = []
        self.unready = 0
        self.changed = False
        self.counts: dict[str, int] = {}
        self._checking: dict[int, list[str]] = {}  # names of checks that are due, the next one last

    def _due(self, at: int, what: int, live: Live) -> None:
        heappush(self.agenda, (at, what, live.number, live.ticket))

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def tell(self, at: int, what: str, who: str, detail: str = "") -> None:
        """Write down an event, when events are wanted."""
        if self.told is not None:
            self.told.append(Happening(at, what, who, detail))

    # -- waiting and holding ----------------------------------------------------------------------

    def arrive(self, jobs: Sequence[Job], first: int, now: int) -> None:
        """Jobs come, numbered from ``first`` on."""
        queued = [(number, job) for number, job in enumerate(jobs, first) if job.queue]
        entries = dict(zip((n for n, _ in queued), self.admitter.offer(queued, now), strict=True))
        for number, job in enumerate(jobs, first):
            entry = entries.get(number)
            live = Live(job, number, entry or Entry("", self.admitter.amount(job)))
            self.lives[job.id] = live
            self.by_number.append(live)
            self.tell(now, "submitted", job.id, live.entry.queue)
            if entry is None:  # it goes round all queues
                live.reserved = now
                self.admit(live, now)
            else:
                self._wait(live, 1)
        self.changed = True

    def _wait(self, live: Live, jobs: int) -> None:
        line = self.keeper.touch(live.entry.queue)
        if line is not None:
            line.wait((live.entry.wishes, live.entry.amount), jobs)

    def reserve(self, decision: Decision, grant: Grant, now: int, start: int) -> None:
        """The job holds quota; it may start at ``start`` unless something else has to agree."""
        live = self.lives.get(decision.workload)
        if live is None:
            return
        if live.phase != WAITING:
            self._placed_anew(live, grant, now)
            return
        self._wait(live, -1)
        self._hold(live, grant)
        live.grant, live.reserved, live.phase = grant, now, CHECKING
        live.ticket += 1
        live.spread = self.admitter.spread(live.job, grant)
        self.tell(now, "reserved", live.job.id, live.entry.queue)
        if not decision.admitted:
            self._await_checks(live, start)
        elif start > now:
            self._due(start, START, live)
        else:
            self.admit(live, now)

    def _hold(self, live: Live, grant: Grant) -> None:
        """Write down what the job takes of its queue."""
        taken: dict[tuple[str, str], int] = {}
        for given in grant.sets:
            usage = given.usage
            for name, flavor in given.flavors.items():
                pair = (flavor, name)
                taken[pair] = taken.get(pair, 0) + usage.get(name, 0)
        live.amounts = tuple(taken.items())
        resource = self.admitter.resource
        own = [(pair, amount) for pair, amount in live.amounts if pair[1] == resource]
        live.used = sum(amount for _, amount in own)
        line = self.keeper.touch(live.entry.queue)
        if line is not None:
            line.hold(live.amounts, live.used, 1)
            for pair, amount in own:
                over = line.held[pair] - line.facts.nominal.get(pair, 0)
                live.borrowed += max(0, min(amount, over))

    def _placed_anew(self, live: Live, grant: Grant, now: int) -> None:
        """A job that holds quota is placed at last, or elsewhere."""
        live.grant = grant
        live.spread = self.admitter.spread(live.job, grant)
        if live.phase == CHECKING and not self._checking.get(live.number):
            self.admit(live, now)

    def _await_checks(self, live: Live, now: int) -> None:
        found = sorted((now + self.delays.of(c), c.name) for c in self.admitter.checks(live.job.id))
        self._checking[live.number] = [name for _, name in reversed(found)]
        for at, _ in found:
            self._due(at, CHECK, live)

    def check(self, live: Live, now: int) -> None:
        """The next of the job's checks agrees."""
        name = self._checking[live.number].pop()
        admitted = self.admitter.passed(live.job.id, name, now)
        self.changed = True
        self.tell(now, "checked", live.job.id, name)
        if admitted and live.phase == CHECKING:
            self.admit(live, now)

    # -- running ------------------------------------------------------------------------------------

    def admit(self, live: Live, now: int) -> None:
        """Quota and checks are there: pods are made, and work begins when all of them run."""
        live.phase, live.admitted = STARTING, now
        live.ticket += 1
        self.unready += 1
        self.tell(now, "admitted", live.job.id, live.entry.queue)
        if live.job.limit > 0:
            self._due(now + max(0, live.job.limit - live.spent), LIMIT, live)
        self._launch(live, now, self.admitter.patience.timeout)

    def _launch(self, live: Live, now: int, patience: int) -> None:
        """Place the pods; within ``patience`` (0: for ever) they have to run."""
        startup = live.job.startup
        if not self.ground.place(live):
            if live.where and len(live.where):
                self._count("partial")
            self._count("unplaced")
            if patience > 0:
                self._due(now + patience, TIMEOUT, live)
        elif startup <= 0:
            self.work(live, now)
        else:
            self._due(now + startup, READY, live)
            if 0 < patience < startup:
                self._due(now + patience, TIMEOUT, live)

    def fill(self, now: int) -> None:
        """There is room: jobs whose pods waited for it go on."""
        for live in self.ground.fill():
            if live.job.startup > 0:
                self._due(now + live.job.startup, READY, live)
            else:
                self.work(live, now)

    def work(self, live: Live, now: int) -> None:
        """All pods run."""
        live.phase = WORKING
        live.work(now)
        self.unready -= 1
        self.changed = self.changed or self.admitter.patience.alone
        self.tell(now, "ready", live.job.id, live.entry.queue)
        self._due(now + live.left, FINISH, live)

    def finish(self, live: Live, now: int) -> None:
        """The job is done."""
        live.done(now)
        self._leave(live, now)
        live.phase = OVER
        self.tell(now, "finished", live.job.id, live.entry.queue)

    def _leave(self, live: Live, now: int) -> None:
        """The stay ends: quota and nodes are free."""
        live.ticket += 1
        line = self.keeper.touch(live.entry.queue)
        if line is not None:
            line.hold(live.amounts, live.used, -1)
        self.ground.free(live)
        live.close(now)

    # -- evictions ----------------------------------------------------------------------------------

    def displace(self, name: str, decision: Decision, reason: str, now: int) -> bool:
        """A cycle takes a job's quota; False when that was under way already."""
        live = self.lives.get(name)
        if live is None or live.phase not in HOLDING:
            return False
        live.until = None
        if decision.outcome == EVICTED:
            self._stop(live, reason, "", "", now)
        else:
            self._stop(live, self.admitter.words.preempted, reason, decision.workload, now)
        return True

    def _stop(self, live: Live, ended_by: str, cause: str, by: str, now: int) -> None:
        """The job stops; its quota is free when its pods are gone."""
        if live.phase == STARTING:
            self.unready -= 1
            self.changed = self.changed or self.admitter.patience.alone
        live.halt(now)
        live.phase = STOPPING
        live.ticket += 1
        live.ended_by, live.cause, live.stopped_by = ended_by, cause, by
        self._due(now + max(1, self.delays.grace), SETTLE, live)
        self.tell(now, "evicted", live.job.id, cause or ended_by)

    def settle(self, stopped: Sequence[Live], now: int) -> None:
        """Pods are gone: quota is free, and the jobs wait again or are given up."""
        victims = []
        for live in stopped:
            reason = live.ended_by
            self._leave(live, now)
            live.before += 1
            if live.until is None:
                victims.append(live.job.id)
            else:
                self.admitter.evict(live.job.id, reason, now, live.until)
            if live.until == NEVER:
                live.phase = GIVEN_UP
                self.tell(now, "refused", live.job.id, reason)
                continue
            if live.until is not None and live.until > now:
                heappush(self.agenda, (live.until, WAKE, 0, 0))
            live.phase = WAITING
            self._wait(live, 1)
            self.tell(now, "requeued", live.job.id, live.entry.queue)
        if victims:
            self.admitter.settle(victims, now)

    def timeout(self, live: Live, now: int) -> None:
        """Not all pods run, and it took too long."""
        if live.phase != STARTING:
            return
        patience, words = self.admitter.patience, self.admitter.words
        self._count("timeouts")
        live.timeouts += 1
        if 0 <= patience.most < live.timeouts:
            self.give_up(live, words.retried_out, now)
            return
        live.until = now + min(patience.base << min(live.timeouts - 1, 40), patience.cap)
        self._stop(live, words.not_ready, "", "", now)

    def give_up(self, live: Live, cause: str, now: int) -> None:
        """The job is stopped for good."""
        live.until = NEVER
        self._stop(live, self.admitter.words.given_up, cause, "", now)

    def node_lost(self, names: Sequence[str], now: int) -> None:
        """Jobs lost pods with a node: they stop working and try to begin again elsewhere."""
        hit = [live for name in names if (live := self.lives.get(name)) and live.phase in (STARTING, WORKING)]
        for live in hit:
            self._count("nodes lost")
            if live.phase == WORKING:
                self.unready += 1
            live.halt(now)
            live.phase = STARTING
            live.restarts += 1
            self.ground.free(live)
            limit = live.job.limit
            live.ticket += 1
            if limit > 0:
                self._due(live.admitted + max(0, limit - live.spent), LIMIT, live)
        for live in hit:
            self._launch(live, now, self.admitter.patience.recovery)
