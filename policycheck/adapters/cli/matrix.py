"""``policycheck matrix``: who can take running jobs from whom."""

from __future__ import annotations

import sys
from typing import Any

import click

from policycheck.adapters.cli import asking, common, exitcode


@click.command("matrix")
@click.argument("path", nargs=-1, required=True)
@click.option("--queue", metavar="NAME", help="Only what this queue takes, and what it can lose.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="text")
@common.input_options
@common.look_options
def matrix(path: tuple[str, ...], queue: str | None, form: str, **options: Any) -> int:
    """Who can take running jobs from whom: by queue and priority, with the reason and the condition.

    Derived from the preemption policies of all queues and checked by running the decision; a line on
    which the two differ is shown as an internal error.
    """
    sources, settings = asking.input_of(path, options)
    with common.errors_of_use():
        from policycheck.app import matrix as use_case

        found, files = use_case.matrix(sources, settings, queue=queue or "")
    from policycheck.report.matrix import render_json, render_text

    output = options["output"]
    asking.guard(output, files, settings)
    style = common.style_for(
        None if output else sys.stdout, options["color"], quiet=options["quiet"], verbose=options["verbose"]
    )
    if not found:
        common.say("policycheck: no queue in what was given\n")
    text = render_json(found) if form == "json" else render_text(found, style, queue or "")
    common.emit(text, output)
    account = asking.account(files, empty=not found, verbose=options["verbose"], quiet=options["quiet"])
    codes = [exitcode.INTERNAL] if any(m.differing for m in found) else []
    return exitcode.worst([*codes, account])
