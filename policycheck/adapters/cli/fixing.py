"""``lint --fix`` and ``--diff``: fixes worked out in memory, shown, or written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from policycheck.adapters.cli import common
from policycheck.adapters.cli.progress import Progress
from policycheck.lint.finding import Finding, LintResult
from policycheck.record import NamedTuple
from policycheck.report.screen import Style

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.app.fix import Outcome
    from policycheck.lint.settings import Settings

_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class Asked(Protocol):
    """What of a request says how to fix."""

    @property
    def fix(self) -> bool:
        """Write what is safe."""

    @property
    def unsafe_fixes(self) -> bool:
        """Also what may change what the cluster does."""

    @property
    def diff(self) -> bool:
        """Show it and write nothing."""

    @property
    def quiet(self) -> bool:
        """Say nothing of what is going on."""


class Done(NamedTuple):
    """``result`` is what there is to report: of the files as they are now. ``diff``: see ``shown``."""

    result: LintResult
    outcome: Outcome
    is_shown: bool  # not written
    held: frozenset[str] = frozenset()  # rules whose fix is safe when promises stay kept

    def shown(self, style: Style) -> str:
        """The diff, and what it leaves to people."""
        from policycheck.report.fixes import diff, left, painted

        text = painted(diff(self.outcome.old, self.outcome.new), style)
        rest = "" if style.quiet else left(self.outcome.after.findings, self._why, style)
        notes = "" if style.quiet else "".join(f"note: {note}\n" for note in self.outcome.notes)
        return "\n".join(part for part in (text, rest + notes) if part) or "nothing to fix\n"

    def _why(self, finding: Finding) -> str:
        refused = {id(one.finding): one.why for one in self.outcome.left}
        if id(finding) in refused:
            return f"not made: {refused[id(finding)]}"
        if finding.fix != "unsafe" or not finding.changes:
            return ""
        if finding.rule in self.held:
            return "--unsafe-fixes makes one; claims are not run without an inventory"
        return "--unsafe-fixes makes one"


def check(asked: Asked, formats: Sequence[tuple[str, str]], *, writes_baseline: bool, only: str) -> None:
    """Refuses what can not go together. ``formats`` are names and files ("" for what is not given one); ``only``
    is an option that does something else in place of linting.
    """
    if asked.unsafe_fixes and not (asked.fix or asked.diff):
        raise common.usage_error("--unsafe-fixes goes with --fix, or with --diff to see them first")
    if not (asked.fix or asked.diff):
        return
    name = "--diff" if asked.diff else "--fix"
    if only:
        raise common.usage_error(f"{name} and {only} are two things: run one after the other")
    if writes_baseline:
        raise common.usage_error(
            f"{name} and --write-baseline are two things: fix first, then record what stays"
        )
    if asked.diff and any(form != "text" and not file for form, file in formats):
        raise common.usage_error("--diff prints a diff: give other formats a file, as in --format json=FILE")


def run(asked: Asked, sources: Sources, settings: Settings, lint: Callable[[Sources], LintResult]) -> Done:
    """Fixes what is asked for; writes it unless it is to be shown. Raises click.UsageError."""
    from policycheck.app import rulebook
    from policycheck.app.fix import Options, fix
    from policycheck.app.fixclaims import claim_runner

    book = rulebook(sources.rules)
    held = frozenset(rule.id for rule in book.rules if rule.fix_claims and rule.fix == "safe")
    with Progress(quiet=asked.quiet) as told:
        outcome = fix(
            sources,
            Options(unsafe=asked.unsafe_fixes),
            lint,
            book,
            claim_runner(sources, settings, told),
            Bars(sources.paths),
        )
    if asked.diff:
        return Done(outcome.before, outcome, is_shown=True, held=held)
    write(outcome.old, outcome.new)
    return Done(_without_refused(outcome), outcome, is_shown=False, held=held)


def report(done: Done, *, quiet: bool) -> None:
    """Says on standard error what was written, and what was not and why."""
    from policycheck.report.fixes import made, refused

    outcome = done.outcome
    if done.is_shown or quiet:
        return
    text = made(outcome.fixed, sorted(outcome.new)) if outcome.fixed else "nothing was fixed\n"
    text += refused([(one.finding, one.why) for one in outcome.left])
    common.say(text + "".join(f"note: {note}\n" for note in outcome.notes))


def _without_refused(outcome: Outcome) -> LintResult:
    """What is reported: a fix that was refused is none that --fix could make."""
    refused = {id(one.finding) for one in outcome.left}
    findings = tuple(
        one._replace(fix="manual", changes=()) if id(one) in refused else one
        for one in outcome.after.findings
    )
    return outcome.after._replace(findings=findings)


class Bars:
    """Why a file can not be changed; links are followed inside of what was given alone."""

    def __init__(self, paths: Iterable[str]) -> None:
        given = [path if os.path.isdir(path) else os.path.dirname(path) or "." for path in paths]  # noqa: PTH112, PTH120 - names are text here
        self._roots = [os.path.realpath(folder) for folder in (".", *given)]

    def __call__(self, file: str) -> str:
        """Why ``file`` can not be changed; "" when it can."""
        from policycheck.app.fix import barred

        why = barred(file)
        if why:
            return why
        real = os.path.realpath(file)
        if not os.path.isfile(real):  # noqa: PTH113 - as above
            return "it is no file"
        is_inside = any(real.startswith(root.rstrip(os.sep) + os.sep) for root in self._roots)
        return "" if is_inside else f"it is a link to {real}, outside of what was given"


def write(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> None:
    """Writes files, each whole or not at all, with the mode that it has; a link stays one.

    Raises click.UsageError before anything is written when a file is read-only or changed meanwhile.
    """
    real = {name: os.path.realpath(name) for name in sorted(new)}
    for name, path in real.items():
        why = _why_not(path, old[name])
        if why:
            raise common.usage_error(f"can not write {name}: {why}. Nothing was changed.")
    for number, (name, path) in enumerate(real.items()):
        try:
            _replace(path, new[name])
        except OSError as error:
            done = (
                f"{number} of {len(real)} files were written before it" if number else "Nothing was changed"
            )
            raise common.usage_error(f"can not write {name}: {error.strerror or error}. {done}.") from error


def _why_not(path: str, old: bytes) -> str:
    try:
        if not os.stat(path).st_mode & _WRITE_BITS or not os.access(path, os.W_OK):  # noqa: PTH116 - as above
            return "it is read-only"
        if not os.access(os.path.dirname(path), os.W_OK):  # noqa: PTH120 - as above
            return "its folder is read-only"
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return "" if file.read() == old else "it changed while it was checked; run it again"
    except OSError as error:
        return error.strerror or str(error)


def _replace(path: str, data: bytes) -> None:
    """Puts a new file in the place of an old one, with its mode and owner."""
    beside = f"{path}.{os.getpid()}.new"
    kept = os.stat(path)  # noqa: PTH116 - as above
    try:
        with open(beside, "xb") as file:  # noqa: PTH123 - as above
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # only the superuser gives files away
            os.chown(beside, kept.st_uid, kept.st_gid)
        os.chmod(beside, stat.S_IMODE(kept.st_mode))  # noqa: PTH101 - as above
        os.replace(beside, path)  # noqa: PTH105 - as above
    finally:
        with suppress(OSError):
            os.unlink(beside)  # noqa: PTH108 - as above
