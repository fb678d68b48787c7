"""``policycheck lint`` as the command line library sees it: options, help, complaints."""

from __future__ import annotations

from typing import Any

import click

from policycheck.adapters.cli import common
from policycheck.adapters.cli.lint import DUMPS, FAIL_ON, PHASES, Request, flat, run
from policycheck.report import FORMATS


@click.command("lint")
@click.argument("path", nargs=-1)
@click.option(
    "--context", multiple=True, metavar="PATH", help="Read to understand PATH, not reported. Repeatable."
)
@common.input_options
@click.option(
    "--select", multiple=True, metavar="RULE", help="Only these: ids, names, beginnings (KQ1), systems."
)
@click.option("--ignore", multiple=True, metavar="RULE", help="All but these.")
@click.option("--phase", type=click.Choice(PHASES), help="Only what matters up to this step of a rollout.")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="Exit 1 from this severity; error.",
)
@click.option(
    "--format",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help=f"{', '.join(FORMATS)}; with =FILE into a file. Repeatable.",
)
@common.look_options
@click.option("--exit-zero", is_flag=True, help="Findings alone do not fail the run.")
@click.option("--statistics", is_flag=True, help="How often each rule fired, in place of the findings.")
@click.option("--dump", type=click.Choice(DUMPS), help="What was understood, as JSON, in place of linting.")
@click.option("--baseline", metavar="FILE", help="Findings known from before are counted, not reported.")
@click.option(
    "--write-baseline",
    metavar="FILE",
    help="Record the findings of today; a baseline that is there only loses what is fixed.",
)
@click.option("--grow-baseline", is_flag=True, help="With --write-baseline: take up what is new, too.")
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: fixes that change behaviour, too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change.")
@click.option("--new-from", metavar="REV", help="Only what is new since this git revision and HEAD parted.")
@click.option(
    "--jobs",
    metavar="N",
    help="Processes at once where several are faster; else one a processor that is free. Same output.",
)
@click.option("--no-cache", is_flag=True, help="Read every file anew, and keep nothing for the next run.")
def lint(**options: Any) -> int:
    """Find what is wrong in manifests, where, why it hurts, and what to write instead.

    PATH: files, folders, globs, or - for standard input. Nodes, Pods and Workloads among them count
    as inventory and initial state. cluster:CONTEXT is what a running cluster holds now.
    """
    return run(Request(**flat(options)))
