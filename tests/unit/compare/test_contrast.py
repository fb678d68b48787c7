import math

import pytest

from policycheck.report.compare import change, value, verdict
from policycheck.simulate.contrast import (
    ALLOCATED,
    HONOURED,
    OWN,
    P90,
    STARTED,
    WHOLE,
    Figure,
    averaged,
    of_queue,
    paired,
    whole,
)


def test_the_paired_interval_of_an_example_worked_by_hand():
    # Differences 2, 4, 6, 8: mean 5, sum of squares 9 + 1 + 1 + 9 = 20, standard deviation sqrt(20 / 3),
    # standard error sqrt(20 / 12) = 1.29099, Student's t for 3 degrees 3.182: half the width is 4.10794.
    found = paired(P90, [10, 20, 30, 40], [12, 24, 36, 48])
    assert (found.old, found.new, found.difference) == (25, 30, 5)
    assert found.low == pytest.approx(5 - 4.10794, abs=1e-4)
    assert found.high == pytest.approx(5 + 4.10794, abs=1e-4)
    assert found.is_clear
    assert verdict(found) == "worse"


def test_pairing_finds_what_the_spread_between_seeds_would_hide():
    olds, news = [100, 200, 300, 400], [101, 201, 301, 401.5]
    found = paired(P90, olds, news)
    assert found.is_clear
    assert found.high < 2


def test_one_seed_has_a_difference_and_no_interval():
    found = paired(P90, [10], [7])
    assert (found.difference, found.low, found.high) == (-3, None, None)
    assert not found.is_clear
    assert verdict(found) == "better"
    assert change(found) == "-3s"


def test_seeds_without_a_value_on_one_side_make_no_pair():
    found = paired(P90, [10, None, 30], [11, 50, None])
    assert (found.old, found.new) == (10, 11)
    assert (found.difference, found.low) == (1, None)


def test_nothing_to_pair_says_why():
    found = paired(P90, [None, None], [1, 2])
    assert (found.old, found.new, found.difference) == (None, 1.5, None)
    assert found.why
    assert verdict(found) == ""
    assert change(found) == ""


def test_different_numbers_of_seeds_are_a_mistake():
    with pytest.raises(ValueError, match="argument 2 is longer"):
        paired(P90, [1], [1, 2])


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        (Figure(*P90, 5, 5, 0), "same"),
        (Figure(*P90, 5, 5, 0, 0, 0), "same"),
        (Figure(*P90, 5, 5, 0, -1, 1), "unclear"),
        (Figure(*P90, 5, 7, 2, -1, 5), "unclear"),
        (Figure(*P90, 5, 7, 2, 1, 3), "worse"),
        (Figure(*P90, 5, 3, -2, -3, -1), "better"),
        (Figure(*HONOURED, 0.5, 0.7, 0.2, 0.1, 0.3), "better"),
        (Figure(*HONOURED, 0.7, 0.5, -0.2, -0.3, -0.1), "worse"),
        (Figure(*STARTED, 5, 7, 2), "better"),
    ],
)
def test_verdicts(figure, word):
    assert verdict(figure) == word


def test_differences_of_shares_are_points_and_nothing_has_no_sign():
    found = Figure(*ALLOCATED, 0.5, 0.458, -0.042, -0.05, 0.00001)
    assert change(found) == "-4.2 points (-5.0 to 0.0)"
    assert value(found, 0.9999) == "99.9%"
    assert value(found, 1.0) == "100%"
    assert value(found, 0.0001) == "<0.1%"
    assert value(found, None) == "-"


def test_the_mean_of_seeds_with_the_interval_of_the_mean():
    # 1, 2, 3: standard deviation 1, t for 2 degrees 4.303.
    found = averaged(P90, [1, 2, 3])
    assert (found.mean, found.low) == (2, 0.0)  # no wait is below nothing
    assert found.high == pytest.approx(2 + 4.303 / math.sqrt(3))
    assert averaged(ALLOCATED, [0.9, 0.99]).high == 1.0
    assert averaged(P90, [4]).low is None
    assert averaged(P90, [None, None]).mean is None
    assert averaged(P90, [None, None]).why
    assert averaged(P90, [None, 4]).values == (None, 4)


def test_many_seeds_use_the_normal_value():
    values = [float(n % 2) * 100 + 100 for n in range(40)]
    found = averaged(P90, values)
    deviation = math.sqrt(sum((v - 150) ** 2 for v in values) / 39)
    assert found.high == pytest.approx(150 + 1.96 * deviation / math.sqrt(40))


def test_figures_keep_their_places():
    old, new = tuple(range(len(WHOLE))), tuple(range(1, len(WHOLE) + 1))
    found = whole([old], [new])
    assert [(f.name, f.old, f.new) for f in found] == [(k.name, n, n + 1) for n, k in enumerate(WHOLE)]


def test_a_queue_of_one_side_alone_has_no_differences():
    seen = tuple(float(n) for n in range(len(OWN)))
    found = of_queue([None, None], [seen, seen])
    assert [f.new for f in found] == list(seen)
    assert all(f.old is None and f.difference is None and f.why for f in found)
