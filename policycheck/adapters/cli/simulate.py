"""``policycheck simulate``: recorded situations now, admission over time later."""

from __future__ import annotations

import gc
import sys

import click

from policycheck.adapters.cli.common import emit, say
from policycheck.report.screen import clean

_USAGE = 2
_UNREADABLE = 3


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
        sys.exit(_USAGE)
    # Compiled state is large, long-lived and full of references: looking for garbage in it as often as
    # the interpreter does by default takes two fifths of a run.
    gc.set_threshold(200_000, 20, 20)
    failed = False
    for path in (*cases, *paths):
        failed = not _file(path) or failed
    sys.exit(_UNREADABLE if failed else 0)


def _file(path: str) -> bool:
    """Answer all situations of one file; False when some could not be read."""
    import json

    from policycheck.systems.kueue.case import run

    try:
        lines = list(_situations(path))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        say(f"policycheck simulate: {clean(path)}: {why}\n")
        return False
    good = True
    for where, raw in lines:
        try:
            case = json.loads(raw)
        except (ValueError, RecursionError) as error:
            say(f"policycheck simulate: {clean(path)}, {where}: not JSON: {error}\n")
            good = False
            continue
        if not isinstance(case, dict):
            say(f"policycheck simulate: {clean(path)}, {where}: a situation is a JSON object\n")
            good = False
            continue
        emit(json.dumps(run(case), sort_keys=True) + "\n")
    return good


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
