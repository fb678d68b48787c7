"""ResourceSlices: devices that drivers publish for dynamic resource allocation.

Source: Kubernetes API reference, ResourceSlice v1 (and v1beta1, whose devices nest their fields
under ``basic``): a pool's slices of the newest generation count, once all ``resourceSliceCount`` of them
are there. A full GPU and its MIG partitions draw on the same shared counters, so they are never
added up; nor are they added to the device plugin's units of the same node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.inventory import NONE, Accelerators, Node, Range
from policycheck.record import NamedTuple

# Drivers whose devices are accelerators, with the device class their whole devices go by.
DRIVERS: Mapping[str, str] = {
    "gpu.nvidia.com": "gpu.nvidia.com",
    "gpu.amd.com": "gpu.amd.com",
    "gpu.intel.com": "gpu.intel.com",
    "gaudi.intel.com": "gaudi.intel.com",
    "tpu.google.com": "tpu.google.com",
    "neuron.aws.com": "neuron.aws.com",
    "gpu.example.com": "gpu.example.com",  # the driver of Kubernetes' own example
}
_PARTITIONS = frozenset({"mig", "partition"})


class Device(NamedTuple):
    """One device. ``kind`` is the driver's type attribute (gpu, mig, vfio); "" when not said."""

    name: str
    kind: str = ""
    model: str = ""
    profile: str = ""
    parent: str = ""  # of a partition: the uuid of its card
    uuid: str = ""
    counters: frozenset[str] = frozenset()  # counter sets it draws on
    is_tainted: bool = False  # a NoSchedule or NoExecute device taint


class DeviceSlice(NamedTuple):
    """One ResourceSlice. ``node`` is "" when its devices are not tied to one node."""

    name: str
    driver: str
    pool: str
    generation: int
    slices: int  # how many make the pool whole
    node: str
    devices: tuple[Device, ...] = ()


def read(value: Mapping[str, Any], troubles: list[Trouble]) -> DeviceSlice:
    """The model of a ResourceSlice; what can not be read is told in ``troubles``."""
    metadata, spec = _mapping(value.get("metadata")), _mapping(value.get("spec"))
    pool = _mapping(spec.get("pool"))
    if not _text(spec.get("driver")):
        troubles.append(Trouble("missing-field", ("spec", "driver"), "a ResourceSlice names its driver"))
    if not _text(pool.get("name")):
        troubles.append(Trouble("missing-field", ("spec", "pool", "name"), "a ResourceSlice names its pool"))
    devices = spec.get("devices")
    return DeviceSlice(
        name=_text(metadata.get("name")),
        driver=_text(spec.get("driver")),
        pool=_text(pool.get("name")),
        generation=_integer(pool.get("generation"), 0),
        slices=_integer(pool.get("resourceSliceCount"), 1),
        node=_text(spec.get("nodeName")),
        devices=tuple(_device(_mapping(d)) for d in devices) if isinstance(devices, list) else (),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _device(entry: Mapping[str, Any]) -> Device:
    body = _mapping(entry.get("basic")) or entry
    said = {}
    for key, attribute in _mapping(body.get("attributes")).items():
        for kind in ("string", "int", "bool", "version"):
            if kind in _mapping(attribute):
                said[str(key).rpartition("/")[2]] = str(attribute[kind])
    consumed = body.get("consumesCounters")
    taints = body.get("taints")
    return Device(
        name=_text(entry.get("name")),
        kind=said.get("type", ""),
        model=said.get("productName", said.get("model", "")),
        profile=said.get("profile", ""),
        parent=said.get("parentUUID", ""),
        uuid=said.get("uuid", said.get("UUID", "")),
        counters=frozenset(_text(_mapping(c).get("counterSet")) for c in consumed)
        if isinstance(consumed, list)
        else frozenset(),
        is_tainted=any(
            _text(_mapping(t).get("effect")) in ("NoSchedule", "NoExecute")
            for t in (taints if isinstance(taints, list) else ())
        ),
    )


class Pool(NamedTuple):
    """The newest generation of one driver's pool on one node."""

    driver: str
    name: str
    node: str
    devices: tuple[Device, ...]
    missing: int  # slices of this generation that are not in sight


def pools(slices: Iterable[DeviceSlice]) -> tuple[Pool, ...]:
    """The pools that slices make, sorted; older generations are left out."""
    found: dict[tuple[str, str], dict[str, DeviceSlice]] = {}
    for one in slices:
        found.setdefault((one.driver, one.pool), {})[f"{one.generation}/{one.name}"] = one
    result = []
    for (driver, name), members in sorted(found.items()):
        newest = max(s.generation for s in members.values())
        current = sorted((s for s in members.values() if s.generation == newest), key=lambda s: s.name)
        wanted = max(s.slices for s in current)
        result.append(
            Pool(
                driver=driver,
                name=name,
                node=next((s.node for s in current if s.node), ""),
                devices=tuple(d for s in current for d in s.devices),
                missing=max(0, wanted - len(current)),
            )
        )
    return tuple(result)


class Counted(NamedTuple):
    """Cards, whole ones that are offered and not tainted, partitions by profile, and the model."""

    cards: int
    whole: int
    partitions: Mapping[str, int]
    model: str


def count(devices: Sequence[Device]) -> Counted:
    """Full devices and partitions apart; a partition whose card is not listed stands for its card."""
    whole = [d for d in devices if d.kind not in _PARTITIONS]
    parts = [d for d in devices if d.kind in _PARTITIONS]
    listed = {d.uuid for d in whole if d.uuid} | {c for d in whole for c in d.counters}
    hidden = {_card(d) for d in parts if not ({d.parent, *d.counters} & listed)}
    by_profile: dict[str, int] = {}
    for part in parts:
        by_profile[part.profile or "partition"] = by_profile.get(part.profile or "partition", 0) + 1
    model = next((d.model for d in (*whole, *parts) if d.model), "")
    return Counted(len(whole) + len(hidden), sum(not d.is_tainted for d in whole), by_profile, model)


def _card(part: Device) -> str:
    return part.parent or next(iter(sorted(part.counters)), part.name)


def apply(nodes: Sequence[Node], slices: Iterable[DeviceSlice]) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """The nodes with the devices that slices tell of, and what is odd about the slices.

    A node that already offers GPUs through a device plugin keeps those numbers: they are the same cards.
    A node that no other source names is added.
    """
    by_name = {node.name: node for node in nodes}
    odd: list[str] = []
    for pool in pools(slices):
        if pool.driver not in DRIVERS:
            continue
        if not pool.node:
            odd.append(
                f"pool {pool.name} of {pool.driver} is not tied to one node: its {len(pool.devices)} devices "
                "are not counted"
            )
            continue
        node = by_name.get(pool.node) or Node(name=pool.node, labels={}, source="slices")
        by_name[pool.node] = _with_pool(node, pool)
    return tuple(by_name.values()), tuple(odd)


def _with_pool(node: Node, pool: Pool) -> Node:
    counted = count(pool.devices)
    device_class = DRIVERS[pool.driver]
    old = node.accelerators
    if old is not None and (old.physical.low or old.schedulable.low) and old.resource not in DRIVERS.values():
        return _beside_plugin(node, old, pool, counted)
    physical = Range(counted.cards, counted.cards)
    schedulable = Range(counted.whole, counted.whole)
    oddities = list(node.oddities)
    if pool.missing:
        why = f"{pool.missing} ResourceSlice{'s' * (pool.missing > 1)} of its pool not in sight"
        physical, schedulable = Range(counted.cards, None, why), Range(counted.whole, None, why)
        oddities.append(f"{why}: the pool is not whole, so its devices are a lower bound")
    if counted.partitions:
        oddities.append(
            f"{pool.driver} lists whole GPUs and their partitions, which draw on the same counters: not added up"
        )
    if not node.usable:
        schedulable = NONE
    found = Accelerators(
        model=(old.model if old and old.model and not old.model_source else "") or counted.model,
        physical=physical,
        schedulable=schedulable,
        slices=counted.partitions,
        sharing="mig-mixed" if counted.partitions else "",
        resource=device_class,
    )
    return node._replace(accelerators=found, oddities=tuple(dict.fromkeys(oddities)))


def _beside_plugin(node: Node, old: Accelerators, pool: Pool, counted: Counted) -> Node:
    said = f"{counted.cards} device{'s' * (counted.cards != 1)} of {pool.driver}"
    odd = (
        f"offers {old.resource} and {said}: the same cards twice, counted once; let one of device plugin and "
        "driver advertise them"
    )
    model = old.model if old.model and not old.model_source else counted.model or old.model
    source = "" if model == counted.model else old.model_source
    return node._replace(
        accelerators=old._replace(model=model, model_source=source), oddities=(*node.oddities, odd)
    )
