"""Devices that pods ask for by claim (dynamic resource allocation): which class, and how many.

Source: the Kubernetes documentation page "Dynamic Resource Allocation" (resource.k8s.io/v1 and the
beta versions, in which a request has its fields inline). ``firstAvailable`` counts as its first
alternative; requests for administration consume nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.origin import ObjectKey
from policycheck.model.workload import DeviceClaim, PodSet
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import items, mapping, text, whole


class ClaimTemplate(NamedTuple):
    """What one ResourceClaim, or a claim made from one ResourceClaimTemplate, asks for."""

    key: ObjectKey
    requests: tuple[tuple[str, int], ...] = ()  # (device class, devices)
    is_open: bool = False  # allocationMode All: as many as there are


def read(value: Mapping[str, Any], key: ObjectKey) -> ClaimTemplate:
    """A ResourceClaim or ResourceClaimTemplate."""
    spec = mapping(value.get("spec"))
    if key.kind == "ResourceClaimTemplate":
        spec = mapping(spec.get("spec"))
    found = []
    is_open = False
    for raw in items(mapping(spec.get("devices")).get("requests")):
        request = mapping(raw)
        first = items(request.get("firstAvailable"))
        one = mapping(request.get("exactly")) or (mapping(first[0]) if first else request)
        if one.get("adminAccess") is True:
            continue
        is_open = is_open or one.get("allocationMode") == "All"
        found.append((text(one.get("deviceClassName")), max(0, whole(one.get("count"), 1))))
    return ClaimTemplate(key, tuple(found), is_open)


def resolve(pod_set: PodSet, namespace: str, known: Mapping[ObjectKey, ClaimTemplate]) -> PodSet:
    """``pod_set`` with the class and number of every claim whose template is in sight."""
    if not pod_set.claims:
        return pod_set
    made: list[DeviceClaim] = []
    for claim in pod_set.claims:
        kinds = ("ResourceClaimTemplate", "ResourceClaim")
        keys = (ObjectKey("resource.k8s.io", kind, namespace, claim.template) for kind in kinds)
        found = next((known[key] for key in keys if key in known), None)
        if found is None or claim.device_class:
            made.append(claim)
            continue
        made += [DeviceClaim(name, devices, claim.template) for name, devices in found.requests]
    return pod_set._replace(claims=tuple(made))
