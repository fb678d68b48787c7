"""What is wrong in written promises, in our words: what was found, what is allowed."""

from __future__ import annotations

from typing import Any

from policycheck.certify.written import Problem
from policycheck.model.schema import suggest
from policycheck.simulate.mixwords import dotted, keys_of
from policycheck.source.document import Path


def problems(error: Any, model: Any) -> list[Problem]:
    """A pydantic ValidationError as problems, each once, in the order of their paths."""
    found: dict[Problem, None] = {}
    for one in error.errors(include_url=False):
        context = one.get("ctx", {})
        loc: Path = tuple(step for step in one["loc"] if step not in _STEPS)
        if "entry" in context and (not loc or loc[-1] != context["entry"]):
            loc = (*loc, context["entry"])
        unknown = one["type"] == "extra_forbidden"
        found[Problem(loc, _words(one, loc, context, model), unknown)] = None
    return sorted(found, key=lambda problem: ([str(step) for step in problem.path], problem.message))


_STEPS = ("[key]", "int", "dict[str,int]")  # which of several types it was held against


def _words(one: Any, loc: Path, context: Any, model: Any) -> str:
    name, given = dotted(loc), _short(one.get("input"))
    match one["type"]:
        case "extra_forbidden":
            return f"unknown key {name!r}{suggest(str(loc[-1]), keys_of(model, loc[:-1]))}"
        case "missing":
            return f"{name!r} is missing; it has to be written"
        case "literal_error":
            return f"{name!r} is {given}; allowed are {context['expected'].replace(' or ', ', ')}"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{name!r} is {given}; write a map of keys and values"
        case "list_type":
            return f"{name!r} is {given}; write a list"
        case "string_type":
            return f"{name!r} is {given}; write text (in quotes)"
        case "bool_type" | "bool_parsing":
            return f"{name!r} is {given}; write true or false"
        case "int_type" | "int_parsing" | "int_from_float":
            return f"{name!r} is {given}; write a whole number"
        case "too_short" | "string_too_short":
            return f"{name!r} is empty; something has to be written"
        case "greater_than_equal" | "less_than_equal":
            bound = f"{context['ge']} or more" if "ge" in context else f"at most {context['le']}"
            return f"{name!r} is {given}; it has to be {bound}"
        case "string_pattern_mismatch":
            return f"{name!r} is {given}; a name has letters, digits, '-', '_' and '.', at most 63"
        case "value_error":
            return f"{name!r}: {context['error']}" if loc else str(context["error"])
        case "of_entry":
            return f"{name!r}: {context['why']}"
    return f"{name!r} is {given}: {one['msg']}"


def _short(value: Any) -> str:
    if isinstance(value, (dict, list)):  # how deep it is, is the user's choice
        return "a map" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
