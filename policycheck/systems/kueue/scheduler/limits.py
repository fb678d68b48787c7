"""What keeps a workload from being looked at at all, apart from quota.

Source: documentation "Workload", admissibility: namespace selector, LimitRange, requests over limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policycheck.systems.kueue.model import KueueWorkload


class LimitRule(NamedTuple):
    """One entry of a LimitRange. ``kind`` is Container or Pod; amounts are base units."""

    namespace: str
    kind: str
    most: Mapping[str, int] = {}
    least: Mapping[str, int] = {}


def violation(workload: KueueWorkload, rules: Iterable[LimitRule]) -> str:
    """Why the workload's resources make it inadmissible, or ""."""
    own = [r for r in rules if r.namespace == workload.namespace]
    for spec in workload.pod_sets:
        for container in spec.containers:
            for resource, limit in container.limits.items():
                if container.requests.get(resource, 0) > limit:
                    return f"resources validation failed: {resource} requests exceed it's limits"
        for rule in own:
            if rule.kind == "Pod":
                asked: list[Mapping[str, int]] = [spec.requests]
            elif rule.kind == "Container":
                asked = [c.requests for c in spec.containers] + [c.limits for c in spec.containers]
            else:
                asked = []
            for amounts in asked:
                for resource, amount in amounts.items():
                    if resource in rule.most and amount > rule.most[resource]:
                        return f"resources didn't satisfy LimitRange constraints: {resource} above maximum"
                    if resource in rule.least and amount < rule.least[resource]:
                        return f"resources didn't satisfy LimitRange constraints: {resource} below minimum"
    return ""
