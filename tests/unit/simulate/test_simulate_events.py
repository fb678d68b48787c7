"""The event engine with quota alone: when jobs start, how long they run, what is written down."""

import sys
from pathlib import Path

import pytest

from policycheck.simulate.events import Delays
from policycheck.simulate.job import SECOND, Arrivals
from policycheck.simulate.timeline import FINISHED, OPEN, PENDING, REFUSED, RUNNING, Step
from policycheck.systems.kueue.model import Configuration, WaitForPodsReady

sys.path.insert(0, str(Path(__file__).parent))

from engine_world import job, life, line, play, queue

WAITS = WaitForPodsReady(timeout=60, recovery_timeout=30, backoff_base=10, backoff_max=25, backoff_limit=2)


def waiting(**more):
    return Configuration(wait_for_pods_ready=WAITS._replace(**more), found=True)


def test_a_job_starts_when_it_comes_and_ends_when_it_has_run():
    made = play([queue("a", 8)], [job("x", "a", 500, 2_000, 4)])
    (stay,) = life(made, "x").stays
    assert (stay.reserved, stay.admitted, stay.ready, stay.ended) == (500, 500, 500, 2_500)
    assert (stay.ended_by, stay.lost, stay.borrowed, stay.flavors) == (
        "Finished",
        0,
        0,
        (("nvidia.com/gpu", "f"),),
    )
    assert life(made, "x").state == FINISHED
    assert life(made, "x").finished == made.end == 2_500
    assert line(made, "a").steps == (
        Step(0, 0, 0, 0, 0, 0),
        Step(500, 4, 0, 0, 0, 1),
        Step(2_500, 0, 0, 0, 0, 0),
    )


def test_a_job_without_a_run_time_runs_for_ever_as_services_do():
    made = play([queue("a", 8)], [job("x", "a", 0, 0, 6), job("y", "a", 100, 1_000, 6)], horizon=50_000)
    assert (life(made, "x").state, life(made, "y").state) == (RUNNING, PENDING)
    assert life(made, "x").stays[0].ended == -1
    assert made.end == 50_000


def test_who_does_not_fit_waits_for_who_runs():
    made = play([queue("a", 8)], [job("x", "a", 0, 1_000, 6), job("y", "a", 100, 1_000, 6)])
    assert life(made, "y").stays[0].admitted == 1_000
    assert made.end == 2_000
    waited = [s for s in line(made, "a").steps if s.waiting]
    assert waited == [Step(100, 6, 6, 0, 1, 1)]


def test_one_head_of_a_queue_is_decided_in_a_cycle_and_a_cycle_takes_a_millisecond():
    made = play([queue("a", 8), queue("b", 8)], [job(n, n[0], 0, 5_000) for n in ("a1", "a2", "a3", "b1")])
    starts = {one.job.id[3:]: one.stays[0].reserved for one in made.lives}
    assert starts == {"a1": 0, "a2": 1, "a3": 2, "b1": 0}
    assert made.cycles == 3


def test_a_decision_costs_the_service_time_and_the_next_cycle_comes_after_it():
    jobs = [job(n, n[0], 0, 5_000) for n in ("a1", "a2", "b1", "b2")]
    made = play([queue("a", 8), queue("b", 8)], jobs, service_time=0.5 * SECOND)
    starts = {one.job.id[3:]: (one.stays[0].reserved, one.stays[0].admitted) for one in made.lives}
    assert starts == {"a1": (0, 500), "b1": (0, 1_000), "a2": (1_000, 1_500), "b2": (1_000, 2_000)}


def test_a_service_time_of_less_than_a_millisecond_is_not_lost():
    jobs = [job(n, n, 0, 5_000) for n in ("a", "b", "c", "d")]
    made = play([queue(n, 8) for n in "abcd"], jobs, service_time=0.3)
    assert [one.stays[0].admitted for one in made.lives] == [0, 0, 0, 1]


def test_a_preempted_job_loses_what_it_has_done_and_runs_again():
    low, high = job("low", "a", 0, 10_000, 8), job("high", "a", 4_000, 1_000, 8, priority=10)
    made = play([queue("a", 8, within="LowerPriority")], [low, high])
    first, second = life(made, "low").stays
    assert (first.ended_by, first.cause, first.by) == ("Preempted", "InClusterQueue", "ns/high")
    assert (first.lost, first.ended) == (4_000, 4_001)
    assert life(made, "high").stays[0].reserved == 4_001
    assert (second.reserved, second.ended) == (5_001, 15_001)
    assert life(made, "low").requeues == 1


@pytest.mark.parametrize(("every", "lost"), [(0, 4_500), (1_000, 500), (4_500, 0), (5_000, 4_500)])
def test_a_checkpoint_keeps_whole_steps_of_the_run_time(every, lost):
    low, high = (
        job("low", "a", 0, 10_000, 8, checkpoint=every),
        job("high", "a", 4_500, 1_000, 8, priority=10),
    )
    made = play([queue("a", 8, within="LowerPriority")], [low, high])
    first, second = life(made, "low").stays
    assert first.lost == lost
    assert second.ended - second.ready == 10_000 - (4_500 - lost)


def test_grace_keeps_quota_of_who_was_evicted_until_its_pods_are_gone():
    low, high = job("low", "a", 0, 10_000, 8), job("high", "a", 4_000, 1_000, 8, priority=10)
    made = play([queue("a", 8, within="LowerPriority")], [low, high], delays=Delays(grace=30_000))
    assert life(made, "low").stays[0].ended == 34_000
    assert life(made, "low").stays[0].lost == 4_000
    assert life(made, "high").stays[0].reserved == 34_000
    assert made.cycles < 12


def test_what_is_beyond_nominal_is_borrowed_and_is_reclaimed():
    queues = [queue("a", 8, "co", reclaim="Any"), queue("b", 8, "co")]
    jobs = [job("b1", "b", 0, 10_000, 6), job("b2", "b", 0, 10_000, 6), job("a1", "a", 2_000, 1_000, 8)]
    made = play(queues, jobs)
    assert [life(made, n).stays[0].borrowed for n in ("b1", "b2", "a1")] == [0, 4, 0]
    assert life(made, "b2").stays[0].cause == "InCohortReclamation"
    assert life(made, "b1").requeues == 0


def test_what_would_fit_into_nominal_is_told_step_by_step():
    queues = [queue("a", 8, "co"), queue("b", 8, "co")]
    jobs = [job("b1", "b", 0, 10_000, 8, pods=2), *(job(f"a{n}", "a", 1_000, 1_000, 3) for n in range(3))]
    made = play(queues, jobs)
    step = next(s for s in line(made, "a").steps if s.at == 1_000)
    assert (step.used, step.waiting, step.jobs) == (0, 9, 3)
    assert step.fitting == 6  # two of three: 9 would be more than 8
    assert line(made, "b").steps[1].fitting == 0


def test_admission_checks_take_their_time_and_hold_quota():
    queues = [queue("a", 8, checks=("one", "two"))]
    delays = Delays(checks={"one": 3_000, "some.controller": 5_000}, check=9_000)
    checks = (("one", "some.controller"), ("two", "some.controller"))
    made = play(queues, [job("x", "a", 0, 1_000)], checks=checks, delays=delays)
    (stay,) = life(made, "x").stays
    assert (stay.reserved, stay.admitted, stay.ended) == (0, 5_000, 6_000)


def test_a_job_that_starts_up_for_too_long_backs_off_ever_longer_and_is_given_up():
    made = play(
        [queue("a", 8)], [job("x", "a", 0, 1_000, startup=90_000)], configuration=waiting(), happenings=True
    )
    one = life(made, "x")
    assert [s.ended_by for s in one.stays] == ["PodsReadyTimeout", "PodsReadyTimeout", "Deactivated"]
    assert [s.reserved for s in one.stays] == [0, 60_000 + 10_000, 70_000 + 60_000 + 20_000]
    assert (one.state, one.reason, one.why) == (REFUSED, "Deactivated", "RequeuingLimitExceeded")
    assert [s.ready for s in one.stays] == [-1, -1, -1]
    assert made.gangs["timeouts"] == 3
    assert made.happenings[-1].what == "refused"


def test_a_job_that_is_ready_in_time_is_left_alone():
    made = play([queue("a", 8)], [job("x", "a", 0, 200_000, startup=59_000)], configuration=waiting())
    (stay,) = life(made, "x").stays
    assert (stay.admitted, stay.ready, stay.ended) == (0, 59_000, 259_000)


def test_nobody_is_admitted_while_somebody_starts_up_when_admission_blocks():
    jobs = [job("x", "a", 0, 200_000, startup=20_000), job("y", "b", 1_000, 1_000)]
    made = play([queue("a", 8), queue("b", 8)], jobs, configuration=waiting(block_admission=True))
    assert life(made, "y").stays[0].reserved == 20_000


def test_the_maximum_execution_time_counts_over_all_stays():
    low = job("low", "a", 0, 10_000, 8, limit=6_000)
    made = play(
        [queue("a", 8, within="LowerPriority")], [low, job("high", "a", 4_000, 1_000, 8, priority=10)]
    )
    one = life(made, "low")
    assert [s.ended_by for s in one.stays] == ["Preempted", "Deactivated"]
    assert one.stays[1].cause == one.why == "MaximumExecutionTimeExceeded"
    ran = one.stays[0].ended - one.stays[0].admitted
    assert one.stays[1].ended == one.stays[1].admitted + 6_000 - ran + 1
    assert one.state == REFUSED


def test_at_the_horizon_what_runs_is_open_and_what_comes_later_has_not_come():
    jobs = [job("x", "a", 0, 10_000, 8), job("y", "a", 1_000, 1_000, 8), job("z", "a", 6_000, 1_000)]
    made = play([queue("a", 8)], jobs, horizon=5_000)
    assert made.end == 5_000
    assert life(made, "x").state == RUNNING
    assert life(made, "x").stays[0].ended_by == OPEN
    assert life(made, "y").state == life(made, "z").state == PENDING
    assert life(made, "y").reason == "WaitingForQuota"
    assert life(made, "z").amount == 1


def test_who_waits_at_the_end_says_why_in_amounts():
    made = play(
        [queue("a", 8)],
        [job("x", "a", 0, 10_000, 6), job("y", "a", 0, 1, 3), job("z", "a", 0, 1, 9)],
        horizon=5_000,
    )
    assert life(made, "y").why == (
        "flavor f: 3 nvidia.com/gpu asked, 2 free; "
        "a preempts nobody: withinClusterQueue and reclaimWithinCohort are Never"
    )
    assert life(made, "z").reason == "ExceedsMaxQuota"
    assert life(made, "z").why.startswith("flavor f: 9 nvidia.com/gpu asked, at most 8 possible; ")


def test_a_job_without_a_queue_that_takes_it_waits_with_the_reason():
    made = play([queue("a", 8)], [job("x", "nowhere", 0, 10_000)])
    one = life(made, "x")
    assert (one.state, one.queue, one.reason) == (PENDING, "", "Inadmissible")
    assert one.why == "there is no LocalQueue nowhere in namespace ns"


def test_a_job_that_goes_round_all_queues_starts_at_once():
    made = play([queue("a", 8)], [job("x", "", 300, 1_000, 100)])
    (stay,) = life(made, "x").stays
    assert (stay.reserved, stay.admitted, stay.ended) == (300, 300, 1_300)
    assert life(made, "x").state == FINISHED


def test_a_strict_queue_is_held_up_by_its_head_and_costs_no_endless_cycles():
    jobs = [job("x", "a", 0, 60_000, 6), job("big", "a", 1_000, 1_000, 8), job("small", "a", 2_000, 1_000)]
    made = play([queue("a", 8, strict=True)], jobs)
    assert life(made, "big").stays[0].reserved == 60_000
    assert life(made, "small").stays[0].reserved == 61_000
    assert made.cycles < 15


def test_events_are_told_in_order_when_asked_for():
    made = play([queue("a", 8)], [job("x", "a", 0, 1_000)], happenings=True)
    assert [(h.at, h.what) for h in made.happenings] == [
        (0, "submitted"),
        (0, "reserved"),
        (0, "admitted"),
        (0, "ready"),
        (1_000, "finished"),
    ]
    assert play([queue("a", 8)], [job("x", "a", 0, 1_000)]).happenings == ()


def test_without_jobs_nothing_happens():
    made = play([queue("a", 8)], [])
    assert (made.lives, made.end, made.cycles) == ((), 0, 0)


def test_supply_without_nodes_is_the_quota():
    made = play([queue("a", 8), queue("b", 4)], [job("x", "a", 0, 1_000, 6)])
    assert [(s.at, s.total, s.free) for s in made.supply] == [(0, 12, 6), (1_000, 12, 12)]
    assert made.notes
    assert Arrivals(()).horizon == 0
