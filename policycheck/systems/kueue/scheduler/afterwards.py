"""What a cycle's victims leave behind, beside what is held now.

Each entry of a cycle is held against the state in which all victims so far are gone. Taking them out and
putting them back for every entry costs entries times victims; so the state without them is kept beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler.assign import Assignment
from policycheck.systems.kueue.scheduler.fork import with_usage
from policycheck.systems.kueue.scheduler.land import Land
from policycheck.systems.kueue.scheduler.state import Item

FITS, NO_QUOTA, NO_PLACE = range(3)


class Afterwards:
    """Trees and nodes without the victims of this cycle."""

    def __init__(self, trees: Sequence[Tree], land: Land | None) -> None:
        self._trees = trees
        self._land = land
        self._without: dict[int, Tree] = {}  # a copy for every tree that has lost a victim
        self._freed: dict[int, int] = {}  # what victims leave on nodes, by cell
        self.gone: dict[str, Item] = {}

    def lose(self, victims: Iterable[Item]) -> None:
        """``victims`` will be gone."""
        for victim in victims:
            if victim.id in self.gone:
                continue
            self.gone[victim.id] = victim
            if victim.queue is not None:
                self._copy(victim.queue.tree).remove_all(victim.amounts)
            for cell, amount in victim.placed.cells:
                self._freed[cell] = self._freed.get(cell, 0) + amount

    def replace(self, old: Item) -> None:
        """``old`` makes way at once."""
        if old.queue is not None:
            self._trees[old.queue.tree].remove_all(old.amounts)
            if old.queue.tree in self._without:
                self._copy(old.queue.tree).remove_all(old.amounts)
        if self._land is not None:
            self._land.remove(old.placed)

    def add(self, number: int, amounts: Amounts) -> None:
        """``amounts`` are used in tree ``number``, whoever goes."""
        self._trees[number].add_all(amounts)
        if number in self._without:
            self._copy(number).add_all(amounts)

    def _copy(self, number: int) -> Tree:
        tree = self._trees[number]
        found = self._without.get(number)
        if found is None:
            found = self._without[number] = with_usage(tree, tree.usage.copy())
        elif len(found.usage) < len(tree.usage):
            found.usage.extend([0] * (len(tree.usage) - len(found.usage)))
        return found

    def check(self, number: int, assignment: Assignment, more: Iterable[Item]) -> int:
        """Whether ``assignment`` fits into tree ``number`` once ``more`` are gone as well."""
        extra = {victim.id: victim for victim in more if victim.id not in self.gone}
        tree = self._copy(number) if number in self._without else self._trees[number]
        mine = [v for v in extra.values() if v.queue is not None and v.queue.tree == number]
        for victim in mine:
            tree.remove_all(victim.amounts)
        fits = tree.fits(assignment.amounts)
        for victim in mine:
            tree.add_all(victim.amounts)
        if not fits:
            return NO_QUOTA
        if self._land is None or not assignment.claims:
            return FITS
        freed = self._freed
        if extra:
            freed = dict(freed)
            for victim in extra.values():
                for cell, amount in victim.placed.cells:
                    freed[cell] = freed.get(cell, 0) + amount
        return FITS if self._land.fits(assignment.claims, freed) else NO_PLACE
