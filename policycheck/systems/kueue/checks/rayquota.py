"""Ray under Kueue: autoscaling beyond any quota, upgrades that need a second cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.lint.hit import Hit, Related
from policycheck.model.amount import scale, show
from policycheck.model.cluster import Cluster
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, text, whole
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.ask import Ask, asks
from policycheck.systems.kueue.checks.common import Found, Params, ceilings, quota_place
from policycheck.systems.ray.facts import cluster_of

_UNBOUNDED = 2**31 - 1


def max_replicas_over_quota(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A worker group that may grow beyond all that its queue can ever hold.

    Workers beyond the quota are gated, and Ray's autoscaler waits for them (kuberay#4846).
    """
    for ask in asks(cluster):
        group = _group(cluster, ask)
        if group is None:
            continue
        value, at = group
        raw = value.get("maxReplicas")
        most = whole(raw, _UNBOUNDED)
        hosts = max(1, whole(value.get("numOfHosts"), 1))
        told = _most(cluster, ask)
        if told is None:
            continue
        resource, limit, flavor = told
        each = ask.each[resource] * hosts
        if each <= 0 or scale(each, most) <= limit:
            continue
        place = quota_place(cluster, "ClusterQueue", ask.queue.name, (flavor, resource))
        because = () if place is None else (Related(*place, f"at most {show(resource, limit)}"),)
        values = {
            "workload": ask.workload,
            "group": ask.pods.name,
            "most": "without end" if raw is None else f"to {most} replicas",
            "sum": show(resource, scale(each, most)) if raw is not None else "any number of",
            "resource": resource,
            "limit": show(resource, limit),
            "fit": limit // each,
            "queue": ask.queue.name,
        }
        yield Hit(ask.id, (*at, "maxReplicas"), values, because)


def _group(cluster: Cluster, ask: Ask) -> tuple[Mapping[str, Any], Path] | None:
    """The worker group that a podset is, when its cluster scales itself."""
    if ask.key.group != "ray.io" or "workerGroupSpecs" not in ask.pods.path:
        return None
    spec, at = cluster_of(cluster.entries[ask.id].facts.value, ask.key.kind)
    if spec.get("enableInTreeAutoscaling") is not True:
        return None
    n = ask.pods.path[ask.pods.path.index("workerGroupSpecs") + 1]
    groups = items(spec.get("workerGroupSpecs"))
    if not isinstance(n, int) or n >= len(groups):
        return None
    return mapping(groups[n]), (*at, "workerGroupSpecs", n)


def _most(cluster: Cluster, ask: Ask) -> tuple[str, int, str] | None:
    """The accelerators that one pod asks for, and the most of them that the queue can hold."""
    limits = ceilings(cluster)
    for group in ask.queue.groups:
        for resource in group.covered:
            if is_accelerator(resource) and ask.each.get(resource, 0) > 0:
                held = [(limits.most(ask.queue.name, (f.name, resource)), f.name) for f in group.flavors]
                total = sum(most for most, _ in held)
                return (resource, total, max(held)[1]) if held else None
    return None


def upgrade_without_room(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A RayService whose upgrade starts a second cluster that its queue can not hold beside the first."""
    for ask in asks(cluster):
        if ask.key.kind != "RayService" or ask.pods.path[-3:-2] == ("headGroupSpec",):
            continue
        spec = mapping(cluster.entries[ask.id].facts.value.get("spec"))
        how = text(mapping(spec.get("upgradeStrategy")).get("type")) or "NewCluster"
        told = _most(cluster, ask)
        if how != "NewCluster" or told is None:
            continue
        resource, limit, _ = told
        need = sum(a.charge(resource) for a in asks(cluster) if a.key == ask.key)
        if need <= 0 or need > limit or scale(need, 2) <= limit:
            continue
        values = {
            "workload": ask.workload,
            "queue": ask.queue.name,
            "resource": resource,
            "need": show(resource, need),
            "double": show(resource, scale(need, 2)),
            "limit": show(resource, limit),
        }
        yield Hit(ask.id, ("spec", "upgradeStrategy"), values, discriminator=resource)
        return
