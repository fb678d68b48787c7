"""Partial admission: the most pods that still fit. Source: KEP-420 "Partial admission"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Span = tuple[int, int | None]  # (count, minCount)


def search(sets: Sequence[Span], attempt: Callable[[list[int]], T | None]) -> T | None:
    """The result of ``attempt(counts)`` for the least total reduction that succeeds, or None.

    The reduction is spread over the podsets in proportion to what each can spare, rounded down. It
    is found by bisection, as the real one does: when success is not monotonic the first that the
    bisection meets counts. Nothing is tried when nothing can be spared.
    """
    spare = [count - (count if least is None else least) for count, least in sets]
    total = sum(spare)
    if total <= 0:
        return None
    found: T | None = None
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = [count - s * middle // total for (count, _), s in zip(sets, spare, strict=True)]
        result = attempt(counts)
        if result is None:
            low = middle + 1
        else:
            found, high = result, middle
    return found
