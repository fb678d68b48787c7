"""Where a run ends that nobody set an end to."""

from timeline_help import life, line, stay, step, timeline

from policycheck.simulate.ending import ended, latest
from policycheck.simulate.job import Arrivals
from policycheck.simulate.period import DAY
from policycheck.simulate.timeline import PENDING


def job(name, submit, duration, **more):
    return life(name, submit, duration, state=PENDING).job._replace(**more)


JOBS = (job("a", 0, 100), job("b", 50, 200, startup=7000))


def test_everything_has_time_to_run_one_after_the_other():
    # The last comes at 50, they need 100 + 200 + 7 in all, and a day is left over.
    assert latest(Arrivals(JOBS)) == 357_000 + DAY
    assert latest(Arrivals(())) == DAY


def test_a_backlog_of_years_wants_a_horizon():
    many = tuple(job(str(n), 0, 86_400) for n in range(400))
    assert latest(Arrivals(many)) == 32 * DAY  # 30 days, the longest of one day, and a day


def test_what_came_to_an_end_ends_there():
    whole = timeline(100_000, [life("a", 0, 9, stay(5, 40))], [line("a", step(0, 0), step(45, 8))])
    assert ended(whole).end == 45_000
    assert ended(whole).notes == ()
    assert ended(timeline(86_400)).end == 0


def test_what_goes_on_for_ever_says_so():
    whole = timeline(100_000, [life("a", 0, 9, stay(99_000, 99_900, by="team/b"))])
    assert ended(whole).end == 100_000_000
    assert "it was stopped after 1d3h" in ended(whole).notes[0]
