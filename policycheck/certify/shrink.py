"""A story made smaller for as long as it still breaks the promise.

First whole workloads and moves go, several workloads become one, then pods and amounts, then time. Every step
is played again: what is left has been seen to break it, and no single step of the kinds tried makes it smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import NamedTuple

from policycheck.certify.arena import FINISH, SUBMIT, Ask, Move, Scenario
from policycheck.model.workload import PodSet

Breaks = Callable[[Scenario], bool]
Keeps = Callable[[Ask], bool]
_MOST_PODS = 1024  # of a workload that stands for several


class Shrunk(NamedTuple):
    """The smaller scenario, how often it was played, and whether nothing was left to try."""

    scenario: Scenario
    played: int
    complete: bool


class _SpentError(Exception):
    """The budget of plays is used up."""


class _Trial:
    """The smallest scenario so far, and plays left."""

    def __init__(self, scenario: Scenario, breaks: Breaks, budget: int, keeps: Keeps, apart: Keeps) -> None:
        self.best = scenario
        self.keeps, self.apart = keeps, apart
        self.played = 0
        self._breaks = breaks
        self._budget = budget
        self._known: set[str] = set()  # by text: a scenario holds mappings

    def take(self, smaller: Scenario) -> bool:
        """Whether the smaller one breaks it too; then it is the best."""
        if smaller == self.best or repr(smaller) in self._known:
            return False
        if self.played >= self._budget:
            raise _SpentError
        self.played += 1
        if not self._breaks(smaller):
            self._known.add(repr(smaller))
            return False
        self.best = smaller
        return True


def _free(_: Ask) -> bool:
    return False


def shrink(
    scenario: Scenario, breaks: Breaks, budget: int = 400, keeps: Keeps = _free, apart: Keeps = _free
) -> Shrunk:
    """The smallest scenario found that ``breaks``; ``scenario`` itself must. At most ``budget`` plays.

    Workloads that ``keeps`` names may go as a whole, and are not made smaller; those that are ``apart`` never
    become one with others.
    """
    trial = _Trial(scenario, breaks, budget, keeps, apart)
    steps = (_fewer_asks, _fewer_moves, _fewer_lost, _merged, _smaller_sets, _smaller_pods, _sooner)
    try:
        before = None
        while before != trial.best:
            before = trial.best
            for step in steps:
                step(trial)
    except _SpentError:
        return Shrunk(trial.best, trial.played, complete=False)
    return Shrunk(trial.best, trial.played, complete=True)


def _without(
    trial: _Trial, count: Callable[[Scenario], int], drop: Callable[[Scenario, int, int], Scenario]
) -> None:
    """Leave out stretches, larger ones first, until no single one can go."""
    size = max(1, count(trial.best) // 2) if count(trial.best) > 1 else 1
    while size:
        begin = 0
        while begin < count(trial.best):
            if not trial.take(drop(trial.best, begin, begin + size)):
                begin += size
        size //= 2


def _tidy(moves: Sequence[Move]) -> tuple[Move, ...]:
    """Without moves that do nothing, and without ends of workloads that never came."""
    come = {ask.name for move in moves for ask in move.asks}
    found = []
    for move in moves:
        names = tuple(n for n in move.names if move.what != "finish" or n in come)
        if move.asks or names:
            found.append(move._replace(names=names))
    return tuple(found)


def _fewer_asks(trial: _Trial) -> None:
    def drop(scenario: Scenario, begin: int, end: int) -> Scenario:
        gone = {ask.name for ask in scenario.asks[begin:end]}
        moves = [m._replace(asks=tuple(a for a in m.asks if a.name not in gone)) for m in scenario.moves]
        return scenario._replace(moves=_tidy(moves))

    _without(trial, lambda s: len(s.asks), drop)


def _fewer_moves(trial: _Trial) -> None:
    """Ends and holds of queues, one by one; submissions are dropped by their workloads."""

    def places(scenario: Scenario) -> list[int]:
        return [n for n, move in enumerate(scenario.moves) if move.what != SUBMIT]

    def drop(scenario: Scenario, begin: int, end: int) -> Scenario:
        gone = set(places(scenario)[begin:end])
        return scenario._replace(moves=_tidy([m for n, m in enumerate(scenario.moves) if n not in gone]))

    _without(trial, lambda s: len(places(s)), drop)


def _fewer_lost(trial: _Trial) -> None:
    def drop(scenario: Scenario, begin: int, end: int) -> Scenario:
        return scenario._replace(lost=scenario.lost[:begin] + scenario.lost[end:])

    _without(trial, lambda s: len(s.lost), drop)


def _merged(trial: _Trial) -> None:
    """One workload for several of a queue and a priority: for all of them, else for half as many at a time. It
    comes when the first of them came, or when the last did.
    """
    kinds = dict.fromkeys(_kind(ask) for ask in trial.best.asks if not trial.apart(ask))
    for kind in kinds:
        size = len(_alike(trial, kind))
        while size > 1:
            begin = 0
            while begin + size <= len(names := _alike(trial, kind)):
                some = names[begin : begin + size]
                if not any(trial.take(one) for one in _as_one(trial, some)):
                    begin += 1
            size = min(size - 1, -(-size // 2)) if size > 2 else 1


_Kind = tuple[str, int, str]


def _kind(ask: Ask) -> _Kind:
    return ask.queue, ask.priority, ask.priority_class


def _alike(trial: _Trial, kind: _Kind) -> list[str]:
    """Workloads of one kind that may become one: of one podset each."""
    return [
        a.name
        for a in trial.best.asks
        if _kind(a) == kind and len(a.shape.pod_sets) == 1 and not trial.apart(a)
    ]


def _as_one(trial: _Trial, names: Sequence[str]) -> Iterator[Scenario]:
    """The same with one workload in place of ``names``, which ends when the last of them did. Those that are not
    made smaller become one only where their pods are alike.
    """
    scenario, chosen = trial.best, set(names)
    asks = [ask for ask in scenario.asks if ask.name in chosen]
    ends = [n for n, move in enumerate(scenario.moves) if move.what == FINISH and chosen & {*move.names}]
    if ends and chosen - {name for n in ends for name in scenario.moves[n].names}:
        return  # some of them go on
    for spec in _whole([a.shape.pod_sets[0] for a in asks], as_they_are=any(map(trial.keeps, asks))):
        for kept in dict.fromkeys((asks[0].name, asks[-1].name)):
            moves = []
            for n, move in enumerate(scenario.moves):
                left = tuple(a for a in move.asks if a.name == kept or a.name not in chosen)
                grown = (
                    a._replace(shape=a.shape._replace(pod_sets=(spec,))) if a.name == kept else a
                    for a in left
                )
                end = move.names
                if move.what == FINISH:
                    end = (*(m for m in end if m not in chosen), *((kept,) if n in ends[-1:] else ()))
                moves.append(move._replace(asks=tuple(grown), names=end))
            yield scenario._replace(moves=_tidy(moves))


def _whole(specs: Sequence[PodSet], *, as_they_are: bool) -> Iterator[PodSet]:
    """All pods in one podset: alike ones as they are, then without what ties them to each other; others as pods
    of the largest amount that divides them all, of what they all ask for.
    """
    first = specs[0]
    if all(spec._replace(pods=1) == first._replace(pods=1) for spec in specs):
        whole = first._replace(pods=sum(spec.pods for spec in specs))
        yield whole
        if as_they_are:
            return
        if whole.topology is not None:
            yield whole._replace(topology=None)
    if as_they_are:
        return
    shared = set.intersection(*({r for r, v in spec.requests.items() if v} for spec in specs))
    for resource in sorted(shared, key=lambda r: "/" not in r):
        each = gcd(*(spec.requests[resource] for spec in specs))
        pods = sum(spec.pods * spec.requests[resource] for spec in specs) // each
        if pods <= _MOST_PODS:
            yield first._replace(pods=pods, requests={resource: each}, topology=None)


def _changed(scenario: Scenario, name: str, change: Callable[[Ask], Ask]) -> Scenario:
    moves = [
        m._replace(asks=tuple(change(a) if a.name == name else a for a in m.asks)) for m in scenario.moves
    ]
    return scenario._replace(moves=tuple(moves))


def _resized(ask: Ask, at: int, spec: PodSet) -> Ask:
    sets = ask.shape.pod_sets
    return ask._replace(shape=ask.shape._replace(pod_sets=(*sets[:at], spec, *sets[at + 1 :])))


def _lowered(
    trial: _Trial, name: str, value: int, least: int, made: Callable[[int], Callable[[Ask], Ask]]
) -> None:
    """The lowest value between ``least`` and ``value`` that is found by halving the way down."""
    low, high = least, value
    while low < high:
        middle = (low + high) // 2
        if trial.take(_changed(trial.best, name, made(middle))):
            high = middle
        else:
            low = middle + 1


def _smaller_sets(trial: _Trial) -> None:
    """Fewer pods in each podset."""
    for ask in trial.best.asks:
        if trial.keeps(ask):
            continue
        for at, spec in enumerate(ask.shape.pod_sets):
            if spec.min_count is None:

                def made(pods: int, at: int = at) -> Callable[[Ask], Ask]:
                    return lambda a: _resized(a, at, a.shape.pod_sets[at]._replace(pods=pods))

                _lowered(trial, ask.name, spec.pods, 1, made)


def _smaller_pods(trial: _Trial) -> None:
    """Less of each resource in a pod; none of it at all where that still breaks it."""
    for ask in trial.best.asks:
        if trial.keeps(ask):
            continue
        for at, spec in enumerate(ask.shape.pod_sets):
            for resource, amount in sorted(spec.requests.items()):

                def made(value: int, at: int = at, resource: str = resource) -> Callable[[Ask], Ask]:
                    return lambda a: _resized(a, at, _asking(a.shape.pod_sets[at], resource, value))

                if len(spec.requests) > 1 and trial.take(_changed(trial.best, ask.name, made(0))):
                    continue
                if amount <= 4096:  # bytes and the like are not made rounder by halving
                    _lowered(trial, ask.name, amount, 1, made)


def _asking(spec: PodSet, resource: str, value: int) -> PodSet:
    requests = {r: v for r, v in spec.requests.items() if r != resource}
    if value:
        requests[resource] = value
    return spec._replace(requests=requests)


def _sooner(trial: _Trial) -> None:
    """Moves as early as they can be: all gaps of cycles closed at once, else one by one, with all that comes after."""
    cycles = sorted({move.cycle for move in trial.best.moves})
    rank = {cycle: n for n, cycle in enumerate(cycles, 1)}
    trial.take(trial.best._replace(moves=tuple(m._replace(cycle=rank[m.cycle]) for m in trial.best.moves)))
    for at in range(len(trial.best.moves)):
        before = trial.best.moves[at - 1].cycle if at else 1
        low, high = 0, trial.best.moves[at].cycle - before
        while low < high:
            middle = (low + high) // 2
            if trial.take(_earlier(trial.best, at, high - middle)):
                high = middle
            else:
                low = middle + 1


def _earlier(scenario: Scenario, at: int, by: int) -> Scenario:
    """The same with everything from move ``at`` on so many cycles earlier."""
    moves = [m._replace(cycle=m.cycle - by) if n >= at else m for n, m in enumerate(scenario.moves)]
    return scenario._replace(moves=tuple(moves))
