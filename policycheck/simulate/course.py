"""What becomes of each job: quota, checks, pods, work, evictions, the end.

Every step is a method that is told the time; what has to happen later is put on the agenda. A step that
frees quota or lets others in says so by ``changed``, for the engine to run a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.simulate.agenda import (
    AGREE,
    FINISH,
    LIMIT,
    READY,
    RELAUNCH,
    SETTLE,
    START,
    TIMEOUT,
    Agenda,
)
from policycheck.simulate.events import GIVES_UP, STARTS, Admitter, Delays, Entry, Pair, Turn
from policycheck.simulate.fleet import Fleet
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
    Taken,
)
from policycheck.simulate.scheduler import EVICTED, Decision, Grant
from policycheck.simulate.timeline import Happening

_GRANTS = 1 << 15
_SOON = 60  # times what the last eviction took


class Course:
    """All jobs of one run."""

    def __init__(
        self,
        admitter: Admitter,
        fleet: Fleet,
        keeper: Keeper,
        agenda: Agenda,
        delays: Delays,
        told: list[Happening] | None,
    ) -> None:
        self.admitter = admitter
        self.fleet = fleet
        self.keeper = keeper
        self.agenda = agenda
        self.delays = delays
        self.told = told
        self.lives: dict[str, Live] = {}
        self.by_number: list[Live] = []
        self.running: dict[int, Live] = {}  # admitted, by number
        self.changed = False
        self.room = False  # nodes may have room that they had not before
        self.counts: dict[str, int] = {}
        self._taken: dict[tuple[tuple[Pair, int], ...], Taken] = {}  # by amounts
        self._grants: dict[int, tuple[Grant, Taken]] = {}  # the last ones: many jobs share theirs
        self._checking: dict[int, list[str]] = {}  # checks that are due, the next one last

    def _due(self, at: int, what: int, live: Live) -> None:
        self.agenda.add(at, what, live.number, live.ticket)

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def tell(self, at: int, what: str, who: str, detail: str = "") -> None:
        """Write down an event, when events are wanted."""
        if self.told is not None:
            self.told.append(Happening(at, what, who, detail))

    # -- waiting and holding ----------------------------------------------------------------------

    def arrive(self, jobs: Sequence[Job], first: int, now: int) -> None:
        """Jobs come, numbered from ``first`` on. Those that name no queue go round all of them."""
        numbered = list(enumerate(jobs, first))
        queued = [(number, job) for number, job in numbered if job.queue]
        entries = iter(self.admitter.offer(queued, now))
        for number, job in numbered:
            entry = next(entries) if job.queue else Entry("", self.admitter.amount(job))
            live = self.lives[job.id] = Live(job, number, entry)
            self.by_number.append(live)
            live.kind = self.keeper.kind(entry.queue, entry.wishes, entry.amount)
            self.tell(now, "submitted", job.id, entry.queue)
            if job.queue:
                self._wait(live, 1)
            else:
                live.reserved = now
                self.admit(live, now)
        self.changed = True

    def _wait(self, live: Live, jobs: int) -> None:
        self.keeper.wait(live.kind, jobs)

    def reserve(self, decision: Decision, grant: Grant, now: int, start: int) -> None:
        """The job holds quota; it may start at ``start`` unless something else has to agree."""
        live = self.lives.get(decision.workload)
        if live is None:
            return
        if live.phase != WAITING:
            self._placed_anew(live, decision, grant, now)
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
        mine = live.taken = self._taken_by(grant)
        line = self.keeper.hold(live.entry.queue, mine.amounts, mine.used, 1)
        if line is not None:
            for pair, amount in mine.own:
                live.borrowed += max(0, min(amount, -line.left[pair]))

    def _taken_by(self, grant: Grant) -> Taken:
        """What a grant takes, made once for all grants alike."""
        known = self._grants.get(id(grant))
        if known is not None and known[0] is grant:
            return known[1]
        taken: dict[tuple[str, str], int] = {}
        for given in grant.sets:
            usage = given.usage
            for name, flavor in given.flavors.items():
                pair = (flavor, name)
                taken[pair] = taken.get(pair, 0) + usage.get(name, 0)
        amounts = tuple(taken.items())
        found = self._taken.get(amounts) or self._take(amounts)
        if len(self._grants) >= _GRANTS:
            self._grants.clear()
        self._grants[id(grant)] = grant, found
        return found

    def _take(self, amounts: tuple[tuple[Pair, int], ...]) -> Taken:
        pairs = self.keeper.pairs
        amounts = tuple((pairs.setdefault(pair, pair), amount) for pair, amount in amounts)
        own = tuple(one for one in amounts if one[0][1] == self.admitter.resource)
        flavors = {pair[1]: pair[0] for pair, _ in amounts}
        used = sum(amount for _, amount in own)
        made = self._taken[amounts] = Taken(amounts, own, used, tuple(sorted(flavors.items())))
        return made

    def _placed_anew(self, live: Live, decision: Decision, grant: Grant, now: int) -> None:
        """A job that holds quota is placed at last, or elsewhere after a node was lost."""
        live.grant = grant
        live.spread = self.admitter.spread(live.job, grant)
        if live.phase == CHECKING and decision.admitted:
            self.admit(live, now)
        elif live.phase == STARTING and live.outages:
            live.outages = ()
            self.fleet.free(live)
            self._relaunch(live, now)
            self.room = True

    def _await_checks(self, live: Live, now: int) -> None:
        checks = self.admitter.checks(live.job.id)
        live.provided = any(check.provides for check in checks)
        found = sorted((now + self.delays.of(check), check.name) for check in checks)
        self._checking[live.number] = [name for _, name in reversed(found)]
        for at, _ in found:
            self._due(at, AGREE, live)

    def agree(self, live: Live, now: int) -> None:
        """The next of the job's checks agrees."""
        name = self._checking[live.number].pop()
        self.tell(now, "checked", live.job.id, name)
        self.turn(self.admitter.agree(live.job.id, name, now), now)
        self.changed = True

    # -- running ------------------------------------------------------------------------------------

    def admit(self, live: Live, now: int) -> None:
        """Quota and checks are there: pods are made, and work begins when all of them run."""
        live.phase, live.admitted = STARTING, now
        live.ticket += 1
        self.running[live.number] = live
        self.tell(now, "admitted", live.job.id, live.entry.queue)
        self._limit(live)
        self._launch(live, now, self.admitter.patience.timeout)

    def _limit(self, live: Live) -> None:
        if live.limit > 0:
            self._due(live.admitted + max(0, live.limit - live.spent), LIMIT, live)

    def _launch(self, live: Live, now: int, patience: int) -> None:
        """Place the pods; within ``patience`` (0: for ever) they have to run."""
        if self.fleet.place(live):
            late = live.job.startup
            self._begin(live, now)
        else:
            late = patience + 1
            self._count("unplaced")
            if live.where:
                self._count("partial")
        if 0 < patience < late:
            self._due(now + patience, TIMEOUT, live)

    def _begin(self, live: Live, now: int) -> None:
        """Every pod has a node."""
        if live.job.startup > 0:
            self._due(now + live.job.startup, READY, live)
        else:
            self.work(live, now)

    def fill(self, now: int) -> None:
        """There may be room: jobs whose pods waited for it go on."""
        self.room = False
        for live in self.fleet.fill():
            self._begin(live, now)

    def work(self, live: Live, now: int) -> None:
        """All pods run."""
        live.phase = WORKING
        live.work(now)
        if live.entry.queue:
            self.admitter.ready(live.job.id, now)
            self.changed = self.changed or self.admitter.patience.timeout > 0
        self.tell(now, "ready", live.job.id, live.entry.queue)
        if live.job.duration > 0:  # else it runs for ever
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
        self.keeper.hold(live.entry.queue, live.taken.amounts, live.taken.used, -1)
        self.running.pop(live.number, None)
        self.fleet.free(live)
        self.room = True
        live.close(now)

    # -- evictions ----------------------------------------------------------------------------------

    def displace(self, name: str, decision: Decision, reason: str, now: int) -> bool:
        """A cycle takes a job's quota; False when that was under way already."""
        live = self.lives.get(name)
        if live is None or live.phase not in HOLDING:
            return False
        if decision.outcome == EVICTED:
            self._stop(live, reason, "", "", now)
        else:
            self._stop(live, self.admitter.preempted, reason, decision.workload, now)
        return True

    def turn(self, turns: Iterable[Turn], now: int) -> None:
        """What the system made of jobs because of an event."""
        for one in turns:
            live = self.lives.get(one.job)
            if live is None:
                continue
            self.changed = True
            if one.what == STARTS:
                if live.phase == CHECKING:
                    self.admit(live, now)
                continue
            live.gives_up = one.what == GIVES_UP
            if live.phase in HOLDING:
                self._stop(live, one.reason, one.cause, "", now)
            elif live.phase == WAITING and live.gives_up:
                live.phase = GIVEN_UP
                self._wait(live, -1)

    def _stop(self, live: Live, ended_by: str, cause: str, by: str, now: int) -> None:
        """The job stops; its quota is free when its pods are gone."""
        live.halt(now)
        self.fleet.short.pop(live.job.id, None)
        live.phase = STOPPING
        live.ticket += 1
        live.ended_by, live.cause, live.stopped_by = ended_by, cause, by
        self._due(now + self._gone(live, now, taken=bool(by)), SETTLE, live)
        self.tell(now, "evicted", live.job.id, cause or ended_by)

    def _gone(self, live: Live, now: int, *, taken: bool) -> int:
        """How long it takes until the pods are gone: longer, when others took the job's place soon again."""
        if not taken:
            return max(1, self.delays.grace)
        soon = now - live.reserved < _SOON * max(1, 1 << live.tired >> 1)
        live.tired = min(live.tired + 1, 60) if soon else max(0, live.tired - 1)
        return max(1, self.delays.grace, min(1 << live.tired >> 1, self.delays.tired))

    def settle(self, stopped: Sequence[Live], now: int) -> None:
        """Pods are gone: quota is free, and the jobs wait again or are given up."""
        for live in stopped:
            reason = live.ended_by
            self._leave(live, now)
            live.before += 1
            if live.gives_up:
                live.phase = GIVEN_UP
                self.tell(now, "refused", live.job.id, reason)
                continue
            live.phase = WAITING
            self._wait(live, 1)
            self.tell(now, "requeued", live.job.id, live.entry.queue)
        self.admitter.settle([live.job.id for live in stopped], now)

    def timeout(self, live: Live, now: int) -> None:
        """Not all pods run, and it took too long."""
        if live.phase == STARTING:
            self._count("timeouts")
            self.turn(self.admitter.not_ready(live.job.id, now), now)

    def too_long(self, live: Live, now: int) -> None:
        """The maximum execution time is over."""
        cause = self.admitter.too_long
        if live.entry.queue:
            self.turn(self.admitter.give_up(live.job.id, cause, now), now)
        else:
            live.gives_up = True
            self._stop(live, cause, "", "", now)

    # -- nodes ----------------------------------------------------------------------------------------

    def node_lost(self, node: str, now: int) -> None:
        """Jobs with pods there stop working; pods that the system did not place are made anew in time."""
        hit = [live for live in self.running.values() if any(name == node for name, _ in live.where)]
        self.fleet.switch(node, up=False)
        for live in hit:
            if live.phase == STOPPING:
                continue
            self._count("interrupted")
            live.halt(now)
            live.phase = STARTING
            live.restarts += 1
            live.outages = (*live.outages, node)
            live.ticket += 1
            self._limit(live)
            recovery = self.admitter.patience.recovery
            if recovery > 0:
                self._due(now + recovery, TIMEOUT, live)
            if self.fleet.chose(live):
                self._due(now + self.delays.unreachable, RELAUNCH, live)
            self.tell(now, "interrupted", live.job.id, node)
        self.turn(self.admitter.node(node, now, up=False), now)
        self.fleet.recount()
        self.changed = True

    def node_back(self, node: str, now: int) -> None:
        """Pods that are still there go on."""
        self.fleet.switch(node, up=True)
        self.turn(self.admitter.node(node, now, up=True), now)
        self.fleet.recount()
        for live in list(self.running.values()):
            if node in live.outages and live.phase == STARTING:
                live.outages = tuple(name for name in live.outages if name != node)
                if not live.outages and not live.unplaced:
                    self._resume(live, now)
        self.changed = self.room = True

    def _resume(self, live: Live, now: int) -> None:
        live.ticket += 1
        self._limit(live)
        self._begin(live, now)

    def relaunch(self, live: Live, now: int) -> None:
        """Pods that were on a lost node are given up: all of the job begin anew."""
        if live.phase == STARTING and live.outages:
            live.outages = ()
            self.fleet.free(live)
            self._relaunch(live, now)
            self.room = True

    def _relaunch(self, live: Live, now: int) -> None:
        live.ticket += 1
        self._limit(live)
        self._launch(live, now, self.admitter.patience.recovery)
