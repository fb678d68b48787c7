"""One Ray document to Facts: a head, worker groups, and for a job its submitter.

Source: KubeRay's API reference; the Kueue documentation pages "Run RayJob" and "Run RayCluster".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.amount import clamp
from policycheck.model.conform import prune
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import ObjectKey, Path
from policycheck.model.workload import PodSet
from policycheck.systems.core.facts import workload
from policycheck.systems.core.podspec import items, mapping, pod_set, text, whole

_CLUSTER: Mapping[str, Path] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}


def read(value: Mapping[str, Any], group: str, kind: str, version: str) -> Facts | None:
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


def _pod_sets(value: Mapping[str, Any], kind: str, troubles: list[Trouble]) -> tuple[PodSet, ...]:
    at = _CLUSTER[kind]
    cluster: Mapping[str, Any] = value
    for step in at:
        cluster = mapping(cluster.get(str(step)))
    found = []
    head = mapping(cluster.get("headGroupSpec"))
    if head:
        found.append(pod_set("head", 1, head.get("template"), (*at, "headGroupSpec", "template"), troubles))
    for n, raw in enumerate(items(cluster.get("workerGroupSpecs"))):
        group = mapping(raw)
        pods = clamp(max(0, whole(group.get("replicas"), 1)) * max(1, whole(group.get("numOfHosts"), 1)))
        where: Path = (*at, "workerGroupSpecs", n, "template")
        name = text(group.get("groupName")) or f"worker-{n}"
        found.append(pod_set(name, pods, group.get("template"), where, troubles))
    submitter = mapping(value.get("spec")).get("submitterPodTemplate")
    if kind == "RayJob" and isinstance(submitter, dict):
        found.append(pod_set("submitter", 1, submitter, ("spec", "submitterPodTemplate"), troubles))
    return tuple(found)
