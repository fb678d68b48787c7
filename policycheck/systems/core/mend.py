"""Changes that checks propose, in the newest form of the objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policycheck.model.origin import DocumentId, Path
from policycheck.model.placement import Taint
from policycheck.source.document import Change


def at(value: object, path: Path) -> Any:
    """What stands at ``path``; None when nothing does."""
    found: Any = value
    for step in path:
        is_there = isinstance(found, list) and isinstance(step, int) and step < len(found)
        found = found.get(step) if isinstance(found, Mapping) else found[step] if is_there else None
    return found


def appended(identity: DocumentId, value: Mapping[str, Any], path: Path, item: object) -> Change:
    """``item`` at the end of the list at ``path`` of ``value``, which need not be there yet."""
    held = at(value, path)
    if isinstance(held, list) and held:
        return Change(identity, (*path, len(held)), "set", item)
    return Change(identity, path, "set", [item])


def moved(
    identity: DocumentId, old: Path, new: Path, value: object, *, is_alone: bool = False
) -> tuple[Change, ...]:
    """``value`` from one place to another. ``is_alone``: nothing else is in the map, which goes with it."""
    gone = old[:-1] if is_alone else old
    return Change(identity, new, "set", value), Change(identity, gone, "remove")


def renamed(identity: DocumentId, paths: Iterable[Path], name: str) -> tuple[Change, ...]:
    """Keys that get another name."""
    return tuple(Change(identity, path, "rename", name) for path in paths)


def tolerated(taint: Taint) -> dict[str, str]:
    """The toleration of a taint, as it is written."""
    if taint.value:
        return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def plain(resource: str, value: int) -> int | str:
    """At least ``value`` base units as people write it: whole cores, whole Gi."""
    if resource == "cpu":
        return -(-value // 1000)
    if resource in ("memory", "ephemeral-storage"):
        return f"{-(-value // 2**30)}Gi" if value >= 2**30 else f"{-(-value // 2**20)}Mi"
    return value
