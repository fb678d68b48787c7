"""Pod preemption of the default scheduler: one node, pods of lower priority only, as few as it takes.

Source: Kubernetes documentation, "Pod Priority and Preemption". For every node on which taints, selectors
and affinity to other pods are no obstacle, all pods of lower priority are thought away; if the pod then fits, as
many of them as possible stay, the more important and the longer running first. Of the nodes the one is taken
whose most important victim is the least important; then the least sum of priorities, the fewest victims, and
the most important victim that started last.

Left out: PodDisruptionBudgets (the scheduler tries to honour them and may not), nominations of other pods,
and that a real scheduler looks at a sample of nodes on large clusters. Gangs are not known to it: one pod
of a gang may be taken, which stops all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from policycheck.model.workload import PodSet
from policycheck.simulate.placement import Ground
from policycheck.systems.core.scheduler.crowd import Kind
from policycheck.systems.core.scheduler.placer import NodePlacer, Pods, Spot
from policycheck.systems.core.scheduler.shape import Shape
from policycheck.systems.core.scheduler.social import barriers

# The priority of a job's pods.
PriorityOf = Callable[[str, PodSet], int]
_MOST_BOOKS = 64


class Victim(NamedTuple):
    """One pod that has to go, of the ``part``-th podset of a job."""

    job: str
    part: int
    priority: int
    spot: Spot


class Preemption(NamedTuple):
    """A node on which the pod fits once the victims are gone; the least important victim first."""

    node: str
    victims: tuple[Victim, ...]

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs that lose pods, sorted."""
        return tuple(sorted({v.job for v in self.victims}))


Cost = tuple[int, int, int, int]


class _Option(NamedTuple):
    """What it costs to make room on a node: nodes are compared by it, and of equal ones the first is taken."""

    cost: Cost
    node: int
    victims: tuple[Victim, ...]


def preempt(
    placer: NodePlacer,
    shape: Shape,
    priority: int,
    priority_of: PriorityOf,
    spared: frozenset[str] = frozenset(),
) -> Preemption | None:
    """Who has to make room for one pod of ``shape``; None when nobody can. Nothing changes.

    ``spared`` are jobs whose pods stay in any case. Pods whose preemptionPolicy is Never must not ask.
    """
    options = (
        _option(placer, shape, n, _lower(placer, n, priority, priority_of, spared))
        for n in range(len(placer.ground.nodes))
    )
    return _chosen(placer, min((one for one in options if one is not None), default=None))


def _chosen(placer: NodePlacer, option: _Option | None) -> Preemption | None:
    return Preemption(placer.ground.nodes[option.node].name, option.victims) if option is not None else None


class Preemptor:
    """Asks ``preempt`` for many pods: for each shape and priority, nodes are looked at again only when they
    changed.
    """

    __slots__ = ("_books", "_placer", "_priority_of")

    def __init__(self, placer: NodePlacer, priority_of: PriorityOf) -> None:
        self._placer, self._priority_of = placer, priority_of
        self._books: dict[object, _Book] = {}

    def find(self, shape: Shape, priority: int) -> Preemption | None:
        """As ``preempt``."""
        placer = self._placer
        if shape.is_social or placer.crowd.social:  # then other nodes count too
            return preempt(placer, shape, priority, self._priority_of)
        key = (shape.key, priority)
        book = self._books.get(key)
        if book is None:
            if len(self._books) >= _MOST_BOOKS:
                self._books.clear()
            book = self._books[key] = _Book()
        for n in book.changed(placer.ground):
            lower = _lower(placer, n, priority, self._priority_of, frozenset())
            book.note(n, _option(placer, shape, n, lower))
        return _chosen(placer, min(book.options.values(), default=None))


class _Book:
    """The options of one shape and priority, by node."""

    __slots__ = ("_version", "options")

    def __init__(self) -> None:
        self._version = (-1, 0)
        self.options: dict[int, _Option] = {}

    def changed(self, ground: Ground) -> Iterable[int]:
        """The nodes that changed since this was asked last; all at first."""
        epoch, at = self._version
        self._version = ground.version
        if epoch != ground.epoch:
            self.options = {}
            return range(len(ground.nodes))
        return dict.fromkeys(ground.log[at:])

    def note(self, n: int, option: _Option | None) -> None:
        """What it costs on node ``n`` now."""
        if option is None:
            self.options.pop(n, None)
        else:
            self.options[n] = option


def _lower(
    placer: NodePlacer, n: int, priority: int, priority_of: PriorityOf, spared: frozenset[str]
) -> list[Victim]:
    """Pods of lower priority on node ``n``, the most important first, of equal ones the longest there."""
    found = []
    for job, index, spot in placer.there[n].values():
        if job not in spared:
            own = priority_of(job, placer.held[job].parts[index].set.spec)
            if own < priority:
                found.append(Victim(job, index, own, spot))
    found.sort(key=lambda v: (-v.priority, v.spot.turn))
    return found


def _option(placer: NodePlacer, shape: Shape, n: int, lower: list[Victim]) -> _Option | None:
    """The least that has to go from node ``n``; None when it is no place even without all of them."""
    if not lower or placer.ground.closed[n] or shape.reach.grade[n] < 0:
        return None
    chosen = _fewest(placer, shape, n, lower)
    return _Option(_cost(chosen), n, tuple(reversed(chosen))) if chosen else None


def _fewest(placer: NodePlacer, shape: Shape, n: int, order: list[Victim]) -> list[Victim]:
    """The victims of ``order`` on node ``n``; none when it is no place even without all of them."""
    if not _fits(placer, shape, n, order):
        return []
    gone = list(order)
    for victim in order:
        rest = [v for v in gone if v is not victim]
        if _fits(placer, shape, n, rest):
            gone = rest
    return gone


def _fits(placer: NodePlacer, shape: Shape, n: int, gone: Sequence[Victim]) -> bool:
    """Whether the pod could go to node ``n`` if these pods were gone."""
    ground, crowd = placer.ground, placer.crowd
    state = ground.without(n, [(v.spot.shape.load, v.spot.taken) for v in gone])
    if not ground.has_room(state, shape.load):
        return False
    if not shape.is_social and not crowd.social:
        return True
    kinds = [v.spot.shape.kind for v in gone]
    _count(placer, kinds, n, -1)
    try:
        return all(wall.passes(n) for wall in barriers(ground, crowd, shape))
    finally:
        _count(placer, kinds, n, 1)


def _count(placer: NodePlacer, kinds: Iterable[Kind], n: int, pods: int) -> None:
    for kind in kinds:
        placer.crowd.count(kind, n, pods)


def _cost(victims: Sequence[Victim]) -> Cost:
    """What the nodes are compared by; the least is taken."""
    highest = victims[0].priority
    first = min(v.spot.turn for v in victims if v.priority == highest)
    # Each victim counts, however low its priority: the sum is of how far they are above the least there is.
    total = sum(v.priority + 2**31 for v in victims)
    return highest, total, len(victims), -first


def evict(placer: NodePlacer, victims: Iterable[Victim]) -> None:
    """Take the victims that are still there off their nodes; their jobs wait with what is left of them."""
    turns: dict[tuple[str, int], set[int]] = {}
    for victim in victims:
        turns.setdefault((victim.job, victim.part), set()).add(victim.spot.turn)
    for (job, index), gone in turns.items():
        if job not in placer.held:
            continue
        part: Pods = placer.held[job].parts[index]
        for at in range(len(part.on) - 1, -1, -1):
            if part.on[at].turn in gone:
                placer.leave(part, at)
                placer.short[job] = None
