"""``policycheck simulate``: recorded situations now, admission over time later."""

from __future__ import annotations

import gc
import sys

import click

from policycheck.adapters.cli import REPORT_TO, exitcode
from policycheck.adapters.cli.common import emit, say
from policycheck.report.screen import clean


@click.command()
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE",
    help="Recorded situations (JSON, JSON lines; may be gzipped).",
)
@click.option("--format", "form", type=click.Choice(["json"]), default="json", show_default=True)
@click.argument("paths", nargs=-1, metavar="[FILE]...")
def simulate(cases: tuple[str, ...], form: str, paths: tuple[str, ...]) -> None:  # noqa: ARG001 - one format so far
    """Decide recorded situations: one JSON object a line out for each one in."""
    if not cases:
        say(
            "policycheck simulate: admission over time is not built yet; "
            "give recorded situations with --case FILE\n"
        )
        sys.exit(exitcode.USAGE)
    # Compiled state is large, long-lived and full of references: looking for garbage in it as often as
    # the interpreter does by default takes two fifths of a run.
    gc.set_threshold(200_000, 20, 20)
    sys.exit(exitcode.worst(_file(path) for path in (*cases, *paths)))


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
