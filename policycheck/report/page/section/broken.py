"""How broken up what was free was, and how close together gangs came to lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from policycheck.report.page.axis import rows, spec_of, time_axis
from policycheck.report.page.engine import altair
from policycheck.report.page.html import Cell, Column, Markup, element, fold, join, key, table
from policycheck.report.page.view import Figure, Section, View
from policycheck.report.simulation_words import percent, span
from policycheck.simulate.quantile import Ratio

_LISTED = 24


class _Line(NamedTuple):
    """One measure over time."""

    colour: str
    title: str
    says: str
    overall: Ratio
    values: Sequence[Ratio]


def broken(view: View) -> Section | None:
    """Fragmentation over time, and topology by level; None when nodes were not simulated."""
    found = view.metrics.fragmentation
    figures = () if found.why or not _known(view) else (_figure(view),)
    after = [part for part in (_worst(view), _levels(view)) if part]
    if not figures and not after:
        return None
    return Section("fragmentation", "Fragmentation and topology", Markup(), figures, after=join(after))


def _figure(view: View) -> Figure:
    lines = _known(view)
    words = [f"{percent(line.overall)} {line.says}" for line in lines]
    says = f"Over time: {'; '.join(words)}, on average."
    rows_of_key = [(line.colour, line.colour, line.title) for line in lines]
    return Figure(
        "fragmentation-all",
        "How broken up the free part was",
        says,
        _spec(view, lines, says),
        beside=join((key(rows_of_key), fold("As a table", _table(view, lines)))),
    )


def _known(view: View) -> list[_Line]:
    """The lines of which anything is known."""
    found = view.metrics.fragmentation
    gang = _Line(
        "var(--q2)",
        "largest gang that fits, of what is free",
        "of what was free could be had by one gang",
        found.gang,
        [one.gang for one in found.series],
    )
    waste = _Line(
        "var(--q10)",
        "free, but of no use to this mix",
        "of what was free was of no use to the jobs of this mix",
        found.fragment,
        [one.fragment for one in found.series],
    )
    return [line for line in (gang, waste) if any(ratio.whole for ratio in line.values)]


def _spec(view: View, lines: Sequence[_Line], says: str) -> dict[str, Any]:
    alt = altair()
    starts = [view.clock.at(one.at) for one in view.metrics.fragmentation.series]
    values: list[dict[str, Any]] = [
        {"t": at, "v": round(ratio.value, 4), "c": line.colour, "w": line.title}
        for line in lines
        for at, ratio in zip(starts, line.values, strict=True)
        if ratio.value is not None
    ]
    titles = [line.title for line in lines]
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
                "w:N", legend=None, scale=alt.Scale(domain=titles, range=[[1, 0], [5, 3]][: len(titles)])
            ),
        )
        .properties(width="container", height=150, description=says)
    )
    return spec_of(made)


def _table(view: View, lines: Sequence[_Line]) -> Markup:
    series = view.metrics.fragmentation.series
    step = max(1, -(-len(series) // _LISTED))
    columns = [Column("From", number=False), *(Column(line.title) for line in lines)]
    made: list[list[Cell]] = [
        [span(series[n].at), *(percent(line.values[n]) for line in lines)]
        for n in range(0, len(series), step)
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
