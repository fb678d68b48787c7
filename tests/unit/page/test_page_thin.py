"""Long series lose no extreme."""

from hypothesis import given
from hypothesis import strategies as st

from policycheck.report.page.thin import is_thinned, moments

SERIES = st.lists(
    st.tuples(st.integers(1, 50), st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=400
)


def columns(steps):
    times, at = [], 0
    for gap, _, _ in steps:
        times.append(at)
        at += gap
    return times, [u for _, u, _ in steps], [w for _, _, w in steps], at


@given(SERIES, st.integers(5, 60))
def test_extremes_are_kept_and_moments_are_real(steps, most):
    times, used, waiting, end = columns(steps)
    kept = moments(times, (used, waiting), end, most)
    assert kept == sorted(set(kept))
    assert kept[0] == 0
    for column in (used, waiting):
        assert max(column[n] for n in kept) == max(column)
        assert min(column[n] for n in kept) == min(column)


@given(SERIES)
def test_every_stretch_keeps_its_own_extremes(steps):
    times, used, _, end = columns(steps)
    most = 30
    kept = set(moments(times, (used,), end, most))
    if len(times) <= most:
        assert kept == set(range(len(times)))
        return
    width = -(-max(end, times[-1] + 1) // (most // 3))
    for stretch in {at // width for at in times}:
        inside = [n for n, at in enumerate(times) if at // width == stretch]
        assert max(used[n] for n in inside) == max(used[n] for n in inside if n in kept)
        assert min(used[n] for n in inside) == min(used[n] for n in inside if n in kept)


def test_how_many_are_kept_is_bounded():
    times = list(range(100_000))
    used = [n * 7919 % 1000 for n in times]
    assert len(moments(times, (used, used[::-1]), 100_000, 480)) <= 480


def test_what_is_short_stays_whole():
    assert moments([0, 5, 9], ([1, 2, 3],), 10) == [0, 1, 2]
    assert moments([], ([],), 10) == []
    assert not is_thinned(480)
    assert is_thinned(481)
