"""``policycheck simulate``: admission over time, or recorded situations decided one by one."""

from __future__ import annotations

import gc
import sys
from typing import Any

import click

from policycheck.adapters.cli import REPORT_TO, common, exitcode, pooling
from policycheck.adapters.cli.common import emit, say
from policycheck.adapters.cli.options import finite
from policycheck.report.screen import clean


@click.command("simulate")
@click.argument("path", nargs=-1)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE",
    help="Decide recorded situations (JSON, JSON lines; may be gzipped) and nothing else.",
)
@click.option(
    "--mix",
    multiple=True,
    metavar="FILE|PRESET",
    help="Jobs by a mix: kueue-baseline, philly, production, ... Several are simulated one by one.",
)
@click.option(
    "--trace",
    multiple=True,
    metavar="FILE",
    help="Recorded jobs (CSV); FILE.yaml beside it may say how to read them. Several: one by one.",
)
@click.option("--manifests", is_flag=True, help="The jobs of PATH as well, beside those of a mix or a trace.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of everything drawn.")
@click.option(
    "--horizon", metavar="TIME", help="How long, as in 7d; else as the jobs say, or until all are done."
)
@click.option(
    "--load",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    help="Of a mix: asked for over what there is.",
)
@click.option("--usual", metavar="TIME", help="How long jobs of PATH run that do not say it; 1h unless said.")
@click.option(
    "--service-time", metavar="TIME", help="What one admission takes the scheduler, as in 20ms; else 0."
)
@click.option("--no-nodes", is_flag=True, help="Quota alone decides; where pods go is not simulated.")
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(["broken-lines"]),
    help="Leave out lines of a trace that can not be read, and say how many.",
)
@click.option(
    "--seeds",
    type=pooling.SEEDS,
    help="Many runs, each with other draws: so many from --seed on, or from A to B. Means, with intervals.",
)
@pooling.pool_options
@click.option("--events", is_flag=True, help="In JSON: everything that happened, one by one.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html", "csv"]),
    default="text",
    help="text; csv for many runs, html for one.",
)
@common.input_options
@common.look_options
def simulate(cases: tuple[str, ...], path: tuple[str, ...], **options: Any) -> int:
    """What a stream of jobs lives through on this configuration: waits, preemptions, what is stuck and why.

    PATH holds queues and, unless --mix or --trace say otherwise, the jobs. Presets that bring queues of
    their own need no PATH.
    """
    # Compiled state is large, long-lived and full of references: looking for garbage in it as often as
    # the interpreter does by default takes two fifths of a run.
    gc.set_threshold(200_000, 20, 20)
    if cases:
        sys.exit(exitcode.worst(_file(file) for file in (*cases, *path)))
    if options["seeds"] or len(options["mix"]) > 1 or len(options["trace"]) > 1:
        from policycheck.adapters.cli import sweeping

        return sweeping.run(path, options)
    from policycheck.adapters.cli import simulating

    return simulating.run(path, options)


def _file(path: str) -> int:
    """Answer all situations of one file; the exit code that it asks for."""
    import json

    from policycheck.systems.kueue.case import run

    try:
        lines = list(_situations(path))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        say(f"policycheck simulate: {clean(path)}: {why}\n")
        return exitcode.UNREAD
    code = exitcode.OK
    for where, raw in lines:
        try:
            case = json.loads(raw)
        except (ValueError, RecursionError) as error:
            say(f"policycheck simulate: {clean(path)}, {where}: not JSON: {error}\n")
            code = exitcode.worst((code, exitcode.UNREAD))
            continue
        if not isinstance(case, dict):
            say(f"policycheck simulate: {clean(path)}, {where}: a situation is a JSON object\n")
            code = exitcode.worst((code, exitcode.UNREAD))
            continue
        try:
            answer = run(case)
        except Exception as error:  # noqa: BLE001 - one situation must not cost the answers to the others
            what = clean(f"{type(error).__name__}: {error}")[:300]
            say(f"policycheck simulate: {clean(path)}, {where}: internal error: {what}\n")
            say(f"This is a bug in policycheck; please report it with the situation at {REPORT_TO}\n")
            code = exitcode.INTERNAL
            continue
        emit(json.dumps(answer, sort_keys=True) + "\n")
    return code


def _situations(path: str) -> list[tuple[str, str]]:
    """(where, text) of every situation: the whole of a ``.json`` file, each line of any other."""
    import gzip
    from pathlib import Path

    data = Path(path).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    text = data.decode()
    if path.removesuffix(".gz").endswith(".json"):
        return [("the whole file", text)]
    return [(f"line {n}", line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
