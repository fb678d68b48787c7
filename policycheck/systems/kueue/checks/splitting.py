"""Whether podsets find flavors one after the other, as Kueue does, and whether any division would do.

Everything counts as idle; only the first resource group that two podsets share is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from policycheck.model.amount import add, show
from policycheck.model.cluster import Cluster
from policycheck.systems.kueue.checks.ask import Ask, is_refused
from policycheck.systems.kueue.checks.common import ceilings, state
from policycheck.systems.kueue.model import ResourceGroup

_MOST = 4096  # divisions that are tried; a job has few podsets and a queue few flavors
Held = dict[tuple[str, str], int]


def stuck(cluster: Cluster, parts: Sequence[Ask]) -> tuple[Ask, str, Mapping[str, object]] | None:
    """The podset that finds nothing any more, the resource it lacks, and values for a message."""
    for group in parts[0].queue.groups:
        own = [p for p in parts if any(p.charge(r) > 0 for r in group.covered)]
        names = [f.name for f in group.flavors]
        if len(own) < 2 or len(names) < 2 or len(names) ** len(own) > _MOST:
            continue
        failed = _greedy(cluster, group, own)
        if failed is None:
            continue
        part, resource, given = failed
        for choice in product(names, repeat=len(own)):
            if _fits(cluster, group, own, choice):
                better = ", ".join(f"{p.pods.name} in {n}" for p, n in zip(own, choice, strict=True))
                amount = show(resource, part.charge(resource))
                values = {
                    "workload": part.workload,
                    "queue": part.queue.name,
                    "podset": part.pods.name,
                    "amount": amount,
                    "given": given,
                    "better": better,
                }
                return part, resource, values
    return None


def _allowed(cluster: Cluster, part: Ask, flavor: str) -> bool:
    known = state(cluster).objects.flavors.get(flavor)
    return known is None or not is_refused(known, part)


def _lacks(cluster: Cluster, group: ResourceGroup, part: Ask, flavor: str, held: Held) -> str:
    """The resource that does not fit; "" when all do."""
    limits = ceilings(cluster)
    for resource in group.covered:
        wanted = part.charge(resource)
        if wanted > 0:
            total = add(wanted, held.get((flavor, resource), 0))
            if total > limits.most(part.queue.name, (flavor, resource)):
                return resource
    return ""


def _hold(group: ResourceGroup, part: Ask, flavor: str, held: Held) -> None:
    for resource in group.covered:
        held[flavor, resource] = add(held.get((flavor, resource), 0), part.charge(resource))


def _greedy(cluster: Cluster, group: ResourceGroup, parts: Sequence[Ask]) -> tuple[Ask, str, str] | None:
    held: Held = {}
    given: list[str] = []
    for part in parts:
        lacking = ""
        for flavor in group.flavors:
            if not _allowed(cluster, part, flavor.name):
                continue
            lacking = _lacks(cluster, group, part, flavor.name, held)
            if not lacking:
                _hold(group, part, flavor.name, held)
                given.append(f"{part.pods.name} in {flavor.name}")
                break
        if lacking:
            return (part, lacking, ", ".join(given)) if given else None
    return None


def _fits(cluster: Cluster, group: ResourceGroup, parts: Sequence[Ask], choice: Sequence[str]) -> bool:
    held: Held = {}
    for part, flavor in zip(parts, choice, strict=True):
        if not _allowed(cluster, part, flavor) or _lacks(cluster, group, part, flavor, held):
            return False
        _hold(group, part, flavor, held)
    return True
