"""Services that a platform makes pods for: KServe's InferenceService.

Sources: KServe API reference serving.kserve.io/v1beta1 (ComponentExtensionSpec: minReplicas, 1 where nothing is
written; a component inlines a pod's spec, a model takes what it does not say from its ServingRuntime), documentation
"Deployment modes" (Standard, once RawDeployment: a Deployment with its own strategy; Knative, once Serverless: a
new revision is whole before the old one goes). An autoscaler of pods never goes below one replica.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policycheck.certify.arena import Service
from policycheck.certify.promise import Shape
from policycheck.model.cluster import Cluster
from policycheck.model.origin import ObjectKey
from policycheck.model.workload import PodSet
from policycheck.systems.core.link import CoreState
from policycheck.systems.core.podspec import items, labels, mapping, pod_set
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.arena.rollout import surge_of
from policycheck.systems.kueue.jobs import PRIORITY_LABEL, QUEUE_LABEL
from policycheck.systems.kueue.model import KueueObjects

KIND = "InferenceService"
_GROUP = "serving.kserve.io"
_COMPONENTS = ("predictor", "transformer", "explainer")
_MODE, _CLASS = f"{_GROUP}/deploymentMode", f"{_GROUP}/autoscalerClass"
_STANDARD, _KNATIVE = frozenset({"Standard", "RawDeployment"}), frozenset({"Knative", "Serverless"})
_MAIN = "kserve-container"
# A predictor names its framework, which then holds what a container holds.
_FRAMEWORKS = (
    "model",
    "sklearn",
    "xgboost",
    "tensorflow",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
    "paddle",
)

Value = Mapping[str, Any]


class Read(NamedTuple):
    """Services, and names of those whose pods can not be told."""

    services: tuple[Service, ...]
    unread: tuple[str, ...]


def inference_services(cluster: Cluster, objects: KueueObjects) -> Read:
    """Every component of every InferenceService that asks for accelerators."""
    found: list[Service] = []
    unread: list[str] = []
    mode, there = _default_mode(cluster), _made(cluster)
    for key, entry in sorted(cluster.index.of_kind(_GROUP, KIND)):
        if (key.namespace, key.name) in there:
            continue
        made = list(_components(cluster, objects, key, entry.facts.value, mode))
        if None in made:
            unread.append(f"{KIND} {key.namespace}/{key.name}")
        found += [one for one in made if one is not None]
    return Read(tuple(found), tuple(unread))


def _made(cluster: Cluster) -> set[tuple[str, str]]:
    """Services whose Deployments are in sight themselves, as in what a live cluster lists."""
    return {
        (key.namespace, str(mapping(owner).get("name", "")))
        for key, entry in cluster.index.of_kind("apps", "Deployment")
        for owner in items(mapping(entry.facts.value.get("metadata")).get("ownerReferences"))
        if mapping(owner).get("kind") == KIND
    }


def _components(
    cluster: Cluster, objects: KueueObjects, key: ObjectKey, value: Value, default: str
) -> Iterator[Service | None]:
    """None for one that can not be read."""
    meta, spec = mapping(value.get("metadata")), mapping(value.get("spec"))
    notes = labels(meta.get("annotations"))
    mode = notes.get(_MODE, default)
    for name in _COMPONENTS:
        part = mapping(spec.get(name))
        if not part:
            continue
        template = _template(cluster, key, part)
        if template is None or part.get("workerSpec") or mode not in _STANDARD | _KNATIVE:
            yield None
            continue
        own = {**labels(meta.get("labels")), **labels(part.get("labels"))}
        pods = _fewest(part, mode, notes.get(_CLASS, "hpa"))
        made = pod_set("main", pods, {"metadata": {"labels": own}, "spec": template}, ("spec", name), [])
        if any(is_accelerator(r) and a > 0 for r, a in made.requests.items()):
            title = f"{KIND} {key.namespace}/{key.name}" + (f" {name}" if name != "predictor" else "")
            yield _service(cluster, objects, key, title, made, own, _surge(part, mode, pods))


def _service(
    cluster: Cluster,
    objects: KueueObjects,
    key: ObjectKey,
    title: str,
    made: PodSet,
    own: Mapping[str, str],
    surge: int,
) -> Service:
    local = objects.local_queues.get((key.namespace, own.get(QUEUE_LABEL, "")))
    name, value = _priority(cluster, objects, own.get(PRIORITY_LABEL, ""), made.priority_class)
    shape = Shape(title, (made,), name, value, source=str(key))
    return Service(title, shape, local.cluster_queue if local is not None else "", (surge,))


def _priority(cluster: Cluster, objects: KueueObjects, label: str, of_pods: str) -> tuple[str, int]:
    """That of the label, else that of the pods, as for every job."""
    if label:
        known = objects.priority_classes.get(label)
        return label, known.value if known is not None else 0
    core = cluster.systems.get("core")
    classes = core.priority_classes if isinstance(core, CoreState) else {}
    return (of_pods, classes[of_pods].value) if of_pods in classes else ("", 0)


def _template(cluster: Cluster, key: ObjectKey, part: Value) -> Value | None:
    """The pod of a component; None when it is made of something that is not in sight."""
    framework = next((name for name in _FRAMEWORKS if part.get(name)), "")
    if not framework:
        return part if items(part.get("containers")) else None
    written = mapping(part[framework])
    main: Value = {"name": _MAIN, **written}
    runtime = _runtime(cluster, key.namespace, str(written.get("runtime", "")))
    if runtime is None:
        if not written.get("resources"):
            return None
        return {**part, "containers": [main, *_others(part.get("containers"))]}
    known: object = next((c for c in items(runtime.get("containers")) if mapping(c).get("name") == _MAIN), {})
    inherited = written.get("resources") or mapping(known).get("resources")
    containers = [{**main, "resources": inherited or {}}, *_others(runtime.get("containers"))]
    return {**{k: v for k, v in runtime.items() if k != "containers"}, **part, "containers": containers}


def _others(containers: object) -> list[Any]:
    return [c for c in items(containers) if mapping(c).get("name") != _MAIN]


def _runtime(cluster: Cluster, namespace: str, name: str) -> Value | None:
    for kind, space in (("ServingRuntime", namespace), ("ClusterServingRuntime", "")):
        for key, entry in cluster.index.of_kind(_GROUP, kind):
            if name and (key.namespace, key.name) == (space, name):
                return mapping(entry.facts.value.get("spec"))
    return None


def _fewest(part: Value, mode: str, scaler: str) -> int:
    least = part.get("minReplicas", 1)
    pods = least if isinstance(least, int) and not isinstance(least, bool) and least >= 0 else 1
    return max(1, pods) if mode in _STANDARD and scaler not in ("keda", "external") else pods


def _surge(part: Value, mode: str, pods: int) -> int:
    """Pods beside the old ones while a new version comes."""
    return surge_of(mapping(part.get("deploymentStrategy")), pods) if mode in _STANDARD else pods


def _default_mode(cluster: Cluster) -> str:
    """As the ConfigMap of KServe says it; Knative, as it is shipped, where none is in sight."""
    for key, entry in cluster.index.of_kind("", "ConfigMap"):
        if key.name != "inferenceservice-config":
            continue
        try:
            said = json.loads(str(mapping(entry.facts.value.get("data")).get("deploy", "")))
        except ValueError:
            continue
        if mapping(said).get("defaultDeploymentMode"):
            return str(said["defaultDeploymentMode"])
    return "Knative"
