"""Resource groups of ClusterQueues and Cohorts.

Source: the ClusterQueue and Cohort API reference; totals of 256 flavors, 256 resources and 512 pairs
a group are checked by the webhook, the rest by webhook and schema alike (facts 1a).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from policycheck.model.amount import QuantityError, quantity
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue.validate.names import qualified
from policycheck.systems.kueue.validate.problem import DUPLICATE, Problem, invalid, problem

GROUPS: Path = ("spec", "resourceGroups")
_MOST_FLAVORS = 256
_MOST_RESOURCES = 256
_MOST_PAIRS = 512


def resource_groups(
    spec: Mapping[str, Any], parent_field: str, *, lends_at_most_nominal: bool
) -> list[Problem]:
    """Every group; ``parent_field`` is the field that says which cohort is above."""
    groups = [mapping(g) for g in items(spec.get("resourceGroups"))]
    problems = _totals(groups)
    has_parent = bool(text(spec.get(parent_field)))
    resources: set[str] = set()
    flavors: set[str] = set()
    for n, group in enumerate(groups):
        at: Path = (*GROUPS, n)
        covered = [text(r) for r in items(group.get("coveredResources"))]
        problems += _covered(covered, (*at, "coveredResources"), resources)
        for m, raw in enumerate(items(group.get("flavors"))):
            flavor = mapping(raw)
            where: Path = (*at, "flavors", m)
            name = text(flavor.get("name"))
            if name in flavors:
                say = f"flavor {name} stands twice; a flavor may be in one resource group only: remove one"
                problems.append(problem(DUPLICATE, (*where, "name"), "duplicate-flavor", say))
            flavors.add(name)
            quotas = [mapping(q) for q in items(flavor.get("resources"))]
            problems += _same_order(quotas, covered, where)
            for k, one in enumerate(quotas):
                place: Path = (*where, "resources", k)
                problems += _limits(
                    one, place, parent_field, has_parent=has_parent, capped=lends_at_most_nominal
                )
    return problems


def _totals(groups: list[Mapping[str, Any]]) -> list[Problem]:
    problems = []
    flavors = sum(len(items(g.get("flavors"))) for g in groups)
    resources = sum(len(items(g.get("coveredResources"))) for g in groups)
    for count, most, what in ((flavors, _MOST_FLAVORS, "flavors"), (resources, _MOST_RESOURCES, "resources")):
        if count > most:
            say = f"all resource groups together have {count} {what}; at most {most} are allowed"
            problems.append(invalid(GROUPS, "too-many", say))
    for n, group in enumerate(groups):
        pairs = len(items(group.get("flavors"))) * len(items(group.get("coveredResources")))
        if pairs > _MOST_PAIRS:
            say = f"{pairs} pairs of flavor and resource in one group; at most {_MOST_PAIRS} are allowed: split it"
            problems.append(invalid((*GROUPS, n), "too-many", say))
    return problems


def _covered(covered: list[str], path: Path, seen: set[str]) -> list[Problem]:
    problems = []
    for n, name in enumerate(covered):
        if why := qualified(name):
            problems.append(invalid((*path, n), "bad-resource-name", f"resource name {name!r} {why}"))
        if name in seen:
            say = f"{name} is covered twice; a resource may be in one resource group only: remove one"
            problems.append(problem(DUPLICATE, (*path, n), "duplicate-resource", say))
        seen.add(name)
    return problems


def _same_order(quotas: list[Mapping[str, Any]], covered: list[str], path: Path) -> list[Problem]:
    """Each flavor names exactly the covered resources, in their order."""
    problems = []
    if len(quotas) != len(covered):
        missing = ", ".join(r for r in covered if r not in {text(q.get("name")) for q in quotas})
        say = f"resources listed for the flavor: {len(quotas)}; covered by the group: {len(covered)}; list the same ones"
        if missing:
            say += f" (not listed: {missing})"
        problems.append(invalid((*path, "resources"), "resource-count", say))
        return problems
    for n, (one, wanted) in enumerate(zip(quotas, covered, strict=True)):
        name = text(one.get("name"))
        if name != wanted:
            say = (
                f"{name} stands where coveredResources has {wanted}; "
                f"write the flavor's resources in the order {', '.join(covered)}"
            )
            problems.append(invalid((*path, "resources", n, "name"), "resource-order", say))
    return problems


def _exact(raw: object) -> Fraction | None:
    try:
        return None if raw is None else quantity(raw)
    except QuantityError:
        return None  # the schema check speaks of it


def _limits(
    quota: Mapping[str, Any], path: Path, parent: str, *, has_parent: bool, capped: bool
) -> list[Problem]:
    """Quota and limits of one resource. ``capped``: lending is bounded by the own nominal quota."""
    problems = []
    found = {name: _exact(quota.get(name)) for name in ("nominalQuota", "borrowingLimit", "lendingLimit")}
    for name, value in found.items():
        if value is not None and value < 0:
            say = f"{name} is {quota[name]}; it has to be 0 or more"
            problems.append(invalid((*path, name), "negative-quota", say))
    for name in ("borrowingLimit", "lendingLimit"):
        if quota.get(name) is not None and not has_parent:
            say = f"{name} is {quota[name]} and {parent} is not set; remove it, or set {parent}"
            problems.append(invalid((*path, name), "limit-outside-cohort", say))
    nominal, lending = found["nominalQuota"], found["lendingLimit"]
    if capped and lending is not None and nominal is not None and has_parent and lending > nominal:
        say = f"lendingLimit {quota['lendingLimit']} exceeds nominalQuota {quota['nominalQuota']}; lend at most that"
        problems.append(invalid((*path, "lendingLimit"), "lending-over-nominal", say))
    return problems
