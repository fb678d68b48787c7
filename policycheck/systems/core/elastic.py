"""Pools that grow and shrink: what a configuration orders, as a minimum and a maximum of machines.

Read are eksctl's ClusterConfig, Karpenter's NodePool, GKE node pools (``gcloud container node-pools list
--format=json``), and Cluster API MachineDeployments and MachinePools with the autoscaler's annotations. What a
machine carries comes from the order itself or from the table of machine types, and is named as assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.model.placement import Taint
from policycheck.record import NamedTuple
from policycheck.systems.core import nodes
from policycheck.systems.core.podspec import plain_number
from policycheck.systems.gpu import instances, labels, resources

INSTANCE_TYPE = labels.INSTANCE_TYPES[0]
_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
_EKSCTL_DEFAULT = 2  # machines of a node group that says no number (eksctl documentation, "Node groups")


class _Machine(NamedTuple):
    """What one machine of a pool carries, and whence that is known."""

    gpus: Range
    resource: str = resources.NVIDIA
    model: str = ""
    source: str = ""
    amounts: Mapping[str, int] = {}


def kind_of(value: Mapping[str, Any]) -> str:
    """Which of the elastic sources an object is; "" when none."""
    version, kind = str(value.get("apiVersion", "")), str(value.get("kind", ""))
    group = version.partition("/")[0]
    if (group, kind) == ("eksctl.io", "ClusterConfig"):
        return "eksctl"
    if (group, kind) == ("karpenter.sh", "NodePool"):
        return "karpenter"
    if group == "cluster.x-k8s.io" and kind in ("MachineDeployment", "MachinePool"):
        return "cluster-api"
    return ""


def read(
    value: Mapping[str, Any], troubles: list[Trouble], table: instances.Table | None = None
) -> tuple[Node, ...]:
    """The pools that an object of one of the kinds orders, one record each."""
    known = table or instances.builtin()
    match kind_of(value):
        case "eksctl":
            return _eksctl(value, known, troubles)
        case "karpenter":
            return (_karpenter(value, known, troubles),)
        case "cluster-api":
            return (_cluster_api(value, troubles),)
    return ()


def is_gke(value: object) -> bool:
    """Whether a JSON value is gcloud's list of node pools."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(v, Mapping) and isinstance(v.get("config"), Mapping) and "machineType" in v["config"]
            for v in value
        )
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    """A number of at least 0, written as one or as text; None when it is absent or none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return plain_number(value)
    return value if isinstance(value, int) and value >= 0 else None


def _record(
    name: str,
    told: Mapping[str, str],
    taints: tuple[Taint, ...],
    size: tuple[int, int | None],
    machine: _Machine | None,
) -> Node:
    made = Node(name=name, labels=told, taints=taints, machines=size[0], most=size[1], source="elastic")
    odd = [
        f"elastic: {size[0]} to {'any number of' if size[1] is None else size[1]} machines, a promise of none"
    ]
    if machine is not None:
        found = Accelerators(
            machine.model,
            machine.gpus,
            machine.gpus,
            resource=machine.resource,
            model_source=machine.source,
        )
        amounts = {**machine.amounts, machine.resource: machine.gpus.low} if machine.gpus.is_exact else None
        made = made._replace(accelerators=found, allocatable=amounts)
        if machine.gpus.why:
            odd.append(machine.gpus.why)
    elif instances.is_plain(told.get(INSTANCE_TYPE, "")):
        made = made._replace(allocatable={})  # no accelerators; of the rest nothing is said
    odd += nodes.oddities(told, taints, has_gpus=machine is not None)
    return made._replace(oddities=tuple(dict.fromkeys(odd)))


def _by_types(types: Sequence[str], table: instances.Table) -> _Machine | None:
    """What machines of any of these types carry; None when none is known to carry anything."""
    rows = [table.find(t) for t in types]
    known = [row for row in rows if row is not None]
    if not known:
        return None
    numbers = [0 if row is None else row.gpus for row in rows]
    titles = sorted({row.title for row in known})
    shown = ", ".join(f"{row.type} = {row.gpus} x {row.title}" for row in known)
    why = f"assumed: {shown} (table of {table.dated})"
    model = titles[0] if len(titles) == 1 else ""
    source = f"instance type {known[0].type}"
    return _Machine(Range(min(numbers), max(numbers), why), known[0].resource, model, source)


def _eksctl(value: Mapping[str, Any], table: instances.Table, troubles: list[Trouble]) -> tuple[Node, ...]:
    made = []
    for field in ("managedNodeGroups", "nodeGroups"):
        for position, item in enumerate(_items(value.get(field))):
            group, path = _mapping(item), (field, position)
            name = _text(group.get("name")) or f"{field}-{position}"
            types = _types(group)
            told = nodes.labels_of(group.get("labels"), (*path, "labels"), troubles)
            told["alpha.eksctl.io/nodegroup-name"] = name
            if len(types) == 1:
                told[INSTANCE_TYPE] = types[0]
            taints = nodes.taints_of(_old_taints(group.get("taints")), (*path, "taints"), troubles)
            made.append(_record(name, told, taints, _eksctl_size(group), _by_types(types, table)))
    return tuple(made)


def _types(group: Mapping[str, Any]) -> list[str]:
    several = group.get("instanceTypes") or _mapping(group.get("instancesDistribution")).get("instanceTypes")
    types = [t for t in _items(several) if isinstance(t, str)]
    return types or [t for t in (group.get("instanceType"),) if isinstance(t, str) and t != "mixed"]


def _eksctl_size(group: Mapping[str, Any]) -> tuple[int, int]:
    least, wanted, most = (_whole(group.get(key)) for key in ("minSize", "desiredCapacity", "maxSize"))
    low = next((n for n in (least, wanted) if n is not None), min(_EKSCTL_DEFAULT, most or _EKSCTL_DEFAULT))
    return low, max(low, wanted or 0, most or 0)


def _old_taints(value: object) -> object:
    """Older node groups write taints as a map ``key: "value:Effect"``."""
    if not isinstance(value, Mapping):
        return value
    return [
        {"key": key, "value": str(text).rpartition(":")[0], "effect": str(text).rpartition(":")[2]}
        for key, text in value.items()
    ]


def _karpenter(value: Mapping[str, Any], table: instances.Table, troubles: list[Trouble]) -> Node:
    name = _text(_mapping(value.get("metadata")).get("name"))
    spec = _mapping(value.get("spec"))
    template = _mapping(spec.get("template"))
    told = nodes.labels_of(
        _mapping(template.get("metadata")).get("labels"), ("spec", "template", "metadata", "labels"), troubles
    )
    told["karpenter.sh/nodepool"] = name
    inside = _mapping(template.get("spec"))
    wanted: dict[str, list[str]] = {}
    for requirement in _items(inside.get("requirements")):
        one = _mapping(requirement)
        if one.get("operator") == "In":
            wanted[_text(one.get("key"))] = [str(v) for v in _items(one.get("values"))]
    told.update({key: values[0] for key, values in wanted.items() if len(values) == 1 and key})
    taints = nodes.taints_of(inside.get("taints"), ("spec", "template", "spec", "taints"), troubles)
    machine = _ordered(wanted, table)
    limit = None
    if machine is not None:
        limit = _whole(_mapping(spec.get("limits")).get(machine.resource))
    most = None
    if limit is not None and machine is not None and machine.gpus.low:
        most = limit // machine.gpus.low
    return _record(name, told, taints, (0, most), machine)


def _ordered(wanted: Mapping[str, list[str]], table: instances.Table) -> _Machine | None:
    """What a NodePool's requirements say of GPUs."""
    found = _by_types(wanted.get(INSTANCE_TYPE, []), table)
    counts = [n for n in (_whole(v) for v in wanted.get(labels.KARPENTER + "count", [])) if n is not None]
    names = wanted.get(labels.KARPENTER + "name", [])
    if found is None and not counts and not names:
        return None
    model = names[0].upper() if len(names) == 1 else (found.model if found else "")
    source = labels.KARPENTER + "name" if names else (found.source if found else "")
    if counts:
        why = f"assumed from the requirement on {labels.KARPENTER}count"
        return _Machine(Range(min(counts), max(counts), why), model=model, source=source)
    gpus = found.gpus if found else Range(0, None, "no requirement says how many GPUs a machine has")
    return _Machine(gpus, found.resource if found else resources.NVIDIA, model, source)


def _cluster_api(value: Mapping[str, Any], troubles: list[Trouble]) -> Node:
    metadata, spec = _mapping(value.get("metadata")), _mapping(value.get("spec"))
    said = _mapping(metadata.get("annotations"))
    told = dict(
        pair.split("=", 1) for pair in _text(said.get(_CAPACITY + "labels")).split(",") if "=" in pair
    )
    written = [t for t in _text(said.get(_CAPACITY + "taints")).split(",") if t]
    taints = nodes.taints_of([_taint(t) for t in written], ("metadata", "annotations"), troubles)
    replicas = _whole(spec.get("replicas"))
    low = _whole(said.get(_SIZE + "min-size"))
    low = low if low is not None else (replicas if replicas is not None else 1)
    most = _whole(said.get(_SIZE + "max-size"))
    most = max(low, most if most is not None else (replicas or 0))
    plain = {key: said[_CAPACITY + key] for key in ("cpu", "memory") if _CAPACITY + key in said}
    amounts = nodes.amounts_of(plain, ("metadata", "annotations"), troubles) or {}
    gpus = _whole(said.get(_CAPACITY + "gpu-count"))
    machine = None
    if gpus is not None:
        resource = _text(said.get(_CAPACITY + "gpu-type")) or resources.NVIDIA
        why = f"assumed from the annotation {_CAPACITY}gpu-count"
        machine = _Machine(Range(gpus, gpus, why), resource, amounts=amounts)
    made = _record(_text(metadata.get("name")), told, taints, (low, most), machine)
    return made if machine is not None or not amounts else made._replace(allocatable=amounts)


def _taint(text: str) -> dict[str, str]:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def read_gke(
    value: Sequence[Mapping[str, Any]], troubles: list[Trouble], table: instances.Table | None = None
) -> tuple[Node, ...]:
    """The node pools of ``gcloud container node-pools list --format=json``."""
    return tuple(_gke(pool, n, table or instances.builtin(), troubles) for n, pool in enumerate(value))


def _gke(pool: Mapping[str, Any], n: int, table: instances.Table, troubles: list[Trouble]) -> Node:
    config, name = _mapping(pool.get("config")), _text(pool.get("name")) or f"pool-{n}"
    told = nodes.labels_of(config.get("labels"), (n, "config", "labels"), troubles)
    told["cloud.google.com/gke-nodepool"] = name
    machine_type = _text(config.get("machineType"))
    if machine_type:
        told[INSTANCE_TYPE] = machine_type
    taints = tuple(
        {**_mapping(t), "effect": _gke_effect(_text(_mapping(t).get("effect")))}
        for t in _items(config.get("taints"))
    )
    machine = _by_types([machine_type], table)
    accelerators = [_mapping(a) for a in _items(config.get("accelerators"))]
    if accelerators:
        first = accelerators[0]
        kind = _text(first.get("acceleratorType"))
        told["cloud.google.com/gke-accelerator"] = kind
        machine = _gke_machine(first, kind)
    read_taints = nodes.taints_of(list(taints), (n, "config", "taints"), troubles)
    return _record(name, told, read_taints, _gke_size(pool), machine)


def _gke_machine(accelerator: Mapping[str, Any], kind: str) -> _Machine:
    number = _whole(accelerator.get("acceleratorCount"))
    model, source = labels.tidy(kind), "cloud.google.com/gke-accelerator"
    is_split = accelerator.get("gpuPartitionSize") or accelerator.get("gpuSharingConfig")
    if number is None or is_split:
        why = "split into partitions or shares: units are not whole GPUs" if is_split else "no number of GPUs"
        return _Machine(Range(0, number, why), model=model, source=source)
    return _Machine(
        Range(number, number, "assumed from the node pool's accelerators"), model=model, source=source
    )


def _gke_effect(effect: str) -> str:
    return {
        "NO_SCHEDULE": "NoSchedule",
        "NO_EXECUTE": "NoExecute",
        "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    }.get(effect, effect)


def _gke_size(pool: Mapping[str, Any]) -> tuple[int, int]:
    """Machines over all zones: counts are per zone, except the total ones."""
    zones = max(1, len(_items(pool.get("locations"))))
    start = (_whole(pool.get("initialNodeCount")) or 0) * zones
    scaling = _mapping(pool.get("autoscaling"))
    if scaling.get("enabled") is not True:
        return start, start
    least = _whole(scaling.get("totalMinNodeCount"))
    least = least if least is not None else (_whole(scaling.get("minNodeCount")) or 0) * zones
    most = _whole(scaling.get("totalMaxNodeCount")) or (_whole(scaling.get("maxNodeCount")) or 0) * zones
    if _mapping(pool.get("queuedProvisioning")).get("enabled") is True:
        least = 0  # machines come only when a ProvisioningRequest asks
    return least, max(least, most)
