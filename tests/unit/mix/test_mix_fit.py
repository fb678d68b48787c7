"""Distributions: mean and median of large samples, bounds, and the mean that load is worked out of."""

from __future__ import annotations

import math
import statistics

import pytest

from policycheck.simulate.draw import stream
from policycheck.simulate.fit import (
    Constant,
    Exponential,
    LogNormal,
    Quantiles,
    Uniform,
    choice,
    evenly,
    fitted,
)

MANY = 60_000


def sample(spread, seed=7, size=MANY):
    draw = stream(seed, "fit", repr(spread))
    return [spread.take(draw) for _ in range(size)]


# Published run times in seconds: mean, median and the sigma that follows (AcmeTrace, cluster_summary.csv).
@pytest.mark.parametrize(
    ("mean", "median", "sigma"), [(18_006, 874, 2.46), (6_652, 206, 2.64), (4_787, 481, 2.14)]
)
def test_a_log_normal_is_fitted_from_mean_and_median(mean, median, sigma):
    spread = fitted(mean, median)
    assert spread.sigma == pytest.approx(math.sqrt(2 * math.log(mean / median)))
    assert spread.sigma == pytest.approx(sigma, abs=0.006)
    assert spread.mean() == pytest.approx(mean)
    assert statistics.median(sample(spread)) == pytest.approx(median, rel=0.03)


def test_a_large_sample_has_the_mean():
    assert statistics.fmean(sample(fitted(5000, 3000))) == pytest.approx(5000, rel=0.02)


@pytest.mark.parametrize(
    ("mean", "median", "least", "most"), [(18_006, 874, 0, 86_400), (3600, 1800, 60, 43_200)]
)
def test_with_bounds_the_mean_holds_all_the_same(mean, median, least, most):
    spread = fitted(mean, median, least, most)
    found = sample(spread)
    assert least <= min(found)
    assert max(found) <= most
    assert spread.mean() == pytest.approx(mean, rel=1e-6)
    assert statistics.fmean(found) == pytest.approx(mean, rel=0.03)
    assert statistics.median(found) == pytest.approx(median, rel=0.03)


def test_a_mean_that_is_the_median_has_no_spread():
    assert sample(fitted(60, 60), size=50) == pytest.approx([60] * 50)


@pytest.mark.parametrize(
    ("mean", "median", "least", "most", "why"),
    [
        (10, 20, 0, math.inf, "a median has to be above 0 and not above the mean"),
        (10, 0, 0, math.inf, "a median has to be above 0 and not above the mean"),
        (100, 50, 60, math.inf, "lies within its bounds"),
        (100, 50, 0, 40, "lies within its bounds"),
        (100, 10, 0, 110, "no log-normal distribution with this median has this mean within the bounds"),
    ],
)
def test_what_no_log_normal_has_is_refused(mean, median, least, most, why):
    with pytest.raises(ValueError, match=why):
        fitted(mean, median, least, most)


@pytest.mark.parametrize(
    "spread",
    [
        Constant(40),
        Exponential(40),
        Exponential(40, 10, 100),
        Uniform(10, 90),
        choice({1: 0.7, 8: 0.2, 64: 0.1}),
        evenly([1, 2, 3, 10]),
        Quantiles((0, 0.5, 0.9, 1), (0, 20, 100, 400)),
        LogNormal(3, 0.7),
        LogNormal(3, 0.7, 10, 60),
        LogNormal(3, 0.0, 0, 60),
    ],
    ids=repr,
)
def test_the_mean_is_that_of_what_is_drawn(spread):
    assert statistics.fmean(sample(spread)) == pytest.approx(spread.mean(), rel=0.02)


def test_bounds_hold():
    assert {10, 100} <= set(sample(Exponential(40, 10, 100)))
    assert max(sample(Exponential(40, 10, 100))) == 100


def test_choices_come_with_their_odds():
    found = sample(choice({1: 6, 2: 3, 4: 1}))
    for value, odds in ((1, 0.6), (2, 0.3), (4, 0.1)):
        assert found.count(value) / MANY == pytest.approx(odds, abs=0.01)
    for odds in ({}, {1: 0}, {1: -1, 2: 2}):
        with pytest.raises(ValueError, match="odds have to be 0 or more"):
            choice(odds)


def test_a_value_without_odds_is_never_drawn():
    assert set(sample(choice({1: 0, 2: 1, 3: 0}), size=2000)) == {2}


def test_quantiles_are_met():
    found = sorted(sample(Quantiles((0, 0.5, 0.9, 1), (1, 20, 100, 400))))
    assert found[MANY // 2] == pytest.approx(20, rel=0.05)
    assert found[MANY * 9 // 10] == pytest.approx(100, rel=0.05)
    assert found[0] >= 1
    assert found[-1] <= 400
