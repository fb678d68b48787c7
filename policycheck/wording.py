"""Words for lists and numbers, the same in every message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def some(names: Sequence[str], most: int) -> str:
    """``a, b``, and of more than ``most`` these: ``a, b and 5 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def join(names: Iterable[str], most: int = 4) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c, d and 5 more``."""
    found = list(names)
    if len(found) > most + 1:
        return some(found, most)
    return " and ".join((", ".join(found[:-1]), found[-1])) if len(found) > 1 else "".join(found)


def plural(number: int, one: str, many: str = "") -> str:
    """``1 queue``, ``4 queues``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
