"""Which nodes shapes could run on, and how far placements are spread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.certify.promise import Shape
from policycheck.model.inventory import Node
from policycheck.model.workload import PodSet
from policycheck.simulate.scheduler import Grant
from policycheck.systems.core.inventory import admits
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.drive.facts import principal
from policycheck.systems.kueue.model import KueueObjects, ResourceFlavor
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.state import quotas

_HOSTNAME = "kubernetes.io/hostname"


def tolerated(
    shape: Shape, nodes: Iterable[Node], objects: KueueObjects, accelerators: Sequence[str]
) -> dict[str, int]:
    """Free accelerators of nodes on which every podset that asks for some could run, by some flavor."""
    asking = [s for s in shape.pod_sets if any(r in accelerators for r in s.requests)]
    found: dict[str, int] = {}
    for node in nodes:
        if not node.usable or not asking:
            continue
        if all(any(_takes(node, spec, f) for f in objects.flavors.values()) for spec in asking):
            for resource in accelerators:
                free = node.free(resource)
                if free:
                    found[resource] = found.get(resource, 0) + free * node.machines
    return found


def _takes(node: Node, spec: PodSet, flavor: ResourceFlavor) -> bool:
    """Whether the node has the flavor's labels and lets such a pod in, and one of them fits."""
    if any(node.labels.get(k) != v for k, v in flavor.node_labels.items()):
        return False
    if not admits(node, spec, flavor.tolerations):
        return False
    free = {r: node.free(r) for r in spec.requests}
    return all(left is None or left >= spec.requests[r] for r, left in free.items())


def spanned(grant: Grant, nodes: Iterable[Node], objects: KueueObjects, level: str = "") -> int:
    """Domains over which the pods of a grant are spread, at ``level`` or ("") at the one above single nodes."""
    labels = {n.labels.get(_HOSTNAME, n.name): n.labels for n in nodes}
    places: set[tuple[str, ...]] = set()
    for one in grant.sets:
        if one.placement is None:
            continue
        levels, domains = one.placement
        known = [objects.flavors[f].topology for f in one.flavors.values() if f in objects.flavors]
        chain = next((objects.topologies[t].levels for t in known if t in objects.topologies), ())
        wanted = chain[: chain.index(level) + 1] if level in chain else ()
        if levels != (_HOSTNAME,):
            end = len(wanted) if wanted and levels == chain else None
            places |= {values[:end] for values, _ in domains}
            continue
        above = wanted or chain[:-1]
        for values, _ in domains:
            host = labels.get(values[-1], {})
            places.add(tuple(host.get(key, "") for key in above) or values)
    return len(places)


def accelerators(opening: Opening) -> tuple[str, ...]:
    """Accelerator resources that queues give quota in, the one a simulation is told in first."""
    first = principal(opening.objects)
    seen = {
        resource
        for queue in opening.objects.cluster_queues.values()
        for _, resource in quotas(queue.groups)
        if is_accelerator(resource)
    }
    return (first, *sorted(seen - {first})) if first in seen else tuple(sorted(seen))
