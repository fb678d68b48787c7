"""How long jobs wait and take: queueing delay, completion time, slowdown, stretch.

Definitions follow the studies of large clusters (Philly at ATC'19, Helios, Acme: delay from submission to
the first start) and the parallel workloads archive (slowdown, bounded at 10 s).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from policycheck.simulate.passage import FLOOR, Passage
from policycheck.simulate.quantile import P50, P99, Number, Spread, spread
from policycheck.simulate.timeline import REFUSED

Key = TypeVar("Key", bound=Hashable)

NOT_STARTED = "no job was started"
OVER, FAR_OVER = 5, 10  # times its own run time: what counts as stretched


class Waits(NamedTuple):
    """``first`` is from submission to the first admission, ``reserved`` to the first quota, which checks may
    follow; ``ready`` from the first admission until all pods ran; ``total`` is all time not admitted,
    which is known once a job has finished.
    """

    first: Spread
    total: Spread
    reserved: Spread
    ready: Spread


class Stretched(NamedTuple):
    """A job that took, or has taken so far, more than OVER times its own run time."""

    job: str
    queue: str
    klass: str
    own: int
    span: int
    done: bool

    @property
    def times(self) -> float:
        """How many times its own run time."""
        return self.span / self.own


class Stretch(NamedTuple):
    """Completion over own run time, of batch jobs; ``over5`` and ``over10`` count jobs beyond."""

    spread: Spread
    over5: int
    over10: int
    jobs: tuple[Stretched, ...]  # all beyond OVER, the worst first


class Completion(NamedTuple):
    """Times from submission to completion of batch jobs (JCT). ``tail`` is p99 over the median."""

    time: Spread
    tail: float | None
    tail_why: str
    slowdown: Spread  # completion over own run time
    bounded: Spread  # the same with runs of at least 10 s


def grouped(passages: Iterable[Passage], key: Callable[[Passage], Key]) -> dict[Key, list[Passage]]:
    """Passages by ``key``."""
    found: dict[Key, list[Passage]] = {}
    for one in passages:
        found.setdefault(key(one), []).append(one)
    return found


def waits(passages: Sequence[Passage]) -> Waits:
    """Of all that could wait: what was refused without ever starting is counted elsewhere."""
    some = [p for p in passages if p.started or p.life.state != REFUSED]
    why = "no job was submitted" if not passages else "every job was refused"
    first = spread([p.wait for p in some if p.started], [p.wait for p in some if not p.started], why)
    total = spread([p.waited for p in some if p.done], [p.waited for p in some if not p.done], why)
    held = [bool(p.life.stays) for p in some]
    reserved = spread(
        [p.reserve for p, has in zip(some, held, strict=True) if has],
        [p.reserve for p, has in zip(some, held, strict=True) if not has],
        why,
    )
    started = [p for p in some if p.started]
    ready = spread(
        [p.start for p in started if p.start >= 0],
        [p.span - p.wait for p in started if p.start < 0],
        NOT_STARTED if some else why,
    )
    return Waits(first, total, reserved, ready)


def completion(passages: Sequence[Passage]) -> Completion:
    """Of batch jobs that were not refused; what has not finished is censored."""
    some = _batch(passages)
    why = "no batch job was submitted"
    time = _spread(some, lambda p: p.least_span, why)
    tail, tail_why = _tail(time)
    return Completion(
        time,
        tail,
        tail_why,
        _spread(some, lambda p: p.least_span / p.own, why),
        _spread(some, lambda p: max(1.0, p.least_span / max(p.own, FLOOR)), why),
    )


def stretch(passages: Sequence[Passage]) -> Stretch:
    """Of batch jobs; one that has not finished counts as stretched once it can not end below the line."""
    some = _batch(passages)
    beyond = [
        Stretched(p.life.job.id, p.life.queue, p.life.job.klass, p.own, p.least_span, p.done)
        for p in some
        if p.least_span > OVER * p.own
    ]
    beyond.sort(key=lambda s: (-s.times, s.job))
    return Stretch(
        _spread(some, lambda p: p.least_span / p.own, "no batch job was submitted"),
        len(beyond),
        sum(s.span > FAR_OVER * s.own for s in beyond),
        tuple(beyond),
    )


def makespan(passages: Sequence[Passage]) -> tuple[int | None, str]:
    """From the first submission to the last completion, and why there is none: it says something of a
    closed batch alone, one that all comes to its end.
    """
    if not passages:
        return None, "no job was submitted"
    if not all(p.is_batch for p in passages):
        return None, "services have no end"
    left = sum(not p.done for p in passages)
    if left:
        return None, f"{left} of {len(passages)} jobs had not finished: no closed batch"
    begin = min(p.life.job.submit for p in passages)
    return max(p.life.job.submit + p.span for p in passages) - begin, ""


def _batch(passages: Iterable[Passage]) -> list[Passage]:
    return [p for p in passages if p.is_batch and (p.started or p.life.state != REFUSED)]


def _spread(some: Iterable[Passage], value: Callable[[Passage], Number], why: str) -> Spread:
    ended: list[Number] = []
    censored: list[Number] = []
    for one in some:
        (ended if one.done else censored).append(value(one))
    return spread(ended, censored, why)


def _tail(time: Spread) -> tuple[float | None, str]:
    if time.p50 is None or time.p99 is None:
        return None, time.why
    if time.is_bound(P50) or time.is_bound(P99):
        return None, "too many jobs had not finished: the percentiles are lower bounds"
    return (time.p99 / time.p50, "") if time.p50 else (None, "the median is 0")
