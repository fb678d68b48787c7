"""What the commands share that ask one thing about a cluster: their input, and the account of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.adapters.cli import common, exitcode
from policycheck.report.screen import clean

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.lint.settings import Settings
    from policycheck.source.document import FileReport

_FEW = 5  # files that are listed unless all are asked for


def input_of(paths: tuple[str, ...], options: Mapping[str, Any]) -> tuple[Sources, Settings]:
    """Sources and settings of ``common.input_options``. Raises click.UsageError."""
    common.later("--crds", options["crds"])
    settings = common.load_settings(options["config"], paths, isolated=options.get("isolated", False))
    settings = settings._replace(
        inventory=options["inventory"] or settings.inventory,
        target=options["target"] or settings.target,
        rules=settings.rules + options["rules"],
    )
    common.check_targets(settings.target)
    # Definitions are for lint: what is asked here does not depend on them.
    return common.sources_of(paths, settings._replace(crds=())), settings


def guard(output: str | None, files: Iterable[FileReport], settings: Settings) -> None:
    """Refuses to write over what was read. Raises click.UsageError."""
    common.guard((output,), (*(file.file for file in files), settings.file or ""), settings.rules)


def account(files: Iterable[FileReport], *, empty: bool, verbose: bool = False, quiet: bool = False) -> int:
    """Says on standard error which files could not be read, and that some were not checked (which, when
    there is no answer, or ``verbose``); the exit code that follows from it.
    """
    files = tuple(files)
    failed = [file for file in files if file.failed]
    for file in failed:
        _tell(file)
    left = [file for file in files if file.state == "notChecked" and not file.failed]
    many = len(left) if verbose else _FEW
    if left and not quiet:
        if empty or verbose:
            for file in left[:many]:
                _tell(file)
            left = left[many:]
        if left:
            what = "file was" if len(left) == 1 else "files were"
            common.say(f"{len(left)} {'more ' * empty}{what} not checked (--verbose lists all)\n")
    return exitcode.UNREAD if failed or empty else exitcode.OK


def _tell(file: FileReport) -> None:
    place = f"{file.file}:{file.line}" if file.line else file.file
    common.say(f"{clean(place)}: {clean(file.why)}\n")
