"""Any value of the model as JSON: how one debugs, and how golden tests are cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

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
    return getattr(value, "__name__", type(value).__name__)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return "/".join(_key(part) for part in key) if isinstance(key, tuple) else str(key)
