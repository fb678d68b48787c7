"""Whether a flavor is for a podset at all: taints, selectors and affinity against its own labels.

Sources: documentation of ResourceFlavor ("taints and tolerations", "labels for flavors"); #12446 for
whose label keys count. Real nodes are not consulted.
"""

from __future__ import annotations

from collections.abc import Collection

from policycheck.model.placement import Requirement, untolerated
from policycheck.model.workload import PodSet
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects, ResourceFlavor
from policycheck.systems.kueue.target import Strategy


def refusal(flavor: ResourceFlavor, spec: PodSet, keys: Collection[str]) -> str:
    """Why pods of ``spec`` cannot go to ``flavor``, or "".

    Only requirements on ``keys`` count (the labels the flavor declares); a term of the affinity with
    none of them matches, and matchFields are ignored.
    """
    taint = untolerated(flavor.node_taints, spec.tolerations + flavor.tolerations)
    if taint is not None:
        value = f"={taint.value}" if taint.value else ""
        return f"untolerated taint {taint.key}{value}:{taint.effect} in flavor {flavor.name}"
    labels = flavor.node_labels
    wanted = [(k, v) for k, v in spec.node_selector.items() if k in keys]
    if any(labels.get(k) != v for k, v in wanted) or not _affinity(flavor, spec, keys):
        return f"flavor {flavor.name} doesn't match node affinity"
    return ""


def _affinity(flavor: ResourceFlavor, spec: PodSet, keys: Collection[str]) -> bool:
    terms: list[list[Requirement]] = []
    for term in spec.affinity:
        kept = [e for e in term.expressions if e.key in keys]
        if not kept:
            return True
        terms.append(kept)
    return not terms or any(all(e.matches(flavor.node_labels) for e in kept) for kept in terms)


def topology_refusal(
    flavor: ResourceFlavor, spec: PodSet, levels: Collection[str] | None, *, every: bool, touches: bool
) -> str:
    """Why the topology request of ``spec`` and ``flavor`` do not go together, or "".

    ``levels`` are those of the flavor's topology (None: it has none); ``every`` says that all
    flavors of the queue have one, which implies topology for pods that did not ask; ``touches`` that
    the pods ask for something the flavor's resource group covers.
    """
    request = spec.topology
    asks = request is not None and bool(request.mode or request.slice_level or request.slices)
    if asks and request is not None:
        if levels is None:
            return "" if not touches else f"Flavor {flavor.name!r} does not support TopologyAwareScheduling"
        wanted = [request.level, request.slice_level, *(level for level, _ in request.slices)]
        if any(level and level not in levels for level in wanted):
            return f"Flavor {flavor.name!r} does not contain the requested level"
        return ""
    if levels is not None and not every:
        return f"Flavor {flavor.name!r} supports only TopologyAwareScheduling"
    return ""


def refused(
    objects: KueueObjects, rules: Strategy, queue: ClusterQueue, spec: PodSet, name: str, group: int
) -> str:
    """Why flavor ``name`` of the queue's resource group ``group`` is not for pods of ``spec``, or ""."""
    flavor = objects.flavors.get(name)
    if flavor is None:
        return f"flavor {name} not found"
    if rules.topology:
        names = [f.name for g in queue.groups for f in g.flavors]
        flavors = [objects.flavors[n] for n in names if n in objects.flavors]
        topology = objects.topologies.get(flavor.topology) if flavor.topology else None
        problem = topology_refusal(
            flavor,
            spec,
            topology.levels if topology else (() if flavor.topology else None),
            every=bool(flavors) and all(f.topology for f in flavors),
            touches=any(r in queue.groups[group].covered for r in spec.requests),
        )
        if problem:
            return problem
    keys = set(flavor.node_labels)
    if not rules.own_label_keys:
        near = (objects.flavors.get(f.name) for f in queue.groups[group].flavors)
        keys = {key for one in near if one is not None for key in one.node_labels}
    return refusal(flavor, spec, keys)
