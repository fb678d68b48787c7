"""How long jobs waited, by queue and priority."""

from __future__ import annotations

from typing import Any, NamedTuple

from policycheck.report.page.axis import long_axis, rows, spec_of
from policycheck.report.page.colour import FOREGROUND, MUTED
from policycheck.report.page.engine import altair
from policycheck.report.page.html import Cell, Column, element, fold, join, table
from policycheck.report.page.view import Figure, Section, View, labels, time
from policycheck.report.simulation_words import span
from policycheck.simulate.quantile import MOST, P50, P90, P99, Spread

_ROWS = 36  # that the chart shows
_LISTED = 120  # that the table shows
_WIDE, _NARROW = 26, 10  # characters of a queue's name on the axis
_BOUND = "triangle-right"


class _Row(NamedTuple):
    queue: str
    rank: int
    priority: str
    found: Spread


def waits(view: View) -> Section | None:
    """A row for each queue and priority: half, nine of ten, ninety-nine of a hundred."""
    every = _rows(view)
    if not every:
        return None
    shown = every
    before: list[Cell] = []
    if len(every) > _ROWS:
        keep = sorted(every, key=lambda r: (-float(r.found.p90 or 0), r.queue, r.priority))[:_ROWS]
        chosen = set(keep)
        shown = [row for row in every if row in chosen]
        before.append(
            element(
                "p",
                f"{len(every):,} queues and priorities: the {len(shown)} with the longest waits at p90 are drawn.",
                class_="note",
            )
        )
    figure = Figure(
        "waits-all",
        "Waits from submission to the first admission",
        _says(shown),
        _spec(view, shown, narrow=False),
        _spec(view, shown, narrow=True),
        beside=join(
            (
                element(
                    "p",
                    "● half of the jobs waited at most so long; the thick line ends at nine of ten, the thin one at 99 "
                    "of 100. ▷ is a lower bound, since some still wait.",
                    class_="note",
                ),
                fold("As a table", _table(every)),
            )
        ),
    )
    return Section("waits", "Waits", join(before), (figure,))


def _rows(view: View) -> list[_Row]:
    names = {int(group.key): group.names for group in view.metrics.priorities}
    ranked = {q.name: n for n, q in enumerate(view.metrics.queues)}
    made = []
    for queue in view.metrics.queues:
        for rank, found in queue.by_priority:
            if found.size:
                made.append(_Row(queue.name, rank, _priority(rank, names.get(rank, ())), found))
    return sorted(made, key=lambda row: ranked[row.queue])


def _priority(rank: int, names: tuple[str, ...]) -> str:
    return f"{names[0]} ({rank})" if len(names) == 1 else str(rank)


def _labels(shown: list[_Row], *, narrow: bool) -> list[str]:
    """What each row is called on the axis; where there is little room a priority is its number."""
    alone = len({row.priority for row in shown}) == 1
    queues = labels([row.queue for row in shown], _NARROW if narrow else _WIDE)
    if alone:
        return [queues[row.queue] for row in shown]
    return [f"{queues[row.queue]} · {row.rank if narrow else row.priority}" for row in shown]


def _says(shown: list[_Row]) -> str:
    worst = max(shown, key=lambda row: (float(row.found.p90 or 0), row.queue))
    return (
        f"Ranges of waits for {len(shown)} queues and priorities. The longest at p90: {worst.queue} at priority "
        f"{worst.priority}, {span(worst.found.p90 or 0)}."
    )


def _spec(view: View, shown: list[_Row], *, narrow: bool) -> dict[str, Any]:
    alt = altair()
    called = _labels(shown, narrow=narrow)
    values = [{"l": label, **_value(view, row)} for label, row in zip(called, shown, strict=True)]
    most = max(max(value["a"], value["b"], value["c"]) for value in values)
    y = alt.Y("l:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, grid=False, offset=8))
    base = alt.Chart(rows(values)).encode(y=y, tooltip=_tips())
    x = long_axis("a", most, "wait")
    shape = alt.Shape("s:N", scale=None)
    bound = alt.Shape("z:N", scale=None)
    layers = [
        base.mark_rule(stroke=MUTED, strokeWidth=1.5).encode(x=x, x2="c"),
        base.mark_bar(height=6).encode(x=x, x2="b", fill=alt.Fill("f:N", scale=None)),
        base.mark_point(size=55, opacity=1, fill=FOREGROUND, strokeWidth=0).encode(x=x, shape=shape),
        base.transform_filter("datum.z != ''")
        .mark_point(size=50, opacity=1, fill=MUTED, strokeWidth=0)
        .encode(x="c:Q", shape=bound),
    ]
    made = alt.layer(*layers).properties(width="container", height=20 * len(values), description=_says(shown))
    return spec_of(made)


def _value(view: View, row: _Row) -> dict[str, Any]:
    """One row as data, times in seconds."""
    found = row.found
    return {
        "q": row.queue,
        "r": row.priority,
        "a": float(found.p50 or 0) / 1000,
        "b": float(found.p90 or 0) / 1000,
        "c": float(found.p99 or 0) / 1000,
        "s": _BOUND if found.is_bound(P50) else "circle",
        "z": _BOUND if found.is_bound(P99) else "",
        "f": view.colours.of(row.queue),
        "jobs": found.size,
        "still": found.censored,
        **{name: str(time(found, name)) for name in (P50, P90, P99, MOST)},
    }


def _tips() -> list[Any]:
    alt = altair()
    return [
        alt.Tooltip("q:N", title="queue"),
        alt.Tooltip("r:N", title="priority"),
        *(alt.Tooltip(f"{name}:N") for name in ("p50", "p90", "p99", "max")),
        alt.Tooltip("jobs:Q"),
        alt.Tooltip("still:Q", title="still wait"),
    ]


def _table(every: list[_Row]) -> Cell:
    columns = [
        Column("Queue", number=False),
        Column("Priority"),
        Column("Jobs"),
        Column("Still wait"),
        *(Column(name) for name in ("p50", "p90", "p99", "max")),
    ]
    made = [
        [
            row.queue,
            row.priority,
            f"{row.found.size:,}",
            f"{row.found.censored:,}",
            *(time(row.found, name) for name in (P50, P90, P99, MOST)),
        ]
        for row in every[:_LISTED]
    ]
    more = f" (the first {_LISTED} of {len(every):,})" if len(every) > _LISTED else ""
    return table(f"Waits by queue and priority{more}", columns, made)
