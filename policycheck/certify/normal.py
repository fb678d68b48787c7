"""An object as the API server keeps it, so that equal objects have equal digests however they are written.

What a server or a client adds on the way (status, managed fields, revisions) is left out; quantities are
written in one way: 64, "64" and "64000m" are one amount.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from policycheck.certify.canonical import digest
from policycheck.model.amount import QuantityError, quantity
from policycheck.model.facts import Facts
from policycheck.model.schema import Field, Table

_KEPT = ("name", "namespace", "labels", "annotations")  # of metadata
_ADDED = ("kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")
# Lists of amounts wherever they stand, as in pod templates.
_AMOUNTS = frozenset({"requests", "limits", "overhead", "capacity", "allocatable", "hard"})


def name_of(facts: Facts) -> str:
    """``group/Kind/namespace/name``; without the parts that the object has not."""
    return "/".join(part for part in facts.key if part)


def normal(facts: Facts, table: Table | None) -> dict[str, Any]:
    """The object in its newest served form, defaulted, without what is added on the way."""
    value = {key: held for key, held in facts.value.items() if key not in ("status", "metadata")}
    meta = facts.value.get("metadata")
    kept = {key: meta[key] for key in _KEPT if key in meta} if isinstance(meta, Mapping) else {}
    notes = kept.get("annotations")
    if isinstance(notes, Mapping):
        kept["annotations"] = {key: held for key, held in notes.items() if key not in _ADDED}
    if table is not None:  # conversion leaves the version as it was written
        value["apiVersion"] = f"{table.group}/{table.newest}" if table.group else table.newest
    value["metadata"] = {key: held for key, held in kept.items() if held not in ({}, None, "")}
    found = _written(value, table.root() if table is not None else None)
    assert isinstance(found, dict)  # noqa: S101 - it went in as one
    return found


def digest_of(facts: Facts, table: Table | None) -> str:
    """sha256 of the normal form, in hex."""
    return digest(normal(facts, table))


def _written(value: Any, root: Field | None) -> Any:
    """The same with every quantity in its one form, and fractions as text. No recursion: depth is the user's."""
    holder: list[Any] = [value]
    todo: list[tuple[Any, Any, Field | None, bool]] = [(holder, 0, root, False)]
    while todo:
        parent, key, field, counts = todo.pop()
        found = parent[key]
        if isinstance(found, Mapping) and counts:
            parent[key] = {name: _plain(held) for name, held in found.items()}
        elif isinstance(found, Mapping):
            parent[key] = made = dict(found)
            todo.extend((made, name, _below(field, name), name in _AMOUNTS) for name in made)
        elif isinstance(found, (list, tuple)):
            parent[key] = items = list(found)
            todo.extend((items, at, field.item if field else None, False) for at in range(len(items)))
        elif field is not None and field.type == "quantity":
            parent[key] = _plain(found)
        elif isinstance(found, float) or (
            isinstance(found, int) and not isinstance(found, bool) and abs(found) >= 2**53
        ):
            parent[key] = f"number {found!r}"
    return holder[0]


def _below(field: Field | None, name: str) -> Field | None:
    if field is None:
        return None
    return field.fields.get(name) or (field.item if field.type == "map" else None)


def _plain(raw: Any) -> Any:
    """A quantity in its one form: a whole number, or thousandths and finer as a fraction in text."""
    try:
        exact: Fraction = quantity(raw)
    except QuantityError:
        return raw if isinstance(raw, str) else repr(raw)
    return str(exact)
