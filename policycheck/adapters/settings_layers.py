"""``extends``: settings that build on others, an organisation's for instance.

A reference is a path, relative to the file that names it, or ``package:NAME[/FILE]``: a file in an
installed Python package, of which nothing is run. There is no network: what is shared is installed or
checked out, so that the same revision is checked in the same way every time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from policycheck.adapters import settings_text
from policycheck.adapters.settings_text import SettingsError
from policycheck.lint.written import Problem
from policycheck.record import NamedTuple

PACKAGE = "package:"
PACKAGED = ("policycheck.yaml", "policycheck.yml", ".policycheck.yaml", ".policycheck.yml")
_DEEPEST = 8  # files that extend one another in a row
_MOST = 32  # files altogether


class Layer(NamedTuple):
    """One settings file of those that apply together."""

    path: str  # absolute
    shown: str  # as messages and `config show` call it
    values: Mapping[str, Any]  # validated, under the names of SettingsModel

    @property
    def folder(self) -> str:
        """From which its relative paths are taken."""
        return os.path.dirname(self.path)  # noqa: PTH120 - pathlib costs start-up


def layers(path: str, shown: str, cache: str | None = None) -> tuple[Layer, ...]:
    """The file and all that it extends, farthest first, each once. Raises SettingsError."""
    found: dict[str, Layer] = {}
    _collect(path, shown, cache, (), found)
    return tuple(found.values())


def _collect(
    path: str, shown: str, cache: str | None, chain: tuple[Layer, ...], found: dict[str, Layer]
) -> None:
    """Adds what a file extends to ``found``, and then the file. ``chain`` leads to it, so depth is bounded."""
    layer = Layer(path, shown, settings_text.values(path, shown, cache))
    chain = (*chain, layer)
    for at, reference in enumerate(layer.values.get("extends", ())):
        try:
            base, name = _resolve(reference, layer)
            _allow(base, name, chain, found)
        except ValueError as error:
            line, column = settings_text.places(path, shown)(("extends", at))
            raise SettingsError([Problem(shown, line, column, f"extends: {error}")]) from None
        if os.path.realpath(base) not in found:
            _collect(base, name, cache, chain, found)
    found[os.path.realpath(path)] = layer


def _allow(path: str, shown: str, chain: tuple[Layer, ...], found: Mapping[str, Layer]) -> None:
    """Raises ValueError for a file that leads back to itself, or one too many."""
    names = [layer.shown for layer in chain]
    real = os.path.realpath(path)
    for at, layer in enumerate(chain):
        if os.path.realpath(layer.path) == real:
            raise ValueError(f"it goes round in a circle: {' -> '.join([*names[at:], shown])}")
    if len(chain) >= _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} files in a row: {' -> '.join([*names, shown])}")
    if len(found) + len(chain) >= _MOST:
        raise ValueError(f"more than {_MOST} files altogether")
    if not os.path.isfile(path):  # noqa: PTH113 - as above
        what = "is a folder; name the file in it" if os.path.isdir(path) else "there is no such file"  # noqa: PTH112
        raise ValueError(f"{shown}: {what}")


def _resolve(reference: str, layer: Layer) -> tuple[str, str]:
    """The file that ``reference`` means, and what to call it. Raises ValueError."""
    if reference.startswith(PACKAGE):
        return _in_package(reference)
    scheme = reference.split("/", maxsplit=1)[0]
    if ":" in scheme or not reference.strip():
        raise ValueError(
            f"{reference!r} is neither a path nor {PACKAGE}NAME; nothing is fetched: install what is shared as a "
            "Python package, or check it out"
        )
    path = os.path.normpath(os.path.join(layer.folder, reference))  # noqa: PTH118 - as above
    if layer.shown.startswith(PACKAGE):
        inner = os.path.relpath(path, layer.folder).replace(os.sep, "/")
        return path, f"{layer.shown.rpartition('/')[0]}/{inner}"
    return path, os.path.relpath(path).replace(os.sep, "/")


def _in_package(reference: str) -> tuple[str, str]:
    name, _, inner = reference.removeprefix(PACKAGE).partition("/")
    if not name.isidentifier():
        raise ValueError(
            f"{reference!r}: write {PACKAGE}NAME or {PACKAGE}NAME/FILE, with the name that one imports"
        )
    folder = _folder_of(name)
    if not folder:
        raise ValueError(
            f"{reference}: no package {name} is installed beside policycheck; `pip install` it there"
        )
    if ".." in inner.split("/"):
        raise ValueError(f"{reference}: the file lies in the package, so its name has no `..`")
    names = (inner,) if inner else PACKAGED
    for one in names:
        if os.path.isfile(f"{folder}/{one}"):  # noqa: PTH113 - as above
            return f"{folder}/{one}", f"{PACKAGE}{name}/{one}"
    raise ValueError(f"{reference}: the package has no {' and no '.join(names)}")


def _folder_of(name: str) -> str:
    """The folder of an installed package; "" when there is none. Nothing in it is imported.

    The working folder does not count: what is checked there must not stand in for the real one.
    """
    import sys
    from importlib.machinery import PathFinder

    here = os.path.realpath(".")
    installed = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    for finder in sys.meta_path:
        path = installed if finder is PathFinder else None
        spec = finder.find_spec(name, path)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            if os.path.isdir(folder):  # noqa: PTH112 - as above
                return folder
    return ""
