"""Metrics of drawn timelines: the order of jobs is nothing, and time is only scaled."""

import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from policycheck.simulate.metrics import measure
from policycheck.simulate.quantile import spread
from policycheck.simulate.timeline import PENDING

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "simulate"))

from timeline_help import life, line, stay, step, timeline

END = 1000


@st.composite
def lives(draw):
    found = []
    for number in range(draw(st.integers(0, 8))):
        at = submit = draw(st.integers(0, 400))
        stays = []
        for _ in range(draw(st.integers(0, 3))):
            at += draw(st.integers(0, 40))
            ended = at + draw(st.integers(20, 90))
            stays.append(stay(at, ended, by="team/x", lost=draw(st.integers(0, 20))))
            at = ended
        done = draw(st.booleans())
        if done:
            at += draw(st.integers(0, 40))
            stays.append(stay(at, at + 50))
        found.append(
            life(
                f"j{number}",
                submit,
                draw(st.integers(20, 60)),
                *stays,
                state="finished" if done else PENDING,
                queue=draw(st.sampled_from("ab")),
                priority=draw(st.integers(0, 2)),
                klass=draw(st.sampled_from(["", "train"])),
            )
        )
    return found


@st.composite
def lines(draw):
    found = []
    for name in "ab":
        times = sorted(draw(st.sets(st.integers(1, END + 50), max_size=6)) | {0})
        steps = []
        for at in times:
            waiting = draw(st.integers(0, 20))
            used = draw(st.integers(0, 12))
            fitting = draw(st.integers(0, min(waiting, max(0, 8 - used))))
            steps.append(step(at, used, waiting, fitting))
        found.append(line(name, *steps))
    return found


@given(lives(), lines(), st.randoms(use_true_random=False))
def test_the_order_of_jobs_is_nothing(some, queues, draw):
    whole = timeline(END, some, queues)
    shuffled = list(whole.lives)
    draw.shuffle(shuffled)
    assert measure(whole._replace(lives=tuple(shuffled))) == measure(whole)


def scaled(whole, by):
    def life_by(one):
        stays = tuple(
            s._replace(
                **{
                    name: value if (value := getattr(s, name)) < 0 else value * by
                    for name in ("reserved", "admitted", "ready", "ended", "lost", "idle")
                }
            )
            for s in one.stays
        )
        job = one.job._replace(submit=one.job.submit * by, duration=one.job.duration * by)
        finished = one.finished * by if one.finished >= 0 else -1
        return one._replace(job=job, stays=stays, finished=finished)

    return whole._replace(
        end=whole.end * by,
        lives=tuple(map(life_by, whole.lives)),
        queues=tuple(
            q._replace(steps=tuple(s._replace(at=s.at * by) for s in q.steps)) for q in whole.queues
        ),
    )


def times(found, by):
    return found._replace(
        **{
            name: None if (value := getattr(found, name)) is None else value * by
            for name in ("p50", "p90", "p99", "most", "total")
        }
    )


@given(lives(), lines(), st.integers(2, 9))
def test_time_scaled_scales_times_and_leaves_shares(some, queues, by):
    whole = timeline(END, some, queues)
    one, other = measure(whole), measure(scaled(whole, by))
    assert other.waits.first == times(one.waits.first, by)
    assert other.waits.total == times(one.waits.total, by)
    assert other.completion.time == times(one.completion.time, by)
    assert other.completion.slowdown == one.completion.slowdown
    assert (other.stretch.over5, other.stretch.over10) == (one.stretch.over5, one.stretch.over10)
    assert other.preemption.share == one.preemption.share
    for mine, theirs in zip(one.queues, other.queues, strict=True):
        assert theirs.use.honoured.value == mine.use.honoured.value
        assert theirs.use.utilisation.value == mine.use.utilisation.value
        assert theirs.use.reclaims == times(mine.use.reclaims, by)
        assert theirs.use.used == mine.use.used * by
    assert other.cluster.saturated.value == one.cluster.saturated.value
    assert other.cluster.allocated.value == one.cluster.allocated.value
    assert other.work.goodput.value == one.work.goodput.value
    assert other.fairness.jain == one.fairness.jain


@given(lives(), lines())
def test_parts_add_up(some, queues):
    found = measure(timeline(END, some, queues))
    jobs = found.jobs
    assert jobs.submitted == jobs.finished + jobs.holding + jobs.pending + jobs.refused
    assert sum(q.jobs.submitted for q in found.queues) + found.outside == jobs.submitted
    assert sum(g.jobs.submitted for g in found.priorities) == jobs.submitted
    assert found.waits.first.size == jobs.submitted - jobs.refused
    assert found.waits.first.total <= found.waits.total.total
    assert len(found.held.stuck) == jobs.pending
    for queue in found.queues:
        assert queue.waits.first.size == sum(spread.size for _, spread in queue.by_priority)
        for ratio in (queue.use.honoured, queue.use.honoured_amount):
            assert ratio.value is None or 0 <= ratio.value <= 1


@given(st.lists(st.integers(0, 50)), st.lists(st.integers(0, 50)), st.data())
def test_whatever_the_open_ones_become_bounds_hold(ended, waiting, data):
    """Percentiles of the truth are at least those found, and equal where no bound is said."""
    found = spread(ended, waiting)
    grown = [value + data.draw(st.integers(0, 100)) for value in waiting]
    truth = spread([*ended, *grown])
    for name in ("p50", "p90", "p99", "max"):
        field = "most" if name == "max" else name
        mine, real = getattr(found, field), getattr(truth, field)
        assert (mine is None) == (real is None)
        assert mine is None or (real == mine if not found.is_bound(name) else real >= mine)
