"""``lint --baseline`` and ``--write-baseline``: what is known is counted, what is new is reported.

A baseline only shrinks: where one is known, ``--write-baseline`` takes out what is fixed and adds nothing,
unless ``--grow-baseline`` asks for it. Without one it records the findings of this run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from policycheck.adapters.cli import common
from policycheck.lint import baseline as known_before
from policycheck.lint.baseline import Baseline, BaselineError, Compared
from policycheck.lint.finding import Finding, LintResult

if TYPE_CHECKING:
    from policycheck.adapters.cli.lint import Request
    from policycheck.lint.settings import Settings

_SHOWN = 5  # rules that a note names


def refuse(request: Request) -> None:
    """Raises click.UsageError for options that do not go together."""
    if request.grow_baseline and not request.write_baseline:
        raise common.usage_error("--grow-baseline says what --write-baseline may do; give both")
    if request.write_baseline and request.new_from is not None:
        raise common.usage_error(
            "--write-baseline records all that is found, and --new-from leaves out what is old: give one of them"
        )


def prepare(
    settings: Settings, paths: Sequence[str], target: str = "", *, grow: bool = False
) -> Callable[[LintResult], LintResult]:
    """Reads the baseline, so that a broken one is told before anything is checked. Raises BaselineError.

    What is returned takes out of a result what the baseline knows, and writes it to ``target`` when there
    is one.
    """
    file = settings.baseline or target
    known = _read(file, settings, is_made=_same(file, target))
    if target and not _same(file, target):
        _read(target, settings, is_made=True)  # what is no baseline is not written over

    def apply(result: LintResult) -> LintResult:
        if known is None:
            return _begin(result, target, paths)
        from policycheck.app import rulebook

        looked_at = _looked_at(result, file, known, paths)
        compared = known_before.compare(
            result, known.entries, rulebook(settings.rules), _home(file), looked_at
        )
        after = _known(result, compared)
        if not target:
            return after._replace(notes=(*after.notes, *_told(compared, file)))
        if result.errors:
            return _unwritten(after, target)
        added = compared.new if grow else ()
        left = _moved(Baseline(compared.left, known.paths), file, target)
        _write(target, _grown(left, added, target, paths) if added else left)
        return _ratcheted(after, compared, target, added)

    return apply


def _read(file: str, settings: Settings, *, is_made: bool) -> Baseline | None:
    """What is in ``file``; None when there is no such file and it is about to be made."""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - as everywhere on this path
            data = opened.read()
    except FileNotFoundError:
        if is_made:
            return None
        where = f" (baseline in {settings.file})" if settings.file else ""
        raise BaselineError(f"{file}: no such file{where}; `--write-baseline {file}` makes it") from None
    except OSError as error:
        raise BaselineError(f"{file}: can not be read: {error.strerror}") from None
    return known_before.parse(data, file)


def _same(file: str, other: str) -> bool:
    return bool(file and other) and os.path.realpath(file) == os.path.realpath(other)


def _home(file: str) -> Callable[[str], str]:
    """How the baseline ``file`` calls other files: as seen from its folder, wherever the command runs."""
    folder = os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120 - as above

    @cache
    def home(name: str) -> str:
        return name if name.startswith("<") else os.path.relpath(name, folder).replace(os.sep, "/")

    return home


def _looked_at(result: LintResult, file: str, known: Baseline, paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a run would have found what stood in a file: all that the baseline is about was looked at,
    and the file was checked or is gone.
    """
    folder = os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120 - as above
    is_whole = _covers(paths, [path if path == "-" else os.path.join(folder, path) for path in known.paths])  # noqa: PTH118 - as above

    @cache
    def states() -> dict[str, bool]:
        home = _home(file)
        failed = {one.file for one in result.files if one.failed}
        checked = {one.file for one in result.files if one.state != "notChecked"}
        return {home(one.file): one.file in checked - failed for one in result.files}

    @cache
    def looked_at(name: str) -> bool:
        if not is_whole or name in states():
            return is_whole and states()[name]
        return not os.path.exists(os.path.join(folder, name))  # noqa: PTH110, PTH118 - as above

    return looked_at


def _covers(paths: Sequence[str], others: Sequence[str]) -> bool:
    """Whether each of ``others`` is one of ``paths``, or below one."""
    roots = [path if path == "-" else os.path.abspath(path) for path in paths]  # noqa: PTH100 - as above
    wanted = [path if path == "-" else os.path.abspath(path) for path in others]  # noqa: PTH100 - as above
    return all(
        any(one == root or one.startswith(root.rstrip(os.sep) + os.sep) for root in roots) for one in wanted
    )


def _known(result: LintResult, compared: Compared) -> LintResult:
    before = sorted((*result.before, *compared.known), key=lambda one: one.order)
    return result._replace(
        findings=compared.new, before=tuple(before), known=result.known + len(compared.known)
    )


def _told(compared: Compared, file: str) -> tuple[str, ...]:
    notes = []
    if compared.gone:
        what = _plural(compared.gone, "entry", "entries")
        verb, them, stay = ("is", "it", "it stays") if compared.gone == 1 else ("are", "them", "they stay")
        ratchet = f"`--write-baseline {file}` takes {them} out, so that {stay} fixed"
        notes.append(f"{what} of {file} {verb} fixed: {ratchet}")
    if compared.strange:
        names = ", ".join(compared.strange[:_SHOWN]) + (" and more" * (len(compared.strange) > _SHOWN))
        notes.append(f"{file} has entries of rules that are not here: {names}; they are kept")
    return tuple(notes)


def _begin(result: LintResult, target: str, paths: Sequence[str]) -> LintResult:
    """The first baseline: everything that is found."""
    if result.errors:
        return _unwritten(result, target)
    if all(one.state == "notChecked" for one in result.files):
        return _noted(result, f"{target} was not written: nothing was checked")
    home = _home(target)
    entries = known_before.entries_of(result.findings, home)
    _write(target, Baseline(entries, _named(paths, home)))
    all_known = Compared((), result.findings, entries, 0, 0, ())
    note = f"{target} is a new baseline of {_plural(len(result.findings), 'finding', 'findings')}: commit it"
    return _noted(_known(result, all_known), note)


def _named(paths: Sequence[str], home: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(path if path == "-" else home(path) for path in paths)


def _moved(baseline: Baseline, file: str, target: str) -> Baseline:
    """``baseline`` as it is written to another file: each names others as seen from its own folder."""
    if _same(file, target):
        return baseline
    old, home = os.path.dirname(os.path.abspath(file)), _home(target)  # noqa: PTH100, PTH120 - as above

    def moved(name: str) -> str:
        return name if name == "-" or name.startswith("<") else home(os.path.join(old, name))  # noqa: PTH118 - as above

    entries = (one._replace(file=moved(one.file)) for one in baseline.entries)
    return Baseline(tuple(entries), tuple(moved(path) for path in baseline.paths))


def _grown(baseline: Baseline, added: Sequence[Finding], target: str, paths: Sequence[str]) -> Baseline:
    home = _home(target)
    entries = known_before.together([*baseline.entries, *known_before.entries_of(added, home)])
    folder = os.path.dirname(os.path.abspath(target))  # noqa: PTH100, PTH120 - as above
    held = [path if path == "-" else os.path.join(folder, path) for path in baseline.paths]  # noqa: PTH118 - as above
    more = [path for path in paths if not _covers(held, [path])]
    return Baseline(entries, (*baseline.paths, *_named(more, home)))


def _ratcheted(result: LintResult, compared: Compared, target: str, added: Sequence[Finding]) -> LintResult:
    """``result`` with the account of a baseline that was written."""
    total = sum(one.times for one in compared.left) + len(added)
    said = [f"{target}: {_plural(total, 'finding', 'findings')} left"]
    if compared.gone:
        said.append(f"{compared.gone:,} fixed and taken out")
    if compared.unseen:
        said.append(f"{compared.unseen:,} kept, since not all of their files and rules were part of this run")
    if added:
        said.append(f"{len(added):,} added")
        result = _known(result, compared._replace(new=(), known=tuple(added)))
    result = _noted(result, ", ".join(said))
    if not result.findings:
        return result
    what = (
        f"what is reported here is not in {target}: repair it, suppress it with a reason, or take it up with"
    )
    return _noted(result, f"{what} --grow-baseline")


def _unwritten(result: LintResult, target: str) -> LintResult:
    return _noted(result, f"{target} was not written: not all rules could run, so findings may be missing")


def _noted(result: LintResult, note: str) -> LintResult:
    return result._replace(notes=(*result.notes, note))


def _plural(amount: int, one: str, many: str) -> str:
    return f"{amount:,} {one if amount == 1 else many}"


def _write(target: str, baseline: Baseline) -> None:
    """Writes the file whole or not at all; one that says the same already is left alone."""
    text = known_before.dump(baseline)
    beside = f"{target}.{os.getpid()}"
    try:
        if os.path.exists(target):  # noqa: PTH110 - as above
            with open(target, encoding="utf-8") as opened:  # noqa: PTH123 - as above
                if opened.read() == text:
                    return
        with open(beside, "w", encoding="utf-8", newline="") as made:  # noqa: PTH123 - as above
            made.write(text)
        os.replace(beside, os.path.realpath(target))  # noqa: PTH105 - as above
    except OSError as error:
        raise BaselineError(f"{target}: can not be written: {error.strerror}") from None
