"""The table of a simulation with a row for each queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from policycheck.model.amount import UNLIMITED
from policycheck.report.screen import Style, clean, width, wrap
from policycheck.report.simulation_words import amount, at_least, bounded, percent
from policycheck.simulate.metrics import Metrics, QueueMetrics
from policycheck.simulate.preemption import HEALTHY
from policycheck.simulate.quantile import P50, P90, P99, Ratio
from policycheck.wording import plural

_ROWS = 20  # that are shown unless all are asked for
_NAME = 28  # cells of a queue's name at most; a third of the width when that is less
_POOR, _BAD = Ratio(95, 100), Ratio(80, 100)  # guarantees kept so often are worth a colour


class _Column(NamedTuple):
    """One column: its heading, what stands in it, and the role of its colour."""

    title: str
    cell: Callable[[QueueMetrics], str]
    role: Callable[[QueueMetrics], str] = lambda _: ""


def _columns(found: Metrics, style: Style) -> list[_Column]:
    """From left to right; in ``teams`` those are left out that do not fit, the least telling first."""
    return [
        _Column("quota", lambda q: "no limit" if q.nominal >= UNLIMITED else amount(found, q.nominal)),
        _Column("jobs", lambda q: f"{q.jobs.submitted:,}"),
        _Column("waiting", lambda q: f"{q.jobs.pending:,}" if q.jobs.pending else "-"),
        _Column("p50", lambda q: bounded(q.waits.first, P50, style)),
        _Column("p90", lambda q: bounded(q.waits.first, P90, style)),
        _Column("p99", lambda q: bounded(q.waits.first, P99, style)),
        _Column("guarantee", lambda q: percent(q.use.honoured), lambda q: _kept(q.use.honoured)),
        _Column("reclaim", lambda q: bounded(q.use.reclaims, P99, style)),
        _Column("preempted", lambda q: percent(q.preempted), _felt),
    ]


_DISPENSABLE = ("quota", "waiting", "p50", "jobs", "reclaim", "p99", "preempted")  # in this order


def _kept(ratio: Ratio) -> str:
    value = ratio.value
    if value is None or value >= (_POOR.value or 1):
        return ""
    return "warning" if value >= (_BAD.value or 1) else "error"


def _felt(queue: QueueMetrics) -> str:
    value = queue.preempted.value
    return "warning" if value is not None and value >= (HEALTHY.value or 1) else ""


def teams(found: Metrics, style: Style) -> list[str]:
    """The table; all queues by name, or those that are worst off when they are many."""
    some = sorted(found.queues, key=_plight) if len(found.queues) > _ROWS else list(found.queues)
    shown = some if style.verbose else some[:_ROWS]
    if not shown:
        return []
    columns = _columns(found, style)
    names = [_cut(clean(q.name, ascii_only=style.ascii), style) for q in shown]
    first = max([len("queue"), *map(width, names)])
    cells = [[column.cell(q) for q in shown] for column in columns]
    sizes = [max(len(c.title), *map(len, row)) for c, row in zip(columns, cells, strict=True)]
    kept = _fitting(columns, sizes, style.width - first)
    head = "queue".ljust(first) + "".join(f"  {columns[n].title:>{sizes[n]}}" for n in kept)
    rows = ["", style.paint("strong", head)]
    for number, (queue, name) in enumerate(zip(shown, names, strict=True)):
        row = name + " " * (first - width(name))
        for n in kept:
            text, role = f"{cells[n][number]:>{sizes[n]}}", columns[n].role(queue)
            row += f"  {style.paint(role, text) if role else text}"
        rows.append(row)
    if len(shown) < len(some):
        rest = f"and {plural(len(some) - len(shown), 'queue')} more that fared better (--verbose shows all)"
        rows += [style.paint("dim", row) for row in wrap(rest, style.width)]
    if not style.quiet:
        told = (
            "; reclaim: p99 of how long it took" if any(columns[n].title == "reclaim" for n in kept) else ""
        )
        legend = _LEGEND.format(mark=at_least(style), reclaim=told)
        rows += [style.paint("dim", row) for row in wrap(legend, style.width)]
    return rows


_LEGEND = (
    "p50 to p99: from submission to admission; {mark} marks what still waits, with the wait so far. guarantee: "
    "of the time in which it asked for its nominal quota, the share in which it had it{reclaim}."
)


def _plight(queue: QueueMetrics) -> tuple[float, float, str]:
    """Who is worst off comes first."""
    kept = queue.use.honoured.value
    return (1.0 if kept is None else kept, -(queue.waits.first.p90 or 0), queue.name)


def _cut(name: str, style: Style) -> str:
    most = min(_NAME, style.width // 3)
    if width(name) <= most:
        return name
    kept = name
    while kept and width(kept) > most - len(style.more):
        kept = kept[:-1]
    return kept + style.more


def _fitting(columns: Sequence[_Column], sizes: Sequence[int], room: int) -> list[int]:
    kept = list(range(len(columns)))
    for title in _DISPENSABLE:
        if sum(sizes[n] + 2 for n in kept) <= room:
            break
        kept = [n for n in kept if columns[n].title != title]
    return kept
