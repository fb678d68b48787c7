"""The event engine: jobs arrive, wait, hold quota, run, are evicted and finish, in virtual time.

One heap of plain tuples; everything due at an instant happens before the one cycle of that instant. A
cycle costs ``service_time`` for each job that it admits and never less than 1 ms, and an eviction at
least 1 ms, so that nothing goes on for ever at one instant. Cycles are run only when they can change
something. A state that comes back between two events is thrash: it is written down, and the clock goes
on in ever longer steps.
"""

from __future__ import annotations

from heapq import heappop, heappush

from policycheck.simulate.course import (
    CHECK,
    FINISH,
    LIMIT,
    NODE,
    PAUSE,
    READY,
    SETTLE,
    START,
    TIMEOUT,
    WAKE,
    Course,
    Due,
)
from policycheck.simulate.events import NEVER, Delays, World
from policycheck.simulate.ground import Ground
from policycheck.simulate.job import Arrivals
from policycheck.simulate.keep import Keeper
from policycheck.simulate.live import GIVEN_UP, OVER, WAITING, Live
from policycheck.simulate.scheduler import RESERVED
from policycheck.simulate.timeline import Happening, Life, Loop, Timeline

_FOREVER = 1 << 62
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
    ms is what each admission costs the system: those of one cycle start one after the other, and the
    next cycle begins after the last. The same input gives the same Timeline.
    """
    told: list[Happening] | None = [] if happenings else None
    engine = _Engine(world, arrivals, seed, round(service_time * 1000), delays, told)
    return engine.run(horizon or arrivals.horizon)


class _Engine:
    """One run: the clock, the agenda and the cycles."""

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
        self.micros = micros  # what an admission costs
        self.delays = delays
        self.agenda: list[Due] = []
        self.keeper = Keeper(self.admitter.queues(), self.admitter.resource)
        self.ground = Ground(world, self.keeper, seed, delays.sample)
        self.course = Course(self.admitter, self.ground, self.keeper, self.agenda, delays, told)
        self.cycles = 0
        self.open_at = 0  # before that no cycle begins
        self.awake = False  # cycles may still change something
        self.quiet: set[object] = set()  # states before which a cycle changed nothing
        self.seen: set[object] = set()  # states after evictions since the last event
        self.evicted: set[str] = set()  # victims since the last event
        self.loops: dict[tuple[str, ...], list[int]] = {}

    # -- the loop -------------------------------------------------------------------------------

    def run(self, horizon: int) -> Timeline:
        """Everything before ``horizon``."""
        jobs, agenda, course = self.arrivals.jobs, self.agenda, self.course
        for number, change in enumerate(self.arrivals.nodes):
            heappush(agenda, (max(0, change.at), NODE, number, 0))
        end = horizon or _FOREVER
        position, count, now = 0, len(jobs), 0
        self.ground.measure(0)
        while True:
            due = agenda[0][0] if agenda else _FOREVER
            if position < count and jobs[position].submit < due:
                due = jobs[position].submit
            if self.awake and self.open_at < due and self._may_cycle():
                due = self.open_at
            due = max(due, now)
            if due >= end:
                break
            if due > now:
                self._flush(now)
                now = due
            if agenda and agenda[0][0] <= now:
                self._happen(now)
            if position < count and jobs[position].submit <= now:
                first = position
                while position < count and jobs[position].submit <= now:
                    position += 1
                course.arrive(jobs[first:position], first, now)
            if course.changed:
                self._stir()
            if self.awake and self.open_at <= now and self._may_cycle():
                self._cycle(now)
        self._flush(now)
        return self._timeline(horizon or now)

    def _may_cycle(self) -> bool:
        if self.admitter.patience.alone and self.course.unready:
            return False
        if not self.admitter.has_work():
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
        """Everything on the agenda that is due."""
        agenda, course = self.agenda, self.course
        done: list[str] = []
        stopped: list[Live] = []
        room = False
        while agenda and agenda[0][0] <= now:
            _, kind, number, ticket = heappop(agenda)
            if kind in (NODE, WAKE, PAUSE):
                room = self._from_outside(kind, number, now) or room
                continue
            live = course.by_number[number]
            if live.ticket != ticket:
                continue
            if kind == FINISH:
                course.finish(live, now)
                done.append(live.job.id)
            elif kind == SETTLE:
                stopped.append(live)
            elif kind == CHECK:
                course.check(live, now)
            elif kind == START:
                course.admit(live, now)
            elif kind == READY:
                course.work(live, now)
            elif kind == TIMEOUT:
                course.timeout(live, now)
            elif kind == LIMIT:
                course.give_up(live, self.admitter.words.too_long, now)
        if done:
            self.admitter.finish(done, now)
            course.changed = True
        if stopped:
            by_cycle = all(live.until is None for live in stopped)
            course.settle(stopped, now)
            self.awake = True
            course.changed = course.changed or not by_cycle
        if (room or done or stopped) and self.ground.short:
            course.fill(now)

    def _from_outside(self, kind: int, number: int, now: int) -> bool:
        """Something that is about no job in particular; whether there may be more room on nodes."""
        if kind == PAUSE:
            self.awake = True
            return False
        if kind == WAKE:
            self.admitter.wake(now)
            self.course.changed = True
            return False
        change = self.arrivals.nodes[number]
        hit = self.ground.change(change, now)
        self.course.tell(now, "node-up" if change.up else "node-down", change.node, change.why)
        self.course.node_lost(hit, now)
        self.course.changed = True
        self.ground.measure(now)
        return True

    # -- cycles ---------------------------------------------------------------------------------

    def _cycle(self, now: int) -> None:
        """One cycle, and what follows from it."""
        admitter, course = self.admitter, self.course
        decisions = admitter.cycle(now, 1 if admitter.patience.alone else NEVER)
        self.cycles += 1
        admitted, victims = 0, False
        for decision in decisions:
            if decision.outcome == RESERVED:
                if decision.grant is not None:
                    admitted += 1
                    course.reserve(decision, decision.grant, now, now + admitted * self.micros // 1000)
                continue
            for victim in decision.victims:
                if course.displace(victim.workload, decision, victim.reason, now):
                    self.evicted.add(victim.workload)
                    victims = True
        self.open_at = now + max(1, admitted * self.micros // 1000)
        if victims:
            self._look_for_loop(now)
        elif not admitted:
            self._fall_asleep()
            return
        self.quiet.clear()

    def _fall_asleep(self) -> None:
        """The cycle changed nothing: no more of them, once the state before it comes back."""
        state = self.admitter.same() if self.admitter.has_work() else None
        if state is None or state in self.quiet:
            self.awake = False
        else:
            self.quiet.add(state)

    def _look_for_loop(self, now: int) -> None:
        """Whether the state after these evictions was there before, with no event in between.

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
        heappush(self.agenda, (now + (max(1, self.delays.pause) << min(known[1] - 1, 40)), PAUSE, 0, 0))

    # -- writing down ---------------------------------------------------------------------------

    def _flush(self, at: int) -> None:
        if self.keeper.flush(at):
            self.ground.measure(at)

    def _timeline(self, end: int) -> Timeline:
        keeper, course = self.keeper, self.course
        lives = [self._life(live) for live in course.by_number]
        entry_less = self.arrivals.jobs[len(lives) :]
        lives.extend(Life(job, "", self.admitter.amount(job), "pending") for job in entry_less)
        loops = tuple(
            Loop(at, who, times)
            for who, (at, times) in sorted(self.loops.items(), key=lambda x: (x[1][0], x[0]))
        )
        return Timeline(
            self.admitter.resource,
            end,
            tuple(lives),
            tuple(line.line() for _, line in sorted(keeper.lines.items())),
            tuple(keeper.supply),
            loops,
            self.cycles,
            self.admitter.nominations,
            tuple(course.told or ()),
            tuple(dict.fromkeys(self.notes)),
            dict(sorted(course.counts.items())),
        )

    def _life(self, live: Live) -> Life:
        reason = why = ""
        if live.phase == WAITING:
            reason, why = self.admitter.explain(live.job.id)
        elif live.phase == GIVEN_UP:
            reason, why = live.stays[-1].ended_by, live.stays[-1].cause
        elif live.phase != OVER and live.unplaced:
            reason, why = "", live.lacking
        return live.life(reason or live.entry.reason, why or live.entry.why)
