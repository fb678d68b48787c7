"""How broken up what was free was, and how close together gangs came to lie."""

from __future__ import annotations

from typing import Any

from policycheck.report.page.axis import rows, spec_of, time_axis
from policycheck.report.page.engine import altair
from policycheck.report.page.html import Cell, Column, Markup, element, fold, join, key, table
from policycheck.report.page.view import Figure, Section, View
from policycheck.report.simulation_words import percent, span

_LINES = (("q2", "largest gang that fits, of what is free"), ("q10", "free, but of no use to this mix"))
_LISTED = 24


def broken(view: View) -> Section | None:
    """Fragmentation over time, and topology by level; None when nodes were not simulated."""
    found = view.metrics.fragmentation
    figures = () if found.why or not found.series else (_figure(view),)
    after = [part for part in (_worst(view), _levels(view)) if part]
    if not figures and not after:
        return None
    return Section("fragmentation", "Fragmentation and topology", Markup(), figures, after=join(after))


def _figure(view: View) -> Figure:
    found = view.metrics.fragmentation
    says = (
        f"Two lines: the largest gang that fits was {percent(found.gang)} of what was free on average; "
        f"{percent(found.fragment)} of what was free was of no use to the jobs of this mix."
    )
    return Figure(
        "fragmentation-all",
        "How broken up the free part was",
        says,
        _spec(view, says),
        beside=join(
            (
                key([(f"var(--{name})", f"var(--{name})", words) for name, words in _LINES]),
                fold("As a table", _table(view)),
            )
        ),
    )


def _spec(view: View, says: str) -> dict[str, Any]:
    alt = altair()
    values: list[dict[str, Any]] = []
    for one in view.metrics.fragmentation.series:
        for (name, words), ratio in zip(_LINES, (one.gang, one.fragment), strict=True):
            if ratio.value is not None:
                values.append(
                    {
                        "t": view.clock.at(one.at),
                        "v": round(ratio.value, 4),
                        "c": f"var(--{name})",
                        "w": words,
                    }
                )
    made = (
        alt.Chart(rows(values))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=time_axis(view.clock),
            y=alt.Y(
                "v:Q",
                title="of what is free",
                scale=alt.Scale(domain=[0, 1], clamp=True),
                axis=alt.Axis(format="%", tickCount=5),
            ),
            stroke=alt.Stroke("c:N", scale=None),
            strokeDash=alt.StrokeDash(
                "w:N", legend=None, scale=alt.Scale(domain=[w for _, w in _LINES], range=[[1, 0], [5, 3]])
            ),
        )
        .properties(width="container", height=150, description=says)
    )
    return spec_of(made)


def _table(view: View) -> Markup:
    series = view.metrics.fragmentation.series
    step = max(1, -(-len(series) // _LISTED))
    columns = [Column("From", number=False), Column("Largest gang of what is free"), Column("Of no use")]
    made: list[list[Cell]] = [
        [span(one.at), percent(one.gang), percent(one.fragment)] for one in series[::step]
    ]
    return table("Fragmentation over time", columns, made)


def _worst(view: View) -> Markup:
    worst = view.metrics.fragmentation.worst
    if worst is None:
        return Markup()
    return element(
        "p",
        f"Worst at {span(worst.at)}: {view.amount(worst.free)} {view.unit} were free, the largest gang of the reference "
        f"shape could have {view.amount(worst.largest)} of the {view.amount(worst.allowed)} that their number allows.",
    )


def _levels(view: View) -> Markup:
    found = view.metrics.topology
    parts: list[Cell] = []
    if found.levels:
        columns = [
            Column("Topology level", number=False),
            Column("Gangs placed"),
            Column("In one domain"),
            Column("As close as was possible"),
            Column("Domains over the least"),
            Column("Most domains"),
        ]
        made: list[list[Cell]] = [
            [
                one.level,
                f"{one.gangs:,}",
                percent(one.one),
                percent(one.best),
                "-" if one.stretch.value is None else f"{one.stretch.value:.2f}",
                f"{one.most:,}",
            ]
            for one in found.levels
        ]
        parts.append(table("How close together gangs came to lie", columns, made))
    if found.unplaced_jobs:
        parts.append(
            element(
                "p",
                f"{found.unplaced_jobs:,} jobs had quota and no node for {found.unplaced_pods:,} of their pods: quota "
                "that is free is no place to run.",
            )
        )
    return join(parts)
