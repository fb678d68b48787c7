"""What was read of files, and what came of it, kept from one run to the next in a file a project.

What is kept is pickled, and unpickling is no place for surprises: the folder and the file have to be this user's
and writable by nobody else, and only records of this package, fractions and decimals are made. A file that is
damaged, or of another make, counts as none.
"""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import zlib
from _pickle import Unpickler as _Unpickler
from _pickle import UnpicklingError, dumps
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from policycheck import __version__, data
from policycheck.digest import sha256
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from policycheck.app.again import Remembered
    from policycheck.app.reading import Read, Text
    from policycheck.lint.finding import LintResult

_MAGIC = b"policycheck kept 1\n"
MOST_BYTES = 64 * 1024 * 1024  # of one file; what this run did not use goes first
MOST_FILES = 16
_RUN = "run "
_CODE = ("source", "model", "lint", "systems", "app")  # folders of the package that decide what comes out
PROTOCOL = 5
_PLAIN = {("fractions", "Fraction"), ("decimal", "Decimal")}
Came = TypeVar("Came", bound=tuple[Any, ...])


class _Part(NamedTuple):
    """Where in the file something stands, its checksum, and of which name it is."""

    name: str  # digest of it
    start: int
    size: int
    checksum: int


class _Used(NamedTuple):
    """What this run found or made; pickled only when it is saved, which nobody waits for."""

    name: str
    read: Read | LintResult | Remembered
    blob: bytes | None


class Kept:
    """Opened for one run: ``find``, ``add``, and ``save`` at the end. Whatever goes wrong costs time alone."""

    def __init__(self, folder: str, project: str) -> None:
        self._handle = -1
        self._folder = folder
        self._file = sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:32]
        self._stamp = ""  # without one nothing counts, and nothing is kept
        self._index: dict[str, _Part] = {}
        self._used: dict[str, _Used] = {}  # by mark
        self._is_new = False
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            self._stamp = stamp()
            self._load()

    def find(self, text: Text) -> Read | None:
        """What reading this gave before."""
        mark = marked(text.name, text.digest)
        used = self._used.get(mark)
        if used is not None:
            return cast("Read", used.read)
        blob = self._blob(self._index.get(mark))
        found = None if blob is None else _tried(blob)
        if found is None:
            return None
        self._used[mark] = _Used(_named(text.name), cast("Read", found), blob)
        return cast("Read", found)

    def was(self, mark: str) -> Read | None:
        """What reading gave of a file as it was in an earlier run."""
        blob = self._blob(self._index.get(mark))
        return None if blob is None else cast("Read | None", _tried(blob))

    def add(self, text: Text, found: Read, blob: bytes | None = None) -> None:
        """Keeps what reading gave; ``blob`` is the same pickled, where that is at hand."""
        mark = marked(text.name, text.digest)
        self._used[mark] = _Used(_named(text.name), found, blob)
        self._is_new = True

    def recall(self, key: str, kind: type[Came]) -> Came | None:
        """What a run came to over the same, when that is of this kind."""
        blob = self._blob(self._index.get(_RUN + key))
        found = None if blob is None else _tried(blob)
        return found if isinstance(found, kind) else None

    def remember(self, key: str, about: str, result: LintResult | Remembered) -> None:
        """Keeps what a run came to, in place of what one ``about`` the same did."""
        name = _named(about)
        self._used = {mark: used for mark, used in self._used.items() if used.name != name}
        self._used[_RUN + key] = _Used(name, result, None)
        self._is_new = True

    def save(self) -> None:
        """Writes what this run used, and what was there of files that it did not look at; nothing when nothing is
        new.
        """
        if self._is_new and self._stamp:
            with suppress(OSError):
                self._save()
            self._is_new = False

    def close(self) -> None:
        """Lets go of the file; what was found in it stays."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle, self._index = -1, {}

    def __del__(self) -> None:
        self.close()

    def _blob(self, part: _Part | None) -> bytes | None:
        if part is None:
            return None
        try:
            blob = os.pread(self._handle, part.size, part.start)
        except OSError:
            return None
        return blob if zlib.crc32(blob) == part.checksum else None

    def _load(self) -> None:
        with _opened(self._folder) as folder:
            self._handle = _readable(folder, self._file)
        lead = os.pread(self._handle, len(_MAGIC) + 8, 0)
        size, checksum = (int.from_bytes(lead[len(_MAGIC) + n : len(_MAGIC) + n + 4], "big") for n in (0, 4))
        head = os.pread(self._handle, size, len(lead))
        if not lead.startswith(_MAGIC) or zlib.crc32(head) != checksum:
            return
        told = json.loads(head)
        if told["stamp"] == self._stamp:
            base = len(lead) + size
            self._index = {
                mark: _Part(name, base + start, long, crc) for mark, name, start, long, crc in told["parts"]
            }

    def _save(self) -> None:
        seen = {used.name for used in self._used.values()}
        parts: list[tuple[str, str, int, int, int]] = []
        blobs: list[bytes] = []
        at = 0
        for mark, name, blob in (*self._now(), *self._others(seen)):
            if at + len(blob) <= MOST_BYTES:
                parts.append((mark, name, at, len(blob), zlib.crc32(blob)))
                blobs.append(blob)
                at += len(blob)
        head = json.dumps({"stamp": self._stamp, "parts": parts}, separators=(",", ":")).encode("ascii")
        sums = len(head).to_bytes(4, "big") + zlib.crc32(head).to_bytes(4, "big")
        os.makedirs(os.path.dirname(self._folder), exist_ok=True)  # noqa: PTH103, PTH120 - pathlib costs start-up
        with suppress(FileExistsError):
            os.mkdir(self._folder, 0o700)  # noqa: PTH102 - as above
        with _opened(self._folder) as folder:
            _write(folder, self._file, b"".join((_MAGIC, sums, head, *blobs)))
            _prune(folder)

    def _now(self) -> Iterator[tuple[str, str, bytes]]:
        for mark, used in self._used.items():
            yield mark, used.name, dumps(used.read, PROTOCOL) if used.blob is None else used.blob

    def _others(self, seen: set[str]) -> Iterator[tuple[str, str, bytes]]:
        """What was kept of files that this run did not look at; of those that it did, what they were is gone."""
        for mark, part in self._index.items():
            if mark not in self._used and part.name not in seen:
                blob = self._blob(part)
                if blob is not None:
                    yield mark, part.name, blob


def opened(cache: str, project: str) -> Kept | None:
    """What is kept for the project in this folder; None where no user can be told from another."""
    if not hasattr(os, "geteuid") or os.open not in os.supports_dir_fd:
        return None
    return Kept(f"{cache}/read", project)


def stamp() -> str:
    """Changes when the code that reads may have: what it gave before then counts no more."""
    import yaml

    libyaml = yaml._yaml.get_version_string()  # noqa: SLF001 - there is no other way to it
    made = sha256(f"{__version__} {sys.version} {yaml.__version__} {libyaml}".encode())
    package = os.path.dirname(data.__file__)  # noqa: PTH120 - pathlib costs start-up
    # An installation writes all its files anew; in a checkout any of them may change.
    for folder in (".", *_CODE) if data.in_checkout() else (".",):
        for line in sorted(_states(f"{package}/{folder}", inside=folder != ".")):
            made.update(line.encode("utf-8", "surrogateescape"))
    return made.hexdigest()


def _states(folder: str, *, inside: bool) -> Iterator[str]:
    """Names, sizes and times of the modules in a folder, and those below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                state = entry.stat()
                yield f"{folder}/{entry.name} {state.st_size} {state.st_mtime_ns}\n"
            elif inside and "." not in entry.name and not entry.name.startswith("_") and entry.is_dir():
                yield from _states(entry.path, inside=True)


def unpacked(blob: bytes) -> Read:
    """What reading gave, as it was pickled. Raises UnpicklingError; see ``loaded``."""
    return cast("Read", loaded(blob))


def loaded(blob: bytes) -> object:
    """What was pickled. Raises UnpicklingError for anything but records, fractions, decimals and plain values."""
    found: object = _Careful(io.BytesIO(blob)).load()
    return found


class _Careful(_Unpickler):
    """Makes tuples of this package's, and no other objects."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN:
            return getattr(import_module(module), name)
        if module.startswith("policycheck."):
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and issubclass(found, tuple):
                return found
        raise UnpicklingError(f"{module}.{name} is nothing that reading makes")


def _tried(blob: bytes) -> object | None:
    try:
        return loaded(blob)
    except Exception:  # noqa: BLE001 - whatever is wrong with it: it is made anew
        return None


def marked(name: str, digest: str) -> str:
    """What a file of that name with content of that digest is kept under."""
    return sha256(f"{name}\0{digest}".encode("utf-8", "surrogatepass")).hexdigest()


def _named(name: str) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    """The folder, if it is this user's and nobody else may write there. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check(os.fstat(handle))
        yield handle
    finally:
        os.close(handle)


def _check(state: os.stat_result) -> None:
    is_plain = stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)
    if not is_plain or state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("somebody else could have written it")


def _readable(folder: int, name: str) -> int:
    # Without waiting: a pipe would keep us for ever before we could see that it is one.
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        _check(os.fstat(handle))
    except OSError:
        os.close(handle)
        raise
    return handle


def _write(folder: int, name: str, body: bytes) -> None:
    """Whole or not at all: another run may be reading it."""
    beside = f"{name}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(beside, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(body)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


def _prune(folder: int) -> None:
    """Keeps the files that were written last."""
    with os.scandir(folder) as entries:
        ages = sorted((entry.stat().st_mtime_ns, entry.name) for entry in entries)
    for _, name in ages[:-MOST_FILES]:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
