"""What an unquoted scalar means to a Kubernetes API server.

kubectl turns YAML into JSON with sigs.k8s.io/yaml, which resolves scalars like go-yaml v2 (YAML 1.1 without
base-60 numbers and with dates left as text), and the server reads that JSON. The table below was compared
with sigs.k8s.io/yaml v1.4.0 and v1.6.0 value by value; tests/unit/source/test_scalar.py pins it. Two consequences of
the detour through JSON: a float without a fraction arrives as an integer (``1e3`` is 1000, ``8.0`` is 8), and
infinity and NaN can not be sent at all.
"""

from __future__ import annotations

import re
import struct

Scalar = str | int | float | bool | None

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
}

# A plain scalar that begins with anything else is text; saves the look-up for most of a file.
HINTS = frozenset("0123456789+-.yYnNtTfFoO~")

_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_POINT_FIRST = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)?", re.ASCII)
_UNSENDABLE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"x": 16, "b": 2, "o": 8}
_NAMES = {16: "hexadecimal", 2: "binary", 8: "octal"}
# encoding/json writes whole floats below this as plain digits, so they are read back as integers.
_DIGITS_UNTIL = 1e21


def read_plain(text: str) -> Scalar:
    """The value of an unquoted, untagged scalar. Infinity and NaN, which JSON has not, stay text."""
    if text in WORDS:
        return WORDS[text]
    if text[0] not in HINTS:
        return text
    if text[0] == ".":
        return _float(text.replace("_", ""), text) if _POINT_FIRST.fullmatch(text) else text
    digits = text.replace("_", "") if "_" in text else text
    if len(digits) <= 80 and _INTEGER.fullmatch(digits):
        number = _integer(digits)
        if -(2**63) <= number < 2**64:
            return number
    return _float(digits, text) if _FLOAT.fullmatch(digits) else text


def is_unsendable(text: str) -> bool:
    """Whether go-yaml reads an infinity or NaN, which JSON can not carry: kubectl refuses the file."""
    return _UNSENDABLE.fullmatch(text) is not None


def whole(number: float) -> int | float:
    """A float as it comes back out of JSON: an integer when it has no fraction."""
    return int(number) if abs(number) < _DIGITS_UNTIL and number == int(number) else number


def read_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag. Raises ValueError when they contradict each other."""
    kind = tag.removeprefix("tag:yaml.org,2002:")
    if kind in ("int", "float", "bool", "null"):
        value = read_plain(text)
        if not _is_of_kind(kind, value):
            raise ValueError(f"{text!r} is tagged !!{kind} but is none")
        return value
    if kind == "binary":
        import base64

        return base64.b64decode(text).decode("utf-8", "replace")
    return text


def _is_of_kind(kind: str, value: Scalar) -> bool:
    if kind == "null" or kind == "bool":
        return value is None if kind == "null" else isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) if kind == "int" else isinstance(value, int | float)


def key_of(value: Scalar) -> str | None:
    """The JSON key that a mapping key turns into; None for null, which is refused as a key."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _short_float(value)


def doubt(text: str, value: Scalar) -> str | None:
    """Why an unquoted scalar may not be what its author meant; None for ordinary ones.

    Dates and ``12:30:45`` are in no doubt: other YAML readers turn them into dates and numbers, the API
    server reads the text as written.
    """
    if isinstance(value, bool):
        if text.lower() in ("true", "false"):
            return None
        word = "true" if value else "false"
        return f'`{text}` is read as {word}: write {word} for the boolean, "{text}" for the text'
    if isinstance(value, str) or value is None:
        return None
    unsigned = text.lstrip("+-")
    if isinstance(value, int) and not _FLOAT.fullmatch(text) and "_" not in text:
        base = _NAMES[_BASES[unsigned[1].lower()]]
        return f'`{text}` is read as {base}, {value}: write {value}, or "{text}" for the text'
    if "_" in text:
        how = "a number with separators"
    elif "e" in unsigned or "E" in unsigned:
        how = "a number with exponent"
    elif len(unsigned) > 1 and unsigned[0] == "0" and unsigned.isdecimal() and int(unsigned) != abs(value):
        how = "octal"
    else:
        return None
    return f'`{text}` is read as {how}, {value}: write {value}, or "{text}" for the text'


def is_octal(text: str) -> bool:
    """Whether the scalar has the old octal spelling of file modes, ``0644``."""
    return len(text) > 1 and text[0] == "0" and text.isdecimal()


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    bare = digits.lstrip("+-")
    if len(bare) > 1 and bare[0] == "0":
        base = _BASES.get(bare[1].lower())
        return sign * (int(bare[2:], base) if base else int(bare, 8))
    return sign * int(bare)


def _float(digits: str, text: str) -> Scalar:
    number = float(digits)
    return text if number in (float("inf"), float("-inf")) else whole(number)


def _short_float(number: float) -> str:
    """A float key in the shortest form that gives back the same 32-bit float, as go-yaml writes it."""
    try:
        single = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return repr(number)
    digits = next(
        d for d in range(17) if struct.pack("f", float(f"{single:.{d}e}")) == struct.pack("f", single)
    )
    mantissa, exponent = f"{single:.{digits}e}".split("e")
    power = int(exponent)
    if power < -4 or power >= 21:
        return f"{mantissa}e{power:+03d}"
    return f"{single:.{max(digits - power, 0)}f}"
