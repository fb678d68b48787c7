"""What a node has left, and whether pods of a shape can use it: the values that measures work on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policycheck.model.capacity import CORE
from policycheck.model.inventory import Node
from policycheck.model.placement import NodeTerm, Taint, Toleration, untolerated
from policycheck.simulate import device
from policycheck.simulate.device import DeviceAsk, Devices

# Why a shape can not use a node: these, or the name of the resource that is short.
CORDON, NOT_READY = "cordon", "not-ready"
TAINT, SELECTOR, MODEL, DEVICES, NUMA = "taint", "selector", "model", "devices", "numa"
TOPOLOGY, GANG = "topology", "gang"
PLENTY = 1 << 31  # pods where nothing limits them


class Room(NamedTuple):
    """What one node has left for new pods.

    ``free`` is of cpu, memory, pods and others in base units; of what every node has, an amount left out
    is not known and limits nothing. Devices are in ``devices`` alone. ``blocked``: nothing new may run here
    (CORDON, NOT_READY); "" when it may.
    """

    node: str
    free: Mapping[str, int]
    devices: Devices = ()
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    blocked: str = ""


class Shape(NamedTuple):
    """Pods of one kind: what each needs beside devices (base units), and of devices.

    ``weight`` is how often it is asked for, in any unit. A gang has more than one of ``pods``, and with
    ``level`` (a label key) all of them have to be within one domain of that level.
    """

    name: str
    needs: Mapping[str, int]
    ask: DeviceAsk = DeviceAsk({})
    weight: int = 1
    pods: int = 1
    level: str = ""
    selector: Mapping[str, str] = {}
    affinity: tuple[NodeTerm, ...] = ()  # any of them suffices; () asks nothing
    tolerations: tuple[Toleration, ...] = ()


def room(node: Node, devices: Devices, free: Mapping[str, int] | None = None) -> Room:
    """The room of a node; ``free`` is what is left of its amounts, all of them net of daemons by default."""
    if free is None:
        held = node.committed
        free = {r: max(0, n - held.get(r, 0)) for r, n in (node.allocatable or {}).items()}
    blocked = "" if node.usable else CORDON if node.unschedulable else NOT_READY
    return Room(node.name, free, devices, node.labels, node.taints, blocked)


def is_admitted(room: Room, shape: Shape) -> bool:
    """Whether taints, selector and required affinity let such a pod on the node, and nothing blocks it."""
    return not room.blocked and not _kept_away(room, shape)


def _kept_away(room: Room, shape: Shape) -> str:
    if untolerated(room.taints, shape.tolerations) is not None:
        return TAINT
    if any(room.labels.get(key) != value for key, value in shape.selector.items()):
        return SELECTOR
    if shape.affinity and not any(term.matches(room.labels, room.node) for term in shape.affinity):
        return SELECTOR
    return ""


def is_short(free: Mapping[str, int], resource: str, need: int) -> bool:
    """Whether less than ``need`` is left; what is not known of every node's own resources is not short."""
    left = free.get(resource)
    return need > 0 and (left < need if left is not None else resource not in CORE)


def blockers(room: Room, shape: Shape) -> tuple[str, ...]:
    """Everything that keeps one pod of the shape off the node now, in a fixed order; () when it fits."""
    if room.blocked:
        return (room.blocked,)
    found = [why] if (why := _kept_away(room, shape)) else []
    ask = shape.ask
    if not device.fits(room.devices, ask):
        found.append(_lacking(room.devices, ask))
    found += [r for r, need in shape.needs.items() if is_short(room.free, r, need)]
    return tuple(found)


def _lacking(devices: Devices, ask: DeviceAsk) -> str:
    """What of the devices is missing: the model, the NUMA alignment, or enough of them."""
    if ask.models and device.fits(devices, ask._replace(models=())):
        return MODEL
    if ask.aligned and device.fits(devices, ask._replace(aligned=False)):
        return NUMA
    return DEVICES


def pods_by_amounts(free: Mapping[str, int], needs: Mapping[str, int]) -> int:
    """How many pods the amounts beside devices allow; PLENTY when they limit nothing."""
    most = PLENTY
    for resource, need in needs.items():
        if need > 0 and (resource in free or resource not in CORE):
            most = min(most, max(0, free.get(resource, 0)) // need)
    return most


def pods_on(room: Room, shape: Shape) -> int:
    """How many pods of the shape the node takes now; PLENTY when nothing limits them."""
    if not is_admitted(room, shape):
        return 0
    by_devices = device.pods(room.devices, shape.ask)
    by_amounts = pods_by_amounts(room.free, shape.needs)
    return by_amounts if by_devices < 0 else min(by_devices, by_amounts)


def less(room: Room, shape: Shape) -> Room | None:
    """The room once a pod of the shape is on it, on the devices that leave the most; None when it is not
    admitted or does not fit.
    """
    if blockers(room, shape):
        return None
    found = device.take(room.devices, shape.ask)
    if found is None:
        return None
    free = {**room.free, **{r: room.free[r] - n for r, n in shape.needs.items() if r in room.free}}
    return room._replace(free=free, devices=found[0])


def idle(room: Room) -> int:
    """Thousandths of cards that nobody uses on the node, blocked or not."""
    return sum(device.idle(card) for card in room.devices)


def usable(rooms: Iterable[Room]) -> list[Room]:
    """The rooms that take new pods at all."""
    return [room for room in rooms if not room.blocked]
