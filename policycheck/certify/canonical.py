"""One value, one text: JSON in the canonical form of RFC 8785, for what is digested and signed.

Numbers are integers within 2^53; a fraction is written as text by whoever makes the value, so that no
rounding of floats decides whether a signature holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from policycheck.digest import sha256

_EXACT = 2**53 - 1
MOST_BYTES = 64 << 20  # of a certificate; a larger one is an attack or a mistake
_DEPTH = 64


class CanonicalError(ValueError):
    """The value has no canonical text, or the text is not the canonical one."""


def encode(value: Any) -> bytes:
    """The canonical text. Raises CanonicalError for fractions, large integers and foreign types."""
    _look(value)
    return json.dumps(_sorted(value), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "strict")


def decode(data: bytes) -> Any:
    """The value of a canonical text. Raises CanonicalError for anything else, however close."""
    if len(data) > MOST_BYTES:
        raise CanonicalError(f"{len(data)} bytes; at most {MOST_BYTES} are read")
    try:
        value = json.loads(data.decode("utf-8"))
    except RecursionError as error:
        raise CanonicalError(f"nested deeper than {_DEPTH} levels") from error
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise CanonicalError(f"not JSON: {error}") from error
    if encode(value) != data:
        raise CanonicalError(
            "not in canonical form (RFC 8785): spaces, order, escapes or a repeated key differ"
        )
    return value


def digest(value: Any) -> str:
    """sha256 of the canonical text, in hex."""
    return sha256(encode(value)).hexdigest()


def _look(value: Any) -> None:
    level = [value]
    for _ in range(_DEPTH):
        below: list[Any] = []
        for one in level:
            below.extend(_inside(one))
        if not below:
            return
        level = below
    raise CanonicalError(f"nested deeper than {_DEPTH} levels")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        bad = next((key for key in value if not isinstance(key, str)), None)
        if bad is not None:
            raise CanonicalError(f"a key is text; {bad!r} is not")
        return [*value.values(), *value]
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise CanonicalError("text holds half of a surrogate pair") from error
    elif isinstance(value, bool) or value is None:
        pass
    elif isinstance(value, int):
        if abs(value) > _EXACT:
            raise CanonicalError(f"{value} is beyond 2^53; write it as text")
    else:
        raise CanonicalError(f"{type(value).__name__} has no canonical form; write it as text")
    return []


def _sorted(value: Any) -> Any:
    """Keys in the order of their UTF-16 code units. The depth is known to be small."""
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return {key: _sorted(value[key]) for key in keys}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    return value
