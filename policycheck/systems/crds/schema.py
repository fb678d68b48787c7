"""A structural schema as JSON Schema: what the API server means, in words that validators know.

Fields that the schema does not name are refused here, where the API server drops them in silence.
Source: the Kubernetes documentation on structural schemas, pruning and the ``x-kubernetes-`` extensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.systems.core.podspec import items, mapping

Schema = Mapping[str, Any]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
VALIDATIONS = "x-kubernetes-validations"

_SAME = (
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
    "minimum",
    "maximum",
)
_INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_DATE_TIME = r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$"
_TYPE_META: Mapping[str, Any] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


def convert(schema: Schema, *, is_object: bool = True) -> dict[str, Any]:
    """``schema`` as JSON Schema (draft 2020-12). ``is_object``: it describes a whole object.

    Recursion follows the schema, whose depth ``definition`` has bounded.
    """
    return _node(schema, is_object=is_object, strict=True)


def _node(schema: Schema, *, is_object: bool = False, strict: bool) -> dict[str, Any]:
    out = {name: schema[name] for name in _SAME if name in schema}
    types = _types(schema)
    if types:
        out["type"] = types[0] if len(types) == 1 else types
    if schema.get("nullable") is True and "enum" in out:
        out["enum"] = [*items(out["enum"]), None]
    _bounds(schema, out)
    if isinstance(schema.get("items"), dict):
        out["items"] = _node(schema["items"], strict=strict)
    for name in ("allOf", "anyOf", "oneOf"):
        if items(schema.get(name)):
            # Branches restrict values, they do not name fields of their own.
            out[name] = [_node(mapping(one), strict=False) for one in items(schema[name])]
    if isinstance(schema.get("not"), dict):
        out["not"] = _node(schema["not"], strict=False)
    if items(schema.get("required")):
        out["required"] = schema["required"]
    _properties(schema, out, is_object=is_object or schema.get(EMBEDDED) is True, strict=strict)
    return out


def _types(schema: Schema) -> list[str]:
    if schema.get(INT_OR_STRING) is True:
        types = ["integer", "string"]
    else:
        types = [str(schema["type"])] if schema.get("type") else []
    return [*types, "null"] if types and schema.get("nullable") is True else types


def _bounds(schema: Schema, out: dict[str, Any]) -> None:
    """Exclusive bounds are flags in OpenAPI 3.0 and numbers in JSON Schema; formats bound integers."""
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.title()}"
        if schema.get(exclusive) is True and bound in out:
            out[exclusive] = out.pop(bound)
    if schema.get("type") == "integer" and schema.get("format") in _INT_RANGES:
        least, most = _INT_RANGES[schema["format"]]
        if "minimum" not in out:
            out["minimum"] = least
        if "maximum" not in out:
            out["maximum"] = most
    if schema.get("type") == "string" and schema.get("format") == "date-time" and "pattern" not in out:
        out["pattern"] = _DATE_TIME


def _properties(schema: Schema, out: dict[str, Any], *, is_object: bool, strict: bool) -> None:
    given = mapping(schema.get("properties"))
    properties = {name: _node(mapping(one), strict=strict) for name, one in given.items()}
    if is_object:
        properties = {**_TYPE_META, **properties}
        # The API server knows ObjectMeta itself; a schema may only restrict the name in it.
        properties["metadata"] = _node(mapping(given.get("metadata")), strict=False) | {"type": "object"}
    if properties:
        out["properties"] = properties
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        out["additionalProperties"] = _node(more, strict=strict)
    elif more is None and strict and schema.get("type") == "object" and schema.get(PRESERVE) is not True:
        out["additionalProperties"] = False
        out.setdefault("properties", {})  # so that validators name what was unexpected


def clean(schema: Schema, value: Mapping[str, Any], *, fill: bool = True) -> Any:
    """A copy of ``value`` as the API server would keep it: nulls dropped where they mean nothing,
    and defaults filled in. Iterative, since documents may be deep.
    """
    top: dict[str, Any] = {}
    todo: list[tuple[Schema, Any, Any]] = [(schema, value, top)]
    while todo:
        at, source, target = todo.pop()
        pairs = source.items() if isinstance(source, dict) else enumerate(source)
        for key, item in pairs:
            below = child(at, key)
            if item is None and isinstance(source, dict) and below.get("nullable") is not True:
                continue
            made: Any = item
            if isinstance(item, (dict, list)):
                made = {} if isinstance(item, dict) else []
                todo.append((below, item, made))
            if isinstance(target, dict):
                target[key] = made
            else:
                target.append(made)
        if fill and isinstance(target, dict):
            for key, one in mapping(at.get("properties")).items():
                default = mapping(one).get("default")
                if default is not None and key not in target:
                    target[key] = default
                    if isinstance(default, dict):
                        target[key] = {}
                        todo.append((mapping(one), default, target[key]))
    return top


def child(schema: Schema, key: object) -> Schema:
    """The schema of what is at ``key`` below ``schema``; empty when it does not say."""
    if isinstance(key, int):
        return mapping(schema.get("items"))
    named = mapping(schema.get("properties")).get(str(key))
    return mapping(named) if named is not None else mapping(schema.get("additionalProperties"))
