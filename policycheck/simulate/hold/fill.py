"""Whether promised amounts can be used at all, by gangs of these kinds in any mixture.

A guarantee says an amount and no jobs. What its owner runs are gangs of a few kinds; how many of each is
the owner's choice. So what is asked is whether *some* mixture within the amount, as large as mixtures of
these gangs get, finds a place: where none does, the promise is worth less than its number. What is asked
of *every* mixture takes ``mixtures`` and ``hold`` of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from policycheck.record import NamedTuple
from policycheck.simulate.hold.decide import hold
from policycheck.simulate.hold.problem import ENDLESS, build
from policycheck.simulate.hold.shape import FAILS, Demand, Machines
from policycheck.simulate.hold.together import Load, Network
from policycheck.simulate.hold.words import explain

_MOST_MIXTURES = 500  # of one filling
_MOST_TRIES = 24  # mixtures of several fillings that are tried
_STEPS = 2000  # of one try
Numbers = tuple[int, ...]  # gangs of each kind


class Filling(NamedTuple):
    """As much of ``resource`` as gangs of ``kinds`` (their own number does not count) take within the
    amounts of ``within``.
    """

    name: str
    resource: str
    within: Mapping[str, int]
    kinds: tuple[Demand, ...]


class Wasted(NamedTuple):
    """Fillings that can not be used in full, and why. ``need`` is what they ask for together, ``room`` what
    can be used at most; -1 where that is not known.
    """

    fillings: tuple[int, ...]
    resource: str
    need: int
    room: int
    why: str


def units(kind: Demand, resource: str) -> int:
    """What one gang takes of a resource."""
    return sum(p.pods * p.each.get(resource, 0) for p in kind.parts)


def mixtures(filling: Filling) -> list[Numbers] | None:
    """Every mixture to which no further gang can be added; None when they are too many to list."""
    asked = [{r: units(k, r) for r in filling.within} for k in filling.kinds]
    under_way: list[tuple[Numbers, dict[str, int]]] = [((), dict(filling.within))]
    for turn, one in enumerate(asked):
        more: list[tuple[Numbers, dict[str, int]]] = []
        for numbers, left in under_way:
            most = _times(left, one)
            if len(more) + most > _MOST_MIXTURES and turn + 1 < len(asked):
                return None
            some = range(most + 1) if turn + 1 < len(asked) else (most,)
            more.extend(((*numbers, n), {r: a - n * one[r] for r, a in left.items()}) for n in some)
        under_way = more
    return [numbers for numbers, left in under_way if not any(_times(left, one) for one in asked)]


def _times(left: Mapping[str, int], one: Mapping[str, int]) -> int:
    """How often ``one`` fits; a gang that takes nothing of what is bounded is never added."""
    return min((left[r] // a for r, a in one.items() if a), default=0)


def largest(filling: Filling) -> int:
    """The most that any mixture takes of the resource, or, where mixtures are too many, gangs of one kind."""
    known = mixtures(filling)
    sizes = [units(k, filling.resource) for k in filling.kinds]
    if known is None:
        asked = [{r: units(k, r) for r in filling.within} for k in filling.kinds]
        return max((s * _times(filling.within, a) for s, a in zip(sizes, asked, strict=True)), default=0)
    return max((sum(n * s for n, s in zip(some, sizes, strict=True)) for some in known), default=0)


def wasted(classes: Sequence[Machines], fillings: Sequence[Filling]) -> tuple[Wasted, ...]:
    """Fillings of which no largest mixture can be held: each that can not be even by itself, and for every
    resource the fewest others that can not be together.

    Sound, not complete: that nothing is found does not mean that all can be held.
    """
    return _Search(classes, fillings).run()


class _Search:
    """The fillings, each with its largest mixtures, which are worked out once."""

    def __init__(self, classes: Sequence[Machines], fillings: Sequence[Filling]) -> None:
        self.classes = classes
        self.fillings = fillings
        self.need = [largest(f) for f in fillings]
        self.full = [self._full(n) for n in range(len(fillings))]

    def _full(self, n: int) -> list[Numbers] | None:
        """The mixtures that take as much as any does; None when they are too many to list."""
        one, known = self.fillings[n], mixtures(self.fillings[n])
        if known is None:
            return None
        sizes = [units(k, one.resource) for k in one.kinds]
        return [m for m in known if sum(a * s for a, s in zip(m, sizes, strict=True)) == self.need[n]]

    def run(self) -> tuple[Wasted, ...]:
        found = [w for n in range(len(self.fillings)) if (w := self._look([n])) is not None]
        gone = {n for w in found for n in w.fillings}
        for resource in dict.fromkeys(f.resource for f in self.fillings):
            rest = [n for n, f in enumerate(self.fillings) if f.resource == resource and n not in gone]
            more = self._look(rest) if len(rest) > 1 else None
            if more is not None:
                found.append(self._fewer(more))
        return tuple(found)

    def _fewer(self, found: Wasted) -> Wasted:
        """The same with every filling left out that is not needed to show it."""
        for n in reversed(found.fillings):
            rest = [m for m in found.fillings if m != n]
            found = (self._look(rest) if rest else None) or found
        return found

    def _look(self, which: Sequence[int]) -> Wasted | None:
        return self._by_amount(which) or self._by_mixture(which)

    def _by_amount(self, which: Sequence[int]) -> Wasted | None:
        """What pods of these shapes can use of the machines at most, against what the fillings ask for."""
        demands = [
            Demand(f.name, tuple(p for kind in f.kinds for p in kind.parts), 1, (_allowed(f),))
            for f in (self.fillings[n] for n in which)
        ]
        problem, resource = build(self.classes, demands), self.fillings[which[0]].resource
        if resource not in problem.order:
            return None
        r = problem.order.index(resource)
        loads = []
        for d, n in enumerate(which):
            shapes = tuple((each, each[r]) for each in problem.each[d] if each[r])
            loads.append(Load(d, 0, shapes, self.need[n], self.need[n]))
        homes = [[(home, ENDLESS) for home in some] for some in problem.homes]
        bound = Network(problem, r, loads, homes).bound()
        if bound is None:
            return None
        named = tuple(which[d] for d in bound.demands)
        return Wasted(named, resource, bound.need, bound.room, explain(problem, bound))

    def _by_mixture(self, which: Sequence[int]) -> Wasted | None:
        """Every largest mixture, where there are few: none of them can be held."""
        every, total = [], 1
        for n in which:
            full = self.full[n]
            if full is None or total * len(full) > _MOST_TRIES:
                return None
            every.append(full)
            total *= len(full)
        why, chosen = "", [self.fillings[n] for n in which]
        for choice in product(*every):
            answer = hold(self.classes, _demands(chosen, choice), _STEPS)
            if answer.outcome != FAILS:
                return None
            why = why or answer.why
        if not why:
            return None
        return Wasted(tuple(which), chosen[0].resource, sum(self.need[n] for n in which), -1, why)


def _allowed(filling: Filling) -> tuple[int, ...]:
    return tuple(sorted({c for kind in filling.kinds for some in kind.allowed for c in some}))


def _demands(chosen: Sequence[Filling], numbers: Sequence[Numbers]) -> list[Demand]:
    return [
        kind._replace(gangs=n)
        for filling, some in zip(chosen, numbers, strict=True)
        for kind, n in zip(filling.kinds, some, strict=True)
        if n
    ]
