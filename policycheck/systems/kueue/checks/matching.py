"""Whether any flavor of a queue is for the pods that wait in it, and whether any node behind it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import Path
from policycheck.model.placement import Taint, untolerated
from policycheck.model.workload import PodSet
from policycheck.systems.core.mend import appended, tolerated
from policycheck.systems.kueue.checks.ask import Ask, asks, is_refused, spec_place
from policycheck.systems.kueue.checks.common import Found, Params, ground, near, state, whence
from policycheck.systems.kueue.link import elastic_flavors
from policycheck.systems.kueue.model import ResourceFlavor, ResourceGroup
from policycheck.systems.kueue.scheduler.flavor import refusal
from policycheck.wording import join

# Label prefixes that nodes carry whatever pool they are in.
_COMMON = ("kubernetes.io/", "node.kubernetes.io/", "topology.kubernetes.io/", "beta.kubernetes.io/")
# Taints that come and go with the state of a node.
_SYSTEM = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cilium.io/")


def groups_of(ask: Ask) -> Iterator[ResourceGroup]:
    """The resource groups of the queue that the pods ask something of."""
    for group in ask.queue.groups:
        if any(ask.each.get(r, 0) > 0 for r in group.covered):
            yield group


def flavors_of(cluster: Cluster, group: ResourceGroup) -> list[ResourceFlavor] | None:
    """The flavors of a group; None when one is not in sight."""
    known = state(cluster).objects.flavors
    found = [known.get(flavor.name) for flavor in group.flavors]
    return [f for f in found if f is not None] if found and None not in found else None


def no_matching_flavor(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Pods that every flavor of their queue turns away, by its taints or by its labels."""
    for ask in asks(cluster):
        for group in groups_of(ask):
            flavors = flavors_of(cluster, group)
            if not flavors or not all(is_refused(f, ask) for f in flavors):
                continue
            path, why = _refused(flavors, ask)
            values = {
                "workload": ask.workload,
                "queue": ask.queue.name,
                "flavors": join([f.name for f in flavors]),
                "why": why,
            }
            first = whence(cluster, "ResourceFlavor", flavors[0].name)
            because = () if first is None else (Related(first, ("spec",), f"flavor {flavors[0].name}"),)
            yield Hit(ask.id, path, values, because)
            break


def _refused(flavors: Sequence[ResourceFlavor], ask: Ask) -> tuple[Path, str]:
    """Where the pods say what no flavor has, and what flavors have instead."""
    for key, wanted in ask.pods.node_selector.items():
        values = [f.node_labels[key] for f in flavors if key in f.node_labels]
        if len(values) == len(flavors) and wanted not in values:
            other = near(wanted, values)
            hint = f"; did you mean {other!r}?" if other else ""
            say = f"the pods want {key}={wanted}, flavors have {join(sorted(set(values)))}{hint}"
            return spec_place(ask, "nodeSelector", key), say
    why = refusal(flavors[0], ask.pods, flavors[0].node_labels.keys())
    if why.startswith("untolerated"):
        return spec_place(ask, "tolerations"), why
    return spec_place(ask, "affinity"), why


def matches(pods: PodSet, node: Node) -> bool:
    """Whether node selector and required node affinity allow the node; taints aside."""
    if any(node.labels.get(k) != v for k, v in pods.node_selector.items()):
        return False
    if not pods.affinity:
        return not pods.has_affinity
    return any(term.matches(node.labels, node.name) for term in pods.affinity)


def selects_no_node(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Pods whose selector no node has, of any flavor that Kueue may give them.

    Kueue holds a selector against a flavor's own labels only (#12446): the workload is admitted, and
    its pods stay Pending.
    """
    base = ground(cluster)
    if not capacity.knows_labels(cluster.inventory):
        yield Skip("the inventory has no node labels")
        return
    for ask in asks(cluster):
        if not ask.pods.node_selector and not ask.pods.has_affinity:
            continue
        for group in groups_of(ask):
            flavors = [f for f in flavors_of(cluster, group) or () if not is_refused(f, ask)]
            if not flavors or any(f.name not in base.nodes for f in flavors):
                continue
            nodes = [n for f in flavors for n in base.nodes[f.name]]
            if not nodes or any(matches(ask.pods, n) for n in nodes):
                continue
            path, why = _no_node(ask, nodes)
            values = {
                "workload": ask.workload,
                "queue": ask.queue.name,
                "why": why,
                "nodes": capacity.machines(nodes),
                "flavors": join([f.name for f in flavors]),
            }
            yield Hit(ask.id, path, values)
            break


def _no_node(ask: Ask, nodes: Sequence[Node]) -> tuple[Path, str]:
    for key, wanted in ask.pods.node_selector.items():
        values = {n.labels[key] for n in nodes if key in n.labels}
        if wanted in values:
            continue
        path = spec_place(ask, "nodeSelector", key)
        if not values:
            other = near(key, {k for n in nodes for k in n.labels})
            return path, f"none carries the label {key}" + (f"; did you mean {other!r}?" if other else "")
        other = near(wanted, values)
        hint = f"; did you mean {other!r}?" if other else f", they have {join(sorted(values))}"
        return path, f"none has {key}={wanted}{hint}"
    if ask.pods.has_affinity:
        return spec_place(ask, "affinity"), "none satisfies the required node affinity"
    return spec_place(ask, "nodeSelector"), "none carries all labels of the selector at once"


def selector_unheeded(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A selector on a label that no flavor of the queue declares: Kueue does not look at it.

    With an inventory the nodes decide instead, which is another rule.
    """
    if cluster.inventory.known:
        return
    for ask in asks(cluster):
        flavors = [f for group in groups_of(ask) for f in flavors_of(cluster, group) or ()]
        declared = {key for f in flavors for key in f.node_labels}
        if len(flavors) < 2 or not declared:
            continue
        for key in ask.pods.node_selector:
            if key in declared or key.startswith(_COMMON):
                continue
            other = near(key, declared)
            values = {
                "workload": ask.workload,
                "key": key,
                "queue": ask.queue.name,
                "flavors": join([f.name for f in flavors]),
                "declared": f"did you mean {other!r}" if other else f"they declare {join(sorted(declared))}",
            }
            yield Hit(ask.id, spec_place(ask, "nodeSelector", key), values)


class _Closed(NamedTuple):
    taint: Taint
    nodes: tuple[Node, ...]


def taint_untolerated(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Nodes of a flavor whose taint neither the flavor tolerates nor declares.

    Kueue adds a flavor's tolerations to the pods and knows nothing of the taints of nodes: quota
    counts these nodes and the pods can not go there. Silent when the pods in sight that may get the
    flavor all tolerate it themselves.
    """
    found, base = state(cluster), ground(cluster)
    elastic = elastic_flavors(found.objects)
    for name, nodes in base.nodes.items():
        flavor = found.objects.flavors.get(name)
        identity = whence(cluster, "ResourceFlavor", name)
        if flavor is None or identity is None or name in elastic:
            continue
        for closed in _closed(flavor, nodes):
            asking = [ask for ask in asks(cluster) if _may_get(ask, flavor)]
            without = [a for a in asking if untolerated((closed.taint,), a.pods.tolerations)]
            if asking and not without:
                continue
            values = {
                "flavor": name,
                "taint": _shown(closed.taint),
                "key": closed.taint.key,
                "some": f"{capacity.machines(closed.nodes)} of {capacity.machines(nodes)}",
                "nodes": join([n.name for n in closed.nodes], 3),
                "who": f": {without[0].workload}, for one" if without else "",
            }
            because = tuple(Related(a.id, spec_place(a), "does not tolerate it") for a in without[:3])
            told: Path = ("spec", "tolerations")
            written = cluster.entries[identity].facts.value
            changes = (appended(identity, written, told, tolerated(closed.taint)),)
            mark = closed.taint.key
            yield Hit(identity, told, values, because, discriminator=mark, changes=changes)


def _closed(flavor: ResourceFlavor, nodes: Sequence[Node]) -> list[_Closed]:
    """Taints of usable nodes that the flavor says nothing of, each with its nodes."""
    behind: dict[Taint, list[Node]] = {}
    for node in capacity.usable(nodes):
        for taint in node.taints:
            if (
                taint.key.startswith(_SYSTEM)
                or taint in flavor.node_taints
                or _is_cloud(node, taint)
                or untolerated((taint,), flavor.tolerations) is None
            ):
                continue
            behind.setdefault(taint, []).append(node)
    return [_Closed(taint, tuple(some)) for taint, some in behind.items()]


def _is_cloud(node: Node, taint: Taint) -> bool:
    """Whether the cloud adds this toleration to every pod that asks for the accelerator (GKE does)."""
    return taint.key in ("nvidia.com/gpu", "google.com/tpu") and any(
        key.startswith("cloud.google.com/") for key in node.labels
    )


def _may_get(ask: Ask, flavor: ResourceFlavor) -> bool:
    names = {f.name for group in groups_of(ask) for f in group.flavors}
    return flavor.name in names and not is_refused(flavor, ask)


def _shown(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def foreign_gate(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A scheduling gate that is not Kueue's: quota is charged while somebody else holds the pods."""
    for ask in asks(cluster):
        for n, gate in enumerate(ask.pods.scheduling_gates):
            if not gate.startswith("kueue.x-k8s.io/"):
                values = {"workload": ask.workload, "gate": gate, "queue": ask.queue.name}
                yield Hit(ask.id, spec_place(ask, "schedulingGates", n), values)


def podsets_split(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Podsets that fit the flavors of their queue together, and not one after the other.

    Kueue gives each podset the first flavor that fits and does not go back (#3909).
    """
    from policycheck.systems.kueue.checks.splitting import stuck

    by_key: dict[object, list[Ask]] = {}
    for ask in asks(cluster):
        by_key.setdefault(ask.key, []).append(ask)
    for parts in by_key.values():
        if len(parts) < 2 or any(p.least != p.pods.pods for p in parts):
            continue
        told = stuck(cluster, parts)
        if told is not None:
            part, resource, values = told
            yield Hit(part.id, (*part.pods.path, "spec"), {**values, "resource": resource})
