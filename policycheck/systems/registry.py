"""Every system, by name. A system's modules load when one of its kinds occurs."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from policycheck.model.cluster import Linker
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import ObjectKey
from policycheck.model.schema import Table

if TYPE_CHECKING:
    from policycheck.lint.settings import Target as Said

SYSTEMS = ("core", "ray", "jobs", "kueue", "gpu", "promise")  # in the order in which they are linked
# Kinds that hand values to a chart, which may hold a system's configuration.
_CARRIERS = frozenset(
    {
        ("helm.toolkit.fluxcd.io", "HelmRelease"),
        ("argoproj.io", "Application"),
        ("helm.cattle.io", "HelmChart"),
    }
)
# Texts without which no mapping that is no object can matter: it tells a version, or holds configuration.
MARKS = ("kueue",)


@lru_cache(maxsize=1024)
def _systems_of(group: str, kind: str) -> tuple[str, ...]:
    """Who reads a kind; several read a ConfigMap, each what it knows."""
    return tuple(
        name for name in SYSTEMS if (group, kind) in import_module(f"policycheck.systems.{name}").KINDS
    )


def _guess(kind: str) -> str | None:
    """The group of a kind that is written without apiVersion, when only one system knows it."""
    groups = {
        g for name in SYSTEMS for g, k in import_module(f"policycheck.systems.{name}").KINDS if k == kind
    }
    return groups.pop() if len(groups) == 1 else None


def read(value: Mapping[str, Any]) -> Facts:
    """Facts of one object. A kind that nobody reads gives Facts with no system and no type."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    version = api_version if isinstance(api_version, str) else ""
    kind = kind if isinstance(kind, str) else ""
    group, _, name = version.rpartition("/")
    if not version:
        group = _guess(kind) or ""
    for system in _systems_of(group, kind):
        module = import_module(f"policycheck.systems.{system}.facts")
        facts: Facts | None = module.read(value, group, kind, name)
        if facts is not None:
            return facts
    if not kind or (group, kind) in _CARRIERS:
        carried = read_other(value)
        if carried is not None:
            return carried
    return _unread(value, group, kind, version)


def read_other(value: Mapping[str, Any]) -> Facts | None:
    """Facts of a mapping that is no Kubernetes object, such as chart values; None when nobody knows it."""
    from policycheck.systems.kueue.facts import read_values

    return read_values(value)


def transitions(facts: Facts, old: Facts, targets: Mapping[str, Said]) -> Iterator[Trouble]:
    """Why an update of ``old`` to ``facts`` is refused where creating it would not be, as ``bad-transition``."""
    if not (facts.typed and old.typed):
        return
    from policycheck.systems.kueue.target import Target, parse_version
    from policycheck.systems.kueue.validate import problems

    said = targets.get("kueue")
    target = Target(parse_version(said.version), said.gates, said.assumed) if said else Target()
    alone = {(trouble.code, trouble.path) for trouble in problems(facts, None, target)}
    for trouble in problems(facts, old, target):
        if (trouble.code, trouble.path) not in alone:
            yield trouble._replace(code="bad-transition")


def _unread(value: Mapping[str, Any], group: str, kind: str, version: str) -> Facts:
    meta = value.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    namespace, name = meta.get("namespace"), meta.get("name")
    key = ObjectKey(
        group,
        kind,
        namespace if isinstance(namespace, str) else "",
        name if isinstance(name, str) else "",
    )
    return Facts(key, version, "", value)


def linkers() -> tuple[Linker, ...]:
    """The linkers of all systems that have a state, in order."""
    from policycheck.systems.core.link import CoreLinker
    from policycheck.systems.kueue.link import KueueLinker

    return (CoreLinker(), KueueLinker())


def tables() -> dict[tuple[str, str], Table]:
    """The field tables of every system, by (group, kind)."""
    found: dict[tuple[str, str], Table] = {}
    for name in SYSTEMS:
        try:
            module = import_module(f"policycheck.systems.{name}.fields")
        except ModuleNotFoundError:
            continue
        found.update(module.tables())
    return found


def resolve(check: str) -> Callable[..., Any] | None:
    """The function that ``check: system.name`` means, or None when there is none."""
    system, _, name = check.partition(".")
    if system not in SYSTEMS:
        return None
    try:
        module = import_module(f"policycheck.systems.{system}.checks")
    except ModuleNotFoundError:
        return None
    found = getattr(module, name, None)
    return found if callable(found) and not name.startswith("_") else None


def stamp() -> str:
    """Changes when a field table may have changed: checksums of the modules that hold them."""
    here = os.path.dirname(__file__)  # noqa: PTH120 - pathlib costs start-up
    sums = []
    for name in SYSTEMS:
        with contextlib.suppress(FileNotFoundError), open(f"{here}/{name}/fields.py", "rb") as file:  # noqa: PTH123
            sums.append(f"{zlib.crc32(file.read()):08x}")
    return " ".join(sums)
