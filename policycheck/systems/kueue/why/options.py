"""What all options of the search for the smallest change have in common.

Each option turns the opening into another one. Fields and labels are Kueue's own; ranks order them by
whom they touch: the workload alone, its queue's quota, who else runs, policies, other queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.simulate.change import Change, Option
from policycheck.systems.kueue.model import ClusterQueue, KueueWorkload
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler.shape import per_pod
from policycheck.systems.kueue.why.trial import queue_of, workload_of

Choice = Option[Opening]
WORKLOAD, QUOTA, OTHERS, POLICY, COHORT = range(5)
_GIB = 1 << 30


class Place(NamedTuple):
    """The workload and its queue in the opening that is changed."""

    opening: Opening
    workload: KueueWorkload
    queue: ClusterQueue
    asked: Mapping[str, int]  # by the whole workload


def place(opening: Opening, name: str) -> Place | None:
    """Where the workload stands; None when no queue is to be found."""
    workload = workload_of(opening, name)
    queue = queue_of(opening.objects, workload)
    if queue is None:
        return None
    return Place(opening, workload, queue, total(opening, workload))


def total(opening: Opening, workload: KueueWorkload) -> dict[str, int]:
    """What the whole workload asks of quota."""
    found: dict[str, int] = {}
    for spec in workload.pod_sets:
        for resource, amount in per_pod(spec, opening.objects.configuration).items():
            found[resource] = found.get(resource, 0) + amount * spec.pods
    return found


def with_workload(opening: Opening, workload: KueueWorkload) -> Opening:
    """The opening with the workload as given."""
    objects = opening.objects
    workloads = {**objects.workloads, (workload.namespace, workload.name): workload}
    return opening._replace(objects=objects._replace(workloads=workloads))


def with_queue(opening: Opening, queue: ClusterQueue) -> Opening:
    """The opening with the ClusterQueue as given."""
    objects = opening.objects
    return opening._replace(
        objects=objects._replace(cluster_queues={**objects.cluster_queues, queue.name: queue})
    )


def about(workload: KueueWorkload) -> str:
    """The object that a person edits to change the workload."""
    if workload.source is not None:
        return f"{workload.source.kind} {workload.source.name}"
    return f"Workload {workload.name}"


def switch(kind: str, rank: int, made: Opening, *changes: Change) -> Choice:
    """An option with nothing to turn but on."""
    return Option(kind, rank, (1,), lambda _: made, lambda _: changes)


def step(resource: str, *seen: int) -> int:
    """The unit in which people write such an amount, as far as those seen are whole in it."""
    for unit in _units(resource):
        if all(value % unit == 0 for value in seen):
            return unit
    return 1


def _units(resource: str) -> tuple[int, ...]:
    if resource == "cpu":
        return (1000, 100, 10)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return (_GIB, 1 << 20, 1 << 10)
    return ()
