"""What the commands share that ask one thing about a cluster: their input, and the account of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.adapters.cli import common, exitcode

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.lint.settings import Settings
    from policycheck.source.document import FileReport


def input_of(paths: tuple[str, ...], options: Mapping[str, Any]) -> tuple[Sources, Settings]:
    """Sources and settings of ``common.input_options``. Raises click.UsageError."""
    common.later("--crds", options["crds"])
    for given in options["inventory"]:
        common.later("--inventory cluster:CONTEXT", given.startswith("cluster:"))
    settings = common.load_settings(options["config"], paths)
    settings = settings._replace(
        inventory=options["inventory"] or settings.inventory,
        target=options["target"] or settings.target,
        rules=settings.rules + options["rules"],
    )
    common.check_targets(settings.target)
    from policycheck.app import Sources

    sources = Sources(
        paths=paths,
        read=common.reader(),
        context=settings.context,
        inventory=settings.inventory,
        targets=settings.target,
        rules=settings.rules,
        render=_render,
        today=common.today(),
    )
    return sources, settings


def _render(folder: str) -> bytes:
    from policycheck.adapters.render import render

    return render(folder)


def account(files: Iterable[FileReport], *, empty: bool) -> int:
    """Says on standard error which files could not be read; the exit code that follows from it."""
    failed = [file for file in files if file.failed]
    for file in failed:
        place = f"{file.file}:{file.line}" if file.line else file.file
        common.say(f"{place}: {file.why}\n")
    return exitcode.UNREAD if failed or empty else exitcode.OK
