"""What the Configuration makes of requests: excluded, transformed and mapped resources against quotas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from policycheck.lint.hit import Hit, Related
from policycheck.model.cluster import Cluster
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.ask import asks, spec_place
from policycheck.systems.kueue.checks.common import Found, Params, configured, meant, quota_place, state
from policycheck.systems.kueue.state import FlavorResource, KueueState
from policycheck.wording import join


def _covered(found: KueueState) -> set[str]:
    return {r for q in found.objects.cluster_queues.values() for g in q.groups for r in g.covered}


def _begins(prefix: str, resource: str) -> bool:
    return bool(prefix) and resource.startswith(prefix)


def _quotas_of(found: KueueState, is_meant: Callable[[str], bool]) -> list[tuple[str, str, FlavorResource]]:
    """Who holds quota of resources: kind, name, pair; only what is above 0."""
    held: list[tuple[str, str, FlavorResource]] = []
    for tree in found.trees.values():
        for pair, holders in tree.holders.items():
            if is_meant(pair[1]):
                held.extend((h.kind, h.name, pair) for h in holders if h.quota.nominal > 0)
    return held


def excluded_and_quota(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A prefix that leaves out what queues have quota of: that quota is never charged."""
    where = configured(cluster)
    if where is None:
        return
    found = state(cluster)
    for n, prefix in enumerate(where.typed.exclude_prefixes):
        held = _quotas_of(found, partial(_begins, prefix))
        if held:
            kind, name, pair = held[0]
            place = quota_place(cluster, kind, name, pair)
            because = () if place is None else (Related(*place, f"quota of {pair[1]} in {name}"),)
            values = {"prefix": prefix, "resources": join(sorted({p[1] for _, _, p in held})), "name": name}
            yield Hit(where.id, ("resources", "excludeResourcePrefixes", n), values, because)


def output_uncovered(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A transformation into a resource that no queue covers: who asks for its input waits for ever."""
    where = configured(cluster)
    found = state(cluster)
    covered = _covered(found)
    if where is None or not covered or where.typed.quota_check_strategy == "IgnoreUndeclared":
        return
    for n, rule in enumerate(where.typed.transformations):
        for output in rule.outputs:
            if output in covered or output.startswith(where.typed.exclude_prefixes or ("\0",)):
                continue
            values = {"input": rule.input, "output": output, "hint": meant(output, covered)}
            yield Hit(where.id, ("resources", "transformations", n, "outputs", output), values)


def retained_uncovered(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Retain keeps the input beside its outputs, and only the outputs are covered."""
    where = configured(cluster)
    found = state(cluster)
    if where is None or where.typed.quota_check_strategy == "IgnoreUndeclared":
        return
    queues = found.objects.cluster_queues.values()
    for n, rule in enumerate(where.typed.transformations):
        if rule.strategy != "Retain" or rule.input.startswith(where.typed.exclude_prefixes or ("\0",)):
            continue
        bare = []
        for queue in queues:
            covers = {r for g in queue.groups for r in g.covered}
            if rule.input not in covers and covers & set(rule.outputs):
                bare.append(queue.name)
        if bare:
            values = {"input": rule.input, "outputs": join(rule.outputs), "queues": join(sorted(bare))}
            yield Hit(where.id, ("resources", "transformations", n, "input"), values)


def replaced_and_quota(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Replace takes the input away before quotas are looked at: the quota of the input counts nothing."""
    where = configured(cluster)
    if where is None:
        return
    found = state(cluster)
    made = {output for rule in where.typed.transformations for output in rule.outputs}
    for n, rule in enumerate(where.typed.transformations):
        if rule.strategy != "Replace" or rule.input in made:
            continue
        held = _quotas_of(found, rule.input.__eq__)
        if held:
            kind, name, pair = held[0]
            place = quota_place(cluster, kind, name, pair)
            because = () if place is None else (Related(*place, f"quota of {pair[1]} in {name}"),)
            values = {"input": rule.input, "outputs": join(rule.outputs) or "nothing", "name": name}
            yield Hit(where.id, ("resources", "transformations", n, "strategy"), values, because)


def class_unmapped(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Devices claimed of a class that the Configuration maps to no resource: never admitted."""
    where = configured(cluster)
    if where is None:
        return
    mapped = {name for mapping in where.typed.device_classes for name in mapping.device_classes}
    for ask in asks(cluster):
        for n, claim in enumerate(ask.pods.claims):
            if not claim.device_class or claim.device_class in mapped:
                continue
            values = {
                "workload": ask.workload,
                "class": claim.device_class,
                "template": claim.template,
                "hint": meant(claim.device_class, mapped),
            }
            yield Hit(ask.id, spec_place(ask, "resourceClaims", n), values, discriminator=claim.device_class)


def mapping_uncovered(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A resource that device classes are mapped to and no queue covers."""
    where = configured(cluster)
    covered = _covered(state(cluster))
    if where is None or not covered:
        return
    for n, mapping in enumerate(where.typed.device_classes):
        if mapping.name and mapping.name not in covered:
            near_ones = [r for r in covered if is_accelerator(r)] or list(covered)
            values = {
                "name": mapping.name,
                "classes": join(mapping.device_classes),
                "hint": meant(mapping.name, near_ones),
            }
            yield Hit(where.id, ("resources", "deviceClassMappings", n, "name"), values)
