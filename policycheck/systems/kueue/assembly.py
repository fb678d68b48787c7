"""All the Workloads that Kueue makes of a cluster's jobs, with everything that decides their shape.

Namespaces' limit ranges, runtime classes, claim templates and training runtimes change what a job
asks for; plain pods come together in groups; a LocalQueue called ``default`` takes jobs that name
none. Sources: the documentation pages "Run plain pods", "Setup a default LocalQueue", "Run TrainJobs";
kueue#15020 for the order in which defaults are applied.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.digest import sha256
from policycheck.model.cluster import Index
from policycheck.model.origin import ObjectKey
from policycheck.model.workload import PodSet, Workload
from policycheck.record import NamedTuple
from policycheck.systems.core import claims, defaults
from policycheck.systems.core.link import CoreState
from policycheck.systems.core.podspec import plain_number
from policycheck.systems.jobs import TRAINER
from policycheck.systems.kueue import jobs
from policycheck.systems.kueue.model import KueueObjects, KueueWorkload

GROUP_NAME = "kueue.x-k8s.io/pod-group-name"  # a label, or an annotation
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
FAST = "kueue.x-k8s.io/pod-group-fast-admission"
# What a change of these means for every job: who is managed, with which priority, asking for what.
ABOUT_JOBS = frozenset(
    {
        "Configuration",
        "WorkloadPriorityClass",
        "PriorityClass",
        "Namespace",
        "LocalQueue",
        "LimitRange",
        "RuntimeClass",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "TrainingRuntime",
        "ClusterTrainingRuntime",
    }
)
_RESOURCE = "resource.k8s.io"


class Surroundings(NamedTuple):
    """What shapes podsets from outside."""

    defaults: defaults.Defaults = defaults.Defaults()
    claims: Mapping[ObjectKey, claims.ClaimTemplate] = {}
    trained: Mapping[ObjectKey, Workload] = {}  # TrainJobs with the podsets of their runtimes


class PodGroup(NamedTuple):
    """Plain pods that are admitted together. ``total`` is what they say, None when they differ."""

    namespace: str
    name: str
    members: tuple[Workload, ...]
    total: int | None
    is_fast: bool  # admitted before all pods exist

    @property
    def is_complete(self) -> bool:
        """Whether Kueue makes a Workload of the group."""
        return self.total is not None and (self.is_fast or len(self.members) >= self.total)


def surroundings(index: Index) -> Surroundings:
    """What the documents in sight say of it."""
    kinds = (("", "LimitRange"), ("node.k8s.io", "RuntimeClass"))
    found = [e.facts.typed for group, kind in kinds for _, e in index.of_kind(group, kind)]
    templates = {
        key: entry.facts.typed
        for kind in ("ResourceClaim", "ResourceClaimTemplate")
        for key, entry in index.of_kind(_RESOURCE, kind)
        if isinstance(entry.facts.typed, claims.ClaimTemplate)
    }
    return Surroundings(defaults.collect(found), templates, _trained(index))


def _trained(index: Index) -> dict[ObjectKey, Workload]:
    jobs_in_sight = index.of_kind(TRAINER, "TrainJob")
    if not jobs_in_sight:
        return {}
    from policycheck.systems.jobs.train import TrainingRuntime, resolve, runtime_key

    made = {}
    for key, entry in jobs_in_sight:
        runtime = index.first(runtime_key(entry.facts.value, key.namespace))
        typed = entry.facts.typed
        if runtime is None or not isinstance(typed, Workload):
            continue
        if isinstance(runtime.facts.typed, TrainingRuntime):
            made[key] = resolve(typed, entry.facts.value, runtime.facts.typed)
    return made


def workloads(
    core: CoreState,
    objects: KueueObjects,
    around: Surroundings = Surroundings(),  # noqa: B008 - immutable
) -> tuple[dict[tuple[str, str], KueueWorkload], frozenset[ObjectKey]]:
    """Workloads by (namespace, name) made of jobs that Kueue manages, and all that it accounts for."""
    made: dict[tuple[str, str], KueueWorkload] = {}
    claimed: set[ObjectKey] = set()
    grouped: dict[tuple[str, str], list[Workload]] = {}
    for key, found in sorted(core.workloads.items()):
        if found.owner in claimed:
            claimed.add(key)
            continue
        queue = _default_queue(found, objects)
        candidate = _named(found, queue) if queue else found
        if not jobs.is_managed(candidate, objects.configuration, core.namespaces):
            continue
        claimed.add(key)
        if not jobs.queue_of(candidate) or found.owner in core.workloads or jobs.prebuilt_of(found):
            continue
        job = shaped(around.trained.get(key, found), around)
        group = group_of(job)
        if group:
            grouped.setdefault((key.namespace, group), []).append(job)
            continue
        priority = jobs.priority_of(job, objects.priority_classes, core.priority_classes)
        for one in jobs.make_all(job, priority, queue=queue):
            made[one.namespace, one.name] = one
    for pod_group in groups(grouped):
        if pod_group.is_complete:
            first = pod_group.members[0]
            priority = jobs.priority_of(first, objects.priority_classes, core.priority_classes)
            made[pod_group.namespace, pod_group.name] = _of_group(
                pod_group, priority, _default_queue(first, objects)
            )
    return made, frozenset(_with_owned(core, claimed))


def shaped(workload: Workload, around: Surroundings) -> Workload:
    """``workload`` with what its namespace, its runtime class and its claims add, as Kueue charges it."""
    namespace = workload.key.namespace
    pod_sets = tuple(
        claims.resolve(defaults.charged(p, namespace, around.defaults), namespace, around.claims)
        for p in workload.pod_sets
    )
    return workload if pod_sets == workload.pod_sets else workload._replace(pod_sets=pod_sets)


def _default_queue(workload: Workload, objects: KueueObjects) -> str:
    """``default`` where a LocalQueue of that name takes what names no queue.

    A pod that exists already was created without it.
    """
    if jobs.queue_of(workload) or workload.owner is not None or workload.phase:
        return ""
    known = (workload.key.namespace, jobs.DEFAULT_QUEUE) in objects.local_queues
    return jobs.DEFAULT_QUEUE if known else ""


def _named(workload: Workload, queue: str) -> Workload:
    return workload._replace(labels={**workload.labels, jobs.QUEUE_LABEL: queue})


def group_of(workload: Workload) -> str:
    """The pod group of a plain pod; "" for none."""
    if workload.nature != "pod":
        return ""
    return workload.labels.get(GROUP_NAME, "") or workload.annotations.get(GROUP_NAME, "")


def groups(members: Mapping[tuple[str, str], list[Workload]]) -> tuple[PodGroup, ...]:
    """Pod groups by (namespace, name)."""
    found = []
    for (namespace, name), pods in sorted(members.items()):
        totals = {p.annotations.get(TOTAL, "") for p in pods}
        raw = totals.pop() if len(totals) == 1 else ""
        total = plain_number(raw)
        is_fast = all(p.annotations.get(FAST) == "true" for p in pods)
        found.append(PodGroup(namespace, name, tuple(pods), total, is_fast))
    return tuple(found)


def _of_group(group: PodGroup, priority: tuple[int, str], queue: str) -> KueueWorkload:
    """One podset a role; with fast admission the missing pods are counted to the first role."""
    roles: dict[str, list[PodSet]] = {}
    for pod in group.members:
        for one in pod.pod_sets:
            roles.setdefault(_role(one), []).append(one)
    missing = max(0, (group.total or 0) - len(group.members))
    pod_sets = []
    for n, (role, pods) in enumerate(roles.items()):
        count = len(pods) + (missing if n == 0 else 0)
        pod_sets.append(pods[0]._replace(name=role, pods=count))
    first = group.members[0]
    owners = tuple((m.key.kind, m.key.name) for m in group.members)
    made = jobs.make(first, priority, queue=queue, name=group.name, pod_sets=tuple(pod_sets))
    return made._replace(owners=owners)


def _role(pod_set: PodSet) -> str:
    """A name that pods of one shape share. Kueue's own hash is another; only equality matters."""
    shape = (
        sorted(pod_set.requests.items()),
        sorted(pod_set.limits.items()),
        sorted(pod_set.node_selector.items()),
        pod_set.affinity,
        pod_set.tolerations,
        pod_set.topology,
        pod_set.claims,
        pod_set.priority_class,
    )
    return sha256(repr(shape).encode()).hexdigest()[:8]


def _with_owned(core: CoreState, claimed: set[ObjectKey]) -> set[ObjectKey]:
    """``claimed`` and everything that its members own, however deep."""
    owned: dict[ObjectKey, list[ObjectKey]] = {}
    for key, workload in core.workloads.items():
        if workload.owner is not None:
            owned.setdefault(workload.owner, []).append(key)
    todo, found = list(claimed), set(claimed)
    while todo:
        for key in owned.get(todo.pop(), ()):
            if key not in found:
                found.add(key)
                todo.append(key)
    return found
