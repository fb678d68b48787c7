"""Flavors: nodes that they do not match, nodes that they share, flavors that nobody uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, product

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import DocumentId, Path
from policycheck.source.document import Change
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    documents,
    flavor_places,
    near,
    shelf,
    state,
    whence,
)
from policycheck.systems.kueue.checks.hardware import all_shortfalls
from policycheck.systems.kueue.checks.lowered import told_apart
from policycheck.systems.kueue.link import elastic_flavors
from policycheck.systems.kueue.model import ClusterQueue, ResourceFlavor, ResourceGroup
from policycheck.systems.kueue.state import KueueState
from policycheck.wording import join, plural

_LABELS: Path = ("spec", "nodeLabels")


def matches_no_node(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The labels of a flavor select none of the nodes, and nothing provisions any."""
    found = state(cluster)
    elastic = elastic_flavors(found.objects)
    nodes = cluster.inventory.nodes
    held = shelf(cluster)
    if not capacity.knows_labels(cluster.inventory):
        yield Skip("the inventory has no node labels")
        return
    for identity, facts in documents(cluster, "ResourceFlavor"):
        flavor = facts.typed
        if not isinstance(flavor, ResourceFlavor) or not flavor.node_labels or flavor.name in elastic:
            continue
        if held.select(flavor.node_labels):
            continue
        key, why, right = _reason(flavor.node_labels, nodes)
        path = (*_LABELS, key) if key else _LABELS
        values = {"flavor": flavor.name, "why": why, "nodes": capacity.machines(nodes)}
        changes = (right._replace(id=identity, path=path),) if right is not None else ()
        yield Hit(identity, path, values, changes=changes)


def _reason(labels: Mapping[str, str], nodes: Iterable[Node]) -> tuple[str, str, Change | None]:
    """The label that is to blame, what the nodes carry instead, and what writes that."""
    nowhere = DocumentId("")
    values: dict[str, set[str]] = {}
    for node in nodes:
        for key, value in node.labels.items():
            values.setdefault(key, set()).add(value)
    for key, value in labels.items():
        if key not in values:
            other = near(key, values)
            said = f"; did you mean the label {other!r}?" if other else ""
            rename = Change(nowhere, (), "rename", other) if other else None
            return key, f"no node carries the label {key}{said}", rename
        if value not in values[key]:
            other = near(value, values[key])
            said = f"; did you mean {other!r}?" if other else f"; nodes have {join(sorted(values[key]))}"
            return (
                key,
                f"no node has {key}={value}{said}",
                Change(nowhere, (), "set", other) if other else None,
            )
    return "", f"no node carries all {len(labels)} labels at once", None


def flavors_overlap(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Two flavors with quota of one resource that select the same nodes: capacity counted twice.

    Where the inventory shows that the quotas of both exceed the shared nodes, the rule about
    guarantees beyond hardware says so with the sum; this one is silent then.
    """
    found = state(cluster)
    held = _held(found)
    said = _summed(cluster)
    flavors = found.objects.flavors
    for one, other in _candidates(cluster, [f for f in flavors.values() if held.get(f.name)]):
        resources = sorted(held[one] & held[other])
        how = _overlap(cluster, flavors[one], flavors[other])
        if not resources or not how or frozenset((one, other)) in said:
            continue
        first, second = (whence(cluster, "ResourceFlavor", name) for name in (one, other))
        if first is None or second is None:
            continue
        values = {"one": one, "other": other, "how": how, "resources": join(resources)}
        because = (Related(first, _label_place(flavors[one]), f"flavor {one}"),)
        pair = [(one, first, flavors[one].node_labels), (other, second, flavors[other].node_labels)]
        nodes = [node.labels for _, _, labels in pair for node in shelf(cluster).select(labels)]
        changes = told_apart(pair, nodes)
        place = _label_place(flavors[other])
        yield Hit(second, place, values, because, discriminator=one, changes=changes)


def _label_place(flavor: ResourceFlavor) -> Path:
    """The first node label; the place where there would be one."""
    return (*_LABELS, *list(flavor.node_labels)[:1])


def _candidates(cluster: Cluster, flavors: list[ResourceFlavor]) -> list[tuple[str, str]]:
    """Pairs of flavors with the same labels, or with a node in common."""
    groups: dict[object, list[str]] = {}
    held = shelf(cluster)
    for flavor in flavors:
        if flavor.node_labels:
            groups.setdefault(frozenset(flavor.node_labels.items()), []).append(flavor.name)
        for node in held.select(flavor.node_labels):
            groups.setdefault(node.name, []).append(flavor.name)
    return sorted({pair for names in groups.values() for pair in combinations(sorted(names), 2)})


def _summed(cluster: Cluster) -> set[frozenset[str]]:
    """Pairs of flavors of which the rule about guarantees speaks already."""
    if not cluster.inventory.known:
        return set()
    return {frozenset(pair) for s in all_shortfalls(cluster) for pair in combinations(s.flavors, 2)}


def _held(found: KueueState) -> dict[str, set[str]]:
    """The resources of which somebody holds quota, by flavor."""
    held: dict[str, set[str]] = {}
    for tree in found.trees.values():
        for (flavor, resource), holders in tree.holders.items():
            if any(h.quota.nominal > 0 for h in holders):
                held.setdefault(flavor, set()).add(resource)
    return held


def _overlap(cluster: Cluster, one: ResourceFlavor, other: ResourceFlavor) -> str:
    """How two flavors share nodes; "" when they do not, or when nobody can tell.

    Different taints tell flavors with equal labels apart, as people do for spot nodes.
    """
    if set(one.node_taints) != set(other.node_taints):
        return ""
    if one.node_labels == other.node_labels and one.node_labels:
        return "have the same node labels"
    inventory = cluster.inventory
    if not inventory.known or not capacity.knows_labels(inventory):
        return ""
    mine = {n.name for n in capacity.select(inventory, one.node_labels)}
    both = [n for n in capacity.select(inventory, other.node_labels) if n.name in mine]
    return f"both select {plural(len(both), 'node')} ({join([n.name for n in both], 3)})" if both else ""


def flavor_unused(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A flavor in which no queue and no cohort has quota."""
    found = state(cluster)
    used = {flavor for tree in found.trees.values() for flavor in tree.flavors}
    for kind in ("ClusterQueue", "Cohort"):
        for _, facts in documents(cluster, kind):
            used.update(name for name, _, _ in flavor_places(facts.value))
    for identity, facts in documents(cluster, "ResourceFlavor"):
        name = facts.key.name
        if not name or name in used:
            continue
        if not found.objects.cluster_queues:
            yield Skip("no ClusterQueue is in sight; pass --context with the folder that holds them")
            continue
        other = near(name, used - found.objects.flavors.keys())
        hint = f"; queues name {other!r}, which is not defined" if other else ""
        yield Hit(identity, ("metadata", "name"), {"flavor": name, "hint": hint})


def labels_contradict(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Resource groups whose flavors never go together: their labels end up in one node selector."""
    flavors = state(cluster).objects.flavors
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue):
            continue
        for (m, one), (n, other) in combinations(enumerate(queue.groups), 2):
            clash = _clash(one, other, flavors)
            if clash:
                key, first, second = clash
                values = {
                    "queue": queue.name,
                    "one": join(one.covered),
                    "other": join(other.covered),
                    "key": key,
                    "first": first,
                    "second": second,
                }
                because = (
                    Related(identity, ("spec", "resourceGroups", m, "flavors", 0, "name"), "and this"),
                )
                at: Path = ("spec", "resourceGroups", n, "flavors", 0, "name")
                yield Hit(identity, at, values, because)


def _clash(
    one: ResourceGroup, other: ResourceGroup, flavors: Mapping[str, ResourceFlavor]
) -> tuple[str, str, str] | None:
    """A label with two values, when every pair of flavors has such a one."""
    found = None
    for first, second in product(one.flavors, other.flavors):
        a, b = flavors.get(first.name), flavors.get(second.name)
        if a is None or b is None:
            return None
        keys = [k for k, v in a.node_labels.items() if b.node_labels.get(k, v) != v]
        if not keys:
            return None
        found = found or (
            keys[0],
            f"{a.name} wants {a.node_labels[keys[0]]}",
            f"{b.name} {b.node_labels[keys[0]]}",
        )
    return found
