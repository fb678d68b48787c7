"""``policycheck explain``: the page of one rule."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from policycheck.adapters.cli import exitcode
from policycheck.adapters.cli.common import emit, say, usage_error

if TYPE_CHECKING:
    from policycheck.lint.written import Problem

_NARROW, _WIDE = 60, 100


@click.command()
@click.argument("rule")
@click.option(
    "--rules", "folders", multiple=True, type=click.Path(exists=True, file_okay=False), help="Your own rules."
)
def explain(rule: str, folders: tuple[str, ...]) -> int:
    """Print what RULE (an id or a name) says, why it matters, and what to do."""
    from policycheck import app
    from policycheck.lint.examples import pages
    from policycheck.lint.page import text
    from policycheck.lint.rulebook import built_in, own
    from policycheck.model.schema import suggest

    known: list[str] = []
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
    raise usage_error(f"no rule {rule!r}{suggest(rule, known)}")


def _width() -> int:
    if not sys.stdout.isatty():
        return 80
    return max(_NARROW, min(_WIDE, shutil.get_terminal_size((80, 24)).columns))
