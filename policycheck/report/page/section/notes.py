"""What was assumed, and what was not simulated."""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.report.page.html import bullets, element, join
from policycheck.report.page.view import Section, View

_ALWAYS = (
    "Times are virtual: a scheduling cycle takes no longer than the service time that was given.",
    "How busy an accelerator is while a job holds it is not known here and not reported.",
)


def _sentence(said: str) -> str:
    """With a capital at its beginning and a stop at its end."""
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")


def notes(view: View, more: Iterable[str] = ()) -> Section:
    """Sentences of the simulation, of the page, and those that always hold."""
    said = dict.fromkeys(map(_sentence, (*view.timeline.notes, *more, *_ALWAYS)))
    return Section(
        "assumptions",
        "Assumed, and not simulated",
        join((element("p", "Read the figures above with this in mind."), bullets(list(said)))),
    )
