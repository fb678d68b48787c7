"""Checks about accelerators in pods, whoever schedules them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.workload import Workload
from policycheck.systems.gpu.resources import is_accelerator


def request_differs_from_limit(cluster: Cluster, params: Mapping[str, object]) -> Iterator[Hit | Skip]:  # noqa: ARG001
    """A container whose request for accelerators is not its limit: the API server refuses the pod.

    Extended resources can not be overcommitted: a limit is required and the request equals it
    (Kubernetes documentation, "Extended resources").
    """
    for identity, entry in cluster.entries.items():
        typed = entry.facts.typed
        if not isinstance(typed, Workload):
            continue
        for container in (c for pods in typed.pod_sets for c in pods.containers):
            for resource, amount in container.requests.items():
                if not is_accelerator(resource) or not amount or container.limits.get(resource) == amount:
                    continue
                limit = container.limits.get(resource)
                values = {
                    "container": container.name,
                    "resource": resource,
                    "request": amount,
                    "limit": "no limit" if limit is None else f"a limit of {limit}",
                }
                yield Hit(identity, (*container.path, "resources", "requests", resource), values)
