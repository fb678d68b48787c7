"""Several layers of settings put together, with the layer that each value comes from.

What the command line does to the file, a file does to those that it extends: single values, ``select``
and ``inventory`` replace what was there; other lists add to it; maps are put together key by key, the
nearer one counting. Under ``suppressions`` the stricter one counts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from policycheck.record import NamedTuple

_ADDED = frozenset(("ignore", "per_path", "clusters", "context", "exclude", "rules", "crds"))
_MAPS = frozenset(("severity", "target"))
_DEEP_MAPS = frozenset(("params",))
_PATHS = ("inventory", "context", "rules", "crds")
_CLUSTER_PATHS = ("paths", "inventory", "context")


class Leaf(NamedTuple):
    """One value: its key path, items of a list by their place in the layer; and the number of that layer."""

    path: tuple[str | int, ...]
    value: Any
    layer: int

    @property
    def is_item(self) -> bool:
        """Whether it is one of a list."""
        return isinstance(self.path[-1], int)


def settled(values: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """A layer's values with its paths as they are seen from where the command runs."""
    made = {name: value for name, value in values.items() if name != "extends"}
    for name in _PATHS:
        if name in made:
            made[name] = [seen(folder, path) for path in made[name]]
    if made.get("baseline"):
        made["baseline"] = seen(folder, made["baseline"])
    if "clusters" in made:
        made["clusters"] = [
            {k: [seen(folder, p) for p in v] if k in _CLUSTER_PATHS else v for k, v in one.items()}
            for one in made["clusters"]
        ]
    return made


def seen(folder: str, path: str) -> str:
    """``path``, written relative to the settings file, relative to the working folder."""
    if ":" in path.split("/", maxsplit=1)[0] or os.path.isabs(path):  # noqa: PTH117 - pathlib costs start-up
        return path
    return os.path.relpath(f"{folder}/{path}").replace(os.sep, "/")


def merge(layers: Sequence[Mapping[str, Any]], replacing: frozenset[int] = frozenset()) -> list[Leaf]:
    """The leaves of settled ``layers``, farthest first. Maps of the layers ``replacing`` replace whole ones."""
    merged: list[Leaf] = []
    for number, layer in enumerate(layers):
        for key, value in layer.items():
            leaves = [Leaf(path, one, number) for path, one in _leaves(key, value)]
            if key == "suppressions":
                merged = _stricter(merged, leaves)
            elif key in _ADDED:
                merged = _added(merged, leaves)
            elif key in _MAPS | _DEEP_MAPS and number not in replacing:
                again = {leaf.path for leaf in leaves}
                merged = [*(leaf for leaf in merged if leaf.path not in again), *leaves]
            else:
                merged = [*(leaf for leaf in merged if leaf.path[0] != key), *leaves]
    return merged


def _leaves(key: str, value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if key == "suppressions":
        for name, one in value.items():
            yield from (((key, *path), leaf) for path, leaf in _leaves(name, one))
    elif isinstance(value, (list, tuple)):
        yield from (((key, at), one) for at, one in enumerate(value))
    elif key in _MAPS:
        # Names after ids, turned round: of a rule that has both in one file the id counts, being last.
        yield from (((key, name), value[name]) for name in sorted(value, reverse=True))
    elif key in _DEEP_MAPS:
        yield from (
            ((key, name, n), one) for name in sorted(value, reverse=True) for n, one in value[name].items()
        )
    else:
        yield (key,), value


def _added(merged: list[Leaf], leaves: Iterable[Leaf]) -> list[Leaf]:
    held = [(leaf.path[:-1], leaf.value) for leaf in merged if leaf.is_item]
    return [*merged, *(leaf for leaf in leaves if (leaf.path[:-1], leaf.value) not in held)]


def _stricter(merged: list[Leaf], leaves: Iterable[Leaf]) -> list[Leaf]:
    for leaf in leaves:
        if leaf.is_item:
            merged = _added(merged, [leaf])
            continue
        before = next((one for one in merged if one.path == leaf.path), None)
        if before is not None and leaf.path[-1] == "max_days" and _days(leaf) > _days(before):
            continue
        merged = [*(one for one in merged if one is not before), leaf]
    return merged


def _days(leaf: Leaf) -> int:
    return leaf.value or sys.maxsize  # none is without a bound


def joined(leaves: Iterable[Leaf]) -> dict[str, Any]:
    """The values again, as one layer."""
    made: dict[str, Any] = {}
    for leaf in leaves:
        at = made
        inner = [step for step in leaf.path if isinstance(step, str)]
        for step in inner[:-1]:
            at = at.setdefault(step, {})
        if leaf.is_item:
            at.setdefault(inner[-1], []).append(leaf.value)
        else:
            at[inner[-1]] = leaf.value
    return made
