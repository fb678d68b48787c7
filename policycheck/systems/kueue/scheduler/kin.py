"""Waiting workloads of one kind, parked and returned as a whole, whatever their number.

Workloads of one class wait in *bags*. Whether a bag is active is said once for all in it, so that parking
or returning a class turns a flag; where both bags hold something the smaller goes over to the larger.
Entries are removed lazily: one whose ticket is no longer its workload's is stale.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.assign import Assignment
    from policycheck.systems.kueue.scheduler.explain import Asked
    from policycheck.systems.kueue.scheduler.plan import Plan
    from policycheck.systems.kueue.scheduler.state import Item

# By flavor that it may have: (cell, amount, first cell of the column, whether it is more than there could be).
Ways = tuple[tuple[tuple[int, int, int, bool], ...], ...]
Entry = tuple[int, str, str, int, "Item"]  # time, uid, id, ticket, workload
Key = tuple[int, int, str, bool]  # shape number, priority, LocalQueue or "", foreign


class Bag:
    """Some of a class, the first at the top of the heap. ``mark`` is equal when it holds the same workloads
    with scans as far.
    """

    __slots__ = ("active", "heap", "kin", "mark", "size")

    def __init__(self, kin: Kin, *, active: bool) -> None:
        self.kin = kin
        self.active = active
        self.heap: list[Entry] = []
        self.size = 0  # without stale entries
        self.mark = 0

    def add(self, item: Item, entry: Entry) -> None:
        """One more."""
        item.bag = self
        self.size += 1
        self.mark ^= item.mark
        heapq.heappush(self.heap, entry)

    def remove(self, item: Item) -> None:
        """One less; the caller makes its entry stale."""
        item.bag = None
        self.size -= 1
        self.mark ^= item.mark

    def head(self) -> Entry | None:
        """The first entry that is not stale."""
        heap = self.heap
        if len(heap) == self.size:  # none is stale: no need to ask the workload
            return heap[0] if heap else None
        while heap:
            entry = heap[0]
            if entry[3] == entry[4].ticket:
                return entry
            heapq.heappop(heap)
        return None

    def entries(self) -> Iterator[Entry]:
        """All that are not stale, in no particular order."""
        return (entry for entry in self.heap if entry[3] == entry[4].ticket)

    def pour(self, other: Bag) -> None:
        """Everything of ``other`` comes here."""
        if not other.heap:
            return
        heap = self.heap
        for entry in other.heap:
            item = entry[4]
            if entry[3] == item.ticket:
                item.bag = self
                heapq.heappush(heap, entry)
        self.size += other.size
        self.mark ^= other.mark
        other.heap, other.size, other.mark = [], 0, 0


class Kin:
    """Waiting workloads of one shape and priority in one queue (and LocalQueue, where that counts).

    ``held`` are those that back off: they do not return with the others. Those of a *foreign* namespace,
    which the queue does not take, never return.
    """

    __slots__ = (
        "active",
        "confined",
        "fit",
        "foreign",
        "held",
        "key",
        "last",
        "local",
        "message",
        "most",
        "notes",
        "parked",
        "plan",
        "priority",
        "seed",
        "sign",
        "told",
        "turn",
        "ways",
    )

    def __init__(self, key: Key) -> None:
        self.key = key
        self.seed = hash(key)
        _, self.priority, self.local, self.foreign = key
        self.active = Bag(self, active=True)
        self.parked = Bag(self, active=False)
        self.held = Bag(self, active=False)
        self.told: Entry | None = None  # the head that its queue knows
        self.sign = 0  # what it adds to its queue's signature
        self.last: Asked | None = None  # who of it was looked at last, and went on waiting
        self.notes: tuple[str, ...] = ()  # on the decision about that one
        self.message = ""  # that it came with
        self.ways: Ways | None = None  # what a look at sums has to compare; None: nobody has looked
        self.most = 0  # with it: up to which priority it may take the place of those in its own queue
        self.confined = False  # and whether it may take nobody's in others while it borrows
        self.plan: Plan | None = None  # of those without a choice of flavors: they fit in one way
        self.fit: tuple[tuple[int, ...], Assignment] | None = None  # how they did last, by heights of amounts
        self.turn = 0  # when its last was looked at, as a number that grows

    def signed(self) -> int:
        """What it adds to its queue's signature as it is now."""
        active, parked = self.active.mark, self.parked.mark ^ self.held.mark
        return hash((self.seed, active, parked)) if active or parked else 0

    def __lt__(self, other: Kin) -> bool:
        """Only ever asked about a head that was told twice, by which they are the same."""
        return False

    def bags(self) -> tuple[Bag, Bag, Bag]:
        """All of them."""
        return self.active, self.parked, self.held

    def exchange(self, *, to_active: bool) -> int:
        """Everything parked becomes active, or the other way round; how many that were."""
        source, target = (self.parked, self.active) if to_active else (self.active, self.parked)
        moved = source.size
        if not moved:
            source.heap.clear()
            return 0
        if source.size > target.size:
            source.pour(target)
            self.active, self.parked = self.parked, self.active
            self.active.active, self.parked.active = True, False
        else:
            target.pour(source)
        return moved

    def copied(self, items: dict[str, Item]) -> Kin:
        """The same of workloads that are copies."""
        made = Kin(self.key)
        made.told, made.sign = self.told, self.sign
        for mine, theirs in zip(self.bags(), made.bags(), strict=True):
            theirs.size, theirs.mark = mine.size, mine.mark
            for entry in mine.entries():
                item = items[entry[4].id]
                item.bag = theirs
                copy = (*entry[:4], item)
                theirs.heap.append(copy)
                if entry is self.told:
                    made.told = copy
            heapq.heapify(theirs.heap)  # without the stale ones it may be none any more
        return made
