"""``policycheck explain``: the page of one rule, of one claim, or of one of the scheduler's reasons."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from policycheck.adapters.cli import exitcode
from policycheck.adapters.cli.common import emit, say, usage_error

if TYPE_CHECKING:
    from policycheck.lint.written import Problem
    from policycheck.systems.kueue.reasons import Reason

_NARROW, _WIDE = 60, 100


@click.command()
@click.argument("rule", metavar="RULE|CLAIM|REASON", required=False)
@click.option(
    "--rules", "folders", multiple=True, type=click.Path(exists=True, file_okay=False), help="Your own rules."
)
def explain(rule: str | None, folders: tuple[str, ...]) -> int:
    """Print what RULE (an id or a name) says, why it matters, and what to do; what a CLAIM of `certify` means;
    or what REASON means (NoMatchingFlavor, InCohortReclamation, FlavorNotFound, ...), as `why`, `matrix` and
    Kueue print it. Without any: what there is to explain.
    """
    from policycheck.adapters.cli import claimpage

    if rule is None:
        emit(claimpage.listing(_width()))
        return exitcode.OK
    claim = claimpage.page(rule, _width())
    if claim:
        emit(claim)
        return exitcode.OK
    from policycheck import app
    from policycheck.lint.examples import pages
    from policycheck.lint.page import text
    from policycheck.lint.rulebook import built_in, own
    from policycheck.model.schema import suggest
    from policycheck.systems.kueue.reasons import REASONS, named

    reason = named(rule)
    if reason is not None:
        emit(_page(reason, _width()))
        return exitcode.OK
    known: list[str] = [*claimpage.names(), *(one.name for one in REASONS)]
    problems: list[Problem] = []
    for folder in (built_in(None), *(own(folder, None) for folder in folders)):
        found, wrong = pages(folder, app.systems())
        for page in found:
            if rule.lower() in (page.rule.id.lower(), page.rule.name):
                emit(text(page, _width()))
                return exitcode.OK
        problems.extend(wrong)
        known.extend(word for page in found for word in (page.rule.id, page.rule.name))
    for problem in problems:
        say(f"{problem}\n")
    raise usage_error(f"no rule, claim or reason {rule!r}{suggest(rule, known)}")


def _page(reason: Reason, width: int) -> str:
    import textwrap

    def filled(words: str) -> str:
        return textwrap.fill(words, width, initial_indent="  ", subsequent_indent="  ")

    parts = [
        reason.name,
        f"where Kueue writes it\n{filled(reason.where)}",
        f"what it means\n{filled(reason.means)}",
        f"when it is said\n{filled(reason.when)}",
        f"what to do\n{filled(reason.do)}",
    ]
    if reason.rules:
        parts.append(f"rules that speak of it\n{filled(', '.join(reason.rules))}")
    return "\n\n".join(parts) + "\n"


def _width() -> int:
    if not sys.stdout.isatty():
        return 80
    return max(_NARROW, min(_WIDE, shutil.get_terminal_size((80, 24)).columns))
