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
_T = (
    *(
        12.706,
        4.303,
        3.182,
        2.776,
        2.571,
        2.447,
        2.365,
        2.306,
        2.262,
        2.228,
        2.201,
        2.179,
        2.160,
        2.145,
        2.131,
    ),
    *(
        2.120,
        2.110,
        2.101,
        2.093,
        2.086,
        2.080,
        2.074,
        2.069,
        2.064,
        2.060,
        2.056,
        2.052,
        2.048,
        2.045,
        2.042,
    ),
)
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
    """The figure of values by seed, in the same order on both sides."""
    both = [(old, new) for old, new in zip(olds, news, strict=True) if old is not None and new is not None]
    old = _mean([v for v in olds if v is not None])
    new = _mean([v for v in news if v is not None])
    if not both:
        return Figure(*kind, old, new, why=why or "one side has nothing to measure")
    differences = [after - before for before, after in both]
    middle = sum(differences) / len(differences)
    if len(differences) < 2:
        return Figure(*kind, old, new, middle)
    spread = math.sqrt(sum((d - middle) ** 2 for d in differences) / (len(differences) - 1))
    degrees = len(differences) - 1
    t = _T[degrees - 1] if degrees <= len(_T) else _NORMAL
    half = t * spread / math.sqrt(len(differences))
    return Figure(*kind, old, new, middle, middle - half, middle + half)


def _mean(values: Sequence[float]) -> Value:
    return sum(values) / len(values) if values else None


def whole(olds: Sequence[Metrics], news: Sequence[Metrics]) -> tuple[Figure, ...]:
    """Figures of the whole cluster."""
    return tuple(
        paired(kind, [_whole(kind, m) for m in olds], [_whole(kind, m) for m in news])
        for kind in (ALLOCATED, SATURATED, P50, P90, P99, PREEMPTED, WASTED, STARTED, WAITING)
    )


def _whole(kind: Kind, found: Metrics) -> Value:
    scale = 1000 if found.resource == "cpu" else 1
    match kind:
        case kind if kind == ALLOCATED:
            return found.cluster.allocated.value
        case kind if kind == SATURATED:
            return found.cluster.at_saturation.value
        case kind if kind in (P50, P90, P99):
            return _seconds(
                {P50: found.waits.first.p50, P90: found.waits.first.p90}.get(kind, found.waits.first.p99)
            )
        case kind if kind == PREEMPTED:
            return found.preemption.share.value
        case kind if kind == WASTED:
            return found.work.lost / (3_600_000 * scale)
        case kind if kind == STARTED:
            return float(found.jobs.started)
        case _:
            return float(found.jobs.pending)


def _seconds(ms: float | None) -> Value:
    return None if ms is None else ms / 1000


def of_queue(olds: Sequence[QueueMetrics | None], news: Sequence[QueueMetrics | None]) -> tuple[Figure, ...]:
    """Figures of one queue; None where a side has no such queue."""
    return tuple(
        paired(kind, [_queue(kind, q) for q in olds], [_queue(kind, q) for q in news])
        for kind in (P50, P90, HONOURED, RECLAIM, PREEMPTED)
    )


def _queue(kind: Kind, found: QueueMetrics | None) -> Value:
    if found is None:
        return None
    match kind:
        case kind if kind == P50:
            return _seconds(found.waits.first.p50)
        case kind if kind == P90:
            return _seconds(found.waits.first.p90)
        case kind if kind == HONOURED:
            return found.use.honoured.value
        case kind if kind == RECLAIM:
            return _seconds(found.use.reclaims.p90)
        case _:
            return found.preempted.value
