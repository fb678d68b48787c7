"""One Ray document to Facts: a head, worker groups, and for a job its submitter.

Sources: KubeRay's API reference; Kueue's documentation pages "Run RayJob", "Run RayCluster" and
"Run RayService"; what KubeRay adds to pods is in its documentation of autoscaling and submission.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.amount import add, amount, clamp
from policycheck.model.conform import prune
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import ObjectKey, Path
from policycheck.model.workload import PodSet
from policycheck.systems.core.facts import workload
from policycheck.systems.core.podspec import items, labels, mapping, pod_set, text, whole

Value = Mapping[str, Any]
_CLUSTER: Mapping[str, Path] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}
# What KubeRay puts into the head pod, or starts beside it, unless it is stated otherwise.
_AUTOSCALER = {"cpu": "500m", "memory": "512Mi"}
_SUBMITTER = {"cpu": "500m", "memory": "200Mi"}
_REDIS_CLEANUP = {"cpu": "200m", "memory": "256Mi"}
_FAULT_TOLERANCE = "ray.io/ft-enabled"
_MOST_WORKERS = 2**31 - 1


def read(value: Value, group: str, kind: str, version: str) -> Facts | None:
    """Facts of one document."""
    clean = prune(value)
    meta = mapping(clean.get("metadata"))
    key = ObjectKey(group, kind, text(meta.get("namespace")), text(meta.get("name")))
    troubles: list[Trouble] = []
    if not version:
        say = f"apiVersion is missing; write ray.io/v1, or nobody can apply this {kind}"
        troubles.append(Trouble("missing-field", ("apiVersion",), say))
    nature = "batch" if kind == "RayJob" else "service"
    typed = workload(clean, key, nature, _pod_sets(clean, kind, troubles))
    return Facts(key, text(clean.get("apiVersion")), "ray", clean, typed, (), tuple(troubles))


def cluster_of(value: Value, kind: str) -> tuple[Mapping[str, Any], Path]:
    """The cluster's own specification in a Ray object, and where it is."""
    at = _CLUSTER[kind]
    cluster: Mapping[str, Any] = value
    for step in at:
        cluster = mapping(cluster.get(str(step)))
    return cluster, at


def workers(group: Mapping[str, Any]) -> int:
    """Worker pods that KubeRay wants of a group: replicas within their bounds, times hosts."""
    if group.get("suspend") is True:
        return 0
    least = max(0, whole(group.get("minReplicas")))
    most = max(least, whole(group.get("maxReplicas"), _MOST_WORKERS))
    replicas = min(most, max(least, whole(group.get("replicas"))))
    return clamp(replicas * max(1, whole(group.get("numOfHosts"), 1)))


def _pod_sets(value: Value, kind: str, troubles: list[Trouble]) -> tuple[PodSet, ...]:
    cluster, at = cluster_of(value, kind)
    found = []
    head = mapping(cluster.get("headGroupSpec"))
    if head:
        made = pod_set("head", 1, head.get("template"), (*at, "headGroupSpec", "template"), troubles)
        found.append(_head(made, value, cluster, kind))
    for n, raw in enumerate(items(cluster.get("workerGroupSpecs"))):
        group = mapping(raw)
        where: Path = (*at, "workerGroupSpecs", n, "template")
        name = text(group.get("groupName")).lower() or f"worker-{n}"
        found.append(pod_set(name, workers(group), group.get("template"), where, troubles))
    if kind == "RayJob" and _mode(value) == "K8sJobMode" and head:
        found.append(_submitter(value, troubles))
    return tuple(found)


def _mode(value: Value) -> str:
    return text(mapping(value.get("spec")).get("submissionMode")) or "K8sJobMode"


def _submitter(value: Value, troubles: list[Trouble]) -> PodSet:
    """The pod that submits the job: as written, or KubeRay's own."""
    at: Path = ("spec", "submitterPodTemplate")
    template = mapping(value.get("spec")).get("submitterPodTemplate")
    if not isinstance(template, dict):
        resources = {"requests": _SUBMITTER, "limits": {"cpu": "1", "memory": "1Gi"}}
        template = {"spec": {"containers": [{"name": "ray-job-submitter", "resources": resources}]}}
        return pod_set("submitter", 1, template, ("spec",), [])._replace(containers=())
    return pod_set("submitter", 1, template, at, troubles)


def _head(made: PodSet, value: Value, cluster: Mapping[str, Any], kind: str) -> PodSet:
    """The head with the containers that KubeRay adds to it."""
    requests = dict(made.requests)
    notes = labels(mapping(value.get("metadata")).get("annotations"))
    if isinstance(cluster.get("gcsFaultToleranceOptions"), dict) or notes.get(_FAULT_TOLERANCE) == "true":
        for name, quantity in _REDIS_CLEANUP.items():
            requests[name] = max(requests.get(name, 0), amount(name, quantity))
    if cluster.get("enableInTreeAutoscaling") is True:
        given = mapping(mapping(mapping(cluster.get("autoscalerOptions")).get("resources")).get("requests"))
        _plus(requests, {**_AUTOSCALER, **given})
    if kind == "RayJob" and _mode(value) == "SidecarMode":
        _plus(requests, _SUBMITTER)
    return made._replace(requests=requests)


def _plus(requests: dict[str, int], more: Mapping[str, Any]) -> None:
    from policycheck.model.amount import QuantityError

    for name, quantity in more.items():
        try:
            requests[name] = add(requests.get(name, 0), amount(str(name), quantity))
        except QuantityError:
            continue  # KubeRay refuses it; the table of fields says nothing of these options
