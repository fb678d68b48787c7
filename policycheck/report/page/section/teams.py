"""One row a queue: what it was promised, what it had, how it waited."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.model.amount import UNLIMITED
from policycheck.report.page.html import Cell, Column, Markup, element, join, swatch, table
from policycheck.report.page.view import HONOURED, LISTED, Section, View, below, flagged, time
from policycheck.report.simulation_words import hours, percent
from policycheck.simulate.metrics import QueueMetrics
from policycheck.simulate.preemption import HEALTHY
from policycheck.simulate.quantile import P50, P90, P99


def teams(view: View) -> Section | None:
    """The table; with very many queues the worst of them, and the rest in one row."""
    queues = view.metrics.queues
    if not queues:
        return None
    shown = _chosen(queues)
    rows = [_row(view, q) for q in shown]
    said: list[Cell] = []
    if len(queues) > len(shown):
        said.append(
            f"{len(queues):,} queues are too many to list. These {len(shown):,} come first: guarantee honoured "
            "least, then the longest waits at p90. The JSON report has all of them."
        )
    before = join(element("p", one) for one in said)
    signs = [swatch(view.colours.of(q.name)) for q in shown]
    made = table("Queues: guarantee, use, waits", _columns(view), rows, signs)
    return Section("teams", "Queues", before, after=join((made, _note())))


def _chosen(queues: Sequence[QueueMetrics]) -> Sequence[QueueMetrics]:
    if len(queues) <= LISTED:
        return queues

    def worst(q: QueueMetrics) -> tuple[float, float, str]:
        honoured = 1.0 if q.use.honoured.value is None else q.use.honoured.value
        return honoured, -float(q.waits.first.p90 or 0), q.name

    return sorted(queues, key=worst)[:LISTED]


def _columns(view: View) -> list[Column]:
    return [
        Column("Queue", number=False),
        Column("Guarantee", hint=f"nominal quota, in {view.unit}"),
        Column("In use", hint="of the guarantee, averaged over time; above 100% it borrowed"),
        Column("Peak", hint=f"the most it held at once, in {view.unit}"),
        Column(f"{view.unit.removesuffix('s')} hours", hint="what it held over time"),
        Column("of these borrowed", hint="beyond its guarantee"),
        Column("Started", hint="jobs started, of those that came"),
        Column(
            "Wait p50", hint="from submission to the first admission: half of the jobs waited at most that"
        ),
        Column("Wait p90"),
        Column("Wait p99"),
        Column(
            "Honoured", hint="share of the time, while it asked for its guarantee, in which it had all of it"
        ),
        Column("Reclaim p99", hint="how long until what it is guaranteed was there"),
        Column("Preempted", hint="distinct jobs preempted at least once, of those started"),
        Column("Waiting", hint="jobs that wait at the end"),
    ]


def _row(view: View, q: QueueMetrics) -> list[Cell]:
    use, first = q.use, q.waits.first
    honoured: Cell = percent(use.honoured) if use.honoured.whole else "-"
    if below(use.honoured, HONOURED):
        honoured = flagged(honoured, "low")
    preempted: Cell = percent(q.preempted) if q.preempted.whole else "-"
    if q.preempted.whole and not below(q.preempted, HEALTHY):
        preempted = flagged(preempted, "high")
    return [
        q.name,
        view.amount(q.nominal),
        percent(use.utilisation) if 0 < q.nominal < UNLIMITED else "-",
        view.amount(use.peak),
        hours(view.metrics, use.used),
        hours(view.metrics, use.borrowed),
        f"{q.jobs.started:,}/{q.jobs.submitted:,}",
        *(time(first, name) for name in (P50, P90, P99)),
        honoured,
        time(use.reclaims, P99),
        preempted,
        f"{q.jobs.pending:,}",
    ]


def _note() -> Markup:
    return element(
        "p",
        "A wait goes from submission to the first admission; what still waits counts with what it has waited so "
        "far, and percentiles that this makes a lower bound are marked ≥. ▲ marks a guarantee honoured in less "
        f"than {HONOURED.part}% of the time in which it was asked for, and a preempted share of {HEALTHY.part}% "
        "or more.",
        class_="note",
    )
