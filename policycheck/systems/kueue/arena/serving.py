"""What serves in a scope: replicas that run all the time, with what a rollout adds to them.

Sources: Kubernetes documentation "Horizontal Pod Autoscaling" (minReplicas, 1 where nothing is
written); LeaderWorkerSet "rolling update" (maxSurge, 0); KubeRay "RayService upgrade" (a whole new cluster
beside the old one unless the strategy is None). StatefulSets replace their pods in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.certify.arena import Service
from policycheck.certify.promise import Shape
from policycheck.model.cluster import Cluster
from policycheck.model.origin import ObjectKey
from policycheck.model.workload import Workload
from policycheck.systems.core.link import CoreState
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.arena.platform import inference_services
from policycheck.systems.kueue.arena.rollout import part, surge_of
from policycheck.systems.kueue.model import KueueObjects, KueueWorkload

_APART = frozenset({"Deployment", "LeaderWorkerSet"})  # replicas are workloads of their own
_KINDS = (*sorted(_APART), "RayService", "StatefulSet")
_PLATFORMS = ("LLMInferenceService", "InferenceGraph", "SeldonDeployment", "NIMService")


def services(cluster: Cluster, objects: KueueObjects) -> list[Service]:
    """Everything that serves with accelerators."""
    core = cluster.systems.get("core")
    if not isinstance(core, CoreState):
        return []
    made: dict[ObjectKey, KueueWorkload] = {}
    for one in objects.workloads.values():
        if one.source is not None:
            made.setdefault(one.source, one)
    least = _autoscaled(cluster)
    found = []
    for key, workload in sorted(core.workloads.items()):
        if workload.nature != "service" or key.kind not in _KINDS or not _asks(workload):
            continue
        found.append(_service(cluster, objects, workload, made.get(key), least.get(key)))
    return sorted([*found, *inference_services(cluster, objects).services], key=lambda one: one.name)


def uncovered(cluster: Cluster, objects: KueueObjects) -> list[str]:
    """Kinds that make pods which serve, in a way that is not read, and services of which the pods can not be told."""
    seen = {kind for (_, kind), keys in cluster.index.kinds.items() if kind in _PLATFORMS and keys}
    return sorted({*seen, *inference_services(cluster, objects).unread})


def _asks(workload: Workload) -> bool:
    return any(is_accelerator(r) and a > 0 for spec in workload.pod_sets for r, a in spec.requests.items())


def _service(
    cluster: Cluster,
    objects: KueueObjects,
    workload: Workload,
    made: KueueWorkload | None,
    least: int | None,
) -> Service:
    key = workload.key
    entry = cluster.index.first(key)
    spec = _at(entry.facts.value if entry is not None else {}, "spec")
    sets = made.pod_sets if made is not None and key.kind not in _APART else workload.pod_sets
    if key.kind == "Deployment" and least is not None:
        sets = tuple(one._replace(pods=least) for one in sets)
    queue = ""
    if made is not None:
        local = objects.local_queues.get((made.namespace, made.queue))
        queue = local.cluster_queue if local is not None else ""
    shape = Shape(
        f"{key.kind} {key.namespace}/{key.name}",
        tuple(one._replace(name=one.name or "main") for one in sets),
        made.priority_class if made is not None else "",
        made.priority if made is not None else 0,
        source=str(key),
    )
    surge = tuple(_surge(key.kind, spec, one.pods, max(1, workload.copies)) for one in sets)
    return Service(shape.name, shape, queue, surge, key.kind in _APART)


def _at(value: object, *names: str) -> Mapping[str, Any]:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _surge(kind: str, spec: Mapping[str, Any], pods: int, copies: int) -> int:
    """Pods beside the old ones while a new version is rolled out."""
    if kind == "Deployment":
        return surge_of(_at(spec, "strategy"), pods)
    if kind == "LeaderWorkerSet":
        more = _at(spec, "rolloutStrategy", "rollingUpdateConfiguration").get("maxSurge", 0)
        return part(more, copies) * (pods // copies)
    if kind == "RayService":
        return 0 if _at(spec, "upgradeStrategy").get("type") == "None" else pods
    return 0


def _autoscaled(cluster: Cluster) -> dict[ObjectKey, int]:
    """The fewest replicas of what is scaled, by target."""
    found: dict[ObjectKey, int] = {}
    for key, entry in cluster.index.of_kind("autoscaling", "HorizontalPodAutoscaler"):
        spec = _at(entry.facts.value, "spec")
        target: Mapping[str, Any] = _at(spec, "scaleTargetRef")
        group = str(target.get("apiVersion", "")).rpartition("/")[0]
        of = ObjectKey(group, str(target.get("kind", "")), key.namespace, str(target.get("name", "")))
        least = spec.get("minReplicas", 1)
        if isinstance(least, int) and least >= 0:
            found[of] = least
    return found
