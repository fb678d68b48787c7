"""Looking for a placement: one decision after the other, taken back when nothing follows from it.

Decided are the domain of a gang, and how alike pods spread over alike machines; so neither machines nor
pods are told apart that make no difference, and what has been searched through is proved not to exist.
The search is deterministic and bounded by a number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policycheck.record import NamedTuple
from policycheck.simulate.hold.bound import gangs_in
from policycheck.simulate.hold.problem import ENDLESS, Home, Problem, Vector, most, split
from policycheck.simulate.hold.shape import Placed
from policycheck.simulate.hold.spread import spreads


class Found(NamedTuple):
    """A placement, or None; whether there is none at all (``whole``: everything was tried); steps taken."""

    placed: tuple[Placed, ...] | None
    whole: bool
    steps: int


class _Step(NamedTuple):
    """One decision: a home of a gang (``kind`` home), an inner home of a slice, or where pods go."""

    kind: str  # home | slice | pods
    demand: int
    gang: int
    part: int = 0
    pods: int = 0


def search(problem: Problem, order: Sequence[int], steps: int, *, tight: bool = True) -> Found:
    """Place the demands in ``order``; ``tight`` fills machines with little room first."""
    if sum(_decisions(problem, d) for d in order) > steps:
        return Found(None, whole=False, steps=0)
    return _Search(problem, order, tight=tight).run(steps)


class _Search:
    """The machines by what is left of them, and the decisions under way."""

    def __init__(self, problem: Problem, order: Sequence[int], *, tight: bool) -> None:
        self.problem = problem
        self.tight = tight
        self.left: list[dict[Vector, int]] = [
            {free: n} if n else {} for free, n in zip(problem.free, problem.machines, strict=True)
        ]
        self.plan = [step for d in order for step in _steps(problem, d)]
        self.home: dict[int, Home] = {}  # of the gang that is being placed, by demand
        self.inner: dict[int, Home] = {}
        self.rank: dict[int, tuple[int, int]] = {}  # by demand: gang last placed, where in the list of homes
        self.homes: dict[int, list[Home]] = {}
        self.log: list[tuple[Placed, ...]] = []
        self.limits = limits(problem)

    def run(self, steps: int) -> Found:
        taken = 0
        if not self.plan:
            return Found((), whole=True, steps=0)
        stack = [self._choices(self.plan[0])]
        while stack:
            if taken >= steps:
                return Found(None, whole=False, steps=taken)
            taken += 1
            if next(stack[-1], None) is None:
                stack.pop()
            elif len(stack) == len(self.plan):
                return Found(tuple(p for some in self.log for p in some), whole=True, steps=taken)
            else:
                stack.append(self._choices(self.plan[len(stack)]))
        return Found(None, whole=True, steps=taken)

    def _choices(self, step: _Step) -> Iterator[bool]:
        """Each way to take the step; taken back when the next is asked for."""
        match step.kind:
            case "home":
                return self._choose_home(step)
            case "slice":
                return self._choose_inner(step)
        return self._place(step)

    # -- domains --------------------------------------------------------------------------------

    def _choose_home(self, step: _Step) -> Iterator[bool]:
        """Homes of a demand in one order for all its gangs, and never back: alike gangs may be exchanged."""
        d = step.demand
        if step.gang == 0:
            self.homes[d] = self._ranked(d)
            self.rank[d] = (0, 0)
        start = self.rank[d][1]
        before = self.home.get(d, ())
        for turn in range(start, len(self.homes[d])):
            home = self.homes[d][turn]
            if self._could(d, home):
                self.home[d], self.rank[d] = home, (step.gang, turn)
                yield True
        self.home[d], self.rank[d] = before, (step.gang, start)

    def _ranked(self, d: int) -> list[Home]:
        """The homes that can hold a gang, those with least room first."""
        if len(self.problem.homes[d]) < 2:
            return list(self.problem.homes[d])
        found = []
        for turn, home in enumerate(self.problem.homes[d]):
            room = gangs_in(self.problem, d, home)
            if room:
                found.append((sum(self._room(home, e) for e in self.problem.each[d]), turn, home))
        ordered = sorted(found) if self.tight else sorted(found, key=lambda f: (-f[0], f[1]))
        return [home for _, _, home in ordered]

    def _could(self, d: int, home: Home) -> bool:
        parts = zip(self.problem.demands[d].parts, self.problem.each[d], strict=True)
        return all(self._room(home, each) >= p.pods for p, each in parts)

    def _room(self, home: Home, each: Vector) -> int:
        return sum(n * most(free, each) for c in home for free, n in self.left[c].items())

    def _choose_inner(self, step: _Step) -> Iterator[bool]:
        d = step.demand
        before = self.inner.get(d, ())
        each = self.problem.each[d][step.part]
        level = self.problem.demands[d].slice_level
        found = [
            (room, home)
            for home in split(self.home[d], self.problem.paths, level)
            if (room := self._room(home, each)) >= step.pods
        ]
        for _, home in sorted(found):
            self.inner[d] = home
            yield True
        self.inner[d] = before

    # -- pods -----------------------------------------------------------------------------------

    def _place(self, step: _Step) -> Iterator[bool]:
        d, each = step.demand, self.problem.each[step.demand][step.part]
        home = self.inner[d] if self.problem.demands[d].slice_pods else self.home[d]
        groups = self._groups(home, each)
        for way in spreads(step.pods, [(n, min(most(free, each), step.pods)) for _, free, n in groups]):
            made = tuple(
                Placed(d, step.gang, step.part, groups[g][0], groups[g][1], pods, n, home)
                for g, pods, n in way
            )
            for one in made:
                self._move(one, each, 1)
            self.log.append(made)
            yield True
            self.log.pop()
            for one in reversed(made):
                self._move(one, each, -1)

    def _groups(self, home: Home, each: Vector) -> list[tuple[int, Vector, int]]:
        """Alike machines with room, in the order in which they are filled."""
        found = [(c, free, n) for c in home for free, n in self.left[c].items() if n and most(free, each) > 0]
        lead = self._lead(each)
        sign = 1 if self.tight else -1
        return sorted(found, key=lambda g: (sign * g[1][lead], g[1], g[0]))

    def _lead(self, each: Vector) -> int:
        """The resource of which a pod takes the largest share of any machine."""
        return max(range(len(each)), key=lambda n: (share(each[n], self.limits[n]), -n))

    def _move(self, one: Placed, each: Vector, sign: int) -> None:
        """Put the pods of one step on their machines, or take them off again."""
        left = self.left[one.where]
        after = tuple(f - one.pods * e for f, e in zip(one.free, each, strict=True))
        tail, head = (one.free, after) if sign > 0 else (after, one.free)
        left[tail] -= one.machines
        if not left[tail]:
            del left[tail]
        left[head] = left.get(head, 0) + one.machines


def limits(problem: Problem) -> Vector:
    """The most that any machine has, by resource."""
    return tuple(max(column, default=0) for column in zip(*problem.free, strict=True)) or (0,) * len(
        problem.order
    )


def share(amount: int, of: int) -> int:
    """How large a part ``amount`` is, in 2^-62."""
    return amount * ENDLESS // max(1, of)


def _is_alike(problem: Problem, d: int) -> bool:
    """Whether the gangs of a demand need not be told apart: they have one home."""
    return len(problem.homes[d]) == 1 and not problem.demands[d].slice_pods


def _decisions(problem: Problem, d: int) -> int:
    """How many steps there are for one demand."""
    demand = problem.demands[d]
    if _is_alike(problem, d):
        return 1 + len(demand.parts)
    size = demand.slice_pods
    each = sum(2 * -(-p.pods // size) if size else 1 for p in demand.parts)
    return demand.gangs * (1 + each)


def _steps(problem: Problem, d: int) -> Iterator[_Step]:
    """The decisions about one demand."""
    demand = problem.demands[d]
    parts = [(n, p.pods) for n, p in enumerate(demand.parts) if p.pods]
    if not parts or not demand.gangs:
        return
    if _is_alike(problem, d):
        yield _Step("home", d, 0)
        for n, pods in parts:
            yield _Step("pods", d, -1, n, pods * demand.gangs)
        return
    for gang in range(demand.gangs):
        yield _Step("home", d, gang)
        for n, pods in parts:
            size = demand.slice_pods or pods
            for begin in range(0, pods, size):
                if demand.slice_pods:
                    yield _Step("slice", d, gang, n, min(size, pods - begin))
                yield _Step("pods", d, gang, n, min(size, pods - begin))
