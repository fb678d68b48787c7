"""JobSet: one podset a replicated job, as many pods as its Jobs can run at once, times replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.amount import clamp
from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.workload import PodSet
from policycheck.systems.core.podspec import items, mapping, pod_set, text, whole
from policycheck.systems.jobs.facts import Made

Value = Mapping[str, Any]


def running(job: Value) -> int:
    """Pods of one Job that run at once: parallelism, but no more than completions."""
    pods = whole(job.get("parallelism"), 1)
    if job.get("completions") is not None:
        pods = min(pods, whole(job.get("completions"), pods))
    return max(0, pods)


def replicated(jobs: object, at: Path, troubles: list[Trouble]) -> tuple[PodSet, ...]:
    """The podsets of a list of replicated jobs at ``at``."""
    found = []
    for n, raw in enumerate(items(jobs)):
        one = mapping(raw)
        job = mapping(mapping(one.get("template")).get("spec"))
        pods = clamp(running(job) * max(0, whole(one.get("replicas"), 1)))
        where: Path = (*at, n, "template", "spec", "template")
        found.append(pod_set(text(one.get("name")), pods, job.get("template"), where, troubles))
    return tuple(found)


def read(value: Value, kind: str, troubles: list[Trouble]) -> Made:  # noqa: ARG001 - one signature
    """A JobSet."""
    jobs = mapping(value.get("spec")).get("replicatedJobs")
    return Made(replicated(jobs, ("spec", "replicatedJobs"), troubles))
