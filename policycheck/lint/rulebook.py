"""Folders of rule files in, compiled rules out. What was compiled before is not compiled again.

The compiled form is JSON without the examples. A file is taken from it when its size and time are
the same (as git does), else when its sha256 is; only what is really new is read by the validator.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from policycheck import data
from policycheck.digest import sha256
from policycheck.lint import keep
from policycheck.lint.cel import ENGINE
from policycheck.lint.rule import Rule, Systems, as_json, from_json
from policycheck.lint.written import Problem
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_FORMAT = 4  # of the compiled form; raise it when Rule, the descriptors, or what is refused change
_MAX_BYTES = 1_000_000
_MAX_SEEN = (
    50_000  # files and folders below a folder of rules; `rules: [/]` in a pull request is a mistake or worse
)
_ENTRY = {"size", "mtime", "sha256", "rule"}


Name = str | os.PathLike[str]  # of a file or folder


class RuleFolder(NamedTuple):
    """Where rule files lie. ``own`` marks a user's: expressions only, letters of its own.

    ``compiled`` is where the compiled form is kept; None keeps none. ``sealed`` is a packaged one:
    it is trusted when names and sizes agree, since unpacking changes the times, and never written;
    when it is of another make, ``compiled`` serves.
    """

    path: Name
    own: bool = False
    compiled: Name | None = None
    sealed: Name | None = None


class Rulebook(NamedTuple):
    """Every rule that is in order, by id, and what is wrong with the other files.

    ``digest`` is over the names and contents of all files. ``fresh`` counts files that had to be
    compiled now.
    """

    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...] = ()
    digest: str = ""
    fresh: int = 0

    def find(self, name: str) -> Rule | None:
        """The rule with this id or name."""
        return next((rule for rule in self.rules if name in (rule.id, rule.name)), None)


class RuleFolderError(ValueError):
    """A folder that can be no folder of rules."""


class RuleFile(NamedTuple):
    """A file that looks like a rule, and the state by which a change shows."""

    name: str  # relative, '/' separated
    path: str
    size: int
    mtime: int


def load(folders: tuple[RuleFolder, ...], systems: Systems, stamp: str = "") -> Rulebook:
    """The rules of all ``folders``. ``stamp`` tells field tables apart: compiled rules of another
    stamp are compiled again. Never raises for what a file holds.
    """
    rules: list[Rule] = []
    problems: list[Problem] = []
    digests: list[str] = []
    fresh = 0
    for folder in folders:
        if not os.path.isdir(folder.path):  # noqa: PTH112 - pathlib costs start-up
            problems.append(Problem(str(folder.path), 1, 1, "no such folder; give a folder of rule files"))
            continue
        key = f"{_FORMAT} {ENGINE} {stamp} {int(folder.own)}"
        loaded = _Folder(folder, systems, key)
        try:
            loaded.run()
        except RuleFolderError as error:
            problems.append(Problem(str(folder.path), 1, 1, str(error)))
            continue
        rules.extend(loaded.rules)
        problems.extend(loaded.problems)
        digests.extend(loaded.digests)
        fresh += loaded.fresh
    unique, repeated = _unique(rules, folders)
    digest = sha256("\n".join(sorted(digests)).encode()).hexdigest()
    return Rulebook(tuple(unique), tuple(sorted({*problems, *repeated})), digest, fresh)


class _Folder:
    """Loads one folder, with its compiled form beside."""

    def __init__(self, folder: RuleFolder, systems: Systems, key: str) -> None:
        self.folder, self.systems, self.key = folder, systems, key
        self.rules: list[Rule] = []
        self.problems: list[Problem] = []
        self.digests: list[str] = []
        self.fresh = 0

    def run(self) -> None:
        known = _read_compiled(self.folder.sealed, self.key)
        is_sealed = bool(known)
        if not is_sealed:
            known = _read_compiled(self.folder.compiled, self.key)
        kept: dict[str, Any] = {}
        for file in files_of(self.folder.path):
            entry = known.get(file.name)
            same = entry and entry["size"] == file.size and (is_sealed or entry["mtime"] == file.mtime)
            if not same:
                entry = self._load(file, entry)
            if entry is not None:
                kept[file.name] = entry
                self.digests.append(f"{file.name} {entry['sha256']}")
                self.rules.append(from_json(entry["rule"]))
        if kept != known and not is_sealed:
            keep.write(self.folder.compiled, {"key": self.key, "files": kept})

    def _load(self, file: RuleFile, entry: Any) -> Any:
        """The compiled entry of ``file``; None when something is wrong with it."""
        shown = file.path
        if file.size > _MAX_BYTES:
            what = f"{file.size:,} bytes; a rule file has at most {_MAX_BYTES:,}"
            self.problems.append(Problem(shown, 1, 1, what))
            return None
        try:
            with open(file.path, "rb") as opened:  # noqa: PTH123 - as above
                raw = opened.read()
            text = raw.decode("utf-8-sig")
        except (OSError, ValueError) as error:
            self.problems.append(Problem(shown, 1, 1, f"can not be read: {error}"))
            return None
        digest = sha256(raw).hexdigest()
        if entry and entry["sha256"] == digest:
            return {**entry, "size": file.size, "mtime": file.mtime}
        from policycheck.lint import rulefile

        self.fresh += 1
        loaded = rulefile.load(rulefile.Source(file.name, shown, text, self.folder.own), self.systems)
        self.problems.extend(loaded.problems)
        if loaded.rule is None:
            self.digests.append(f"{file.name} {digest}")
            return None
        return {"size": file.size, "mtime": file.mtime, "sha256": digest, "rule": as_json(loaded.rule)}


def files_of(folder: Name) -> Iterator[RuleFile]:
    """Every rule file below ``folder``, sorted by name. A link to a folder is not followed.

    Raises RuleFolderError for a folder that is much too large.
    """
    root = os.fspath(folder).replace(os.sep, "/").rstrip("/") or "/"
    found = []
    waiting = [""]
    seen = 0
    while waiting:
        lead = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(f"{root}/{lead}") as entries:
            for entry in entries:
                seen += 1
                if seen > _MAX_SEEN:
                    raise RuleFolderError(
                        f"more than {_MAX_SEEN:,} files in it; give the folder of rule files alone"
                    )
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{lead}{entry.name}/")
                elif entry.name.endswith((".yaml", ".yml")):
                    found.append(_file(root, lead + entry.name, entry))
    yield from sorted(found)


def _file(root: str, name: str, entry: os.DirEntry[str]) -> RuleFile:
    try:
        state = entry.stat()
    except OSError:  # a link that leads nowhere: reading it says so
        return RuleFile(name, f"{root}/{name}", 0, 0)
    return RuleFile(name, f"{root}/{name}", state.st_size, state.st_mtime_ns)


def _unique(rules: list[Rule], folders: tuple[RuleFolder, ...]) -> tuple[list[Rule], list[Problem]]:
    """Rules by id; of several with one id or name none is taken, since nobody could tell which ran."""
    problems = []
    seen: dict[str, list[Rule]] = {}
    for rule in rules:
        for word in {rule.id, rule.name}:
            seen.setdefault(word, []).append(rule)
    bad: set[str] = set()
    for word, same in sorted(seen.items()):
        if len(same) > 1:
            bad.update(rule.id for rule in same)
            files = " and ".join(sorted(rule.file for rule in same))
            what = f"{word} stands in {files}; ids and names are unique, give one of them another"
            problems.append(Problem(_shown(same[-1], folders), 1, 1, what))
    return sorted((r for r in rules if r.id not in bad), key=lambda rule: rule.id), problems


def _shown(rule: Rule, folders: tuple[RuleFolder, ...]) -> str:
    for folder in folders:
        path = f"{os.fspath(folder.path)}/{rule.file}"
        if os.path.exists(path):  # noqa: PTH110 - as above
            return path
    return rule.file


def _read_compiled(path: Name | None, key: str) -> dict[str, Any]:
    """The entries of a compiled form; empty when there is none, or one of another make."""
    compiled = keep.read(path)
    if compiled.get("key") != key:
        return {}
    files: dict[str, Any] = compiled.get("files") or {}
    return files if all(entry.keys() >= _ENTRY for entry in files.values()) else {}


def seal(folder: Path, target: Path, systems: Systems, stamp: str = "") -> Rulebook:
    """Write the compiled form of ``folder`` to ``target``, for packaging."""
    target.unlink(missing_ok=True)
    return load((RuleFolder(folder, compiled=target),), systems, stamp)


def built_in(cache: Name | None) -> RuleFolder:
    """The folder of the built-in rules. ``cache`` is where a checkout keeps the compiled form.

    Raises FileNotFoundError when the installation is not whole.
    """
    root = data.folder()
    sealed = None if data.in_checkout() else f"{root}/rulebook.json"
    return RuleFolder(f"{root}/rules", compiled=f"{cache}/rulebook.json" if cache else None, sealed=sealed)


def own(folder: str, cache: Name | None) -> RuleFolder:
    """A user's folder of rules."""
    name = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]
    return RuleFolder(folder, own=True, compiled=f"{cache}/rules-{name}.json" if cache else None)
