"""Kubeflow's training jobs (v1) and MPIJob (v1, v2beta1): one podset a replica type, in fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.workload import PodSet
from policycheck.systems.core.podspec import mapping, pod_set, text, whole
from policycheck.systems.jobs.facts import Made

# kind -> the field with its replica types, and their order in the Workload
_TYPES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "PyTorchJob": ("pytorchReplicaSpecs", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator")),
    "XGBoostJob": ("xgbReplicaSpecs", ("Master", "Worker")),
    "PaddleJob": ("paddleReplicaSpecs", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", ("Worker",)),
    "MPIJob": ("mpiReplicaSpecs", ("Launcher", "Worker")),
}


def read(value: Mapping[str, Any], kind: str, troubles: list[Trouble]) -> Made:
    """A training job. Types are matched whatever their case, as the operator does."""
    spec = mapping(value.get("spec"))
    field, order = _TYPES[kind]
    given = {str(name).lower(): (str(name), mapping(s)) for name, s in mapping(spec.get(field)).items()}
    found: list[PodSet] = []
    for name in order:
        if name.lower() not in given:
            continue
        written, replica = given[name.lower()]
        pods = max(0, whole(replica.get("replicas"), 1))
        where = ("spec", field, written, "template")
        found.append(pod_set(name.lower(), pods, replica.get("template"), where, troubles))
    policy = mapping(spec.get("runPolicy"))
    suspend = policy.get("suspend")
    return Made(
        tuple(found),
        priority_class=text(mapping(policy.get("schedulingPolicy")).get("priorityClass")),
        suspended=suspend if isinstance(suspend, bool) else None,
    )
