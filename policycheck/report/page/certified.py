"""The page of verdicts: what fails with its story drawn, what is unknown, what holds, and what it rests on.

``render_certified(done) -> str``: one HTML file of what ``policycheck certify`` found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policycheck.certify.verdict import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, Counterexample, Verdict
from policycheck.report.certify import OUTCOMES, Certified, basis_of, counts, overall, tally
from policycheck.report.page.clock import Clock
from policycheck.report.page.html import Cell, Column, Markup, bullets, element, fold, join, table
from policycheck.report.page.section.gangs import Chosen, lifelines
from policycheck.report.page.shell import page
from policycheck.report.page.simulation import lead
from policycheck.report.page.view import Figure, Section, view_of
from policycheck.simulate.metrics import measure
from policycheck.simulate.timeline import Timeline

_CYCLE = 1000  # ms that a cycle of a story is taken for
_TILES = {
    FAILS: "do not hold",
    UNKNOWN: "are not known",
    HOLDS: "hold",
    NOT_APPLICABLE: "are not promised here",
}


def render_certified(done: Sequence[Certified]) -> str:
    """The page. Raises MissingExtraError (of report.page.engine)."""
    every: list[Section] = []
    for number, one in enumerate(done):
        every += _scope(one, f"s{number}-" if len(done) > 1 else "", len(done) > 1)
    title = f"Promises: {overall(done)}"
    if not done:
        return page(title, element("p", "No queue in what was given: nothing was tested."), [])
    said = tally(done)
    return page(title, join((element("p", f"{said[:1].upper()}{said[1:]}."), lead(_about(done[0])))), every)


def _about(one: Certified) -> list[tuple[str, str]]:
    """What was tested, and how hard."""
    assumed = ", assumed" if one.assumed else ""
    nodes = sum(group["nodes"] for group in one.result.inventory)
    effort = one.result.effort
    made = [
        ("Promises", one.promises.source or "none written: all are derived from the configuration"),
        ("Decided as", f"{one.target}{assumed}" if one.target else ""),
        ("Hardware", f"{nodes:,} nodes" if nodes else "no inventory in sight"),
        ("Searched", f"up to {effort['scenarios']:,} random scenarios a verdict, seed {effort['seed']}"),
    ]
    return [(what, which) for what, which in made if which]


def _scope(one: Certified, prefix: str, several: bool) -> list[Section]:
    made = [_summary(one), *_broken(one), *_rest(one)]
    name = one.scope.rstrip("/").rpartition("/")[2]
    return [
        section._replace(
            id=f"{prefix}{section.id}",
            title=f"{name}: {section.title}" if several else section.title,
            figures=tuple(figure._replace(id=f"{prefix}{figure.id}") for figure in section.figures),
        )
        for section in made
    ]


def _summary(one: Certified) -> Section:
    """How many of each outcome, and what does not hold in a row each."""
    many = {outcome: sum(v.outcome == outcome for v in one.verdicts) for outcome in OUTCOMES}
    tiles = [
        element("div", element("b", f"{many[outcome]:,}"), element("span", _TILES[outcome]), class_="tile")
        for outcome in OUTCOMES
    ]
    bad = [v for outcome in (FAILS, UNKNOWN) for v in one.verdicts if v.outcome == outcome]
    columns = [
        Column("Promise", number=False),
        Column("Why", number=False, sentence=True),
        Column("Workloads", hint="in the smallest story that breaks it"),
    ]
    rows: list[list[Cell]] = [
        [
            _name(v),
            v.headline if v.outcome == FAILS else f"not known: {v.headline}",
            f"{v.counterexample.workloads:,}" if v.counterexample is not None else "-",
        ]
        for v in bad
    ]
    body = [element("div", *tiles, class_="tiles")]
    if rows:
        body.append(table("What does not hold, or is not known", columns, rows))
    return Section("summary", f"In short: {one.result.outcome}", join(body))


def _broken(one: Certified) -> Iterator[Section]:
    """A section for each claim that fails, with the stories drawn."""
    failed = [v for v in one.verdicts if v.outcome == FAILS]
    for claim in dict.fromkeys(v.claim for v in failed):
        mine = [v for v in failed if v.claim == claim]
        plain = [v for v in mine if v.counterexample is None]
        figures = [
            _figure(v, v.counterexample, f"{claim}-{number}")
            for number, v in enumerate(mine)
            if v.counterexample is not None
        ]
        said = [f"{v.subject}: {v.headline} ({basis_of(v)})" if v.subject else v.headline for v in plain]
        yield Section(f"claim-{claim}", claim, bullets(said), tuple(figures))


def _figure(verdict: Verdict, found: Counterexample, identity: str) -> Figure:
    """A story: in words, and its workloads as lines."""
    title = f"{verdict.subject}: {verdict.headline}" if verdict.subject else verdict.headline
    words = join((element("p", f"Found {basis_of(verdict)}.", class_="note"), bullets(found.timeline)))
    drawn = found.drawn or Timeline("", _CYCLE, (), (), ())
    view = view_of(drawn, measure(drawn))._replace(clock=Clock(_CYCLE, "cycle", drawn.end, is_turns=True))
    figure = lifelines(view, Chosen(drawn.lives, ""), identity)
    return figure._replace(title=title, beside=join((words, figure.beside)))


def _rest(one: Certified) -> Iterator[Section]:
    """What holds and on which basis, what is not promised, and what all of it rests on."""
    held = [v for v in one.verdicts if v.outcome == HOLDS]
    if held:
        columns = [Column("Promise", number=False), Column("Basis", number=False)]
        rows: list[list[Cell]] = [[_name(v), _basis(v, one)] for v in held]
        yield Section("holds", "What holds", table("Verdicts that hold", columns, rows))
    idle = [v for v in one.verdicts if v.outcome == NOT_APPLICABLE]
    notes = list(dict.fromkeys(note for v in one.verdicts for note in v.assumptions))
    body: list[Cell] = [bullets(notes) if notes else element("p", "Nothing was assumed.")]
    if idle:
        names = [f"{_name(v)}: {v.headline}" for v in idle]
        body.append(fold("Not promised here", bullets(names)))
    yield Section("assumptions", "What it rests on", join(body))


def _name(verdict: Verdict) -> str:
    return f"{verdict.claim}: {verdict.subject}" if verdict.subject else verdict.claim


def _basis(verdict: Verdict, one: Certified) -> Markup | str:
    how = basis_of(verdict)
    return how if counts(verdict, one.result.accepted) else f"{how}; does not count"
