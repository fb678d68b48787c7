"""A simulation as a summary to read in a minute, 80 columns wide: teams, use, who waits and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.report.screen import Style, clean, hang, width, wrap
from policycheck.report.simulation import Result
from policycheck.report.simulation_teams import teams
from policycheck.report.simulation_words import (
    amount,
    bounded,
    hours,
    labelled,
    listed,
    percent,
    span,
    unit,
    unit_hours,
)
from policycheck.simulate.metrics import Metrics
from policycheck.simulate.preemption import HEALTHY, Eviction
from policycheck.simulate.quantile import MOST, P50, P90, P99, Number, Spread
from policycheck.simulate.series import QUOTA
from policycheck.simulate.stuck import Reason, Stuck, by_reason
from policycheck.simulate.topology import LevelQuality
from policycheck.wording import plural

_REASONS, _NOTES = 5, 6  # that are shown unless all are asked for


def render_text(done: Sequence[Result], style: Style) -> str:
    """One summary a scope."""
    return "\n\n".join("\n".join(_scope(one, style)) for one in done) + "\n" if done else ""


def _scope(one: Result, style: Style) -> list[str]:
    found = one.metrics
    rows = _head(one, style)
    if not found.jobs.submitted:
        return [*rows, "", *wrap("Nothing arrived, so there is nothing to tell.", style.width)]
    rows.append("")
    for label, text, role in _facts(one, style):
        rows.extend(labelled(label, text, style, role))
    rows += teams(found, style)
    rows += _waiting(one, style)
    if not style.quiet:
        rows += _names(one, style)
        rows += _notes(one, style)
        rows += _next(one, style)
    return rows


def _head(one: Result, style: Style) -> list[str]:
    scenario, found = one.scenario, one.metrics
    how = f" as {scenario.target} does{' (version assumed)' if scenario.assumed else ''}"
    where = f" in {scenario.scope}" if scenario.scope not in {"", "."} else ""
    title = (
        f"Simulated {span(found.end)} of {scenario.source or 'jobs'}{where}{how if scenario.target else ''}"
    )
    parts = [plural(found.jobs.submitted, "job"), plural(len(found.queues), "queue")]
    capacity = f"{amount(found, found.cluster.capacity)} {unit(found)}"
    if found.cluster.basis == QUOTA:
        parts.append(f"{capacity} of quota")
        parts.append(plural(scenario.nodes, "node") if scenario.nodes else "no nodes in sight")
    elif scenario.nodes:
        parts.append(f"{capacity} on {plural(scenario.nodes, 'node')}")
    else:
        parts.append(capacity)
    parts.append(f"seed {scenario.seed}")
    if scenario.horizon:
        parts.append(f"horizon {span(scenario.horizon)}")
    strong = [style.paint("strong", r) for r in wrap(clean(title, ascii_only=style.ascii), style.width)]
    return [*strong, *(style.paint("dim", r) for r in wrap(style.dot.join(parts), style.width))]


Fact = tuple[str, str, str]  # label, text, role of its colour


def _facts(one: Result, style: Style) -> Iterable[Fact]:
    found = one.metrics
    yield "jobs", style.dot.join(_jobs(found)), ""
    yield "waits", _spread(found.waits.first, style), ""
    if found.waits.total[:6] != found.waits.first[:6]:  # what counts and the percentiles
        longest = style.dot.join(_percentiles(found.waits.total, style, (P99, MOST)))
        yield "in all", f"{longest}, with what evictions added", ""
    yield "in use", _use(found), ""
    yield _preempted(found)
    thrash = _thrash(found)
    if thrash:
        yield "thrash", thrash, "error"
    if found.work.lost:
        lost, ran = hours(found, found.work.lost), hours(found, found.work.run)
        share, useful = percent(found.work.wasted), percent(found.work.goodput)
        yield "wasted", f"{share}: {lost} of {ran} {unit_hours(found)} thrown away; goodput {useful}", ""
    if found.stretch.spread.size:
        yield "stretch", _stretch(found, style), ""
    yield from _placed(found)
    if found.fairness.queues > 1 and found.fairness.jain is not None:
        yield "fairness", _fairness(found, style), ""
    if found.jobs.services:
        yield "inference", f"{percent(found.work.service)} of the time of all {unit(found)} in use", ""


def _jobs(found: Metrics) -> Iterable[str]:
    jobs = found.jobs
    yield f"{jobs.started:,} of {jobs.submitted:,} started"
    yield f"{jobs.finished:,} finished"
    if jobs.running:
        yield f"{jobs.running:,} running at the end"
    if jobs.holding > jobs.running:
        yield f"{jobs.holding - jobs.running:,} with quota but not admitted"
    if jobs.pending:
        yield f"{jobs.pending:,} waiting"
    if jobs.refused:
        yield f"{jobs.refused:,} refused"


def _spread(found: Spread, style: Style) -> str:
    if not found.size:
        return f"- ({found.why})"
    return style.dot.join(_percentiles(found, style, (P50, P90, P99, MOST)))


def _percentiles(found: Spread, style: Style, names: Sequence[str]) -> list[str]:
    words = {MOST: "longest"}
    return [f"{words.get(name, name)} {bounded(found, name, style)}" for name in names]


def _use(found: Metrics) -> str:
    cluster = found.cluster
    if cluster.allocated.value is None:
        return f"- ({cluster.allocated.why})"
    of = " by nominal quota" if cluster.basis == QUOTA else ""
    text = f"{percent(cluster.allocated)} of {unit(found)}{of}"
    if not cluster.saturated.part:
        return f"{text}; demand never reached what was free: more was not to be had"
    return (
        f"{text}; {percent(cluster.at_saturation)} while at least as much waited as was free, "
        f"which was {percent(cluster.saturated)} of the time"
    )


def _preempted(found: Metrics) -> Fact:
    taken = found.preemption
    if taken.share.value is None:
        return "preempted", f"- ({taken.share.why})", ""
    line = percent(HEALTHY)
    side = f"below the line of {line}" if taken.healthy else f"at or above the line of {line}"
    share = f"{percent(taken.share)} of started jobs at least once, {side}"
    reasons = "; ".join(f"{one.times:,} by {one.reason}" for one in taken.causes)
    rest = [one for one in taken.evictions if not _is_preemption(one, taken.causes)]
    other = "; ".join(f"{one.times:,} evicted by {one.reason}" for one in rest)
    text = "; ".join(part for part in (share, reasons, other) if part)
    return "preempted", text, "" if taken.healthy else "warning"


def _is_preemption(one: Eviction, causes: Sequence[Eviction]) -> bool:
    """Whether an eviction stands for the preemptions that are told by their causes already."""
    return bool(causes) and one.times == sum(cause.times for cause in causes)


def _thrash(found: Metrics) -> str:
    thrash = found.preemption.thrash
    parts = []
    if thrash.often:
        job, times = thrash.often[0]
        parts.append(f"{plural(len(thrash.often), 'job')} preempted 3 times or more, {job} {times:,} times")
    if thrash.exchanges:
        one = thrash.exchanges[0]
        parts.append(
            f"{plural(len(thrash.exchanges), 'pair')} took from each other, as {one.first} and {one.second}"
        )
    if thrash.loops:
        loop = thrash.loops[0]
        who = listed(loop.workloads)
        parts.append(f"from {span(loop.at)} on {who} went round in a circle {loop.times:,} times")
    return "; ".join(parts)


def _stretch(found: Metrics, style: Style) -> str:
    stretch = found.stretch

    def times(value: Number) -> str:
        return f"{value:,.1f}x" if value < 100 else f"{value:,.0f}x"

    told = [f"{name} {bounded(stretch.spread, name, style, times)}" for name in (P50, P99)]
    text = f"{style.dot.join(told)} of the own run time"
    if not stretch.over5:
        return f"{text}; no job took 5 times as long"
    worst = stretch.jobs[0]
    return (
        f"{text}; {plural(stretch.over5, 'job')} over 5x, {stretch.over10:,} over 10x, "
        f"the worst {worst.job} {times(worst.times)}"
    )


def _placed(found: Metrics) -> Iterable[Fact]:
    pieces = found.fragmentation
    if not pieces.why and pieces.gang.value is not None:
        text = (
            f"one gang could have had {percent(pieces.gang)} of what was free; "
            f"{percent(pieces.broken)} of the time less than all of it"
        )
        yield "free", text, ""
    for level in _narrow(found.topology.levels):
        text = (
            f"{percent(level.one)} of {plural(level.gangs, 'gang')} within one {_short(level.level)}, "
            f"{percent(level.best)} as close as was possible"
        )
        yield "gangs", text, ""
    if found.topology.unplaced_jobs:
        text = (
            f"{plural(found.topology.unplaced_jobs, 'job')} had quota and no node for "
            f"{plural(found.topology.unplaced_pods, 'pod')}"
        )
        yield "no node", text, "error"


def _narrow(levels: Sequence[LevelQuality]) -> Sequence[LevelQuality]:
    """The narrowest level above single nodes, which for gangs says most."""
    above = [one for one in levels if not one.level.endswith("/hostname")]
    return above[-1:] or levels[-1:]


def _short(label: str) -> str:
    return label.rpartition("/")[2]


def _fairness(found: Metrics, style: Style) -> str:
    fair = found.fairness
    text = f"Jain {fair.jain:.2f} over {plural(fair.queues, 'queue')}"
    if fair.finish.size:
        worst = bounded(fair.finish, P99, style, lambda value: f"{value:,.1f}")
        text += f"; finish time against a cluster of its own p99 {worst} times"
    return text


def _waiting(one: Result, style: Style) -> list[str]:
    found = one.metrics
    held = found.held
    rows: list[str] = []
    for title, some in (("Waiting at the end", held.stuck), ("Refused", held.refused)):
        if some:
            rows += ["", style.paint("strong", f"{title}: {plural(len(some), 'job')}, by reason")]
            rows += _reasons(found, by_reason(some), style)
    if held.starved:
        worst = held.starved[0]
        text = (
            f"{plural(len(held.starved), 'job')} waited more than 5 times the own run time while others went "
            f"ahead; the longest {worst.job}, {span(worst.waited)}, overtaken by {worst.overtaken}"
        )
        rows += ["", *labelled("starved", text, style, "warning")]
    return rows


def _reasons(found: Metrics, reasons: Sequence[Reason], style: Style) -> list[str]:
    shown = reasons if style.verbose else reasons[:_REASONS]
    rows: list[str] = []
    for one in shown:
        worst = one.example
        what = f"{one.jobs:,} {one.reason or (_HELD_UP if one.holds else 'no reason given')}"
        asked = f"{amount(found, one.amount)} {unit(found)}"
        text = f"{what} ({asked}), the longest {worst.job}{_where(worst)} for {span(worst.waited)}"
        if worst.requeues and worst.evicted_by:
            times = "once" if worst.requeues == 1 else f"{worst.requeues:,} times"
            text += f", evicted {times} before, the last time by {worst.evicted_by}"
        rows += hang("  ", wrap(clean(text, ascii_only=style.ascii), style.width - 2))
        if worst.why:
            why = wrap(clean(worst.why, ascii_only=style.ascii), style.width - 4)
            rows += [style.paint("dim", row) for row in hang("    ", why)]
    if len(shown) < len(reasons):
        rows.append(f"  and {plural(len(reasons) - len(shown), 'reason')} more (--verbose shows them)")
    return rows


_HELD_UP = "with quota, not admitted: a check or a place on nodes is missing"


def _where(job: Stuck) -> str:
    return f" of {job.queue}" if job.queue else ""


def _names(one: Result, style: Style) -> list[str]:
    """The names by which users know the same figures."""
    names = one.scenario.names
    told = [
        ("waits", names.get("jobs.wait")),
        ("in use", names.get("queues.*.utilisation")),
        ("preempted", names.get("preemption.byReason")),
        ("waiting", names.get("queues.*.pending")),
    ]
    known = [f"{label}: {name}" for label, name in told if name]
    if not known:
        return []
    if not style.verbose:
        text = f"Beside your dashboards: {'; '.join(known)}"
        return ["", *(style.paint("dim", row) for row in wrap(text, style.width))]
    rows = ["", style.paint("strong", "Beside your dashboards")]
    for place, name in sorted(names.items()):
        rows += hang("  ", wrap(f"{place}: {name}", style.width - 2))
    return rows


def _notes(one: Result, style: Style) -> list[str]:
    notes = list(one.timeline.notes)
    if one.metrics.later:
        notes.append(f"{plural(one.metrics.later, 'job')} would have come after the end")
    notes.append("how busy the hardware in use is can not be known from admission")
    shown = notes if style.verbose else notes[:_NOTES]
    rows = ["", style.paint("strong", "Assumed, or not simulated")]
    for note in shown:
        rows += hang("  - ", wrap(clean(note, ascii_only=style.ascii), style.width - 4))
    if len(shown) < len(notes):
        rows.append(f"  and {len(notes) - len(shown)} more (--verbose shows them)")
    return rows


def _next(one: Result, style: Style) -> list[str]:
    paths = " ".join(clean(path) for path in one.scenario.paths)
    told = [
        ("the same with --format html --output week.html", "charts, for the teams"),
        ("the same with --seed N", "how much of it is luck"),
    ]
    if one.metrics.held.stuck and paths:
        told.insert(0, (f"policycheck why WORKLOAD {paths}", "what would let it in"))
    widest = max(width(what) for what, _ in told)
    rows = ["", style.paint("strong", "Next")]
    for what, why in told:
        if 2 + widest + 2 + len(why) <= style.width:
            rows.append(f"  {what}{' ' * (widest - width(what))}  {why}")
        else:
            rows += [*hang("  ", wrap(what, style.width - 2)), *hang("    ", wrap(why, style.width - 4))]
    return rows
