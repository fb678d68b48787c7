"""Which files belong to one cluster.

Sums and references never cross scopes. Named clusters come first; without them every folder on the command
line is a scope, inside it every kustomization that no other uses and every chart is one of its own, and the
loose files of one command line are one together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from policycheck.record import NamedTuple
from policycheck.source.document import FileReport
from policycheck.source.files import Reader, clean, expand
from policycheck.source.kustomize import Kustomization, kustomization_file, read_kustomization
from policycheck.source.tree import DISK, Tree

ReadBytes = Callable[[str], bytes]


class Render(Protocol):
    """Turns the folder of a kustomization or chart into manifests.

    Raises FileNotFoundError when nothing installed can do that, another OSError when it failed.
    """

    def __call__(self, folder: str) -> bytes:
        """The manifests, as YAML or JSON text."""
        ...


class Rerender(Protocol):
    """As Render, for a chart with some of its values changed. Raises OSError."""

    def __call__(self, folder: str, values: Mapping[str, Any], /) -> bytes: ...  # noqa: D102


class NamedCluster(Protocol):
    """A cluster of the settings; patterns and folders as on the command line."""

    @property
    def name(self) -> str:
        """Scope name in reports."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """What belongs to the cluster."""
        ...

    @property
    def inventory(self) -> tuple[str, ...]:
        """What hardware it has."""
        ...

    @property
    def context(self) -> tuple[str, ...]:
        """What is read and not reported."""
        ...

    @property
    def target(self) -> tuple[str, ...]:
        """Versions, ``system=0.19,Gate=false``."""
        ...


class Bundle(NamedTuple):
    """A kustomization or chart: rendered as a whole, its files not read one by one."""

    folder: str
    kind: Literal["kustomization", "chart"]
    file: str  # kustomization.yaml or Chart.yaml
    files: tuple[str, ...]  # all that goes into it, ``file`` too
    idle: tuple[str, ...] = ()  # files beside it that it does not name

    @property
    def rendered(self) -> str:
        """The name under which the rendered text goes."""
        return f"{self.folder}/<rendered>"


class ScopePlan(NamedTuple):
    """One scope before anything of it is read."""

    name: str
    files: tuple[str, ...]  # read one by one
    bundles: tuple[Bundle, ...] = ()
    context: tuple[str, ...] = ()  # read, not reported
    inventory: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    reports: tuple[FileReport, ...] = ()  # of what was met and can not be read
    is_named: bool = False  # a cluster, kustomization or chart: two definitions of one object are an error


class Rendered(NamedTuple):
    """The manifests of a scope's bundles by the name they go under, and what became of the files in them."""

    texts: Mapping[str, bytes]
    reports: tuple[FileReport, ...]


class _Place(NamedTuple):
    """Where names are looked up, and how files are read."""

    read: ReadBytes
    tree: Tree


def plan(
    paths: Sequence[str],
    clusters: Iterable[NamedCluster] = (),
    read: ReadBytes | None = None,
    tree: Tree = DISK,
) -> tuple[ScopePlan, ...]:
    """The scopes of a run, in the order of their paths; every file that ``paths`` stand for is in one.

    A named cluster is in the run when one of its files is; the files of it that ``paths`` leave out are its
    context. Paths that stand for nothing make no scope (``files.expand`` tells them).
    """
    place = _Place(read or Reader(), tree)
    folders = list(dict.fromkeys(clean(p) for p in paths if tree.is_folder(p)))
    loose = [p for p in paths if not tree.is_folder(p)]
    asked = expand(paths, tree=tree)
    scopes: list[ScopePlan] = []
    taken: set[str] = set()
    for cluster in clusters:
        mine = expand(cluster.paths, tree=tree)
        if not set(mine.files) & set(asked.files):
            continue
        taken.update(mine.files)
        scopes.append(_named(cluster, mine.files, frozenset(asked.files), mine.troubles, place))
    # A folder inside another one that is named too is a scope of its own.
    for folder in folders:
        inner = [f for f in folders if f != folder and _is_below(f, folder)]
        found = expand([folder], tree=tree)
        files = [f for f in found.files if f not in taken and not any(_is_below(f, i) for i in inner)]
        scopes.extend(_folder(folder, files, found.troubles, place))
    found = expand(loose, tree=tree)
    files = [f for f in found.files if f not in taken and not any(_is_below(f, i) for i in folders)]
    if files or found.troubles:
        scopes.append(ScopePlan("", tuple(files), reports=found.troubles))
    return tuple(scopes)


def render_bundles(scope: ScopePlan, render: Render | None) -> Rendered:
    """Renders what a scope has to be rendered; files of bundles that can not be are *not checked*."""
    texts: dict[str, bytes] = {}
    reports: list[FileReport] = []
    for bundle in scope.bundles:
        try:
            if render is None:
                raise FileNotFoundError(None, f"a {bundle.kind}, and nothing here renders it")  # noqa: TRY301
            texts[bundle.rendered] = render(bundle.folder)
        except FileNotFoundError as error:
            reports.extend(_not_rendered(bundle, _words(error), failed=False))
        except OSError as error:
            reports.extend(_not_rendered(bundle, _words(error), failed=True))
        else:
            reports.extend(FileReport(f, "checked", why=f"as part of {bundle.folder}") for f in bundle.files)
        idle = f"not named by {bundle.file}, so it is not applied"
        reports.extend(FileReport(f, "notChecked", why=idle) for f in bundle.idle)
    return Rendered(texts, tuple(reports))


def _words(error: OSError) -> str:
    return error.strerror or str(error)


def _not_rendered(bundle: Bundle, why: str, *, failed: bool) -> list[FileReport]:
    """The account of a bundle that was not rendered; a failure is counted once, at the file that names it."""
    own = FileReport(bundle.file, "notChecked", 1, why, failed)
    others = f"part of the {bundle.kind} {bundle.folder}, which was not rendered"
    return [own, *(FileReport(f, "notChecked", why=others) for f in bundle.files if f != bundle.file)]


def _named(
    cluster: NamedCluster,
    mine: tuple[str, ...],
    asked: frozenset[str],
    troubles: tuple[FileReport, ...],
    place: _Place,
) -> ScopePlan:
    bundles, rest, reports = _bundles(mine, place)
    inventory = expand(cluster.inventory, (".yaml", ".yml", ".json", ".csv"), place.tree)
    context = expand(cluster.context, tree=place.tree)
    own = [f for f in rest if f in asked and f not in inventory.files]
    beside = [f for f in rest if f not in asked and f not in inventory.files]
    return ScopePlan(
        cluster.name,
        tuple(own),
        tuple(bundles),
        (*beside, *(f for f in context.files if f not in mine)),
        inventory.files,
        cluster.target,
        (*troubles, *reports, *inventory.troubles, *context.troubles),
        is_named=True,
    )


def _folder(
    folder: str, files: list[str], troubles: tuple[FileReport, ...], place: _Place
) -> list[ScopePlan]:
    """The scopes of one folder: its bundles, and what is left."""
    bundles, rest, reports = _bundles(files, place)
    scopes = [ScopePlan(b.folder, (), (b,), is_named=True) for b in bundles]
    reports = (*troubles, *reports)
    if rest or reports or not scopes:
        is_bundle = any(b.folder == folder for b in bundles)
        name = f"{folder} (other files)" if is_bundle else folder
        scopes.insert(0, ScopePlan(name, tuple(rest), reports=reports))
    return [scope for scope in scopes if scope.files or scope.bundles or scope.reports]


def _bundles(files: Iterable[str], place: _Place) -> tuple[list[Bundle], list[str], tuple[FileReport, ...]]:
    """The bundles among files, the files that belong to none, and the kustomizations that can not be built."""
    rest = list(files)
    bundles: list[Bundle] = []
    homes = sorted({_dir(f) for f in rest if f.rsplit("/", 1)[-1] == "Chart.yaml"})
    charts = [home for home in homes if not any(h != home and _is_below(home, h) for h in homes)]
    for home in charts:
        inside = [f for f in rest if _is_below(f, home)]
        bundles.append(Bundle(home, "chart", clean(f"{home}/Chart.yaml"), tuple(inside)))
        rest = [f for f in rest if f not in set(inside)]
    made, owned, reports = _kustomizations(rest, place)
    bundles.extend(made)
    # A base may be a chart of ours that a kustomization inflates; it stays a chart as well.
    return sorted(bundles), [f for f in rest if f not in owned], reports


def _kustomizations(files: list[str], place: _Place) -> tuple[list[Bundle], set[str], tuple[FileReport, ...]]:
    known = _known(files, place)
    used = {folder for k in known.values() for folder in k.folders if folder != k.folder}
    leaves = [k for f, k in sorted(known.items()) if f not in used and not k.is_component]
    bundles, owned = [], set()
    in_folder: dict[str, list[str]] = {}
    for file in files:
        in_folder.setdefault(_dir(file), []).append(file)
    for leaf in leaves:
        members = _members(leaf, known)
        inside = {f for k in members for f in (k.file, *k.files)}
        # What lies beside a kustomization file and is not named by it is no loose manifest either.
        beside = {f for k in members for f in in_folder.get(k.folder, ())} - inside
        bundles.append(
            Bundle(leaf.folder, "kustomization", leaf.file, tuple(sorted(inside)), tuple(sorted(beside)))
        )
        owned |= inside | beside
    reports = []
    for folder, left in sorted(known.items()):
        if left.file in owned:
            continue
        why = "a component that no kustomization here uses" if left.is_component else "it is used in a circle"
        alone = {left.file, *left.files, *in_folder.get(folder, ())} - owned
        reports.append(FileReport(left.file, "notChecked", 1, why, failed=not left.is_component))
        others = f"part of {left.file}, which can not be built by itself"
        reports.extend(FileReport(f, "notChecked", why=others) for f in sorted(alone - {left.file}))
        owned |= alone
    return bundles, owned, tuple(reports)


def _known(files: Iterable[str], place: _Place) -> dict[str, Kustomization]:
    """The kustomizations in the folders of ``files``, and those that they use, wherever these lie."""
    known: dict[str, Kustomization] = {}
    waiting = sorted({_dir(f) for f in files}, reverse=True)
    seen = set(waiting)
    while waiting:
        folder = waiting.pop()
        file = kustomization_file(folder, place.tree)
        if file is None:
            continue
        known[folder] = read_kustomization(file, place.read, place.tree)
        new = [f for f in known[folder].folders if f not in seen]
        seen.update(new)
        waiting.extend(new)
    return known


def _members(leaf: Kustomization, known: Mapping[str, Kustomization]) -> list[Kustomization]:
    """A kustomization and all that it uses, each once."""
    members: dict[str, Kustomization] = {}
    waiting = [leaf.folder]
    while waiting:
        folder = waiting.pop()
        if folder in known and folder not in members:
            members[folder] = known[folder]
            waiting.extend(known[folder].folders)
    return list(members.values())


def _dir(file: str) -> str:
    return os.path.dirname(file) or "."  # noqa: PTH120 - as in files.py


def _is_below(path: str, folder: str) -> bool:
    if folder == ".":
        return not path.startswith(("../", "/"))
    return path == folder or path.startswith(folder.rstrip("/") + "/")
