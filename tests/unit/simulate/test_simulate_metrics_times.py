"""Waits, completion, stretch and percentiles, each number worked out by hand."""

import pytest
from timeline_help import life, stay, timeline

from policycheck.simulate.metrics import measure
from policycheck.simulate.quantile import Ratio, jain, spread
from policycheck.simulate.timeline import PENDING, REFUSED, RUNNING


def test_percentiles_are_the_nearest_rank():
    # Ten values: rank 5 of 10 is the median, rank 9 the p90, rank 10 (9.9 upwards) the p99.
    found = spread([70, 10, 20, 100, 30, 40, 90, 50, 60, 80])
    assert (found.p50, found.p90, found.p99, found.most) == (50, 90, 100, 100)
    assert (found.size, found.censored, found.total, found.mean) == (10, 0, 550, 55.0)
    assert found.bounds == ()


def test_one_value_is_every_percentile():
    found = spread([7])
    assert (found.p50, found.p90, found.p99, found.most) == (7, 7, 7, 7)


def test_what_still_waits_counts_and_marks_what_it_could_raise():
    # 1 2 3 4 have ended, 2 and 9 wait: sorted 1 2 2 3 4 9. Rank 3 of 6 is 2; were the two that wait
    # endless it would be 3 (1 2 3 4 - -), so it is a bound, as are ranks 6 (p90, p99, max).
    found = spread([1, 2, 3, 4], [2, 9])
    assert (found.p50, found.p90, found.most) == (2, 9, 9)
    assert found.bounds == ("p50", "p90", "p99", "max")
    # Twenty ended and one waits: rank 11 is 10 with it at 5 and 11 with it endless... a bound; but with
    # it at 30 rank 11 is 11 either way, and rank 19 of 21 (p90) is 19: exact. Rank 21 is the one that waits.
    found = spread(list(range(1, 21)), [30])
    assert (found.p50, found.p90, found.p99) == (11, 19, 30)
    assert found.bounds == ("p99", "max")


def test_nothing_has_no_percentiles_and_says_why():
    found = spread([], why="no job was submitted")
    assert (found.p50, found.most, found.mean, found.why) == (None, None, None, "no job was submitted")


def test_a_ratio_without_a_whole_has_no_value():
    assert Ratio(0, 0, "nothing ran").value is None
    assert Ratio(1, 4).value == 0.25


def test_jain_by_hand():
    # (1 + 1 + 2)^2 / (3 * (1 + 1 + 4)) = 16 / 18
    assert jain([1.0, 1.0, 2.0]) == pytest.approx(16 / 18)
    assert jain([3.0, 3.0]) == 1.0
    assert jain([5.0, 0.0]) == 0.5
    assert jain([]) is None
    assert jain([0.0, 0.0]) is None


def test_waits_of_a_queue_with_a_job_that_was_preempted_and_one_that_waits():
    found = measure(
        timeline(
            1000,
            [
                life("one", 0, 100, stay(0, 100)),  # waits 0, span 100
                # waits 20, runs 20-50, waits 50-80, runs 80-180: span 170, held 130, so waited 40 in all
                life("two", 10, 100, stay(30, 60, by="team/one"), stay(90, 190)),
                life("three", 400, 50, state=PENDING),  # has waited 600
            ],
        )
    )
    first, total = found.waits[:2]
    # first waits: 0, 20, and at least 600
    assert (first.size, first.censored) == (3, 1)
    assert (first.p50, first.most, first.bounds) == (20_000, 600_000, ("p90", "p99", "max"))
    # waited in all: 0; 180 - 130 = 50; at least 600
    assert (total.p50, total.most) == (50_000, 600_000)


def test_two_of_three_times_are_exact_when_the_last_is_open():
    found = measure(timeline(100, [life("a", 0, 10, stay(5, 15)), life("b", 0, 500, stay(1), state=RUNNING)]))
    assert (found.waits.first.censored, found.waits.total.censored) == (0, 1)
    assert found.jobs._asdict() == {
        "submitted": 2,
        "reserved": 2,
        "started": 2,
        "finished": 1,
        "running": 1,
        "holding": 1,
        "pending": 0,
        "refused": 0,
        "services": 0,
    }


def test_quota_that_was_set_aside_but_never_admitted_is_waiting():
    held = stay(10, 40, admitted=-1, ready=-1, ended_by="AdmissionCheck")
    found = measure(timeline(100, [life("a", 0, 30, held, state=PENDING)]))
    assert (found.jobs.reserved, found.jobs.started) == (1, 0)
    assert (found.waits.first.most, found.waits.first.censored) == (100_000, 1)
    assert found.waits.total.most == 100_000


def test_the_way_from_quota_to_running():
    found = measure(
        timeline(
            100,
            [
                life("a", 0, 10, stay(10, 40, admitted=15, ready=30)),  # quota at 10, ready 15 s after 15
                life("b", 5, 10, stay(25, admitted=40, ready=-1), state=RUNNING),  # admitted for 60 s so far
                life("c", 0, 10, stay(50, admitted=-1, ready=-1), state=RUNNING),  # a check has not passed
                # admitted at 0, evicted at 30 before all pods ran, which they did at 45
                life(
                    "d",
                    0,
                    10,
                    stay(0, 30, ready=-1, ended_by="PodsReadyTimeout"),
                    stay(40, 55, ready=45),
                ),
            ],
        )
    ).waits
    assert (found.reserved.p50, found.reserved.most, found.reserved.censored) == (10_000, 50_000, 0)
    # to the first admission: 0, 15, 35 and at least 100
    assert (found.first.p90, found.first.most, found.first.censored) == (100_000, 100_000, 1)
    assert (found.ready.size, found.ready.p50, found.ready.most, found.ready.censored) == (
        3,
        45_000,
        60_000,
        1,
    )


def test_what_would_come_after_the_end_counts_nowhere():
    found = measure(timeline(50, [life("a", 0, 10, stay(0, 10)), life("b", 50, 10, state=PENDING, queue="")]))
    assert (found.jobs.submitted, found.later, found.outside, found.held.stuck) == (1, 1, 0, ())


def test_completion_and_stretch():
    found = measure(
        timeline(
            2000,
            [
                life("quick", 0, 2, stay(10, 12)),  # 12 s for 2 s: 6 times; bounded 12/10
                life("plain", 0, 100, stay(0, 100)),  # once
                life("slow", 0, 100, stay(1000, 1100)),  # 11 times
                life("waits", 900, 100, state=PENDING),  # waited 1100, so at least 1200: 12 times
                life("serves", 0, 5, stay(1000), state=RUNNING, nature="service"),  # no batch
            ],
        )
    )
    time = found.completion.time
    # 12, 100, 1100, at least 1200: rank 2 of 4 is 100
    assert (time.size, time.censored, time.p50, time.most) == (4, 1, 100_000, 1_200_000)
    assert found.completion.tail is None
    assert "lower bounds" in found.completion.tail_why
    slow = found.completion.slowdown
    assert (slow.p50, slow.p90, slow.bounds) == (6.0, 12.0, ("p90", "p99", "max"))
    # bounded: 1.2, 1, 11, at least 12
    assert found.completion.bounded.p50 == 1.2
    assert (found.stretch.over5, found.stretch.over10) == (3, 2)
    assert [(one.job, one.times, one.done) for one in found.stretch.jobs] == [
        ("team/waits", 12.0, False),
        ("team/slow", 11.0, True),
        ("team/quick", 6.0, True),
    ]


def test_the_tail_is_p99_over_the_median():
    lives = [life("a", 0, 10, stay(0, 10)), life("b", 0, 10, stay(0, 10)), life("c", 0, 10, stay(60, 70))]
    found = measure(timeline(100, lives)).completion
    assert (found.tail, found.tail_why) == (7.0, "")


def test_exactly_five_times_is_not_over_five():
    found = measure(timeline(100, [life("a", 0, 10, stay(40, 50))])).stretch
    assert (found.spread.p50, found.over5, found.jobs) == (5.0, 0, ())


def test_the_maximum_execution_time_is_all_that_a_job_needs():
    # It wants 100 s and may have 10: 20 s from submission is twice.
    found = measure(timeline(50, [life("a", 0, 100, stay(10, 20), limit=10_000)]))
    assert found.stretch.spread.p50 == 2.0


def test_makespan_is_of_a_closed_batch_alone():
    closed = [life("a", 5, 10, stay(5, 15)), life("b", 7, 10, stay(20, 30))]
    assert measure(timeline(40, closed)).makespan == 25_000  # 5 to 30
    found = measure(timeline(40, [*closed, life("c", 8, 10, state=PENDING)]))
    assert (found.makespan, found.makespan_why) == (
        None,
        "1 of 3 jobs had not finished: no closed batch",
    )
    serving = life("s", 0, 10, stay(0), state=RUNNING, nature="service")
    assert measure(timeline(40, [*closed, serving])).makespan_why == "services have no end"


def test_groups_by_queue_priority_and_class():
    found = measure(
        timeline(
            100,
            [
                life("a", 0, 10, stay(1, 11), priority=100, priority_class="high", klass="train"),
                life("b", 0, 10, stay(3, 13), priority=0, klass="train"),
                life("c", 0, 10, stay(7, 17), priority=0, klass="eval", queue="b"),
            ],
            [],
        )
    )
    assert [(g.key, g.names, g.waits.first.most) for g in found.priorities] == [
        ("100", ("high",), 1000),
        ("0", (), 7000),
    ]
    assert [(g.key, g.jobs.submitted, g.waits.first.p50) for g in found.classes] == [
        ("eval", 1, 7000),
        ("train", 2, 1000),
    ]


def test_what_was_refused_is_counted_and_does_not_wait():
    found = measure(timeline(100, [life("a", 0, 10, state=REFUSED, queue="")]))
    assert (found.jobs.refused, found.outside, found.waits.first.size) == (1, 1, 0)
    assert found.waits.first.why == "every job was refused"


def test_what_was_given_up_after_a_stay_waits_no_more():
    # Started at 20, given up at 30: the wait is 20 and nothing after 30 counts.
    found = measure(timeline(1000, [life("a", 0, 50, stay(20, 30, ended_by="GivenUp"), state=REFUSED)]))
    assert (found.waits.first.most, found.waits.first.censored) == (20_000, 0)
    assert found.waits.total.most == 20_000
    assert found.held.refused[0].job == "team/a"


def test_nothing_at_all():
    found = measure(timeline(0))
    assert found.waits.first.why == "no job was submitted"
    assert (found.makespan, found.makespan_why) == (None, "no job was submitted")
    assert found.preemption.share.value is None
    assert found.preemption.healthy is None
    assert found.cluster.allocated.why == "the scenario has no length"
    assert found.fairness.jain is None
    assert found.held == ((), (), ())
    assert found.effort.per_admission.value is None


def test_everything_waits():
    found = measure(timeline(60, [life(str(n), 0, 10, state=PENDING) for n in range(5)]))
    assert found.waits.first.bounds == ("p50", "p90", "p99", "max")
    assert found.waits.first.p50 == 60_000
    assert found.preemption.share.why == "no job was started"
    assert found.stretch.over5 == 5  # 60 s of waiting and 10 s to go: at least 7 times
