"""Node objects: labels, taints, amounts and conditions into a model Node.

Source: Kubernetes API reference, Node v1; well-known labels and taints pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from policycheck.model import amount
from policycheck.model.facts import Trouble
from policycheck.model.inventory import Node, Range
from policycheck.model.origin import Path
from policycheck.model.placement import HARD_EFFECTS, Taint
from policycheck.systems.gpu import accelerator, instances

HOSTNAME = "kubernetes.io/hostname"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?\Z")
# Taints of the system itself, which say nothing about who is meant to use the node.
_SYSTEM_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_GPU_TAINTS = ("nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "aws.amazon.com/neuron")
_SPOT = {
    "karpenter.sh/capacity-type": ("spot",),
    "eks.amazonaws.com/capacityType": ("SPOT",),
    "cloud.google.com/gke-spot": ("true",),
    "cloud.google.com/gke-preemptible": ("true",),
    "kubernetes.azure.com/scalesetpriority": ("spot",),
}
_RENAMED = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def node(value: Mapping[str, Any], troubles: list[Trouble], table: instances.Table | None = None) -> Node:
    """The model Node of a Node object; what can not be read is left out and told in ``troubles``.

    ``table`` takes the place of the packaged table of machine types.
    """
    metadata = _mapping(value.get("metadata"), ("metadata",), troubles)
    spec = _mapping(value.get("spec"), ("spec",), troubles)
    status = _mapping(value.get("status"), ("status",), troubles)
    labels = labels_of(metadata.get("labels"), ("metadata", "labels"), troubles)
    taints = taints_of(spec.get("taints"), ("spec", "taints"), troubles)
    allocatable = amounts_of(status.get("allocatable"), ("status", "allocatable"), troubles)
    capacity = amounts_of(status.get("capacity"), ("status", "capacity"), troubles)
    made = build(
        name=_text(metadata.get("name")) or labels.get(HOSTNAME, ""),
        labels=labels,
        taints=taints,
        allocatable=allocatable,
        capacity=capacity,
        table=table,
    )
    ready, why = _is_ready(status.get("conditions"))
    unschedulable = spec.get("unschedulable") is True
    odd = [why] if why else []
    if unschedulable:
        odd.append("cordoned (spec.unschedulable): nothing new is scheduled here, counted as 0")
    made = made._replace(ready=ready, unschedulable=unschedulable, oddities=(*odd, *made.oddities))
    return made if made.usable else without_schedulable(made)


def build(
    *,
    name: str,
    labels: Mapping[str, str],
    taints: tuple[Taint, ...] = (),
    allocatable: Mapping[str, int] | None = None,
    capacity: Mapping[str, int] | None = None,
    source: str = "node",
    table: instances.Table | None = None,
) -> Node:
    """A node with its accelerators weighed and its oddities told; ready and not cordoned."""
    found, odd = accelerator.read(labels, allocatable, capacity, table)
    made = Node(
        name=name,
        labels=labels,
        taints=taints,
        allocatable=allocatable,
        capacity=capacity,
        accelerators=found,
        source=source,
    )
    return made._replace(oddities=(*odd, *oddities(labels, taints, has_gpus=found is not None)))


def oddities(labels: Mapping[str, str], taints: tuple[Taint, ...], *, has_gpus: bool) -> list[str]:
    """What is odd about labels and taints, in sentences without the node's name."""
    return _label_oddities(labels) + (_taint_oddities(taints) if has_gpus else [])


def without_schedulable(made: Node) -> Node:
    """The node with no GPU that can be handed out now: it is not ready, or cordoned."""
    found = made.accelerators
    if found is None:
        return made
    return made._replace(accelerators=found._replace(schedulable=Range(0, 0)))


def _trouble(troubles: list[Trouble], code: str, path: Path, message: str) -> None:
    troubles.append(Trouble(code, path, message))


def _mapping(value: object, path: Path, troubles: list[Trouble]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    where = ".".join(str(p) for p in path)
    _trouble(troubles, "wrong-type", path, f"{where} is {_shown(value)}; it has to be a mapping")
    return {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def labels_of(value: object, path: Path, troubles: list[Trouble]) -> dict[str, str]:
    """A map of labels; values that are no strings are told and left out."""
    found: dict[str, str] = {}
    for key, label in _mapping(value, path, troubles).items():
        if isinstance(label, str):
            found[str(key)] = label
        else:
            message = f"label {key} is {_shown(label)}; label values are strings, write it in quotes"
            _trouble(troubles, "wrong-type", (*path, str(key)), message)
    return found


def amounts_of(value: object, path: Path, troubles: list[Trouble]) -> dict[str, int] | None:
    """Resource amounts in base units; None when the source does not say any."""
    if value is None:
        return None
    found: dict[str, int] = {}
    for resource, text in _mapping(value, path, troubles).items():
        try:
            found[str(resource)] = amount.amount(str(resource), text)
        except amount.QuantityError as error:
            _trouble(troubles, "bad-quantity", (*path, str(resource)), f"{resource}: {error}")
    return found


def taints_of(value: object, path: Path, troubles: list[Trouble]) -> tuple[Taint, ...]:
    """Taints as objects (key, value, effect)."""
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        _trouble(troubles, "wrong-type", path, f"taints are {_shown(value)}; they have to be a list")
        return ()
    found = []
    for position, item in enumerate(value):
        taint = _taint(item, (*path, position), troubles)
        if taint is not None:
            found.append(taint)
    return tuple(found)


def _taint(item: object, path: Path, troubles: list[Trouble]) -> Taint | None:
    fields = _mapping(item, path, troubles)
    key, effect = _text(fields.get("key")), _text(fields.get("effect"))
    if not key:
        _trouble(troubles, "missing-field", path, "a taint needs a key, as in key: nvidia.com/gpu")
        return None
    if effect not in _EFFECTS:
        message = (
            f"taint {key} has the effect {_shown(fields.get('effect'))}; use one of {', '.join(_EFFECTS)}"
        )
        _trouble(troubles, "bad-enum", (*path, "effect"), message)
        return None
    text = fields.get("value")
    if text is not None and not isinstance(text, str):
        message = f"taint {key} has the value {_shown(text)}; taint values are strings, write it in quotes"
        _trouble(troubles, "wrong-type", (*path, "value"), message)
    return Taint(key, _text(text), effect)


def _is_ready(conditions: object) -> tuple[bool, str]:
    """Whether the node is Ready, and what to say when it is not. No condition counts as ready."""
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, Mapping) and condition.get("type") == "Ready":
            status = condition.get("status")
            if status == "True":
                return True, ""
            reason = _text(condition.get("reason"))
            because = f", {reason}" if reason else ""
            return False, f"not ready (Ready is {status}{because}): counted as 0"
    return True, ""


def _label_oddities(labels: Mapping[str, str]) -> list[str]:
    odd = []
    for key, value in sorted(labels.items()):
        if not _LABEL_VALUE.match(value):
            odd.append(
                f"label {key} has the value {_shown(value)}, which is not legal today (letters, digits, - _ ., at "
                "most 63): no selector can ask for it"
            )
    old = sorted(key for key, new in _RENAMED.items() if key in labels and new not in labels)
    if old:
        odd.append(
            f"carries {old[0]} without its successor {_RENAMED[old[0]]}: selectors on the newer label do not "
            "match here"
        )
    if any(labels.get(key) in values for key, values in _SPOT.items()):
        odd.append("spot capacity: the provider may take it away at any time")
    return odd


def _taint_oddities(taints: tuple[Taint, ...]) -> list[str]:
    odd = []
    for taint in taints:
        if taint.effect not in HARD_EFFECTS or taint.key.startswith(_SYSTEM_TAINTS):
            continue
        shown = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        if taint.key in _GPU_TAINTS:
            if taint.value not in ("", "present"):
                odd.append(
                    f'taint {shown} has the value "{taint.value}" where "present" is usual: a toleration with '
                    "operator Equal has to say the same"
                )
            continue
        evicts = ", and evicts what does not tolerate it" if taint.effect == "NoExecute" else ""
        odd.append(f"taint {shown} of its own keeps pods without that toleration away{evicts}")
    return odd
