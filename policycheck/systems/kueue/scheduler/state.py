"""The mutable state of a session: workloads, and the queues in which they wait.

A queue keeps its waiting workloads in classes of equal shape and priority, so that a whole class is
parked or returned at once (KEP "scheduling equivalence"). Entries are removed lazily: one whose ticket
is no longer its workload's is stale.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from policycheck.systems.kueue.model import Admission, ClusterQueue, KueueWorkload
from policycheck.systems.kueue.quota import Amounts
from policycheck.systems.kueue.scheduler.kin import Bag, Entry, Key, Kin
from policycheck.systems.kueue.scheduler.land import TAKES_NOTHING, Taken
from policycheck.systems.kueue.scheduler.plan import Plan, Rules, covering
from policycheck.systems.kueue.scheduler.shape import Shape

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.assign import Assignment
    from policycheck.systems.kueue.scheduler.topology import Traits

AWAY, ACTIVE, PARKED, IN_FLIGHT = range(4)  # where a waiting workload is

_TURN = attrgetter("turn")

NO_COLUMNS: frozenset[int] = frozenset()


class Item:
    """One workload. What is compiled of it stays; what a cycle changes is at the end."""

    __slots__ = (
        "admission",
        "admitted",
        "amounts",
        "bag",
        "checked",
        "columns",
        "created",
        "evicted",
        "foreign",
        "held",
        "home",
        "id",
        "local",
        "mark",
        "message",
        "off",
        "placed",
        "plain",
        "priority",
        "queue",
        "ready",
        "reason",
        "requeues",
        "reserved",
        "reserved_at",
        "scan",
        "scan_generation",
        "settled",
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
        self.checked = bool(workload.check_states)
        self.id = workload.id
        self.uid = workload.uid
        self.local = local  # its LocalQueue, "namespace/name"
        self.shape = shape
        self.created = 0
        self.priority = workload.priority
        self.time = 0  # by which it is queued
        self.queue: Queue | None = None
        self.home = -1  # tree of the last queue that it was in
        self.foreign = False  # of a namespace that its queue does not take
        self.bag: Bag | None = None  # in which it waits
        self.off = AWAY  # when it waits in none
        self.ticket = 0
        self.mark = 0  # what it adds to its bag's
        self.settled = False  # it was put there without a scan to go on with
        self.reserved = False
        self.admitted = False
        self.evicted = False
        self.reserved_at = 0
        self.admission: Admission | None = None
        self.amounts: Amounts = ()
        self.columns = NO_COLUMNS
        self.placed: Taken = TAKES_NOTHING  # what its pods take of nodes
        self.held: Held | None = None  # all that, as reasons keep it; None: made when it is asked for
        self.scan: tuple[dict[str, int], ...] | None = None  # flavor tried last, by podset and resource
        self.scan_generation = 0
        self.reason: str | None = None  # of not being admitted; None: no cycle looked at it
        self.message = ""
        self.ready = False  # all its pods run
        self.requeues = 0  # timeouts of readiness so far
        self.wakes = 0  # when it may be looked at again; 0: at once
        self.plain: bool | None = None  # it needs no other look than its like; None: not looked at yet
        self.shelved = False  # its status says that it is not to be queued (Requeued is False)

    def __lt__(self, other: Item) -> bool:
        """Only ever asked of two that stand for one workload, the earlier of which is gone."""
        return False

    @property
    def place(self) -> int:
        """Where it is: ACTIVE, PARKED, IN_FLIGHT or AWAY."""
        bag = self.bag
        if bag is None:
            return self.off
        return ACTIVE if bag.active else PARKED

    def copy(self) -> Item:
        """An independent copy; everything compiled is shared."""
        other = Item.__new__(Item)
        for name in Item.__slots__:
            setattr(other, name, getattr(self, name))
        other.held = None
        return other


Charges = tuple[Amounts, frozenset[int]]  # what a workload takes, and in which columns
# A holder with its reservation's time, whether it is evicted, its amounts, columns and what it takes of nodes.
Held = tuple[Item, int, bool, Amounts, frozenset[int], Taken]


class Queue:
    """A ClusterQueue: what waits in it, and who holds its quota."""

    __slots__ = (
        "aliens",
        "by_local",
        "config",
        "covers",
        "fitting",
        "frozen",
        "generation",
        "holders",
        "inactive",
        "kin",
        "lying",
        "moved",
        "name",
        "node",
        "order",
        "plans",
        "preemptor",
        "rules",
        "scanning",
        "signed",
        "strict",
        "sums",
        "traits",
        "tree",
        "unsigned",
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
        self.sums: dict[int, dict[int, int]] = {}  # what they use, by priority and cell
        self.kin: dict[Key, Kin] = {}
        self.aliens = False  # whether some of these are foreign
        self.lying: dict[Key, Kin] = {}  # kin of which some may return
        self.order: list[tuple[int, Entry, Kin]] = []  # heads of kin, lazily
        self.waiting = 0  # active workloads
        self.moved: dict[tuple[int, int], str] = {}  # classes parked as a whole, with the reason
        self.preemptor: Item | None = None  # waits for its victims; goes first unless StrictFIFO
        self.plans: dict[tuple[int, tuple[int, ...]], Plan] = {}
        self.fitting: dict[tuple[int, tuple[int, ...]], Assignment] = {}  # by shape and heights of amounts
        self.rules = rules
        self.signed = 0  # the signature, but for what has changed in the unsigned
        self.unsigned: set[Kin] = set()
        self.version = 0  # of holders
        self.frozen: tuple[int, tuple[Held, ...]] = (-1, ())  # holders of that version, for reasons

    def bare(self) -> Queue:
        """The same queue with no holders and nobody waiting."""
        other = Queue(self.config, self.tree, self.node, self.rules)
        other.by_local, other.plans, other.inactive = self.by_local, self.plans, self.inactive
        other.traits = self.traits
        return other

    def count(self, item: Item, sign: int) -> None:
        """A holder comes (``sign`` 1) or goes (-1)."""
        row = self.sums.get(item.priority)
        if row is None:
            row = self.sums[item.priority] = {}
        for cell, amount in item.amounts:
            row[cell] = row.get(cell, 0) + sign * amount

    def last(self, alike: tuple[int, int]) -> Kin | None:
        """Of the kin of such a shape and priority the one that was looked at last; None when none was."""
        kin = max((kin for key, kin in self.kin.items() if key[:2] == alike), key=_TURN, default=None)
        return kin if kin is not None and kin.turn else None

    def key(self, item: Item) -> Key:
        """The class of ``item``."""
        return item.shape.number, item.priority, item.local if self.by_local else "", item.foreign

    def alike(self, item: Item) -> tuple[int, int]:
        """What workloads have in common that are parked together."""
        return item.shape.number, item.priority

    def kin_of(self, item: Item) -> Kin:
        """The class of ``item``, made when it is the first."""
        key = self.key(item)
        found = self.kin.get(key)
        if found is None:
            found = self.kin[key] = Kin(key)
            self.aliens = self.aliens or found.foreign
        return found

    def _put(self, item: Item, kin: Kin, bag: Bag) -> Entry:
        """Let ``item`` wait in ``bag``; hashes are compared within one run of the program only."""
        item.ticket += 1
        item.settled = item.scan is None
        if item.settled:
            item.mark = hash(item.id)
        else:
            self.scanning[item.id] = item
            item.mark = hash((item.id, repr(item.scan)))
        entry = (item.time, item.uid, item.id, item.ticket, item)
        bag.add(item, entry)
        self.unsigned.add(kin)
        return entry

    @property
    def signature(self) -> int:
        """Equal when the same workloads wait in the same places, scans as far."""
        for kin in self.unsigned:
            old, kin.sign = kin.sign, kin.signed()
            self.signed ^= old ^ kin.sign
        self.unsigned.clear()
        return self.signed

    @property
    def standing(self) -> tuple[str, int, str]:
        """Equal while the next cycle would find in it what the last one found."""
        return self.name, self.signature, "" if self.preemptor is None else self.preemptor.id

    def renew(self) -> None:
        """Other things can be had than before: flavor scans begin anew."""
        self.generation += 1
        if not self.scanning:
            return
        scanning, self.scanning = self.scanning, {}
        for item in scanning.values():
            if item.queue is self and item.bag is not None:
                item.scan = None
                old, item.mark, item.settled = item.mark, hash(item.id), True
                item.bag.mark ^= old ^ item.mark
                self.unsigned.add(item.bag.kin)

    def push(self, item: Item) -> None:
        """Put ``item`` among the active."""
        kin = self.kin_of(item)
        entry = self._put(item, kin, kin.active)
        self.waiting += 1
        if kin.active.heap[0] is entry and not self.by_local:
            self._announce(kin)

    def _announce(self, kin: Kin) -> None:
        """Let the order of heads know the first active one of ``kin``."""
        head = kin.active.head()
        if head is not None and head is not kin.told:
            kin.told = head
            heapq.heappush(self.order, (-kin.priority, head, kin))

    def park(self, item: Item, *, held: bool = False) -> None:
        """Put ``item`` among those that wait for a change; ``held``: it backs off meanwhile."""
        kin = self.kin_of(item)
        self._put(item, kin, kin.held if held else kin.parked)
        if not kin.foreign:
            self.lying[kin.key] = kin

    def is_settled(self, item: Item) -> bool:
        """Whether ``item`` waits here as it would if it were put back now."""
        return item.settled and item.scan is None and item.bag is not None

    def park_kin(self, item: Item, reason: str) -> None:
        """Park all active workloads alike ``item``; newcomers of the class are parked too."""
        alike = self.alike(item)
        self.moved[alike] = reason
        if not self.by_local and not self.aliens and item.bag is not None:
            some = [item.bag.kin]
        elif self.by_local:
            some = [kin for key, kin in self.kin.items() if key[:2] == alike]
        else:
            some = [kin for foreign in (False, True) if (kin := self.kin.get((*alike, "", foreign)))]
        for kin in some:
            self.waiting -= kin.exchange(to_active=False)
            self.unsigned.add(kin)
            if not kin.foreign:
                self.lying[kin.key] = kin

    def take_out(self, item: Item) -> None:
        """Remove ``item`` from wherever it waits."""
        bag = item.bag
        if bag is not None:
            kin = bag.kin
            head = bag.heap[0]
            bag.remove(item)
            item.ticket += 1
            self.unsigned.add(kin)
            if bag.active:
                self.waiting -= 1
                if head[4] is item and not self.by_local:
                    self._announce(kin)
        item.off = AWAY
        if self.preemptor is item:
            self.preemptor = None

    def return_all(self, stays: Callable[[Item], bool]) -> None:
        """Everything parked becomes active again, but what ``stays``: who backs off, or is foreign."""
        self.moved.clear()
        if not self.lying:
            return
        lying, self.lying = self.lying, {}
        for key, kin in lying.items():
            if kin.held.heap:
                for entry in list(kin.held.entries()):
                    if not stays(entry[4]):
                        kin.held.remove(entry[4])
                        self._put(entry[4], kin, kin.parked)
                if kin.held.size:
                    self.lying[key] = kin
            self.waiting += kin.exchange(to_active=True)
            self.unsigned.add(kin)
            if not self.by_local:
                self._announce(kin)

    def head(self) -> Item | None:
        """Who is first for a cycle, when all of one LocalQueue are alike; it stays where it is."""
        sticky = self.preemptor
        if sticky is not None and sticky.place == ACTIVE and not self.strict:
            return sticky
        order = self.order
        while order:
            _, told, kin = order[0]
            if kin.active.head() is told:
                return told[4]
            heapq.heappop(order)
            if kin.told is told:
                kin.told = None
                self._announce(kin)
        return None

    def pop_by_use(self, use: dict[str, float]) -> Item | None:
        """Take the head when LocalQueues that used less go first (admission fair sharing)."""
        best: tuple[float, bool, int, Entry] | None = None
        for kin in self.kin.values():
            head = kin.active.head()
            sticky = None if self.strict else self.preemptor
            if sticky is not None and sticky.bag is kin.active:
                head = next(e for e in kin.active.entries() if e[4] is sticky)
            if head is None:
                continue
            rank = (use.get(kin.local, 0.0), head[4] is not sticky, -kin.priority, head)
            if best is None or rank[:3] < best[:3] or (rank[:3] == best[:3] and rank[3][:3] < best[3][:3]):
                best = rank
        return None if best is None else self.fly(best[3][4])

    def fly(self, item: Item) -> Item:
        """Take ``item`` out while a cycle decides about it; whether it preempts stays known."""
        preemptor = self.preemptor
        self.take_out(item)
        self.preemptor = preemptor
        item.off = IN_FLIGHT
        return item

    def waiters(self) -> Iterator[Item]:
        """All that wait, in no particular order."""
        for kin in self.kin.values():
            for bag in kin.bags():
                for entry in bag.entries():
                    yield entry[4]
