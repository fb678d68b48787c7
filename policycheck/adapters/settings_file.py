"""The settings file: found beside or above the user's files, with what it extends, turned into Settings.

``settings_text`` reads and validates one file, ``settings_layers`` follows ``extends``,
``settings_merge`` puts the layers together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from policycheck.adapters import settings_merge
from policycheck.adapters.settings_layers import Layer, layers
from policycheck.adapters.settings_text import SettingsError, places
from policycheck.lint.settings import Acceptance, Admission, ClusterScope, PathOverride, Settings
from policycheck.lint.written import Problem
from policycheck.record import NamedTuple

__all__ = [
    "ENVIRONMENT",
    "NAMES",
    "SettingsError",
    "Source",
    "find",
    "load",
    "of_layers",
    "of_values",
    "source",
]

Name = str | os.PathLike[str]
ENVIRONMENT = "POLICYCHECK_CONFIG"
# os.path throughout: pathlib costs start-up.
NAMES = (".policycheck.yaml", ".policycheck.yml")


class Source(NamedTuple):
    """The settings file of a run, and who chose it: "--config", "POLICYCHECK_CONFIG", "found" or ""."""

    path: str | None
    by: str


def source(
    config: str | None, paths: Sequence[str], environ: Mapping[str, str], *, isolated: bool = False
) -> Source:
    """The settings file that counts: the option's, else the environment's, else the nearest; or none.

    Raises SettingsError when two lie side by side.
    """
    if isolated:
        return Source(None, "")
    if config:
        return Source(config, "--config")
    named = environ.get(ENVIRONMENT)
    if named:
        if os.path.isdir(named) or not os.path.exists(named):  # noqa: PTH110, PTH112 - as above
            raise SettingsError([Problem(named, 1, 1, f"{ENVIRONMENT} names it, and there is no such file")])
        return Source(named, ENVIRONMENT)
    # Outside a repository the search looks at one folder alone; the user's own counts as well.
    found = find(paths) or find()
    return Source(found, "found" if found else "")


def find(paths: Sequence[str] = ()) -> str | None:
    """The nearest settings file, from what ``paths`` have in common up to the root of its repository.

    Without a repository only the folder itself is looked at: a file far above is nobody's
    intention. Raises SettingsError when a folder has two.
    """
    folders = _upwards(_start(paths))
    root = next((at for at, folder in enumerate(folders) if os.path.exists(f"{folder}/.git")), 0)  # noqa: PTH110
    for folder in folders[: root + 1]:
        names = [name for name in NAMES if os.path.isfile(f"{folder}/{name}")]  # noqa: PTH113 - as above
        if _section(f"{folder}/pyproject.toml") is not None:
            names.append("pyproject.toml")
        if len(names) > 1:
            what = f"settings in {' and '.join(names)}; keep one of them"
            raise SettingsError([Problem(folder or "/", 1, 1, what)])
        if names:
            return f"{folder}/{names[0]}"
    return None


def _upwards(folder: str) -> list[str]:
    """The folder and all above it, without a slash at their ends."""
    found = [folder.rstrip("/")]
    while found[-1]:
        found.append(found[-1].rpartition("/")[0])
    return found


def _start(paths: Sequence[str]) -> str:
    """The folder that holds all of ``paths``; the working folder for standard input and globs."""
    real = [os.path.realpath(path) for path in paths if path != "-" and os.path.exists(path)]  # noqa: PTH110
    if not real:
        return os.path.realpath(".")
    common = os.path.commonpath(real)
    return common if os.path.isdir(common) else os.path.dirname(common)  # noqa: PTH112, PTH120 - as above


def load(path: Name | None, cache: Name | None = None) -> Settings:
    """The Settings in ``path`` and what it extends; the defaults when it is None. Raises SettingsError.

    ``cache`` is a folder for the validated form. Paths in a file are taken from its folder.
    """
    if path is None:
        return Settings()
    path = os.path.abspath(path)  # noqa: PTH100 - as above
    return of_layers(layers(path, os.path.relpath(path), os.fspath(cache) if cache else None))


def of_layers(found: Sequence[Layer]) -> Settings:
    """The Settings that ``found`` come to, farthest first. Raises SettingsError for names that clash."""
    leaves = settings_merge.merge([settings_merge.settled(one.values, one.folder) for one in found])
    names: dict[str, Layer] = {}
    for leaf in leaves:
        if leaf.path[0] == "clusters":
            layer, name = found[leaf.layer], leaf.value["name"]
            if name in names:
                line, column = places(layer.path, layer.shown)(leaf.path)
                what = f"a cluster {name!r} stands in {names[name].shown} too; give one of them another name"
                raise SettingsError([Problem(layer.shown, line, column, what)])
            names[name] = layer
    extended = tuple(os.path.relpath(layer.path) for layer in found[:-1])
    return of_values(settings_merge.joined(leaves))._replace(file=found[-1].shown, extended=extended)


def of_values(plain: Mapping[str, Any]) -> Settings:
    """Settings out of validated values, whose paths are settled."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
    }
    values["per_path"] = tuple(PathOverride(**_tuples(one)) for one in plain.get("per_path", ()))
    values["clusters"] = tuple(_cluster(one) for one in plain.get("clusters", ()))
    values["phase"] = plain.get("phase") or ""
    asked = _tuples(plain.get("suppressions", {}))
    values["webhook"] = _admission(plain.get("webhook", {}))
    values["suppressions"] = Acceptance(**{**asked, "max_days": asked.get("max_days") or 0})
    return Settings(**{**values, "target": _targets(plain.get("target", {}))})


def _admission(plain: Mapping[str, Any]) -> Admission:
    who = _tuples(plain.get("override", {}))
    said = {name: value for name, value in _tuples(plain).items() if name != "override"}
    return Admission(**said, **who)


def _tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}


def _cluster(one: Mapping[str, Any]) -> ClusterScope:
    return ClusterScope(**{**_tuples(one), "target": _targets(one.get("target", {}))})


def _targets(given: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{system}={version}" for system, version in sorted(given.items()))


def _section(path: str) -> object:
    """``[tool.policycheck]`` of a pyproject.toml; None when there is none. A file that has one and is
    no TOML gives an empty one: reading it again says what is wrong.
    """
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as above
            text = file.read()
    except (OSError, ValueError):
        return None
    if "tool.policycheck" not in text:
        return None
    import tomllib

    try:
        return tomllib.loads(text).get("tool", {}).get("policycheck")
    except (ValueError, RecursionError, AttributeError):
        begins = (line.strip().lstrip("[ ") for line in text.splitlines())
        return {} if any(line.startswith("tool.policycheck") for line in begins) else None
