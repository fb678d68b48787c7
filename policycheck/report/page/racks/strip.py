"""The accelerators of one node as strips of units: whole cards, slices, shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policycheck.model import amount
from policycheck.model.inventory import Node

CARD = 1000  # widths are in thousandths of a card
_BAR = 8 * CARD  # how wide a node without accelerators is drawn
_CELLS = 128  # more units than that on one node are a bar, not cells


class Strip(NamedTuple):
    """``total`` equal units over ``width`` thousandths of cards; ``held`` by gangs in the order drawn,
    ``outside`` by pods outside any queue. ``is_bar``: amounts in proportion, no cells.
    """

    resource: str
    width: int
    total: int
    held: tuple[tuple[str, int], ...]
    outside: int = 0
    is_bar: bool = False
    is_card: bool = True  # of accelerators, which count in cards; else in the resource's own units

    @property
    def used(self) -> int:
        """Units that somebody holds."""
        return min(self.total, self.outside + sum(units for _, units in self.held))

    def counted(self, units: int) -> int:
        """So many units in what is added up over nodes: thousandths of cards, or units."""
        return units * self.width // self.total if self.is_card else units


def units_of(node: Node, resource: str = "") -> Mapping[str, int]:
    """The units that one machine has by resource name, unhandy or not; ``resource`` when it has no
    accelerators.
    """
    found = node.accelerators
    if found is None:
        has = (node.allocatable or node.capacity or {}).get(resource, 0)
        return {resource: has} if has > 0 else {}
    whole = found.schedulable.low or found.schedulable.high or 0
    if not whole and not found.slices and not found.shares:
        whole = (node.capacity or {}).get(found.resource, 0)
    made = {found.resource: whole} if whole > 0 else {}
    for name, units in (*found.slices.items(), *found.shares.items()):
        if units > 0:
            made[name] = made.get(name, 0) + units
    return made


def strips(
    node: Node, held: Mapping[tuple[str, str], Sequence[tuple[str, int]]], resource: str = ""
) -> tuple[Strip, ...]:
    """The node's strips; ``held`` gives (gang, units) by (node, resource)."""
    units = units_of(node, resource)
    if node.accelerators is None:
        return tuple(
            _strip(node, name, _BAR, total, held, is_bar=True)._replace(is_card=False)
            for name, total in units.items()
        )
    whole = units.get(node.accelerators.resource, 0)
    if node.accelerators.resource in (*node.accelerators.slices, *node.accelerators.shares):
        whole = 0
    parts = sum(units.values()) - whole
    physical = node.accelerators.physical.high or node.accelerators.physical.low
    cut = max(physical - whole, 0) or -(-parts // 7)  # cards that are cut; not known: as few as can be
    made = []
    for name, total in units.items():
        is_whole = name == node.accelerators.resource and whole > 0
        width = total * CARD if is_whole else cut * CARD * total // parts
        made.append(_strip(node, name, width, total, held, is_bar=total > _CELLS))
    return tuple(made)


def _strip(
    node: Node,
    name: str,
    width: int,
    total: int,
    held: Mapping[tuple[str, str], Sequence[tuple[str, int]]],
    *,
    is_bar: bool,
) -> Strip:
    outside = min(total, node.committed.get(name, 0))
    return Strip(name, width, total, tuple(held.get((node.name, name), ())), outside, is_bar)


def shown(total: int, resource: str) -> str:
    """A sum as people write it: cards whole or with one decimal, else an amount of the resource."""
    if resource:
        return amount.show(resource, total)
    tenths = (total * 10 + CARD // 2) // CARD
    return f"{tenths // 10:,}" if tenths % 10 == 0 else f"{tenths / 10:,.1f}"


def use_of(every: Sequence[Strip]) -> str:
    """What is in use of what is there, as in 12/32."""
    resource = next((s.resource for s in every if not s.is_card), "")
    used, total = sum(s.counted(s.used) for s in every), sum(s.counted(s.total) for s in every)
    return f"{shown(used, resource)}/{shown(total, resource)}"
