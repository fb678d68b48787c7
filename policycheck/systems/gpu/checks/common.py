"""What the checks about accelerators share: who asks, which nodes there are, where a node's fault is shown."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Iterator, Mapping

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.inventory import Node
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.model.workload import PodSet, Workload
from policycheck.record import NamedTuple
from policycheck.systems.core.link import CoreState

Found = Iterator[Hit | Skip]
Params = Mapping[str, object]
LABELS: Path = ("metadata", "labels")  # of a Node
ALLOCATABLE: Path = ("status", "allocatable")
_FINISHED = frozenset({"Succeeded", "Failed"})


class Asking(NamedTuple):
    """Pods of one shape, and the object that makes them."""

    id: DocumentId
    workload: Workload
    pods: PodSet

    @property
    def name(self) -> str:
        """The object, as messages call it."""
        return str(self.workload.key)


def asking(cluster: Cluster) -> Iterator[Asking]:
    """Every podset in sight. Pods that have ended, or that another object makes, are left out."""
    for identity, entry in cluster.entries.items():
        made = entry.facts.typed
        if isinstance(made, Workload) and made.phase not in _FINISHED and made.owner is None:
            yield from (Asking(identity, made, pods) for pods in made.pod_sets)


def shape(pods: PodSet) -> Hashable:
    """What decides where the pods may go: alike ones need to be placed once."""
    return (
        tuple(sorted(pods.node_selector.items())),
        pods.affinity,
        pods.has_affinity,
        pods.tolerations,
    )


def documents(cluster: Cluster, group: str, kind: str) -> Iterator[tuple[DocumentId, Facts]]:
    """Every document of a kind, also those that define one object differently."""
    keys = cluster.index.kinds.get((group, kind), {})
    for key in sorted(keys):
        for identity in keys[key]:
            yield identity, cluster.entries[identity].facts


def reach(value: object, path: Path) -> object:
    """What stands at ``path``; None where the object, whose pods may be written in other terms, has nothing."""
    for step in path:
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value


def core(cluster: Cluster) -> CoreState:
    """Kubernetes' own state of a cluster."""
    found = cluster.systems.get("core")
    return found if isinstance(found, CoreState) else CoreState()


def node_objects(cluster: Cluster) -> Iterator[Node]:
    """Nodes that are Node objects, by name: tables and pool files have no place to point at."""
    return (node for node in cluster.inventory.nodes if node.source == "node")


class Fault(NamedTuple):
    """Something wrong with one node. ``path`` is in the Node object; ``what`` does not name the node."""

    node: Node
    path: Path
    what: str


def at_nodes(
    cluster: Cluster, faults: Iterable[Fault], otherwise: tuple[DocumentId, Path] | None = None
) -> Found:
    """One hit for all nodes with the same fault.

    It stands at the first of them. Nodes that are only looked at (an inventory beside the manifests)
    are not reported upon: then it stands at ``otherwise``, or at a flavor that counts on the first.
    """
    alike: dict[tuple[str, bool], list[tuple[DocumentId, Fault]]] = {}
    for fault in faults:
        identity = cluster.inventory.origins.get(fault.node.name)
        if identity is not None and identity in cluster.entries:
            ours = cluster.entries[identity].origin.reported
            alike.setdefault((fault.what, ours), []).append((identity, fault))
    for (what, is_ours), found in alike.items():
        identity, first = found[0]
        names = [fault.node.name for _, fault in found]
        values = {"nodes": nodes_named(names), "what": what}
        others = tuple(Related(i, f.path, f"{f.node.name} too") for i, f in found[1:5])
        if is_ours:
            yield Hit(identity, first.path, values, others, discriminator=what)
            continue
        place = otherwise or _flavor_of(cluster, first.node)
        if place is not None:
            because = (Related(identity, first.path, first.node.name), *others)
            yield Hit(*place, values, because, discriminator=what)


def nodes_named(names: list[str]) -> str:
    """``node a``, ``2 nodes (a, b)``, ``9 nodes (a, b and 7 more)``."""
    if len(names) == 1:
        return f"node {names[0]}"
    shown = names if len(names) <= 3 else [*names[:2]]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f"{len(names)} nodes ({', '.join(shown)}{more})"


def _flavor_of(cluster: Cluster, node: Node) -> tuple[DocumentId, Path] | None:
    """A flavor that counts on the node and is reported upon: where its labels begin."""
    for flavor in cluster.view.flavors:
        if not cluster.entries[flavor.id].origin.reported:
            continue
        if flavor.node_labels and all(node.labels.get(k) == v for k, v in flavor.node_labels.items()):
            return flavor.id, ("spec", "nodeLabels")
    return None


def node_key(name: str) -> ObjectKey:
    """The key of a Node object."""
    return ObjectKey("", "Node", "", name)


def near(name: str, known: Iterable[str], cutoff: float = 0.75) -> str:
    """The one of ``known`` that ``name`` probably means; "" when none is near."""
    folded = {other.lower(): other for other in sorted(known, reverse=True) if other != name}
    found = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=cutoff)
    return folded[found[0]] if found else ""
