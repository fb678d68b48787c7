"""What containers ask of accelerators: amounts that the API server refuses, and ones that mean something else.

Source: the Kubernetes documentation pages "Managing Resources for Containers" (extended resources)
and "Schedule GPUs", and KEP-753 for init containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.hit import Hit, Skip
from policycheck.model.amount import QuantityError, quantity
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import Path
from policycheck.model.workload import ContainerRequest, Workload
from policycheck.source.document import Change
from policycheck.systems.core.podspec import mapping
from policycheck.systems.gpu import resources
from policycheck.systems.gpu.checks.common import Asking, Found, Params, asking, core, near, reach
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.wording import join

_FIELDS = ("requests", "limits")
# Who else a container may name a device of: devices of two vendors are on no one node.
_VENDORS = {
    "nvidia.com/": "NVIDIA",
    "amd.com/": "AMD",
    "gpu.intel.com/": "Intel",
    "habana.ai/": "Habana",
    "google.com/": "Google",
    "aws.amazon.com/": "AWS",
}


def request_differs_from_limit(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
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
                base: Path = (*container.path, "resources")
                change = Change(identity, (*base, "limits", resource), "set", amount)
                at = (*base, "requests", resource)
                # Of two numbers nobody can tell which is meant.
                safety = "" if limit is None else "unsafe"
                yield Hit(identity, at, values, changes=(change,), safety=safety)


def _written(cluster: Cluster, ask: Asking, container: ContainerRequest) -> Mapping[str, Any]:
    """``resources`` of a container as it is written."""
    value = reach(cluster.entries[ask.id].facts.value, container.path)
    return mapping(mapping(value).get("resources"))


def fraction_of_gpu(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A part of an accelerator: extended resources are whole numbers."""
    for ask in asking(cluster):
        for container in ask.pods.containers:
            held = _written(cluster, ask, container)
            for field in _FIELDS:
                for resource, raw in mapping(held.get(field)).items():
                    if not is_accelerator(str(resource)) or not _is_fraction(raw):
                        continue
                    if field == "requests" and _is_fraction(mapping(held.get("limits")).get(resource)):
                        continue  # one finding, at the limit
                    values = {
                        "container": container.name,
                        "workload": ask.name,
                        "resource": resource,
                        "raw": raw,
                    }
                    yield Hit(ask.id, (*container.path, "resources", field, str(resource)), values)


def _is_fraction(raw: object) -> bool:
    try:
        return raw is not None and quantity(raw).denominator != 1
    except QuantityError:
        return False


def two_vendors(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A pod that asks for accelerators of two vendors: no machine has both."""
    for ask in asking(cluster):
        found: dict[str, tuple[str, Path]] = {}
        for container in ask.pods.containers:
            for field in _FIELDS:
                for resource, amount in getattr(container, field).items():
                    vendor = next((v for prefix, v in _VENDORS.items() if resource.startswith(prefix)), "")
                    if vendor and amount > 0 and is_accelerator(resource):
                        place = (*container.path, "resources", field, resource)
                        found.setdefault(vendor, (resource, place))
        if len(found) > 1:
            (_, (one, _)), (_, (other, place)) = list(found.items())[:2]
            values = {"workload": ask.name, "one": one, "other": other}
            yield Hit(ask.id, place, values)


def init_container_holds_gpus(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """An init container that asks for more accelerators than what runs after it."""
    for ask in asking(cluster):
        running: dict[str, int] = {}
        for container in ask.pods.containers:
            if not container.init or container.sidecar:
                for resource, amount in {**container.requests, **container.limits}.items():
                    running[resource] = running.get(resource, 0) + amount
        for container in ask.pods.containers:
            if not container.init or container.sidecar:
                continue
            for resource, amount in {**container.requests, **container.limits}.items():
                after = running.get(resource, 0)
                if not is_accelerator(resource) or amount <= after:
                    continue
                field = "limits" if resource in container.limits else "requests"
                values = {
                    "container": container.name,
                    "workload": ask.name,
                    "resource": resource,
                    "amount": amount,
                    "after": after,
                }
                yield Hit(ask.id, (*container.path, "resources", field, resource), values)


def nobody_offers(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """An accelerator that no node offers under this name.

    Where a queue decides about the pods, the rules about quota say so.
    """
    queued = {work.key for work in cluster.view.workloads if work.queue}
    asks = [one for one in _devices(cluster) if one[0].workload.key not in queued]
    nodes = cluster.inventory.nodes
    # Nodes that come when they are needed, and claims for devices, may bring anything.
    if not asks or core(cluster).slices or any(n.most is None or n.most > n.machines for n in nodes):
        return
    if any(node.allocatable is None for node in nodes):
        yield Skip("some nodes do not say what they offer")
        return
    offered = {r for n in nodes for r, amount in (n.allocatable or {}).items() if amount > 0}
    gpus = sorted(r for r in offered if is_accelerator(r))
    for ask, container, resource, field in asks:
        if resource in offered or not gpus:
            continue
        values = {
            "workload": ask.name,
            "container": container.name,
            "resource": resource,
            "offered": join(gpus),
            "hint": _hint(resource, gpus, nodes),
        }
        yield Hit(ask.id, (*container.path, "resources", field, resource), values)


def _hint(resource: str, offered: list[str], nodes: tuple[Node, ...]) -> str:
    """What is probably meant, and under which strategy it would be there."""
    singles = any(n.accelerators is not None and n.accelerators.sharing == "mig-single" for n in nodes)
    if resource.startswith(resources.MIG_PREFIX) and singles:
        return f"; under MIG strategy single slices go by {resources.NVIDIA}"
    if resource == resources.NVIDIA and resources.NVIDIA_SHARED in offered:
        return f"; GPUs are shared and go by {resources.NVIDIA_SHARED}"
    if resource == resources.NVIDIA and any(r.startswith(resources.MIG_PREFIX) for r in offered):
        return "; every card is sliced"
    other = near(resource, offered, 0.84)
    return f"; did you mean {other}?" if other else ""


def _devices(cluster: Cluster) -> Iterator[tuple[Asking, ContainerRequest, str, str]]:
    """Everything that looks like an accelerator, known or misspelt, once a container."""
    for ask in asking(cluster):
        for container in ask.pods.containers:
            asked: dict[str, str] = {}
            for field in _FIELDS:
                for resource, amount in getattr(container, field).items():
                    if amount > 0 and (is_accelerator(resource) or _looks_like(resource)):
                        asked[resource] = field
            for resource, field in asked.items():
                yield ask, container, resource, field


def _looks_like(resource: str) -> bool:
    known = (*resources.WHOLE, resources.NVIDIA_SHARED)
    return "/" in resource and not resources.is_network(resource) and bool(near(resource, known, 0.84))
