"""``config validate``: settings files with all that they extend and name, and folders of rules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from policycheck.adapters.settings_file import SettingsError, source
from policycheck.adapters.settings_layers import layers
from policycheck.adapters.settings_show import FILE, Effective, Row, effective, where
from policycheck.lint.written import Problem
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from policycheck.lint.rulebook import Rulebook

_NAMING = ("inventory", "context", "crds")  # settings that name files
_HARDWARE = (".yaml", ".yml", ".json", ".csv")


class Checked(NamedTuple):
    """What was looked at, what is wrong with it, both in one line, and what may be no mistake."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    account: str
    notes: tuple[Problem, ...] = ()


def check(paths: Sequence[str], environ: Mapping[str, str]) -> Checked:
    """Checks settings files and folders of rules; without ``paths`` the settings that count here."""
    files: list[str] = []
    problems: list[Problem] = []
    notes: list[Problem] = []
    own = 0
    chosen = paths
    if not paths:
        try:
            found = source(None, (), environ).path
        except SettingsError as error:
            return Checked((), tuple(error.problems), "two settings files side by side")
        chosen = () if found is None else (found,)
    for path in chosen:
        if os.path.isdir(path):  # noqa: PTH112 - names are text here
            book = _rulebook((path,))
            files.append(path)
            problems.extend(book.problems)
        else:
            try:
                read = layers(os.path.abspath(path), os.path.relpath(path))  # noqa: PTH100 - as above
                whole = effective(read, {})
            except SettingsError as error:
                files.append(os.path.relpath(path))
                problems.extend(error.problems)
                continue
            files.extend(layer.shown for layer in read)
            book = _rulebook(whole.settings.rules)
            problems.extend(book.problems)
            problems.extend(_misfits(whole, book))
            notes.extend(_idle(whole))
        own += sum(rule.system == "own" for rule in book.rules)
    unique = tuple(dict.fromkeys(sorted(problems)))
    account = _account(files, own, len(unique))
    return Checked(tuple(dict.fromkeys(files)), unique, account, tuple(dict.fromkeys(notes)))


def _account(files: Sequence[str], own: int, wrong: int) -> str:
    if not files:
        return "no settings file: the defaults count"
    rules = f", {own} rule{'s' * (own != 1)} of your own" if own else ""
    found = f"{wrong} mistake{'s' * (wrong != 1)}" if wrong else "in order"
    return f"{', '.join(dict.fromkeys(files))}{rules}: {found}"


def _rulebook(folders: tuple[str, ...]) -> Rulebook:
    from policycheck.app import rulebook

    return rulebook(folders)


def _misfits(whole: Effective, book: Rulebook) -> Iterator[Problem]:
    """What the settings name and there is not: rules, parameters, files, a baseline."""
    from policycheck.lint.select import faults

    settings = whole.settings
    # A rule that could not be read is no rule that is missing: that is said at its file.
    for fault in () if book.problems else faults(book, settings):
        yield _at(where(whole.rows, fault.setting, fault.word), settings.file, fault.message)
    for row in whole.rows:
        for word, path in _named(row):
            wrong = _unmatched(path)
            if wrong:
                yield _at(row, settings.file, f"{word}: {path} {wrong}")
    if settings.baseline:
        yield from _baseline(whole)


def _at(row: Row | None, file: str, message: str) -> Problem:
    return Problem(row.file, row.line, row.column, message) if row else Problem(file, 1, 1, message)


def _named(row: Row) -> Iterator[tuple[str, str]]:
    """The files that a row names, and under which key."""
    key = row.key.partition("[")[0]
    if key in _NAMING and isinstance(row.value, str):
        yield key, row.value
    elif key == "clusters" and isinstance(row.value, dict):
        for inner in ("paths", "inventory", "context"):
            yield from ((f"clusters.{inner}", path) for path in row.value.get(inner, ()))


def _unmatched(path: str) -> str:
    from policycheck.source.files import UNMATCHED, expand

    if ":" in path.split("/", maxsplit=1)[0]:  # a cluster, or another source that is no file
        return ""
    return UNMATCHED if expand((path,), _HARDWARE).unmatched else ""


def _baseline(whole: Effective) -> Iterator[Problem]:
    from policycheck.lint.baseline import BaselineError, parse

    file = whole.settings.baseline
    row = where(whole.rows, "baseline", file)
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - as above
            parse(opened.read(), file)
    except BaselineError as error:
        yield _at(row, whole.settings.file, f"baseline: {error}")
    except OSError as error:
        what = f"baseline: {file} can not be read ({error.strerror}); `policycheck lint . --write-baseline {file}`"
        yield _at(row, whole.settings.file, f"{what} makes it")


def _idle(whole: Effective) -> Iterator[Problem]:
    """Globs that match no file now. Those of files that are extended speak of other repositories, too."""
    globs = [
        (row, glob)
        for row in whole.rows
        if row.origin == FILE
        for glob in (row.value["paths"] if row.key.startswith("per-path[") else [row.value])
        if row.key.startswith(("per-path[", "exclude["))
    ]
    if not globs:
        return
    from policycheck.lint.select import covers
    from policycheck.lint.settings import PathOverride
    from policycheck.source.files import walk

    folder = os.path.dirname(whole.settings.file) or "."  # noqa: PTH120 - as above
    names = [name for name in walk(folder) if isinstance(name, str)]
    for row, glob in globs:
        one = PathOverride((glob,))
        if not any(covers(one, name, whole.settings) for name in names):
            what = f"{row.key.partition('[')[0]}: {glob} matches no file here"
            yield Problem(row.file, row.line, row.column, what)
