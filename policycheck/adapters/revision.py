"""The same input as it was in a revision: names, contents and rendering out of git instead of the disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from policycheck.adapters.git import Blobs, GitError, State, exact, link_target, state
from policycheck.record import NamedTuple
from policycheck.source.files import STDIN, expand, walk
from policycheck.source.tree import DISK, Listing

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.lint.settings import Settings

_BESIDE = (".yaml", ".yml", ".json", ".csv")


class Earlier(NamedTuple):
    """Sources of the revision, and what to tell of it."""

    sources: Sources
    note: str


@contextmanager
def earlier(rev: str, sources: Sources, settings: Settings) -> Iterator[Earlier]:
    """``sources`` as they were where ``rev`` and the checked-out commit have parted. Raises GitError.

    What is given beside the manifests (inventory, context, definitions) and is not in that revision,
    as a dump that was made just now, counts as it is. Standard input has no earlier state.
    """
    paths = tuple(path for path in sources.paths if path != "-")
    found = state(rev, _folder(paths))
    with ExitStack() as stack:
        blobs = Blobs(found.top)
        stack.callback(blobs.close)
        tree = _Past(found, blobs, sources.read)
        outside = next((path for path in paths if tree.inside(path) is None), None)
        if outside is not None:
            raise GitError(f"--new-from: {outside} is outside of the repository {found.top}")
        clusters = settings.clusters
        given = (*sources.context, *sources.inventory, *sources.crds)
        tree.keep([*given, *(path for one in clusters for path in (*one.context, *one.inventory))])
        before = sources._replace(paths=paths, read=tree.read, tree=tree, render=None)
        if sources.render is not None:
            export = _Export(tree, sources.render)
            stack.callback(export.close)
            before = before._replace(render=export.render)
        note = f"only what is new since {found.commit[:12]}, where {rev} and what is checked out have parted"
        if len(paths) < len(sources.paths):
            note += "; standard input has no earlier state, all of it counts as new"
        if found.modules:
            note += f"; what is in submodules ({', '.join(found.modules[:3])}) counts as it is now"
        yield Earlier(before, note)


@contextmanager
def revised(rev: str, sources: Sources, word: str) -> Iterator[Sources]:
    """``sources`` as they were in ``rev`` itself; ``word`` is what the user wrote. Raises GitError.

    What is given beside the manifests (the inventory) and is not in that revision counts as it is.
    """
    found = exact(rev, _folder(sources.paths), word)
    with ExitStack() as stack:
        blobs = Blobs(found.top)
        stack.callback(blobs.close)
        tree = _Past(found, blobs, sources.read)
        for path in sources.paths:
            if path == "-" or tree.inside(path) is None:
                raise GitError(f"{word}: {path} is not in the repository {found.top}")
            if not tree.exists(path):
                raise GitError(f"{word}: {path} is not in that revision")
        tree.keep([*sources.context, *sources.inventory])
        past = sources._replace(read=tree.read, tree=tree, render=None)
        if sources.render is not None:
            export = _Export(tree, sources.render)
            stack.callback(export.close)
            past = past._replace(render=export.render)
        yield past


def _folder(paths: Iterable[str]) -> str:
    """An existing folder of the first path that is there; the working folder for all others."""
    for path in paths:
        if DISK.is_folder(path):
            return path
        if DISK.exists(path):
            return os.path.dirname(path) or "."  # noqa: PTH120 - names stay as the user wrote them
    return "."


class _Past:
    """The tree of a revision, seen from the working folder. Outside of the repository it is the disk."""

    def __init__(self, found: State, blobs: Blobs, read: Callable[[str], bytes]) -> None:
        self.state, self.blobs = found, blobs
        self._disk = read
        self._here = os.path.realpath(".")
        self._links = {name: link_target(blobs, identity) for name, identity in found.links.items()}
        modules = (f"{found.top}/{name}" for name in found.modules)
        walked = (name for module in modules if DISK.is_folder(module) for name in walk(module, _BESIDE))
        self._kept: frozenset[str] = frozenset(self._inside(n) for n in walked if isinstance(n, str))
        self._list()

    def _list(self) -> None:
        self.listing = Listing((*self.state.blobs, *self._kept), self._links)

    def keep(self, paths: Iterable[str]) -> None:
        """Takes what stands for nothing in the revision from the disk."""
        absent = [path for path in paths if path != "-" and not expand([path], _BESIDE, self).files]
        found = (self.inside(name) for name in expand(absent, _BESIDE).files)
        self._kept |= {name for name in found if name is not None}
        self._list()

    def inside(self, path: str) -> str | None:
        """The name from the top of the repository; None outside of it."""
        for whole in (os.path.normpath(os.path.join(self._here, path)), os.path.realpath(path)):  # noqa: PTH118
            if whole == self.state.top or whole.startswith(self.state.top.rstrip("/") + "/"):
                return whole[len(self.state.top) :].strip("/")
        return None

    def _inside(self, path: str) -> str:
        return self.inside(path) or ""

    def is_folder(self, path: str) -> bool:
        name = self.inside(path)
        return DISK.is_folder(path) if name is None else self.listing.is_folder(name)

    def is_file(self, path: str) -> bool:
        name = self.inside(path)
        return DISK.is_file(path) if name is None else self.listing.is_file(name)

    def exists(self, path: str) -> bool:
        name = self.inside(path)
        return DISK.exists(path) if name is None else self.listing.exists(name)

    def scan(self, folder: str) -> list[tuple[str, bool]]:
        name = self.inside(folder)
        return DISK.scan(folder) if name is None else self.listing.scan(name)

    def real(self, path: str) -> str:
        name = self.inside(path)
        return DISK.real(path) if name is None else f"{self.state.top}/{self.listing.real(name)}"

    def why_not(self, path: str, *, named: bool = False) -> str:
        name = self.inside(path)
        return DISK.why_not(path, named=named) if name is None else self.listing.why_not(name)

    def read(self, path: str) -> bytes:
        """The bytes that a file had. Raises OSError when there was none, GitError when git has it no more."""
        name = None if path in ("-", STDIN) else self.inside(path)
        if name is None:
            return self._disk(path)
        real = self.listing.resolve(name)
        if real in self._kept:
            return self._disk(path)
        if real not in self.state.blobs or real is None:
            raise FileNotFoundError(2, "no such file in that revision", path)
        return self.blobs.read(self.state.blobs[real])


class _Export:
    """The revision written to a scratch folder, for tools that render and know files alone."""

    def __init__(self, tree: _Past, render: Callable[[str], bytes]) -> None:
        self._tree, self._render = tree, render
        self._folder = ""

    def render(self, folder: str) -> bytes:
        """What ``folder`` was rendered to."""
        name = self._tree.inside(folder)
        if name is None:
            return self._render(folder)
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="policycheck-")
            self._write(Path(self._folder))
        return self._render(f"{self._folder}/{name}".rstrip("/"))

    def _write(self, root: Path) -> None:
        found = self._tree.state
        for name, identity in found.blobs.items():
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self._tree.blobs.read(identity))
        for name in found.links:
            leads = self._tree.listing.resolve(name)  # one that leaves the repository is left out
            if leads is not None:
                target = root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with suppress(OSError):
                    target.symlink_to(os.path.relpath(root / leads, target.parent))

    def close(self) -> None:
        """Takes the scratch folder away."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
