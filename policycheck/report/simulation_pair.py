"""Two simulations side by side, in a few lines: what changed for whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.report.screen import Style, width
from policycheck.report.simulation_words import bounded, percent
from policycheck.simulate.metrics import Metrics, QueueMetrics
from policycheck.simulate.quantile import P99, Ratio

_ALIKE = 0.005  # guarantees that differ by less are the same to a reader
Row = tuple[str, str, str]


def render_pair(before: Metrics, after: Metrics, names: tuple[str, str], style: Style) -> str:
    """All jobs first, then the queues whose guarantee came out differently."""
    rows = [*_all(before, after), *_queues(before, after, style)]
    first = max(width(row[0]) for row in rows)
    sizes = [max(len(names[n]), *(len(row[n + 1]) for row in rows)) for n in (0, 1)]
    lines = [style.paint("strong", _line(("", *names), first, sizes))]
    lines += [_line(row, first, sizes) for row in rows]
    return "\n".join(lines) + "\n"


def _line(row: Row, first: int, sizes: Sequence[int]) -> str:
    cells = "".join(f"  {cell:>{size}}" for cell, size in zip(row[1:], sizes, strict=True))
    return f"  {row[0]}{' ' * (first - width(row[0]))}{cells}"


def _all(before: Metrics, after: Metrics) -> Iterable[Row]:
    both = (before, after)
    started = [Ratio(m.jobs.started, m.jobs.submitted) for m in both]
    yield "jobs that started", percent(started[0]), percent(started[1])
    use = [m.cluster.at_saturation for m in both]
    yield "in use while more is asked than free", percent(use[0]), percent(use[1])
    taken = [m.preemption.share for m in both]
    yield "started jobs that were preempted", percent(taken[0]), percent(taken[1])


def _queues(before: Metrics, after: Metrics, style: Style) -> Iterable[Row]:
    later = {q.name: q for q in after.queues}
    for queue in before.queues:
        other = later.get(queue.name)
        if other is None or not _differ(queue.use.honoured, other.use.honoured):
            continue
        kept = [percent(q.use.honoured) for q in (queue, other)]
        yield f"{queue.name}: had its guarantee when it asked", kept[0], kept[1]
        owed = [_reclaim(q, style) for q in (queue, other)]
        yield f"{queue.name}: p99 until it had it", owed[0], owed[1]


def _differ(one: Ratio, other: Ratio) -> bool:
    if one.value is None or other.value is None:
        return False
    return abs(one.value - other.value) >= _ALIKE


def _reclaim(queue: QueueMetrics, style: Style) -> str:
    return bounded(queue.use.reclaims, P99, style) if queue.use.reclaims.size else "at once"
