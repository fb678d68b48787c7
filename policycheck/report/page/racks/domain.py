"""Which nodes are drawn together: racks by the tightest level, and groups of racks by those above."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from policycheck.model import capacity
from policycheck.model.inventory import Node
from policycheck.report.page.racks.strip import units_of

MOST_NODES = 320  # drawn one by one; beyond that each rack is a bar
MOST_RACKS = 240  # bars; beyond that a bar stands for the next wider level
_DIGITS = re.compile(r"(\d+)")


class Rack(NamedTuple):
    """Nodes of one domain of the tightest level that is drawn."""

    label: str
    nodes: tuple[Node, ...]
    is_placed: bool = True  # False: these nodes lack the label


class Group(NamedTuple):
    """Racks under the same domains of the wider levels; ``label`` is "" when there is no such level."""

    label: str
    racks: tuple[Rack, ...]


class Plan(NamedTuple):
    """What is drawn. ``unit`` is what a rack is called here; ``is_exact``: every node is drawn."""

    groups: tuple[Group, ...]
    unit: str
    is_exact: bool
    left_out: int  # machines without any unit of what is drawn
    elastic: int  # pools that may grow

    @property
    def racks(self) -> int:
        """How many racks."""
        return sum(len(group.racks) for group in self.groups)


def order(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that puts node-2 before node-10."""
    return tuple(
        (0, int(part), "") if part.isdecimal() and part.isascii() and len(part) < 20 else (1, 0, part)
        for part in _DIGITS.split(name)
        if part
    )


def plan(nodes: Sequence[Node], levels: Sequence[str], resource: str) -> Plan:
    """Nodes into racks and groups by the levels that tell any two of them apart."""
    usable = [node for node in nodes if units_of(node, resource)]
    machines = [one for node in usable for one in capacity.expand(node) if one.machines]
    kept = [key for key in levels if key != capacity.HOSTNAME and _values(machines, key) > 1]
    is_exact = len(machines) <= MOST_NODES
    while not is_exact and len(kept) > 1 and _racks(machines, kept) > MOST_RACKS:
        kept.pop()
    found: dict[tuple[str, ...], dict[tuple[bool, str], list[Node]]] = {}
    for node in machines:
        above = tuple(titled(key, node.labels.get(key)) for key in kept[:-1])
        own = _own(node, kept)
        found.setdefault(above, {}).setdefault(own, []).append(node)
    groups = tuple(
        Group(" / ".join(above), tuple(_rack(own, racks[own]) for own in sorted(racks, key=_rack_order)))
        for above, racks in sorted(found.items(), key=lambda item: [order(v) for v in item[0]])
    )
    return Plan(
        groups,
        short(kept[-1]) if kept else "model",
        is_exact,
        sum(node.machines for node in nodes if not units_of(node, resource)),
        sum(node.most != node.machines for node in usable),
    )


def _values(nodes: Iterable[Node], key: str) -> int:
    """How many values the label has; nodes that lack it count as one more."""
    return len({node.labels.get(key) for node in nodes})


def _racks(nodes: Iterable[Node], levels: Sequence[str]) -> int:
    return len({tuple(node.labels.get(key) for key in levels) for node in nodes})


def _own(node: Node, kept: Sequence[str]) -> tuple[bool, str]:
    if kept:
        value = node.labels.get(kept[-1])
        return value is not None, titled(kept[-1], value)
    return True, model_of(node) or "no model label"


def _rack(own: tuple[bool, str], nodes: Iterable[Node]) -> Rack:
    return Rack(own[1], tuple(sorted(nodes, key=lambda node: order(node.name))), own[0])


def _rack_order(own: tuple[bool, str]) -> tuple[bool, tuple[tuple[int, int, str], ...]]:
    return (not own[0], order(own[1]))


def model_of(node: Node) -> str:
    """The model as people say it: without the maker, which all share."""
    if node.accelerators is None:
        return ""
    return node.accelerators.model.removeprefix("NVIDIA-")


def titled(key: str, value: str | None) -> str:
    """A domain with the name of its level, unless its own name says that: "rack a1"."""
    if value is None:
        return f"no {short(key)} label"
    words = re.split(r"[-_.]", short(key).lower())
    says = any(len(word) > 2 and word in value.lower() for word in words)
    return value if says else f"{short(key)} {value}"


def short(key: str) -> str:
    """What a level is called: the last part of its label key."""
    return key.rpartition("/")[2]
