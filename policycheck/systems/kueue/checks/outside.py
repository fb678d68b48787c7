"""Accelerators taken outside any queue, where Kueue is meant to hand them out."""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.model.workload import PodSet, Workload
from policycheck.systems.core.mend import appended, moved
from policycheck.systems.core.podspec import items, mapping
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.common import Found, Params, configuration, core, state
from policycheck.systems.kueue.checks.lowered import queue_label, queued
from policycheck.systems.kueue.checks.managed import means_queue, waiting_outside
from policycheck.systems.kueue.jobs import FRAMEWORKS, QUEUE_LABEL, is_exempt, queue_of

_LABELS: Path = ("metadata", "labels")


def accelerators(workload: Workload) -> dict[str, int]:
    """What all pods of a workload ask for, accelerators only."""
    total: dict[str, int] = {}
    for pods in workload.pod_sets:
        for resource, amount in pods.requests.items():
            if is_accelerator(resource) and amount > 0:
                total[resource] = total.get(resource, 0) + amount * pods.pods
    return {resource: amount for resource, amount in total.items() if amount}


def _loose(cluster: Cluster) -> Iterator[tuple[DocumentId, Workload, dict[str, int]]]:
    """Workloads with accelerators that no queue accounts for and that nobody else made."""
    found = state(cluster)
    if not (found.objects.cluster_queues or found.objects.local_queues):
        return
    spaces = core(cluster).namespaces
    defaulted = {space for space, name in found.objects.local_queues if name == "default"}
    for key, workload in core(cluster).workloads.items():
        amounts = accelerators(workload)
        namespace = spaces.get(key.namespace)
        labels = namespace.labels if namespace else {}
        is_done = workload.phase in ("Succeeded", "Failed")
        if not amounts or key in found.claimed or workload.owner is not None or is_done:
            continue
        if workload.nature == "daemon" or is_exempt(key.namespace, labels, found.objects.configuration):
            continue
        if queue_of(workload) or means_queue(workload) or _is_defaulted(defaulted, workload):
            continue
        for identity in cluster.index.ids(key):
            yield identity, workload, amounts


def _is_defaulted(spaces: set[str], workload: Workload) -> bool:
    """Whether a LocalQueue called ``default`` takes in what names no queue."""
    return workload.key.namespace in spaces or (not workload.key.namespace and bool(spaces))


def _template_label(workload: Workload) -> PodSet | None:
    """A pod template that carries the queue label which belongs on the object."""
    if workload.nature == "pod":
        return None
    return next((p for p in workload.pod_sets if p.path and p.labels.get(QUEUE_LABEL)), None)


def _amounts(amounts: dict[str, int]) -> str:
    return " and ".join(f"{amount} {resource}" for resource, amount in sorted(amounts.items()))


def _outside(cluster: Cluster, *, is_beside: bool) -> Iterator[Hit]:
    """Services in a namespace without LocalQueue, or everything else: that could be queued where it is."""
    tenants = {space for space, _ in state(cluster).objects.local_queues}
    for identity, workload, amounts in _loose(cluster):
        beside = workload.nature == "service" and workload.key.namespace not in tenants
        if _template_label(workload) is None and beside == is_beside:
            values = {"workload": str(workload.key), "amounts": _amounts(amounts)}
            change, safety = queued(cluster, identity, workload, amounts)
            yield Hit(identity, ("kind",), values, changes=(change,), safety=safety)


def outside_queue(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Batch work with accelerators that names no queue, and services where a LocalQueue is at hand:
    Kueue neither counts them nor holds them back.
    """
    yield from _outside(cluster, is_beside=False)


def service_outside_queue(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A service with accelerators in a namespace without LocalQueue: quotas do not count what it holds."""
    yield from _outside(cluster, is_beside=True)


def label_on_template(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The queue label on the pod template, where Kueue does not look."""
    loose = [(i, w, f"it takes {_amounts(a)} outside any queue") for i, w, a in _loose(cluster)]
    held = [
        (i, w, "Kueue manages it all the same and holds it for ever") for i, w in waiting_outside(cluster)
    ]
    for identity, workload, effect in (*loose, *held):
        pods = _template_label(workload)
        if pods is not None:
            path: Path = (*pods.path, "metadata", "labels", QUEUE_LABEL)
            queue = pods.labels[QUEUE_LABEL]
            values = {"workload": str(workload.key), "queue": queue, "effect": effect}
            changes = moved(identity, path, queue_label(workload), queue, is_alone=len(pods.labels) == 1)
            yield Hit(identity, path, values, changes=changes)


def framework_off(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A workload with a queue label whose kind Kueue is not configured to manage."""
    found = state(cluster)
    enabled = found.objects.configuration.frameworks
    where = configuration(cluster)
    if enabled is None or isinstance(where, Skip):
        return
    others = items(mapping(mapping(where[1].value).get("integrations")).get("externalFrameworks"))
    for key, workload in core(cluster).workloads.items():
        framework = FRAMEWORKS.get((key.group, key.kind), "")
        if not framework or framework in enabled or not queue_of(workload) or workload.owner is not None:
            continue
        if any(_is_of(str(name), key) for name in others):
            continue
        told: Path = ("integrations", "frameworks")
        for identity in cluster.index.ids(key):
            values = {"workload": str(key), "queue": queue_of(workload), "framework": framework}
            because = (Related(where[0], told, "not among these"),)
            changes = (appended(where[0], where[1].value, told, framework),)
            yield Hit(identity, (*_LABELS, QUEUE_LABEL), values, because, changes=changes)


def _is_of(name: str, key: ObjectKey) -> bool:
    """Whether an external framework, ``AppWrapper.v1beta2.workload.codeflare.dev``, is the kind of ``key``.

    Its own controller makes the Workloads then; see externalFrameworks in
    https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/.
    """
    kind, _, rest = name.lower().partition(".")
    return kind == key.kind.lower() and (rest == key.group or rest.endswith(f".{key.group}"))
