"""The answer: bounds first, then placements in several orders, then the fewest demands that fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policycheck.simulate.hold import bound as bounds
from policycheck.simulate.hold import together
from policycheck.simulate.hold.problem import Problem, build
from policycheck.simulate.hold.search import Found, limits, search, share
from policycheck.simulate.hold.shape import (
    ANYWHERE,
    FAILS,
    HOLDS,
    UNKNOWN,
    Answer,
    Bound,
    Demand,
    Machines,
    Tried,
)
from policycheck.simulate.hold.words import explain

STEPS = 20_000  # that a search may take, unless told otherwise
_FIRST = 8  # the share of the steps that each order but the last may take
_MOST_DROPS = 64  # demands that are left out by way of trial, to find the smallest set that fails


def hold(classes: Sequence[Machines], demands: Sequence[Demand], steps: int = STEPS) -> Answer:
    """Whether machines of ``classes`` hold all ``demands`` at once.

    ``steps`` bounds the search; the answer UNKNOWN says how many were taken. Raises ValueError for
    numbers that are none.
    """
    problem = build(classes, demands)
    quick = _by_bound(problem)
    if quick is not None:
        return quick
    taken = orders = 0
    for order, tight, allowed in _attempts(problem, steps):
        found = search(problem, order, min(allowed, steps - taken), tight=tight)
        taken, orders = taken + found.steps, orders + 1
        if found.placed is not None:
            return Answer(HOLDS, "placement", found.placed, tried=Tried(taken, orders), order=problem.order)
        if found.whole:
            return _exhausted(problem, steps, Tried(taken, orders))
    why = f"no placement was found in {taken:,} steps, and no bound rules one out"
    return Answer(UNKNOWN, why=why, tried=Tried(taken, orders), order=problem.order)


def bounded(classes: Sequence[Machines], demands: Sequence[Demand]) -> Answer | None:
    """FAILS where a bound alone shows it, without any search; None where none does."""
    return _by_bound(build(classes, demands))


def _by_bound(problem: Problem) -> Answer | None:
    found = bounds.alone(problem)
    if found is not None:
        return _ruled_out(problem, found)
    if sum(len(d.parts) for d in problem.demands) < 2:
        return None  # there is nothing else to share machines with
    fitting = bounds.fitting(problem)
    found = together.find(problem, fitting, range(len(problem.demands)))
    if found is None:
        return None
    only = problem.order.index(found.resource)
    kept = _fewest(found.demands, lambda some: together.find(problem, fitting, some, only) is not None)
    return _ruled_out(problem, together.find(problem, fitting, kept, only) or found)


def _ruled_out(problem: Problem, found: Bound) -> Answer:
    return Answer(FAILS, "bound", bound=found, why=explain(problem, found), order=problem.order)


def _exhausted(problem: Problem, steps: int, tried: Tried) -> Answer:
    kept = _fewest(range(len(problem.demands)), lambda some: _is_impossible(search(problem, some, steps)))
    found = Bound("search", tuple(kept))
    why = explain(problem, found)
    return Answer(FAILS, "exhaustive", bound=found, why=why, tried=tried, order=problem.order)


def _is_impossible(found: Found) -> bool:
    return found.placed is None and found.whole


def _fewest(which: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    """A smallest set that fails by itself: none of it can be left out."""
    kept = list(which)
    for number in list(reversed(kept))[:_MOST_DROPS]:
        rest = [n for n in kept if n != number]
        if rest and fails(rest):
            kept = rest
    return kept


def _attempts(problem: Problem, steps: int) -> list[tuple[list[int], bool, int]]:
    """Orders in which demands are placed: those with least choice first, the largest first; the last
    may take all steps that are left.
    """
    most = limits(problem)
    every = range(len(problem.demands))
    size = [
        max((share(e, m) for v in problem.each[d] for e, m in zip(v, most, strict=True)), default=0)
        for d in every
    ]
    choice = [sum(problem.machines[c] for c in {c for h in problem.homes[d] for c in h}) for d in every]
    gang = [sum(p.pods for p in problem.demands[d].parts) for d in every]
    split = [problem.demands[d].level > ANYWHERE for d in every]
    strict = sorted(every, key=lambda d: (not split[d], choice[d], -size[d], -gang[d], d))
    large = sorted(every, key=lambda d: (-size[d], not split[d], choice[d], -gang[d], d))
    few = max(1, steps // _FIRST)
    return [
        (strict, True, few),
        (large, True, few),
        (strict, False, few),
        (large, False, few),
        (strict, True, steps),
    ]
