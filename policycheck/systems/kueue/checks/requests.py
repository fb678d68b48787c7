"""Requests that can never be met: beyond any limit, any node, any domain, or of uncovered resources.

Everything here is a necessary condition, taken with every benefit of the doubt: partial admission
counts the least pods, potential counts all others as idle, nodes count as empty.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.lint.hit import Hit, Related
from policycheck.model import capacity
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import mapping
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import sums
from policycheck.systems.kueue.checks.ask import (
    Ask,
    accelerators_first,
    asks,
    count_place,
    is_refused,
    request_place,
)
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    ceilings,
    documents,
    ground,
    quota_place,
    state,
)
from policycheck.systems.kueue.model import ClusterQueue, ResourceFlavor, ResourceGroup
from policycheck.wording import join


def exceeds_limits(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A podset that no flavor of its queue could hold if all others were idle."""
    limits = ceilings(cluster)
    flavors = state(cluster).objects.flavors
    for ask in asks(cluster):
        for group in ask.queue.groups:
            short = _short(ask, group, limits, flavors)
            if short is None:
                continue
            resource, most, flavor = short
            each = ask.each[resource]
            values = {
                "workload": ask.workload,
                "queue": ask.queue.name,
                "resource": resource,
                "total": show(resource, ask.charge(resource)),
                "sum": f"{ask.least} x {show(resource, each)}",
                "most": show(resource, most),
                "flavor": flavor,
            }
            place = quota_place(cluster, "ClusterQueue", ask.queue.name, (flavor, resource))
            because = (
                ()
                if place is None
                else (
                    Related(place[0], place[1], f"at most {show(resource, most)} with all that others lend"),
                )
            )
            at = count_place(cluster, ask) if ask.least > 1 else ()
            path = at or request_place(cluster, ask, resource)
            yield Hit(ask.id, path, values, because, discriminator=resource)


def _short(
    ask: Ask, group: ResourceGroup, limits: sums.Ceilings, flavors: Mapping[str, ResourceFlavor]
) -> tuple[str, int, str] | None:
    """The resource that rules out the best flavor: its name, the most there is, the flavor."""
    wanted = {r: ask.charge(r) for r in group.covered if ask.charge(r) > 0}
    if not wanted or not group.flavors:
        return None
    tried: list[tuple[float, str, int, str]] = []
    for flavor in group.flavors:
        if flavor.name in flavors and is_refused(flavors[flavor.name], ask):
            continue
        gaps = [(limits.most(ask.queue.name, (flavor.name, r)), r) for r in wanted]
        missing = [(most / wanted[r], r, most) for most, r in gaps if most < wanted[r]]
        if not missing:
            return None
        share, resource, most = min(missing, key=lambda m: (not is_accelerator(m[1]), m[0], m[1]))
        tried.append((share, resource, most, flavor.name))
    if not tried:
        return None
    _, resource, most, name = max(tried, key=lambda t: (t[0], t[3]))
    return resource, most, name


def uncovered_resource(cluster: Cluster, params: Params) -> Found:
    """A request for a resource that the queue has no quota for at all."""
    configuration = state(cluster).objects.configuration
    if configuration.quota_check_strategy == "IgnoreUndeclared":
        return
    ignored = tuple(str(p) for p in params.get("ignore", ()) or ())  # type: ignore[attr-defined]
    for ask in asks(cluster):
        covered = {r for group in ask.queue.groups for r in group.covered}
        for resource, amount in ask.each.items():
            if amount <= 0 or resource in covered or not covered:
                continue
            if resource.startswith(ignored or ("\0",)):
                continue
            values = {
                "workload": ask.workload,
                "queue": ask.queue.name,
                "resource": resource,
                "covered": join(sorted(covered)),
            }
            yield Hit(ask.id, request_place(cluster, ask, resource), values)


def nodes_for(base: sums.Ground, ask: Ask, resource: str) -> dict[str, tuple[Node, ...]] | None:
    """The nodes of every flavor that could give ``resource``; None when some are not known."""
    nodes: dict[str, tuple[Node, ...]] = {}
    for group in ask.queue.groups:
        if resource not in group.covered:
            continue
        for flavor in group.flavors:
            if flavor.name not in base.nodes:
                return None
            nodes[flavor.name] = base.nodes[flavor.name]
    return nodes or None


def larger_than_node(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """One pod asks for more than the largest node of any flavor of its queue."""
    base = ground(cluster)
    for ask in asks(cluster):
        for resource, amount in accelerators_first(ask.pods.requests):
            nodes = nodes_for(base, ask, resource)
            if nodes is None or not any(nodes.values()) or amount <= 0:
                continue
            largest = capacity.largest_node([n for some in nodes.values() for n in some], resource)
            if largest.high is None or amount <= largest.high:
                continue
            values = {
                "workload": ask.workload,
                "resource": resource,
                "amount": show(resource, amount),
                "largest": show(resource, largest.high),
                "flavors": f"{'flavor' if len(nodes) == 1 else 'flavors'} {join(nodes)}",
                "queue": ask.queue.name,
            }
            yield Hit(ask.id, request_place(cluster, ask, resource), values)
            break


def annotation_place(cluster: Cluster, ask: Ask, level: str) -> Path:
    """Where the pods ask for a level; else where a written Workload, or the pod template, would."""
    for key, value in ask.pods.annotations.items():
        if value == level and "topology" in key:
            return (*ask.pods.path, "metadata", "annotations", key)
    is_written = mapping(cluster.entries[ask.id].facts.value.get("spec")).get("podSets") is not None
    return (*ask.pods.path[:-1], "topologyRequest") if is_written else ask.pods.path


def slices_left_over(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A slice size that does not divide the number of pods: the rest is never placed."""
    for ask in asks(cluster):
        request = ask.pods.topology
        if request is None or not request.slice_size or ask.pods.pods % request.slice_size == 0:
            continue
        values = {
            "workload": ask.workload,
            "pods": ask.pods.pods,
            "size": request.slice_size,
            "rest": ask.pods.pods % request.slice_size,
        }
        yield Hit(ask.id, _slice_place(cluster, ask), values)


def _slice_place(cluster: Cluster, ask: Ask) -> Path:
    key = "kueue.x-k8s.io/podset-slice-size"
    if key in ask.pods.annotations:
        return (*ask.pods.path, "metadata", "annotations", key)
    return annotation_place(cluster, ask, "")


def strict_over_flavors(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """StrictFIFO in a queue with several flavors: the head of one holds back work of another."""
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue) or queue.queueing_strategy != "StrictFIFO":
            continue
        flavors = list(dict.fromkeys(f.name for group in queue.groups for f in group.flavors))
        if len(flavors) > 1:
            values = {"queue": queue.name, "flavors": join(flavors)}
            yield Hit(identity, ("spec", "queueingStrategy"), values)


def starving_gang(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A gang of most of a queue beside small work of no lower priority, and nothing preempts."""
    limits = ceilings(cluster)
    by_queue: dict[str, list[Ask]] = {}
    for ask in asks(cluster):
        is_free = ask.queue.queueing_strategy == "BestEffortFIFO"
        if is_free and ask.queue.preemption.within_cluster_queue == "Never":
            by_queue.setdefault(ask.queue.name, []).append(ask)
    for name, held in by_queue.items():
        for ask in held:
            told = _gang(ask, held, limits)
            if told is None:
                continue
            resource, most, other = told
            values = {
                "workload": ask.workload,
                "queue": name,
                "resource": resource,
                "total": ask.charge(resource),
                "most": most,
                "other": other.workload,
                "small": other.charge(resource),
            }
            yield Hit(ask.id, count_place(cluster, ask), values)


def _gang(ask: Ask, held: list[Ask], limits: sums.Ceilings) -> tuple[str, int, Ask] | None:
    for group in ask.queue.groups:
        for resource in group.covered:
            if not is_accelerator(resource) or ask.least < 2 or ask.charge(resource) <= 0:
                continue
            most = sum(limits.most(ask.queue.name, (f.name, resource)) for f in group.flavors)
            if not most // 2 < ask.charge(resource) <= most:
                continue
            for other in held:
                small = other.charge(resource)
                if 0 < small <= most // 8 and other.made.priority >= ask.made.priority:
                    return resource, most, other
    return None
