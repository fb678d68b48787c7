"""The lives of single jobs: a bar each, waiting, running, losing quota."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from policycheck.report.page.axis import rows, spec_of, time_axis
from policycheck.report.page.colour import BAD, FOREGROUND, MUTED
from policycheck.report.page.engine import altair
from policycheck.report.page.html import CROSS, LINE, Cell, Column, Markup, element, fold, join, key, table
from policycheck.report.page.view import Figure, Section, View, labels, middle
from policycheck.simulate.passage import evicted
from policycheck.simulate.timeline import DONE, OPEN, Life, Stay, Timeline

SHOWN = 40
_EACH = 12  # of the first kinds of interest
_WIDE, _NARROW = 34, 15  # characters of a job's name on the axis
_BY = 22  # of a name beside a loss
_TIP = 60  # of a name in what is told when one points at something


class Chosen(NamedTuple):
    """The jobs that are drawn, and how they were chosen; "" when all are."""

    lives: tuple[Life, ...]
    how: str


def gangs(view: View) -> Section | None:
    """A line for each of the jobs that say most."""
    picked = choose(view.timeline, SHOWN)
    if not picked.lives:
        return None
    return Section(
        "gangs",
        "Jobs over time",
        element("p", picked.how, class_="note"),
        (lifelines(view, picked, "gangs-all"),),
    )


def lifelines(view: View, picked: Chosen, identity: str) -> Figure:
    """A figure of these lives; a counterexample is drawn by the same."""
    return Figure(
        identity,
        "Jobs: waiting, holding quota, evicted",
        f"A line for each of {len(picked.lives)} jobs: thin while it waits, a bar while it holds quota.",
        _spec(view, picked.lives, _WIDE),
        _spec(view, picked.lives, _NARROW),
        beside=join(
            (
                key(_key(view, picked.lives)),
                fold("As a table", _table(view, picked.lives)),
            )
        ),
    )


def choose(timeline: Timeline, most: int) -> Chosen:
    """All jobs when they are few; else those evicted most, those that waited longest for what they are
    large, and the largest, in this order until there are enough.
    """
    every = [life for life in timeline.lives if life.stays or life.job.submit < timeline.end]
    if len(every) <= most:
        return Chosen(tuple(every), "")
    often = sorted(every, key=lambda life: (-sum(1 for _ in evicted(life)), -life.amount, life.job.id))
    often = [life for life in often if any(True for _ in evicted(life))][:_EACH]
    waited = sorted(every, key=lambda life: (-_waited(life, timeline.end) * max(life.amount, 1), life.job.id))
    largest = sorted(every, key=lambda life: (-life.amount, -life.job.pods, life.job.id))
    kept = dict.fromkeys(life.job.id for life in (*often, *waited[:_EACH]))
    for life in largest:
        if len(kept) >= most:
            break
        kept[life.job.id] = None
    chosen = tuple(life for life in every if life.job.id in kept)
    how = (
        f"{len(chosen)} of {len(every):,} jobs: the {len(often)} that lost their quota most often, the {_EACH} whose "
        "waits weigh most (wait times size), and the largest of the others, in the order in which they came."
    )
    return Chosen(chosen, how)


def _waited(life: Life, end: int) -> int:
    first = life.stays[0].reserved if life.stays else end
    return max(0, first - life.job.submit)


def _key(view: View, lives: Sequence[Life]) -> list[tuple[str, str, str]]:
    queues = {life.queue for life in lives}
    made = [(view.colours.of(q), view.colours.of(q), q) for q in view.colours.own if q in queues]
    others = {q for q in queues if q not in view.colours.own}
    if others:
        name = "" if len(others) > 1 else next(iter(others))
        colour = view.colours.of(name)
        made.append((colour, colour, name or "other queues"))
    return [*made, (LINE, "muted", "waits"), (CROSS, "bad", "lost its quota")]


class _Piece(NamedTuple):
    """A stretch of one life."""

    begin: int
    end: int
    kind: str  # waits | holds | runs
    says: str


def _pieces(life: Life, end: int) -> Iterator[_Piece]:
    since = life.job.submit
    for stay in life.stays:
        if stay.reserved > since:
            yield _Piece(since, stay.reserved, "waits", "waits")
        until = stay.ended if stay.ended >= 0 else end
        work = stay.ready if stay.ready >= 0 else until
        how = _ended(stay)
        if work > stay.reserved:
            yield _Piece(stay.reserved, work, "holds", f"has quota, not all pods run; {how}")
        if until > work:
            yield _Piece(work, until, "runs", f"runs; {how}")
        since = until
    if life.finished < 0 and since < end and (not life.stays or life.stays[-1].ended >= 0):
        yield _Piece(since, end, "waits", f"waits: {life.reason}" if life.reason else "waits")


def _ended(stay: Stay) -> str:
    """How a stay ended."""
    if stay.ended_by == OPEN:
        return "holds it at the end"
    if stay.ended_by == DONE:
        return "finished"
    return f"lost it: {stay.cause or stay.ended_by}" + (f", for {middle(stay.by, _TIP)}" if stay.by else "")


def _labels(lives: Sequence[Life], most: int) -> dict[str, str]:
    """The name without the namespace, where that tells jobs apart, cut to fit."""
    short = [life.job.id.partition("/")[2] or life.job.id for life in lives]
    count = Counter(short)
    full = {
        life.job.id: name if count[name] == 1 else life.job.id
        for life, name in zip(lives, short, strict=True)
    }
    cut = labels(list(full.values()), most)
    return {job: cut[name] for job, name in full.items()}


def _spec(view: View, lives: Sequence[Life], most: int) -> dict[str, Any]:
    """Stretches and losses name their job by number; what is the same for all of a job stands once."""
    alt = altair()
    called = _labels(lives, most)
    jobs = [_job(view, n, life, called[life.job.id]) for n, life in enumerate(lives)]
    end = view.timeline.end
    pieces = [_value(view, n, piece) for n, life in enumerate(lives) for piece in _pieces(life, end)]
    losses = [
        {
            "n": n,
            "t": view.clock.at(stay.ended),
            "s": _ended(stay),
            "b": f"for {middle(stay.by, _BY)}" if stay.by else stay.cause,
        }
        for n, life in enumerate(lives)
        for stay in evicted(life)
    ]
    order = [job["l"] for job in jobs]
    known = alt.LookupData(data=rows(jobs), key="n", fields=["l", "j", "q", "g", "f"])
    y = alt.Y("l:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, grid=True))
    x = time_axis(view.clock)
    tips = [
        alt.Tooltip("j:N", title="job"),
        alt.Tooltip("q:N", title="queue"),
        alt.Tooltip("g:N", title="size"),
        alt.Tooltip("s:N", title="is"),
    ]
    base = alt.Chart(rows(pieces)).transform_lookup(lookup="n", from_=known)
    base = base.encode(y=y, x=x, x2="u", tooltip=[*tips, alt.Tooltip("d:N", title="for")])
    bars = base.transform_filter("datum.k != 'waits'").mark_bar(height=11)
    crosses = alt.Chart(rows(losses)).transform_lookup(lookup="n", from_=known)
    crosses = crosses.mark_point(shape="cross", angle=45, size=70, fill=BAD, stroke=None, opacity=1)
    layers = [
        base.transform_filter("datum.k == 'waits'").mark_rule(stroke=MUTED, strokeWidth=1.5),
        bars.encode(
            fill=alt.Fill("f:N", scale=None),
            opacity=alt.condition("datum.k == 'runs'", alt.value(1), alt.value(0.4)),
        ),
        crosses.encode(y=y, x="t:Q", tooltip=tips),
    ]
    if view.clock.is_turns:  # a short story: who it was for stands beside it
        layers += [_whom(losses, known, y, view.clock.last / 2, is_left=is_left) for is_left in (False, True)]
    says = f"Lines of {len(lives)} jobs over {view.clock.length(end)}."
    return spec_of(alt.layer(*layers).properties(width="container", height=18 * len(jobs), description=says))


def _whom(losses: list[dict[str, Any]], known: Any, y: Any, middle_at: float, *, is_left: bool) -> Any:
    """For whom quota was lost, above the line that waits; on the side of the loss where there is more room."""
    alt = altair()
    side = ">" if is_left else "<="
    chart = alt.Chart(rows(losses)).transform_lookup(lookup="n", from_=known)
    chart = chart.transform_filter(f"datum.t {side} {middle_at}")
    align, dx = ("right", -8) if is_left else ("left", 8)
    words = chart.mark_text(align=align, dx=dx, dy=-5, fontSize=11, fill=FOREGROUND)
    return words.encode(y=y, x="t:Q", text="b:N")


def _job(view: View, number: int, life: Life, label: str) -> dict[str, Any]:
    return {
        "n": number,
        "l": label,
        "j": middle(life.job.id, _TIP),
        "q": middle(life.queue, _TIP),
        "g": f"{view.amount(life.amount)} {view.unit}, {life.job.pods:,} pod{'s' * (life.job.pods != 1)}",
        "f": view.colours.of(life.queue),
    }


def _value(view: View, number: int, piece: _Piece) -> dict[str, Any]:
    begin, until = view.clock.at(piece.begin), view.clock.at(piece.end)
    return {
        "n": number,
        "t": begin,
        "u": round(max(until, begin + view.clock.last / 600), 4),  # what is short is still seen
        "k": piece.kind,
        "s": piece.says,
        "d": view.clock.length(piece.end - piece.begin),
    }


def _table(view: View, lives: Sequence[Life]) -> Markup:
    columns = [
        Column("Job", number=False),
        Column("Queue", number=False),
        Column(view.unit),
        Column("Priority"),
        Column("Came at"),
        Column("First quota"),
        Column("Evicted"),
        Column("Ended"),
        Column("State", number=False),
    ]
    made: list[list[Cell]] = [
        [
            life.job.id,
            life.queue or "(none)",
            view.amount(life.amount),
            str(life.job.priority),
            view.clock.moment(life.job.submit),
            view.clock.moment(life.stays[0].reserved) if life.stays else "-",
            f"{sum(1 for _ in evicted(life)):,}",
            view.clock.moment(life.finished) if life.finished >= 0 else "-",
            life.state,
        ]
        for life in lives
    ]
    return table("Jobs that are drawn", columns, made)
