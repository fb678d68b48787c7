"""An object against the definition of its kind: schema, lists, rules.

jsonschema-rs validates; a test holds it against the reference implementation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.schema import suggest
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.crds.rules import Rules
from policycheck.systems.crds.schema import LIST_TYPE, MAP_KEYS, Schema, child, clean, convert
from policycheck.systems.crds.site import ABSENT, Site, key_of, walk

_TYPES = {
    "string": 'text; put it in quotes ("...")',
    "integer": "a whole number without quotes",
    "number": "a number",
    "boolean": "true or false without quotes",
    "object": "a mapping (key: value)",
    "array": "a list (- ...)",
    "null": "null",
}
_MOST_REPORTED = 120
_LIMITS = {
    "minimum": "the least allowed is {}",
    "maximum": "the most allowed is {}",
    "exclusiveMinimum": "it has to be more than {}",
    "exclusiveMaximum": "it has to be less than {}",
    "minLength": "at least {} characters are needed",
    "maxLength": "at most {} characters are allowed",
    "minItems": "at least {} items are needed",
    "maxItems": "at most {} items are allowed",
    "minProperties": "at least {} entries are needed",
    "maxProperties": "at most {} entries are allowed",
    "multipleOf": "it has to be a multiple of {}",
}


class Version(NamedTuple):
    """One version of a kind: its name, schema, whether it is served, what to say of its age."""

    name: str
    schema: Schema
    served: bool = True
    deprecation: str = ""


class Crds:
    """Definitions by kind. ``check`` compiles a schema when the first object of it comes."""

    __slots__ = ("_rules", "_validators", "versions")

    def __init__(self, versions: Mapping[tuple[str, str], Mapping[str, Version]]) -> None:
        self.versions = versions
        self._validators: dict[tuple[str, str, str], Any] = {}
        self._rules: Rules | None = None

    def __len__(self) -> int:
        return len(self.versions)

    def has(self, group: str, kind: str) -> bool:
        """Whether a definition of this kind was given."""
        return (group, kind) in self.versions

    def check(self, value: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> tuple[Trouble, ...]:
        """Whatever the API server would refuse or drop; nothing for a kind without definition.

        ``old`` is the object as it was, for rules about changes; it is used when it has the same
        version. Codes: those of the field tables, and ``version-not-served``, ``version-deprecated``,
        ``failed-rule``, ``bad-transition``, ``not-evaluated`` (a rule with functions that only an API
        server has).
        """
        group, _, version = text(value.get("apiVersion")).rpartition("/")
        kind = text(value.get("kind"))
        served = self.versions.get((group, kind))
        if served is None:
            return ()
        found = served.get(version)
        if found is None or not found.served:
            names = ", ".join(name for name, one in served.items() if one.served) or "none"
            say = f"{group} has no version {version!r} of {kind}; served are {names}"
            return (Trouble("version-not-served", ("apiVersion",), say),)
        troubles = (
            [Trouble("version-deprecated", ("apiVersion",), found.deprecation)] if found.deprecation else []
        )
        made = clean(found.schema, value)
        errors = self._schema_errors((group, kind, version), found.schema, made)
        troubles += errors
        before: Any = ABSENT
        if old is not None and old.get("apiVersion") == value.get("apiVersion"):
            before = clean(found.schema, old)
        wrong = [t.path for t in errors if t.code != "unknown-field"]
        for site in walk(found.schema, made, before):
            troubles += _list_errors(site)
            if any(path[: len(site.path)] == site.path for path in wrong):
                continue  # as the API server does: rules see only what the schema accepts
            if self._rules is None:
                self._rules = Rules()
            troubles += self._rules.check(site)
        return tuple(dict.fromkeys(troubles))

    def _schema_errors(self, key: tuple[str, str, str], schema: Schema, value: Any) -> list[Trouble]:
        if key not in self._validators:
            self._validators[key] = _validator(convert(schema))
        validator = self._validators[key]
        try:
            errors = list(validator.iter_errors(value))
        except ValueError:  # nested deeper than the validator can report of
            errors = list(validator.iter_errors(_trimmed(value)))
        return [trouble for error in errors for trouble in _explained(error, schema)]


def _validator(schema: dict[str, Any]) -> Any:
    """A validator; patterns that the engine cannot compile are left out rather than all of it."""
    import jsonschema_rs

    try:
        return jsonschema_rs.Draft202012Validator(schema)
    except (jsonschema_rs.ValidationError, ValueError):
        return jsonschema_rs.Draft202012Validator(_without_patterns(schema))


def _trimmed(value: Any) -> Any:
    """``value`` without what lies deeper than any schema reaches (definition.MAX_DEPTH)."""
    top: Any = {} if isinstance(value, dict) else []
    todo = [(value, top, 0)]
    while todo:
        source, target, depth = todo.pop()
        for key, item in source.items() if isinstance(source, dict) else enumerate(source):
            made: Any = item
            if isinstance(item, (dict, list)):
                made = {} if isinstance(item, dict) else []
                if depth < _MOST_REPORTED:
                    todo.append((item, made, depth + 1))
            if isinstance(target, dict):
                target[key] = made
            else:
                target.append(made)
    return top


def _without_patterns(schema: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(schema))
    todo: list[Any] = [copy]
    while todo:
        at = todo.pop()
        if isinstance(at, dict):
            if isinstance(at.get("pattern"), str):
                del at["pattern"]
            todo.extend(at.values())
        elif isinstance(at, list):
            todo.extend(at)
    return copy


def _explained(error: Any, schema: Schema) -> Iterator[Trouble]:
    """One error of the validator in our words: found, allowed, what to do."""
    path: Path = tuple(error.instance_path)
    keyword = error.kind.name
    name = next((str(p) for p in reversed(path) if isinstance(p, str)), "the object")
    shown = _shown(error.instance)
    match keyword:
        case "required":
            say = f"{error.kind.property} is missing; the API server refuses the object without it"
            yield Trouble("missing-field", (*path, error.kind.property), say)
        case "additionalProperties":
            known = mapping(_at(schema, path).get("properties"))
            for field in error.kind.unexpected:
                say = f"{name} has no field {field!r}: the API server drops it{suggest(field, known)}"
                yield Trouble("unknown-field", (*path, field), say, on_key=True)
        case "type":
            wanted = " or ".join(_TYPES.get(t, t) for t in _wanted(error) if t != "null")
            yield Trouble("wrong-type", path, f"{name} is {shown}; the API server wants {wanted}")
        case "enum":
            allowed = ", ".join(str(v) for v in error.kind.options if v is not None)
            yield Trouble("bad-enum", path, f"{name} is {shown}; allowed are {allowed}")
        case "pattern":
            yield Trouble("out-of-range", path, f"{name} is {shown}; it has to match {error.kind.pattern}")
        case keyword if keyword in _LIMITS:
            limit = next(iter(error.kind.as_dict().values()))
            yield Trouble("out-of-range", path, f"{name} is {shown}; {_LIMITS[keyword].format(limit)}")
        case _:
            say = f"{name} is {shown} and does not fit what the schema says under {keyword!r}"
            yield Trouble("failed-rule", path, say)


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return f"{'a mapping' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return json.dumps(value, ensure_ascii=False)[:60]


def _wanted(error: Any) -> list[str]:
    types = error.kind.types
    return [types] if isinstance(types, str) else list(types)


def _at(schema: Schema, path: Path) -> Schema:
    for step in path:
        schema = child(schema, step)
    return schema


def _list_errors(site: Site) -> Iterator[Trouble]:
    """Items that a list of type set or map may hold only once."""
    kind = site.schema.get(LIST_TYPE)
    if kind not in ("set", "map") or not isinstance(site.value, list):
        return
    names = [str(k) for k in items(site.schema.get(MAP_KEYS))]
    seen: set[str] = set()
    for n, item in enumerate(site.value):
        key = key_of(item, names) if kind == "map" else repr(item)
        if key in seen:
            shown = ", ".join(str(mapping(item).get(k)) for k in names) if kind == "map" else str(item)
            at: Path = (*site.path, n, names[0]) if kind == "map" and names else (*site.path, n)
            say = f"{shown[:60]!r} stands twice; the API server refuses the object: remove one"
            yield Trouble("duplicate-item", at, say)
        seen.add(key)
