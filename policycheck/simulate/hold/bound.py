"""Lower bounds: what shows at once that demands can not be held, each with its numbers.

Every bound is sound: it looks at a problem that is easier than the real one. Counted here are places for
pods of one shape on every machine, and gangs in every domain; ``together`` looks at several demands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policycheck.simulate.hold import together
from policycheck.simulate.hold.problem import ENDLESS, Home, Problem, Vector, ends_with, most, split
from policycheck.simulate.hold.shape import ANYWHERE, Bound, Room
from policycheck.simulate.hold.usable import usable


def alone(problem: Problem) -> Bound | None:
    """The first demand that can not be held even by itself."""
    found = (_alone(problem, number) for number in range(len(problem.demands)))
    return next((bound for bound in found if bound is not None), None)


def fitting(problem: Problem) -> list[together.Fitting]:
    """For every demand how many of its gangs each of its homes takes, with nobody else there."""
    return [[(h, gangs_in(problem, n, h)) for h in homes] for n, homes in enumerate(problem.homes)]


def _alone(problem: Problem, number: int) -> Bound | None:
    demand = problem.demands[number]
    wanted = [(n, p.pods * demand.gangs) for n, p in enumerate(demand.parts) if p.pods * demand.gangs]
    if not wanted:
        return None
    classes = sorted({c for home in problem.homes[number] for c in home if problem.machines[c]})
    for part, _ in wanted:
        if not any(most(problem.free[c], problem.each[number][part]) for c in classes):
            return _no_pod(problem, number, part, classes)
    if demand.level == ANYWHERE and len(problem.homes[number]) == 1 and not demand.slice_pods:
        for part, pods in wanted:
            room = _places(problem, classes, problem.each[number][part])
            if room < pods:
                rooms = _rooms(problem, classes, problem.each[number][part])
                return Bound("pods", (number,), "", pods, room, rooms, part)
        return None
    return _domains(problem, number)


def _no_pod(problem: Problem, number: int, part: int, classes: Sequence[int]) -> Bound:
    """No machine takes one pod: for one resource, or because none has everything at once."""
    each = problem.each[number][part]
    for n, resource in enumerate(problem.order):
        largest = max((problem.free[c][n] for c in classes), default=0)
        if each[n] > largest:
            return Bound("pod", (number,), resource, each[n], largest, (), part)
    return Bound("pod", (number,), "", 1, 0, _rooms(problem, classes, each), part)


def _places(problem: Problem, classes: Sequence[int], each: Vector) -> int:
    return sum(problem.machines[c] * most(problem.free[c], each) for c in classes)


def _rooms(problem: Problem, classes: Sequence[int], each: Vector) -> tuple[Room, ...]:
    """How many pods machines take, those alike in that together, roomiest first."""
    found: dict[tuple[int, str, int], int] = {}
    for c in classes:
        free = problem.free[c]
        by = ends_with(problem, free, each)
        key = (
            (most(free, each), "", ENDLESS) if by is None else (most(free, each), problem.order[by], free[by])
        )
        found[key] = found.get(key, 0) + problem.machines[c]
    return tuple(Room(n, *key) for key, n in sorted(found.items(), key=lambda i: (-i[0][0], i[0][1:])))


def gangs_in(problem: Problem, number: int, home: Home) -> int:
    """At most so many gangs of a demand fit one of its homes, with nobody else there."""
    demand, vectors = problem.demands[number], problem.each[number]
    fits = demand.gangs
    for part, each in zip(demand.parts, vectors, strict=True):
        if part.pods:
            size = min(part.pods, demand.slice_pods) or part.pods
            fits = min(fits, _slices(problem, number, home, size, each) // (part.pods // size))
    if len(demand.parts) > 1:
        for asked, room, _ in _totals(problem, number, home):
            fits = min(fits, room // asked)
    return fits


def _slices(problem: Problem, number: int, home: Home, size: int, each: Vector) -> int:
    """How many slices of ``size`` pods the home takes; without slices the gang is one."""
    demand = problem.demands[number]
    inner = split(home, problem.paths, demand.slice_level) if demand.slice_pods else [home]
    return sum(_places(problem, some, each) // size for some in inner)


def _totals(problem: Problem, number: int, home: Home) -> Iterator[tuple[int, int, int]]:
    """What one gang asks of every resource, what its pods can use of it in ``home``, and the resource."""
    vectors = problem.each[number]
    for n in range(len(problem.order)):
        asked = sum(p.pods * e[n] for p, e in zip(problem.demands[number].parts, vectors, strict=True))
        if asked:
            shapes = [(each, each[n]) for each in vectors]
            yield asked, sum(problem.machines[c] * usable(problem.free[c], shapes, n) for c in home), n


def _domains(problem: Problem, number: int) -> Bound | None:
    room = 0
    for home in problem.homes[number]:
        room += gangs_in(problem, number, home)
        if room >= problem.demands[number].gangs:
            return None
    if room == 0:
        return max((_best(problem, number, home) for home in problem.homes[number]), key=_share, default=None)
    return Bound("domains", (number,), "", problem.demands[number].gangs, room)


def _share(bound: Bound) -> int:
    return 1000 * bound.room // bound.need


def _best(problem: Problem, number: int, home: Home) -> Bound:
    """What one home takes of one gang: of the part, else of the resource, that is shortest."""
    demand, found = problem.demands[number], []
    for n, (part, each) in enumerate(zip(demand.parts, problem.each[number], strict=True)):
        if part.pods and demand.slice_pods:
            size = min(part.pods, demand.slice_pods)
            pods = _slices(problem, number, home, size, each) * size
            found.append(Bound("slices", (number,), "", part.pods, pods, (), n))
        elif part.pods:
            rooms = _rooms(problem, home, each)
            found.append(Bound("gang", (number,), "", part.pods, _places(problem, home, each), rooms, n))
    found += [
        Bound("gang", (number,), problem.order[n], asked, room)
        for asked, room, n in _totals(problem, number, home)
    ]
    return min(found, key=_share)
