"""The search for the smallest change: what it finds holds, and one step less does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policycheck.simulate.change import Budget, Change, ExhaustedError, Option, least, search, turn


def dials(*most):
    return Option("dials", 0, most, lambda at: at, lambda at: (Change("x", "x", "x", "0", str(at)),))


@given(st.integers(0, 50), st.integers(1, 1000))
def test_the_place_where_it_begins(fails, width):
    for begins in {fails + 1, fails + 1 + width // 2, fails + width}:
        assert least(lambda value, begins=begins: value >= begins, fails, fails + width) == begins


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_without_order_it_still_fails_one_step_below(answers):
    known = [False, *answers, True]
    found = least(lambda value: known[value], 0, len(known) - 1)
    assert known[found]
    assert not known[found - 1]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=4), st.data())
def test_each_dial_as_little_as_suffices(needed, data):
    if not any(needed):
        needed[0] = 1
    most = [n + data.draw(st.integers(0, 9)) for n in needed]
    asked = []

    def works(at):
        asked.append(at)
        return all(have >= need for have, need in zip(at, needed, strict=True))

    found = turn(dials(*most), works)
    assert found.turn == tuple(needed)
    assert found.turn in asked
    assert found.state == found.turn


@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 30))
def test_a_sum_of_dials_is_cut_until_no_dial_can_do_with_less(needed, first, second):
    option = dials(first, second)
    found = turn(option, lambda at: sum(at) >= needed)
    if first + second < needed:
        assert found is None
        return
    assert sum(found.turn) == needed


def test_nothing_is_found_when_all_is_not_enough():
    assert turn(dials(5), lambda at: at[0] > 5) is None
    assert turn(dials(0), lambda _: True) is None


def test_a_budget_ends_the_search_and_keeps_what_was_found():
    budget = Budget(lambda at: at[0] >= 1, 3)
    found = list(search([dials(1), dials(1), dials(1), dials(1)], budget))
    assert len(found) == 3
    with pytest.raises(ExhaustedError):
        budget((1,))


def test_smallest_is_fewest_fields_then_fewest_people_then_least_share():
    def remedy(fields, rank, share):
        changes = tuple(Change("x", "x", str(n), "", "", share) for n in range(fields))
        option = Option("x", rank, (1,), lambda at: at, lambda _: changes)
        return turn(option, lambda _: True)

    ordered = [remedy(1, 0, 900), remedy(1, 1, 5), remedy(1, 1, 6), remedy(2, 0, 1)]
    mixed = [ordered[n] for n in (3, 1, 0, 2)]
    assert sorted(mixed, key=lambda r: r.size) == ordered
