"""Jobs that go straight to the default scheduler: who comes first, what each pod's priority is, what they ask."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from policycheck.model.workload import PodSet, PriorityClass
from policycheck.simulate.job import Job
from policycheck.simulate.placer import Placed, Set
from policycheck.simulate.scheduler import Explanation, Grant, SetGrant

HOSTNAME = "kubernetes.io/hostname"
# Kubernetes' own words: condition PodScheduled of a pod without a node, DisruptionTarget of a victim.
UNSCHEDULABLE, PREEMPTED = "Unschedulable", "PreemptionByScheduler"
NOTHING = Explanation((), (), ())


class Priorities:
    """Pod priorities by class. A pod without a class has that of the default class, or none given: its job's.

    Source: Kubernetes documentation, "Pod Priority and Preemption"; without a default class it is 0, and then
    what a trace says about the job is taken.
    """

    def __init__(self, classes: Iterable[PriorityClass] = ()) -> None:
        self._classes = {one.name: one for one in classes}
        self._default = min(
            (one for one in self._classes.values() if one.is_default), key=lambda one: one.value, default=None
        )

    def of(self, job: Job, spec: PodSet) -> int:
        """The priority of the job's pods of ``spec``."""
        found = self._classes.get(spec.priority_class, None if spec.priority_class else self._default)
        return found.value if found is not None else job.priority

    def preempts(self, spec: PodSet) -> bool:
        """Whether such pods may take room from others (preemptionPolicy PreemptLowerPriority)."""
        found = self._classes.get(spec.priority_class, None if spec.priority_class else self._default)
        return found.preempts if found is not None else True

    def highest(self, job: Job) -> int:
        """The highest of a job's pods: by that it queues."""
        return max((self.of(job, spec) for spec in job.pod_sets), default=job.priority)


Place = tuple[int, int, int]


class Line(NamedTuple):
    """A job's place in line: higher priority first, then the earlier one, then as they were offered."""

    priority: int
    submit: int
    number: int

    @property
    def key(self) -> Place:
        """Ascending."""
        return -self.priority, self.submit, self.number


class Queue:
    """Jobs in line, by kind: jobs of one kind are decided alike, so that when one finds no room none does."""

    __slots__ = ("_kinds", "_of")

    def __init__(self) -> None:
        self._kinds: dict[object, list[tuple[Place, str]]] = {}
        self._of: dict[str, tuple[object, Place]] = {}

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, name: str) -> bool:
        return name in self._of

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def add(self, name: str, kind: object, place: Place) -> None:
        """The job stands in line, once."""
        if name not in self._of:
            self._of[name] = kind, place
            insort(self._kinds.setdefault(kind, []), (place, name))

    def drop(self, name: str) -> None:
        """The job stands in line no more, if it did."""
        kind, place = self._of.pop(name, (None, None))
        if place is None:
            return
        there = self._kinds[kind]
        del there[bisect_left(there, (place, name))]
        if not there:
            del self._kinds[kind]

    def walk(self, finds: Callable[[str], bool]) -> list[str]:
        """Ask for every job in line, in order, whether it ``finds`` room; those that do, still in line. Once one
        does not, none of its kind is asked any more.
        """
        heads = [(there[0], n, there, 0) for n, there in enumerate(self._kinds.values())]
        heapify(heads)
        found = []
        while heads:
            (_, name), n, there, at = heappop(heads)
            if finds(name):
                found.append(name)
                if at + 1 < len(there):
                    heappush(heads, (there[at + 1], n, there, at + 1))
        return found

    def heads(self) -> list[str]:
        """The first of each kind, in order."""
        return [name for _, name in sorted(there[0] for there in self._kinds.values())]


def sets_of(job: Job) -> list[Set]:
    """What the job wants of nodes."""
    return [Set(spec, spec.pods, job.models, job.milli) for spec in job.pod_sets]


def grant_of(job: Job, placed: Placed) -> Grant:
    """The pods that are on nodes: where, and what they take. There is no quota and no flavor."""
    sets = []
    for spec, one in zip(job.pod_sets, placed.sets, strict=True):
        pods = sum(number for _, number in one.where)
        usage = {resource: amount * pods for resource, amount in sorted(spec.requests.items())}
        places = tuple(((node,), number) for node, number in one.where)
        sets.append(SetGrant(spec.name, pods, {}, usage, ((HOSTNAME,), places)))
    return Grant(job.queue, tuple(sets))


def lacking(placed: Placed) -> str:
    """Why pods wait; "" when none does."""
    return next((one.why for one in placed.sets if one.waiting), "")


def principal(jobs: Sequence[Job], offered: Mapping[str, int]) -> str:
    """The resource that jobs ask most of, of those that are offered; "" without any."""
    asked: dict[str, int] = {}
    for job in jobs:
        for spec in job.pod_sets:
            for resource, amount in spec.requests.items():
                if resource in offered:
                    asked[resource] = asked.get(resource, 0) + amount * spec.pods
    return max(sorted(asked), key=lambda r: asked[r], default="")
