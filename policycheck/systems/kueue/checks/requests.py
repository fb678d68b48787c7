"""Requests that can never be met: beyond any limit, any node, any domain, or of uncovered resources.

Everything here is a necessary condition, taken with every benefit of the doubt: partial admission
counts the least pods, potential counts all others as idle, nodes count as empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model import capacity
from policycheck.model.amount import scale, show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.model.workload import PodSet, Workload
from policycheck.systems.core.podspec import mapping
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import GROUP, sums
from policycheck.systems.kueue.checks.common import Found, Params, join, quota_place, state, undecided
from policycheck.systems.kueue.checks.references import queue_of_local
from policycheck.systems.kueue.model import ClusterQueue, KueueWorkload, ResourceGroup
from policycheck.systems.kueue.state import KueueState


class Ask(NamedTuple):
    """A podset that waits in a queue which is beyond doubt."""

    id: DocumentId
    workload: str
    queue: ClusterQueue
    pods: PodSet
    least: int  # pods that have to start together

    def charge(self, resource: str) -> int:
        """What the podset is charged for a resource."""
        return scale(self.pods.requests.get(resource, 0), self.least)


def asks(cluster: Cluster) -> Iterator[Ask]:
    """Every podset of every workload that waits; what is admitted or finished is not asked again.

    Of alike workloads that one object becomes (the pods of a Deployment) the first speaks for all.
    """
    found = state(cluster)
    seen: set[tuple[ObjectKey, Path, str]] = set()
    for workload in found.objects.workloads.values():
        key = workload.source or ObjectKey(GROUP, "Workload", workload.namespace, workload.name)
        ids = cluster.index.ids(key)
        if not ids or cluster.index.is_ambiguous(key) or not _waits(workload):
            continue
        queue = queue_of_local(cluster, workload.namespace, workload.queue)
        if queue is None or undecided(found.trees[found.tree_of[queue.name]]):
            continue
        for pods in workload.pod_sets:
            least = pods.pods if pods.min_count is None else min(pods.pods, pods.min_count)
            if least > 0 and (key, pods.path, pods.name) not in seen:
                seen.add((key, pods.path, pods.name))
                yield Ask(ids[0], str(key), queue, pods, least)


def _waits(workload: KueueWorkload) -> bool:
    return workload.admission is None and not workload.finished and not workload.deleting


def charged(found: KueueState, resource: str) -> bool:
    """Whether Kueue charges a resource: excluded prefixes are not."""
    return not resource.startswith(found.objects.configuration.exclude_prefixes or ("\0",))


def exceeds_limits(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A podset that no flavor of its queue could hold if all others were idle."""
    found = state(cluster)
    if found.objects.configuration.transformations:
        yield Skip("the Configuration transforms resources; what a pod is charged is not worked out here")
        return
    ceilings = sums.Ceilings(found)
    for ask in asks(cluster):
        for group in ask.queue.groups:
            short = _short(found, ask, group, ceilings)
            if short is None:
                continue
            resource, most, flavor = short
            each = ask.pods.requests[resource]
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
    found: KueueState, ask: Ask, group: ResourceGroup, ceilings: sums.Ceilings
) -> tuple[str, int, str] | None:
    """The resource that rules out the best flavor: its name, the most there is, the flavor."""
    wanted = {r: ask.charge(r) for r in group.covered if charged(found, r) and ask.charge(r) > 0}
    if not wanted or not group.flavors:
        return None
    tried: list[tuple[float, str, int, str]] = []
    for flavor in group.flavors:
        gaps = [(ceilings.most(ask.queue.name, (flavor.name, r)), r) for r in wanted]
        missing = [(most / wanted[r], r, most) for most, r in gaps if most < wanted[r]]
        if not missing:
            return None
        share, resource, most = min(missing, key=lambda m: (not is_accelerator(m[1]), m[0], m[1]))
        tried.append((share, resource, most, flavor.name))
    _, resource, most, name = max(tried, key=lambda t: (t[0], t[3]))
    return resource, most, name


def request_place(cluster: Cluster, ask: Ask, resource: str) -> Path:
    """Where the request for ``resource`` is written; else the pod template."""
    return place_in(cluster.entries[ask.id].facts.typed, ask.pods, resource) or (*ask.pods.path, "spec")


def count_place(cluster: Cluster, ask: Ask) -> Path:
    """Where the number of pods is written, beside the pod template; () when it is not."""
    value: object = cluster.entries[ask.id].facts.value
    above = ask.pods.path[:-1]
    for step in above:
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            value = mapping(value).get(str(step))
    field = next((f for f in ("parallelism", "replicas", "count") if f in mapping(value)), "")
    return (*above, field) if field else ()


def accelerators_first(amounts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Requests, accelerators before what goes with them."""
    return sorted(amounts.items(), key=lambda item: (not is_accelerator(item[0]), item[0]))


def place_in(typed: object, pods: PodSet, resource: str) -> Path:
    """The request or limit of the first container that asks for ``resource``; () when none does."""
    for container in pods.containers:
        for name, amounts in (("requests", container.requests), ("limits", container.limits)):
            if amounts.get(resource):
                return (*container.path, "resources", name, resource)
    return ("metadata", "name") if isinstance(typed, Workload) and not pods.path else ()


def uncovered_resource(cluster: Cluster, params: Params) -> Found:
    """A request for a resource that the queue has no quota for at all."""
    found = state(cluster)
    configuration = found.objects.configuration
    if configuration.transformations:
        yield Skip("the Configuration transforms resources; what a pod is charged is not worked out here")
        return
    if configuration.quota_check_strategy == "IgnoreUndeclared":
        return
    ignored = tuple(str(p) for p in params.get("ignore", ()) or ())  # type: ignore[attr-defined]
    for ask in asks(cluster):
        covered = {r for group in ask.queue.groups for r in group.covered}
        for resource, amount in ask.pods.requests.items():
            if amount <= 0 or resource in covered or not charged(found, resource) or not covered:
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


def _nodes_for(base: sums.Ground, ask: Ask, resource: str) -> dict[str, tuple[Node, ...]] | None:
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
    base = sums.ground(state(cluster), cluster.inventory)
    for ask in asks(cluster):
        for resource, amount in accelerators_first(ask.pods.requests):
            nodes = _nodes_for(base, ask, resource)
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


def required_domain_too_small(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A podset that has to fit one domain of a level, and no domain is that large."""
    found = state(cluster)
    base = sums.ground(found, cluster.inventory)
    for ask in asks(cluster):
        request = ask.pods.topology
        if request is None:
            continue
        wanted: list[tuple[str, int]] = []
        if request.mode == "required" and request.level:
            wanted.append((request.level, ask.least))
        if request.slice_level and request.slice_size:
            wanted.append((request.slice_level, request.slice_size))
        for level, pods in wanted:
            yield from _small(cluster, base, ask, level, pods)


def _small(cluster: Cluster, base: sums.Ground, ask: Ask, level: str, pods: int) -> Iterator[Hit]:
    for resource, amount in accelerators_first(ask.pods.requests):
        nodes = _nodes_for(base, ask, resource)
        if nodes is None or amount <= 0 or not any(nodes.values()):
            continue
        best = _largest_domain(cluster, nodes, level, resource)
        if best is None or scale(amount, pods) <= best:
            continue
        values = {
            "workload": ask.workload,
            "resource": resource,
            "total": show(resource, scale(amount, pods)),
            "sum": f"{pods} pods x {show(resource, amount)}",
            "level": level,
            "largest": show(resource, best),
            "queue": ask.queue.name,
        }
        yield Hit(ask.id, _annotation_place(cluster, ask, level), values)
        return


def _annotation_place(cluster: Cluster, ask: Ask, level: str) -> Path:
    for key, value in ask.pods.annotations.items():
        if value == level and "topology" in key:
            return (*ask.pods.path, "metadata", "annotations", key)
    is_written = mapping(cluster.entries[ask.id].facts.value.get("spec")).get("podSets") is not None
    return (*ask.pods.path[:-1], "topologyRequest") if is_written else ask.pods.path


def _largest_domain(
    cluster: Cluster, nodes: dict[str, tuple[Node, ...]], level: str, resource: str
) -> int | None:
    """The most that one domain of ``level`` may hold; None when nobody can tell."""
    found = state(cluster)
    best: int | None = None
    for name, behind in nodes.items():
        flavor = found.objects.flavors.get(name)
        topology = found.objects.topologies.get(flavor.topology) if flavor else None
        if flavor is None or topology is None or level not in topology.levels:
            if flavor is not None and flavor.topology and topology is None:
                return None
            continue
        if any(
            n.source != "node" and n.machines == 1 and lv not in n.labels
            for n in behind
            for lv in topology.levels
        ):
            return None
        depth = topology.levels.index(level)
        for domain in capacity.domains(behind, topology.levels, resource)[depth]:
            if domain.free.high is None:
                return None
            best = max(best or 0, domain.free.high)
    return best


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
    return _annotation_place(cluster, ask, "")
