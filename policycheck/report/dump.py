"""Any value of the model as JSON: how one debugs, and how golden tests are cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from policycheck.model.cluster import Cluster

# The model is shallower; raw documents can be as deep as a file may be, and nobody reads that far.
_DEPTH = 60


def render(value: Any) -> str:
    """Deterministic JSON: mappings and sets sorted, records as objects, keys that are no strings as text."""
    return json.dumps(plain(value), indent=2, ensure_ascii=True) + "\n"


def plain(value: Any, depth: int = _DEPTH) -> Any:
    """The value made of dict, list, str, int, float, bool and None alone."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        pairs = ((_key(key), plain(item, depth - 1)) for key, item in value.items())
        return dict(sorted(pairs, key=lambda pair: pair[0]))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(getattr(value, name), depth - 1) for name in value._fields}
    if isinstance(value, list | tuple):
        return [plain(item, depth - 1) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth - 1) for item in value), key=repr)
    if is_dataclass(value) and not isinstance(value, type):
        public = (field.name for field in fields(value) if not field.name.startswith("_"))
        return {name: plain(getattr(value, name), depth - 1) for name in public}
    held = _attributes(value)
    if held and not isinstance(value, type):
        return {name: plain(item, depth - 1) for name, item in held.items()}
    return getattr(value, "__name__", type(value).__name__)


def clusters(found: Iterable[Cluster]) -> list[dict[str, Any]]:
    """What there is to see of linked clusters: documents, hardware, the neutral view, each system's state."""
    return [
        {
            "scope": cluster.scope,
            "entries": [entry for _, entry in sorted(cluster.entries.items())],
            "ambiguous": cluster.ambiguous,
            "inventory": cluster.inventory,
            "view": cluster.view,
            "systems": cluster.systems,
        }
        for cluster in found
    ]


def _attributes(value: Any) -> dict[str, Any]:
    """Public attributes that hold something, of an ordinary object."""
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [name for name in (*slots, *getattr(value, "__dict__", {})) if not name.startswith("_")]
    held = ((name, getattr(value, name, None)) for name in sorted(set(names)))
    return {name: item for name, item in held if not callable(item)}


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return "/".join(_key(part) for part in key) if isinstance(key, tuple) else str(key)
