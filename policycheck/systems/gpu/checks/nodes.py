"""Nodes that contradict themselves: labels against amounts, amounts against each other.

What a node says is the ground of every sum; one that says two things makes certificates of guesses.
Sources: gpu-feature-discovery's labels (k8s-device-plugin README), Kubernetes' Node API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date

from policycheck.lint.hit import Hit
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import Path
from policycheck.systems.gpu import instances, labels, mig, resources
from policycheck.systems.gpu.checks.common import (
    ALLOCATABLE,
    LABELS,
    Fault,
    Found,
    Params,
    at_nodes,
    core,
    node_key,
    node_objects,
)
from policycheck.wording import join

_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?\Z")
_BETA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_STATES = {
    "failed": "its MIG layout could not be applied (mig.config.state is failed)",
    "pending": "its MIG layout is not applied yet (mig.config.state is pending)",
    "rebooting": "it reboots to get its MIG layout (mig.config.state is rebooting)",
}
_GB = re.compile(r"\A(\d+)GB\Z")


def _label(key: str) -> Path:
    return (*LABELS, key)


def labels_contradict(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Numbers of the labels that are not the numbers the node offers, or not each other's."""
    is_claimed = bool(core(cluster).slices)
    return at_nodes(
        cluster,
        (f for n in node_objects(cluster) for f in (_sharing(n) or _count(n, is_claimed=is_claimed))),
    )


def _sharing(node: Node) -> list[Fault]:
    """Labels about shares that contradict each other."""
    told = labels.told(node.labels)
    kind, replicas = node.labels.get(labels.SHARING, ""), node.labels.get(labels.REPLICAS, "")
    if kind in ("time-slicing", "mps") and told.replicas in (0, 1):
        what = f"{labels.SHARING} says {kind}, {labels.REPLICAS} says {replicas}, which is no sharing"
        return [Fault(node, _label(labels.SHARING), what)]
    if kind == "none" and (told.replicas or 0) > 1:
        what = f"{labels.REPLICAS} says {replicas} shares of each GPU, {labels.SHARING} says none"
        return [Fault(node, _label(labels.REPLICAS), what)]
    if node.labels.get(labels.PRODUCT, "").endswith("-SHARED") and told.replicas == 1:
        what = f"{labels.PRODUCT} ends in -SHARED, {labels.REPLICAS} says 1"
        return [Fault(node, _label(labels.PRODUCT), what)]
    return []


def _count(node: Node, *, is_claimed: bool) -> list[Fault]:
    """The count of GPUs against what is offered. None offered at all is another rule's."""
    told, amounts = labels.told(node.labels), node.allocatable
    if amounts is None or told.count_ is None or told.count_source or told.is_invalid:
        return []
    faults = list(_slice_counts(node, amounts))
    offered = amounts.get(resources.NVIDIA, 0) + amounts.get(resources.NVIDIA_SHARED, 0)
    is_sliced = any(r.startswith(resources.MIG_PREFIX) and n > 0 for r, n in amounts.items())
    if not offered or is_claimed or is_sliced or told.sharing == "vgpu":
        return faults
    replicas = max(1, told.replicas or 1)
    expected = told.count_ * replicas
    if offered != expected:
        what = "MIG devices" if told.profile else "GPUs"
        sum_ = f"{told.count_} {what}" + (f" x {replicas} shares = {expected}" if replicas > 1 else "")
        name = resources.NVIDIA if amounts.get(resources.NVIDIA) else resources.NVIDIA_SHARED
        faults.append(
            Fault(node, _label(labels.COUNT), f"the labels say {sum_}, the node offers {offered} {name}")
        )
    return faults


def _slice_counts(node: Node, amounts: Mapping[str, int]) -> Iterator[Fault]:
    """``mig-<profile>.count`` against the amount of that resource."""
    for key, text in node.labels.items():
        resource = key.removesuffix(".count")
        if not key.endswith(".count") or not resource.startswith(resources.MIG_PREFIX) or not text.isdigit():
            continue
        replicas = node.labels.get(f"{resource}.replicas", "1")
        times = max(1, int(replicas)) if replicas.isascii() and replicas.isdigit() else 1
        offered = amounts.get(resource, 0)
        if int(text) * times != offered:
            sum_ = f"{text} x {times} shares" if times > 1 else text
            yield Fault(node, _label(key), f"{key} says {sum_}, the node offers {offered} {resource}")


def gpus_not_offered(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Labels that tell of GPUs on a node that offers none under any name."""
    if core(cluster).slices:
        return iter(())  # devices are handed out by claims: amounts need not name them
    return at_nodes(cluster, (f for n in node_objects(cluster) for f in _not_offered(n)))


def _not_offered(node: Node) -> Iterator[Fault]:
    told, amounts = labels.told(node.labels), node.allocatable
    if amounts is None or told.is_invalid or not (told.is_measured or told.is_present) or not node.ready:
        return
    if told.count_ == 0 or any(n > 0 and resources.is_accelerator(r) for r, n in amounts.items()):
        return
    key = next((k for k in (labels.COUNT, labels.PRODUCT, "nvidia.com/gpu.present") if k in node.labels), "")
    if key:
        path = (*ALLOCATABLE, resources.NVIDIA) if resources.NVIDIA in amounts else _label(key)
        what = f"{key} is {node.labels[key]}, and it offers no GPU: look at the driver and the device plugin"
        yield Fault(node, path, what)


def allocatable_above_capacity(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """More to hand out than there is."""
    return at_nodes(cluster, (f for n in node_objects(cluster) for f in _above(n)))


def _above(node: Node) -> Iterator[Fault]:
    if node.allocatable is None or node.capacity is None:
        return
    for resource, amount in node.allocatable.items():
        held = node.capacity.get(resource, 0 if resource not in resources.CORE else None)
        if held is not None and amount > held:
            shown = show(resource, amount), show(resource, held)
            what = f"{resource}: {shown[0]} allocatable of a capacity of {shown[1]}"
            yield Fault(node, (*ALLOCATABLE, resource), what)


def type_contradicts_product(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A machine type that carries other GPUs than the product label names."""
    table = instances.builtin()
    return at_nodes(cluster, (f for n in node_objects(cluster) for f in _of_type(n, table)))


def _of_type(node: Node, table: instances.Table) -> Iterator[Fault]:
    told = labels.told(node.labels)
    found = table.find(told.instance_type) if told.instance_type else None
    if found is None or not told.model or told.model_source or found.resource != resources.NVIDIA:
        return
    what = _differs(found, told.model)
    sliced = told.profile or told.is_shared or told.strategy == "single" or told.sharing
    if not what and told.count_ and not told.count_source and not sliced and told.count_ != found.gpus:
        what = f"has {found.gpus} GPUs, {labels.COUNT} says {told.count_}"
    if what:
        key = next(k for k in labels.INSTANCE_TYPES if node.labels.get(k))
        yield Fault(node, _label(key), f"instance type {told.instance_type} {what}")


def _differs(found: instances.Instance, product: str) -> str:
    words = set(product.replace(" ", "-").split("-"))
    model = found.model.split()
    if not words.issuperset(model):
        # NVL and the like are left out by some drivers.
        if model[0] not in words or model[0] == "RTX":
            return f"has {found.title}, {labels.PRODUCT} says {product}"
        return ""
    sizes = [int(m[1]) for word in words if (m := _GB.match(word))]
    if sizes and found.memory and model[0] in ("A100", "H100", "V100") and found.memory not in sizes:
        return f"has {found.title}, {labels.PRODUCT} says {product}"
    return ""


def described_twice(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A node that two documents of the inventory describe differently: the first of them is counted.

    Where the documents are linted themselves, the rules about objects defined twice say so.
    """
    faults = []
    for node in node_objects(cluster):
        ids = cluster.index.ids(node_key(node.name))
        if len(ids) < 2 or not cluster.index.is_ambiguous(node_key(node.name)):
            continue
        if not any(cluster.entries[i].origin.reported for i in ids):
            what = f"{len(ids)} documents describe it, differently; the first is counted"
            faults.append(Fault(node, ("metadata", "name"), what))
    return at_nodes(cluster, faults)


def inventory_old(cluster: Cluster, params: Params) -> Found:
    """An inventory that says when it was taken, and that was long ago. It stands at the first flavor that counts
    on nodes.
    """
    dated, today = cluster.inventory.dated, str(params["today"])
    try:
        days = (date.fromisoformat(today) - date.fromisoformat(dated[:10])).days
    except ValueError:  # it tells no day, or nobody says which day it is
        return
    limit = params["days"]
    if not isinstance(limit, int) or days <= limit:
        return
    flavors = (f for f in cluster.view.flavors if cluster.entries[f.id].origin.reported)
    first = next(iter(sorted(flavors, key=lambda f: (not f.node_labels, f.id))), None)
    if first is not None:
        path: Path = ("spec", "nodeLabels") if first.node_labels else ("metadata", "name")
        yield Hit(first.id, path, {"dated": dated, "age": str(days)}, on_key=True)


def hostname_twice(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Two nodes with one hostname label: placement by hostname takes them for one domain."""
    held: dict[str, list[Node]] = {}
    for node in node_objects(cluster):
        name = node.labels.get("kubernetes.io/hostname", "")
        if name:
            held.setdefault(name, []).append(node)
    faults = [
        Fault(node, _label("kubernetes.io/hostname"), f"has the hostname {name} of {nodes[0].name}")
        for name, nodes in held.items()
        for node in nodes[1:]
    ]
    return at_nodes(cluster, faults)


def label_value_illegal(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A label value that the API server refuses: no selector and no flavor can ask for it."""
    return at_nodes(
        cluster,
        (
            Fault(
                node,
                _label(key),
                f"label {key} has the value {value[:70]!r}: letters, digits, - _ . and at most 63 are allowed",
            )
            for node in node_objects(cluster)
            for key, value in node.labels.items()
            if not _LABEL_VALUE.match(value)
        ),
    )


def beta_labels_only(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Old names of well-known labels without the new ones."""
    return at_nodes(cluster, (f for n in node_objects(cluster) for f in _old_names(n)))


def _old_names(node: Node) -> Iterator[Fault]:
    old = [key for key, new in _BETA.items() if key in node.labels and new not in node.labels]
    if old:
        what = f"carries {join(old)} and not {join(_BETA[key] for key in old)}"
        yield Fault(node, _label(old[0]), what)


def layout_not_applied(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A node whose MIG layout failed, or is on its way: what it offers is not what was ordered."""
    key = "nvidia.com/mig.config.state"
    return at_nodes(
        cluster,
        (
            Fault(node, _label(key), f"{_STATES[state]}{_ordered(node)}")
            for node in node_objects(cluster)
            if (state := node.labels.get(key, "")) in _STATES
        ),
    )


def _ordered(node: Node) -> str:
    wanted = node.labels.get("nvidia.com/mig.config", "")
    return f"; ordered is {wanted}" if wanted else ""


def layout_invalid(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """MIG strategy single over cards of different layouts: nothing is offered."""
    return at_nodes(
        cluster,
        (
            Fault(node, _label(labels.PRODUCT), f"{labels.PRODUCT} is {node.labels[labels.PRODUCT]}")
            for node in node_objects(cluster)
            if labels.told(node.labels).is_invalid
        ),
    )


def slices_under_single(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """MIG strategy single, and resources that only exist under mixed."""
    return at_nodes(
        cluster,
        (
            Fault(
                node,
                _label(labels.STRATEGY),
                f"{labels.STRATEGY} is single, where slices go by {resources.NVIDIA}; it offers {resource}",
            )
            for node in node_objects(cluster)
            if node.labels.get(labels.STRATEGY) == "single"
            for resource in _offered_slices(node)[:1]
        ),
    )


def _offered_slices(node: Node) -> list[str]:
    return [r for r, n in (node.allocatable or {}).items() if r.startswith(resources.MIG_PREFIX) and n > 0]


def stale_gpus(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Whole GPUs offered beside slices that need every card."""
    return at_nodes(cluster, (f for n in node_objects(cluster) for f in _beyond(n, stale=True)))


def slices_beyond_cards(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Slices that the cards of the node can not have: a foreign profile, or too many."""
    return at_nodes(cluster, (f for n in node_objects(cluster) for f in _beyond(n, stale=False)))


def _beyond(node: Node, *, stale: bool) -> Iterator[Fault]:
    """Slices against the number of cards that gpu-feature-discovery counted."""
    told, amounts = labels.told(node.labels), node.allocatable or {}
    offered = {r: n for r in _offered_slices(node) if (n := amounts[r] // _times(node, r)) > 0}
    profiles = mig.slices_of(offered)
    if not profiles or told.profile or not told.model:
        return
    if not stale:
        yield from _foreign(node, told.model, offered)
    families = mig.families_with(profiles, told.model) if mig.families(told.model) else ()
    if not families or told.count_ is None or told.count_source:
        return
    least = min(mig.least(family, profiles) for family in families)
    times = max(1, told.replicas or 1) if told.sharing else 1
    whole = amounts.get(resources.NVIDIA, 0) // times
    first = next(iter(offered))
    if least > told.count_ and not stale:
        listed = " + ".join(f"{n} x {p}" for p, n in profiles.items())
        what = f"{listed} need at least {least} cards, it has {told.count_}: {_why(families[0], profiles, told.count_)}"
        yield Fault(node, (*ALLOCATABLE, first), what)
    elif stale and least <= told.count_ < least + whole:
        what = f"offers {whole} {resources.NVIDIA} beside slices that take at least {least} of its {told.count_} cards"
        yield Fault(node, (*ALLOCATABLE, resources.NVIDIA), what)


def _times(node: Node, resource: str) -> int:
    text = node.labels.get(f"{resource}.replicas", "")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _foreign(node: Node, model: str, offered: Mapping[str, int]) -> Iterator[Fault]:
    """Profiles that the product does not have; all of them when it has no MIG."""
    known = mig.families(model)
    if not known and not mig.is_incapable(model):
        return
    for resource in offered:
        profile = resources.mig_profile(resource) or ""
        if any(profile in family.profiles for family in known):
            continue
        has = f"has {', '.join(known[0].profiles)}" if known else "has no MIG"
        yield Fault(node, (*ALLOCATABLE, resource), f"offers {resource}, and {model} {has}")


def _why(family: mig.Family, profiles: Mapping[str, int], cards: int) -> str:
    """The sum that is exceeded over ``cards`` cards."""
    memory = sum(family.profiles[p].memory * n for p, n in profiles.items())
    compute = sum(family.profiles[p].compute * n for p, n in profiles.items())
    if memory > family.memory * cards:
        return f"{memory} of {cards} x {family.memory} memory slices"
    if compute > family.compute * cards:
        return f"{compute} of {cards} x {family.compute} compute slices"
    profile, number = next((p, n) for p, n in profiles.items() if n > family.profiles[p].most * cards)
    return f"at most {family.profiles[profile].most} x {profile} fit on a card, {number} are offered"
