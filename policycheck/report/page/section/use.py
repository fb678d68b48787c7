"""What queues held over time, against what there is and what they were promised."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from policycheck.model.amount import UNLIMITED
from policycheck.report.page.axis import rows, spec_of, time_axis
from policycheck.report.page.colour import FOREGROUND, MUTED, OTHERS
from policycheck.report.page.engine import altair
from policycheck.report.page.html import DASH, LINE, Column, Markup, element, fold, join, key, table
from policycheck.report.page.thin import POINTS, is_thinned, moments
from policycheck.report.page.view import Figure, Section, View, middle
from policycheck.report.simulation_words import percent, span
from policycheck.simulate.metrics import QueueMetrics
from policycheck.simulate.timeline import QueueLine, Step

_SMALL_POINTS = 160
_TABLE = 16  # moments that the table beside the chart lists


def use(view: View) -> Section | None:
    """All queues stacked, and each of those that held most for itself."""
    lines = {line.name: line for line in view.timeline.queues}
    if not lines or not view.timeline.end:
        return None
    shown = [q for q in view.shown() if q.use.used or q.nominal or q.jobs.submitted]
    stacked = _Stack(view, [lines[q.name] for q in shown])
    before: list[Markup] = []
    if stacked.is_thinned:
        before.append(
            element(
                "p",
                f"Drawn at {len(stacked.times):,} of {stacked.of:,} moments: of each stretch of time those at which "
                "use and what waits are least and greatest, so that no peak is missing.",
                class_="note",
            )
        )
    figure = Figure(
        "use-all",
        f"{view.unit} in use, by queue",
        stacked.says(),
        stacked.spec(),
        beside=join((key(_key(view)), fold("As a table", stacked.table()))),
    )
    small = tuple(_small(view, q, lines[q.name], n) for n, q in enumerate(shown))
    return Section(
        "use", "Use over time", join(before), (figure,), small=small, after=_small_key(view, len(lines))
    )


def _key(view: View) -> list[tuple[str, str, str]]:
    most = (LINE, "fg", "capacity") if view.timeline.supply else (DASH, "fg", "nominal quota of all queues")
    return [*view.key(), most]


def _small_key(view: View, queues: int) -> Markup:
    said = (
        "In the small charts: filled is what the queue holds, the dashed line its guarantee, the thin line what it "
        "holds and what waits together."
    )
    if queues > len(view.colours.own):
        said += f" The {len(view.colours.own)} queues that held most have one, of {queues:,}."
    return element("p", said, class_="note")


class _Stack:
    """The state of all queues at the moments that are drawn."""

    def __init__(self, view: View, shown: Sequence[QueueLine]) -> None:
        self.view = view
        self.shown = shown
        times, used, waiting = _totals(view)
        kept = moments(times, (used, waiting), view.timeline.end)
        self.of = len(times)
        self.is_thinned = is_thinned(len(times), POINTS)
        self.times = [times[n] for n in kept]
        self.used = [used[n] for n in kept]
        self.waiting = [waiting[n] for n in kept]
        self.own = [_at(line.steps, self.times) for line in shown]
        self.has_others = len(view.timeline.queues) > len(shown)

    def spec(self) -> dict[str, Any]:
        """Areas in steps, capacity above them, and what holds at the moment that one points at."""
        alt = altair()
        view = self.view
        fields = [str(n) for n in range(len(self.shown))] + (["o"] if self.has_others else [])
        colours = [view.colours.of(line.name) for line in self.shown] + ([OTHERS] if self.has_others else [])
        values = self._values()
        area = (
            alt.Chart(rows(values))
            .transform_fold(fields or ["o"], as_=["k", "v"])
            .transform_calculate(i="datum.k == 'o' ? 99 : toNumber(datum.k)")
            .mark_area(interpolate="step-after", strokeWidth=0)
            .encode(
                x=time_axis(view.clock),
                y=alt.Y("v:Q", stack="zero", title=view.unit),
                fill=alt.Fill(
                    "k:N", scale=alt.Scale(domain=fields or ["o"], range=colours or [OTHERS]), legend=None
                ),
                order=alt.Order("i:Q"),
            )
        )
        layers = [area, *self._capacity(), self._pointer(values)]
        return spec_of(alt.layer(*layers).properties(width="container", height=260, description=self.says()))

    def _values(self) -> list[dict[str, Any]]:
        number = self.view.number
        made = []
        for n, at in enumerate(self.view.clock.apart(self.times)):
            row: dict[str, Any] = {"t": at}
            row.update({str(k): number(own[n].used) for k, own in enumerate(self.own)})
            if self.has_others:
                row["o"] = number(self.used[n] - sum(own[n].used for own in self.own))
            row["w"] = number(self.waiting[n])
            made.append(row)
        if made:  # the last state holds until the end
            made.append({**made[-1], "t": max(self.view.clock.last, made[-1]["t"] + 1e-5)})
        return made

    def _capacity(self) -> list[Any]:
        """What usable nodes have, or all nominal quota where nodes are not known."""
        alt = altair()
        view = self.view
        supply = view.timeline.supply
        if supply:
            kept = moments([one.at for one in supply], ([one.total for one in supply],), view.timeline.end)
            values = [{"t": view.clock.at(supply[n].at), "c": view.number(supply[n].total)} for n in kept]
            values.append({**values[-1], "t": view.clock.last})
            line = alt.Chart(rows(values)).mark_line(
                interpolate="step-after", stroke=FOREGROUND, strokeWidth=1.5
            )
            return [line.encode(x=time_axis(view.clock), y=alt.Y("c:Q", title=view.unit))]
        quota = sum(q.nominal for q in view.metrics.queues if q.nominal < UNLIMITED)
        rule = alt.Chart(rows([{"c": view.number(quota)}])).mark_rule(
            stroke=FOREGROUND, strokeDash=[5, 4], strokeWidth=1.5
        )
        return [rule.encode(y=alt.Y("c:Q", title=view.unit))]

    def _pointer(self, values: list[dict[str, Any]]) -> Any:
        """A line at the moment nearest to the pointer, with what every queue holds then."""
        alt = altair()
        view = self.view
        near = alt.selection_point(
            name="near", nearest=True, on="pointerover", clear="pointerout", encodings=["x"], empty=False
        )
        tips = [alt.Tooltip("t:Q", title=view.clock.name, format=".4~g")]
        tips += [
            alt.Tooltip(f"{n}:Q", title=middle(line.name, 48), format=",.5~g")
            for n, line in enumerate(self.shown)
        ]
        tips += [alt.Tooltip("o:Q", title="others", format=",.5~g")] if self.has_others else []
        tips.append(alt.Tooltip("w:Q", title="waits", format=",.5~g"))
        return (
            alt.Chart(rows(values))
            .mark_rule(stroke=FOREGROUND, strokeWidth=1)
            .encode(
                x=time_axis(view.clock),
                opacity=alt.condition(near, alt.value(0.7), alt.value(0)),
                tooltip=tips,
            )
            .add_params(near)
        )

    def says(self) -> str:
        """The chart in words."""
        cluster = self.view.metrics.cluster
        peak = max(self.used, default=0)
        return (
            f"Stacked areas of what {len(self.view.timeline.queues):,} queues held over "
            f"{span(self.view.timeline.end)}: at most {self.view.amount(peak)} {self.view.unit} at once, "
            f"{percent(cluster.allocated)} of capacity on average."
        )

    def table(self) -> Markup:
        """Some moments as numbers."""
        size = len(self.times)
        chosen = sorted({round(n * (size - 1) / (_TABLE - 1)) for n in range(_TABLE)}) if size else []
        columns = [Column("At", number=False), Column("In use"), Column("Waiting")]
        columns += [Column(line.name) for line in self.shown]
        made = [
            [
                span(self.times[n]),
                self.view.amount(self.used[n]),
                self.view.amount(self.waiting[n]),
                *(self.view.amount(own[n].used) for own in self.own),
            ]
            for n in chosen
        ]
        return table(f"{self.view.unit} in use at some moments", columns, made)


def _totals(view: View) -> tuple[list[int], list[int], list[int]]:
    """All queues together: the moments at which anything changes, what is used, what waits."""
    changes: list[tuple[int, int, int]] = []
    for line in view.timeline.queues:
        used = waiting = 0
        for step in line.steps:
            if step.at < view.timeline.end or not step.at:
                changes.append((step.at, step.used - used, step.waiting - waiting))
                used, waiting = step.used, step.waiting
    changes.sort()
    times: list[int] = []
    all_used: list[int] = []
    all_waiting: list[int] = []
    used = waiting = 0
    for at, more_used, more_waiting in changes:
        used, waiting = used + more_used, waiting + more_waiting
        if times and times[-1] == at:
            all_used[-1], all_waiting[-1] = used, waiting
        else:
            times.append(at)
            all_used.append(used)
            all_waiting.append(waiting)
    return times, all_used, all_waiting


_NOTHING = Step(0, 0, 0, 0, 0, 0)


def _at(steps: Sequence[Step], times: Sequence[int]) -> list[Step]:
    """The step that holds at each of ``times``."""
    starts = [step.at for step in steps]
    found = (bisect_right(starts, at) - 1 for at in times)
    return [steps[n] if n >= 0 else _NOTHING for n in found]


def _small(view: View, queue: QueueMetrics, line: QueueLine, number: int) -> Figure:
    """One queue: what it holds, its guarantee, and what waits on top."""
    alt = altair()
    steps = [step for step in line.steps if step.at < view.timeline.end or not step.at]
    used = [step.used for step in steps]
    wanted = [step.used + step.waiting for step in steps]
    kept = moments([step.at for step in steps], (used, wanted), view.timeline.end, _SMALL_POINTS)
    values = [
        {"t": view.clock.at(steps[n].at), "u": view.number(used[n]), "d": view.number(wanted[n])}
        for n in kept
    ]
    if values:
        values.append({**values[-1], "t": view.clock.last})
    colour = view.colours.of(queue.name)
    x = time_axis(view.clock, titled=False)
    base = alt.Chart(rows(values)).encode(x=x)
    y = alt.Y("u:Q", title=None, axis=alt.Axis(tickCount=3))
    layers = [
        base.mark_area(interpolate="step-after", fill=colour).encode(y=y),
        base.mark_line(interpolate="step-after", stroke=MUTED, strokeWidth=1).encode(y="d:Q"),
    ]
    if queue.nominal < UNLIMITED:
        rule = alt.Chart(rows([{"n": view.number(queue.nominal)}]))
        layers.append(rule.mark_rule(stroke=FOREGROUND, strokeDash=[5, 4]).encode(y="n:Q"))
    says = (
        f"{queue.name}: guarantee {view.amount(queue.nominal)}, held at most {view.amount(queue.use.peak)} "
        f"{view.unit}, honoured {percent(queue.use.honoured)} of the time that it asked."
    )
    made = alt.layer(*layers).properties(width="container", height=84, description=says)
    return Figure(f"use-{number}", middle(queue.name, 40), says, spec_of(made))
