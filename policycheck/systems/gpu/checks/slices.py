"""Slices of MIG as pods and quotas ask for them: several in a container, foreign profiles, gangs.

Sources: the MIG user guide (one device a process), k8s-device-plugin issue 728, the NCCL documentation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from policycheck.lint.hit import Hit
from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.origin import Path
from policycheck.model.workload import ContainerRequest
from policycheck.systems.core.mend import renamed
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.gpu import labels, mig, resources
from policycheck.systems.gpu.checks.common import Asking, Found, Params, asking, documents, shape
from policycheck.wording import join, plural

# Kinds whose pods talk to each other over NCCL. A Job or RayJob may as well be many small runs.
_GANGS = frozenset(
    {"PyTorchJob", "MPIJob", "JAXJob", "TFJob", "PaddleJob", "TrainJob", "JobSet", "LeaderWorkerSet"}
)


_PROFILES = frozenset(profile for family in mig.FAMILIES for profile in family.profiles)


def wanted(container: ContainerRequest) -> dict[str, tuple[str, int]]:
    """NVIDIA devices that a container asks for: resource to (field, amount); limits stand in for requests."""
    found: dict[str, tuple[str, int]] = {}
    for field, amounts in (("requests", container.requests), ("limits", container.limits)):
        for resource, amount in amounts.items():
            is_device = resource.startswith(resources.MIG_PREFIX) or resource in (
                resources.NVIDIA,
                resources.NVIDIA_SHARED,
            )
            if is_device and amount > 0:
                found[resource] = (field, amount)
    return found


def _containers(cluster: Cluster) -> Iterator[tuple[Asking, ContainerRequest, dict[str, tuple[str, int]]]]:
    for ask in asking(cluster):
        for container in ask.pods.containers:
            devices = wanted(container)
            if devices:
                yield ask, container, devices


def _place(container: ContainerRequest, resource: str, field: str) -> Path:
    return (*container.path, "resources", field, resource)


def several_kinds(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Two types of slices, or a slice and a GPU, in one container: one of them is not seen."""
    for ask, container, devices in _containers(cluster):
        if len(devices) < 2 or not any(r.startswith(resources.MIG_PREFIX) for r in devices):
            continue
        last = list(devices)[-1]
        values = {"container": container.name, "workload": ask.name, "resources": join(devices)}
        yield Hit(ask.id, _place(container, last, devices[last][0]), values)


def several_slices(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Several slices in one container: a process sees one."""
    for ask, container, devices in _containers(cluster):
        if len(devices) > 1:
            continue
        for resource, (field, amount) in devices.items():
            if resource.startswith(resources.MIG_PREFIX) and amount > 1:
                values = {
                    "container": container.name,
                    "workload": ask.name,
                    "resource": resource,
                    "amount": amount,
                }
                yield Hit(ask.id, _place(container, resource, field), values)


def profile_unknown(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A profile that no GPU has, as far as the tables go."""
    for ask, container, devices in _containers(cluster):
        for resource, (field, _) in devices.items():
            hint = _unknown(resource)
            if hint is not None:
                values = {"who": f"{ask.name} asks for", "resource": resource, "hint": hint}
                yield Hit(ask.id, _place(container, resource, field), values)
    for queue in cluster.view.queues:
        for flavor, resource in queue.quotas:
            hint = _unknown(resource)
            if hint is not None:
                values = {"who": f"{queue.name} has quota of", "resource": resource, "hint": hint}
                at = _quota_path(cluster.entries[queue.id].facts.value, flavor, resource)
                yield Hit(queue.id, at, values, discriminator=f"{flavor} {resource}")


def _unknown(resource: str) -> str | None:
    """What may be meant by the profile of a resource; None when some GPU has it, or it is none."""
    profile = resources.mig_profile(resource)
    # 1c.3g.40gb is a compute instance within a slice.
    if profile is None or profile in _PROFILES or "c." in profile or "+" in resource:
        return None
    compute, _, memory = profile.partition(".")
    same = [p for f in mig.FAMILIES for p in f.profiles if p.startswith(f"{compute}.")]
    like = [p for p in _PROFILES if p.partition(".")[2] == memory]
    known = dict.fromkeys([*same, *sorted(like)])
    return f"; there are {join(known)}" if known else ""


def profile_of_other_product(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A slice of a profile that the product which the pods select does not have."""
    known: dict[Hashable, tuple[str, ...]] = {}
    for ask, container, devices in _containers(cluster):
        where = shape(ask.pods)
        if where not in known:
            known[where] = _products(cluster, ask)
        products = known[where]
        for resource, (field, _) in devices.items():
            profile = resources.mig_profile(resource)
            why = _lacks(profile, products) if profile in _PROFILES else ""
            if why:
                values = {"who": f"{ask.name} asks for", "resource": resource, "why": why}
                yield Hit(ask.id, _place(container, resource, field), values)
    if cluster.inventory.known:
        return  # the nodes decide about quotas, and other rules say how much there is
    for queue in cluster.view.queues:
        flavors = {f.name: f for f in cluster.view.flavors if f.system == queue.system}
        for (name, resource), quota in queue.quotas.items():
            profile = resources.mig_profile(resource)
            flavor = flavors.get(name)
            product = flavor.node_labels.get(labels.PRODUCT, "") if flavor else ""
            why = (
                _lacks(profile, (product,)) if profile in _PROFILES and product and quota.nominal > 0 else ""
            )
            if why:
                values = {
                    "who": f"{queue.name} has quota in flavor {name} of",
                    "resource": resource,
                    "why": why,
                }
                at = _quota_path(cluster.entries[queue.id].facts.value, name, resource)
                yield Hit(queue.id, at, values, discriminator=f"{name} {resource}")


def _quota_path(value: Mapping[str, object], flavor: str, resource: str) -> Path:
    """Where a quota of flavor and resource is written, in whatever lists it stands; else the name."""
    for g, group in enumerate(items(mapping(value.get("spec")).get("resourceGroups"))):
        for f, one in enumerate(items(mapping(group).get("flavors"))):
            for n, cell in enumerate(items(mapping(one).get("resources"))):
                if (text(mapping(one).get("name")), text(mapping(cell).get("name"))) == (flavor, resource):
                    return ("spec", "resourceGroups", g, "flavors", f, "resources", n, "name")
    return ("metadata", "name")


def _products(cluster: Cluster, ask: Asking) -> tuple[str, ...]:
    """The products that pods may land on: by their selector, else by the nodes that it leaves."""
    named = ask.pods.node_selector.get(labels.PRODUCT, "")
    if named:
        return (named,)
    listed = {
        tuple(r.values)
        for term in ask.pods.affinity
        for r in term.expressions
        if r.key == labels.PRODUCT and r.operator == "In"
    }
    if len(ask.pods.affinity) == 1 and len(listed) == 1:
        return listed.pop()
    if not ask.pods.node_selector:
        return ()
    nodes = capacity.select(cluster.inventory, ask.pods.node_selector)
    return tuple(sorted({node.labels.get(labels.PRODUCT, "") for node in nodes}))


def _lacks(profile: str | None, products: tuple[str, ...]) -> str:
    """Why no card of these products has the profile; "" when one may have it."""
    models = [labels.told({labels.PRODUCT: product}).model for product in products]
    if not models:
        return ""
    for model in models:
        known = mig.families(model)
        if any(profile in family.profiles for family in known) or not (known or mig.is_incapable(model)):
            return ""
    known = mig.families(models[0])
    return f"{models[0]} has {', '.join(known[0].profiles)}" if known else f"{models[0]} has no MIG"


def gang_over_slices(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Training over several pods, each with a slice: slices do not talk to each other."""
    pods: dict[str, list[tuple[Asking, ContainerRequest, str, str]]] = {}
    for ask, container, devices in _containers(cluster):
        if ask.workload.key.kind not in _GANGS:
            continue
        for resource, (field, _) in devices.items():
            if resource.startswith(resources.MIG_PREFIX):
                pods.setdefault(ask.name, []).append((ask, container, resource, field))
    for name, found in pods.items():
        total = sum(ask.pods.pods for ask, _, _, _ in found) // max(1, found[0][0].workload.copies)
        if total > 1:
            ask, container, resource, field = found[0]
            values = {"workload": name, "pods": plural(total, "pod"), "resource": resource}
            yield Hit(ask.id, _place(container, resource, field), values)


def name_with_plus(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A profile with its "+" as the name of a resource, in pods and in quotas."""
    for ask in asking(cluster):
        for container in ask.pods.containers:
            for field, amounts in (("requests", container.requests), ("limits", container.limits)):
                for resource in amounts:
                    if "+" in resource and (field == "limits" or resource not in container.limits):
                        legal = resource.replace("+", ".")
                        fields = [f for f in ("requests", "limits") if resource in getattr(container, f)]
                        places = [_place(container, resource, f) for f in fields]
                        values = {"resource": resource, "legal": legal}
                        changes = renamed(ask.id, places, legal)
                        yield Hit(ask.id, _place(container, resource, field), values, changes=changes)
    for identity, facts in documents(cluster, "", "ResourceQuota"):
        for key in mapping(mapping(facts.value.get("spec")).get("hard")):
            if "+" in str(key):
                values = {"resource": str(key), "legal": str(key).replace("+", ".")}
                at: Path = ("spec", "hard", str(key))
                yield Hit(identity, at, values, changes=renamed(identity, [at], values["legal"]))
