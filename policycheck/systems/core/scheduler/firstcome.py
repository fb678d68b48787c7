"""First come, first served: jobs go straight to the default scheduler, with no quota and no queue before it.

Implements simulate.scheduler.Scheduler for simulate.job.Job. Pods are looked at one by one, those of higher
priority and then of earlier jobs first; nobody is held up by who stands before it. A gang starts in part: the
pods that find a node hold it and wait for the others. A decision RESERVED tells all pods that a job has so far;
``admitted`` says that none of it waits.

With ``preempting``, a pod that finds no room takes it from pods of lower priority on one node (one pod of a
job in a cycle). A victim loses that pod alone, at ``settle``; the rest of its gang goes on holding its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policycheck.digest import sha256
from policycheck.model.workload import PodSet
from policycheck.simulate.draw import mixed
from policycheck.simulate.job import Job
from policycheck.simulate.scheduler import (
    PREEMPTING,
    RESERVED,
    WAITING,
    Decision,
    Displaced,
    Grant,
    Waiting,
)
from policycheck.systems.core.scheduler.order import (
    NOTHING,
    PREEMPTED,
    UNSCHEDULABLE,
    Line,
    Priorities,
    grant_of,
    lacking,
    sets_of,
)
from policycheck.systems.core.scheduler.placer import NodePlacer
from policycheck.systems.core.scheduler.preempt import Preemptor, Victim, evict

Version = tuple[int, int]


class FirstCome:
    """Jobs on the nodes of ``placer``, which it owns from here on. ``seed`` breaks ties.

    Raises ValueError for a job that is offered twice, and for one that is released and not known.
    """

    __slots__ = (
        "_lines",
        "_preempting",
        "_preemptor",
        "_priorities",
        "_seed",
        "_seen",
        "_tried",
        "_victims",
        "_waiting",
        "jobs",
        "placer",
    )

    def __init__(
        self,
        placer: NodePlacer,
        *,
        priorities: Priorities | None = None,
        preempting: bool = False,
        seed: int = 0,
    ) -> None:
        self.placer = placer
        self.jobs: dict[str, Job] = {}
        self._priorities = priorities or Priorities()
        self._preempting = preempting
        self._seed = mixed(seed)
        self._lines: dict[str, Line] = {}
        self._waiting: dict[str, None] = {}  # jobs with pods that wait
        self._tried: set[str] = set()  # of these, those that were looked at in the last cycle
        self._seen: Version = (-1, -1)  # of the nodes, at its end
        self._victims: list[Victim] = []
        self._preemptor = Preemptor(placer, self._priority_of)

    # -- coming and going -----------------------------------------------------------------------

    def offer(self, workloads: Iterable[Job]) -> None:
        """Submit jobs. Pods wait at once, also those of services."""
        for job in workloads:
            if job.id in self.jobs:
                raise ValueError(f"{job.id} was offered before")
            self.jobs[job.id] = job
            number = len(self._lines)
            self._lines[job.id] = Line(self._priorities.highest(job), job.submit, number)
            self._wait(job)

    def _wait(self, job: Job) -> None:
        self.placer.wait(job.id, sets_of(job), mixed(self._seed ^ self._lines[job.id].number))
        self._waiting[job.id] = None

    def release(self, ids: Iterable[str], *, requeue: bool = False) -> None:
        """The jobs stop: their nodes are free. With ``requeue`` all their pods wait again."""
        for name in ids:
            if name not in self.jobs:
                raise ValueError(f"{name} was never offered")
            self.placer.free(name)
            self._waiting.pop(name, None)
            self._tried.discard(name)
            self._victims = [v for v in self._victims if v.job != name]
            if requeue:
                self._wait(self.jobs[name])
            else:
                del self.jobs[name]

    def settle(self) -> None:
        """Victims are gone: what they held is free, and they wait again."""
        evict(self.placer, self._victims)
        for victim in self._victims:
            self._waiting[victim.job] = None
        self._victims = []

    # -- cycles -----------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Whether any pod waits that was not looked at since something changed."""
        if not self._waiting:
            return False
        return self._seen != self._version() or not self._tried.issuperset(self._waiting)

    def cycle(self, now: int) -> Sequence[Decision]:  # noqa: ARG002 - the protocol's; order is all that counts
        """Look at every job with pods that wait, in order. Of jobs that find no room alike, the first is told."""
        found = []
        hopeless: set[object] = (
            set()
        )  # within a cycle pods only come: who is like one that found no room, finds none
        for name in sorted(self._waiting, key=lambda one: self._lines[one].key):
            held = self.placer.held[name]
            missing = {part.shape.key for part in held.parts if len(part.on) < part.set.pods}
            if missing <= hopeless:
                continue
            placed = self.placer.fill(name)
            job = self.jobs[name]
            if placed is not None:
                found.append(self._decision(job, RESERVED))
            if not held.waiting:
                del self._waiting[name]
                continue
            taken = self._take(job) if self._preempting else ()
            if taken:
                found.append(self._decision(job, PREEMPTING, taken))
            elif placed is None:
                found.append(self._decision(job, WAITING))
                hopeless |= missing if not self._preempting else set()
        self._tried = set(self._waiting)
        self._seen = self._version()
        return found

    def _version(self) -> Version:
        return self.placer.ground.version

    def _take(self, job: Job) -> tuple[Displaced, ...]:
        """Find room for one pod of the job; who loses a pod for it. Nobody else looks at these nodes."""
        if self._victims:
            return ()
        for part in self.placer.held[job.id].parts:
            spec = part.set.spec
            if len(part.on) == part.set.pods or not self._priorities.preempts(spec):
                continue
            found = self._preemptor.find(part.shape, self._priorities.of(job, spec))
            if found is not None:
                self._victims += found.victims
                return tuple(Displaced(name, self.jobs[name].queue, PREEMPTED) for name in found.jobs)
        return ()

    def _priority_of(self, name: str, spec: PodSet) -> int:
        return self._priorities.of(self.jobs[name], spec)

    def _decision(self, job: Job, outcome: str, victims: tuple[Displaced, ...] = ()) -> Decision:
        placed = self.placer.placed(job.id)
        why = lacking(placed)
        return Decision(
            job.id,
            job.queue,
            outcome,
            "" if outcome == RESERVED else UNSCHEDULABLE,
            why,
            grant_of(job, placed) if outcome == RESERVED else None,
            outcome == RESERVED and placed.whole,
            victims,
            lambda: NOTHING,
        )

    # -- looking in -------------------------------------------------------------------------------

    def waiting(self) -> Sequence[Waiting]:
        """Jobs of which no pod has a node, by id."""
        is_current = self._seen == self._version()
        names = sorted(name for name in self._waiting if not self.placer.held[name].running)
        return [
            Waiting(
                name,
                self.jobs[name].queue,
                "inadmissible" if is_current and name in self._tried else "active",
                UNSCHEDULABLE if name in self._tried else None,
            )
            for name in names
        ]

    def holding(self) -> Mapping[str, Grant]:
        """Jobs with pods on nodes, by id; of a gang in part, what runs of it."""
        return {
            name: grant_of(self.jobs[name], self.placer.placed(name))
            for name in sorted(self.jobs)
            if self.placer.held[name].running
        }

    def fork(self) -> FirstCome:
        """An independent copy of the whole state."""
        made = FirstCome.__new__(FirstCome)
        for name in FirstCome.__slots__:
            setattr(made, name, getattr(self, name))
        made.placer, made.jobs = self.placer.fork(), dict(self.jobs)
        for name in ("_lines", "_tried", "_victims", "_waiting"):
            setattr(made, name, getattr(self, name).copy())
        made._preemptor = Preemptor(made.placer, made._priority_of)  # noqa: SLF001 - of one's own copy
        if self._seen == self._version():  # logs of copies begin anew
            made._seen = (self._seen[0], 0)  # noqa: SLF001 - the same
        return made

    def digest(self) -> str:
        """Equal for states that decide alike from here on, whatever the clock says."""
        ground = self.placer.ground
        lines = sorted((self._lines[name].key, name) for name in self.jobs)
        closed = [n for n, is_closed in enumerate(ground.closed) if is_closed]
        going = sorted((v.job, v.part, v.spot.node, *map(tuple, v.spot.taken)) for v in self._victims)
        pods = self.placer.places()
        return sha256(repr((lines, pods, closed, going)).encode()).hexdigest()
