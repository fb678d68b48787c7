"""CustomResourceDefinitions out of documents.

Source: the Kubernetes documentation page "Extend the Kubernetes API with CustomResourceDefinitions".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.crds.check import Crds, Version

GROUP = "apiextensions.k8s.io"
# Real schemas are 30 levels deep at most; what is deeper is no schema that a server would take.
MAX_DEPTH = 100


class CrdError(ValueError):
    """A CustomResourceDefinition that cannot be used; says which one and why."""


class _Found(NamedTuple):
    group: str
    kind: str
    version: Version


def load(documents: Iterable[Mapping[str, Any]]) -> Crds:
    """Every definition among ``documents``, which may be Lists. Other kinds are passed over.

    Raises CrdError.
    """
    found: dict[tuple[str, str], dict[str, Version]] = {}
    for document in documents:
        listed = items(document.get("items")) if text(document.get("kind")).endswith("List") else [document]
        for raw in listed:
            for one in _versions(mapping(raw)):
                found.setdefault((one.group, one.kind), {})[one.version.name] = one.version
    return Crds(found)


def _versions(value: Mapping[str, Any]) -> list[_Found]:
    if value.get("kind") != "CustomResourceDefinition":
        return []
    name = text(mapping(value.get("metadata")).get("name")) or "without a name"
    version = text(value.get("apiVersion"))
    if version != f"{GROUP}/v1":
        raise CrdError(
            f"CustomResourceDefinition {name} is {version or 'without apiVersion'}; only {GROUP}/v1 is "
            "served since Kubernetes 1.22: export it again from the cluster"
        )
    spec = mapping(value.get("spec"))
    kind = text(mapping(spec.get("names")).get("kind"))
    if not kind or not items(spec.get("versions")):
        raise CrdError(f"CustomResourceDefinition {name} has no spec.names.kind or no spec.versions")
    made = []
    for raw in items(spec.get("versions")):
        one = mapping(raw)
        schema = mapping(mapping(one.get("schema")).get("openAPIV3Schema"))
        if _is_deep(schema):
            raise CrdError(
                f"CustomResourceDefinition {name}: the schema is more than {MAX_DEPTH} levels deep"
            )
        note = text(one.get("deprecationWarning")) if one.get("deprecated") is True else ""
        if one.get("deprecated") is True and not note:
            note = f"{text(spec.get('group'))}/{text(one.get('name'))} {kind} is deprecated"
        served = one.get("served") is not False
        version_made = Version(text(one.get("name")), schema, served, note)
        made.append(_Found(text(spec.get("group")), kind, version_made))
    return made


def _is_deep(schema: Mapping[str, Any]) -> bool:
    todo: list[tuple[Any, int]] = [(schema, 0)]
    while todo:
        at, depth = todo.pop()
        if depth > 2 * MAX_DEPTH:  # a level is a schema and the map that holds it
            return True
        below = at.values() if isinstance(at, dict) else at if isinstance(at, list) else ()
        todo.extend((one, depth + 1) for one in below)
    return False
