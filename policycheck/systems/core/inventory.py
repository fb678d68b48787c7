"""An Inventory out of nodes, device slices and what already runs; and out of files of any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from policycheck.model.inventory import Inventory, Node
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.model.placement import Toleration, untolerated
from policycheck.model.workload import PodSet, Workload
from policycheck.record import NamedTuple
from policycheck.source.document import FileReport
from policycheck.systems.core import slices as device_slices

# What the DaemonSet controller adds to its pods (Kubernetes documentation, "DaemonSet", taints).
_DAEMON_TOLERATIONS = tuple(
    Toleration(f"node.kubernetes.io/{name}", "Exists", "", effect)
    for name, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        ("network-unavailable", "NoSchedule"),
    )
)
_FINISHED = frozenset({"Succeeded", "Failed"})


def assemble(
    nodes: Mapping[str, tuple[DocumentId, Node]],
    slices: Iterable[device_slices.DeviceSlice] = (),
    workloads: Mapping[ObjectKey, Workload] | None = None,
    claimed: frozenset[ObjectKey] = frozenset(),
) -> Inventory:
    """The hardware in sight, less what DaemonSets and pods outside any queue hold.

    ``claimed`` are the workloads that queues account for: their pods are not taken off. Nodes come
    sorted by name, so that the order of documents does not matter.
    """
    found, odd = device_slices.apply([nodes[name][1] for name in sorted(nodes)], slices)
    ordered = tuple(sorted(found, key=lambda node: node.name))
    origins = {name: place for name, (place, _) in nodes.items()}
    return Inventory(
        nodes=less(ordered, (workloads or {}).values(), claimed),
        known=bool(ordered),
        origins=origins,
        sources=tuple(sorted({place.file for place in origins.values()})),
        oddities=odd,
    )


def less(
    nodes: Sequence[Node], workloads: Iterable[Workload], claimed: frozenset[ObjectKey]
) -> tuple[Node, ...]:
    """The nodes less what DaemonSets and pods hold that no queue accounts for."""
    every = tuple(workloads)
    daemons = [w for w in every if w.nature == "daemon"]
    pods = [w for w in every if w.nature == "pod" and not is_claimed(w, claimed)]
    return commit(nodes, daemons, pods)


def is_claimed(pod: Workload, claimed: frozenset[ObjectKey]) -> bool:
    """Whether a queue accounts for the pod: itself, its owner, or the Deployment of its ReplicaSet."""
    if pod.key in claimed:
        return True
    owner = pod.owner
    if owner is None:
        return False
    above = owner._replace(kind="Deployment", name=owner.name.rpartition("-")[0])
    return owner in claimed or (owner.kind == "ReplicaSet" and above in claimed)


def commit(
    nodes: Sequence[Node], daemonsets: Sequence[Workload], pods: Sequence[Workload]
) -> tuple[Node, ...]:
    """The nodes with what is held on each: a pod of every DaemonSet that may run there, and bound
    pods that have not finished.

    Pods of a DaemonSet in ``daemonsets`` are left out, since the DaemonSet itself is counted; those
    that queues account for must not be among ``pods``.
    """
    bound: dict[str, list[PodSet]] = {}
    templates = {w.key for w in daemonsets}
    for pod in pods:
        is_daemon = pod.owner is not None and pod.owner in templates
        if pod.node and pod.phase not in _FINISHED and not is_daemon:
            bound.setdefault(pod.node, []).extend(pod.pod_sets)
    daemons = [pod_set for w in daemonsets for pod_set in w.pod_sets]
    if not bound and not daemons:
        return tuple(nodes)
    return tuple(_held(node, daemons, bound.get(node.name, ())) for node in nodes)


def _held(node: Node, daemons: Sequence[PodSet], bound: Sequence[PodSet]) -> Node:
    held = dict(node.committed)
    for pod_set in (*(d for d in daemons if admits(node, d, _DAEMON_TOLERATIONS)), *bound):
        for resource, number in {**pod_set.requests, "pods": 1}.items():
            held[resource] = held.get(resource, 0) + number
    return node._replace(committed=held)


def admits(node: Node, pod_set: PodSet, more: tuple[Toleration, ...] = ()) -> bool:
    """Whether selector, required affinity and taints let such a pod run here (amounts aside)."""
    if any(node.labels.get(key) != value for key, value in pod_set.node_selector.items()):
        return False
    if untolerated(node.taints, (*pod_set.tolerations, *more)) is not None:
        return False
    if not pod_set.affinity:
        return not pod_set.has_affinity
    return any(term.matches(node.labels, node.name) for term in pod_set.affinity)


def merge(inventories: Iterable[Inventory]) -> Inventory:
    """One Inventory of several; a node that two of them describe alike counts once.

    Of two different descriptions one is taken by their content, whatever the order, and it is said.
    """
    parts = tuple(inventories)
    found: dict[str, Node] = {}
    odd: dict[str, None] = {text: None for part in parts for text in part.oddities}
    for node in (node for part in parts for node in part.nodes):
        old = found.setdefault(node.name, node)
        if old != node:
            found[node.name] = min(old, node, key=repr)
            odd[f"{node.name} is described twice, differently: one description is used; remove the other"] = (
                None
            )
    return Inventory(
        nodes=tuple(found[name] for name in sorted(found)),
        known=any(part.known for part in parts),
        origins={name: place for part in parts for name, place in part.origins.items()},
        sources=tuple(dict.fromkeys(source for part in parts for source in part.sources)),
        dated=min((part.dated for part in parts if part.dated), default=""),
        oddities=tuple(odd),
    )


class Loaded(NamedTuple):
    """An Inventory and what became of each file."""

    inventory: Inventory
    files: tuple[FileReport, ...]


def load(
    paths: Sequence[str],
    read_bytes: Callable[[str], bytes],
    *,
    columns: Mapping[str, str] | None = None,
    is_queued: Callable[[Workload], bool] | None = None,
    named: Callable[[str], bool] = lambda _: True,
) -> Loaded:
    """The Inventory that files hold, each in whatever format its content shows.

    ``read_bytes`` may raise OSError, which becomes a report of that file. ``columns`` names the columns of
    tables. DaemonSets found beside nodes are taken off; loose pods only when ``is_queued`` tells which of
    them queues account for. A file that is no inventory failed if the user ``named`` it, rather than a
    folder in which it was found.
    """
    from policycheck.systems.core import formats

    parts = [formats.read(path, read_bytes, columns, named=named(path)) for path in paths]
    nodes: dict[str, tuple[DocumentId, Node]] = {}
    others: list[Inventory] = []
    for part in parts:
        for place, node in part.nodes:
            if node.source == "node" and node.name not in nodes:
                nodes[node.name] = (place, node)
            else:
                others.append(Inventory((node,), True, {node.name: place}, (place.file,)))
        others.append(Inventory(dated=part.dated, oddities=part.oddities))
    workloads = {w.key: w for part in parts for w in part.workloads if is_queued or w.nature == "daemon"}
    queued = frozenset(w.key for w in workloads.values() if is_queued is not None and is_queued(w))
    slices = [s for part in parts for s in part.slices]
    made = assemble(nodes, slices, workloads, queued)
    merged = merge((made, *others))
    sources = tuple(p.report.file for p in parts if p.nodes or p.slices)
    return Loaded(merged._replace(sources=sources), tuple(part.report for part in parts))
