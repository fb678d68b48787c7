"""Who displaces whom: what policies allow, and whether it comes to it when it is played.

The policies of every pair of queues are gone through cell by cell, so what they forbid is proven. What they
allow is tried: the victim runs, with others beside it that would rather have to go, and the taker asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from policycheck.certify.arena import SUBMIT, Arena, Ask, Move, Scenario, Story
from policycheck.certify.attack import Mix, fill, grown, plain, rivals, settled
from policycheck.certify.promise import Shape
from policycheck.simulate.matrix import Rank, allows
from policycheck.simulate.scheduler import Grant

Class = tuple[str, int]  # name, value
VICTIM, TAKER = "victim-", "taker-"
_SEVERAL = 2


class Cell(NamedTuple):
    """By policy, a workload of class ``taking`` in ``taker`` may displace one of class ``losing`` in ``holder``."""

    taker: str
    holder: str
    taking: Class
    losing: Class
    situation: str
    reason: str


def cells(arena: Arena, pairs: Iterable[tuple[Class, Class]], holders: Iterable[str]) -> Iterator[Cell]:
    """All cells that policies allow for these (taking, losing) classes, for victims in ``holders``."""
    wanted = list(pairs)
    for holder in holders:
        for taker in (holder, *arena.peers(holder)):
            ways = arena.rights.may_take(taker, holder)
            for situation, taking in sorted(ways.items()):
                known: set[tuple[str, bool]] = set()  # relations that no policy tells apart are tried once
                for one, other in wanted:
                    ranks = (Rank(one[1], other[1], True), Rank(one[1], other[1], False))
                    alike = (ranks[1].relation, taking.at_most is not None and other[1] > taking.at_most)
                    if alike not in known and any(allows(taking, rank) for rank in ranks):
                        known.add(alike)
                        yield Cell(taker, holder, one, other, situation, taking.reason)


class Stage:
    """Scenarios for cells of one scope."""

    def __init__(self, arena: Arena, shapes: Mapping[str, Sequence[Shape]]) -> None:
        self.arena, self.shapes = arena, shapes

    def scenarios(self, cell: Cell, *, within: bool) -> Iterator[Scenario]:
        """The victim runs (``within`` its queue's own quota, else beyond it); then the taker asks."""
        for resource in self._resources(cell):
            own = self._own(cell.holder, resource)
            most = self._most(cell.holder, resource)
            amounts = [own, -(-own // _SEVERAL)] if within else [most, own + 1]
            for amount in dict.fromkeys(a for a in amounts if 0 < a <= most):
                for parts in (1, _SEVERAL):
                    yield from self._played(cell, resource, amount, parts)

    def _resources(self, cell: Cell) -> list[str]:
        shared = [r for _, r in self.arena.rights.resources(cell.holder)]
        asked = {r for _, r in self.arena.rights.resources(cell.taker)}
        both = [r for r in dict.fromkeys(shared) if r in asked]
        return [r for r in both if r in self.arena.accelerators] or both[:1]

    def _own(self, queue: str, resource: str) -> int:
        return sum(v for (_, r), v in self.arena.nominal(queue).items() if r == resource)

    def _most(self, queue: str, resource: str) -> int:
        pairs = [pair for pair in self.arena.rights.resources(queue) if pair[1] == resource]
        return min(sum(min(self.arena.rights.potential(queue, *pair), 1 << 32) for pair in pairs), 1 << 32)

    def _played(self, cell: Cell, resource: str, amount: int, parts: int) -> Iterator[Scenario]:
        victims = self._several(VICTIM, cell.holder, resource, amount, parts, cell.losing)
        if not victims:
            return
        filler = rivals(self.arena, [cell.taker], self.shapes)
        lowest = min([*self.arena.classes.items(), ("", 0)], key=lambda c: (c[1], c[0]))
        beside = fill(self.arena, [r for r in filler if r.queue != cell.taker], Mix("beside", 0, (lowest,)))
        holder_too = self._beside(cell, resource, amount, lowest)
        own = max(1, self._own(cell.taker, resource))
        asks = {own, max(1, own // _SEVERAL), min(self._most(cell.taker, resource), own + 1)}
        for others in ([], [*holder_too], [*holder_too, *[a for a in beside if a.queue != cell.holder]]):
            for ask in sorted(asks, reverse=True):
                made = self._scenario(cell, resource, victims, others, ask)
                yield made
                if cell.taking[1] == cell.losing[1] and cell.taker == cell.holder:
                    yield _older(made)  # of equals only the newer ones are taken

    def _several(
        self, name: str, queue: str, resource: str, amount: int, parts: int, as_class: Class
    ) -> list[Ask]:
        if amount < parts:
            return []
        found = []
        for n in range(parts):
            share = amount // parts + (1 if n < amount % parts else 0)
            shape = grown(plain(resource, 1, {}, f"{name}{n + 1}"), share)
            found.append(Ask(f"{name}{n + 1}", queue, shape, as_class[1], as_class[0], age=n))
        return found

    def _beside(self, cell: Cell, resource: str, amount: int, lowest: Class) -> list[Ask]:
        """What else the victim's queue holds: of the lowest class, all that it can still get."""
        rest = self._most(cell.holder, resource) - amount
        return self._several("beside-", cell.holder, resource, rest, 1, lowest) if rest > 0 else []

    def _scenario(
        self, cell: Cell, resource: str, victims: Sequence[Ask], others: Sequence[Ask], amount: int
    ) -> Scenario:
        late = [ask._replace(age=100 + n) for n, ask in enumerate(others)]
        asks = self._several(TAKER, cell.taker, resource, amount, 1, cell.taking)
        at = 1 + settled(victims)
        then = at + settled(late) if late else at
        moves = [Move(1, SUBMIT, tuple(victims))]
        if late:
            moves.append(Move(at, SUBMIT, tuple(late)))
        moves.append(Move(then, SUBMIT, tuple(ask._replace(age=5000) for ask in asks)))
        return Scenario(tuple(moves), cycles=then + 12)


def _older(scenario: Scenario) -> Scenario:
    """The same with takers that were created before everything else."""
    moves = [
        m._replace(
            asks=tuple(a._replace(age=a.age + 10 if not a.name.startswith(TAKER) else 0) for a in m.asks)
        )
        for m in scenario.moves
    ]
    return scenario._replace(moves=tuple(moves))


def taken(
    scenario: Scenario,
    story: Story,
    is_wrong: Callable[[Class, Class], bool],
    counts: Callable[[Mapping[str, Grant]], bool],
) -> str:
    """In words, the first eviction for which ``is_wrong`` (taking class, losing class); "" without one.

    ``counts`` is asked about what the victims held when it happened.
    """
    asks = {ask.name: ask for ask in scenario.asks}
    held: dict[str, Grant] = {}
    for event in story.happened:
        if event.grant is not None and event.name.startswith(VICTIM):
            held[event.name] = event.grant
        if event.what != "evicted" or event.by not in asks or event.name not in asks:
            continue
        taker, victim = asks[event.by], asks[event.name]
        wrong = is_wrong((taker.priority_class, taker.priority), (victim.priority_class, victim.priority))
        if wrong and counts(held):
            return (
                f"{victim.name} of {victim.queue} ({_called(victim)}) is evicted for {taker.name} of "
                f"{taker.queue} ({_called(taker)}): {event.reason}"
            )
        held.pop(event.name, None)
    return ""


def _called(ask: Ask) -> str:
    return ask.priority_class or f"priority {ask.priority}"
