"""Stretches of time: what is read, what is refused, what is shown."""

from __future__ import annotations

import pytest

from policycheck.simulate.period import PeriodError, parse, rate, show


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("100ms", 100),
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("1.5h", 5_400_000),
        ("2d", 172_800_000),
        ("1w", 604_800_000),
        ("30", 30_000),
        (30, 30_000),
        (0.25, 250),
        (0, 0),
        ("10m", 600_000),  # minutes, and no milliseconds without their s
    ],
)
def test_lengths_of_time_are_milliseconds(text, found):
    assert parse(text) == found


@pytest.mark.parametrize(
    "text", ["", "4 parsecs", "-1h", "h", "1h-", "1hh", "1e3", None, True, [], "٣h", "1y"]
)
def test_what_is_no_length_of_time_is_refused_with_what_is_allowed(text):
    with pytest.raises(PeriodError, match="4h or 1h30m"):
        parse(text)


def test_a_slip_of_the_unit_is_told():
    with pytest.raises(PeriodError, match=r"20000d is longer than 10,000 days; check the unit"):
        parse("20000d")


def test_rates_are_in_milliseconds():
    assert rate("30/h") == 30 / 3_600_000
    assert rate("2 / s") == 0.002
    for text in ("30", "30/year", "/h", 3, None):
        with pytest.raises(PeriodError, match="as in 30/h or 2/s"):
            rate(text)


@pytest.mark.parametrize(
    ("period", "text"),
    [
        (0, "0s"),
        (250, "250ms"),
        (1_000, "1s"),
        (1_500, "1s500ms"),
        (5_400_000, "1h30m"),
        (86_400_000 * 12, "12d"),
        (86_400_000 + 1, "1d"),
        (86_400_000 + 3_600_000 * 2 + 60_000, "1d2h"),
    ],
)
def test_a_period_is_shown_in_its_two_largest_units(period, text):
    assert show(period) == text
