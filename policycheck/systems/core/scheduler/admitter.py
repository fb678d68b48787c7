"""First come, first served as the event engine drives it: implements simulate.events.Admitter.

There is no quota: a job is let in as soon as any of its pods finds a node, and the engine's placer, which
is the one given here, puts its pods where they go; the rest of a gang waits on the nodes it holds. Jobs of
higher priority come first, then earlier ones; nobody is held up by who stands before it.

With ``preempting``, a pod that finds no room takes it from pods of lower priority on one node. The engine
knows jobs and no pods, so that a job that loses a pod stops as a whole and waits again: a training gang
does not go on without one of its pods. Services and jobs that would go on are dealt with too hard by that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policycheck.digest import sha256
from policycheck.model.workload import PodSet
from policycheck.simulate.draw import mixed
from policycheck.simulate.events import GIVES_UP, NEVER, Check, Entry, Patience, QueueFacts, Spread, Turn
from policycheck.simulate.job import Job
from policycheck.simulate.placer import Set, Where
from policycheck.simulate.scheduler import (
    PREEMPTING,
    RESERVED,
    Decision,
    Displaced,
    Explanation,
    Grant,
    SetGrant,
)
from policycheck.systems.core.scheduler.order import (
    NOTHING,
    PREEMPTED,
    UNSCHEDULABLE,
    Line,
    Priorities,
    Queue,
    sets_of,
)
from policycheck.systems.core.scheduler.placer import NodePlacer
from policycheck.systems.core.scheduler.preempt import Preemption, Preemptor
from policycheck.systems.core.scheduler.shape import Shape

Version = tuple[int, int]


def own_queue(job: Job) -> str:
    """The queue that the job names: metrics go by it though it decides nothing."""
    return job.queue


class FirstComeAdmitter:
    """Jobs without quota, on the nodes of ``placer``, which must be the engine's too.

    ``queues`` are names under which to count jobs, and ``queue_of`` says under which; no name limits anything.
    """

    preempted = PREEMPTED
    too_long = "DeadlineExceeded"  # reason of a Job's condition Failed (API reference, activeDeadlineSeconds)
    patience = Patience()

    def __init__(
        self,
        placer: NodePlacer,
        resource: str,
        *,
        queues: Sequence[str] = (),
        queue_of: Callable[[Job], str] = own_queue,
        priorities: Priorities | None = None,
        preempting: bool = False,
    ) -> None:
        self.resource = resource
        self.nominations = 0
        self._placer = placer
        self._queues = tuple(sorted(queues))
        self._queue_of = queue_of
        self._priorities = priorities or Priorities()
        self._preempting = preempting
        self._preemptor = Preemptor(placer, self._priority_of)
        self._jobs: dict[str, Job] = {}
        self._lines: dict[str, Line] = {}
        self._kinds: dict[str, object] = {}  # jobs of one kind are decided alike
        self._waiting = Queue()
        self._let_in: dict[str, None] = {}
        self._going: set[str] = set()  # victims that have not stopped yet
        self._gone: set[str] = set()  # given up
        self._seen: tuple[Version, int] = ((-1, -1), 0)

    # -- coming and going -------------------------------------------------------------------------

    def queues(self) -> Sequence[QueueFacts]:
        """The names to count under; none has quota."""
        return [QueueFacts(name) for name in self._queues]

    def amount(self, job: Job) -> int:
        """What all pods of a job ask of the principal resource."""
        return sum(spec.requests.get(self.resource, 0) * spec.pods for spec in job.pod_sets)

    def offer(self, jobs: Sequence[tuple[int, Job]], now: int) -> Sequence[Entry]:  # noqa: ARG002 - protocol
        """Submit jobs, each with its number among the arrivals."""
        for number, job in jobs:
            self._jobs[job.id] = job
            self._lines[job.id] = Line(self._priorities.highest(job), job.submit, number)
            self._wait(job)
        return [Entry(self._queue_of(job), self.amount(job)) for _, job in jobs]

    def _wait(self, job: Job) -> None:
        kind = self._kinds.get(job.id)
        if kind is None:
            preempts = tuple(self._priorities.preempts(spec) for spec in job.pod_sets)
            priorities = tuple(self._priorities.of(job, spec) for spec in job.pod_sets)
            kind = tuple(shape.key for shape in self._shapes(job)), preempts, priorities
            self._kinds[job.id] = kind
        self._waiting.add(job.id, kind, self._lines[job.id].key)

    def _shapes(self, job: Job) -> list[Shape]:
        of = self._placer.shapes.of
        return [of(spec, job.namespace, job.models, job.milli) for spec in job.pod_sets]

    def settle(self, ids: Sequence[str], now: int) -> None:  # noqa: ARG002 - protocol
        """Evicted jobs have stopped; those that were not given up wait again."""
        for name in ids:
            self._going.discard(name)
            self._let_in.pop(name, None)
            if name not in self._gone:
                self._wait(self._jobs[name])

    def finish(self, ids: Sequence[str], now: int) -> None:  # noqa: ARG002 - protocol
        """Jobs are done."""
        for name in ids:
            self._going.discard(name)
            self._let_in.pop(name, None)
            del self._jobs[name], self._lines[name], self._kinds[name]

    # -- cycles -------------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Whether any job waits that was not looked at since nodes changed."""
        return self._seen != self._version() and (len(self._waiting) > 0 or self._preempting)

    def _version(self) -> tuple[Version, int]:
        return self._placer.ground.version, len(self._waiting)

    def cycle(self, now: int) -> Sequence[Decision]:  # noqa: ARG002 - the protocol's; order is all that counts
        """Let in whose pods find a node, one job after the other; then see who may take room from others."""
        finding = self._waiting.walk(self._finds)
        for name in reversed(finding):
            self._placer.free(name)
        found = [self._reserve(name) for name in finding]
        self._seen = self._version()
        if self._preempting and not found and not self._going:
            found += self._take()
        return found

    def _finds(self, name: str) -> bool:
        """Whether any pod of the job finds a node; it stays there until the end of the cycle."""
        self.nominations += 1
        self._placer.wait(name, sets_of(self._jobs[name]), mixed(self._lines[name].number))
        if self._placer.fill(name) is not None:
            return True
        self._placer.free(name)
        return False

    def _reserve(self, name: str) -> Decision:
        job = self._jobs[name]
        self._waiting.drop(name)
        self._let_in[name] = None
        sets = tuple(
            SetGrant(spec.name, spec.pods, {}, {r: n * spec.pods for r, n in sorted(spec.requests.items())})
            for spec in job.pod_sets
        )
        return Decision(
            name, job.queue, RESERVED, "", "", Grant(job.queue, sets), admitted=True, victims=(), explain=_why
        )

    # -- preemption -----------------------------------------------------------------------------------

    def _take(self) -> list[Decision]:
        """The first job in order, let in or not, whose pods wait and may take room from others."""
        short = [name for name in self._placer.short if name in self._let_in]
        asked: set[object] = set()
        for name in sorted((*short, *self._waiting.heads()), key=lambda one: self._lines[one].key):
            missing = self._missing(name)
            kind = self._kinds[name], missing
            found = None if kind in asked else self._room_for(name, missing)
            asked.add(kind)
            if found is None:
                continue
            job = self._jobs[name]
            self._going.update(found.jobs)
            victims = tuple(Displaced(one, self._jobs[one].queue, PREEMPTED) for one in found.jobs)
            # It is let in first, so that room that its victims leave goes to it and not to those behind it.
            first = [self._reserve(name)] if name in self._waiting else []
            why = f"{found.node} has room without {', '.join(found.jobs)}"
            return [
                *first,
                Decision(name, job.queue, PREEMPTING, UNSCHEDULABLE, why, None, False, victims, _why),
            ]
        return []

    def _missing(self, name: str) -> tuple[int, ...]:
        """The podsets of which pods wait."""
        held = self._placer.held.get(name)
        if held is None:
            return tuple(range(len(self._jobs[name].pod_sets)))
        return tuple(n for n, part in enumerate(held.parts) if len(part.on) < part.set.pods)

    def _room_for(self, name: str, missing: Sequence[int]) -> Preemption | None:
        """Room for one of the pods that wait."""
        job = self._jobs[name]
        shapes = self._shapes(job)
        for n in missing:
            spec = job.pod_sets[n]
            if not spec.pods or not self._priorities.preempts(spec):
                continue
            found = self._preemptor.find(shapes[n], self._priorities.of(job, spec))
            if found is not None:
                return found
        return None

    def _priority_of(self, name: str, spec: PodSet) -> int:
        """Jobs that go round all queues are on the nodes too; they are never taken from."""
        job = self._jobs.get(name)
        return self._priorities.of(job, spec) if job is not None else 2**31

    # -- what the engine asks beside ------------------------------------------------------------------

    def checks(self, name: str) -> Sequence[Check]:  # noqa: ARG002 - protocol
        """None: there is nobody to agree."""
        return ()

    def agree(self, name: str, check: str, now: int) -> Sequence[Turn]:  # noqa: ARG002 - protocol
        """Nothing."""
        return ()

    def ready(self, name: str, now: int) -> None:
        """Nothing hangs on it."""

    def not_ready(self, name: str, now: int) -> Sequence[Turn]:  # noqa: ARG002 - protocol
        """Nothing: a gang in part waits for ever."""
        return ()

    def give_up(self, name: str, cause: str, now: int) -> Sequence[Turn]:  # noqa: ARG002 - protocol
        """The job is stopped for good."""
        self._gone.add(name)
        self._waiting.drop(name)
        return (Turn(name, GIVES_UP, cause),)

    def node(self, name: str, now: int, *, up: bool) -> Sequence[Turn]:  # noqa: ARG002 - protocol
        """Nothing: the placer knows its nodes."""
        return ()

    def next_due(self) -> int:
        """Nothing happens by itself."""
        return NEVER

    def wake(self, now: int) -> Sequence[Turn]:  # noqa: ARG002 - protocol
        """Nothing was due."""
        return ()

    def sets(self, job: Job, grant: Grant) -> Sequence[Set]:  # noqa: ARG002 - protocol
        """The job's podsets as they are."""
        return sets_of(job)

    def where(self, grant: Grant) -> Where:  # noqa: ARG002 - protocol
        """The placer says it."""
        return ()

    def spread(self, job: Job, grant: Grant) -> Spread:  # noqa: ARG002 - protocol
        """No topology is chosen."""
        return ()

    def total(self) -> int:
        """The placer says it."""
        return NEVER

    def same(self) -> object:
        """Who waits, and what the nodes went through."""
        return self._version(), tuple(self._waiting)

    def outline(self) -> object:
        """The states of the nodes."""
        return tuple(self._placer.ground.state), tuple(sorted(self._waiting))

    def digest(self) -> str:
        """Equal for states that decide alike from here on."""
        ground = self._placer.ground
        text = repr((self._placer.places(), sorted(self._waiting), sorted(self._going), ground.closed))
        return sha256(text.encode()).hexdigest()

    def explain(self, name: str) -> tuple[str, str]:
        """Why the job waits: the pod condition's reason, and kube-scheduler's words for nodes as they are."""
        job = self._jobs.get(name)
        if job is None or not job.pod_sets:
            return UNSCHEDULABLE, ""
        shape = self._placer.shapes.of(job.pod_sets[0], job.namespace, job.models, job.milli)
        return UNSCHEDULABLE, self._placer.choose.refusal(shape)


def _why() -> Explanation:
    return NOTHING
