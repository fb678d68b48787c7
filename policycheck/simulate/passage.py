"""What one job lived through, as times: the sums over its stays that metrics are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policycheck.simulate.job import BATCH, SECOND
from policycheck.simulate.timeline import DONE, FINISHED, OPEN, PENDING, REFUSED, Life, Stay, Timeline

# Below this a run counts as so long where tiny jobs would rule a mean (bounded slowdown).
FLOOR = 10 * SECOND


class Passage(NamedTuple):
    """One job in milliseconds. Quota that was set aside but never admitted is waiting, not running.

    ``wait`` goes from submission to the first admission, or to the end when there was none, ``reserve`` to
    the first quota; ``span`` from submission to completion, or to the end. ``start`` is from the first
    admission until all pods ran, -1 without. ``held`` is the time in admission, ``run`` the part of it in
    which all pods ran, ``lost`` the part of that which was thrown away.
    """

    life: Life
    started: bool
    done: bool
    reserve: int
    wait: int
    start: int
    span: int
    held: int
    run: int
    lost: int
    own: int  # run time that it needs undisturbed: its duration, or the limit if that is less
    is_batch: bool  # it runs to an end, so that completion and stretch mean something
    least_span: int  # the span; of what has not finished, the least that it can become

    @property
    def waited(self) -> int:
        """All waiting: the time of its life in which it was not admitted."""
        return self.span - self.held


def passages(timeline: Timeline) -> tuple[Passage, ...]:
    """One a job, in the order of the timeline; without those that would have come after its end."""
    return tuple(_passage(life, timeline.end) for life in timeline.lives if arrived(life, timeline.end))


def arrived(life: Life, end: int) -> bool:
    """Whether the scenario saw it at all."""
    return bool(life.stays or life.state != PENDING or life.queue or life.job.submit < end)


def _passage(life: Life, end: int) -> Passage:
    first, ready, held, run, lost = -1, -1, 0, 0, 0
    for stay in life.stays:
        until = stay.ended if stay.ended >= 0 else end
        lost += stay.lost
        if stay.admitted >= 0:
            first = stay.admitted if first < 0 else first
            held += max(0, until - stay.admitted)
        if stay.ready >= 0:
            ready = stay.ready if ready < 0 else ready
            run += max(0, until - stay.ready - stay.idle)
    job = life.job
    over = life.finished if life.finished >= 0 else _closed(life, end)
    span = max(0, over - job.submit)
    wait = max(0, (first if first >= 0 else over) - job.submit)
    reserve = max(0, life.stays[0].reserved - job.submit) if life.stays else wait
    start = ready - first if ready >= 0 else -1
    own = min(job.duration, job.limit) if job.limit > 0 else job.duration
    done, held = life.state == FINISHED, min(held, span)
    least = span if done else max(span, span - held + own)
    batch = job.nature == BATCH and own > 0
    return Passage(life, first >= 0, done, reserve, wait, start, span, held, run, lost, own, batch, least)


def _closed(life: Life, end: int) -> int:
    """When a life that never finished ends: what is refused after a stay waits no more."""
    ended = [stay.ended for stay in life.stays if stay.ended >= 0]
    return max(ended) if life.state == REFUSED and ended else end


def evicted(life: Life) -> Iterable[Stay]:
    """The stays that ended before the work was done."""
    return (stay for stay in life.stays if stay.ended_by not in {DONE, OPEN})


def is_preemption(stay: Stay) -> bool:
    """Whether it ended for the sake of another workload."""
    return bool(stay.cause or stay.by)
