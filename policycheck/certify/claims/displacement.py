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
_FEW = 50  # pairs of queues that differ in amounts alone: all of them are played
_PAIRS = 16  # of more than these


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


class Together(NamedTuple):
    """Which cells are played for which: ``chosen`` of ``pairs`` pairs of queues. ``twins`` are left out because another
    pair is the same but for names, ``amounts`` because others differ from it in nothing but amounts of quota.
    """

    cells: tuple[Cell, ...]
    pairs: int = 0
    chosen: int = 0
    twins: int = 0
    amounts: int = 0


def together(arena: Arena, found: Sequence[Cell]) -> Together:
    """The cells of every class of pairs of queues: policies decide who is taken, and stories are as large as the
    quota is. Of a class with many pairs those with the least and the most quota, and some between.
    """
    by_pair: dict[tuple[str, str], list[Cell]] = {}
    for cell in found:
        by_pair.setdefault((cell.taker, cell.holder), []).append(cell)
    kin = {queue: arena.kin(queue) for pair in by_pair for queue in pair}
    classes: dict[object, dict[object, tuple[str, str]]] = {}
    for (taker, holder), some in by_pair.items():
        relations = tuple((c.taking, c.losing, c.situation, c.reason) for c in some)
        of = kin[taker].policies, kin[holder].policies, taker == holder, relations
        classes.setdefault(of, {}).setdefault((kin[taker].amounts, kin[holder].amounts), (taker, holder))
    chosen = [pair for some in classes.values() for pair in _spread(arena, list(some.values()))]
    distinct = sum(map(len, classes.values()))
    return Together(
        tuple(cell for pair in by_pair if pair in set(chosen) for cell in by_pair[pair]),
        len(by_pair),
        len(chosen),
        len(by_pair) - distinct,
        distinct - len(chosen),
    )


def _spread(arena: Arena, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """All of a few; of many _PAIRS: the extremes of what they own and share first, then evenly between."""
    if len(pairs) <= _FEW:
        return list(pairs)
    owned = {queue: _accelerated(arena, queue) for pair in pairs for queue in pair}
    shared = {(a, b): len(owned[a].keys() & owned[b].keys()) for a, b in pairs}
    own = {queue: sum(some.values()) for queue, some in owned.items()}
    orders: tuple[Callable[[tuple[str, str]], tuple[int, ...]], ...] = (
        lambda pair: (own[pair[1]], own[pair[0]]),
        lambda pair: (own[pair[0]] - own[pair[1]],),
        lambda pair: (shared[pair], own[pair[0]]),
    )
    ends = [end(pairs, key=order) for order in orders for end in (min, max)]
    ranked = sorted(pairs, key=lambda pair: (*orders[0](pair), pair))
    between = [ranked[n * len(ranked) // _PAIRS] for n in range(_PAIRS)]
    return list(dict.fromkeys([*ends, *between]))[:_PAIRS]


def _accelerated(arena: Arena, queue: str) -> dict[tuple[str, str], int]:
    return {pair: amount for pair, amount in arena.nominal(queue).items() if pair[1] in arena.accelerators}


class Stage:
    """Scenarios for cells of one scope."""

    def __init__(self, arena: Arena, shapes: Mapping[str, Sequence[Shape]]) -> None:
        self.arena, self.shapes = arena, shapes
        self._lowest = min([*arena.classes.items(), ("", 0)], key=lambda c: (c[1], c[0]))
        self._filled: dict[str, list[Ask]] = {}  # by taker: what all others take at most

    def scenarios(self, cell: Cell, *, within: bool) -> Iterator[Scenario]:
        """The victim runs (``within`` its queue's own quota, else beyond it); then the taker asks."""
        for resource in self._resources(cell):
            own = self._own(cell.holder, resource)
            most = self._most(cell.holder, resource)
            # What is within the quota of its flavors is: of several flavors the largest holds it as one.
            amounts = [own, -(-own // _SEVERAL), self._largest(cell.holder, resource)]
            amounts = amounts if within else [most, own + 1]
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

    def _largest(self, queue: str, resource: str) -> int:
        return max(v for (_, r), v in self.arena.nominal(queue).items() if r == resource)

    def _most(self, queue: str, resource: str) -> int:
        pairs = [pair for pair in self.arena.rights.resources(queue) if pair[1] == resource]
        return min(sum(min(self.arena.rights.potential(queue, *pair), 1 << 32) for pair in pairs), 1 << 32)

    def _played(self, cell: Cell, resource: str, amount: int, parts: int) -> Iterator[Scenario]:
        victims = self._several(VICTIM, cell.holder, resource, amount, parts, cell.losing)
        if not victims:
            return
        beside = self._fill(cell.taker)
        holder_too = self._beside(cell, resource, amount, self._lowest)
        own = max(1, self._own(cell.taker, resource))
        asks = {own, max(1, own // _SEVERAL), min(self._most(cell.taker, resource), own + 1)}
        for others in ([], [*holder_too], [*holder_too, *[a for a in beside if a.queue != cell.holder]]):
            for ask in sorted(asks, reverse=True):
                made = self._scenario(cell, resource, victims, others, ask)
                yield made
                if cell.taking[1] == cell.losing[1] and cell.taker == cell.holder:
                    yield _older(made)  # of equals only the newer ones are taken

    def _fill(self, taker: str) -> list[Ask]:
        if taker not in self._filled:
            filler = rivals(self.arena, [taker], self.shapes)
            mix = Mix("beside", 0, (self._lowest,))
            self._filled[taker] = fill(self.arena, [r for r in filler if r.queue != taker], mix)
        return self._filled[taker]

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
