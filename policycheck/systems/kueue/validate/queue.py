"""ClusterQueue, Cohort, LocalQueue.

Source: the ClusterQueue, Cohort and LocalQueue API reference, and what Kueue's webhooks answer
(facts 1a; conformance suite ``validation``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.amount import QuantityError, quantity
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue.validate.gates import Gates
from policycheck.systems.kueue.validate.names import label_selector, subdomain
from policycheck.systems.kueue.validate.problem import (
    FORBIDDEN,
    NOT_SUPPORTED,
    Problem,
    changed,
    invalid,
    problem,
)
from policycheck.systems.kueue.validate.quota import GROUPS, resource_groups

Value = Mapping[str, Any]
_CHECKS: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
_CONCURRENT: Path = ("spec", "concurrentAdmissionPolicy")
_MOST_CONCURRENT_FLAVORS = 16


def cluster_queue(new: Value, old: Value | None, gates: Gates) -> list[Problem]:
    """A ClusterQueue, created or updated."""
    spec = mapping(new.get("spec"))
    problems = resource_groups(spec, "cohortName", lends_at_most_nominal=True)
    problems += _reference(spec, "cohortName")
    problems += label_selector(spec.get("namespaceSelector"), ("spec", "namespaceSelector"))
    problems += _preemption(mapping(spec.get("preemption")))
    problems += _fungibility(mapping(spec.get("flavorFungibility")))
    problems += fair_weight(spec)
    problems += _on_flavors(spec, None if old is None else mapping(old.get("spec")), gates)
    if gates.concurrent:
        problems += _concurrent(spec)
        before = mapping(old.get("spec")).get("concurrentAdmissionPolicy") if old is not None else None
        if old is not None and before != spec.get("concurrentAdmissionPolicy"):
            problems.append(changed(_CONCURRENT, "concurrentAdmissionPolicy"))
    return problems


def cohort(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001 - one signature
    """A Cohort."""
    spec = mapping(new.get("spec"))
    return [
        *resource_groups(spec, "parentName", lends_at_most_nominal=False),
        *_reference(spec, "parentName"),
        *fair_weight(spec),
    ]


def local_queue(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001
    """A LocalQueue: its ClusterQueue is fixed at creation."""
    spec = mapping(new.get("spec"))
    problems = [*_reference(spec, "clusterQueue"), *fair_weight(spec)]
    if old is not None and mapping(old.get("spec")).get("clusterQueue") != spec.get("clusterQueue"):
        problems.append(changed(("spec", "clusterQueue"), "clusterQueue"))
    return problems


def _reference(spec: Value, field: str) -> list[Problem]:
    name = text(spec.get(field))
    why = subdomain(name) if name else ""
    return [invalid(("spec", field), "bad-name", f"{field} {name!r} {why}")] if why else []


def fair_weight(spec: Value) -> list[Problem]:
    """fairSharing.weight: 0, or more than a billionth."""
    raw = mapping(spec.get("fairSharing")).get("weight")
    try:
        weight = None if raw is None else quantity(raw)
    except QuantityError:
        return []  # the schema check speaks of it
    path: Path = ("spec", "fairSharing", "weight")
    if weight is None:
        return []
    if weight < 0:
        return [invalid(path, "bad-weight", f"weight is {raw}; it has to be 0 or more")]
    if weight and weight * 10**9 <= 1:
        return [invalid(path, "bad-weight", f"weight is {raw}; write 0, or more than 1n")]
    return []


def _preemption(value: Value) -> list[Problem]:
    borrow = text(mapping(value.get("borrowWithinCohort")).get("policy")) or "Never"
    if borrow == "Never" or (text(value.get("reclaimWithinCohort")) or "Never") != "Never":
        return []
    say = (
        f"borrowWithinCohort.policy is {borrow} and reclaimWithinCohort is Never; "
        "set reclaimWithinCohort to LowerPriority or Any, or remove borrowWithinCohort"
    )
    return [invalid(("spec", "preemption"), "borrow-without-reclaim", say)]


def _fungibility(value: Value) -> list[Problem]:
    preference = text(value.get("preference"))
    both = [text(value.get(k)) for k in ("whenCanBorrow", "whenCanPreempt")]
    if not preference or both == ["TryNextFlavor", "TryNextFlavor"]:
        return []
    say = (
        f"preference {preference} needs whenCanBorrow and whenCanPreempt to be TryNextFlavor, "
        f"they are {both[0] or 'MayStopSearch'} and {both[1] or 'TryNextFlavor'}; set both, or remove preference"
    )
    return [invalid(("spec", "flavorFungibility", "preference"), "useless-preference", say)]


def _flavors(spec: Value) -> list[str]:
    return [
        text(mapping(f).get("name"))
        for g in items(spec.get("resourceGroups"))
        for f in items(mapping(g).get("flavors"))
    ]


def _rules(spec: Value) -> list[Value]:
    return [mapping(c) for c in items(mapping(spec.get("admissionChecksStrategy")).get("admissionChecks"))]


def _on_flavors(spec: Value, old: Value | None, gates: Gates) -> list[Problem]:
    """Flavors of onFlavors are flavors of this queue.

    On update a bad name that was there before is tolerated while flavors stay the same, unless the
    gate says otherwise (kueue#7259).
    """
    flavors = _flavors(spec)
    tolerated: set[tuple[str, str]] = set()
    if old is not None and not gates.refuses_old_on_flavors and set(_flavors(old)) == set(flavors):
        tolerated = {(text(r.get("name")), text(f)) for r in _rules(old) for f in items(r.get("onFlavors"))}
    problems = []
    for n, rule in enumerate(_rules(spec)):
        for m, flavor in enumerate(items(rule.get("onFlavors"))):
            name = text(flavor)
            if name in flavors or (text(rule.get("name")), name) in tolerated:
                continue
            have = ", ".join(flavors) or "none"
            say = (
                f"onFlavors names {name!r}; flavors of this queue are: {have}. Name one of them, or remove it"
            )
            problems.append(problem(NOT_SUPPORTED, (*_CHECKS, n, "onFlavors", m), "unknown-on-flavor", say))
    return problems


def _concurrent(spec: Value) -> list[Problem]:
    """concurrentAdmissionPolicy: one group, at most 16 flavors, no StrictFIFO."""
    policy = spec.get("concurrentAdmissionPolicy")
    if not isinstance(policy, dict):
        return []
    problems = []
    groups = [mapping(g) for g in items(spec.get("resourceGroups"))]
    if spec.get("queueingStrategy") == "StrictFIFO":
        say = "StrictFIFO does not go with concurrentAdmissionPolicy; write BestEffortFIFO, or remove the policy"
        problems.append(invalid(("spec", "queueingStrategy"), "concurrent-strict", say))
    if len(groups) != 1:
        say = f"concurrentAdmissionPolicy needs exactly one resource group; there are {len(groups)}"
        problems.append(invalid(GROUPS, "concurrent-groups", say))
    elif (count := len(items(groups[0].get("flavors")))) > _MOST_CONCURRENT_FLAVORS:
        say = f"concurrentAdmissionPolicy allows 16 flavors at most; there are {count}"
        problems.append(invalid((*GROUPS, 0, "flavors"), "concurrent-flavors", say))
    migration = mapping(policy.get("migration"))
    mode, constraints = text(migration.get("mode")), migration.get("constraints")
    at: Path = (*_CONCURRENT, "migration", "constraints")
    if constraints is not None and mode not in ("", "TryPreferredFlavors"):
        say = f"constraints need mode TryPreferredFlavors, it is {mode}; change the mode, or remove them"
        problems.append(problem(FORBIDDEN, at, "concurrent-constraints", say))
    last, flavors = text(mapping(constraints).get("lastAcceptableFlavorName")), _flavors(spec)
    if last and last not in flavors:
        say = (
            f"lastAcceptableFlavorName is {last!r}; flavors of this queue are {', '.join(flavors) or 'none'}"
        )
        problems.append(invalid((*at, "lastAcceptableFlavorName"), "concurrent-flavor", say))
    return problems
