"""Scenarios played cycle by cycle. What several have in common from the start is played once: a session is left
where they part, and each goes on from a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from policycheck.certify.arena import FINISH, RESUME, STOP, SUBMIT, Ask, Happened, Move, Scenario
from policycheck.certify.promise import Shape
from policycheck.model.inventory import Node
from policycheck.systems.kueue import read
from policycheck.systems.kueue.arena import write
from policycheck.systems.kueue.arena.entrance import Entrance
from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler.moment import NANOS, moment
from policycheck.systems.kueue.scheduler.run import Course, Event, Run, until_stable
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.shape import spec_key

START = moment(write.time_of(86_399)) + NANOS
_MOST_SCENES = 32
_MOST_SHAPES = 20_000

Key = tuple[object, ...]


class Scene(NamedTuple):
    """A scenario as far as it was played."""

    session: Session
    course: Course
    stopped: list[Happened]  # evictions of queues that were stopped

    def copy(self) -> Scene:
        """An independent copy."""
        return Scene(self.session.fork(), self.course.copy(), list(self.stopped))


class Cut(NamedTuple):
    """Before cycle ``cycle``, in which move number ``moves`` is made: where a scenario may part from others that
    were the same until then. Equal keys mean equal scenes.
    """

    key: Key
    cycle: int
    moves: int


class Theatre:
    """Plays scenarios of one scope. ``cycles`` counts those that were decided."""

    def __init__(self, opening: Opening, doors: Mapping[str, Entrance]) -> None:
        self._opening, self._doors = opening, doors
        self._spaces = sorted({door.namespace for door in doors.values()})
        self._sessions: dict[tuple[str, ...], Session] = {}
        self._scenes: dict[Key, Scene] = {}
        self._seen: set[Key] = set()  # cuts at which nothing was left behind
        self._made: dict[Key, KueueWorkload] = {}
        self._shapes: dict[Key, int] = {}
        self._numbers: dict[int, tuple[Shape, int]] = {}  # by identity, for which the shape is kept
        self.cycles = 0

    def played(self, scenario: Scenario) -> tuple[Session, Run, list[Happened]]:
        """The session at the end, what happened, and who was evicted since a queue was stopped."""
        cuts = list(self._cuts(scenario))
        scene, done = self._latest(cuts, scenario)
        at = cuts[done - 1].moves if done else 0
        for cut in cuts[done:]:
            if not self._is_worth(cut):
                continue
            self._on(scene, scenario.moves[at : cut.moves], cut.cycle, pause=cut.cycle)
            self._keep(cut.key, scene.copy())
            at = cut.moves
        run = self._on(scene, scenario.moves[at:], scenario.cycles)
        return scene.session, run, scene.stopped

    def _cuts(self, scenario: Scenario) -> Iterator[Cut]:
        """Before each cycle in which something happens; nowhere when moves are out of order."""
        cycles = [move.cycle for move in scenario.moves]
        if cycles != sorted(cycles) or not cycles or cycles[-1] > scenario.cycles:
            return
        key: Key = tuple(sorted(set(scenario.lost)))
        for n, move in enumerate(scenario.moves):
            if n and move.cycle > cycles[n - 1]:
                yield Cut((key, move.cycle), move.cycle, n)
            key = (key, move.cycle, move.what, move.names, tuple(map(self._key, move.asks)))

    def _key(self, ask: Ask) -> Key:
        return ask.name, ask.queue, self._number(ask.shape), ask.priority, ask.priority_class, ask.age

    def _number(self, shape: Shape) -> int:
        """Equal for shapes that are written alike."""
        found = self._numbers.get(id(shape))
        if found is None:
            if len(self._numbers) > _MOST_SHAPES:
                self._numbers.clear()
            key = (shape.limit, *(spec_key(spec, spec.pods) for spec in shape.pod_sets))
            found = self._numbers[id(shape)] = shape, self._shapes.setdefault(key, len(self._shapes))
        return found[1]

    def _latest(self, cuts: Sequence[Cut], scenario: Scenario) -> tuple[Scene, int]:
        """The scene that is furthest on the way, and how many cuts lie behind it."""
        for done in range(len(cuts), 0, -1):
            key = cuts[done - 1].key
            found = self._scenes.pop(key, None)
            if found is not None:
                self._scenes[key] = found  # used last
                return found.copy(), done
        return Scene(self._session(scenario.lost).fork(), Course(), []), 0

    def _is_worth(self, cut: Cut) -> bool:
        """Whether to leave a scene there: where a story was before, another may come too."""
        if cut.key in self._seen:
            self._seen.discard(cut.key)
            return True
        if len(self._seen) > _MOST_SHAPES:
            self._seen.clear()
        self._seen.add(cut.key)
        return False

    def _keep(self, key: Key, scene: Scene) -> None:
        if len(self._scenes) >= _MOST_SCENES:
            del self._scenes[next(iter(self._scenes))]
        self._scenes[key] = scene

    def _on(self, scene: Scene, moves: Sequence[Move], most: int, pause: int = 0) -> Run:
        events: dict[int, list[Event]] = {}
        for move in moves:
            events.setdefault(move.cycle, []).append(self._event(move, scene.stopped))
        before = scene.course.ran
        run = until_stable(
            scene.session, START, most, events, stop_at_loop=True, course=scene.course, pause=pause
        )
        self.cycles += run.ran - before
        return run

    def _session(self, lost: tuple[str, ...]) -> Session:
        key = tuple(sorted(set(lost)))
        found = self._sessions.get(key)
        if found is None:
            opening = self._opening
            if key and opening.nodes is not None:
                opening = opening._replace(nodes=without(opening.nodes, key))
            found = self._sessions[key] = opening.session()
            found.explaining = False  # a story tells what was decided
        return found

    def _event(self, move: Move, stopped: list[Happened]) -> Callable[[Session], None]:
        made = [self._workload(ask) for ask in move.asks]
        names = self._ids(move.names)

        def happen(session: Session) -> None:
            if move.what == SUBMIT:
                session.offer(made)
            elif move.what == FINISH:
                session.release([name for name in names if name in session.items])
            elif move.what in (STOP, RESUME):
                policy = "HoldAndDrain" if move.what == STOP else "None"
                for queue in move.names:
                    turns = session.stop(queue, policy, session.now)
                    stopped.extend(
                        Happened(move.cycle, "evicted", name_of(turn.workload), queue, turn.reason)
                        for turn in turns
                    )
                session.settle()

        return happen

    def _ids(self, names: Iterable[str]) -> list[str]:
        return [f"{space}/{name}" for name in names for space in self._spaces]

    def _workload(self, ask: Ask) -> KueueWorkload:
        """The workload as it is read back; those of one shape in one queue are read once."""
        key = (ask.queue, ask.priority, ask.priority_class, self._number(ask.shape))
        found = self._made.get(key)
        if found is None:
            door = self._doors[ask.queue]
            found = self._made[key] = read.workload(write.workload(ask, door.namespace, door.name), [])
        return found._replace(name=ask.name, uid=ask.name, created=write.time_of(ask.age))


def name_of(workload: str) -> str:
    """The name of the Ask that a workload was made of."""
    return workload.rpartition("/")[2]


def without(nodes: Sequence[Node], lost: Iterable[str]) -> tuple[Node, ...]:
    """The nodes less those lost; of a record of many machines each mention takes one."""
    gone: dict[str, int] = {}
    for name in lost:
        gone[name] = gone.get(name, 0) + 1
    left = []
    for node in nodes:
        machines = node.machines - gone.get(node.name, 0)
        if machines > 0:
            left.append(
                node if machines == node.machines else node._replace(machines=machines, most=machines)
            )
    return tuple(left)
