"""Thrash, and what keeps a run bounded, with a system made up for it."""

# ruff: noqa: ARG002 - arguments are those of the protocol

import sys
from pathlib import Path

import pytest

from policycheck.simulate.draw import stream
from policycheck.simulate.events import NEVER, Delays, Entry, Patience, QueueFacts, World
from policycheck.simulate.job import Arrivals
from policycheck.simulate.run import run
from policycheck.simulate.scheduler import (
    PREEMPTING,
    RESERVED,
    WAITING,
    Decision,
    Displaced,
    Explanation,
    Grant,
)
from policycheck.simulate.timeline import FINISHED

sys.path.insert(0, str(Path(__file__).parent))

from engine_world import job, life, play, queue


class Quarrel:
    """One slot for which everybody displaces everybody: whoever waits longest without it goes first.

    ``polite``: nobody displaces, but heads are looked at again and again.
    """

    resource, preempted, too_long = "gpu", "Taken", "TooLong"
    patience = Patience()

    def __init__(self, *, polite=False):
        self.nominations = 0
        self.polite = polite
        self.line, self.holder, self.going, self.asked = [], None, None, 0

    def queues(self):
        return [QueueFacts("q", nominal={("f", "gpu"): 1})]

    def amount(self, job):
        return 1

    def offer(self, jobs, now):
        self.line += [job.id for _, job in jobs]
        return [Entry("q", 1, (((("f", "gpu"), 1),),)) for _ in jobs]

    def has_work(self):
        return bool(self.line)

    def cycle(self, now):
        self.asked += 1
        first = self.line[0]
        explain = lambda: Explanation((), (), ())  # noqa: E731 - nobody asks
        if self.holder is None:
            self.holder = self.line.pop(0)
            return [Decision(first, "q", RESERVED, "", "", Grant("q", ()), True, (), explain)]
        if self.going is None and not self.polite:
            self.going = self.holder
            victims = (Displaced(self.holder, "q", "Quarrel"),)
            return [Decision(first, "q", PREEMPTING, "Short", "", None, False, victims, explain)]
        return [Decision(first, "q", WAITING, "Short", "", None, False, (), explain)]

    def settle(self, ids, now):
        for one in ids:
            self.line.append(one)
        self.holder = self.going = None

    def finish(self, ids, now):
        self.holder = self.going = None

    def next_due(self):
        return NEVER

    def ready(self, name, now):
        pass

    def sets(self, job, grant):
        return ()

    def where(self, grant):
        return ()

    def spread(self, job, grant):
        return ()

    def total(self):
        return NEVER

    def same(self):
        return tuple(self.line), self.holder, self.going

    outline = digest = same

    def explain(self, name):
        return "Short", "one slot for all"


@pytest.mark.parametrize("duration", [500, 50_000, 10_000_000])
def test_jobs_that_take_from_one_another_are_a_loop_and_the_clock_goes_on(duration):
    system = Quarrel()
    jobs = (job("x", "q", 0, duration), job("y", "q", 0, duration))
    made = run(World(system), Arrivals(jobs))
    (loop,) = made.loops
    assert loop.workloads == ("ns/x", "ns/y")
    assert loop.times >= 1
    assert made.cycles < 200
    assert {one.state for one in made.lives} == {FINISHED}
    for one in made.lives:
        ran = sum(s.ended - s.ready - s.idle for s in one.stays)
        assert ran == duration + sum(s.lost for s in one.stays)


def test_a_loop_ends_with_the_horizon():
    made = run(World(Quarrel()), Arrivals((job("x", "q", 0, 10**9), job("y", "q", 0, 10**9)), horizon=10**7))
    assert made.end == 10**7
    assert made.loops[0].times > 3
    assert made.cycles < 500


def test_heads_that_are_looked_at_for_ever_are_not_looked_at_for_ever():
    system = Quarrel(polite=True)
    made = run(World(system), Arrivals((job("x", "q", 0, 10**9), job("y", "q", 5, 10))))
    assert system.asked < 8
    assert life(made, "y").stays[0].reserved == 10**9


def test_a_million_waiting_milliseconds_cost_nothing():
    system = Quarrel(polite=True)
    jobs = tuple(job(f"x{n}", "q", n * 10**6, 10) for n in range(50))
    made = run(World(system), Arrivals(jobs))
    assert made.cycles <= 100
    assert made.end == 49 * 10**6 + 10


def taken_after(gap, **more):
    """How long it takes to stop a job that is preempted every ``gap`` ms."""
    low = job("low", "a", 0, 10**9, 8)
    high = [job(f"h{n:02d}", "a", 1_000 + gap * n, 1, 8, priority=9) for n in range(1, 13)]
    made = play([queue("a", 8, within="LowerPriority")], [low, *high], horizon=10**6, **more)
    ends = [s.ended for s in life(made, "low").stays if s.ended_by == "Preempted"]
    return [end - h.submit for end, h in zip(ends, high, strict=False)]


def test_who_is_preempted_again_at_once_goes_ever_more_slowly():
    assert taken_after(20)[:6] == [1, 1, 2, 4, 8, 16]
    assert taken_after(20, delays=Delays(tired=4))[:6] == [1, 1, 2, 4, 4, 4]


def test_who_is_preempted_now_and_then_goes_at_once():
    assert taken_after(5_000) == [1] * 12


def test_a_cluster_that_would_never_come_to_rest_is_simulated_in_bounded_time():
    """Small jobs reclaim from large ones that borrow, and these from one another: all would stay so for ever."""
    draw = stream(18, "unrest")
    queues = [queue(f"q{n}", 10, "co", within="LowerPriority", reclaim="Any") for n in range(10)]
    jobs = [
        job(
            f"j{n:03d}",
            f"q{n % 10}",
            draw.below(60_000),
            10**7,
            (1, 1, 1, 2, 4, 8)[draw.below(6)],
            priority=draw.below(3),
        )
        for n in range(400)
    ]
    made = play(queues, jobs, horizon=3_600_000)
    assert made.loops
    assert sum(one.requeues for one in made.lives) > 100
    assert made.cycles < 2_000
