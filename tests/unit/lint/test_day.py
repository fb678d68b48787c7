from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from policycheck.lint import day

DAYS = st.dates()


@given(DAYS)
def test_a_day_is_what_it_was(one):
    assert day.written(day.number(one.isoformat())) == one.isoformat()


@given(DAYS, DAYS)
def test_days_between_are_those_of_the_calendar(one, other):
    assert day.between(one.isoformat(), other.isoformat()) == (other - one).days


@given(st.dates(max_value=dt.date(9000, 1, 1)), st.integers(0, 4000))
def test_later_is_later(one, days):
    assert day.later(one.isoformat(), days) == (one + dt.timedelta(days=days)).isoformat()
