"""The shape that a recorded situation has to have, checked before anything is decided from it.

A null list or mapping is an empty one (that is how a Go recorder writes one that was never filled);
a null anywhere else is no value. Fields that are not named here are not read and may be anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from policycheck.model.amount import QuantityError, quantity
from policycheck.model.schema import Field
from policycheck.record import NamedTuple
from policycheck.systems.kueue.fields import GROUP, tables
from policycheck.systems.kueue.scheduler.moment import is_time
from policycheck.wording import some

NOTHING: Mapping[str, Any] = {}
_SAYS = {
    "text": "text",
    "time": "a time such as 2026-01-31T12:00:00Z",
    "whole": "a whole number",
    "number": "a number",
    "quantity": "a quantity such as 8, 500m or 64Gi",
    "flag": "true or false",
    "switch": "true, false or an object",
    "list": "a list",
    "map": "an object",
    "queue": "the name of a ClusterQueue among the objects",
}
_ANY: tuple[tuple[type, ...], str] = ((object, bool), "a value")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "text"),
    "int": ((int,), "a whole number"),
    "number": ((int, float, str), "a number"),
    "bool": ((bool,), "true or false"),
    "quantity": ((str, int, float), "a quantity such as 8, 500m or 64Gi"),
    "int-or-string": ((int, str), "a number or text"),
    "duration": ((str,), "a duration such as 5m"),
    "timestamp": ((str,), "a time"),
    "map": ((dict,), "an object"),
    "object": ((dict,), "an object"),
    "list": ((list,), "a list"),
}
_LIST_END, _FEW = 60, 6


class Shape(NamedTuple):
    """What one value may be. ``fields`` and ``item`` (of a list, or of each value of a map) say what is
    below it; ``allowed`` lists the texts it may be, ``least`` is the smallest whole number.
    """

    kind: str
    fields: Mapping[str, Shape] = NOTHING
    item: Shape | None = None
    required: bool = False
    null: bool = False
    allowed: tuple[str, ...] = ()
    least: int | None = None
    keys: str = ""  # "queue": the keys of a map name ClusterQueues
    kube: bool = False  # a Kubernetes object: its own field table says what is below spec


def wrong(case: Mapping[str, Any], shape: Shape) -> str:
    """What is wrong with ``case``, with its place, what was found and what is allowed; "" when nothing is.

    Iterative: a situation may be as deep as it likes.
    """
    queues = _queues(case)
    todo: list[tuple[str, object, Shape]] = [("", case, shape)]
    while todo:
        place, value, here = todo.pop()
        trouble = _trouble(place, value, here, queues)
        if trouble:
            return trouble
        below: list[tuple[str, object, Shape]] = []
        if isinstance(value, dict):
            for name, field in here.fields.items():
                where = f"{place}.{name}".lstrip(".")
                if name in value:
                    below.append((where, value[name], field))
                elif field.required:
                    return f"{where} is missing; it has to be {_says(field, queues)}"
            if here.item is not None:
                below.extend((f"{place}[{name!r}]", each, here.item) for name, each in value.items())
        elif isinstance(value, list) and here.item is not None:
            for n, each in enumerate(value):
                if each is None:
                    return f"{place}[{n}] is null; it has to be {_says(here.item, queues)}"
                below.append((f"{place}[{n}]", each, here.item))
        todo.extend(reversed(below))
    return ""


def _queues(case: Mapping[str, Any]) -> frozenset[str]:
    """The names of the ClusterQueues, as far as they can be read."""
    objects = case.get("objects")
    metas = (
        o.get("metadata")
        for o in (objects if isinstance(objects, list) else ())
        if isinstance(o, dict) and o.get("kind") == "ClusterQueue"
    )
    names = (meta.get("name") for meta in metas if isinstance(meta, dict))
    return frozenset(name for name in names if isinstance(name, str))


def _trouble(place: str, value: object, here: Shape, queues: frozenset[str]) -> str:
    if value is None and (here.null or (here.kind in ("list", "map") and not here.required)):
        return ""
    if not _is(here, value, queues):
        return f"{place} is {found(value)}; it has to be {_says(here, queues)}"
    if here.keys and isinstance(value, dict):
        odd = next((name for name in value if name not in queues), None)
        if odd is not None:
            return f"{place} has the key {found(odd)}; a key has to be {_says(Shape(here.keys), queues)}"
    return _inner(place, value) if here.kube and isinstance(value, dict) else ""


def _is(here: Shape, value: object, queues: frozenset[str]) -> bool:
    """Whether a value is of the kind that the shape asks for."""
    kind = here.kind
    if kind in ("text", "time", "queue"):
        if not isinstance(value, str) or (here.allowed and value not in here.allowed):
            return False
        if kind == "queue":
            return value in queues
        return kind == "text" or value == "" or is_time(value)
    if kind == "whole":
        plain = isinstance(value, int) and not isinstance(value, bool)
        return plain and (here.least is None or value >= here.least)  # type: ignore[operator]
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "quantity":
        return _is_quantity(value)
    if kind == "switch":
        return value is None or isinstance(value, (bool, dict))
    types = {"flag": bool, "list": list, "map": dict}
    return isinstance(value, types[kind])


def _is_quantity(value: object) -> bool:
    try:
        quantity(value)
    except QuantityError:
        return False
    return True


def _says(here: Shape, queues: frozenset[str]) -> str:
    """What is allowed there, in words."""
    if here.kind == "queue":
        return f"{_SAYS['queue']} ({some(sorted(queues), _FEW) or 'there is none'})"
    if here.allowed:
        return "one of " + ", ".join(name or '""' for name in here.allowed)
    bound = f" of at least {here.least}" if here.least is not None else ""
    return _SAYS[here.kind] + bound


@lru_cache(maxsize=1)
def _specs() -> Mapping[str, Mapping[str, Field]]:
    """The spec and the status of every kind. Made once: a file may hold thousands of situations."""
    made = ((kind, table) for (group, kind), table in tables().items() if group == GROUP and not table.whole)
    return {
        kind: {"spec": table.spec, **({} if table.status is None else {"status": table.status})}
        for kind, table in made
    }


def _inner(place: str, value: Mapping[str, Any]) -> str:
    """A value of the wrong type inside a Kubernetes object, by the field table of its kind.

    Types alone: what is recorded need not pass validation.
    """
    fields = _specs().get(str(value.get("kind")), {})
    todo: list[tuple[str, object, Field]] = [
        (f"{place}.{name}", value[name], field) for name, field in fields.items() if name in value
    ]
    while todo:
        where, here, field = todo.pop()
        if here is None:
            continue
        types, says = _TYPES.get(field.type, _ANY)
        if not isinstance(here, types) or (isinstance(here, bool) and bool not in types):
            return f"{where} is {found(here)}; it has to be {says}"
        if isinstance(here, dict):
            known = field.fields
            todo.extend((f"{where}.{k}", v, known[k]) for k, v in here.items() if k in known)
            if field.item is not None:
                todo.extend((f"{where}[{k!r}]", v, field.item) for k, v in here.items())
        elif isinstance(here, list) and field.item is not None:
            if None in here:
                return f"{where}[{here.index(None)}] is null; it has to be {_TYPES.get(field.item.type, _ANY)[1]}"
            todo.extend((f"{where}[{n}]", v, field.item) for n, v in enumerate(here))
    return ""


def found(value: object) -> str:
    """A value as JSON, cut short."""
    if isinstance(value, (dict, list)) and value:
        return "an object" if isinstance(value, dict) else "a list"
    shown = json.dumps(value)
    return shown if len(shown) <= _LIST_END else shown[:_LIST_END] + "..."
