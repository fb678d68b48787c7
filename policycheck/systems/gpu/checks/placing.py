"""Where pods for accelerators may go when no queue decides: selectors, taints, daemons, open pools.

What Kueue admits is held against its flavors by Kueue's own rules. Sources: the Kubernetes
documentation pages "Assigning Pods to Nodes" and "Taints and Tolerations"; the list of labels in the
README of the k8s-device-plugin.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import Path
from policycheck.model.placement import HARD_EFFECTS, Taint, Toleration, untolerated
from policycheck.systems.core.inventory import admits
from policycheck.systems.core.mend import appended, tolerated
from policycheck.systems.core.podspec import items, mapping, text, tolerations
from policycheck.systems.gpu import labels, resources
from policycheck.systems.gpu.checks.common import (
    Asking,
    Fault,
    Found,
    Params,
    asking,
    at_nodes,
    documents,
    near,
    node_objects,
    nodes_named,
    reach,
    shape,
)
from policycheck.wording import join, plural

_SYSTEM = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cilium.io/")
_GPU_TAINTS = ("nvidia.com/", "amd.com/", "google.com/tpu", "gpu.intel.com/", "habana.ai/")
# Daemons without which a node offers no GPUs, or nobody sees them; by their images.
_DAEMONS = re.compile(
    r"nvidia-device-plugin|k8s-device-plugin|gpu-feature-discovery|dcgm-exporter|nvidia-driver|container-toolkit"
    r"|k8s-mig-manager|mig-manager|k8s-dra-driver|amdgpu-dp|rocm/k8s-device-plugin"
)


def unpublished_label(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A selector or flavor on a label under nvidia.com/ that nothing of NVIDIA's publishes.

    With an inventory the nodes decide, and other rules say what they carry.
    """
    if cluster.inventory.known and capacity.knows_labels(cluster.inventory):
        return
    for ask in asking(cluster):
        for key, path in _keys(ask):
            if not labels.is_published(key):
                values = {"who": ask.name, "key": key, "hint": _meant(key)}
                yield Hit(ask.id, (*ask.pods.path, *path), values)
    for flavor in cluster.view.flavors:
        for key in flavor.node_labels:
            if not labels.is_published(key):
                values = {"who": f"flavor {flavor.name}", "key": key, "hint": _meant(key)}
                yield Hit(flavor.id, ("spec", "nodeLabels", key), values)


def _meant(key: str) -> str:
    other = labels.PRODUCT if key in labels.MODEL_GUESSES else near(key, labels.PUBLISHED)
    return f"; did you mean {other}?" if other else ""


def _keys(ask: Asking) -> Iterator[tuple[str, Path]]:
    """Label keys that the pods require of nodes, with their places in the pod."""
    at: Path = ("spec",)
    for key in ask.pods.node_selector:
        yield key, (*at, "nodeSelector", key)
    for t, term in enumerate(ask.pods.affinity):
        for n, expression in enumerate(term.expressions):
            required = "requiredDuringSchedulingIgnoredDuringExecution"
            where = (
                "affinity",
                "nodeAffinity",
                required,
                "nodeSelectorTerms",
                t,
                "matchExpressions",
                n,
                "key",
            )
            if expression.operator not in ("NotIn", "DoesNotExist"):
                yield expression.key, (*at, *where)


def _unqueued(cluster: Cluster) -> Iterator[Asking]:
    """Pods for accelerators that no queue decides about and that are bound nowhere yet."""
    queued = {work.key for work in cluster.view.workloads if work.queue}
    for ask in asking(cluster):
        if ask.workload.nature == "daemon" or ask.workload.node or ask.workload.key in queued:
            continue
        if any(n > 0 and resources.is_accelerator(r) for r, n in ask.pods.requests.items()):
            yield ask


def fits_no_node(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Pods for accelerators that no node takes: by its labels, or for its taints."""
    nodes, asks = cluster.inventory.nodes, list(_unqueued(cluster))
    if not asks:
        return
    if any(node.source != "node" or node.most is None or node.most > node.machines for node in nodes):
        yield Skip(
            "the inventory has nodes that come when they are needed, or does not say all labels and taints"
        )
        return
    known: dict[Hashable, tuple[Path, str]] = {}
    for ask in asks:
        key = (shape(ask.pods), *_accelerators(ask))
        if key not in known:
            known[key] = _refusal(cluster, ask)
        path, why = known[key]
        if path:
            yield Hit(ask.id, (*ask.pods.path, *path), {"workload": ask.name, "why": why})


def _refusal(cluster: Cluster, ask: Asking) -> tuple[Path, str]:
    """Why no node takes such pods, and where in the pod they say so; no path when some node may."""
    nodes = cluster.inventory.nodes
    if any(admits(node, ask.pods) for node in nodes):
        return (), ""
    open_ = [node for node in nodes if admits(node._replace(taints=()), ask.pods)]
    if not open_:
        return _for_labels(ask, nodes)
    if cluster.view.queues:
        return (), ""  # a queue would bring tolerations with it; that the pods are in none is what is wrong
    giving = [n for n in open_ if any((n.allocatable or {}).get(r) for r in _accelerators(ask))]
    return _for_taints(ask, giving or open_)


def _accelerators(ask: Asking) -> list[str]:
    return [r for r, n in ask.pods.requests.items() if n > 0 and resources.is_accelerator(r)]


def _for_labels(ask: Asking, nodes: Sequence[Node]) -> tuple[Path, str]:
    """The label that is to blame, and what the nodes carry instead."""
    at: Path = ("spec",)
    values: dict[str, set[str]] = {}
    for node in nodes:
        for key, value in node.labels.items():
            values.setdefault(key, set()).add(value)
    for key, wanted in ask.pods.node_selector.items():
        if wanted in values.get(key, ()):
            continue
        path = (*at, "nodeSelector", key)
        if key not in values:
            other = near(key, values)
            return path, f"none carries the label {key}" + (f"; did you mean {other}?" if other else "")
        return path, f"none has {key}={wanted}{_instead(wanted, values[key])}"
    for key, path in _keys(ask):
        if key not in values:
            other = near(key, values)
            return path, f"none carries the label {key}" + (f"; did you mean {other}?" if other else "")
    if ask.pods.has_affinity:
        return (*at, "affinity", "nodeAffinity"), "none satisfies the required node affinity"
    return (*at, "nodeSelector"), "none carries all labels of the selector at once"


def _instead(wanted: str, known: set[str]) -> str:
    """The value that is meant: first one that differs by what publishers add, then a near one."""
    for other in sorted(known):
        if wanted in (
            other.removeprefix("NVIDIA-"),
            other.removesuffix("-SHARED"),
            other.partition("-MIG-")[0],
        ):
            return f"; did you mean {other}?"
        if other in (
            wanted.removeprefix("NVIDIA-"),
            wanted.removesuffix("-SHARED"),
            wanted.partition("-MIG-")[0],
        ):
            return f"; did you mean {other}?"
    meant = near(wanted, known)
    return f"; did you mean {meant}?" if meant else f"; they have {join(sorted(known))}"


def _for_taints(ask: Asking, nodes: Sequence[Node]) -> tuple[Path, str]:
    """The taint that keeps pods from the nodes that they select; no path when the cloud opens it."""
    asked = set(_accelerators(ask))
    for node in nodes:
        taint = untolerated(node.taints, ask.pods.tolerations)
        if taint is None or taint.key.startswith(_SYSTEM) or (taint.key in asked and _is_gke(node)):
            return (), ""
    taint = untolerated(nodes[0].taints, ask.pods.tolerations)
    if taint is None:
        return (), ""
    where = nodes_named([node.name for node in nodes])
    return (
        "spec",
        "tolerations",
    ), f"{where} with the taint {_shown(taint)}{_missed(taint, ask.pods.tolerations)}"


def _is_gke(node: Node) -> bool:
    """GKE adds the toleration to every pod that asks for the resource of the taint's name."""
    return any(key.startswith("cloud.google.com/") for key in node.labels)


def _shown(taint: Taint) -> str:
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _missed(taint: Taint, tolerations: Sequence[Toleration]) -> str:
    """The toleration that was meant for this taint, and how it misses it."""
    for one in tolerations:
        if one.key == taint.key and one.effect not in ("", taint.effect):
            return f"; a toleration has its key and the effect {one.effect}"
        if one.key == taint.key and one.value != taint.value:
            return f'; a toleration has its key and the value "{one.value}"'
    other = near(taint.key, [one.key for one in tolerations if one.key])
    return f"; a toleration is for {other}" if other else ""


def daemon_untolerating(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A GPU daemon that does not tolerate the taints of nodes with GPUs."""
    nodes = [n for n in cluster.inventory.nodes if n.accelerators is not None and n.usable]
    for ask in asking(cluster):
        if ask.workload.nature != "daemon" or not _DAEMONS.search(_images(cluster, ask)):
            continue
        shut: dict[Taint, list[Node]] = {}
        for node in nodes:
            if not admits(node._replace(taints=()), ask.pods):
                continue
            taint = untolerated(node.taints, ask.pods.tolerations)
            if taint is not None and not taint.key.startswith(_SYSTEM):
                shut.setdefault(taint, []).append(node)
        for taint, some in shut.items():
            values = {
                "workload": ask.name,
                "taint": _shown(taint),
                "nodes": nodes_named([n.name for n in some]),
                "key": taint.key,
                "hint": _missed(taint, ask.pods.tolerations),
            }
            because = tuple(
                Related(place, ("spec", "taints"), f"taint of {node.name}")
                for node in some[:3]
                if (place := cluster.inventory.origins.get(node.name)) in cluster.entries
                and place is not None
            )
            at = (*ask.pods.path, "spec", "tolerations")
            changes = (appended(ask.id, cluster.entries[ask.id].facts.value, at, tolerated(taint)),)
            yield Hit(ask.id, at, values, because, discriminator=_shown(taint), changes=changes)


def operator_untolerating(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Taints of GPU nodes that the operator's daemons do not tolerate: it is told of no other than its own."""
    own = Toleration("nvidia.com/gpu", "Exists", "", "NoSchedule")
    for identity, facts in documents(cluster, "nvidia.com", "ClusterPolicy"):
        daemons = mapping(mapping(facts.value.get("spec")).get("daemonsets"))
        told = (own, *tolerations(daemons.get("tolerations")))
        shut: dict[Taint, list[Node]] = {}
        for node in cluster.inventory.nodes:
            taint = untolerated(node.taints, told)
            if node.accelerators is not None and taint is not None and not taint.key.startswith(_SYSTEM):
                shut.setdefault(taint, []).append(node)
        for taint, some in shut.items():
            values = {"taint": _shown(taint), "nodes": nodes_named([n.name for n in some]), "key": taint.key}
            at = ("spec", "daemonsets", "tolerations")
            changes = (appended(identity, facts.value, at, tolerated(taint)),)
            yield Hit(identity, at, values, discriminator=_shown(taint), changes=changes)


def _images(cluster: Cluster, ask: Asking) -> str:
    value = reach(cluster.entries[ask.id].facts.value, (*ask.pods.path, "spec"))
    containers = (*items(mapping(value).get("containers")), *items(mapping(value).get("initContainers")))
    return " ".join(text(mapping(container).get("image")) for container in containers)


def pool_untainted(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Nodes with GPUs that pods without any land on, since no taint keeps them away."""
    plain = [
        ask
        for ask in asking(cluster)
        if ask.workload.nature != "daemon"
        and not _accelerators(ask)
        and not ask.pods.claims
        and ask.pods.pods
    ]
    # A cluster of nothing but GPU nodes has nowhere else to put them.
    if not plain or all(n.accelerators is not None for n in cluster.inventory.nodes):
        return
    faults = []
    for node in node_objects(cluster):
        if node.accelerators is None or any(t.effect in HARD_EFFECTS for t in node.taints):
            continue
        landing = [ask.name for ask in plain if admits(node, ask.pods)]
        if landing:
            what = f"no taint; {plural(len(landing), 'workload')} without GPUs may take its cpu and memory ({landing[0]})"
            faults.append(Fault(node, ("metadata", "name"), what))
    yield from at_nodes(cluster, faults)
