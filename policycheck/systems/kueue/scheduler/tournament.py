"""The order of heads under fair sharing: at every cohort the child that would then have least goes on.

Source: KEP-1714; repeated after every entry, since each changes what the others would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from policycheck.systems.kueue.scheduler.session import Session

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.entry import Entry


class Tournament:
    """Yields the entries of one tree; the consumer decides each before it asks for the next."""

    def __init__(self, session: Session, number: int, entries: list[Entry]) -> None:
        self._tree = session.trees[number]
        self._shares = session.world.shares[number]
        self._rules = session.world.strategy
        self._left = {entry.queue.node: entry for entry in entries}
        size = self._tree.size
        self._wants = {
            entry.queue.node: frozenset(cell // size for cell, v in entry.assignment.amounts if v > 0)
            for entry in entries
        }

    def __iter__(self) -> Iterator[Entry]:
        while self._left:
            node = self._winner()
            yield self._left.pop(node)

    def _winner(self) -> int:
        tree = self._tree
        if tree.size == 1:
            return 0
        standings = {node: self._standings(node) for node in self._left}
        best: dict[int, int] = {}
        # Children before parents: each cohort sends on its best, judged at that cohort.
        for node in range(tree.size - 1, 0, -1):
            champion = node if node in self._left else best.get(node)
            if champion is None:
                continue
            parent = tree.nodes[node].parent
            rival = best.get(parent)
            if rival is None or self._beats(champion, rival, parent, standings):
                best[parent] = champion
        return best[0]

    def _standings(self, queue: int) -> dict[int, tuple[bool, tuple[int, float]]]:
        """By cohort: whether the child towards ``queue`` borrows what the entry wants, and its share,
        with the entry's usage added.
        """
        tree, shares = self._tree, self._shares
        amounts = self._left[queue].assignment.amounts
        tree.add_all(amounts)
        found = {}
        child = queue
        for cohort in tree.path(queue):
            borrows = self._rules.nominal_first and shares.borrows_any(child, self._wants[queue])
            found[cohort] = (borrows, shares.rank(child))
            child = cohort
        tree.remove_all(amounts)
        return found

    def _beats(
        self,
        a: int,
        b: int,
        cohort: int,
        standings: dict[int, dict[int, tuple[bool, tuple[int, float]]]],
    ) -> bool:
        mine, theirs = self._left[a].item, self._left[b].item
        first: tuple[object, ...] = standings[a][cohort]
        second: tuple[object, ...] = standings[b][cohort]
        if self._rules.priority_within_cohort:
            first, second = (*first, -mine.priority), (*second, -theirs.priority)
        return (*first, mine.time) < (*second, theirs.time)
