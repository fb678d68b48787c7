"""The fix of a rule file, checked: its paths lead somewhere, its values fit there, its expressions compile."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint import cel, message
from policycheck.lint.rule import ANY, MODEL_SUBJECTS, FixStep
from policycheck.lint.rulemodel import ChangeModel, RuleModel
from policycheck.model import schema
from policycheck.model.schema import Field

Wrong = tuple[tuple[str | int, ...], str]  # a place in the rule file, and what is wrong there
ROOTS = ("object", "it", "hit")
_CEL: Mapping[str, tuple[str, ...]] = {
    "STRING": ("string", "quantity", "duration", "timestamp", "int-or-string"),
    "INT": ("int", "number", "quantity", "int-or-string"),
    "DOUBLE": ("number", "quantity"),
    "BOOL": ("bool",),
}
_PLAIN: Mapping[type, tuple[str, ...]] = {
    str: _CEL["STRING"],
    int: _CEL["INT"],
    float: _CEL["DOUBLE"],
    bool: _CEL["BOOL"],
    list: ("list",),
    dict: ("map", "object"),
}


def steps_of(model: RuleModel, variables: Mapping[str, Field]) -> tuple[tuple[FixStep, ...], list[Wrong]]:
    """The compiled changes of the rule's fix, and what is wrong with them."""
    fixing = model.fixing
    if fixing is None:
        return (), []
    wrong: list[Wrong] = []
    given = bool(model.check or model.troubles)
    if not fixing.changes and not given and fixing.safety != "manual":
        wrong.append((("fix",), "a fix needs 'changes', as in changes: [{remove: it.borrowingLimit}]"))
    if fixing.changes and model.troubles:
        wrong.append((("fix", "changes"), "what is noticed while reading brings its changes itself"))
    if fixing.changes and model.expression and model.subject in MODEL_SUBJECTS:
        what = f"a {model.subject} has no one place in a file; write the subject as group/Kind"
        wrong.append((("fix", "changes"), what))
    steps = []
    for at, change in enumerate(fixing.changes):
        step, problems = _step(change, model, variables)
        wrong.extend((("fix", "changes", at), problem) for problem in problems)
        if step is not None:
            steps.append(step)
    return tuple(steps), wrong


def _step(
    change: ChangeModel, model: RuleModel, variables: Mapping[str, Field]
) -> tuple[FixStep | None, list[str]]:
    action = change.action
    text = getattr(change, action)
    try:
        parsed = tuple(step for step, _ in schema.parse_path(text))
    except schema.FieldPathError as error:
        return None, [str(error)]
    root = str(parsed[0]) if parsed else ""
    roots = [
        r for r in ROOTS if r == "object" or (r == "it" and model.each) or (r == "hit" and not model.each)
    ]
    if root not in roots or any(step is None for step in parsed):
        return None, [f"{text!r} has to begin with {' or '.join(roots)} and name one place, not [*]"]
    if len(parsed) < 2 and root != "hit":
        return None, [f"{text!r} is the whole of it; name a field"]
    field = schema.any_()
    if root in variables:
        try:
            field = schema.walk(variables[root], text.removeprefix(root).removeprefix("."))
        except schema.FieldPathError as error:
            return None, [str(error)]
    path = tuple(step for step in parsed[1:] if step is not None)
    program, problems = "", list(_wrong_value(change, model, field, variables))
    if change.expression and not problems:
        program, problems = _compiled(change.expression, field, variables)
    return FixStep(action, root, path, change.to or change.value, program), problems


def _wrong_value(
    change: ChangeModel, model: RuleModel, field: Field, variables: Mapping[str, Field]
) -> Iterator[str]:
    free = bool(model.check)
    for text in texts(change.to or change.value):
        yield from message.verify(text, variables, free=free)
    value = change.value
    if change.action == "append":
        if field.type not in (ANY, "list"):
            yield f"{change.append} is of type {field.type}; only a list can be appended to"
        field = field.item or schema.any_()
    elif change.action != "set":
        return
    if change.expression or field.type == ANY:
        return
    allowed = _PLAIN.get(type(value), ())
    # A text with a placeholder alone may turn out as anything.
    if field.type not in allowed and not (isinstance(value, str) and "{" in value):
        yield f"the value {value!r} does not fit: {change.set or change.append} takes {field.type}"
    elif isinstance(value, str) and field.enum and value not in field.enum and "{" not in value:
        allowed_words = ", ".join(field.enum)
        yield f"the value {value!r} is not allowed; {change.set or change.append} takes {allowed_words}"


def texts(value: Any) -> Iterator[str]:
    """Every text in a value of a rule file (its depth is bounded), keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts(item)


def _compiled(expression: str, field: Field, variables: Mapping[str, Field]) -> tuple[str, list[str]]:
    try:
        compiled = cel.compile_expression(expression, variables)
    except cel.CelCompileError as error:
        return "", [f"expression: {error}"]
    fits = _CEL.get(compiled.result)
    if field.type != ANY and fits is not None and field.type not in fits:
        return "", [f"expression gives {compiled.result.lower()}, and the field is of type {field.type}"]
    return base64.b64encode(compiled.data).decode("ascii"), []
