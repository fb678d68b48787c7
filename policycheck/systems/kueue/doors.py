"""Queues as a mix or a trace sees them: what jobs can name, and what is promised behind it."""

from __future__ import annotations

from policycheck.model.amount import add
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Inventory
from policycheck.simulate.mix import Door
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects, ResourceGroup
from policycheck.systems.kueue.state import KueueState


def objects_of(cluster: Cluster) -> KueueObjects:
    """Kueue's objects of a cluster, which must have been linked with Kueue."""
    state = cluster.systems.get("kueue")
    if not isinstance(state, KueueState):
        raise TypeError("the cluster was linked without Kueue")
    return state.objects


def doors(objects: KueueObjects, resource: str) -> tuple[Door, ...]:
    """Every LocalQueue that leads to a ClusterQueue, by namespace and name; amounts are of ``resource``."""
    found = []
    for (namespace, name), local in sorted(objects.local_queues.items()):
        queue = objects.cluster_queues.get(local.cluster_queue)
        if queue is not None:
            serves = any(resource in group.covered for group in queue.groups)
            promised = nominal(queue.groups, resource)
            levels = levels_of(queue, objects, resource)
            found.append(Door(namespace, name, queue.name, promised, levels, serves))
    return tuple(found)


def nominal(groups: tuple[ResourceGroup, ...], resource: str) -> int:
    """Nominal quota of ``resource`` over all flavors."""
    total = 0
    for group in groups:
        for flavor in group.flavors:
            if resource in flavor.resources:
                total = add(total, flavor.resources[resource].nominal)
    return total


def levels_of(queue: ClusterQueue, objects: KueueObjects, resource: str) -> tuple[str, ...]:
    """Levels of the topology of the first flavor for ``resource`` that has one; () for none."""
    for group in queue.groups:
        if resource not in group.covered:
            continue
        for quotas in group.flavors:
            flavor = objects.flavors.get(quotas.name)
            topology = objects.topologies.get(flavor.topology) if flavor is not None else None
            if topology is not None:
                return topology.levels
    return ()


def capacity(objects: KueueObjects, inventory: Inventory, resource: str) -> tuple[int, str]:
    """What can be in use of ``resource`` at once, in whole units, and whence that is known; 0 for unknown.

    The smaller of what usable nodes have and what all quota adds up to.
    """
    quota = 0
    held = [q.groups for q in objects.cluster_queues.values()] + [c.groups for c in objects.cohorts.values()]
    for groups in held:
        quota = add(quota, nominal(groups, resource))
    free = [(n.free(resource), n.machines) for n in inventory.nodes if n.usable]
    hardware = sum(units * machines for units, machines in free if units is not None)
    if inventory.known and hardware and (not quota or hardware <= quota):
        return _whole(resource, hardware), "the usable nodes"
    return _whole(resource, quota), "all quota" if quota else ""


def per_host(inventory: Inventory, resource: str) -> int:
    """What the usable node that has most has of ``resource``, in whole units; 0 for unknown."""
    found = [
        n.allocatable.get(resource, 0) for n in inventory.nodes if n.usable and n.allocatable is not None
    ]
    return _whole(resource, max(found, default=0))


def _whole(resource: str, amount: int) -> int:
    return amount // 1000 if resource == "cpu" else amount
