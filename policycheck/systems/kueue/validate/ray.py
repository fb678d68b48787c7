"""What Kueue's webhooks refuse about Ray objects that name a queue.

Source: the documentation pages "Run RayJob" and "Run RayCluster" (limitations); facts on Ray and Kueue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.workload import Workload
from policycheck.systems.core.podspec import items, mapping
from policycheck.systems.kueue.jobs import QUEUE_LABEL, is_elastic
from policycheck.systems.ray.facts import cluster_of


def problems(job: Workload, value: Mapping[str, Any]) -> Iterator[Trouble]:
    """Every reason to refuse a Ray object; nothing when it names no queue."""
    if QUEUE_LABEL not in job.labels:
        return
    cluster, at = cluster_of(value, job.key.kind)
    spec = mapping(value.get("spec"))
    if job.key.kind == "RayJob":
        if spec.get("clusterSelector"):
            say = (
                "a RayJob in a queue brings its own cluster; write rayClusterSpec in place of clusterSelector"
            )
            yield Trouble("ray-selector", ("spec", "clusterSelector"), say)
            return
        if spec.get("shutdownAfterJobFinishes") is not True:
            say = (
                "shutdownAfterJobFinishes has to be true in a queue, or the cluster keeps its quota for ever"
            )
            yield Trouble("ray-shutdown", ("spec", "shutdownAfterJobFinishes"), say)
    if cluster.get("enableInTreeAutoscaling") is True and not is_elastic(job):
        say = (
            'autoscaling in a queue needs the annotation kueue.x-k8s.io/elastic-job: "true" on the object; '
            "add it, or turn enableInTreeAutoscaling off"
        )
        where: Path = (*at, "enableInTreeAutoscaling")
        yield Trouble("ray-autoscaling", where, say)
    for n, raw in enumerate(items(cluster.get("workerGroupSpecs"))):
        if mapping(raw).get("groupName") == "head":
            say = "a worker group is called 'head', which is the head's podset; give it another name"
            yield Trouble("ray-head-name", (*at, "workerGroupSpecs", n, "groupName"), say)
