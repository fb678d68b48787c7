"""The mutable state of a session: workloads, and the queues in which they wait.

A queue keeps its waiting workloads in classes of equal shape and priority, so that a whole class is
parked or returned at once (KEP "scheduling equivalence"). Entries are removed lazily: one whose ticket
is no longer its workload's is stale.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from policycheck.systems.kueue.model import Admission, ClusterQueue, KueueWorkload
from policycheck.systems.kueue.quota import Amounts
from policycheck.systems.kueue.scheduler.kin import Bag, Entry, Key, Kin
from policycheck.systems.kueue.scheduler.land import TAKES_NOTHING, Taken
from policycheck.systems.kueue.scheduler.plan import Plan, Rules, covering
from policycheck.systems.kueue.scheduler.shape import Shape

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.topology import Traits

AWAY, ACTIVE, PARKED, IN_FLIGHT = range(4)  # where a waiting workload is


class Item:
    """One workload. What is compiled of it stays; what a cycle changes is at the end."""

    __slots__ = (
        "admission",
        "admitted",
        "amounts",
        "columns",
        "created",
        "evicted",
        "id",
        "local",
        "mark",
        "message",
        "place",
        "placed",
        "priority",
        "queue",
        "ready",
        "reason",
        "requeues",
        "reserved",
        "reserved_at",
        "scan",
        "scan_generation",
        "shape",
        "shelved",
        "ticket",
        "time",
        "uid",
        "wakes",
        "workload",
    )

    def __init__(self, workload: KueueWorkload, shape: Shape, local: str) -> None:
        self.workload = workload
        self.id = workload.id
        self.uid = workload.uid
        self.local = local  # its LocalQueue, "namespace/name"
        self.shape = shape
        self.created = 0
        self.priority = workload.priority
        self.time = 0  # by which it is queued
        self.queue: Queue | None = None
        self.place = AWAY
        self.ticket = 0
        self.mark = 0  # what it adds to its queue's signature
        self.reserved = False
        self.admitted = False
        self.evicted = False
        self.reserved_at = 0
        self.admission: Admission | None = None
        self.amounts: Amounts = ()
        self.columns: frozenset[int] = frozenset()
        self.placed: Taken = TAKES_NOTHING  # what its pods take of nodes
        self.scan: tuple[dict[str, int], ...] | None = None  # flavor tried last, by podset and resource
        self.scan_generation = 0
        self.reason: str | None = None  # of not being admitted; None: no cycle looked at it
        self.message = ""
        self.ready = False  # all its pods run
        self.requeues = 0  # timeouts of readiness so far
        self.wakes = 0  # when it may be looked at again; 0: at once
        self.shelved = False  # its status says that it is not to be queued (Requeued is False)

    def copy(self) -> Item:
        """An independent copy; everything compiled is shared."""
        other = Item.__new__(Item)
        for name in Item.__slots__:
            setattr(other, name, getattr(self, name))
        return other


# A holder with its reservation's time, whether it is evicted, its amounts, columns and what it takes of nodes.
Held = tuple[Item, int, bool, Amounts, frozenset[int], Taken]


class Kin:
    """Waiting workloads of one shape and priority in one queue (and LocalQueue, where that counts)."""

    __slots__ = ("active", "local", "parked", "priority", "size")

    def __init__(self, priority: int, local: str) -> None:
        self.priority = priority
        self.local = local
        self.active: list[Entry] = []
        self.parked: list[Entry] = []
        self.size = 0  # of active, without stale entries

    def head(self) -> Entry | None:
        """The first active entry that is not stale."""
        active = self.active
        while active:
            entry = active[0]
            if entry[3] == entry[4].ticket:
                return entry
            heapq.heappop(active)
        return None


Key = tuple[int, int, str]  # shape number, priority, LocalQueue or ""


class Queue:
    """A ClusterQueue: what waits in it, and who holds its quota."""

    __slots__ = (
        "by_local",
        "config",
        "covers",
        "frozen",
        "generation",
        "holders",
        "inactive",
        "kin",
        "moved",
        "name",
        "node",
        "order",
        "plans",
        "preemptor",
        "rules",
        "scanning",
        "signature",
        "strict",
        "traits",
        "tree",
        "version",
        "waiting",
    )

    def __init__(self, config: ClusterQueue, tree: int, node: int, rules: Rules) -> None:
        self.config = config
        self.name = config.name
        self.tree = tree
        self.node = node
        self.strict = config.queueing_strategy == "StrictFIFO"
        self.inactive = ""  # why it takes no workloads, or ""
        self.generation = 1  # of what can be had; grows when its quota is reserved or released
        self.scanning: dict[str, Item] = {}  # those that wait with a scan to go on with, and perhaps more
        self.by_local = False  # admission fair sharing orders it
        self.traits: Traits | None = None  # when flavors of it have a topology
        self.covers = covering(config.groups)
        self.holders: dict[str, Item] = {}
        self.kin: dict[Key, Kin] = {}
        self.order: list[tuple[int, int, str, str, int, Key]] = []  # heads of kin, lazily
        self.waiting = 0  # active workloads
        self.moved: dict[tuple[int, int], str] = {}  # classes parked as a whole, with the reason
        self.preemptor: Item | None = None  # waits for its victims; goes first unless StrictFIFO
        self.plans: dict[tuple[int, tuple[int, ...]], Plan] = {}
        self.rules = rules
        self.signature = 0  # equal when the same workloads wait in the same places, scans as far
        self.version = 0  # of holders
        self.frozen: tuple[int, tuple[Held, ...]] = (-1, ())  # holders of that version, for reasons

    def bare(self) -> Queue:
        """The same queue with no holders and nobody waiting."""
        other = Queue(self.config, self.tree, self.node, self.rules)
        other.by_local, other.plans, other.inactive = self.by_local, self.plans, self.inactive
        other.traits = self.traits
        return other

    def key(self, item: Item) -> Key:
        """The class of ``item``."""
        return item.shape.number, item.priority, item.local if self.by_local else ""

    def alike(self, item: Item) -> tuple[int, int]:
        """What workloads have in common that are parked together."""
        return item.shape.number, item.priority

    def _kin(self, key: Key) -> Kin:
        found = self.kin.get(key)
        if found is None:
            found = self.kin[key] = Kin(key[1], key[2])
        return found

    def _place(self, item: Item, place: int) -> None:
        """Put down where ``item`` is; hashes are compared within one run of the program only."""
        item.place = place
        if item.scan is not None:
            self.scanning[item.id] = item
        mark = hash((item.id, place, item.scan and repr(item.scan))) if place in (ACTIVE, PARKED) else 0
        self.signature ^= item.mark ^ mark
        item.mark = mark

    def renew(self) -> None:
        """Other things can be had than before: flavor scans begin anew."""
        self.generation += 1
        scanning, self.scanning = self.scanning, {}
        for item in scanning.values():
            if item.queue is self and item.place in (ACTIVE, PARKED):
                item.scan = None
                self._place(item, item.place)

    def push(self, item: Item) -> None:
        """Put ``item`` among the active."""
        key = self.key(item)
        kin = self._kin(key)
        item.ticket += 1
        self._place(item, ACTIVE)
        entry = (item.time, item.uid, item.id, item.ticket, item)
        heapq.heappush(kin.active, entry)
        kin.size += 1
        self.waiting += 1
        if kin.active[0] is entry and not self.by_local:
            self._announce(kin, key)

    def _announce(self, kin: Kin, key: Key) -> None:
        head = kin.head()
        if head is not None:
            heapq.heappush(self.order, (-kin.priority, head[0], head[1], head[2], head[3], key))

    def park(self, item: Item) -> None:
        """Put ``item`` among those that wait for a change."""
        item.ticket += 1
        self._place(item, PARKED)
        entry = (item.time, item.uid, item.id, item.ticket, item)
        heapq.heappush(self._kin(self.key(item)).parked, entry)

    def park_kin(self, item: Item, reason: str) -> None:
        """Park all active workloads alike ``item``; newcomers of the class are parked too."""
        alike = self.alike(item)
        self.moved[alike] = reason
        all_kin = self.kin.items() if self.by_local else [(self.key(item), self._kin(self.key(item)))]
        for key, kin in all_kin:
            if key[:2] != alike:
                continue
            for entry in kin.active:
                one = entry[4]
                if entry[3] == one.ticket:
                    self._place(one, PARKED)
                    heapq.heappush(kin.parked, entry)
            self.waiting -= kin.size
            kin.active, kin.size = [], 0

    def take_out(self, item: Item) -> None:
        """Remove ``item`` from wherever it waits."""
        if item.place == ACTIVE:
            self.waiting -= 1
            kin = self.kin[self.key(item)]
            kin.size -= 1
            head = kin.active[0] if kin.active else None
            item.ticket += 1
            if head is not None and head[4] is item and not self.by_local:
                self._announce(kin, self.key(item))
        else:
            item.ticket += 1
        self._place(item, AWAY)
        if self.preemptor is item:
            self.preemptor = None

    def return_all(self, stays: Callable[[Item], bool]) -> None:
        """Everything parked becomes active again, but what ``stays``."""
        self.moved.clear()
        for key, kin in self.kin.items():
            if not kin.parked:
                continue
            parked, kin.parked = kin.parked, []
            for entry in parked:
                if entry[3] != entry[4].ticket:
                    continue
                if stays(entry[4]):
                    heapq.heappush(kin.parked, entry)
                    continue
                self._place(entry[4], ACTIVE)
                heapq.heappush(kin.active, entry)
                kin.size += 1
                self.waiting += 1
            if not self.by_local:
                self._announce(kin, key)

    def pop(self) -> Item | None:
        """Take the head for a cycle, when all of one LocalQueue are alike."""
        sticky = self.preemptor
        if sticky is not None and sticky.place == ACTIVE and not self.strict:
            return self._fly(sticky)
        order = self.order
        while order:
            *_, ticket, key = order[0]
            kin = self.kin[key]
            head = kin.head()
            if head is None or head[3] != ticket or (head[0], head[1], head[2]) != order[0][1:4]:
                heapq.heappop(order)
                continue
            return self._fly(head[4])
        return None

    def pop_by_use(self, use: dict[str, float]) -> Item | None:
        """Take the head when LocalQueues that used less go first (admission fair sharing)."""
        best: tuple[float, bool, int, Entry] | None = None
        for kin in self.kin.values():
            head = kin.head()
            sticky = None if self.strict else self.preemptor
            if sticky is not None and sticky.place == ACTIVE and self.kin[self.key(sticky)] is kin:
                head = next(e for e in kin.active if e[4] is sticky and e[3] == sticky.ticket)
            if head is None:
                continue
            rank = (use.get(kin.local, 0.0), head[4] is not sticky, -kin.priority, head)
            if best is None or rank[:3] < best[:3] or (rank[:3] == best[:3] and rank[3][:3] < best[3][:3]):
                best = rank
        return None if best is None else self._fly(best[3][4])

    def _fly(self, item: Item) -> Item:
        preemptor = self.preemptor
        self.take_out(item)
        self.preemptor = preemptor
        self._place(item, IN_FLIGHT)
        return item

    def waiters(self) -> Iterator[Item]:
        """All that wait, in no particular order."""
        for kin in self.kin.values():
            for entry in (*kin.active, *kin.parked):
                if entry[3] == entry[4].ticket:
                    yield entry[4]
