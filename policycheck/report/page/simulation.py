"""The page of a simulation.

``render(title, timeline, metrics, ...) -> str``: one HTML file; ``render_results(done, grounds)``: that of
what ``policycheck simulate`` made. Each part is a function in ``section``; what
is to be added (a counterexample's timeline, say) is a Section more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policycheck.model.inventory import Node
from policycheck.report.page.html import Markup, element, join
from policycheck.report.page.section.broken import broken
from policycheck.report.page.section.evictions import evictions
from policycheck.report.page.section.gangs import gangs
from policycheck.report.page.section.moment import moment
from policycheck.report.page.section.notes import notes
from policycheck.report.page.section.stuck import stuck
from policycheck.report.page.section.summary import summary
from policycheck.report.page.section.teams import teams
from policycheck.report.page.section.use import use
from policycheck.report.page.section.waits import waits
from policycheck.report.page.shell import page
from policycheck.report.page.view import Figure, Section, View, view_of
from policycheck.report.simulation import Result, Scenario
from policycheck.report.simulation_words import span
from policycheck.simulate.metrics import Metrics
from policycheck.simulate.timeline import Timeline

Part = Callable[[View], Section | None]
PARTS: tuple[Part, ...] = (summary, teams, use, waits, evictions, gangs, moment, broken, stuck)
_NO_PICTURE = "Racks are not drawn: no job was placed on nodes."


def render(
    title: str,
    timeline: Timeline,
    metrics: Metrics,
    *,
    about: Sequence[tuple[str, str]] = (),
    nodes: Sequence[Node] = (),
    levels: Sequence[str] = (),
    more: Sequence[Section] = (),
) -> str:
    """One self-contained HTML file. Raises MissingExtraError (of report.page.engine).

    ``about`` are (what, which) pairs that say what was simulated: system and version, jobs, seed; ``nodes``
    with the label keys of the topology ``levels``, widest first, are for the picture of racks; ``more``
    sections come before the assumptions.
    """
    return page(title, lead(about), sections(view_of(timeline, metrics, nodes, levels), more))


def sections(view: View, more: Sequence[Section] = ()) -> list[Section]:
    """All parts of the page that have something to say, in order."""
    made = [section for part in PARTS if (section := part(view)) is not None]
    left = [] if any(section.id == "racks" for section in made) else [_NO_PICTURE]
    return [*made, *more, notes(view, left)]


def render_results(
    done: Sequence[Result], grounds: Mapping[str, tuple[Sequence[Node], Sequence[str]]] | None = None
) -> str:
    """The page of what was simulated, one scope after the other. Raises MissingExtraError.

    ``grounds`` gives nodes and topology levels by scope, for the pictures of racks.
    """
    every: list[Section] = []
    known = dict(grounds or {})
    if len(done) == len(known) == 1:  # the one scope may have been named otherwise
        known = {done[0].scenario.scope: next(iter(known.values()))}
    for number, one in enumerate(done):
        nodes, levels = known.get(one.scenario.scope, ((), ()))
        made = sections(view_of(one.timeline, one.metrics, nodes, levels))
        if len(done) > 1:
            made = [_of_scope(section, number, _named(one.scenario)) for section in made]
        every += made
    first = done[0].scenario if done else Scenario()
    title = f"Simulation of {_named(first)}" if len(done) == 1 else f"Simulation of {len(done)} clusters"
    return page(title, lead(_about(first)) if done else element("p", "Nothing was simulated."), every)


def _named(scenario: Scenario) -> str:
    name = scenario.scope.rstrip("/").rpartition("/")[2]
    return name if name not in ("", ".", "..") else scenario.source or "a cluster"


def _about(scenario: Scenario) -> list[tuple[str, str]]:
    """What was simulated, in pairs; the same for all scopes of a run but for the assumed version."""
    decided = f"{scenario.target}, assumed" if scenario.assumed else scenario.target
    made = [
        ("Decided as", decided),
        ("Jobs", scenario.source),
        ("Seed", str(scenario.seed)),
        ("Horizon", span(scenario.horizon) if scenario.horizon else "until nothing happened any more"),
    ]
    return [(what, which) for what, which in made if which]


def _of_scope(section: Section, number: int, name: str) -> Section:
    """The section of one of several scopes: identities stay unique, titles say whose they are."""

    def own(figure: Figure) -> Figure:
        return figure._replace(id=f"s{number}-{figure.id}")

    return section._replace(
        id=f"s{number}-{section.id}",
        title=f"{name}: {section.title}",
        figures=tuple(map(own, section.figures)),
        small=tuple(map(own, section.small)),
    )


def lead(about: Sequence[tuple[str, str]]) -> Markup:
    """What a page is about, in pairs."""
    if not about:
        return Markup()
    return element("dl", join(join((element("dt", what), element("dd", which))) for what, which in about))
