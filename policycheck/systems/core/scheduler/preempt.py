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
from policycheck.systems.core.scheduler.crowd import Kind
from policycheck.systems.core.scheduler.placer import NodePlacer, Pods, Spot
from policycheck.systems.core.scheduler.shape import Shape
from policycheck.systems.core.scheduler.social import barriers

# The priority of a job's pods.
PriorityOf = Callable[[str, PodSet], int]


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
    best: tuple[tuple[int, int, int, int], Preemption] | None = None
    for n, victims in sorted(_lower(placer, priority, priority_of, spared).items()):
        if placer.ground.closed[n] or shape.reach.grade[n] < 0:
            continue
        chosen = _fewest(placer, shape, n, victims)
        if not chosen:
            continue
        cost = _cost(chosen)
        if best is None or cost < best[0]:
            best = (cost, Preemption(placer.ground.nodes[n].name, tuple(reversed(chosen))))
    return best[1] if best is not None else None


class Preemptor:
    """Asks ``preempt`` for many pods; shapes for which nobody can make room are asked once a state of nodes."""

    __slots__ = ("_hopeless", "_placer", "_priority_of", "_version")

    def __init__(self, placer: NodePlacer, priority_of: PriorityOf) -> None:
        self._placer, self._priority_of = placer, priority_of
        self._hopeless: set[object] = set()
        self._version = (-1, -1)

    def find(self, shape: Shape, priority: int) -> Preemption | None:
        """As ``preempt``."""
        version = self._placer.ground.version
        if version != self._version:
            self._hopeless, self._version = set(), version
        key = (shape.key, priority)
        if key in self._hopeless:
            return None
        found = preempt(self._placer, shape, priority, self._priority_of)
        if found is None:
            self._hopeless.add(key)
        return found


def _lower(
    placer: NodePlacer, priority: int, priority_of: PriorityOf, spared: frozenset[str]
) -> dict[int, list[Victim]]:
    """Pods of lower priority by node."""
    found: dict[int, list[Victim]] = {}
    for job, held in placer.held.items():
        if job in spared:
            continue
        for index, part in enumerate(held.parts):
            own = priority_of(job, part.set.spec) if part.on else priority
            if own >= priority:
                continue
            for spot in part.on:
                found.setdefault(spot.node, []).append(Victim(job, index, own, spot))
    return found


def _fewest(placer: NodePlacer, shape: Shape, n: int, lower: list[Victim]) -> list[Victim]:
    """The victims on node ``n``, the most important first; () when it is no place even without all of them."""
    order = sorted(lower, key=lambda v: (-v.priority, v.spot.turn))
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


def _cost(victims: Sequence[Victim]) -> tuple[int, int, int, int]:
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
