"""The event engine: jobs arrive, wait, hold quota, run, are evicted and finish, in virtual time.

Everything due at an instant happens before the one cycle of that instant. A cycle costs ``service_time``
for each job that it decides about and never less than 1 ms, and an eviction at least 1 ms, so that nothing
goes on for ever at one instant. Cycles are run only when they can change something. A state that comes
back between two events is thrash: it is written down, and the clock goes on in ever longer steps.
"""

from __future__ import annotations

from policycheck.garbage import no_collection
from policycheck.simulate.agenda import (
    ABOUT_JOBS,
    AGREE,
    FINISH,
    FOREVER,
    LIMIT,
    NODE,
    NODE_IDLE,
    NODE_MADE,
    PAUSE,
    READY,
    RELAUNCH,
    SETTLE,
    START,
    TIMEOUT,
    Agenda,
)
from policycheck.simulate.course import Course
from policycheck.simulate.events import NEVER, Delays, World
from policycheck.simulate.fleet import Fleet
from policycheck.simulate.job import Arrivals
from policycheck.simulate.keep import Keeper
from policycheck.simulate.live import GIVEN_UP, WAITING, Live
from policycheck.simulate.pools import Pools
from policycheck.simulate.scheduler import RESERVED
from policycheck.simulate.timeline import PENDING, Happening, Life, Loop, Timeline

_STANDARD = Delays()


def run(
    world: World,
    arrivals: Arrivals,
    *,
    seed: int = 0,
    horizon: int = 0,
    service_time: float = 0,
    happenings: bool = False,
    delays: Delays = _STANDARD,
) -> Timeline:
    """All that happens to ``arrivals`` in ``world``, which is used up by it.

    ``horizon`` in ms (0: that of the arrivals, or until nothing happens any more). ``service_time`` in
    ms is what it costs the system to write down one decision, an admission or why a job goes on waiting:
    those of a cycle are written one after the other, each job starts when its own is, and the next cycle
    begins after the last. The same input gives the same Timeline.
    """
    told: list[Happening] | None = [] if happenings else None
    engine = _Engine(world, arrivals, seed, round(service_time * 1000), delays, told)
    with no_collection(kept=True):
        return engine.run(horizon or arrivals.horizon)


class _Engine:
    """One run: the clock and the cycles."""

    def __init__(
        self,
        world: World,
        arrivals: Arrivals,
        seed: int,
        micros: int,
        delays: Delays,
        told: list[Happening] | None,
    ) -> None:
        self.admitter = world.admitter
        self.notes = (*arrivals.notes, *world.notes)
        self.arrivals = arrivals
        self.micros = micros  # what a decision costs
        self.delays = delays
        self.agenda = Agenda()
        self.keeper = Keeper(self.admitter.queues(), self.admitter.resource)
        self.fleet = Fleet(world, self.keeper, seed, delays.sample)
        self.pools = Pools(world.pools, self.fleet, self.agenda)
        self.course = Course(self.admitter, self.fleet, self.keeper, self.agenda, delays, told)
        self.cycles = 0
        self.open_at = 0  # before that no cycle begins
        self.awake = False  # cycles may still change something
        self.quiet: set[object] = set()  # states after cycles that changed nothing
        self.seen: set[object] = set()  # states after others took a place, since the last event
        self.evicted: set[str] = set()  # victims since the last event
        self.loops: dict[tuple[str, ...], list[int]] = {}

    # -- the loop -------------------------------------------------------------------------------

    def run(self, horizon: int) -> Timeline:
        """Everything before ``horizon``."""
        jobs, agenda, course = self.arrivals.jobs, self.agenda, self.course
        for number, change in enumerate(self.arrivals.nodes):
            agenda.add(max(0, change.at), NODE, number, 0)
        end = horizon or FOREVER
        position, count, now = 0, len(jobs), 0
        self.fleet.measure(0)
        while True:
            due = self._next(jobs[position].submit if position < count else FOREVER)
            due = max(due, now)
            if due >= end:
                break
            if due > now:
                self._flush(now)
                now = due
            self._happen(now)
            if position < count and jobs[position].submit <= now:
                first = position
                while position < count and jobs[position].submit <= now:
                    position += 1
                course.arrive(jobs[first:position], first, now)
            if course.changed:
                self._stir()
            if self._may_cycle() and self.open_at <= now:
                self._cycle(now)
            if self.fleet.short:
                self.pools.order(now)
        self._flush(now)
        return self._timeline(horizon or now)

    def _next(self, arrival: int) -> int:
        """When something happens next."""
        due = min(self.agenda.next, arrival)
        own = self.admitter.next_due()
        if own != NEVER and own < due:
            due = own
        if self.open_at < due and self._may_cycle():
            return self.open_at
        return due

    def _may_cycle(self) -> bool:
        if self.awake and not self.admitter.has_work():
            self.awake = False
        return self.awake

    def _stir(self) -> None:
        """Something beside cycles has changed what they decide on."""
        self.course.changed = False
        self.awake = True
        self.quiet.clear()
        self.seen.clear()
        self.evicted.clear()

    def _happen(self, now: int) -> None:
        """Everything that is due."""
        admitter, course, agenda = self.admitter, self.course, self.agenda
        own = admitter.next_due()
        if own != NEVER and own <= now:
            course.turn(admitter.wake(now), now)
            course.changed = True
        done: list[str] = []
        stopped: list[Live] = []
        while agenda.next <= now:
            _, what, number, ticket = agenda.take()
            if what not in ABOUT_JOBS:
                self._about_nodes(what, number, ticket, now)
                continue
            live = course.by_number[number]
            if live.ticket != ticket:
                continue
            if what == FINISH:
                course.finish(live, now)
                if live.entry.queue:
                    done.append(live.job.id)
            elif what == SETTLE:
                stopped.append(live)
            else:
                self._about_job(what, live, now)
        if done:
            admitter.finish(done, now)
            course.changed = True
        if stopped:
            course.settle(stopped, now)
            self.awake = True
        if course.room and self.fleet.short:
            course.fill(now)
        if self.fleet.emptied:
            self.pools.emptied(now)

    def _about_job(self, what: int, live: Live, now: int) -> None:
        course = self.course
        if what == START:
            course.admit(live, now)
        elif what == READY:
            course.work(live, now)
        elif what == AGREE:
            course.agree(live, now)
        elif what == TIMEOUT:
            course.timeout(live, now)
        elif what == LIMIT:
            course.too_long(live, now)
        elif what == RELAUNCH:
            course.relaunch(live, now)

    def _about_nodes(self, what: int, number: int, ticket: int, now: int) -> None:
        course = self.course
        if what == PAUSE:
            self.awake = True
            return
        if what == NODE:
            change = self.arrivals.nodes[number]
            course.tell(now, "node-up" if change.up else "node-down", change.node, change.why)
            if change.up:
                course.node_back(change.node, now)
            else:
                course.node_lost(change.node, now)
        elif what == NODE_MADE:
            course.tell(now, "node-up", self.pools.made(number, now), "ordered")
            course.room = True
        elif what == NODE_IDLE:
            name = self.pools.idle(number, ticket)
            if not name:
                return
            course.tell(now, "node-down", name, "idle")
        self.fleet.measure(now)

    # -- cycles ---------------------------------------------------------------------------------

    def _cycle(self, now: int) -> None:
        """One cycle, and what follows from it."""
        course = self.course
        decisions = self.admitter.cycle(now)
        self.cycles += 1
        micros, admitted, victims = 0, False, False
        for decision in decisions:
            micros += self.micros
            if decision.outcome == RESERVED:
                if decision.grant is not None:
                    admitted = True
                    course.reserve(decision, decision.grant, now, now + micros // 1000)
                continue
            for victim in decision.victims:
                if course.displace(victim.workload, decision, victim.reason, now):
                    self.evicted.add(victim.workload)
                    victims = True
        self.open_at = now + max(1, micros // 1000)
        if admitted and self.evicted:
            self._look_for_loop(now)
        if not admitted and not victims:
            self._fall_asleep()
        else:
            self.quiet.clear()

    def _fall_asleep(self) -> None:
        """The cycle changed nothing: no more of them, once the state after it comes back."""
        state = self.admitter.same() if self.admitter.has_work() else None
        if state is None or state in self.quiet:
            self.awake = False
        else:
            self.quiet.add(state)

    def _look_for_loop(self, now: int) -> None:
        """Whether the state after somebody took the place of the evicted was there before, with no event in
        between. Whoever holds now goes on until the pause is over: else nobody would ever get anywhere.

        Cheap outlines are compared first, and digests only of states alike in those: a loop may so be
        seen one turn late.
        """
        outline = self.admitter.outline()
        if outline not in self.seen:
            self.seen.add(outline)
            return
        digest = self.admitter.digest()
        if digest not in self.seen:
            self.seen.add(digest)
            return
        known = self.loops.setdefault(tuple(sorted(self.evicted)), [now, 0])
        known[1] += 1
        self.seen.clear()
        self.awake = False
        pause = max(1, self.delays.pause) << min(known[1] - 1, 40)
        self.agenda.add(now + pause, PAUSE, 0, 0)

    # -- writing down ---------------------------------------------------------------------------

    def _flush(self, at: int) -> None:
        if self.keeper.flush(at):
            self.fleet.measure(at)

    def _timeline(self, end: int) -> Timeline:
        keeper, course, admitter = self.keeper, self.course, self.admitter
        lives = [self._life(live) for live in course.by_number]
        later = self.arrivals.jobs[len(lives) :]
        lives.extend(Life(job, "", admitter.amount(job), PENDING) for job in later)
        loops = sorted((at, who, times) for who, (at, times) in self.loops.items())
        return Timeline(
            admitter.resource,
            end,
            tuple(lives),
            tuple(line.line() for _, line in sorted(keeper.lines.items())),
            tuple(keeper.supply),
            tuple(Loop(*one) for one in loops),
            self.cycles,
            admitter.nominations,
            tuple(course.told or ()),
            tuple(dict.fromkeys(self.notes)),
            dict(sorted(course.counts.items())),
        )

    def _life(self, live: Live) -> Life:
        """One job, with why it waits if it does: for quota, or for room on nodes."""
        if live.phase == WAITING:
            reason, why = self.admitter.explain(live.job.id)
            return live.life(reason or live.entry.reason, why or live.entry.why)
        if live.phase == GIVEN_UP and live.stays:
            return live.life(live.stays[-1].ended_by, live.stays[-1].cause)
        return live.life("", live.lacking if live.unplaced else "")
