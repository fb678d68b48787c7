"""Quantities as integers in base units, saturating where "unlimited" begins.

``cpu`` is counted in thousandths of a core; every other resource in whole units, rounded up
(``Value()`` of a quantity, as quota is charged for all resources but cpu). ``UNLIMITED`` is the
largest signed 64-bit integer; arithmetic saturates there instead of wrapping.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

UNLIMITED = 2**63 - 1
LOWEST = -UNLIMITED

_SUFFIX: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_QUANTITY = re.compile(
    r"([+-]?)(\d{1,64}\.?\d{0,64}|\.\d{1,64})(?:([eE][+-]?\d{1,4})|([numkMGTPE]|[KMGTPE]i)?)\Z",
    re.ASCII,
)
_EXPONENT_MAX = 300


class QuantityError(ValueError):
    """The text is not a Kubernetes quantity; the message says what is allowed."""


def quantity(text: object) -> Fraction:
    """The exact value of a Kubernetes quantity (``64``, ``500m``, ``64Gi``, ``1e3``).

    Integers and floats are taken as the API server takes a JSON number. Raises QuantityError.
    Source: the grammar in apimachinery's ``resource.Quantity`` documentation.
    """
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise QuantityError(f"{text!r} is not a quantity; write a number such as 8, 500m or 64Gi")
    return _parsed(str(text))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Fraction:
    """A pure memo: the same few quantities stand thousands of times in a dump."""
    match = _QUANTITY.match(text)
    if not match:
        raise QuantityError(
            f"{text[:80]!r} is not a quantity; write a number with at most one suffix of "
            "m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, as in 8, 500m or 64Gi"
        )
    sign, digits, exponent, suffix = match.groups()
    value = Fraction(digits + "0" if digits.endswith(".") else digits)
    if exponent:
        power = int(exponent[1:])
        value *= Fraction(10) ** max(-_EXPONENT_MAX, min(_EXPONENT_MAX, power))
    else:
        value *= _SUFFIX[suffix or ""]
    return -value if sign == "-" else value


def clamp(value: int) -> int:
    """``value`` within the signed 64-bit range."""
    return UNLIMITED if value > UNLIMITED else max(value, LOWEST)


def amount(resource: str, text: object) -> int:
    """A quantity of ``resource`` in base units: thousandths for cpu, whole units else, rounded up.

    Raises QuantityError.
    """
    value = quantity(text)
    if resource == "cpu":
        value *= 1000
    return clamp(-(-value.numerator // value.denominator))


def add(a: int, b: int) -> int:
    """Saturating sum: unlimited plus anything is unlimited."""
    if a == UNLIMITED or b == UNLIMITED:
        return UNLIMITED
    return clamp(a + b)


def sub(a: int, b: int) -> int:
    """Saturating difference: unlimited minus anything finite stays unlimited."""
    if a == UNLIMITED:
        return UNLIMITED
    return clamp(a - b)


def scale(a: int, times: int) -> int:
    """Saturating product."""
    if a == UNLIMITED and times > 0:
        return UNLIMITED
    return clamp(a * times)


_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_BYTES = ("memory", "ephemeral-storage", "storage")


def show(resource: str, value: int) -> str:
    """``value`` as a person writes it: ``1.5`` cores, ``512Gi``, ``8``, ``unlimited``."""
    if value >= UNLIMITED:
        return "unlimited"
    if resource == "cpu":
        whole, rest = divmod(value, 1000)
        return str(whole) if not rest else f"{value / 1000:.3f}".rstrip("0")
    if resource in _BYTES or resource.startswith("hugepages-"):
        return show_bytes(value)
    return str(value)


def show_bytes(value: int) -> str:
    """Bytes with the largest binary suffix, to one decimal: ``1.5Ti``, ``503.2Gi``, ``64``."""
    for suffix in _BINARY:
        unit = int(_SUFFIX[suffix])
        if abs(value) >= unit:
            return f"{value / unit:.1f}".removesuffix(".0") + suffix
    return str(value)


def write(resource: str, value: int) -> str:
    """``value`` as an exact quantity string that Kubernetes reads back as the same amount."""
    if resource != "cpu":
        return str(value)
    return str(value // 1000) if value % 1000 == 0 else f"{value}m"
