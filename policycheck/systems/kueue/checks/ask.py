"""What waits in queues: every podset once, with what Kueue charges for it and where that is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from policycheck.model.amount import scale
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.model.workload import PodSet, Workload
from policycheck.systems.core.podspec import mapping
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import GROUP
from policycheck.systems.kueue.checks.common import derived, state, undecided
from policycheck.systems.kueue.checks.references import queue_of_local
from policycheck.systems.kueue.model import ClusterQueue, KueueWorkload, ResourceFlavor
from policycheck.systems.kueue.scheduler.flavor import refusal
from policycheck.systems.kueue.scheduler.shape import per_pod


class Ask(NamedTuple):
    """A podset that waits in a queue which is beyond doubt."""

    id: DocumentId
    key: ObjectKey
    queue: ClusterQueue
    pods: PodSet
    least: int  # pods that have to start together
    each: Mapping[str, int]  # what one pod is charged: excluded, transformed and mapped by the Configuration
    made: KueueWorkload  # the Workload that it is part of
    copies: int  # alike Workloads that the object becomes

    @property
    def workload(self) -> str:
        """The object, as messages name it."""
        return str(self.key)

    def charge(self, resource: str) -> int:
        """What the podset is charged for a resource."""
        return scale(self.each.get(resource, 0), self.least)


def asks(cluster: Cluster) -> tuple[Ask, ...]:
    """Every podset of every workload that waits; what is admitted or finished is not asked again.

    Of alike workloads that one object becomes (the pods of a Deployment) the first speaks for all.
    """
    return derived(cluster, _asks)


def _asks(cluster: Cluster) -> tuple[Ask, ...]:
    found = state(cluster)
    made: dict[tuple[ObjectKey, Path, str], Ask] = {}
    copies = Counter(w.source for w in found.objects.workloads.values())
    for workload in found.objects.workloads.values():
        key = workload.source or ObjectKey(GROUP, "Workload", workload.namespace, workload.name)
        ids = cluster.index.ids(key)
        if not ids or cluster.index.is_ambiguous(key) or not _waits(workload):
            continue
        queue = queue_of_local(cluster, workload.namespace, workload.queue)
        if queue is None or undecided(found.trees[found.tree_of[queue.name]]):
            continue
        for pods in workload.pod_sets:
            least = pods.pods if pods.min_count is None else min(pods.pods, pods.min_count)
            where = (key, pods.path, pods.name)
            if least > 0 and where not in made:
                each = per_pod(pods, found.objects.configuration)
                alike = copies[workload.source] if workload.source else 1
                made[where] = Ask(ids[0], key, queue, pods, least, each, workload, alike)
    return tuple(made.values())


def _waits(workload: KueueWorkload) -> bool:
    return workload.admission is None and not workload.finished and not workload.deleting


def is_refused(flavor: ResourceFlavor, ask: Ask) -> bool:
    """Whether the flavor is not for these pods, by its taints and its labels."""
    return bool(refusal(flavor, ask.pods, flavor.node_labels.keys()))


def request_place(cluster: Cluster, ask: Ask, resource: str) -> Path:
    """Where the request for ``resource`` is written; else the pod template."""
    return place_in(cluster.entries[ask.id].facts.typed, ask.pods, resource) or (*ask.pods.path, "spec")


def count_place(cluster: Cluster, ask: Ask) -> Path:
    """Where the number of pods is written, beside the pod template; () when it is not."""
    value: object = cluster.entries[ask.id].facts.value
    above = ask.pods.path[:-1]
    for step in above:
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            value = mapping(value).get(str(step))
    field = next((f for f in ("parallelism", "replicas", "count") if f in mapping(value)), "")
    return (*above, field) if field else ()


def accelerators_first(amounts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Requests, accelerators before what goes with them."""
    return sorted(amounts.items(), key=lambda item: (not is_accelerator(item[0]), item[0]))


def place_in(typed: object, pods: PodSet, resource: str) -> Path:
    """The request or limit of the first container that asks for ``resource``; () when none does."""
    for container in pods.containers:
        for name, amounts in (("requests", container.requests), ("limits", container.limits)):
            if amounts.get(resource):
                return (*container.path, "resources", name, resource)
    return ("metadata", "name") if isinstance(typed, Workload) and not pods.path else ()


def spec_place(ask: Ask, *steps: str | int) -> Path:
    """A place in the pod's specification; a lone pod is its own template."""
    return (*ask.pods.path, "spec", *steps)
