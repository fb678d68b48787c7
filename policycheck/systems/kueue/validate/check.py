"""AdmissionCheck and what it refers to: provisioning and MultiKueue objects.

Source: their API reference (facts 1a).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue.validate.gates import Gates
from policycheck.systems.kueue.validate.names import dns_label, qualified, subdomain
from policycheck.systems.kueue.validate.problem import (
    DUPLICATE,
    REQUIRED,
    Problem,
    changed,
    invalid,
    problem,
)

Value = Mapping[str, Any]


def admission_check(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001 - one signature
    """An AdmissionCheck: its controller is fixed at creation; parameters are a whole reference."""
    spec = mapping(new.get("spec"))
    problems = []
    raw = spec.get("parameters")
    if isinstance(raw, dict):
        rules = (("apiGroup", subdomain), ("kind", _kind), ("name", subdomain))
        for field, rule in rules:
            name, path = text(raw.get(field)), ("spec", "parameters", field)
            if not name:
                say = f"parameters.{field} is missing; name apiGroup, kind and name, or remove parameters"
                problems.append(problem(REQUIRED, path, "bad-parameters", say))
            elif why := rule(name):
                problems.append(invalid(path, "bad-parameters", f"{field} {name!r} {why}"))
    if old is not None and mapping(old.get("spec")).get("controllerName") != spec.get("controllerName"):
        problems.append(changed(("spec", "controllerName"), "controllerName"))
    return problems


def _kind(name: str) -> str:
    why = dns_label(name.lower())
    return f"is no kind: it {why}" if why else ""


def provisioning_config(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001
    """A ProvisioningRequestConfig."""
    spec = mapping(new.get("spec"))
    problems = []
    name = text(spec.get("provisioningClassName"))
    if name and (why := subdomain(name)):
        problems.append(invalid(("spec", "provisioningClassName"), "bad-name", f"{name!r} {why}"))
    for n, resource in enumerate(items(spec.get("managedResources"))):
        if why := qualified(text(resource)):
            say = f"resource name {resource!r} {why}"
            problems.append(invalid(("spec", "managedResources", n), "bad-resource-name", say))
    retry = mapping(spec.get("retryStrategy"))
    for field in ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"):
        value = retry.get(field)
        if isinstance(value, int) and value < 0:
            say = f"{field} is {value}; it has to be 0 or more"
            problems.append(invalid(("spec", "retryStrategy", field), "negative", say))
    return problems


def multikueue_config(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001
    """A MultiKueueConfig: every cluster once."""
    problems = []
    names = [text(c) for c in items(mapping(new.get("spec")).get("clusters"))]
    for n, name in enumerate(names):
        path: Path = ("spec", "clusters", n)
        if why := subdomain(name):
            problems.append(invalid(path, "bad-name", f"cluster name {name!r} {why}"))
        if name in names[:n]:
            say = f"cluster {name} stands twice; remove one"
            problems.append(problem(DUPLICATE, path, "duplicate-item", say))
    return problems


def multikueue_cluster(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001
    """A MultiKueueCluster: exactly one source of credentials."""
    spec = mapping(new.get("spec"))
    source = spec.get("clusterSource")
    given = [k for k in ("kubeConfig", "clusterProfileRef") if mapping(source).get(k) is not None]
    if len(given) == 1:
        return []
    found = " and ".join(given) or "neither"
    say = f"clusterSource has {found}; set exactly one of kubeConfig, clusterProfileRef"
    return [invalid(("spec", "clusterSource"), "cluster-source", say)]
