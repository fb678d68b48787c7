"""What can be told of an expression without evaluating it: ``!has(it.limit) || ...`` holds where it has none.

In CEL one true alternative decides, whatever the others are, even errors (language definition,
"Logical Operators"). Most objects lack the field that a rule is about, and a look for a key is a
hundredth of an evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Guard = tuple[str, ...]  # the variable, then the fields below it

_HAS = re.compile(r"\s*!\s*has\(\s*([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)+)\s*\)\s*\Z", re.ASCII)
_OPEN, _CLOSE = "([{", ")]}"
# Conditions, comments and other ways to write text: what is one alternative is not told by a look.
_UNUSUAL = ("?", "//", "\\", "'''", '"""')


def guards(expression: str) -> tuple[Guard, ...]:
    """Fields of which one that is absent makes the expression true; none when that is not plain to see."""
    if any(mark in expression for mark in _UNUSUAL):
        return ()
    found = (_HAS.match(part) for part in _alternatives(expression))
    return tuple(tuple(step.strip() for step in match[1].split(".")) for match in found if match)


def _alternatives(expression: str) -> Iterator[str]:
    """The parts between ``||`` that stand in no brackets and no quotes."""
    depth, quote, start = 0, "", 0
    for at, char in enumerate(expression):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == "|" and depth == 0 and expression.startswith("||", at):
            yield expression[start:at]
            start = at + 2
    yield expression[start:]


def holds(found: tuple[Guard, ...], context: Mapping[str, object]) -> bool:
    """Whether one of the guarded fields is absent, and all above it are there."""
    return any(_is_absent(guard, context) for guard in found)


def _is_absent(guard: Guard, value: object) -> bool:
    for step in guard[:-1]:
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return isinstance(value, Mapping) and guard[-1] not in value
