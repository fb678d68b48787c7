"""LeaderWorkerSet: every replica is a gang of its own, a leader and size - 1 workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.amount import clamp
from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import mapping, pod_set, whole
from policycheck.systems.jobs.facts import Made


def read(value: Mapping[str, Any], kind: str, troubles: list[Trouble]) -> Made:  # noqa: ARG001 - one signature
    """A LeaderWorkerSet. Without a leader template all pods of a replica are alike: one podset."""
    spec = mapping(value.get("spec"))
    template = mapping(spec.get("leaderWorkerTemplate"))
    replicas = max(0, whole(spec.get("replicas"), 1))
    size = max(1, whole(template.get("size"), 1))
    at: Path = ("spec", "leaderWorkerTemplate")
    found = []
    name, workers = "main", size
    if isinstance(template.get("leaderTemplate"), dict):
        where: Path = (*at, "leaderTemplate")
        found.append(pod_set("leader", replicas, template["leaderTemplate"], where, troubles))
        name, workers = "worker", size - 1
    pods = clamp(workers * replicas)
    found.append(pod_set(name, pods, template.get("workerTemplate"), (*at, "workerTemplate"), troubles))
    return Made(tuple(found), nature="service", copies=replicas)
