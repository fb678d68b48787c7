"""Validation rules of a schema (``x-kubernetes-validations``), evaluated as CEL.

Source: the Kubernetes documentation on validation rules and transition rules. Functions that only a
Kubernetes API server has (``isSorted``, ``isURL``, ``find``, quantity methods) are not there: a rule
that uses them is said to be not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.cel import (
    CelCompileError,
    CelError,
    Program,
    Runtime,
    allowance,
    compile_expression,
    weigh,
)
from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.schema import Field, FieldPathError, parse_path
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.crds.schema import VALIDATIONS
from policycheck.systems.crds.site import ABSENT, Site

_VARIABLES = {"self": Field("any"), "oldSelf": Field("any")}
_STRING = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_OLD = re.compile(r"(?<![\w.])oldSelf(?!\w)")
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"}
    | {"import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_MOST_NODES = 100_000  # of a value whose keys have to be renamed


class Rules:
    """Compiled rules by their text; make one per run."""

    __slots__ = ("_programs", "_runtime")

    def __init__(self) -> None:
        self._runtime = Runtime()
        self._programs: dict[str, Program | str] = {}  # or why it cannot be evaluated

    def check(self, site: Site) -> Iterator[Trouble]:
        """Every rule at ``site`` that does not hold, or could not be evaluated."""
        for raw in items(site.schema.get(VALIDATIONS)):
            rule = mapping(raw)
            expression = text(rule.get("rule"))
            is_transition = bool(_OLD.search(_STRING.sub("''", expression)))
            optional = is_transition and rule.get("optionalOldSelf") is True
            if is_transition and not optional and site.old is ABSENT:
                continue
            wrapped = _optional(expression, site) if optional else expression
            context = _context(wrapped, site)
            found = self._eval(wrapped, context)
            if found is True:
                continue
            if isinstance(found, str):
                say = f"the rule {expression!r} was not evaluated: {found}"
                yield Trouble("not-evaluated", site.path, say)
                continue
            code = "bad-transition" if is_transition else "failed-rule"
            path = (*site.path, *_field_path(text(rule.get("fieldPath"))))
            yield Trouble(code, path, self._message(rule, expression, site))

    def _eval(self, expression: str, context: Mapping[str, object]) -> object:
        """The value, or a text that says why there is none."""
        known = self._programs.get(expression)
        if known is None:
            try:
                known = self._runtime.load(compile_expression(expression, _VARIABLES).data)
            except CelCompileError as error:
                known = error.message
            self._programs[expression] = known
        if isinstance(known, str):
            return known
        most = allowance(expression)
        if most is not None and weigh(context, most) > most:
            return f"the value is larger than it may see ({most:,} characters)"
        value = known.eval(context)
        return value.message if isinstance(value, CelError) else value

    def _message(self, rule: Mapping[str, Any], expression: str, site: Site) -> str:
        own = text(rule.get("messageExpression"))
        said: object = self._eval(own, _context(own, site)) if own and site.old is not ABSENT else ""
        if own and site.old is ABSENT and not _OLD.search(own):
            said = self._eval(own, _context(own, site))
        fallback = text(rule.get("message"))
        words = said.strip() if isinstance(said, str) and said.strip() and own else fallback
        return f"{words or 'a rule does not hold'} (the rule is: {expression})"


def _optional(expression: str, site: Site) -> str:
    """With ``optionalOldSelf`` the old value is an optional, empty when the object is created."""
    old = "optional.none()" if site.old is ABSENT else "optional.of(oldSelf)"
    return f"cel.bind(oldSelf, {old}, {expression})"


def _context(expression: str, site: Site) -> dict[str, object]:
    context = {"self": site.value}
    if site.old is not ABSENT:
        context["oldSelf"] = site.old
    if "__" in expression:
        return {name: _escaped(value) for name, value in context.items()}
    return context


def _escaped(value: Any) -> Any:
    """``value`` with keys as CEL names them: ``__dash__`` for -, ``__if__`` for a reserved word."""
    if not isinstance(value, (dict, list)):
        return value
    top: Any = {} if isinstance(value, dict) else []
    todo = [(value, top)]
    for _ in range(_MOST_NODES):
        if not todo:
            break
        source, target = todo.pop()
        for key, item in source.items() if isinstance(source, dict) else enumerate(source):
            made: Any = item
            if isinstance(item, (dict, list)):
                made = {} if isinstance(item, dict) else []
                todo.append((item, made))
            if isinstance(target, dict):
                target[_name(str(key))] = made
            else:
                target.append(made)
    return top


def _name(key: str) -> str:
    if key in _RESERVED:
        return f"__{key}__"
    out = key.replace("__", "__underscores__").replace(".", "__dot__")
    return out.replace("-", "__dash__").replace("/", "__slash__")


def _field_path(raw: str) -> Path:
    """A rule's ``fieldPath`` (``.spec.a['b']``) as steps; nothing when it cannot be read."""
    try:
        steps = parse_path(raw.removeprefix("."))
    except FieldPathError:
        return ()
    return tuple(step for step, _ in steps if step is not None)
