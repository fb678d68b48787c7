"""Bounds over several demands: what of a resource the machines that they share can give them.

For every resource and every size, the pods that take at least so much are held against the machines: large
pods can not use what small ones could, so that those alone may be too much where all together seem to
fit. Pods that leave less than so much of the largest machine count as all of it. Demands that may go to
different machines make it a question of flow.

Source of the weights: the dual feasible functions of Fekete and Schepers, "New classes of fast lower
bounds for bin packing problems" (2001).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from policycheck.record import NamedTuple
from policycheck.simulate.hold.flow import SINK, SOURCE, cut
from policycheck.simulate.hold.problem import ENDLESS, Home, Problem, Vector
from policycheck.simulate.hold.shape import Bound, Room
from policycheck.simulate.hold.usable import Weighed, usable

_MOST_HOMES = 300  # of all demands together that a flow tells apart
_MOST_SIZES = 12  # of one resource
Fitting = Sequence[tuple[Home, int]]  # homes of one demand, and how many of its gangs fit each


class Load(NamedTuple):
    """Pods of a demand that may go to the same homes: what each shape takes and counts, what all of them
    count together, and what those of one gang do.
    """

    demand: int
    part: int
    shapes: tuple[Weighed, ...]
    need: int
    gang: int


_Key = tuple[tuple[int, int], ...]  # (load, home) that may use a class of machines


def find(
    problem: Problem, fitting: Sequence[Fitting], which: Sequence[int], only: int | None = None
) -> Bound | None:
    """The first of the demands ``which`` that together are too much for the machines open to them;
    ``only`` one resource, by position, is looked at if that is given.
    """
    for resource in range(len(problem.order)) if only is None else (only,):
        for loads, is_plain in _sets(problem, resource, which):
            found = Network(problem, resource, loads, [fitting[load.demand] for load in loads]).bound()
            if found is not None:
                return found if is_plain else found._replace(kind="share")
    return None


def _sets(problem: Problem, resource: int, which: Sequence[int]) -> Iterator[tuple[list[Load], bool]]:
    """All parts that take at least so much of a resource, the largest alone first; then the same with
    what counts more than it takes.
    """
    every = [
        (d, p, each, part.pods)
        for d in which
        for p, (part, each) in enumerate(zip(problem.demands[d].parts, problem.each[d], strict=True))
        if part.pods and problem.demands[d].gangs and each[resource]
    ]
    sizes = sorted({each[resource] for _, _, each, _ in every}, reverse=True)
    kept = sizes if len(sizes) <= _MOST_SIZES else [*sizes[: _MOST_SIZES - 1], sizes[-1]]

    def loads(least: int, most: int) -> list[Load]:
        made = []
        for d, p, each, pods in every:
            size = each[resource]
            weight = most if most and size + least > most else size
            if size >= least:
                gang = pods * weight
                made.append(Load(d, p, ((each, weight),), gang * problem.demands[d].gangs, gang))
        return made

    for least in kept:
        yield loads(least, 0), True
    classes = {c for d in which for home in problem.homes[d] for c in home if problem.machines[c]}
    most = max((problem.free[c][resource] for c in classes), default=0)
    for least in kept:
        if sizes[0] + least > most:
            yield loads(least, most), False


class Network:
    """Loads to homes to groups of machines that are open to the same of them."""

    def __init__(
        self, problem: Problem, resource: int, loads: Sequence[Load], fitting: Sequence[Fitting]
    ) -> None:
        self.problem = problem
        self.resource = resource
        self.loads: list[list[Load]] = []  # alike ones are one
        self.homes: list[list[tuple[Home, int]]] = []
        every = [[(h, gangs) for h, gangs in some if gangs] for some in fitting]
        if sum(map(len, every)) > _MOST_HOMES:
            every = [[(_union(h for h, _ in some), ENDLESS)] for some in every]
        self._gather(loads, every)
        self.groups = self._grouped()

    def _gather(self, loads: Sequence[Load], homes: Sequence[list[tuple[Home, int]]]) -> None:
        """Loads of the same shapes and homes together; what fits a home of each adds up to what is bounded."""
        known: dict[object, int] = {}
        for load, some in zip(loads, homes, strict=True):
            key = (load.shapes, tuple(home for home, _ in some))
            limits = [min(load.need, gangs * load.gang) for _, gangs in some]
            if key in known:
                n = known[key]
                self.loads[n].append(load)
                before = self.homes[n]
                self.homes[n] = [(h, a + more) for (h, a), more in zip(before, limits, strict=True)]
            else:
                known[key] = len(self.loads)
                self.loads.append([load])
                self.homes.append([(h, most) for (h, _), most in zip(some, limits, strict=True)])

    def _grouped(self) -> Mapping[_Key, Mapping[Vector, int]]:
        """Machines by what is free, for every set of loads and homes that may use them."""
        open_to: dict[int, list[tuple[int, int]]] = {}
        for n, some in enumerate(self.homes):
            for h, (home, _) in enumerate(some):
                for c in home:
                    open_to.setdefault(c, []).append((n, h))
        groups: dict[_Key, dict[Vector, int]] = {}
        for c in sorted(open_to):
            group = groups.setdefault(tuple(open_to[c]), {})
            free = self.problem.free[c]
            group[free] = group.get(free, 0) + self.problem.machines[c]
        return groups

    def bound(self) -> Bound | None:
        """What can not flow, in numbers; None when all does."""
        need = sum(load.need for some in self.loads for load in some)
        total, side = cut(self._arcs())
        if total >= need:
            return None
        stuck = [load for n, some in enumerate(self.loads) if ("load", n) in side for load in some]
        others = need - sum(load.need for load in stuck)
        return Bound(
            "amount",
            tuple(sorted({load.demand for load in stuck})),
            self.problem.order[self.resource],
            need - others,
            total - others,
            self._told(side),
            stuck[0].part,
        )

    def _arcs(self) -> dict[Hashable, dict[Hashable, int]]:
        arcs: dict[Hashable, dict[Hashable, int]] = {SOURCE: {}}
        for n, some in enumerate(self.loads):
            arcs[SOURCE]["load", n] = sum(load.need for load in some)
            arcs["load", n] = {("home", n, h): most for h, (_, most) in enumerate(self.homes[n])}
        for key, machines in self.groups.items():
            arcs["group", key] = {SINK: _sum(self._used(machines, self._shapes(key)))}
            for n, h in key:
                taken = _sum(self._used(machines, self.loads[n][0].shapes))
                arcs.setdefault(("home", n, h), {})["group", key] = taken
        return arcs

    def _shapes(self, key: _Key) -> list[Weighed]:
        return [shape for n in dict.fromkeys(n for n, _ in key) for shape in self.loads[n][0].shapes]

    def _used(self, machines: Mapping[Vector, int], shapes: Sequence[Weighed]) -> list[Room]:
        """What pods of ``shapes`` count at most on machines of every kind."""
        r = self.resource
        return [
            Room(n, usable(free, shapes, r), self.problem.order[r], free[r]) for free, n in machines.items()
        ]

    def _told(self, side: frozenset[Hashable]) -> tuple[Room, ...]:
        """The machines that the cut counts, those alike together."""
        found: dict[tuple[int, str, int], int] = {}
        for key, machines in self.groups.items():
            used: list[Sequence[Weighed]] = []
            if ("group", key) in side:
                used = [self._shapes(key)]
            else:
                used = [self.loads[n][0].shapes for n, h in key if ("home", n, h) in side]
            for room in (room for shapes in used for room in self._used(machines, shapes)):
                found[room[1:]] = found.get(room[1:], 0) + room.machines
        return tuple(Room(n, *key) for key, n in sorted(found.items(), key=lambda i: (-i[0][0], i[0][1:])))


def _sum(rooms: Sequence[Room]) -> int:
    return sum(room.machines * room.takes for room in rooms)


def _union(homes: Iterable[Home]) -> Home:
    return tuple(sorted({c for home in homes for c in home}))
