"""What can be told of an expression without evaluating it: ``!has(it.limit) || ...`` holds where it has none.

In CEL one true alternative decides, whatever the others are, even errors (language definition,
"Logical Operators"). Most objects lack the field that a rule is about, or hold a plain word there, and a look
for that is a hundredth of an evaluation. Whatever is not plain to see is left to the engine.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policycheck.lint.cel import as_number, is_quantity
from policycheck.record import NamedTuple

_PATH = r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)+"
_HAS = re.compile(rf"(?P<not>!)?\s*has\(\s*(?P<path>{_PATH})\s*\)\Z", re.ASCII)
_WORD = re.compile(
    rf"(?P<path>{_PATH})\s*(?P<sign>==|!=)\s*(?P<quote>['\"])(?P<word>[^'\"]*)(?P=quote)\Z", re.ASCII
)
_AMONG = re.compile(rf"(?P<path>{_PATH})\s+in\s+\[(?P<words>[^\[\]]*)\]\Z", re.ASCII)
_LISTED = re.compile(r"\s*(?:'([^']*)'|\"([^\"]*)\")\s*")
_READS = re.compile(rf"(?P<not>!)?\s*isQuantity\(\s*(?P<path>{_PATH})\s*\)\Z", re.ASCII)
_AMOUNT = rf"quantity\(\s*({_PATH})\s*\)"
_COMPARED = re.compile(
    rf"{_AMOUNT}\s*(?P<sign><=|>=|==|!=|<|>)\s*(?:(?P<number>\d{{1,15}})|{_AMOUNT})\Z", re.ASCII
)
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPEN, _CLOSE = "([{", ")]}"
# Conditions, comments and other ways to write text: what is one alternative is not told by a look.
_UNUSUAL = ("?", "//", "\\", "'''", '"""')
_BITS = 63  # integers beyond are not what they are written as
_ABSENT = object()

Path = tuple[str, ...]  # the variable, then the fields below it


class Look(NamedTuple):
    """One thing that a look tells. ``kind``: absent, there, ==, != (a word), in (words), quantity, other (no
    quantity), or a sign with which the quantity at ``path`` is compared, with a number or that at another path.
    """

    kind: str
    path: Path
    other: Any = None


Guard = tuple[Look, ...]  # true when all of them are


class Guards(NamedTuple):
    """Alternatives that a look decides, and whether these are all that the expression has."""

    some: tuple[Guard, ...]
    is_all: bool = False


def guards(expression: str) -> Guards:
    """What of an expression can be told by looks."""
    if any(mark in expression for mark in _UNUSUAL):
        return Guards(())
    found, is_all = [], True
    for part in _parts(expression, "||"):
        looks = [_look(one) for one in _parts(_bare(part), "&&")]
        if None in looks:
            is_all = False
        else:
            found.append(tuple(look for look in looks if look is not None))
    return Guards(tuple(found), is_all)


def told(found: Guards, context: Mapping[str, object]) -> bool | None:
    """What the expression comes to, None when only the engine can say."""
    is_false = found.is_all
    for guard in found.some:
        known = True
        for look in guard:
            answer = _tells(look, context)
            if answer is False:
                break
            known = known and answer is True
        else:
            if known:
                return True
            is_false = False
    return False if is_false else None


def _parts(expression: str, between: str) -> Iterator[str]:
    """The parts between ``||`` or ``&&`` that stand in no brackets and no quotes."""
    start = 0
    for at, char, depth in _outside(expression):
        if char == between[0] and depth == 0 and expression.startswith(between, at) and at >= start:
            yield expression[start:at]
            start = at + 2
    yield expression[start:]


def _bare(part: str) -> str:
    """An alternative without brackets around all of it."""
    part = part.strip()
    if part[:1] != "(" or part[-1:] != ")":
        return part
    closes = next((at for at, _, depth in _outside(part) if at and depth == 0), -1)
    return part[1:-1] if closes == len(part) - 1 else part


def _outside(expression: str) -> Iterator[tuple[int, str, int]]:
    """Positions, characters outside of quotes, and in how many brackets the text is behind each."""
    depth, quote = 0, ""
    for at, char in enumerate(expression):
        if quote:
            quote = "" if char == quote else quote
            continue
        if char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        yield at, char, depth


def _look(part: str) -> Look | None:
    """What an alternative asks, when that is something that a look tells."""
    part = part.strip()
    if match := _HAS.match(part):
        return Look("absent" if match["not"] else "there", _path(match["path"]))
    if match := _WORD.match(part):
        return Look(match["sign"], _path(match["path"]), match["word"])
    if match := _AMONG.match(part):
        items = [_LISTED.fullmatch(item) for item in match["words"].split(",")]
        words = [item[1] if item[1] is not None else item[2] for item in items if item]
        return Look("in", _path(match["path"]), frozenset(words)) if len(words) == len(items) else None
    if match := _READS.match(part):
        return Look("other" if match["not"] else "quantity", _path(match["path"]))
    if match := _COMPARED.match(part):
        other = int(match["number"]) if match["number"] else _path(match[4])
        return Look(f"quantity {match['sign']}", _path(match[1]), other)
    return None


def _path(text: str) -> Path:
    return tuple(step.strip() for step in text.split("."))


def _tells(look: Look, context: Mapping[str, object]) -> bool | None:
    kind, path, other = look
    above: object = context
    for step in path:
        # Asking for the type itself is ten times faster than asking an abstract class.
        if type(above) is not dict and not isinstance(above, Mapping):
            return None
        value = above.get(step, _ABSENT)
        above = value
    if kind in {"absent", "there"}:
        return (value is _ABSENT) is (kind == "absent")
    if kind in {"==", "!=", "in"}:
        if not isinstance(value, str):
            return None
        return value in other if kind == "in" else (value == other) is (kind == "==")
    if not _is_plain(value):
        return None
    if kind in {"quantity", "other"}:
        return is_quantity(value) is (kind == "quantity")
    return _compares(value, _SIGNS[kind.removeprefix("quantity ")], other, context)


def _compares(
    value: object, sign: Callable[[Any, Any], bool], other: Any, context: Mapping[str, object]
) -> bool | None:
    try:
        if isinstance(other, int):
            return sign(as_number(value), other)
        second = _at(other, context)
        return sign(as_number(value), as_number(second)) if _is_plain(second) else None
    except (ValueError, OverflowError):
        return None


def _at(path: Path, context: Mapping[str, object]) -> object:
    at: object = context
    for step in path:
        at = at.get(step, _ABSENT) if type(at) is dict or isinstance(at, Mapping) else _ABSENT
    return at


def _is_plain(value: object) -> bool:
    """Whether a quantity may be written so, and the engine sees it as it is."""
    if isinstance(value, int):
        return not isinstance(value, bool) and value.bit_length() <= _BITS
    return isinstance(value, (str, float))
