"""From what the user names on the command line to the files that are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator

from policycheck.record import NamedTuple
from policycheck.source.document import FileReport
from policycheck.source.tree import DISK, MAGIC, Tree, match
from policycheck.source.yamldoc import LIMITS, ParsedFile, parse

STDIN = "<stdin>"
SUFFIXES = (".yaml", ".yml", ".json")
# Other people's packages and caches; hidden folders (.git, .venv, ..data of mounted ConfigMaps) go anyway.
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})
_FOLDER_DEPTH = 64
# What is said of an argument that stands for nothing.
UNMATCHED = "stands for no file; give a file, a folder or a pattern"

ReadBytes = Callable[[str], bytes]


class Expanded(NamedTuple):
    """The files that PATH... stand for, sorted, each once.

    ``troubles`` accounts for what was named or met but can not be read. ``unmatched`` are the arguments
    that stand for nothing: no such file, an empty folder, a pattern that matches none.
    """

    files: tuple[str, ...]
    troubles: tuple[FileReport, ...] = ()
    unmatched: tuple[str, ...] = ()


def expand(paths: Iterable[str], suffixes: tuple[str, ...] = SUFFIXES, tree: Tree = DISK) -> Expanded:
    """The files behind files, folders, patterns and ``-``.

    Folders are walked for ``suffixes``; a file named by itself is taken whatever its suffix. A file that is
    reached twice, by a link or by two arguments, is taken once, under the name with the fewest steps.
    """
    named: set[str] = set()
    troubles: dict[str, FileReport] = {}
    unmatched = []
    for path in paths:
        found = _one(path, suffixes, tree)
        for entry in found:
            if isinstance(entry, FileReport):
                troubles[entry.file] = entry
            else:
                named.add(entry)
        if not found:
            unmatched.append(path)
    files: dict[str, str] = {}
    # A link to a folder above makes names that go round in a circle: those are never the shortest.
    for name in sorted(named, key=lambda name: (name.count("/"), name)):
        files.setdefault(name if name == STDIN else tree.real(name), name)
    return Expanded(
        tuple(sorted(files.values())), tuple(troubles[name] for name in sorted(troubles)), tuple(unmatched)
    )


def walk(folder: str, suffixes: tuple[str, ...] = SUFFIXES, tree: Tree = DISK) -> Iterator[str | FileReport]:
    """The files of a folder and those beneath it, in no promised order; a report for what can not be read.

    Links to folders are followed, each real folder once, so that a link to a parent does not loop.
    """
    seen: set[str] = set()
    waiting = [(clean(folder), 0)]
    while waiting:
        at, depth = waiting.pop()
        real = tree.real(at)
        if real in seen:
            continue
        if depth > _FOLDER_DEPTH:
            yield _refused(at, f"more than {_FOLDER_DEPTH} folders deep: name it to have it read")
            continue
        seen.add(real)
        try:
            entries = tree.scan(at)
        except OSError as error:
            yield unreadable(at, error)
            continue
        for own, is_folder in entries:
            if own.startswith("."):
                continue
            name = clean(f"{at}/{own}")
            if is_folder:
                if own not in SKIPPED_FOLDERS:
                    waiting.append((name, depth + 1))
            elif own.endswith(suffixes):
                why = tree.why_not(name)
                yield _refused(name, why) if why else name


def clean(path: str) -> str:
    """A path as it is shown: without ``./`` and doubled separators, '/' separated."""
    return os.path.normpath(path).replace(os.sep, "/")


class Reader:
    """Reads files by the name that expand gave; standard input and pipes are read once and kept.

    Reads one byte more than a file may have, so that parse can tell that it is too large.
    """

    def __init__(self, stdin: Callable[[], bytes] | None = None, size: int = LIMITS.json_size) -> None:
        self._stdin = stdin
        self._kept: bytes | None = None
        self._pipes: dict[str, bytes] = {}
        self._size = size

    def __call__(self, file: str) -> bytes:
        """The bytes of a file. Raises OSError."""
        if file in self._pipes:
            return self._pipes[file]
        if file not in ("-", STDIN):
            with open(file, "rb") as stream:  # noqa: PTH123 - pathlib costs start-up
                state = os.fstat(stream.fileno())
                # Asked for that much at once, the system makes room for it first: four times slower.
                if stat.S_ISREG(state.st_mode) and state.st_size <= self._size:
                    return stream.read()
                data = stream.read(self._size + 1)
                if not stat.S_ISREG(state.st_mode):
                    self._pipes[file] = data
                return data
        if self._kept is None:
            if self._stdin is None:
                raise OSError("there is no standard input here")
            self._kept = self._stdin()
        return self._kept


def load(file: str, read: ReadBytes, marks: tuple[str, ...] = ()) -> ParsedFile:
    """A file read and parsed; one that can not be read is accounted for as failed.

    ``marks``: texts by which values that are no Kubernetes objects may matter all the same.
    """
    try:
        data = read(file)
    except OSError as error:
        return ParsedFile((), unreadable(file, error))
    return parse(file, data, marks=marks)


def unreadable(file: str, error: OSError) -> FileReport:
    """The account of a file that the system does not let us read."""
    return FileReport(file, "notChecked", None, f"can not be read: {error.strerror or error}", failed=True)


def _one(path: str, suffixes: tuple[str, ...], tree: Tree, *, named: bool = True) -> list[str | FileReport]:
    """What one argument stands for, or a name that a pattern met; empty when nothing."""
    if path == "-":
        return [STDIN]
    if tree.is_folder(path):
        return list(walk(path, suffixes, tree))
    if tree.exists(path):
        name = clean(path)
        why = tree.why_not(name, named=named)
        return [_refused(name, why) if why else name]
    found: list[str | FileReport] = []
    if named and MAGIC & set(path):
        for name in match(path, tree):
            found.extend(_one(name, suffixes, tree, named=False))
    return found


def _refused(file: str, why: str) -> FileReport:
    return FileReport(file, "notChecked", None, why, failed=True)
