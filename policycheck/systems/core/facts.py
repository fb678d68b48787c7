"""One document of Kubernetes' own kinds to Facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.conform import prune
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import ObjectKey, Path
from policycheck.model.workload import Namespace, PodSet, PriorityClass, Workload
from policycheck.systems.core.podspec import items, labels, mapping, pod_set, text, whole

Value = Mapping[str, Any]
Troubles = list[Trouble]

_CLUSTER_SCOPED = frozenset({"Node", "Namespace", "PriorityClass", "RuntimeClass", "ResourceSlice"})
_NATURE: Mapping[str, str] = {
    "Deployment": "service",
    "StatefulSet": "service",
    "ReplicaSet": "service",
    "DaemonSet": "daemon",
    "Job": "batch",
    "CronJob": "batch",
    "Pod": "pod",
}


def read(value: Value, group: str, kind: str, version: str) -> Facts | None:
    """Facts of one document."""
    clean = prune(value)
    meta = mapping(clean.get("metadata"))
    namespace = "" if kind in _CLUSTER_SCOPED else text(meta.get("namespace"))
    key = ObjectKey(group, kind, namespace, text(meta.get("name")) or text(meta.get("generateName")))
    troubles: Troubles = []
    typed = _typed(clean, key, troubles)
    if not version:
        wanted = f"{group}/v1" if group else "v1"
        say = f"apiVersion is missing; write {wanted}, or nobody can apply this {kind}"
        troubles.append(Trouble("missing-field", ("apiVersion",), say))
    return Facts(key, text(clean.get("apiVersion")), "core", clean, typed, (), tuple(troubles))


def _typed(value: Value, key: ObjectKey, troubles: Troubles) -> object | None:
    match key.kind:
        case "Node":
            from policycheck.systems.core.nodes import node

            return node(value, troubles)
        case "ResourceSlice":
            from policycheck.systems.core.slices import read as read_slice

            return read_slice(value, troubles)
        case "Namespace":
            return Namespace(key.name, labels(mapping(value.get("metadata")).get("labels")))
        case "PriorityClass":
            preempts = text(value.get("preemptionPolicy")) != "Never"
            return PriorityClass(
                key.name, whole(value.get("value")), value.get("globalDefault") is True, preempts
            )
        case "ResourceClaim" | "ResourceClaimTemplate":
            from policycheck.systems.core.claims import read as read_claim

            return read_claim(value, key)
        case "LimitRange":
            from policycheck.systems.core.defaults import limit_range

            return limit_range(value, key.namespace, key.name, troubles)
        case "RuntimeClass":
            from policycheck.systems.core.defaults import runtime_class

            return runtime_class(value, key.name, troubles)
    made = workload(value, key, _NATURE[key.kind], _pod_sets(value, key.kind, troubles))
    if key.kind == "CronJob":
        # The Jobs that it makes carry what the job template says, not what the CronJob does.
        meta = mapping(mapping(mapping(value.get("spec")).get("jobTemplate")).get("metadata"))
        made = made._replace(labels=labels(meta.get("labels")), annotations=labels(meta.get("annotations")))
    if key.kind == "Job" and not made.labels:
        # The API server gives a Job without labels those of its pods (SetDefaults_Job of batch/v1).
        made = made._replace(labels=made.pod_sets[0].labels)
    if key.kind in ("Deployment", "ReplicaSet"):
        made = made._replace(copies=made.pod_sets[0].pods)  # no pod waits for another
    return made


def workload(value: Value, key: ObjectKey, nature: str, pod_sets: tuple[PodSet, ...]) -> Workload:
    """A Workload out of an object and the podsets that were found in it."""
    meta, spec, status = (mapping(value.get(k)) for k in ("metadata", "spec", "status"))
    suspend = spec.get("suspend")
    is_pod = key.kind == "Pod"
    return Workload(
        key=key,
        nature=nature,
        pod_sets=pod_sets,
        labels=labels(meta.get("labels")),
        annotations=labels(meta.get("annotations")),
        created=text(meta.get("creationTimestamp")),
        uid=text(meta.get("uid")),
        owner=owner(meta, key.namespace),
        node=text(spec.get("nodeName")) if is_pod else "",
        phase=text(status.get("phase")) if is_pod else "",
        suspended=suspend if isinstance(suspend, bool) else None,
        api_version=text(value.get("apiVersion")),
    )


def owner(meta: Value, namespace: str) -> ObjectKey | None:
    """The controlling owner of an object."""
    for raw in items(meta.get("ownerReferences")):
        reference = mapping(raw)
        if reference.get("controller") is True:
            group = text(reference.get("apiVersion")).rpartition("/")[0]
            return ObjectKey(group, text(reference.get("kind")), namespace, text(reference.get("name")))
    return None


def _pod_sets(value: Value, kind: str, troubles: Troubles) -> tuple[PodSet, ...]:
    spec = mapping(value.get("spec"))
    if kind == "Pod":
        return (pod_set("main", 1, value, (), troubles),)
    path: Path = ("spec", "template")
    if kind == "CronJob":
        spec = mapping(mapping(spec.get("jobTemplate")).get("spec"))
        path = ("spec", "jobTemplate", "spec", "template")
    pods = 1
    if kind in ("Job", "CronJob"):
        # Kueue charges what can run at once: parallelism, but no more than is left to complete.
        pods = whole(spec.get("parallelism"), 1)
        if spec.get("completions") is not None:
            pods = min(pods, whole(spec.get("completions"), pods))
    elif kind != "DaemonSet":
        pods = whole(spec.get("replicas"), 1)
    return (pod_set("main", max(0, pods), spec.get("template"), path, troubles),)
