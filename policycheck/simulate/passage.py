"""What one job lived through, as times: the sums over its stays that metrics are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policycheck.simulate.job import BATCH, SECOND
from policycheck.simulate.timeline import DONE, FINISHED, OPEN, REFUSED, Life, Stay, Timeline

# Below this a run counts as so long where tiny jobs would rule a mean (bounded slowdown).
FLOOR = 10 * SECOND


class Passage(NamedTuple):
    """One job in milliseconds. Quota that was set aside but never admitted is waiting, not running.

    ``wait`` goes from submission to the first admission, or to the end when there was none; ``span`` from
    submission to completion, or to the end. ``held`` is the time in admission, ``run`` the part of it in
    which all pods ran, ``lost`` the part of that which was thrown away.
    """

    life: Life
    started: bool
    done: bool
    wait: int
    span: int
    held: int
    run: int
    lost: int

    @property
    def waited(self) -> int:
        """All waiting: the time of its life in which it was not admitted."""
        return self.span - self.held

    @property
    def own(self) -> int:
        """Run time that it needs when nothing disturbs it: its duration, or the limit if that is less."""
        job = self.life.job
        return min(job.duration, job.limit) if job.limit > 0 else job.duration

    @property
    def is_batch(self) -> bool:
        """Whether it runs to an end, so that completion and stretch mean something."""
        return self.life.job.nature == BATCH and self.own > 0

    @property
    def least_span(self) -> int:
        """The span; of what has not finished, the least that it can become."""
        return self.span if self.done else max(self.span, self.waited + self.own)


def passages(timeline: Timeline) -> tuple[Passage, ...]:
    """One a job, in the order of the timeline."""
    return tuple(_passage(life, timeline.end) for life in timeline.lives)


def _passage(life: Life, end: int) -> Passage:
    first, held, run, lost = -1, 0, 0, 0
    for stay in life.stays:
        until = stay.ended if stay.ended >= 0 else end
        lost += stay.lost
        if stay.admitted >= 0:
            first = stay.admitted if first < 0 else first
            held += max(0, until - stay.admitted)
        if stay.ready >= 0:
            run += max(0, until - stay.ready - stay.idle)
    submit = life.job.submit
    over = life.finished if life.finished >= 0 else _closed(life, end)
    span = max(0, over - submit)
    wait = max(0, (first if first >= 0 else over) - submit)
    return Passage(life, first >= 0, life.state == FINISHED, wait, span, min(held, span), run, lost)


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
