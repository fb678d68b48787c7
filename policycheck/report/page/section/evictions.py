"""Who lost quota, when and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from policycheck.report.page.axis import rows, spec_of, time_axis
from policycheck.report.page.colour import Colours
from policycheck.report.page.engine import altair
from policycheck.report.page.html import Cell, Column, Markup, bullets, element, join, key, table
from policycheck.report.page.view import Figure, Section, View
from policycheck.report.simulation_words import percent, span
from policycheck.simulate.preemption import HEALTHY
from policycheck.simulate.timeline import DONE, OPEN

_BARS = 60
_LISTED = 8  # jobs that were preempted often, pairs that took from each other


def evictions(view: View) -> Section | None:
    """How often quota was lost over time, by reason; what was taken back and forth."""
    found = view.metrics.preemption
    if not found.evictions:
        if not view.metrics.jobs.started:
            return None
        return Section(
            "evictions", "Preemptions", element("p", "No job lost its quota before its work was done.")
        )
    lost = list(_lost(view))
    colours = Colours(reason for reason, _ in Counter(reason for _, reason in lost).most_common())
    figure = Figure(
        "evictions-all",
        "Jobs that lost their quota, by reason",
        _says(view, lost),
        _spec(view, lost, colours),
        beside=join((key([(colours.of(r), colours.of(r), r) for r in colours.own]), _table(view))),
    )
    return Section("evictions", "Preemptions", element("p", _line(view)), (figure,), after=_thrash(view))


def _lost(view: View) -> Iterator[tuple[int, str]]:
    """Every loss as (when, the most exact reason)."""
    for life in view.timeline.lives:
        for stay in life.stays:
            if stay.ended_by not in (DONE, OPEN):
                yield stay.ended, stay.cause or stay.ended_by


def _line(view: View) -> str:
    share = view.metrics.preemption.share
    return (
        f"{share.part:,} of {share.whole:,} jobs that started were preempted at least once: {percent(share)}. "
        f"Below {HEALTHY.part}% is healthy."
    )


def _says(view: View, lost: list[tuple[int, str]]) -> str:
    most = Counter(reason for _, reason in lost).most_common(1)[0]
    return (
        f"Bars over {span(view.timeline.end)}: {len(lost):,} times a job lost its quota, most often by {most[0]} "
        f"({most[1]:,} times)."
    )


def _spec(view: View, lost: list[tuple[int, str]], colours: Colours) -> dict[str, Any]:
    alt = altair()
    width = max(1, -(-view.timeline.end // _BARS))
    counted = Counter((at // width, reason) for at, reason in lost)
    rank = {reason: n for n, reason in enumerate(colours.named)}
    values = [
        {
            "t": view.clock.at(n * width),
            "u": view.clock.at(min((n + 1) * width, max(view.timeline.end, 1))),
            "k": times,
            "r": reason,
            "o": rank[reason],
            "f": colours.of(reason),
        }
        for (n, reason), times in sorted(counted.items(), key=lambda item: (item[0][0], rank[item[0][1]]))
    ]
    made = (
        alt.Chart(rows(values))
        .mark_bar(binSpacing=1)
        .encode(
            x=time_axis(view.clock, binned=True),
            x2="u",
            y=alt.Y("k:Q", stack="zero", title="jobs", axis=alt.Axis(format="~s", tickMinStep=1)),
            fill=alt.Fill("f:N", scale=None),
            order=alt.Order("o:Q"),
            tooltip=[
                alt.Tooltip("r:N", title="reason"),
                alt.Tooltip("k:Q", title="times"),
                alt.Tooltip("t:Q", title=f"from ({view.clock.name})", format=".4~g"),
            ],
        )
        .properties(width="container", height=170, description=_says(view, lost))
    )
    return spec_of(made)


def _table(view: View) -> Markup:
    found = view.metrics.preemption
    columns = [
        Column("Reason", number=False),
        Column("Times"),
        Column("Jobs"),
        Column("Per start", hint="times over all admissions"),
    ]
    made: list[list[Cell]] = []
    for one in found.evictions:
        made.append([one.reason, f"{one.times:,}", f"{one.jobs:,}", percent(one.per_start)])
        if one.reason == _preempted(view):
            made += [
                [element("span", c.reason, class_="sub"), f"{c.times:,}", f"{c.jobs:,}", percent(c.per_start)]
                for c in found.causes
            ]
    return table("Evictions by reason", columns, made)


def _preempted(view: View) -> str:
    """The reason of eviction beneath which the causes of preemption belong; "" when it is not one alone."""
    reasons = {
        stay.ended_by for life in view.timeline.lives for stay in life.stays if stay.cause and stay.ended_by
    }
    return reasons.pop() if len(reasons) == 1 else ""


def _thrash(view: View) -> Markup:
    thrash = view.metrics.preemption.thrash
    if not thrash.found:
        return Markup()
    said = [f"{job} was preempted {times:,} times" for job, times in thrash.often[:_LISTED]]
    said += [
        f"{one.first} and {one.second} took from each other {one.times:,} times within an hour"
        for one in thrash.exchanges[:_LISTED]
    ]
    said += [
        f"at {span(loop.at)}, {', '.join(loop.workloads[:4])} took from one another {loop.times:,} times until the "
        "clock was pushed on"
        for loop in thrash.loops[:_LISTED]
    ]
    every = len(thrash.often) + len(thrash.exchanges) + len(thrash.loops)
    more = [f"and {every - len(said):,} more"] if every > len(said) else []
    return join((element("h3", "Thrash"), bullets([*said, *more])))
