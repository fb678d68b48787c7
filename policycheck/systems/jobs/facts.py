"""One document of another project's job to Facts: its podsets, as Kueue names and counts them.

Sources: each project's API reference; Kueue's documentation pages "Run JobSets", "Run Kubeflow jobs",
"Run TrainJobs", "Run LeaderWorkerSet", "Run AppWrappers", "Run SparkApplications".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from policycheck.model.conform import prune
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import ObjectKey
from policycheck.model.workload import PodSet
from policycheck.record import NamedTuple
from policycheck.systems.core.facts import workload
from policycheck.systems.core.podspec import mapping, text

Value = Mapping[str, Any]
Reader = Callable[[Value, str, list[Trouble]], "Made"]


class Made(NamedTuple):
    """What a kind's reader finds in an object."""

    pod_sets: tuple[PodSet, ...]
    nature: str = "batch"
    priority_class: str = ""
    copies: int = 1
    suspended: bool | None = None


# kind -> the module that reads it, the newest served version
_READERS: Mapping[str, tuple[str, str]] = {
    "JobSet": ("jobset", "v1alpha2"),
    "PyTorchJob": ("kubeflow", "v1"),
    "TFJob": ("kubeflow", "v1"),
    "XGBoostJob": ("kubeflow", "v1"),
    "PaddleJob": ("kubeflow", "v1"),
    "JAXJob": ("kubeflow", "v1"),
    "MPIJob": ("kubeflow", "v2beta1"),
    "TrainJob": ("train", "v1alpha1"),
    "TrainingRuntime": ("train", "v1alpha1"),
    "ClusterTrainingRuntime": ("train", "v1alpha1"),
    "LeaderWorkerSet": ("lws", "v1"),
    "AppWrapper": ("appwrapper", "v1beta2"),
    "SparkApplication": ("spark", "v1beta2"),
}


def read(value: Mapping[str, Any], group: str, kind: str, version: str) -> Facts | None:
    """Facts of one document, or None for a kind of these groups that is no job."""
    if kind not in _READERS:
        return None
    module, newest = _READERS[kind]
    clean = prune(value)
    meta = mapping(clean.get("metadata"))
    namespace = "" if kind == "ClusterTrainingRuntime" else text(meta.get("namespace"))
    key = ObjectKey(group, kind, namespace, text(meta.get("name")) or text(meta.get("generateName")))
    troubles: list[Trouble] = []
    if not version:
        say = f"apiVersion is missing; write {group}/{newest}, or nobody can apply this {kind}"
        troubles.append(Trouble("missing-field", ("apiVersion",), say))
    typed = _typed(import_module(f"policycheck.systems.jobs.{module}"), clean, key, troubles)
    return Facts(key, text(clean.get("apiVersion")), "jobs", clean, typed, (), tuple(troubles))


def _typed(module: Any, value: Value, key: ObjectKey, troubles: list[Trouble]) -> object:
    if key.kind.endswith("TrainingRuntime"):
        runtime: object = module.runtime(value, key, troubles)
        return runtime
    read_job: Reader = module.read
    made = read_job(value, key.kind, troubles)
    job = workload(value, key, made.nature, made.pod_sets)
    suspended = job.suspended if made.suspended is None else made.suspended
    return job._replace(priority_class=made.priority_class, copies=made.copies, suspended=suspended)
