"""LimitRanges that give or refuse accelerators, claims for devices that nobody defines, kubelets.

Sources: the Kubernetes documentation pages "Limit Ranges" (and the API reference: what ``max`` and
``min`` fall back to), "Dynamic Resource Allocation", "Control Topology Management Policies on a node".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.hit import Hit, Related
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.core.defaults import LimitRange
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.core.slices import DRIVERS
from policycheck.systems.gpu.checks.common import (
    ALLOCATABLE,
    Asking,
    Fault,
    Found,
    Params,
    asking,
    at_nodes,
    core,
    documents,
    near,
    node_objects,
)
from policycheck.systems.gpu.facts import DeviceClass, Kubelet
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.wording import join

_DRA = "resource.k8s.io"


def _ranges(cluster: Cluster) -> Iterator[tuple[DocumentId, Mapping[str, Any], LimitRange]]:
    for identity, facts in documents(cluster, "", "LimitRange"):
        if isinstance(facts.typed, LimitRange):
            yield identity, facts.value, facts.typed


def _place(value: Mapping[str, Any], kind: str, fields: tuple[str, ...], resource: str) -> Path:
    """Where a LimitRange says something of a resource; the first of ``fields`` that does."""
    limits = items(mapping(value.get("spec")).get("limits"))
    for field in fields:
        for n, one in enumerate(limits):
            if mapping(one).get("type") == kind and resource in mapping(mapping(one).get(field)):
                return ("spec", "limits", n, field, resource)
    return ("spec", "limits")


def limit_range_gives_gpus(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A default of accelerators for containers: ``max`` and ``default`` are given to all that name none."""
    for identity, value, limits in _ranges(cluster):
        for resource, amount in limits.limits.items():
            if not is_accelerator(resource) or amount <= 0:
                continue
            path = _place(value, "Container", ("default", "max"), resource)
            values = {
                "name": limits.name,
                "namespace": limits.namespace,
                "field": path[3] if len(path) > 3 else "default",
                "amount": amount,
                "resource": resource,
            }
            yield Hit(identity, path, values)


def limit_range_refuses(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Pods that ask for more accelerators than the LimitRange of their namespace allows."""
    held: dict[str, list[tuple[DocumentId, Mapping[str, Any], LimitRange]]] = {}
    for one in _ranges(cluster):
        held.setdefault(one[2].namespace, []).append(one)
    for ask in asking(cluster):
        for identity, value, limits in held.get(ask.workload.key.namespace, ()):
            for path, kind, resource, amount, most in _beyond(ask, limits):
                values = {
                    "workload": ask.name,
                    "what": "a container" if kind == "Container" else "the pod",
                    "amount": amount,
                    "resource": resource,
                    "most": most,
                    "name": limits.name,
                }
                because = (Related(identity, _place(value, kind, ("max",), resource), f"at most {most}"),)
                yield Hit(ask.id, path, values, because, discriminator=f"{limits.name} {kind}")


def _beyond(ask: Asking, limits: LimitRange) -> Iterator[tuple[Path, str, str, int, int]]:
    for resource, most in limits.most.items():
        for container in ask.pods.containers:
            amount = max(container.limits.get(resource, 0), container.requests.get(resource, 0))
            if is_accelerator(resource) and amount > most:
                field = "limits" if resource in container.limits else "requests"
                yield (*container.path, "resources", field, resource), "Container", resource, amount, most
    for resource, most in limits.pod_most.items():
        amount = ask.pods.requests.get(resource, 0)
        if is_accelerator(resource) and amount > most:
            yield (*ask.pods.path, "spec", "containers"), "Pod", resource, amount, most


def device_class_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A claim for a device class that is not in sight, while others are."""
    known = {
        f.typed.name for _, f in documents(cluster, _DRA, "DeviceClass") if isinstance(f.typed, DeviceClass)
    }
    if not known:
        return
    for kind in ("ResourceClaim", "ResourceClaimTemplate"):
        for identity, facts in documents(cluster, _DRA, kind):
            for path, name in _classes(facts.value, kind):
                if name and name not in known:
                    other = near(name, known)
                    values = {
                        "object": str(facts.key),
                        "name": name,
                        "hint": f"; did you mean {other}?" if other else f"; there are {join(sorted(known))}",
                    }
                    yield Hit(identity, path, values)


def _classes(value: Mapping[str, Any], kind: str) -> Iterator[tuple[Path, str]]:
    """Every device class that a claim names, with its place, in any version."""
    at: Path = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
    spec: Mapping[str, Any] = value
    for step in at:
        spec = mapping(spec.get(str(step)))
    for n, request in enumerate(items(mapping(spec.get("devices")).get("requests"))):
        where: Path = (*at, "devices", "requests", n)
        yield (*where, "deviceClassName"), text(mapping(request).get("deviceClassName"))
        exactly = mapping(mapping(request).get("exactly"))
        yield (*where, "exactly", "deviceClassName"), text(exactly.get("deviceClassName"))
        for m, one in enumerate(items(mapping(request).get("firstAvailable"))):
            yield (*where, "firstAvailable", m, "deviceClassName"), text(mapping(one).get("deviceClassName"))


def advertised_twice(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Nodes whose GPUs the device plugin offers and a driver publishes: each hands them out by itself."""
    publishing = {
        part.node
        for part in core(cluster).slices
        if part.driver in DRIVERS and any(device.kind in ("", "gpu") for device in part.devices)
    }
    faults = []
    for node in node_objects(cluster):
        if node.name not in publishing:
            continue
        for resource, amount in (node.allocatable or {}).items():
            if is_accelerator(resource) and amount > 0:
                what = f"offers {amount} {resource}, and a driver publishes its GPUs in ResourceSlices too"
                faults.append(Fault(node, (*ALLOCATABLE, resource), what))
                break
    return at_nodes(cluster, faults)


def numa_impossible(cluster: Cluster, params: Params) -> Found:
    """Single-numa-node, and pods that ask for more GPUs than a socket of the largest node can have."""
    sockets = max(1, int(str(params.get("sockets", 2))))
    for identity, facts in documents(cluster, "kubelet.config.k8s.io", "KubeletConfiguration"):
        told = facts.typed
        if not isinstance(told, Kubelet) or told.topology_policy != "single-numa-node":
            continue
        largest: dict[str, int] = {}
        for node in cluster.inventory.nodes:
            for resource, amount in (node.allocatable or {}).items():
                if is_accelerator(resource):
                    largest[resource] = max(largest.get(resource, 0), amount)
        beyond = [one for ask in asking(cluster) for one in _over_socket(ask, told, largest, sockets)]
        if beyond:
            ask, resource, amount = max(beyond, key=lambda one: (one[2], one[0].name))
            values = {
                "workload": ask.name,
                "scope": told.topology_scope,
                "amount": amount,
                "resource": resource,
                "node": largest[resource],
                "sockets": sockets,
                "more": f" (and {len(beyond) - 1} more)" if len(beyond) > 1 else "",
            }
            because = tuple(
                Related(a.id, (*a.pods.path, "spec"), f"asks for {n} {r}") for a, r, n in beyond[:4]
            )
            yield Hit(identity, ("topologyManagerPolicy",), values, because)


def _over_socket(
    ask: Asking, told: Kubelet, largest: Mapping[str, int], sockets: int
) -> Iterator[tuple[Asking, str, int]]:
    """What one container (or the pod, by the scope) asks beyond an even share of a socket."""
    for resource, node in largest.items():
        if told.topology_scope == "pod":
            amount = ask.pods.requests.get(resource, 0)
        else:
            held = [max(c.limits.get(resource, 0), c.requests.get(resource, 0)) for c in ask.pods.containers]
            amount = max(held, default=0)
        # What is more than the whole node is another fault.
        if node >= 2 * sockets and node // sockets < amount <= node:
            yield ask, resource, amount
