"""The hardware that a certificate rests on, and whether another inventory has it.

Stated as groups of alike nodes: the labels that anything asks for, taints, and what is free of each resource
that anything asks for. Names of machines do not count: a node may be exchanged for an equal one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from policycheck.model.amount import QuantityError, amount, show, write
from policycheck.model.inventory import Inventory, Node
from policycheck.model.placement import Labels
from policycheck.simulate.hold.flow import SINK, SOURCE, cut

_HARD = frozenset({"NoSchedule", "NoExecute"})
HOSTNAME = "kubernetes.io/hostname"
_ALWAYS = ("pods",)  # a node holds so many pods, whatever they ask for


_KEYS = {"nodes", "labels", "ownLabels", "taints", "free"}


class Matter(NamedTuple):
    """What of a node matters: ``labels`` by key, ``resources``, and whether anything goes there at all."""

    labels: frozenset[str]
    resources: frozenset[str]
    is_used: Callable[[Labels], bool]


class Group(NamedTuple):
    """Alike nodes. ``own`` are labels of which every node has a value of its own."""

    nodes: int
    labels: Mapping[str, str]
    own: frozenset[str]
    taints: frozenset[str]
    free: Mapping[str, int]


class NeededError(ValueError):
    """What is written of the hardware can not be read."""


class Short(NamedTuple):
    """Nodes that are needed and not there. ``what`` is a kind for scripts, ``why`` a sentence."""

    what: str
    name: str
    why: str


def stated(inventory: Inventory, matter: Matter) -> list[dict[str, Any]]:
    """The groups as JSON values, sorted. Pools that grow on demand count as small as they may be."""
    found = grouped(inventory, matter)
    return [_json(key, sum(node.machines for node in found[key])) for key in sorted(found)]


def grouped(inventory: Inventory, matter: Matter) -> dict[tuple[Any, ...], list[Node]]:
    """Nodes that are alike in all that matters, by that; those that take no pods left out."""
    nodes = [n for n in inventory.nodes if n.usable and n.machines and matter.is_used(n.labels)]
    own = _own(nodes, matter.labels)
    found: dict[tuple[Any, ...], list[Node]] = {}
    for node in nodes:
        found.setdefault(_key(node, matter, own), []).append(node)
    return found


def _own(nodes: Sequence[Node], labels: Iterable[str]) -> frozenset[str]:
    """Labels that repeat the name of the node: another machine has another value, and may stand in for it."""
    return frozenset(
        label
        for label in labels
        if label == HOSTNAME or all(n.labels.get(label, n.name) == n.name for n in nodes)
    )


def _key(node: Node, matter: Matter, own: frozenset[str]) -> tuple[Any, ...]:
    free = {r: node.free(r) or 0 for r in (*matter.resources, *_ALWAYS)}
    return (
        tuple(sorted((k, v) for k, v in node.labels.items() if k in matter.labels and k not in own)),
        tuple(sorted(own & node.labels.keys())),
        tuple(sorted(_taints(node))),
        tuple(sorted((r, v) for r, v in free.items() if v)),
    )


def _taints(node: Node) -> frozenset[str]:
    return frozenset(f"{t.key}={t.value}:{t.effect}" for t in node.taints if t.effect in _HARD)


def _json(key: tuple[Any, ...], nodes: int) -> dict[str, Any]:
    labels, own, taints, free = key
    return {
        "nodes": nodes,
        "labels": dict(labels),
        "ownLabels": list(own),
        "taints": list(taints),
        "free": {resource: write(resource, value) for resource, value in free},
    }


def read(groups: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The groups of a certificate. Raises NeededError."""
    found = []
    for one in groups:
        try:
            wrong = set(one) != _KEYS or isinstance(one["nodes"], bool) or one["nodes"] < 1
            group = Group(
                one["nodes"],
                {str(k): str(v) for k, v in one["labels"].items()},
                frozenset(map(str, one["ownLabels"])),
                frozenset(map(str, one["taints"])),
                {str(r): amount(str(r), v) for r, v in one["free"].items()},
            )
        except (TypeError, ValueError, KeyError, AttributeError, QuantityError) as error:
            raise NeededError("the inventory of the certificate is not one of ours") from error
        if wrong:
            raise NeededError("the inventory of the certificate is not one of ours")
        found.append(group)
    return found


def missing(needed: Sequence[Group], live: Inventory) -> list[Short]:
    """What of the hardware is not there any more, group by group; [] while ``live`` contains it all."""
    if not needed:
        return []
    if not live.known:
        return [Short("inventory", "", "no inventory is in sight, and the certificate rests on one")]
    nodes = _merged(live, needed)
    arcs: dict[Any, dict[Any, int]] = {SOURCE: {}}
    for at, group in enumerate(needed):
        arcs[SOURCE]["need", at] = group.nodes
        arcs["need", at] = {
            ("live", n): group.nodes for n, have in enumerate(nodes) if not _lacks(group, have)
        }
    for n, have in enumerate(nodes):
        arcs["live", n] = {SINK: have.machines}
    total, side = cut(arcs)
    if total == sum(group.nodes for group in needed):
        return []
    short = [group for at, group in enumerate(needed) if ("need", at) in side]
    idle = [node for node in nodes if all(_lacks(group, node) for group in needed)]
    return [_told(group, nodes, idle) for group in short]


def _merged(live: Inventory, needed: Sequence[Group]) -> list[Node]:
    """The nodes of ``live``, those alike in everything that is asked for as one record."""
    labels = {key for group in needed for key in (*group.labels, *group.own)}
    own = {label for group in needed for label in group.own}
    resources = {resource for group in needed for resource in group.free}
    found: dict[tuple[Any, ...], Node] = {}
    for node in live.nodes:
        if not node.machines:
            continue
        free = {r: node.free(r) or 0 for r in resources}
        kept = {k: v for k, v in node.labels.items() if k in labels}
        kept.update((label, "") for label in own & kept.keys())
        key = (
            tuple(sorted(kept.items())),
            tuple(sorted(_taints(node))),
            tuple(sorted(free.items())),
            node.usable,
        )
        known = found.get(key)
        if known is None:
            found[key] = node._replace(allocatable=free, committed={})
        else:
            found[key] = known._replace(machines=known.machines + node.machines)
    return list(found.values())


class _Lack(NamedTuple):
    """What keeps a node from standing for one of a group."""

    what: str
    why: str


def _lacks(group: Group, node: Node) -> _Lack | None:
    """Why ``node`` can not stand for one of ``group``; None when it can."""
    for label, wanted in group.labels.items():
        if node.labels.get(label) != wanted:
            have = f"has {label}={node.labels[label]}" if label in node.labels else f"has no label {label}"
            return _Lack("label", have)
    for label in sorted(group.own):
        if label not in node.labels:
            return _Lack("label", f"has no label {label}")
    more = sorted(_taints(node) - group.taints)
    if more:
        return _Lack("taint", f"has the taint {more[0]}")
    if not node.usable:
        return _Lack("node", "takes no pods (not ready, or cordoned)")
    for resource, value in sorted(group.free.items()):
        free = node.free(resource) or 0
        if free < value:
            return _Lack("free", f"has {show(resource, free)} {resource} free, not {show(resource, value)}")
    return None


def _told(group: Group, nodes: Sequence[Node], idle: Sequence[Node]) -> Short:
    """What is short of one group, and in what a node differs that is nearly one of it and else of no use."""
    there = sum(node.machines for node in nodes if _lacks(group, node) is None)
    name = ", ".join(f"{k.rpartition('/')[2]}={v}" for k, v in sorted(group.labels.items())) or "(no labels)"
    amounts = ", ".join(f"{show(r, v)} {r}" for r, v in sorted(group.free.items()) if r not in _ALWAYS)
    many = "node" if group.nodes == 1 else "nodes"
    text = f"needed: {group.nodes} {many} with {name} ({amounts} free each); there: {there}"
    if there >= group.nodes:
        return Short("node", name, f"{text}, which others need too")
    near = [lack for node in idle if _distance(group, node) == 1 and (lack := _lacks(group, node))]
    if near:
        return Short(near[0].what, name, f"{text}; one that is else like them {near[0].why}")
    return Short("node", name, text)


def _distance(group: Group, node: Node) -> int:
    """In how many ways a node differs from what is needed."""
    labels = sum(node.labels.get(k) != v for k, v in group.labels.items())
    free = sum((node.free(r) or 0) < v for r, v in group.free.items())
    return (
        labels
        + len(group.own - node.labels.keys())
        + len(_taints(node) - group.taints)
        + free
        + (not node.usable)
    )
