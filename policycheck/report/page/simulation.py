"""The page of a simulation.

``render(title, timeline, metrics, ...) -> str``: one HTML file. Each part is a function in ``section``; what
is to be added (a counterexample's timeline, say) is a Section more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from policycheck.report.page.view import Section, View, view_of
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
    view = view_of(timeline, metrics, nodes, levels)
    made = [section for part in PARTS if (section := part(view)) is not None]
    left = [] if any(section.id == "racks" for section in made) else [_NO_PICTURE]
    return page(title, lead(about), (*made, *more, notes(view, left)))


def lead(about: Sequence[tuple[str, str]]) -> Markup:
    """What a page is about, in pairs."""
    if not about:
        return Markup()
    return element("dl", join(join((element("dt", what), element("dd", which))) for what, which in about))
