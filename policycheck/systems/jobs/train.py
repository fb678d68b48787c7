"""TrainJob (Kubeflow Trainer): its podsets are those of the runtime that it names.

Alone, a TrainJob says only how many nodes it wants and what each gets; ``resolve`` completes it once
the runtime is in sight. Source: the Kubeflow Trainer API reference (v1alpha1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.origin import ObjectKey, Path
from policycheck.model.workload import PodSet, Workload
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import labels, mapping, pod_set, text, whole
from policycheck.systems.jobs import TRAINER
from policycheck.systems.jobs.facts import Made
from policycheck.systems.jobs.jobset import replicated

_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER_STEP = "trainer"


class TrainingRuntime(NamedTuple):
    """The template of a TrainJob: podsets, and which of them is the trainer."""

    key: ObjectKey
    pod_sets: tuple[PodSet, ...]
    trainer: str = "node"
    nodes: int = 1  # mlPolicy.numNodes


def runtime(value: Mapping[str, Any], key: ObjectKey, troubles: list[Trouble]) -> TrainingRuntime:
    """A TrainingRuntime or ClusterTrainingRuntime."""
    spec = mapping(value.get("spec"))
    jobs = mapping(mapping(spec.get("template")).get("spec")).get("replicatedJobs")
    at: Path = ("spec", "template", "spec", "replicatedJobs")
    trainer = "node"
    for raw in jobs if isinstance(jobs, list) else ():
        meta = mapping(mapping(mapping(raw).get("template")).get("metadata"))
        if labels(meta.get("labels")).get(_ANCESTOR) == _TRAINER_STEP:
            trainer = text(mapping(raw).get("name"))
    nodes = whole(mapping(spec.get("mlPolicy")).get("numNodes"), 1)
    return TrainingRuntime(key, replicated(jobs, at, troubles), trainer, nodes)


def read(value: Mapping[str, Any], kind: str, troubles: list[Trouble]) -> Made:  # noqa: ARG001 - one signature
    """A TrainJob by itself: one podset called ``node``."""
    trainer = mapping(mapping(value.get("spec")).get("trainer"))
    template = {"spec": {"containers": [{"resources": mapping(trainer.get("resourcesPerNode"))}]}}
    pods = max(0, whole(trainer.get("numNodes"), 1))
    where: Path = ("spec", "trainer")
    made = pod_set("node", pods, template, where, troubles)
    return Made((made._replace(containers=()),))


def runtime_key(value: Mapping[str, Any], namespace: str) -> ObjectKey:
    """The runtime that a TrainJob names; a ClusterTrainingRuntime when it does not say which kind."""
    reference = mapping(mapping(value.get("spec")).get("runtimeRef"))
    kind = text(reference.get("kind")) or "ClusterTrainingRuntime"
    group = text(reference.get("apiGroup")) or TRAINER
    return ObjectKey(
        group, kind, "" if kind == "ClusterTrainingRuntime" else namespace, text(reference.get("name"))
    )


def resolve(job: Workload, value: Mapping[str, Any], found: TrainingRuntime) -> Workload:
    """``job`` with the podsets of its runtime; what the job states itself wins for the trainer."""
    trainer = mapping(mapping(value.get("spec")).get("trainer"))
    own = job.pod_sets[0] if job.pod_sets else None
    made = []
    for one in found.pod_sets:
        if one.name != found.trainer:
            made.append(one)
            continue
        pods = whole(trainer.get("numNodes"), found.nodes)
        requests = own.requests if own is not None and trainer.get("resourcesPerNode") else one.requests
        made.append(one._replace(pods=max(0, pods), requests=requests))
    return job._replace(pod_sets=tuple(made)) if made else job
