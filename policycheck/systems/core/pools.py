"""The pool file: hardware written by hand, one entry for each set of alike machines.

::

    pools:
      - name: h100            # required
        nodes: 8              # machines; or min and max for an elastic pool (max: unbounded)
        gpus: 8               # whole GPUs per machine; left out is 0
        product: NVIDIA-H100-80GB-HBM3   # value of the label nvidia.com/gpu.product
        resource: nvidia.com/gpu         # name of the GPU resource, if another
        replicas: 4           # shares per GPU, when GPUs are time-sliced
        mig: {1g.10gb: 7}     # MIG devices per machine, beside the whole GPUs
        cpu: 192              # allocatable; what is left out is unknown
        memory: 2Ti
        allocatable: {vpc.amazonaws.com/efa: 32}
        labels: {topology.kubernetes.io/zone: a}
        taints: ["nvidia.com/gpu=present:NoSchedule"]   # or objects with key, value, effect
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.inventory import NONE, Accelerators, Node, Range
from policycheck.model.origin import Path
from policycheck.model.placement import Taint
from policycheck.record import NamedTuple
from policycheck.systems.core import nodes
from policycheck.systems.gpu import accelerator, labels, resources

KEYS = (
    "name",
    "nodes",
    "min",
    "max",
    "gpus",
    "product",
    "resource",
    "replicas",
    "mig",
    "cpu",
    "memory",
    "allocatable",
    "labels",
    "taints",
)
_UNBOUNDED = ("unbounded", "unlimited")
_MOST = 100_000  # machines or GPUs; beyond it a number is a slip


def is_pool_file(value: Mapping[str, Any]) -> bool:
    """Whether a document without kind is a pool file."""
    return "pools" in value and "kind" not in value


def read(value: Mapping[str, Any], troubles: list[Trouble]) -> tuple[Node, ...]:
    """One Node record a pool. A pool with a trouble is left out, so that its number is not trusted."""
    found: list[Node] = []
    _refuse_unknown(value, ("pools", "dated"), (), troubles)
    entries = value.get("pools")
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        troubles.append(
            Trouble("wrong-type", ("pools",), "pools has to be a list of pools, each with a name")
        )
        return ()
    names: set[str] = set()
    for position, entry in enumerate(entries):
        made = _pool(entry, ("pools", position), troubles)
        if made is None:
            continue
        if made.name in names:
            message = f"two pools are called {made.name}; give each a name of its own"
            troubles.append(Trouble("duplicate-name", ("pools", position, "name"), message))
            continue
        names.add(made.name)
        found.append(made)
    return tuple(found)


class _Shape(NamedTuple):
    """What the numbers of a pool say."""

    machines: int
    most: int | None
    gpus: int
    replicas: int
    mig: dict[str, int]
    resource: str


def _pool(entry: object, path: Path, troubles: list[Trouble]) -> Node | None:
    before = len(troubles)
    if not isinstance(entry, Mapping):
        troubles.append(Trouble("wrong-type", path, f"a pool is a mapping with {', '.join(KEYS)}"))
        return None
    _refuse_unknown(entry, KEYS, path, troubles)
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        troubles.append(Trouble("missing-field", (*path, "name"), "a pool needs a name, as in name: h100"))
    shape = _shape(entry, path, troubles)
    product = _string(entry, "product", path, troubles)
    told = _labels(entry.get("labels"), (*path, "labels"), troubles)
    if product and shape.resource == resources.NVIDIA:
        told.setdefault(labels.PRODUCT, product)
    amounts = _amounts(entry, shape, path, troubles)
    taints = _taints(entry.get("taints"), (*path, "taints"), troubles)
    if len(troubles) > before:
        return None
    found = _accelerators(shape, product)
    odd = nodes.oddities(told, taints, has_gpus=found is not None)
    if product and not (shape.gpus or shape.mig):
        odd.append(f"names the product {product} and no gpus: counted as a pool without GPUs")
    return Node(
        name=str(name),
        labels=told,
        taints=taints,
        allocatable=amounts,
        accelerators=found,
        machines=shape.machines,
        most=shape.most,
        oddities=tuple(odd),
        source="pool",
    )


def _refuse_unknown(
    entry: Mapping[str, Any], allowed: Sequence[str], path: Path, troubles: list[Trouble]
) -> None:
    for key in entry:
        if key not in allowed:
            near = difflib.get_close_matches(str(key), allowed, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            message = f"unknown key {key}{hint}; allowed are {', '.join(allowed)}"
            troubles.append(Trouble("unknown-field", (*path, str(key)), message, on_key=True))


def _integer(entry: Mapping[str, Any], key: str, path: Path, troubles: list[Trouble]) -> int | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        message = f"{key} is {value!r}; it has to be a whole number from 0 to {_MOST}"
        troubles.append(Trouble("wrong-type", (*path, key), message))
        return None
    return value


def _string(entry: Mapping[str, Any], key: str, path: Path, troubles: list[Trouble]) -> str:
    value = entry.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    troubles.append(Trouble("wrong-type", (*path, key), f"{key} is {value!r}; it has to be text"))
    return ""


def _shape(entry: Mapping[str, Any], path: Path, troubles: list[Trouble]) -> _Shape:
    number = _integer(entry, "nodes", path, troubles)
    least = _integer(entry, "min", path, troubles)
    most: int | None = None
    is_unbounded = entry.get("max") in _UNBOUNDED
    if not is_unbounded:
        most = _integer(entry, "max", path, troubles)
    if number is None and least is None and most is None and not is_unbounded:
        message = "a pool needs nodes (a number of machines), or min and max for an elastic one"
        troubles.append(Trouble("missing-field", path, message))
    low = least if least is not None else (number or 0)
    if most is None and not is_unbounded:
        most = max(low, number or 0)
    if most is not None and most < low:
        troubles.append(Trouble("bad-range", (*path, "max"), f"max is {most}, below the least number {low}"))
    replicas = _integer(entry, "replicas", path, troubles)
    mig: dict[str, int] = {}
    for profile, n in _pairs(entry.get("mig"), (*path, "mig"), troubles).items():
        mig[profile] = _integer({profile: n}, profile, (*path, "mig"), troubles) or 0
    return _Shape(
        low,
        most,
        _integer(entry, "gpus", path, troubles) or 0,
        max(1, replicas or 1),
        mig,
        _string(entry, "resource", path, troubles) or resources.NVIDIA,
    )


def _pairs(value: object, path: Path, troubles: list[Trouble]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {str(k): v for k, v in value.items()}
    troubles.append(Trouble("wrong-type", path, f"{path[-1]} has to be a mapping, not {value!r:.40}"))
    return {}


def _labels(value: object, path: Path, troubles: list[Trouble]) -> dict[str, str]:
    """Labels by hand: true and 8 are taken as the text they are written as."""
    found: dict[str, str] = {}
    for key, label in _pairs(value, path, troubles).items():
        if isinstance(label, bool):
            found[key] = "true" if label else "false"
        elif isinstance(label, (str, int)):
            found[key] = str(label)
        else:
            message = f"label {key} is {label!r:.40}; write its value in quotes"
            troubles.append(Trouble("wrong-type", (*path, key), message))
    return found


def _amounts(
    entry: Mapping[str, Any], shape: _Shape, path: Path, troubles: list[Trouble]
) -> dict[str, int] | None:
    found = nodes.amounts_of(entry.get("allocatable") or {}, (*path, "allocatable"), troubles) or {}
    plain = {key: entry[key] for key in ("cpu", "memory") if entry.get(key) is not None}
    mine = nodes.amounts_of(plain, path, troubles) or {}
    if shape.gpus:
        mine[shape.resource] = shape.gpus * shape.replicas
    for profile, number in shape.mig.items():
        mine[resources.mig_resource(profile)] = number
    for resource, number in mine.items():
        if found.get(resource, number) != number:
            message = f"{resource} is {found[resource]} in allocatable and {number} beside it; say it once"
            troubles.append(Trouble("contradiction", (*path, "allocatable", resource), message))
    return {**found, **mine}


def _taints(value: object, path: Path, troubles: list[Trouble]) -> tuple[Taint, ...]:
    """Taints as objects, or as ``key=value:Effect`` the way kubectl takes them."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = [_taint_object(item) if isinstance(item, str) else item for item in value]
    return nodes.taints_of(value, path, troubles)


def _taint_object(text: str) -> dict[str, str]:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def _accelerators(shape: _Shape, product: str) -> Accelerators | None:
    if not shape.gpus and not shape.mig:
        return None
    physical = Range(shape.gpus, shape.gpus)
    whole, sharing = shape.gpus, ""
    slices = {resources.mig_resource(p): n for p, n in shape.mig.items() if n}
    shares: dict[str, int] = {}
    if slices:
        physical, sharing = physical.plus(accelerator.behind(product, shape.mig)), "mig-mixed"
    elif shape.replicas > 1:
        whole, sharing, shares = 0, "time-slicing", {shape.resource: shape.gpus * shape.replicas}
    schedulable = Range(whole, whole) if whole else NONE
    return Accelerators(
        product, physical, schedulable, slices, shares, sharing, shape.replicas, resource=shape.resource
    )
