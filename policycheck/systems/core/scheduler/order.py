"""Jobs that go straight to the default scheduler: who comes first, what each pod's priority is, what they ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


class Line(NamedTuple):
    """A job's place in line: higher priority first, then the earlier one, then as they were offered."""

    priority: int
    submit: int
    number: int

    @property
    def key(self) -> tuple[int, int, int]:
        """Ascending."""
        return -self.priority, self.submit, self.number


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
