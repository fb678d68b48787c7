"""Alike pods onto alike nodes, all of them at once: what the default scheduler comes to with pods that only look
at nodes, without going through every pod.

Nodes that no pod of a story can tell apart, in equal states, are one *kind*. While a kind scores highest each of its
nodes takes the same pods, so that all of them go to the same state together. Where several kinds score alike the
scheduler leaves it to chance; here the one goes first that was there first, in the order of nodes, so that a story
ends in the same way whatever was played before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush

from policycheck.model.workload import PodSet
from policycheck.simulate.placement import Load
from policycheck.systems.core.scheduler.choose import Chooser
from policycheck.systems.core.scheduler.placer import NodePlacer
from policycheck.systems.core.scheduler.reach import Reach
from policycheck.systems.core.scheduler.score import Scorer
from policycheck.systems.core.scheduler.shape import Shape

Batch = tuple[Shape, int]  # alike pods, and how many of them
_MOST_PARTITIONS = 256


def is_plain(shape: Shape) -> bool:
    """Whether such pods look at nodes alone, and like all nodes that they may go to alike."""
    return not shape.is_social and len(shape.reach.grades) <= 1


class Ways:
    """Marks of nodes: equal where none of some pods tells them apart. Made once for the same pods."""

    __slots__ = ("_reaches", "grades", "nodes")

    def __init__(self, reaches: Sequence[Reach]) -> None:
        self._reaches = reaches  # kept, since they are known by their identity
        numbers: dict[tuple[int, ...], int] = {}
        each = zip(*(reach.grade for reach in reaches), strict=True)
        self.nodes = [numbers.setdefault(grades, len(numbers)) for grades in each]  # mark by node
        # By reach: its grade of each mark.
        self.grades = {id(r): [grades[n] for grades in numbers] for n, r in enumerate(reaches)}


class Kinds:
    """How many nodes there are of each mark and state, by number: the earlier one was there, the lower."""

    __slots__ = ("many", "number", "states", "ways")

    def __init__(self, ways: Ways) -> None:
        self.ways = ways
        self.number: dict[tuple[int, int], int] = {}  # by mark and state
        self.states: list[tuple[int, int]] = []
        self.many: list[int] = []

    def add(self, mark: int, state: int, nodes: int) -> int:
        """So many nodes more; the number of their kind."""
        number = self.number.setdefault((mark, state), len(self.states))
        if number == len(self.states):
            self.states.append((mark, state))
            self.many.append(0)
        self.many[number] += nodes
        return number

    def copy(self) -> Kinds:
        """An independent copy."""
        made = Kinds(self.ways)
        made.number, made.states, made.many = dict(self.number), list(self.states), list(self.many)
        return made


class Alike:
    """The nodes of a placer that holds nothing, and is used for nothing else. ``steps`` counts how often a kind of
    nodes took pods, ``states`` how many states of nodes were made.
    """

    def __init__(self, placer: NodePlacer) -> None:
        self._placer, self._ground = placer, placer.ground
        self._score = Scorer(placer.ground, placer.choose.profile)
        self._scratch = placer.ground.fork()
        self._scores: dict[int, dict[int, int | None]] = {}  # by load and state; None: no room
        self._after: dict[tuple[int, int], int] = {}  # (load, state) with one pod more
        self._turns: dict[tuple[int, int], tuple[int, int]] = {}
        self._empty: dict[frozenset[int], Kinds] = {}
        self.steps = self.states = 0

    def shape(self, spec: PodSet, job: str) -> Shape:
        """What pods of the spec are to these nodes."""
        return self._placer.shapes.of(spec, job)

    def refused(self, jobs: Sequence[tuple[str, Sequence[Batch]]]) -> dict[str, Callable[[], str]]:
        """What says why, for every job of which pods wait. Jobs come one after another; those of their pods that
        have a node keep it. All shapes are plain (``is_plain``).
        """
        kinds = self._kinds([shape.reach for _, batches in jobs for shape, _ in batches])
        found: dict[str, Callable[[], str]] = {}
        for job, batches in jobs:
            waiting = [(shape, left) for shape, pods in batches if (left := self._put(kinds, shape, pods))]
            if waiting:
                every = sum(pods for _, pods in batches)
                pods = sum(left for _, left in waiting)
                found[job] = partial(self._words, kinds.copy(), waiting[0][0], f"{pods} of {every} pods wait")
        return found

    def _kinds(self, reaches: Sequence[Reach]) -> Kinds:
        """The nodes with nothing on them, as far as these can tell them apart."""
        key = frozenset(map(id, reaches))
        known = self._empty.get(key)
        if known is None:
            if len(self._empty) >= _MOST_PARTITIONS:
                del self._empty[next(iter(self._empty))]
            known = self._empty[key] = Kinds(Ways(list({id(r): r for r in reaches}.values())))
            for n, mark in enumerate(known.ways.nodes):
                if not self._ground.closed[n]:
                    known.add(mark, self._ground.state[n], 1)
        return known.copy()

    # -- placing --------------------------------------------------------------------------------

    def _put(self, kinds: Kinds, shape: Shape, pods: int) -> int:
        """Put pods where they score highest, for as long as they find room; how many do not."""
        load, grades = shape.load, kinds.ways.grades[id(shape.reach)]
        scores = self._scores.setdefault(load.number, {})
        heap: list[tuple[int, int]] = []
        for number, (mark, state) in enumerate(kinds.states):
            if kinds.many[number] and grades[mark] >= 0:
                score = self._scored(scores, load, state)
                if score is not None:
                    heap.append((-score, number))
        heapify(heap)
        queued = {number for _, number in heap}
        while pods and heap:
            _, number = heappop(heap)
            queued.discard(number)
            pods, end = self._turn(kinds, load, number, pods)
            for again in (number, end):
                score = self._scored(scores, load, kinds.states[again][1])
                if kinds.many[again] and again not in queued and score is not None:
                    heappush(heap, (-score, again))
                    queued.add(again)
        return pods

    def _turn(self, kinds: Kinds, load: Load, number: int, pods: int) -> tuple[int, int]:
        """The nodes of the kind that scores highest take pods, each until it scores no higher than it did: how many
        pods are left, and the kind that the nodes are of then.
        """
        self.steps += 1
        mark, state = kinds.states[number]
        each, end = self._until(load, state)
        nodes = min(kinds.many[number], pods // each)
        if not nodes:  # one of them takes what is left
            nodes, each, end = 1, pods, state
            for _ in range(pods):
                end = self._with(load, end)
        kinds.many[number] -= nodes
        return pods - nodes * each, kinds.add(mark, end, nodes)

    def _until(self, load: Load, state: int) -> tuple[int, int]:
        """How many pods a node takes in turn until it scores no higher than before the first, and its state then."""
        found = self._turns.get((load.number, state))
        if found is None:
            scores = self._scores[load.number]
            before = self._scored(scores, load, state)
            pods, end = 1, self._with(load, state)
            while (
                before is not None
                and (score := self._scored(scores, load, end)) is not None
                and score > before
            ):
                pods, end = pods + 1, self._with(load, end)
            found = self._turns[load.number, state] = pods, end
        return found

    def _with(self, load: Load, state: int) -> int:
        """The state with one pod more."""
        found = self._after.get((load.number, state))
        if found is None:
            self.states += 1
            self._scratch.state[0] = state
            self._scratch.put(0, load, self._placer.choose.profile.pick)
            found = self._after[load.number, state] = self._scratch.state[0]
        return found

    def _scored(self, scores: dict[int, int | None], load: Load, state: int) -> int | None:
        """The score of a node in that state; None when it has no room."""
        try:
            return scores[state]
        except KeyError:
            has_room = self._ground.has_room(state, load)
            found = scores[state] = self._score(state, load) if has_room else None
            return found

    def _words(self, kinds: Kinds, shape: Shape, what: str) -> str:
        """Why no node takes such a pod, as the default scheduler says it."""
        ground = self._ground.fork()
        left: dict[int, list[int]] = {}
        for (mark, state), nodes in zip(kinds.states, kinds.many, strict=True):
            left.setdefault(mark, []).extend([state] * nodes)
        for n, mark in enumerate(kinds.ways.nodes):
            if not ground.closed[n]:
                ground.state[n] = left[mark].pop()
        chooser = Chooser(ground, self._placer.crowd.fork(), self._placer.choose.profile)
        return f"{what}: {chooser.refusal(shape)}"
