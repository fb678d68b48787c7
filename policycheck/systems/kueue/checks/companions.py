"""Quotas beside hardware: companions that can not follow, shares counted as GPUs, scattered GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.lint.hit import Hit, Related
from policycheck.model import capacity
from policycheck.model.amount import UNLIMITED, show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.systems.core.mend import plain
from policycheck.systems.gpu.resources import is_accelerator, is_whole
from policycheck.systems.kueue.checks.ask import Ask, asks, request_place
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    ceilings,
    ground,
    quota_place,
    state,
    undecided,
    whence,
)
from policycheck.systems.kueue.checks.hardware import COMPANIONS, all_shortfalls, is_placeholder
from policycheck.systems.kueue.sums import promises, spelled


def companions_not_borrowable(cluster: Cluster, params: Params) -> Found:
    """GPUs may be borrowed, and the cpu or memory that goes with them may not."""
    found, limits = state(cluster), ceilings(cluster)
    least = float(str(params.get("share", 0.5)))
    for name, queue in found.objects.cluster_queues.items():
        if undecided(found.trees[found.tree_of[name]]):
            continue
        for flavor in (f for group in queue.groups for f in group.flavors):
            devices = [(r, q) for r, q in flavor.resources.items() if is_accelerator(r) and q.nominal > 0]
            for resource, own in devices:
                more = limits.most(name, (flavor.name, resource)) - own.nominal
                if more <= 0 or is_placeholder(more):
                    continue
                for companion in sorted(COMPANIONS & flavor.resources.keys()):
                    held = flavor.resources[companion]
                    most = limits.most(name, (flavor.name, companion))
                    extra = most - held.nominal
                    if held.borrowing_limit is None or not held.nominal or most >= UNLIMITED:
                        continue
                    if extra * own.nominal >= least * held.nominal * more:
                        continue
                    each = held.nominal // own.nominal
                    place = quota_place(cluster, "ClusterQueue", name, (flavor.name, companion))
                    if place is None or not each:
                        continue
                    values = {
                        "queue": name,
                        "flavor": flavor.name,
                        "more": more,
                        "resource": resource,
                        "companion": companion,
                        "extra": show(companion, extra),
                        "each": show(companion, each),
                        "enough": extra // each,
                        "wanted": show(companion, each * more),
                        "right": plain(companion, each * more),
                    }
                    at = (*place[1], "borrowingLimit")
                    yield Hit(place[0], at, values, discriminator=resource)


def cohort_repeats_members(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A Cohort whose own quota is what its members have already: the tree has it twice.

    Where an inventory shows that the sum is too large, the rule about guarantees says so.
    """
    found = state(cluster)
    said = (
        {(f, s.resource) for s in all_shortfalls(cluster) for f in s.flavors}
        if cluster.inventory.known
        else set()
    )
    for tree in found.trees.values():
        if undecided(tree):
            continue
        for pair, holders in tree.holders.items():
            own = [h for h in holders if h.kind == "Cohort" and h.quota.nominal > 0]
            parts = [h for h in holders if h.kind == "ClusterQueue"]
            members = sum(h.quota.nominal for h in parts)
            if pair in said or len(own) != 1 or len(parts) < 2 or own[0].quota.nominal != members:
                continue
            place = quota_place(cluster, "Cohort", own[0].name, pair)
            if place is None:
                continue
            held = [p for p in promises(found, pair[1]).get(pair[0], []) if p.holder in parts]
            values = {
                "cohort": own[0].name,
                "flavor": pair[0],
                "resource": pair[1],
                "sum": spelled(held, pair[1], members),
                "total": show(pair[1], 2 * members),
            }
            yield Hit(place[0], (*place[1], "nominalQuota"), values)


def gpus_scattered(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Pods of several GPUs in flavors without topology: quota may be free and no node be free enough."""
    found, base = state(cluster), ground(cluster)
    larger: dict[str, list[Ask]] = {}
    for ask in asks(cluster):
        devices = [r for r, amount in ask.each.items() if is_whole(r) and amount > 1]
        for group in ask.queue.groups:
            for flavor in group.flavors if devices and devices[0] in group.covered else ():
                larger.setdefault(flavor.name, []).append(ask)
    for name, held in sorted(larger.items()):
        known = found.objects.flavors.get(name)
        identity = whence(cluster, "ResourceFlavor", name)
        nodes = capacity.usable(base.nodes.get(name, ()))
        if known is None or known.topology or identity is None:
            continue
        ask = max(held, key=lambda a: max(v for r, v in a.each.items() if is_whole(r)))
        resource, amount = next((r, v) for r, v in ask.each.items() if is_whole(r) and v > 1)
        if not _can_strand(nodes, resource, amount):
            continue
        values = {
            "flavor": name,
            "workload": ask.workload,
            "amount": amount,
            "resource": resource,
            "nodes": capacity.arithmetic(nodes, resource),
            "free": sum(min(amount - 1, free) for free in _offered(nodes, resource)),
        }
        because = (Related(ask.id, request_place(cluster, ask, resource), f"{amount} in one pod"),)
        yield Hit(identity, ("spec", "topologyName"), values, because)


def _can_strand(nodes: Sequence[Node], resource: str, amount: int) -> bool:
    """Whether as many GPUs can be free as a pod asks for, and on no node together."""
    offered = _offered(nodes, resource)
    return len(offered) > 1 and sum(min(amount - 1, free) for free in offered) >= amount


def _offered(nodes: Sequence[Node], resource: str) -> list[int]:
    """What each machine has that is certain and has any; a thousand alike ones say no more than a hundred."""
    return [free for n in nodes for free in [n.free(resource)] * min(n.machines, 100) if free]
