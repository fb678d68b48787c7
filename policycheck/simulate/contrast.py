"""Two configurations on the same jobs: figures side by side, and whether the difference is more than chance.

The same seed gives both sides the same jobs, so differences are paired; their interval is that of Student
for the mean of paired differences, at 95 %. One seed gives no interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from policycheck.simulate.metrics import Metrics, QueueMetrics
from policycheck.simulate.preemption import HEALTHY

# Student's t at 97.5 % by degrees of freedom; beyond the last the normal value is near enough.
# fmt: off
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)
# fmt: on
_NORMAL = 1.96
SECONDS, SHARE, HOURS, JOBS = "s", "share", "GPU hours", "jobs"
Value = float | None


class Figure(NamedTuple):
    """One number on both sides: means over seeds, and the paired difference new - old with its interval.

    None where a side has nothing to measure, and ``why`` says it. ``better`` is -1 when less is better.
    """

    name: str
    unit: str
    better: int
    old: Value
    new: Value
    difference: Value = None
    low: Value = None
    high: Value = None
    why: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out no difference at all."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Average(NamedTuple):
    """One number over seeds, with the interval of its mean. ``values`` by seed, None where there is none."""

    name: str
    unit: str
    values: tuple[Value, ...]
    mean: Value = None
    low: Value = None
    high: Value = None
    why: str = ""


class Kind(NamedTuple):
    """What is compared, and how it is told."""

    name: str
    unit: str
    better: int


P50 = Kind("wait p50", SECONDS, -1)
P90 = Kind("wait p90", SECONDS, -1)
P99 = Kind("wait p99", SECONDS, -1)
PREEMPTED = Kind("preempted jobs", SHARE, -1)
HONOURED = Kind("guarantee honoured", SHARE, 1)
RECLAIM = Kind("reclaim p90", SECONDS, -1)
ALLOCATED = Kind("utilisation", SHARE, 1)
SATURATED = Kind("utilisation at saturation", SHARE, 1)
WASTED = Kind("wasted", HOURS, -1)
STARTED = Kind("jobs started", JOBS, 1)
WAITING = Kind("jobs waiting at the end", JOBS, -1)
LINE = HEALTHY  # share of jobs preempted above which it hurts


def paired(kind: Kind, olds: Sequence[Value], news: Sequence[Value], why: str = "") -> Figure:
    """The figure of values by seed, in the same order on both sides. Seeds for which a side has no value count
    on neither, so that the difference is that of the means.
    """
    both = [(old, new) for old, new in zip(olds, news, strict=True) if old is not None and new is not None]
    if not both:
        old, new = (_mean([v for v in values if v is not None]) for values in (olds, news))
        return Figure(*kind, old, new, why=why or "one side has nothing to measure")
    old, new = _mean([before for before, _ in both]), _mean([after for _, after in both])
    differences = [after - before for before, after in both]
    middle, half = _interval(differences)
    if half is None:
        return Figure(*kind, old, new, middle)
    return Figure(*kind, old, new, middle, middle - half, middle + half)


def averaged(kind: Kind, values: Sequence[Value], why: str = "") -> Average:
    """The figure of values by seed. Nothing here can be below 0, no share beyond 1: the interval ends there."""
    known = [v for v in values if v is not None]
    if not known:
        return Average(kind.name, kind.unit, tuple(values), why=why or "there was nothing to measure")
    middle, half = _interval(known)
    if half is None:
        return Average(kind.name, kind.unit, tuple(values), middle)
    low, high = max(0.0, middle - half), middle + half
    if kind.unit == SHARE:
        high = min(1.0, high)
    return Average(kind.name, kind.unit, tuple(values), middle, low, high)


def _interval(values: Sequence[float]) -> tuple[float, Value]:
    """The mean, and half the width of its interval; None for one value alone."""
    middle = math.fsum(values) / len(values)
    degrees = len(values) - 1
    if not degrees:
        return middle, None
    spread = math.sqrt(math.fsum((v - middle) ** 2 for v in values) / degrees)
    t = _T[degrees - 1] if degrees <= len(_T) else _NORMAL
    return middle, t * spread / math.sqrt(len(values))


def _mean(values: Sequence[float]) -> Value:
    return math.fsum(values) / len(values) if values else None


WHOLE = (ALLOCATED, SATURATED, P50, P90, P99, PREEMPTED, WASTED, STARTED, WAITING)
OWN = (P50, P90, HONOURED, RECLAIM, PREEMPTED)  # of one queue
Seen = tuple[Value, ...]  # what one run came to, in the order of WHOLE or OWN


def whole(olds: Sequence[Seen], news: Sequence[Seen]) -> tuple[Figure, ...]:
    """Figures of the whole cluster, of ``seen_whole`` by seed."""
    return tuple(
        paired(kind, [one[n] for one in olds], [one[n] for one in news]) for n, kind in enumerate(WHOLE)
    )


def seen_whole(found: Metrics) -> Seen:
    """What one run came to for the whole cluster."""
    return tuple(_whole(kind, found) for kind in WHOLE)


def of_queue(olds: Sequence[Seen | None], news: Sequence[Seen | None]) -> tuple[Figure, ...]:
    """Figures of one queue, of ``seen_queues`` by seed; None where a side has no such queue."""
    return tuple(
        paired(kind, [_part(one, n) for one in olds], [_part(one, n) for one in news])
        for n, kind in enumerate(OWN)
    )


def _part(seen: Seen | None, number: int) -> Value:
    return None if seen is None else seen[number]


def seen_queues(found: Metrics) -> dict[str, Seen]:
    """What one run came to for each queue."""
    return {queue.name: tuple(_queue(kind, queue) for kind in OWN) for queue in found.queues}


def _whole(kind: Kind, found: Metrics) -> Value:
    waits = found.waits.first
    match kind.name:
        case ALLOCATED.name:
            return found.cluster.allocated.value
        case SATURATED.name:
            return found.cluster.at_saturation.value
        case P50.name:
            return _seconds(waits.p50)
        case P90.name:
            return _seconds(waits.p90)
        case P99.name:
            return _seconds(waits.p99)
        case PREEMPTED.name:
            return found.preemption.share.value
        case WASTED.name:
            return found.work.lost / (3_600_000 * (1000 if found.resource == "cpu" else 1))
        case STARTED.name:
            return float(found.jobs.started)
        case _:
            return float(found.jobs.pending)


def _queue(kind: Kind, found: QueueMetrics) -> Value:
    match kind.name:
        case P50.name:
            return _seconds(found.waits.first.p50)
        case P90.name:
            return _seconds(found.waits.first.p90)
        case HONOURED.name:
            return found.use.honoured.value
        case RECLAIM.name:
            return _seconds(found.use.reclaims.p90)
        case _:
            return found.preempted.value


def _seconds(ms: float | None) -> Value:
    return None if ms is None else ms / 1000
