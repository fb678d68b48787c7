"""Checking a placement, and telling it: the answer is replayed on empty machines."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.record import NamedTuple
from policycheck.simulate.hold.problem import Problem, Vector, build, split
from policycheck.simulate.hold.shape import Answer, Demand, Machines, Placed

_Group = list[tuple[int, tuple[tuple[int, int, int], ...]]]  # machines, with what each of them holds


class Pattern(NamedTuple):
    """``machines`` machines of class ``where``, each with the same pods: (demand, part, pods)."""

    where: int
    machines: int
    pods: tuple[tuple[int, int, int], ...]


class BrokenError(ValueError):
    """A placement that is none; the message says where."""


def check(classes: Sequence[Machines], demands: Sequence[Demand], answer: Answer) -> tuple[Pattern, ...]:
    """What every machine holds in the end. Raises BrokenError when the placement does not hold the demands.

    Independent of how the placement was found: machines are filled one step after the other.
    """
    problem = build(classes, demands)
    if problem.order != answer.order:
        raise BrokenError("the placement is of other resources")
    left: list[dict[Vector, _Group]] = [
        {free: [(n, ())] if n else []} for free, n in zip(problem.free, problem.machines, strict=True)
    ]
    for step in answer.placed:
        _put(problem, left, step)
    for d in range(len(problem.demands)):
        _whole(problem, d, [step for step in answer.placed if step.demand == d])
    found: dict[tuple[int, tuple[tuple[int, int, int], ...]], int] = {}
    for where, groups in enumerate(left):
        for group in groups.values():
            for machines, held in group:
                key = where, tuple(sorted(held))
                found[key] = found.get(key, 0) + machines
    return tuple(Pattern(w, n, held) for (w, held), n in sorted(found.items()) if held and n)


def _put(problem: Problem, left: list[dict[Vector, _Group]], step: Placed) -> None:
    each = problem.each[step.demand][step.part]
    after = tuple(f - step.pods * e for f, e in zip(step.free, each, strict=True))
    if min(after, default=0) < 0:
        raise BrokenError(f"{problem.demands[step.demand].name}: more pods than a machine has room for")
    if step.where not in step.home or step.home not in _homes_of(problem, step):
        raise BrokenError(f"{problem.demands[step.demand].name}: pods outside their domain")
    wanted, group = step.machines, left[step.where].get(step.free, [])
    while wanted:
        if not group:
            raise BrokenError(f"{problem.demands[step.demand].name}: machines that are not there")
        machines, held = group.pop()
        used = min(machines, wanted)
        wanted -= used
        if used < machines:
            group.append((machines - used, held))
        more = (*held, (step.demand, step.part, step.pods))
        left[step.where].setdefault(after, []).append((used, more))


def _homes_of(problem: Problem, step: Placed) -> Sequence[tuple[int, ...]]:
    demand = problem.demands[step.demand]
    if not demand.slice_pods:
        return problem.homes[step.demand]
    return [
        inner
        for home in problem.homes[step.demand]
        for inner in split(home, problem.paths, demand.slice_level)
    ]


def _whole(problem: Problem, d: int, steps: Sequence[Placed]) -> None:
    """Every pod of every gang is placed, and each gang in one home."""
    demand = problem.demands[d]
    for n, part in enumerate(demand.parts):
        placed = sum(s.pods * s.machines for s in steps if s.part == n)
        if placed != part.pods * demand.gangs:
            raise BrokenError(f"{demand.name}: {placed} of {part.pods * demand.gangs} pods are placed")
    by_gang: dict[int, list[Placed]] = {}
    for step in steps:
        by_gang.setdefault(step.gang, []).append(step)
    for gang, some in by_gang.items():
        used = {c for s in some for c in s.home}
        if not any(used <= set(home) for home in problem.homes[d]):
            raise BrokenError(f"{demand.name}: gang {gang} is in several domains")
        for n, part in enumerate(demand.parts):
            pods = sum(s.pods * s.machines for s in some if s.part == n)
            if gang >= 0 and pods != part.pods:
                raise BrokenError(f"{demand.name}: gang {gang} has {pods} of {part.pods} pods")
