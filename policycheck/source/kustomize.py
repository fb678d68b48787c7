"""What a kustomization names, as far as it tells which files belong together. Building it is not done here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from policycheck.record import NamedTuple
from policycheck.source.files import clean
from policycheck.source.text import TextError
from policycheck.source.tree import DISK, Tree
from policycheck.source.yamldoc import load_values

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_FOLDERS_OR_FILES = ("resources", "bases", "components", "crds", "generators", "transformers", "validators")
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")


class Kustomization(NamedTuple):
    """One folder with a kustomization file, and what it names that exists here."""

    folder: str
    file: str
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_component: bool = False  # can not be built by itself
    problem: str = ""  # why it could not be read; then it names nothing


def kustomization_file(folder: str, tree: Tree = DISK) -> str | None:
    """The kustomization file of a folder, if it has one."""
    for name in NAMES:
        path = clean(os.path.join(folder, name))  # noqa: PTH118 - os.path throughout: pathlib costs start-up
        if tree.is_file(path):
            return path
    return None


def read_kustomization(file: str, read: Callable[[str], bytes], tree: Tree = DISK) -> Kustomization:
    """What a kustomization file names. Remote references and missing files are left out."""
    folder = os.path.dirname(file) or "."  # noqa: PTH120 - as above
    try:
        values = [value for _, value in load_values(file, read(file)) if isinstance(value, dict)]
    except (OSError, TextError) as error:
        return Kustomization(folder, file, problem=str(error))
    folders: dict[str, None] = {}
    files: dict[str, None] = {}
    for value in values:
        for named in _named(value):
            if "\n" in named or "://" in named or "?ref=" in named or named.startswith("git@"):
                continue
            path = clean(os.path.join(folder, named))  # noqa: PTH118 - as above
            if tree.is_folder(path):
                folders[path] = None
            elif tree.is_file(path):
                files[path] = None
    is_component = any(value.get("kind") == "Component" for value in values)
    return Kustomization(folder, file, tuple(folders), tuple(files), is_component)


def _named(value: dict[str, Any]) -> Iterator[str]:
    """Every path that a kustomization names, as written."""
    for key in (*_FOLDERS_OR_FILES, "patchesStrategicMerge", "configurations"):
        yield from (item for item in _list(value.get(key)) if isinstance(item, str))
    for key in _WITH_PATH:
        yield from (item["path"] for item in _mappings(value.get(key)) if isinstance(item.get("path"), str))
    for key in _GENERATORS:
        for item in _mappings(value.get(key)):
            for kind in ("files", "envs"):
                sources = (source for source in _list(item.get(kind)) if isinstance(source, str))
                yield from (source.rpartition("=")[2] for source in sources)
    for chart in _mappings(value.get("helmCharts")):
        if isinstance(chart.get("valuesFile"), str):
            yield chart["valuesFile"]
        if isinstance(chart.get("name"), str):
            yield f"charts/{chart['name']}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]
