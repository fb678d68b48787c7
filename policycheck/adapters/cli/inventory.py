"""``policycheck inventory``: what an inventory holds, and what is odd about it."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from policycheck.adapters.cli import common, exitcode

if TYPE_CHECKING:
    from policycheck.source.document import FileReport

_SUFFIXES = (".yaml", ".yml", ".json")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


@click.command("inventory")
@click.argument("path", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="text")
@click.option(
    "--write",
    metavar="FILE",
    help="Write the compact form: sorted, without host names and annotations, dated, fit to be committed.",
)
@click.option(
    "--picture",
    metavar="FILE",
    help="Draw racks as .svg, .png or .html, with the jobs of PATH on them once all have asked for quota.",
)
@click.option("--dated", metavar="YYYY-MM-DD", help="The day that --write puts down; today.")
@click.option(
    "--columns",
    metavar="ROLE=NAME,...",
    help="Columns of a table, as in name=sn,gpus=gpu,model=model,cpu_milli=cpu_milli.",
)
@common.look_options
def inventory(
    path: tuple[str, ...],
    form: str,
    write: str | None,
    picture: str | None,
    dated: str | None,
    columns: str | None,
    output: str | None,
    color: str,
    quiet: bool,
    verbose: bool,
) -> int:
    """What the inventory holds: nodes, physical and schedulable GPUs, models, topology, what is odd.

    PATH: files, folders, globs, or - for standard input: `kubectl get nodes -o json`, ResourceSlices, a CSV
    table, a pool file, the file of --write, eksctl, Karpenter, GKE and Cluster API pools; or
    cluster:CONTEXT, the nodes of a running cluster.
    """
    if dated is not None and not _DAY.match(dated):
        raise common.usage_error(f"--dated is {dated!r}; write a day as YYYY-MM-DD")
    told = _columns(columns)
    if picture:
        from policycheck.adapters.cli import racks

        racks.suffix(picture)
    clusters = [given for given in path if given.startswith(common.CLUSTER)]
    local = tuple(given for given in path if given not in clusters)
    files = dict(_files(local))
    missing = [given for given in local if not _exists(given)]
    if missing:
        common.say(f"policycheck: nothing at {', '.join(missing)}\n")
    from policycheck.report.inventory import render_json, render_text
    from policycheck.systems.core import inventory as reader

    read = common.reader()
    if clusters:
        from policycheck.adapters.live.sources import hardware

        with common.errors_of_use():
            live = hardware(clusters, common.say)
        files.update(dict.fromkeys(live.names, True))
        read = live.reader(read)
    found, reports = reader.load(tuple(files), read, columns=told, named=lambda file: files.get(file, True))
    common.guard((output, picture), files)
    if write:
        common.guard((write,), [file for file in files if not _is_compact(file, read)])
    if found.known:
        _write(write, found, dated)
        if picture:
            racks.draw(picture, path, found, read)
        style = common.style_for(None if output else sys.stdout, color, quiet=quiet, verbose=verbose)
        text = render_json(found, reports) if form == "json" else render_text(found, reports, style)
        common.emit(text, output)
    elif form == "json":
        common.emit(render_json(found, reports), output)
    _complain(reports, known=found.known, form=form, verbose=verbose)
    is_unread = bool(missing) or not found.known or any(report.failed for report in reports)
    return exitcode.UNREAD if is_unread else exitcode.OK


def _columns(text: str | None) -> dict[str, str] | None:
    if not text:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(role and name for role, _, name in pairs):
        raise common.usage_error(f"--columns is {text!r}; write ROLE=NAME pairs, as in name=sn,gpus=gpu")
    from policycheck.systems.core.tables import ROLES

    unknown = [role for role, _, _ in pairs if role not in ROLES]
    if unknown:
        raise common.usage_error(f"--columns: no role {unknown[0]!r}; there are {', '.join(ROLES)}")
    return {role: name for role, _, name in pairs}


def _exists(given: str) -> bool:
    return given == "-" or os.path.exists(given) or bool(glob.glob(given, recursive=True))  # noqa: PTH110, PTH207 - cold start


def _files(paths: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Every file, and whether it was named by the user rather than found in a folder."""
    for given in paths:
        if given == "-":
            yield common.STDIN_NAME, True
            continue
        is_there = os.path.exists(given)  # noqa: PTH110 - cold start
        for one in [given] if is_there else sorted(glob.glob(given, recursive=True)):  # noqa: PTH207 - the same
            if os.path.isdir(one):  # noqa: PTH112 - the same
                yield from ((file, False) for file in _walk(one))
            else:
                yield one.replace(os.sep, "/"), True


def _walk(folder: str) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = os.path.normpath(f"{at}/{name}")
            # A pipe or device in a folder would be waited for; a dangling link is told of when it is read.
            if name.lower().endswith(_SUFFIXES) and (os.path.isfile(file) or not os.path.exists(file)):  # noqa: PTH110, PTH113 - cold start
                yield file.replace(os.sep, "/")


def _is_compact(file: str, read: Callable[[str], bytes]) -> bool:
    """Whether it is of the form that --write makes: that may be written anew, nothing of it is lost."""
    try:
        return b"\ncompactInventory:" in read(file)[:1000]
    except (OSError, ValueError):
        return False


def _write(target: str | None, found: object, dated: str | None) -> None:
    if not target:
        return
    from policycheck.model.inventory import Inventory
    from policycheck.systems.core import compact

    assert isinstance(found, Inventory)  # noqa: S101 - ours
    common.emit(compact.write(found, dated or common.today()), target)
    common.say(f"wrote {target}\n")


def _complain(reports: tuple[FileReport, ...], *, known: bool, form: str, verbose: bool) -> None:
    """Messages to standard error: the text report tells of unread files itself."""
    if known and form == "text":
        return
    others = 0
    for report in reports:
        if report.failed or (report.state != "checked" and verbose):
            place = f"{report.file}:{report.line}" if report.line else report.file
            common.say(f"{place}: {report.why}\n")
        others += report.state != "checked" and not report.failed
    if others and not verbose:
        common.say(f"{others} file{'s' * (others > 1)} without inventory (--verbose lists all)\n")
    if not known:
        from policycheck.systems.core.formats import ACCEPTED

        accepted = "" if any(ACCEPTED in report.why for report in reports) else f". Accepted are {ACCEPTED}"
        common.say(f"policycheck: no node in what was given{accepted}\n")
