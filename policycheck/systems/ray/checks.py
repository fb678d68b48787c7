"""Checks about Ray objects that no queue manages, or that hold whatever manages them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.model.workload import Workload
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.ray.facts import cluster_of

Found = Iterator[Hit | Skip]
_QUEUE_LABELS = ("kueue.x-k8s.io/queue-name",)


def _ray(cluster: Cluster, *kinds: str) -> Iterator[tuple[DocumentId, Workload, Mapping[str, object]]]:
    for kind in kinds:
        keys = cluster.index.kinds.get(("ray.io", kind), {})
        for identity in (i for key in sorted(keys) for i in keys[key]):
            facts = cluster.entries[identity].facts
            if isinstance(facts.typed, Workload):
                yield identity, facts.typed, facts.value


def keeps_cluster(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """A RayJob outside queues whose cluster stays after the job: its GPUs are held by nobody."""
    for identity, job, value in _ray(cluster, "RayJob"):
        spec = mapping(value.get("spec"))
        if spec.get("shutdownAfterJobFinishes") is True or spec.get("clusterSelector"):
            continue
        if any(label in job.labels for label in _QUEUE_LABELS) or spec.get("deletionStrategy"):
            continue
        devices: dict[str, int] = {}
        for pods in job.pod_sets:
            for resource, amount in pods.requests.items():
                if is_accelerator(resource) and amount:
                    devices[resource] = devices.get(resource, 0) + amount * pods.pods
        if devices:
            shown = " and ".join(f"{n} {r}" for r, n in sorted(devices.items()))
            values = {"workload": str(job.key), "devices": shown}
            yield Hit(identity, ("spec", "shutdownAfterJobFinishes"), values)


def gpus_unused(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """rayStartParams.num-gpus that contradicts what the pods hold."""
    for identity, job, value in _ray(cluster, "RayCluster", "RayJob", "RayService"):
        spec, at = cluster_of(value, job.key.kind)
        groups: list[tuple[Path, Mapping[str, object]]] = [
            (("headGroupSpec",), mapping(spec.get("headGroupSpec")))
        ]
        groups += [
            (("workerGroupSpecs", n), mapping(raw))
            for n, raw in enumerate(items(spec.get("workerGroupSpecs")))
        ]
        for steps, group in groups:
            raw = text(mapping(group.get("rayStartParams")).get("num-gpus"))
            pods = next((p for p in job.pod_sets if p.path == (*at, *steps, "template")), None)
            if not raw.isdigit() or pods is None:
                continue
            held = sum(v for r, v in pods.requests.items() if is_accelerator(r))
            if (int(raw) > 0) == (held > 0):
                continue
            what = f"holds {held} and tells Ray of none" if held else f"tells Ray of {raw} and holds none"
            values = {"workload": str(job.key), "group": pods.name, "what": what}
            yield Hit(identity, (*at, *steps, "rayStartParams", "num-gpus"), values)
