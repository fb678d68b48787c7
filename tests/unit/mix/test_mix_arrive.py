"""Arrival processes and the curves that bend them."""

from __future__ import annotations

import statistics
from itertools import pairwise

import pytest

from policycheck.simulate.arrive import INTERVAL, POISSON, REPLAY, START, Process, arrivals
from policycheck.simulate.curve import FLAT, curve
from policycheck.simulate.draw import stream
from policycheck.simulate.period import DAY, HOUR, WEEK


def times(process, gap=1000.0, most=0, end=0, *, along=FLAT, seed=1):
    return list(arrivals(process, gap, most, end, stream(seed, "arrivals"), along))


def test_poisson_has_exponential_gaps():
    found = times(Process(POISSON), most=40_000)
    gaps = [b - a for a, b in pairwise(found)]
    assert statistics.fmean(gaps) == pytest.approx(1000, rel=0.02)
    assert statistics.pstdev(gaps) == pytest.approx(1000, rel=0.03)
    assert found == sorted(found)


def test_poisson_ends_with_the_horizon():
    found = times(Process(POISSON), end=HOUR)
    assert len(found) == pytest.approx(3600, rel=0.06)
    assert found[-1] < HOUR


def test_a_given_number_is_spread_over_the_horizon():
    found = times(Process(POISSON), gap=0, most=5000, end=DAY)
    assert len(found) == 5000
    assert found == sorted(found)
    assert statistics.fmean(found) == pytest.approx(DAY / 2, rel=0.03)
    assert times(Process(INTERVAL), gap=0, most=4, end=400) == [100, 200, 300]  # the fourth is the end itself


def test_an_interval_begins_after_itself_as_a_timer_does():
    assert times(Process(INTERVAL), gap=100, most=4) == [100, 200, 300, 400]
    assert times(Process(INTERVAL, first=0), gap=100, most=3) == [0, 100, 200]
    assert times(Process(INTERVAL), gap=100, end=301) == [100, 200, 300]


@pytest.mark.parametrize("jitter", [0.2, 1.0])
def test_jitter_moves_by_so_much_of_the_interval(jitter):
    found = times(Process(INTERVAL, jitter=jitter), gap=1000, most=2000)
    assert len(found) == 2000
    assert found == sorted(found)
    moved = [t - 1000 * (n + 1) for n, t in enumerate(times(Process(INTERVAL, jitter=0.2), 1000, 2000))]
    assert max(map(abs, moved)) <= 200
    assert statistics.pstdev(moved) == pytest.approx(200 / 3**0.5, rel=0.05)


def test_jitter_keeps_what_comes_before_the_end():
    found = times(Process(INTERVAL, jitter=1.0), gap=1000, end=10_000)
    assert 8 <= len(found) <= 11
    assert max(found) < 10_000


def test_all_at_the_start_and_replayed():
    assert times(Process(START), most=3) == [0, 0, 0]
    assert times(Process(START, first=500), most=2) == [500, 500]
    assert times(Process(REPLAY, times=(1, 5, 9)), end=9) == [1, 5]
    assert times(Process(REPLAY, times=(1, 5, 9)), most=1) == [1]


def test_what_has_neither_end_nor_number_gives_nothing():
    assert times(Process(POISSON)) == []
    assert times(Process(POISSON), gap=0, end=HOUR) == []


def test_a_curve_moves_arrivals_and_keeps_their_number():
    along = curve(daily=[0] * 12 + [2] * 12)
    found = times(Process(POISSON), gap=1000, end=2 * DAY, along=along)
    assert len(found) == pytest.approx(2 * DAY / 1000, rel=0.02)
    assert all(t % DAY >= 12 * HOUR for t in found)
    assert found == sorted(found)


def test_a_week_has_its_days():
    along = curve(weekly=[1, 1, 1, 1, 1, 0.5, 0.5])
    found = times(Process(POISSON), gap=1000, end=WEEK, along=along)
    by_day = [sum(t // DAY == day for t in found) for day in range(7)]
    assert by_day[5] / by_day[0] == pytest.approx(0.5, abs=0.02)
    assert len(found) == pytest.approx(WEEK / 1000, rel=0.01)


def test_a_curve_begins_at_the_hour_that_is_said():
    along = curve(daily=[0] * 12 + [2] * 12, first=12)
    assert times(Process(INTERVAL), gap=HOUR, most=1, along=along) == [HOUR // 2]
    assert along.at(0) == pytest.approx(1.0)  # halfway up between two hours


def test_load_between_the_middles_of_hours_is_a_straight_line():
    along = curve(daily=[1, 3] * 12)
    assert along.at(HOUR // 2) == pytest.approx(0.5)
    assert along.at(HOUR) == pytest.approx(1.0)
    assert along.at(HOUR + HOUR // 2) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("daily", "weekly", "why"),
    [
        ([1] * 23, [], "found 23 and 7"),
        ([], [1] * 8, "found 24 and 8"),
        ([0] * 24, [], "one of them above 0"),
        ([-1] + [1] * 23, [], "multipliers are 0 or more"),
    ],
)
def test_what_is_no_curve_is_refused(daily, weekly, why):
    with pytest.raises(ValueError, match=why):
        curve(daily, weekly)
