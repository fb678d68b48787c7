"""Placeholders in messages: ``{it.borrowingLimit}``, ``{object.metadata.name}``, ``{params.most}``.

A bare ``{name}`` is a value that a check puts into its hit. ``{{`` and ``}}`` are braces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.subject import expand
from policycheck.model.schema import Field, FieldPathError, parse_path, suggest, walk

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_MAX_LENGTH = 200  # of one rendered value: a message is read by people
UNSET = "(not set)"


class MessageError(ValueError):
    """A placeholder that can not be resolved; the message says why."""


def placeholders(template: str) -> Iterator[str]:
    """What stands in the braces of ``template``. Raises MessageError for a lone or an empty brace."""
    for token in _TOKEN.finditer(template):
        if token[0] in ("{{", "}}"):
            continue
        if token[1] is None or not token[1].strip():
            raise MessageError(f"{token[0]!r} is no placeholder; write {{{{ and }}}} for braces")
        yield token[1].strip()


def verify(template: str, variables: Mapping[str, Field], *, free: bool) -> list[str]:
    """What is wrong with the placeholders of ``template``; ``free`` allows bare names."""
    wrong = []
    try:
        for text in placeholders(template):
            root = re.split(r"[.\[]", text, maxsplit=1)[0]
            if root in variables:
                wrong.extend(_wrong_path(text, root, variables[root]))
            elif not free or not text.isidentifier():
                wrong.append(f"{{{text}}}: nothing is called {root!r} here{suggest(root, list(variables))}")
    except MessageError as error:
        wrong.append(str(error))
    return wrong


def _wrong_path(text: str, root: str, field: Field) -> list[str]:
    rest = text[len(root) :].removeprefix(".")
    try:
        if any(step is None for step, _ in parse_path(rest)):
            return [f"{{{text}}}: a placeholder names one value, not [*]"]
        walk(field, rest)
    except FieldPathError as error:
        return [f"{{{text}}}: {error}"]
    return []


def render(template: str, values: Mapping[str, object], context: Mapping[str, object]) -> str:
    """``template`` with its placeholders filled in, from ``values`` first, then from ``context``.

    A field that is not set shows as "(not set)". Raises MessageError for a name that nobody gave.
    """

    def fill(token: re.Match[str]) -> str:
        if token[0] in ("{{", "}}"):
            return token[0][0]
        text = (token[1] or "").strip()
        if text in values:
            return show(values[text])
        root = re.split(r"[.\[]", text, maxsplit=1)[0]
        if root not in context:
            raise MessageError(f"the message has {{{text}}}, and the check gives no {text!r}")
        return show(_look_up(context[root], text[len(root) :].removeprefix(".")))

    return _TOKEN.sub(fill, template)


def fill(template: str, values: Mapping[str, object], context: Mapping[str, object]) -> object:
    """``template`` filled in; one that is a placeholder alone gives the value itself, whatever its type.

    None when a placeholder stands for nothing. Raises MessageError as ``render`` does.
    """
    names = list(placeholders(template))
    found = [_raw(name, values, context) for name in names]
    if any(value is None or value == "" or value is UNSET for value in found):
        return None
    if len(names) == 1 and template.strip() == f"{{{names[0]}}}":
        return found[0]
    return render(template, values, context)


def _raw(text: str, values: Mapping[str, object], context: Mapping[str, object]) -> object:
    if text in values:
        return values[text]
    root = re.split(r"[.\[]", text, maxsplit=1)[0]
    if root not in context:
        raise MessageError(f"the fix has {{{text}}}, and the check gives no {text!r}")
    return _look_up(context[root], text[len(root) :].removeprefix("."))


def _look_up(value: Any, path: str) -> object:
    try:
        steps = parse_path(path)
    except FieldPathError as error:
        raise MessageError(str(error)) from None
    for _, found in expand(value, tuple(step for step, _ in steps)):
        return found
    return UNSET


def show(value: object) -> str:
    """A value as it stands in a message: one line, no quotes, cut when it is long."""
    match value:
        case None:
            text = UNSET
        case bool():
            text = "true" if value else "false"
        case str():
            text = " ".join(value.split()) if "\n" in value else value
        case list() | tuple() if not hasattr(value, "_fields"):
            text = ", ".join(v if isinstance(v, str) else json.dumps(v, default=str) for v in value)
        case Mapping():
            text = json.dumps(value, default=str, sort_keys=True)
        case _:
            text = str(value)
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"
