"""The default scheduler as a Placer: pods one by one, each where it scores highest; gangs may start in part.

    placer = NodePlacer(inventory.nodes, devices_of=devices_of, profile=DEFAULT)
    placed = placer.place("team/job", sets, draw)      # whole or in part, with the words for what waits
    placed = placer.fill("team/job")                   # None: no room for any more of it
    placer.free("team/job")
    placer.down("node-1"), placer.up("node-1")
    placer.total(resource), placer.unused(resource), placer.measures()
    placer.fork()

``measure`` is called by ``measures()`` with the ground. Pods of a podset are alike, so that once one finds
no room the rest of it waits as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from policycheck.model.inventory import Node
from policycheck.simulate.device import Taken
from policycheck.simulate.draw import Draw, mixed
from policycheck.simulate.placement import DevicesOf, Ground
from policycheck.simulate.placer import Placed, Set, SetPlaced, Where
from policycheck.systems.core.scheduler.choose import Chooser
from policycheck.systems.core.scheduler.crowd import Crowd
from policycheck.systems.core.scheduler.score import DEFAULT, SHADOWS, Profile
from policycheck.systems.core.scheduler.shape import Shape, Shapes

Measure = Callable[[Ground], Mapping[str, int]]
# Which of the nodes that score alike: a position among so many.
Tie = Callable[[int], int]


class Spot(NamedTuple):
    """One pod on a node. ``turn`` grows with every pod that is placed: lower is longer there."""

    node: int
    shape: Shape
    taken: Taken
    turn: int


class Pods:
    """The pods of one podset that are on nodes, the latest last. ``refused`` is the shape of the pod that found
    no room; ``why`` says it where nodes are no more as they were then.
    """

    __slots__ = ("index", "job", "on", "refused", "set", "shape", "why")

    def __init__(self, job: str, index: int, given: Set, shape: Shape) -> None:
        self.job, self.index = job, index
        self.set, self.shape = given, shape
        self.on: list[Spot] = []
        self.refused: Shape | None = None
        self.why = ""

    def copy(self) -> Pods:
        """An independent copy."""
        made = Pods(self.job, self.index, self.set, self.shape)
        made.on, made.refused, made.why = list(self.on), self.refused, self.why
        return made


class Held:
    """One job: its podsets in order."""

    __slots__ = ("draw", "parts", "together")

    def __init__(self, parts: list[Pods], draw: int, *, together: bool) -> None:
        self.parts, self.draw, self.together = parts, draw, together

    @property
    def waiting(self) -> int:
        """Pods without a node."""
        return sum(part.set.pods - len(part.on) for part in self.parts)

    @property
    def running(self) -> int:
        """Pods on nodes."""
        return sum(len(part.on) for part in self.parts)


class NodePlacer:
    """Nodes with the pods of jobs on them. Raises ValueError for a job or node that it does not know, and
    for one that is placed twice.
    """

    __slots__ = ("_measure", "_turn", "choose", "crowd", "ground", "held", "shapes", "short", "there")

    def __init__(
        self,
        nodes: Iterable[Node],
        *,
        devices_of: DevicesOf | None = None,
        profile: Profile = DEFAULT,
        measure: Measure | None = None,
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """``namespaces`` are their labels, for pod affinity that selects namespaces."""
        self.ground = Ground(nodes, devices_of, SHADOWS)
        self.crowd = Crowd(self.ground.nodes, namespaces)
        self.choose = Chooser(self.ground, self.crowd, profile)
        self.shapes = Shapes(self.ground)
        self.held: dict[str, Held] = {}
        self.short: dict[str, None] = {}  # jobs with pods that wait
        # Pods by node, by turn: the job, which of its podsets, and the spot.
        self.there: list[dict[int, tuple[str, int, Spot]]] = [{} for _ in self.ground.nodes]
        self._measure = measure
        self._turn = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What is assumed about the nodes, each a sentence."""
        return self.ground.notes

    # Jobs

    def place(
        self, job: str, sets: Sequence[Set], draw: int, *, together: bool = False, tie: Tie | None = None
    ) -> Placed:
        """Place what can be placed; ``together``: all pods or none. ``tie`` decides instead of ``draw``."""
        held = self.wait(job, sets, draw, together=together)
        self._go_on(job, held, tie or Draw(draw).below)
        return self._placed(held)

    def wait(self, job: str, sets: Sequence[Set], draw: int, *, together: bool = False) -> Held:
        """Take the job on without placing any of it: ``fill`` does."""
        if job in self.held:
            raise ValueError(f"{job} is placed already; free it first")
        namespace = job.partition("/")[0]
        parts = [
            Pods(job, n, one, self.shapes.of(one.spec, namespace, one.models, one.milli))
            for n, one in enumerate(sets)
        ]
        held = self.held[job] = Held(parts, draw, together=together)
        self.short[job] = None
        return held

    def fill(self, job: str) -> Placed | None:
        """Try the pods of ``job`` that wait once more; None when none of them fits."""
        held = self._of(job)
        before = held.running
        if held.waiting:
            self._go_on(job, held, Draw(mixed(held.draw) + before).below)
        return self._placed(held) if held.running > before else None

    def free(self, job: str) -> None:
        """The job's pods are gone."""
        held = self._of(job)
        for part in held.parts:
            while part.on:
                self.leave(part, len(part.on) - 1)
        del self.held[job]
        self.short.pop(job, None)

    def _of(self, job: str) -> Held:
        found = self.held.get(job)
        if found is None:
            raise ValueError(f"{job} is not placed here; {len(self.held)} jobs are")
        return found

    def _go_on(self, job: str, held: Held, tie: Tie) -> None:
        """Place what waits; with ``together`` take it all back when anything still does."""
        before = [len(part.on) for part in held.parts]
        for part in held.parts:
            part.refused, part.why = None, ""
        for part in held.parts:
            for shape in self._fixed(part):
                self._next(part, shape, tie)
            while len(part.on) < part.set.pods and part.refused is None:
                self._next(part, part.shape, tie)
            if part.refused is not None and held.together:
                self._take_back(held, before, self.choose.refusal(part.refused))
                return
        if not held.waiting:
            self.short.pop(job, None)

    def _take_back(self, held: Held, before: Sequence[int], why: str) -> None:
        for part, kept in zip(held.parts, before, strict=True):
            while len(part.on) > kept:
                self.leave(part, len(part.on) - 1)
            part.why = why

    def _next(self, part: Pods, shape: Shape, tie: Tie) -> None:
        """Put one more pod of a podset where it scores highest, if any node has room."""
        among = self.choose.candidates(shape)
        if not among:
            part.refused = shape
            return
        self.enter(part, shape, among[0] if len(among) == 1 else among[tie(len(among))])

    def _fixed(self, part: Pods) -> Iterator[Shape]:
        """Shapes of the pods whose nodes were chosen already and that are not there yet."""
        left: dict[str, int] = {}
        for name, pods in part.set.fixed:
            n = self.ground.where.get(name)
            real = self.ground.nodes[n].name if n is not None else name
            left[real] = left.get(real, 0) + pods
        for spot in part.on:
            name = self.ground.nodes[spot.node].name
            left[name] = left.get(name, 0) - 1
        namespace = part.shape.kind.namespace
        given = part.set
        return (
            self.shapes.of(given.spec, namespace, given.models, given.milli, name)
            for name, pods in left.items()
            for _ in range(pods)
        )

    def enter(self, part: Pods, shape: Shape, n: int) -> None:
        """Put a pod on node ``n``, which has room."""
        taken = self.ground.put(n, shape.load, self.choose.profile.pick)
        if taken is None:
            raise ValueError(f"{self.ground.nodes[n].name} has no room for a pod that was sent there")
        self.crowd.count(shape.kind, n, 1)
        self._turn += 1
        spot = Spot(n, shape, taken, self._turn)
        part.on.append(spot)
        self.there[n][self._turn] = part.job, part.index, spot

    def leave(self, part: Pods, at: int) -> None:
        """Take the pod at a position of ``part.on`` off its node."""
        spot = part.on.pop(at)
        del self.there[spot.node][spot.turn]
        self.ground.back(spot.node, spot.shape.load, spot.taken)
        self.crowd.count(spot.shape.kind, spot.node, -1)

    # Nodes

    def down(self, node: str) -> Sequence[str]:
        """The node is lost: the jobs with pods on it, sorted, which still have to be freed."""
        n = self._node(node)
        self.ground.close(n)
        return sorted({job for job, _, _ in self.there[n].values()})

    def up(self, node: str) -> None:
        """The node is usable again, or from now on when an elastic pool adds it."""
        self.ground.open(self._node(node))

    def _node(self, name: str) -> int:
        n = self.ground.where.get(name)
        if n is None:
            raise ValueError(f"no node is called {name!r}; there are {len(self.ground.nodes)}")
        return n

    # What there is

    def total(self, resource: str) -> int:
        """What usable nodes have of ``resource``, net of what was committed from the start."""
        return self.ground.total(resource)

    def unused(self, resource: str) -> int:
        """What of it nobody uses."""
        return self.ground.unused(resource)

    def measures(self) -> Mapping[str, int]:
        """What ``measure`` says of the ground; nothing without one."""
        return self._measure(self.ground) if self._measure is not None else {}

    def placed(self, job: str) -> Placed:
        """Where the pods of ``job`` are."""
        return self._placed(self._of(job))

    def places(self) -> list[tuple[str, list[list[tuple[object, ...]]]]]:
        """Every job with the nodes and devices of its pods, in an order of its own: equal for equal places."""
        return [
            (job, [sorted((s.node, *map(tuple, s.taken)) for s in part.on) for part in held.parts])
            for job, held in sorted(self.held.items())
        ]

    def _placed(self, held: Held) -> Placed:
        return Placed(tuple(self._set(part) for part in held.parts))

    def _set(self, part: Pods) -> SetPlaced:
        pods: dict[str, int] = {}
        nodes = self.ground.nodes
        for spot in part.on:
            name = nodes[spot.node].name
            pods[name] = pods.get(name, 0) + 1
        waiting = part.set.pods - len(part.on)
        why = part.why
        if waiting and not why and part.refused is not None:
            why = self.choose.refusal(part.refused)
        where: Where = tuple(sorted(pods.items()))
        return SetPlaced(part.set.spec.name, where, waiting, why if waiting else "")

    def fork(self) -> NodePlacer:
        """An independent copy."""
        made = NodePlacer.__new__(NodePlacer)
        made.ground, made.crowd = self.ground.fork(), self.crowd.fork()
        made.choose = Chooser(made.ground, made.crowd, self.choose.profile)
        made.shapes = self.shapes.on(made.ground)
        made.short = dict(self.short)
        made.there = [dict(pods) for pods in self.there]
        made.held = {
            job: Held([part.copy() for part in held.parts], held.draw, together=held.together)
            for job, held in self.held.items()
        }
        made._measure, made._turn = self._measure, self._turn  # noqa: SLF001 - of one's own copy
        return made
