"""``policycheck why``: why a workload waits, and what would let it in."""

from __future__ import annotations

import sys
from typing import Any

import click

from policycheck.adapters.cli import asking, common


@click.command("why")
@click.argument("workload")
@click.argument("path", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="text")
@click.option("--no-search", is_flag=True, help="Do not look for what would let it in.")
@common.input_options
@common.look_options
def why(workload: str, path: tuple[str, ...], form: str, no_search: bool, **options: Any) -> int:
    """Why WORKLOAD waits, what would let it in, and what admitting it would cost others.

    WORKLOAD is namespace/name, kind/name, or a name that is the only one. All workloads in PATH ask at
    once; Workloads whose status says that they are admitted hold their quota from the start.
    """
    sources, settings = asking.input_of(path, options)
    with common.errors_of_use():
        from policycheck.app import why as use_case

        answer, files = use_case.why(workload, sources, settings, search=not no_search)
    asking.guard(options["output"], files, settings)
    told = {"verbose": options["verbose"], "quiet": options["quiet"]}
    if answer is None:
        common.say("policycheck: no workload in what was given; PATH must hold jobs or Workloads\n")
        return asking.account(files, empty=True, **told)
    from policycheck.report.why import render_json, render_text

    output = options["output"]
    style = common.style_for(
        None if output else sys.stdout, options["color"], quiet=options["quiet"], verbose=options["verbose"]
    )
    common.emit(render_json(answer) if form == "json" else render_text(answer, style), output)
    return asking.account(files, empty=False, **told)
