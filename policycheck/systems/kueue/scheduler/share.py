"""Dominant resource share, in the very arithmetic of the real scheduler.

Kueue computes shares in IEEE doubles (ratio times 1000, then divided by the weight) and compares
them unrounded; two shares that are equal as fractions may differ by that rounding, and decisions
with them. So doubles it is, in the same order of operations. Source: KEP-1714 "Fair sharing".
"""

from __future__ import annotations

import math
from typing import NamedTuple

from policycheck.model.amount import UNLIMITED
from policycheck.systems.kueue.quota import Tree

Rank = tuple[int, float]  # (1, unweighted) when weight 0 borrows, else (0, weighted): compares as it is
NOTHING: Rank = (-1, 0.0)


class Share(NamedTuple):
    """The share of one node, as it is printed."""

    value: int  # rounded up; 2^63-1 when weight 0 borrows
    dominant: str
    borrowing: bool


class Shares:
    """Shares of a tree's nodes. What can be lent does not depend on usage and is computed once."""

    __slots__ = ("_cells", "_lendable", "_tree")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._cells: dict[int, list[tuple[int, str]]] = {}
        self._lendable: dict[int, dict[str, int]] = {}

    def on(self, tree: Tree) -> Shares:
        """Shares of the same tree with other usage; what is known of quotas is kept."""
        other = Shares(tree)
        other._cells, other._lendable = self._cells, self._lendable
        return other

    def cells(self, node: int) -> list[tuple[int, str]]:
        """The cells that ``node`` has a quota for, with their resource."""
        found = self._cells.get(node)
        if found is None:
            tree = self._tree
            numbered = ((column * tree.size + node, pair[1]) for column, pair in enumerate(tree.pairs))
            found = self._cells[node] = [(cell, r) for cell, r in numbered if tree.defined[cell]]
        return found

    def _lends(self, parent: int) -> dict[str, int]:
        found = self._lendable.get(parent)
        if found is None:
            found = self._lendable[parent] = {}
            tree = self._tree
            for column, (_, resource) in enumerate(tree.pairs):
                if tree.defined[column * tree.size]:
                    most = min(tree.ceiling[column * tree.size + parent], UNLIMITED)
                    found[resource] = min(found.get(resource, 0) + most, UNLIMITED)
        return found

    def _ratio(self, node: int) -> tuple[float, str, bool]:
        """1000 x borrowed / lendable of the dominant resource, which that is, whether it borrows."""
        tree = self._tree
        parent = tree.nodes[node].parent
        if parent < 0:
            return 0.0, "", False
        usage, subtree = tree.usage, tree.subtree
        borrowed: dict[str, int] | None = None
        for cell, resource in self._cells.get(node) or self.cells(node):
            over = usage[cell] - subtree[cell]
            if over > 0:
                if borrowed is None:
                    borrowed = {resource: over}
                else:
                    borrowed[resource] = borrowed.get(resource, 0) + over
        if borrowed is None:
            return 0.0, "", False
        lends = self._lendable.get(parent) or self._lends(parent)
        best, dominant = 0.0, ""
        for resource, over in borrowed.items():
            lendable = lends.get(resource, 0)
            if lendable > 0:
                ratio = min(over, UNLIMITED) * 1000.0 / lendable
                if ratio > best or (ratio == best and resource < dominant):
                    best, dominant = ratio, resource
        return best, dominant, True

    def rank(self, node: int) -> Rank:
        """The share in a form that compares: weight 0 that borrows is beyond all others."""
        ratio, _, borrowing = self._ratio(node)
        weight = self._tree.nodes[node].weight
        if weight == 0:
            return (1, ratio) if borrowing else (0, 0.0)
        return 0, ratio / weight if ratio else 0.0

    def standing(self, node: int) -> tuple[Rank, bool]:
        """The share in a form that compares, and whether nothing lendable is borrowed."""
        ratio, _, borrowing = self._ratio(node)
        weight = self._tree.nodes[node].weight
        if weight == 0:
            return ((1, ratio) if borrowing else (0, 0.0)), ratio == 0
        return (0, ratio / weight if ratio else 0.0), ratio == 0

    def is_zero(self, node: int) -> bool:
        """Whether nothing lendable is borrowed."""
        return self._ratio(node)[0] == 0

    def share(self, node: int) -> Share:
        """The share as it is printed."""
        _, dominant, borrowing = self._ratio(node)
        infinite, value = self.rank(node)
        return Share(UNLIMITED if infinite else math.ceil(value), dominant, borrowing)

    def borrows_any(self, node: int, columns: frozenset[int]) -> bool:
        """Whether ``node`` exceeds its quota in one of ``columns``."""
        tree = self._tree
        if tree.nodes[node].parent < 0:
            return False
        usage, subtree, size = tree.usage, tree.subtree, tree.size
        return any(
            usage[c * size + node] > subtree[c * size + node] and tree.defined[c * size + node]
            for c in columns
        )
