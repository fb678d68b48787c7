"""Where names are looked up: on the disk, or in any other tree of files, such as an earlier state of it.

Names are as the user writes them, '/' separated, relative to where the command runs or absolute.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Protocol


class Tree(Protocol):
    """A tree of files. Links are followed; a broken one exists and is neither file nor folder."""

    def is_folder(self, path: str) -> bool:
        """Whether ``path`` leads to a folder."""
        ...

    def is_file(self, path: str) -> bool:
        """Whether ``path`` leads to a regular file."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is anything of that name."""
        ...

    def scan(self, folder: str) -> list[tuple[str, bool]]:
        """Names in a folder, sorted, and whether each is a folder. Raises OSError."""
        ...

    def real(self, path: str) -> str:
        """What tells one file from another, however it is reached."""
        ...

    def why_not(self, path: str, *, named: bool = False) -> str:
        """Why ``path`` is no file to read, "" when it is one; ``named``: by the user."""
        ...


class _Disk:
    """The file system. os.path throughout: pathlib costs start-up."""

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)  # noqa: PTH112 - as above

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)  # noqa: PTH113 - as above

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def scan(self, folder: str) -> list[tuple[str, bool]]:
        with os.scandir(folder) as entries:
            return sorted((entry.name, _is_folder(entry)) for entry in entries)

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def why_not(self, path: str, *, named: bool = False) -> str:
        """Pipes are read when the user names them (``<(command)``)."""
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116 - as above
        except OSError as error:
            return f"can not be read: {error.strerror or error}"
        if stat.S_ISREG(mode) or (named and stat.S_ISFIFO(mode)):
            return ""
        return "can not be read: neither a file nor a folder"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


DISK: Tree = _Disk()
MAGIC = frozenset("*?[")
_LINKS = 40  # that one name may lead through, as the kernel has it


class Listing:
    """A tree that is known by a list: names of files, '/' separated, and where links lead.

    The root is "". Folders are those that files are in.
    """

    def __init__(self, files: Iterable[str], links: Mapping[str, str] = {}) -> None:
        self._files = frozenset(files)
        self._links = links
        self._folders: dict[str, set[str]] = {"": set()}
        for name in (*self._files, *links):
            at = name
            while at:
                above, _, own = at.rpartition("/")
                known = above in self._folders
                self._folders.setdefault(above, set()).add(own)
                if known:
                    break
                at = above

    def resolve(self, path: str) -> str | None:
        """The name that ``path`` leads to through links; None when one is broken or leads outside."""
        todo = [part for part in reversed(path.split("/")) if part]
        at: list[str] = []
        followed = 0
        while todo:
            part = todo.pop()
            if part == ".":
                continue
            if part == "..":
                if not at:
                    return None
                at.pop()
                continue
            link = self._links.get("/".join((*at, part)))
            if link is None:
                at.append(part)
                continue
            followed += 1
            if followed > _LINKS or link.startswith("/"):
                return None
            todo.extend(one for one in reversed(link.split("/")) if one)
        return "/".join(at)

    def is_folder(self, path: str) -> bool:
        """As the protocol has it."""
        return self.resolve(path) in self._folders

    def is_file(self, path: str) -> bool:
        """As the protocol has it."""
        return self.resolve(path) in self._files

    def exists(self, path: str) -> bool:
        """As the protocol has it; a broken link exists."""
        return path in self._links or self.is_file(path) or self.is_folder(path)

    def scan(self, folder: str) -> list[tuple[str, bool]]:
        """As the protocol has it. Raises FileNotFoundError."""
        real = self.resolve(folder)
        found = None if real is None else self._folders.get(real)
        if found is None:
            raise FileNotFoundError(2, "no such folder", folder)
        lead = f"{folder}/" if folder else ""
        return [(name, self.is_folder(lead + name)) for name in sorted(found)]

    def real(self, path: str) -> str:
        """The name behind all links."""
        real = self.resolve(path)
        return path if real is None else real

    def why_not(self, path: str, *, named: bool = False) -> str:  # noqa: ARG002 - of the protocol
        """Links that lead nowhere can not be read."""
        return "" if self.is_file(path) else "can not be read: no such file in this state"


def match(pattern: str, tree: Tree) -> list[str]:
    """What a shell pattern stands for, sorted. ``**`` takes in any folders, each once: links may lead in
    circles. Names that begin with a dot are meant only where the pattern says so.
    """
    found = ["/"] if pattern.startswith("/") else [""]
    for part in (part for part in pattern.split("/") if part):
        below: list[str] = []
        seen: set[str] = set()
        for at in found:
            if part == "**":
                below.extend(_below(at, tree, seen))
            elif MAGIC & set(part):
                below.extend(_named(at, part, tree))
            elif tree.exists(_join(at, part)):
                below.append(_join(at, part))
        found = list(dict.fromkeys(below))
    return sorted(name for name in found if name)


def _named(folder: str, pattern: str, tree: Tree) -> list[str]:
    hidden = pattern.startswith(".")
    return [
        _join(folder, name)
        for name, _ in _scan(folder, tree)
        if fnmatch.fnmatchcase(name, pattern) and (hidden or not name.startswith("."))
    ]


def _below(folder: str, tree: Tree, seen: set[str]) -> list[str]:
    """The folder and those in it that were not seen, nearest first."""
    found, level = [], [folder]
    while level:
        new = []
        for at in level:
            real = tree.real(at or ".")
            if real not in seen:
                seen.add(real)
                new.append(at)
        found.extend(new)
        level = [
            _join(at, name)
            for at in new
            for name, is_folder in _scan(at, tree)
            if is_folder and not name.startswith(".")
        ]
    return found


def _scan(folder: str, tree: Tree) -> list[tuple[str, bool]]:
    try:
        return tree.scan(folder or ".")
    except OSError:  # no folder, or one that others may not read: nothing matches in it
        return []


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if folder in ("", "/") else f"{folder}/{name}"
