"""What of one machine such pods can use at most: of a node of eight, pods of five use five."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.simulate.hold.problem import Vector, most

_MOST_PATTERNS = 4000  # looked at for one machine; beyond that a weaker, still true, bound is given
_MOST_SUMS = 4000
Weighed = tuple[Vector, int]  # what one pod takes, and what it counts


def usable(free: Vector, shapes: Sequence[Weighed], resource: int) -> int:
    """An upper bound of what pods of ``shapes`` together count on one machine; each takes some of
    ``resource``.

    Exact while there are few ways to combine them; else what this one resource lets them count.
    """
    useful = sorted({s for s in shapes if s[1] and most(free, s[0])}, reverse=True)
    if not useful:
        return 0
    ways = 1
    for each, _ in useful[1:]:
        ways *= most(free, each) + 1
        if ways > _MOST_PATTERNS:
            return _by_resource(free[resource], [(each[resource], weight) for each, weight in useful])
    return _exact(free, useful)


def _exact(free: Vector, shapes: Sequence[Weighed]) -> int:
    """Every combination of the shapes but the first, filled up with the first."""
    (first, worth), *others = shapes
    best = 0
    todo: list[tuple[Vector, int, int]] = [(free, 0, 0)]  # what is left, what counts so far, next shape
    while todo:
        left, counted, turn = todo.pop()
        if turn == len(others):
            best = max(best, counted + most(left, first) * worth)
            continue
        each, weight = others[turn]
        for pods in range(most(left, each) + 1):
            rest = tuple(f - pods * e for f, e in zip(left, each, strict=True))
            todo.append((rest, counted + pods * weight, turn + 1))
    return best


def _by_resource(limit: int, items: Sequence[tuple[int, int]]) -> int:
    """The most that items of (amount, weight) count within ``limit``, each any number of times."""
    if limit <= _MOST_SUMS:
        best = [0] * (limit + 1)
        for at in range(1, limit + 1):
            best[at] = max([best[at - 1], *(best[at - a] + w for a, w in items if a <= at)])
        return best[limit]
    if all(amount == weight for amount, weight in items):
        found = _sums(limit, [amount for amount, _ in items])
        return limit if found is None else max(found)
    return max(limit * weight // amount for amount, weight in items)


def _sums(limit: int, amounts: Sequence[int]) -> set[int] | None:
    """Every sum of such amounts within ``limit``; None when they are too many."""
    seen = {0}
    todo = [0]
    while todo:
        at = todo.pop()
        for amount in amounts:
            total = at + amount
            if total <= limit and total not in seen:
                if len(seen) >= _MOST_SUMS:
                    return None
                seen.add(total)
                todo.append(total)
    return seen
