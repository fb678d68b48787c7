"""Topologies: levels that nodes do not carry, topologies that nobody defines or uses."""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import DocumentId
from policycheck.systems.kueue.checks.common import Found, Params, documents, meant, shelf, state, whence
from policycheck.systems.kueue.link import elastic_flavors
from policycheck.systems.kueue.model import ResourceFlavor, Topology
from policycheck.wording import join

HOSTNAME = "kubernetes.io/hostname"


def _placed(cluster: Cluster) -> Iterator[tuple[DocumentId, ResourceFlavor, Topology, tuple[Node, ...]]]:
    """Flavors with a topology in sight and nodes that are told."""
    found = state(cluster)
    if not capacity.knows_labels(cluster.inventory):
        return
    elastic = elastic_flavors(found.objects)
    held = shelf(cluster)
    for identity, facts in documents(cluster, "ResourceFlavor"):
        flavor = facts.typed
        if not isinstance(flavor, ResourceFlavor) or flavor.name in elastic:
            continue
        topology = found.objects.topologies.get(flavor.topology)
        nodes = held.select(flavor.node_labels)
        if topology is not None and nodes:
            yield identity, flavor, topology, nodes


def _lacking(topology: Topology, nodes: tuple[Node, ...]) -> dict[str, tuple[Node, ...]]:
    """Nodes without the label of a level. Only Node objects are expected to tell their hostname."""
    found = {level: capacity.lacking(nodes, level) for level in topology.levels}
    if HOSTNAME in found:
        found[HOSTNAME] = tuple(n for n in found[HOSTNAME] if n.source == "node")
    return {level: without for level, without in found.items() if without}


def level_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Some nodes of a flavor lack a level's label: placement does not see them."""
    for identity, flavor, topology, nodes in _placed(cluster):
        without = _lacking(topology, nodes)
        invisible = {n.name for some in without.values() for n in some}
        if not invisible or len(invisible) == len(nodes):
            continue
        gone = [n for n in nodes if n.name in invisible]
        levels = [f"{level} ({capacity.machines(some)})" for level, some in without.items()]
        values = {
            "flavor": flavor.name,
            "topology": topology.name,
            "levels": join(levels),
            "lost": capacity.machines(gone),
            "all": capacity.machines(nodes),
            "nodes": join([n.name for n in gone]),
        }
        levels_at = _levels_at(cluster, topology, list(without))
        flavor_at = Related(identity, ("spec", "topologyName"), f"flavor {flavor.name} is placed by it")
        where = [i for n in gone if (i := _node_at(cluster, n)) is not None]
        if where:
            others = tuple(Related(i, ("metadata", "name"), "this one too") for i in where[1:4])
            because = (*others, flavor_at, *levels_at)
            yield Hit(where[0], ("metadata", "name"), values, because, discriminator=flavor.name)
        else:
            yield Hit(identity, ("spec", "topologyName"), values, levels_at)


def _node_at(cluster: Cluster, node: Node) -> DocumentId | None:
    """The Node object in sight that may be reported on; an inventory given beside is not."""
    identity = cluster.inventory.origins.get(node.name)
    entry = cluster.entries.get(identity) if identity is not None else None
    return identity if entry is not None and entry.origin.reported else None


def no_level_anywhere(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """No node of a flavor carries all levels of its topology: nothing can ever be placed."""
    for identity, flavor, topology, nodes in _placed(cluster):
        without = _lacking(topology, nodes)
        invisible = {n.name for some in without.values() for n in some}
        if len(invisible) < len(nodes):
            continue
        labels = sorted({key for n in nodes for key in n.labels})
        levels = [f"{level}{meant(level, labels)}" for level, some in without.items()]
        values = {
            "flavor": flavor.name,
            "topology": topology.name,
            "levels": join(levels),
            "all": capacity.machines(nodes),
        }
        yield Hit(identity, ("spec", "topologyName"), values, _levels_at(cluster, topology, list(without)))


def _levels_at(cluster: Cluster, topology: Topology, levels: list[str]) -> tuple[Related, ...]:
    identity = whence(cluster, "Topology", topology.name)
    if identity is None:
        return ()
    return tuple(
        Related(identity, ("spec", "levels", n, "nodeLabel"), "this level")
        for n, level in enumerate(topology.levels)
        if level in levels
    )


def topology_unused(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A topology that no flavor names."""
    flavors = state(cluster).objects.flavors
    used = {flavor.topology for flavor in flavors.values()}
    for identity, facts in documents(cluster, "Topology"):
        topology = facts.typed
        if not isinstance(topology, Topology) or topology.name in used:
            continue
        if not flavors:
            yield Skip("no ResourceFlavor is in sight; pass --context with the folder that holds them")
            continue
        yield Hit(identity, ("metadata", "name"), {"topology": topology.name})
