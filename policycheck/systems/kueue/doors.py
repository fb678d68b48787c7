"""Queues as a mix or a trace sees them: what jobs can name, and what is promised behind it."""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.model.amount import add
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Inventory, Node
from policycheck.simulate.mix import Door
from policycheck.systems.kueue.model import ClusterQueue, FlavorQuotas, KueueObjects, ResourceGroup
from policycheck.systems.kueue.state import KueueState


def state_of(cluster: Cluster) -> KueueState:
    """Kueue's state of a cluster, which must have been linked with Kueue."""
    state = cluster.systems.get("kueue")
    if not isinstance(state, KueueState):
        raise TypeError("the cluster was linked without Kueue")
    return state


def doors(state: KueueState, inventory: Inventory, resource: str) -> tuple[Door, ...]:
    """Every LocalQueue that leads to a ClusterQueue, by namespace and name; amounts are of ``resource``."""
    found = []
    known: dict[str, Door] = {}
    for (namespace, name), local in sorted(state.objects.local_queues.items()):
        queue = state.objects.cluster_queues.get(local.cluster_queue)
        if queue is None:
            continue
        if queue.name not in known:
            known[queue.name] = _door(queue, state, inventory, resource)
        found.append(known[queue.name]._replace(namespace=namespace, queue=name))
    return tuple(found)


def _door(queue: ClusterQueue, state: KueueState, inventory: Inventory, resource: str) -> Door:
    flavors = [f for group in queue.groups if resource in group.covered for f in group.flavors]
    labels = [f.node_labels for q in flavors if (f := state.objects.flavors.get(q.name)) is not None]
    nodes = [n for n in inventory.nodes if any(n.labels.items() >= one.items() for one in labels)]
    return Door(
        "",
        "",
        queue.name,
        nominal(queue.groups, resource),
        levels_of(queue, state.objects, resource),
        serves=bool(flavors),
        most=max((_most(queue, quotas, state, resource) for quotas in flavors), default=0),
        per_host=per_host(nodes, resource),
    )


def _most(queue: ClusterQueue, quotas: FlavorQuotas, state: KueueState, resource: str) -> int:
    """No more than this could ever be given to one podset in one flavor: it lies in one flavor."""
    quota = quotas.resources.get(resource)
    if quota is None:
        return 0
    tree = state.tree(queue.name) if queue.cohort else None
    if tree is None:
        return _whole(resource, quota.nominal)
    whole = tree.nominal(quotas.name, resource)
    if quota.borrowing_limit is not None:
        whole = min(whole, add(quota.nominal, quota.borrowing_limit))
    return _whole(resource, whole)


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


def per_host(nodes: Iterable[Node], resource: str) -> int:
    """What the usable node that has most has of ``resource``, in whole units; 0 for unknown."""
    found = [n.allocatable.get(resource, 0) for n in nodes if n.usable and n.allocatable is not None]
    return _whole(resource, max(found, default=0))


def _whole(resource: str, amount: int) -> int:
    return amount // 1000 if resource == "cpu" else amount
