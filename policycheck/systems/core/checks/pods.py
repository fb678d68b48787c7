"""Requests and limits of containers, whoever schedules them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit, Skip
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.model.workload import ContainerRequest, Workload
from policycheck.source.document import Change
from policycheck.systems.core.mend import at

Found = Iterator[Hit | Skip]
_BYTES = ("memory", "ephemeral-storage")
_MEBIBYTE = 2**20
_MOST_GIBIBYTES = 4096  # that a container may have


def containers(cluster: Cluster) -> Iterator[tuple[DocumentId, Workload, ContainerRequest]]:
    """Every container of every object that makes pods and that nobody else made."""
    for identity, entry in cluster.entries.items():
        typed = entry.facts.typed
        if isinstance(typed, Workload) and typed.owner is None:
            for container in (c for pods in typed.pod_sets for c in pods.containers):
                yield identity, typed, container


def request_above_limit(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """More requested than the limit allows: the API server refuses the pod."""
    for identity, _, container in containers(cluster):
        for resource, amount in container.requests.items():
            limit = container.limits.get(resource)
            if "/" in resource or limit is None or amount <= limit:
                continue  # extended resources have a rule of their own
            values = {
                "container": container.name,
                "resource": resource,
                "request": show(resource, amount),
                "limit": show(resource, limit),
            }
            path: Path = (*container.path, "resources", "requests", resource)
            raised = at(cluster.entries[identity].facts.value, path)
            change = Change(identity, (*container.path, "resources", "limits", resource), "set", raised)
            yield Hit(identity, path, values, changes=() if raised is None else (change,))


def memory_without_unit(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """Memory of less than one mebibyte: a number without its unit is bytes."""
    for identity, _, container in containers(cluster):
        for field, amounts in (("requests", container.requests), ("limits", container.limits)):
            for resource, amount in amounts.items():
                if resource not in _BYTES or not 0 < amount < _MEBIBYTE:
                    continue
                if field == "limits" and 0 < container.requests.get(resource, 0) < _MEBIBYTE:
                    continue  # one slip, said once
                values = {
                    "container": container.name,
                    "resource": resource,
                    "field": field,
                    "amount": amount,
                }
                base: Path = (*container.path, "resources")
                fields = [f for f in ("requests", "limits") if getattr(container, f).get(resource) == amount]
                # A container has no 64 bytes; what is meant is most often 64Gi.
                changes = tuple(
                    Change(identity, (*base, f, resource), "set", f"{amount}Gi")
                    for f in fields
                    if amount <= _MOST_GIBIBYTES
                )
                yield Hit(identity, (*base, field, resource), values, changes=changes)
