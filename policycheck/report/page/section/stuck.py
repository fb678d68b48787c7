"""What waits at the end, what was refused, what was overtaken: with the reason in the system's words."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.report.page.html import Cell, Column, Markup, element, join, table
from policycheck.report.page.view import Section, View
from policycheck.report.simulation_words import span
from policycheck.simulate.stuck import STARVED, Starved, Stuck, by_reason

_LISTED = 30


def stuck(view: View) -> Section | None:
    """Tables by reason and by job; a sentence when nothing waits."""
    held = view.metrics.held
    if not view.metrics.jobs.submitted:
        return None
    parts: list[Cell] = []
    if not (held.stuck or held.refused or held.starved):
        parts.append(element("p", "No job waits at the end, none was refused, and none starved."))
    if held.stuck:
        parts.append(_reasons(view, held.stuck))
        parts.append(_jobs(view, "Jobs that wait at the end", held.stuck))
    if held.refused:
        parts.append(_jobs(view, "Jobs that were refused", held.refused))
    if held.starved:
        parts.append(_starved(held.starved))
    return Section("stuck", "Stuck and starved", join(parts))


def _reasons(view: View, waiting: Sequence[Stuck]) -> Markup:
    columns = [
        Column("Reason", number=False),
        Column("Jobs"),
        Column(view.unit),
        Column("Longest wait"),
        Column("For example", number=False, sentence=True),
    ]
    made: list[list[Cell]] = [
        [
            group.reason or "(none was given)",
            f"{group.jobs:,}",
            view.amount(group.amount),
            span(group.example.waited),
            join(
                (group.example.job, element("small", group.example.why))
                if group.example.why
                else (group.example.job,)
            ),
        ]
        for group in by_reason(waiting)
    ]
    return table(f"Why {len(waiting):,} jobs wait at the end", columns, made)


def _jobs(view: View, title: str, some: Sequence[Stuck]) -> Markup:
    columns = [
        Column("Job", number=False),
        Column("Queue", number=False),
        Column("Priority"),
        Column(view.unit),
        Column("Pods"),
        Column("Waited"),
        Column("Requeued", hint="times evicted and queued again"),
        Column("Reason", number=False, sentence=True),
    ]
    made: list[list[Cell]] = [
        [
            one.job,
            one.queue or "(none)",
            f"{one.priority_class} ({one.priority})" if one.priority_class else str(one.priority),
            view.amount(one.amount),
            f"{one.pods:,}",
            span(one.waited),
            f"{one.requeues:,}",
            join((one.reason or "-", element("small", one.why)) if one.why else (one.reason or "-",)),
        ]
        for one in some[:_LISTED]
    ]
    return table(_titled(title, len(some)), columns, made)


def _starved(some: Sequence[Starved]) -> Markup:
    columns = [
        Column("Job", number=False),
        Column("Queue", number=False),
        Column("Priority"),
        Column("Waited"),
        Column("Own run time"),
        Column("Overtaken by", number=False),
        Column("Still waits", number=False),
    ]
    made: list[list[Cell]] = [
        [
            one.job,
            one.queue or "(none)",
            str(one.priority),
            span(one.waited),
            span(one.own) if one.own > 0 else "-",
            one.overtaken,
            "yes" if one.waits else "no",
        ]
        for one in some[:_LISTED]
    ]
    title = f"Starved: waited more than {STARVED} times their own run time while others with no better right started"
    return table(_titled(title, len(some)), columns, made)


def _titled(title: str, number: int) -> str:
    return f"{title} (the first {_LISTED} of {number:,})" if number > _LISTED else title
