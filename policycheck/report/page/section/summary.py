"""What happened, in words: the first thing that is read, and often the only one."""

from __future__ import annotations

from policycheck.report.page.html import Cell, Markup, bullets, element, join
from policycheck.report.page.view import HONOURED, Section, View, below, middle, time
from policycheck.report.simulation_words import hours, percent, span
from policycheck.simulate.metrics import QueueMetrics
from policycheck.simulate.preemption import HEALTHY
from policycheck.simulate.quantile import P50, P99
from policycheck.simulate.series import NODES

_NAMED = 3


def summary(view: View) -> Section:
    """Tiles with the figures that are asked for most, and sentences that say what they mean."""
    said = [_jobs(view), _waits(view), _use(view), _guarantees(view), _preempted(view), _wasted(view)]
    sentences = [one for one in said if one]
    body = join((element("div", *_tiles(view), class_="tiles"), bullets(sentences)))
    return Section("summary", "In short", body)


def _tile(value: Cell, what: str) -> Markup:
    return element("div", element("b", value), element("span", what), class_="tile")


def _tiles(view: View) -> list[Markup]:
    found = view.metrics
    first = found.waits.first
    return [
        _tile(percent(found.cluster.allocated), f"of {view.unit} in use"),
        _tile(f"{found.jobs.started:,}", f"of {found.jobs.submitted:,} jobs started"),
        _tile(time(first, P50), "half of the jobs waited at most"),
        _tile(time(first, P99), "1 in 100 waited longer than"),
        _tile(percent(found.preemption.share), "of started jobs preempted"),
        _tile(str(len(_short(view))), f"queues below {HONOURED.part}% of their guarantee"),
    ]


def _short(view: View) -> list[QueueMetrics]:
    """Queues whose guarantee was honoured in too little of the time, the worst first."""
    short = [q for q in view.metrics.queues if below(q.use.honoured, HONOURED)]
    return sorted(short, key=_honoured)


def _honoured(queue: QueueMetrics) -> tuple[float, str]:
    return queue.use.honoured.value or 0.0, queue.name


def _jobs(view: View) -> str:
    jobs = view.metrics.jobs
    if not jobs.submitted:
        return "No job came."
    said = (
        f"In {span(view.timeline.end)}, {jobs.submitted:,} jobs came to {len(view.metrics.queues):,} queues: "
        f"{jobs.started:,} started, {jobs.finished:,} finished, {jobs.running:,} hold quota at the end"
    )
    said += f", {jobs.pending:,} still wait" if jobs.pending else ", none waits any more"
    return said + (f", {jobs.refused:,} were refused." if jobs.refused else ".")


def _waits(view: View) -> str:
    first = view.metrics.waits.first
    if first.p50 is None or first.p90 is None or first.most is None:
        return ""
    said = (
        f"Half of the jobs waited at most {span(first.p50)}, one in ten longer than {span(first.p90)}, the "
        f"longest {span(first.most)}"
    )
    if first.censored:
        has = "has" if first.censored == 1 else "have"
        return f"{said}; {first.censored:,} {has} not started, so that these are lower bounds where marked ≥."
    return said + "."


def _use(view: View) -> str:
    cluster = view.metrics.cluster
    basis = "usable nodes" if cluster.basis == NODES else "nominal quota"
    if cluster.allocated.value is None:
        return f"Nothing can be said of use: {cluster.allocated.why}."
    said = (
        f"Of {view.amount(cluster.capacity)} {view.unit} ({basis}), {percent(cluster.allocated)} were in use"
    )
    if cluster.at_saturation.value is None:
        return f"{said}; demand never reached what was free, so that this says little about packing."
    return (
        f"{said}. In {percent(cluster.saturated)} of the time demand was at least all that was free; then "
        f"{percent(cluster.at_saturation)} were in use."
    )


def _guarantees(view: View) -> Cell:
    asked = [q for q in view.metrics.queues if q.use.honoured.whole]
    if not asked:
        return "No queue asked for any of its guaranteed quota."
    short = _short(view)
    if not short:
        least = min(asked, key=_honoured)
        how = percent(least.use.honoured)
        return (
            f"{'All ' * (len(asked) > 1)}{len(asked):,} queue{'s' * (len(asked) > 1)} that asked for guaranteed quota "
            f"had all of it in at least {how} of the time in which they asked ({middle(least.name, 48)} the least)."
        )
    worst = ", ".join(f"{middle(q.name, 48)} ({percent(q.use.honoured)})" for q in short[:_NAMED])
    more = f" and {len(short) - _NAMED:,} more" if len(short) > _NAMED else ""
    return (
        f"Of {len(asked):,} queues that asked for their guaranteed quota, {len(short):,} had it in less than "
        f"{HONOURED.part}% of the time in which they asked: {worst}{more}."
    )


def _preempted(view: View) -> str:
    found = view.metrics.preemption
    if found.healthy is None:
        return ""
    side = "below" if found.healthy else "not below"
    said = f"{percent(found.share)} of the jobs that started were preempted at least once"
    said += f", {side} the line of {HEALTHY.part}%"
    thrash = found.thrash
    if thrash.often:
        said += f"; {len(thrash.often):,} jobs were preempted three times or more"
    if thrash.loops:
        said += f"; {len(thrash.loops):,} times workloads took from one another in a circle"
    return said + "."


def _wasted(view: View) -> str:
    work = view.metrics.work
    if not work.lost:
        return ""
    return (
        f"{hours(view.metrics, work.lost)} of {hours(view.metrics, work.run)} {view.unit.removesuffix('s')} hours "
        f"that ran were thrown away ({percent(work.wasted)})."
    )
