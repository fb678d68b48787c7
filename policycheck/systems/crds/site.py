"""Every place of a value that its schema describes, with what stood there before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.model.origin import Path
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import items, mapping
from policycheck.systems.crds.schema import LIST_TYPE, MAP_KEYS, Schema, child

ABSENT = object()  # nothing stood there before, or it cannot be told what did


class Site(NamedTuple):
    """A value, its schema, its place, and the old value (ABSENT when there is none)."""

    schema: Schema
    value: Any
    path: Path
    old: Any = ABSENT


def walk(schema: Schema, value: Any, old: Any = ABSENT) -> Iterator[Site]:
    """Sites in document order. Iterative, since documents may be deep.

    Items of a list of type map find their old counterpart by key; those of other lists have none
    (Kubernetes documentation, "Transition rules").
    """
    todo = [Site(schema, value, (), old)]
    while todo:
        site = todo.pop()
        if not site.schema:
            continue
        yield site
        todo.extend(reversed(list(_below(site))))


def _below(site: Site) -> Iterator[Site]:
    if isinstance(site.value, dict):
        for key, item in site.value.items():
            old = site.old.get(key, ABSENT) if isinstance(site.old, dict) else ABSENT
            yield Site(child(site.schema, key), item, (*site.path, key), old)
    elif isinstance(site.value, list):
        before = _by_key(site.schema, site.old)
        names = [str(k) for k in items(site.schema.get(MAP_KEYS))]
        for n, item in enumerate(site.value):
            old = before.get(key_of(item, names), ABSENT) if before else ABSENT
            yield Site(child(site.schema, n), item, (*site.path, n), old)


def _by_key(schema: Schema, old: Any) -> Mapping[str, Any]:
    if schema.get(LIST_TYPE) != "map" or not isinstance(old, list):
        return {}
    names = [str(k) for k in items(schema.get(MAP_KEYS))]
    return {key_of(item, names): item for item in old}


def key_of(item: object, names: list[str]) -> str:
    """What tells an item of a list of type map apart, as one text."""
    return repr([mapping(item).get(name) for name in names])
