"""``policycheck phase``: where a repository stands in the rollout."""

from __future__ import annotations

import sys
from typing import Any

import click

from policycheck.adapters.cli import asking, common, exitcode
from policycheck.lint.finding import SEVERITIES


@click.command("phase")
@click.argument("path", nargs=-1)
@click.option("--context", multiple=True, metavar="PATH", help="Read to understand PATH, not reported.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="From which severity on findings stand in the way; error.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@common.input_options
@common.look_options
def phase(path: tuple[str, ...], form: str, fail_on: str | None, **options: Any) -> int:
    """Where a cluster stands in its rollout, and what stands in the way of the next step.

    Each rule matters from a step on: observe (look, and know the hardware), pilot (a first team in a
    queue), queues (teams that share), topology (jobs that lie close together). A step is clean when none
    of its rules finds anything at or above --fail-on; what a baseline knows still stands in the way.
    """
    settings = common.load_settings(options["config"], path, isolated=options["isolated"])
    settings = settings._replace(
        inventory=options["inventory"] or settings.inventory,
        target=options["target"] or settings.target,
        rules=settings.rules + options["rules"],
        crds=settings.crds + options["crds"],
        context=settings.context + options["context"],
    )
    common.check_targets(settings.target)
    paths = path or tuple(one for cluster in settings.clusters for one in cluster.paths)
    if not paths:
        raise common.usage_error("nothing to look at: give a PATH, such as `.`")
    chosen = fail_on or settings.fail_on
    severity = "error" if chosen == "never" else chosen
    with common.errors_of_use():
        from policycheck.adapters.cli import baseline
        from policycheck.app.phase import rollout

        known = baseline.prepare(settings, paths) if settings.baseline else lambda result: result
        found = rollout(common.sources_of(paths, settings), settings, known, severity)
    from policycheck.report.phase import render_json, render_text

    output = options["output"]
    asking.guard(output, found.result.files, settings)
    style = common.style_for(
        None if output else sys.stdout, options["color"], quiet=options["quiet"], verbose=options["verbose"]
    )
    render = render_json(found.standings, severity) if form == "json" else render_text(found.standings, style)
    common.emit(render, output)
    for error in found.result.errors:
        common.say(f"{error.rule}: {error.why}\n")
    asking.account(
        found.result.files,
        empty=not found.standings,
        verbose=options["verbose"],
        quiet=options["quiet"],
    )
    return exitcode.of_lint(found.result, "never")
