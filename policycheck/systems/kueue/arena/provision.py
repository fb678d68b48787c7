"""Nodes that nobody sees because an admission check brings them when they are asked for.

Source: Kueue documentation "Admission Check: ProvisioningRequest": a cluster autoscaler is asked for the nodes of a
workload before it is admitted. Where a pool is in sight, its bounds count instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from policycheck.simulate.scheduler import SetGrant
from policycheck.systems.kueue.link import PROVISIONING
from policycheck.systems.kueue.model import KueueObjects

Brought = Mapping[tuple[str, str], str]  # (queue, flavor) -> the check


def brought_of(objects: KueueObjects, hosts: Callable[[str], Collection[str]]) -> Brought:
    """Flavors to which no node and no pool in sight belongs, by queues with a check that brings their nodes."""
    found: dict[tuple[str, str], str] = {}
    for name, queue in sorted(objects.cluster_queues.items()):
        for rule in queue.checks:
            check = objects.checks.get(rule.name)
            if check is None or check.controller != PROVISIONING:
                continue
            for flavor in dict.fromkeys(f.name for group in queue.groups for f in group.flavors):
                if (not rule.on_flavors or flavor in rule.on_flavors) and not hosts(flavor):
                    found.setdefault((name, flavor), rule.name)
    return found


def is_brought(brought: Brought, queue: str, given: SetGrant) -> bool:
    """Whether nodes for the podset come with a check."""
    return any((queue, flavor) in brought for flavor in given.flavors.values())


def said(brought: Brought, queue: str) -> list[str]:
    """What is assumed of a queue, each a sentence."""
    return [
        f"no node of {flavor} is in sight: admission check {check} brings as many as quota lets in"
        for (name, flavor), check in brought.items()
        if name == queue
    ]
