"""What is wrong in a file of ours, in our words: where, what was found, what is allowed."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from policycheck.model.schema import suggest
from policycheck.source.document import Path


def problems(error: Any, model: Any, place: Callable[[Path], str]) -> list[str]:
    """A pydantic ValidationError as sentences that begin with ``place`` of what they are about, in order."""
    found: dict[tuple[str, str], None] = {}
    for one in error.errors(include_url=False):
        loc: Path = tuple(step for step in one["loc"] if step != "[key]")
        found[place(loc), _words(one, loc, model)] = None
    return [f"{where}: {what}" for where, what in sorted(found, key=_order)]


def _order(pair: tuple[str, str]) -> tuple[object, ...]:
    file, line, column = pair[0].rsplit(":", 2)
    return file, int(line), int(column), pair[1]


def _words(one: Any, loc: Path, model: Any) -> str:
    # A plain value stands for a map with one key, which nobody wrote.
    shown = loc[:-1] if loc and loc[-1] in _SHORT else loc
    name, given, context = dotted(shown), one.get("input"), one.get("ctx", {})
    match one["type"]:
        case "extra_forbidden":
            return f"unknown key {name!r}{suggest(str(loc[-1]), keys_of(model, loc[:-1]))}"
        case "missing":
            return f"{name!r} is missing; it has to be written"
        case "literal_error":
            return f"{name!r} is {given!r}; allowed are {context['expected'].replace(' or ', ', ')}"
        case "dict_type" if loc and loc[-1] in _NUMBERS:
            return f"{name!r} is {given!r}; write a number, or numbers with odds, as in {{1: 0.8, 8: 0.2}}"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{name!r} is {given!r}; write a map of keys and values"
        case "list_type" | "tuple_type":
            return f"{name!r} is {given!r}; write a list"
        case "string_type":
            return f"{name!r} is {given!r}; write text (in quotes)"
        case "too_short":
            return f"{name!r} is empty; it needs at least {context['min_length']}"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            return f"{name!r} is {given!r}; it has to be {_bound(context)}"
        case "int_parsing" | "int_type" | "int_from_float" | "float_parsing" | "float_type":
            kind = "a whole number" if one["type"].startswith("int") else "a number"
            return f"{name!r} is {given!r}; write {kind}"
        case "string_pattern_mismatch":
            return f"{name!r} is {given!r}; {_PATTERNS.get(str(loc[-1]), 'it has to match ' + context['pattern'])}"
        case "value_error":
            return f"{name!r}: {context['error']}" if loc else str(context["error"])
    return f"{name!r} is {given!r}: {one['msg']}"


_SHORT = ("constant", "process")
_NUMBERS = ("pods", "gpus", "job-gpus")
_NAME = "a name has small letters, digits and hyphens, as in large-training"
_PATTERNS = {"name": _NAME, "mix": _NAME, "starts": "write a day and an hour, as in 'monday 09:00'"}
_BOUNDS = {"gt": "above {}", "ge": "{} or more", "lt": "below {}", "le": "at most {}"}


def _bound(context: dict[str, Any]) -> str:
    return next(words.format(_plain(context[key])) for key, words in _BOUNDS.items() if key in context)


def _plain(value: Any) -> Any:
    """A bound as it would be written: 1 instead of 1.0."""
    return int(value) if isinstance(value, float) and value == int(value) else value


def dotted(loc: Path) -> str:
    """``classes[0].duration`` of a location."""
    text = ""
    for step in loc:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def keys_of(model: Any, loc: Path) -> list[str]:
    """The keys that ``model`` allows at ``loc``, as they are written."""
    for step in loc:
        fields = getattr(model, "model_fields", None)
        if fields is not None and isinstance(step, str):
            named = {(info.alias or name): info.annotation for name, info in fields.items()}
            model = named.get(step)
        model = _inner(model)
    fields = getattr(model, "model_fields", {})
    return [info.alias or name for name, info in fields.items()]


def _inner(model: Any) -> Any:
    """The model in a type such as ``list[Model] | None``."""
    pending = [model]
    while pending:
        kind = pending.pop()
        if hasattr(kind, "model_fields"):
            return kind
        pending.extend(typing.get_args(kind))
    return None
