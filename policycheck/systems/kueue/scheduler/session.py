"""A session: all state of the scheduler between cycles, compiled flat; only decisions leave it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from policycheck.model.inventory import Node
from policycheck.model.placement import Taint
from policycheck.simulate.scheduler import Decision, Grant, Waiting
from policycheck.systems.kueue.model import Admission, CheckState, KueueWorkload
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler import fork, life, outage
from policycheck.systems.kueue.scheduler.entrance import Entrance
from policycheck.systems.kueue.scheduler.giving import charges
from policycheck.systems.kueue.scheduler.intake import charged, make, plan
from policycheck.systems.kueue.scheduler.land import TAKES_NOTHING, Land
from policycheck.systems.kueue.scheduler.life import Due, Turn, waits
from policycheck.systems.kueue.scheduler.local import Ledger
from policycheck.systems.kueue.scheduler.moment import moment
from policycheck.systems.kueue.scheduler.plan import Plan
from policycheck.systems.kueue.scheduler.shape import Shape
from policycheck.systems.kueue.scheduler.state import AWAY, NO_COLUMNS, Charges, Item, Queue
from policycheck.systems.kueue.scheduler.topology import claims_of, needs_second_pass
from policycheck.systems.kueue.scheduler.world import World

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.explain import Evidence
    from policycheck.systems.kueue.scheduler.nominate import Scene


class Session:
    """Implements simulate.scheduler.Scheduler for Kueue's workloads.

    Between cycles an event engine may say what happened; times are nanoseconds since the zero time
    (moment.py), ids "namespace/name", and what came of it for workloads is returned as Turns (life.py):

        check, pending_checks (admission checks of a workload with quota)
        ready, not_ready, evict, deactivate, activate, stop, sample, wake, next_due
        node_down, node_up, node_tainted, nodes_added

    Those that are evicted keep their quota until ``settle``, as victims of a cycle do. ``nominations``
    counts nominations made so far, ``blocked`` tells that blockAdmission holds everything up. A run that
    asks no decision for its reasons sets ``explaining`` to False and saves keeping what was seen.
    """

    def __init__(
        self,
        world: World,
        trees: Sequence[Tree],
        queues: Mapping[str, Queue],
        ledger: Ledger | None,
        now: int,
        land: Land | None = None,
        nodes: Iterable[Node] = (),
    ) -> None:
        self.world = world
        self.trees = tuple(trees)
        self.queues = dict(queues)
        self.ledger = ledger
        self.now = now
        self.land = land
        self.nodes = tuple(nodes)  # that the land was laid out with
        self.number = self.nominations = 0  # cycles and nominations so far
        self.turns = 0  # decisions remembered
        self.explaining = True  # decisions can tell their reasons; a long run may do without
        self.items: dict[str, Item] = {}
        self.homes: dict[str, int] = {}  # tree of every workload that was in a queue and is gone
        self.victims: list[Item] = []  # evicted by the last cycle, still holding quota
        self.members: list[list[Queue | None]] = [[None] * t.size for t in self.trees]
        self.busy: dict[str, Queue] = {}  # queues that may have a head
        self.second: dict[str, Item] = {}  # hold quota, and wait for a place on nodes
        self.tried: dict[str, int] = {}  # of those: how much had changed when there was none
        for queue in self.queues.values():
            self.members[queue.tree][queue.node] = queue
        self.stamp = 0  # grows whenever what some tree decides on has changed
        self.evidence: dict[int, tuple[int, Evidence]] = {}  # of a tree at some stamp of its own, for reasons
        self.stamps = [0] * len(self.trees)
        self.due: list[Due] = []  # a heap of what happens by itself
        self.failing: dict[str, int] = {}  # nodes that are not Ready: when they count as failed
        self.returning: set[int] | None = None  # trees whose parked workloads return when somebody says so
        self.unready: set[str] = set()  # hold quota without all pods running, when that blocks others
        self.stalled = False  # a cycle waits for them
        config = waits(self)
        self.blocks = config is not None and config.block_admission
        self.entrance = Entrance(world, self.queues)
        self.regroup()

    def regroup(self) -> None:
        """Trees whose pods share nodes are decided together."""
        trees = {q.tree for q in self.queues.values() if q.traits is not None}
        self.first = min(trees, default=-1)
        self.group = [self.first if n in trees else n for n in range(len(self.trees))]  # by first tree
        self.placing = [q for q in self.queues.values() if q.tree in trees]

    # -- submitting and releasing ---------------------------------------------------------------

    def offer(self, workloads: Iterable[KueueWorkload]) -> None:
        """Submit workloads; those with quota reserved take their place among the holders."""
        for workload in workloads:
            if not workload.finished:
                self.submit(workload)

    def submit(self, workload: KueueWorkload, name: str = "") -> Item:
        """Submit one; ``name`` is its id, for a caller that has it as a string."""
        item = self.make(workload)
        if name:
            item.id = name
        old = self.items.get(item.id)
        if old is not None:
            self.homes[item.id] = self.home_of(item.id, old)
            self._forget(old)
        self.items[item.id] = item
        if workload.has("QuotaReserved") and workload.admission is not None:
            self._restore(item, workload.admission)
        else:
            self.enqueue(item)
        return item

    def make(self, workload: KueueWorkload) -> Item:
        """The workload as an item that is nowhere yet."""
        return make(self.world, workload)

    def _restore(self, item: Item, admission: Admission) -> None:
        """Put a workload that holds quota in its place."""
        queue = self.queues.get(admission.cluster_queue)
        if queue is None:
            return
        condition = item.workload.conditions.get("QuotaReserved")
        item.admitted = item.workload.has("Admitted")
        self.hold(item, queue, charged(item, admission), moment(condition.since) if condition else 0)
        if self.land is not None and needs_second_pass(item):
            self.second[item.id] = item

    def hold(
        self, item: Item, queue: Queue, admission: Admission, since: int, taken: Charges | None = None
    ) -> None:
        """``item`` holds ``admission`` in ``queue`` from ``since`` on; ``taken`` is what that takes, if known."""
        item.amounts, item.columns = taken or charges(self.trees[queue.tree], queue.node, admission)
        self.trees[queue.tree].add_all(item.amounts)
        item.queue, item.admission = queue, admission
        if self.land is not None:
            item.placed = self.land.taken(claims_of(self.land, item))
            self.land.add(item.placed)
        item.home = queue.tree
        item.reserved, item.reserved_at, item.held = True, since, None
        queue.holders[item.id] = item
        queue.count(item, 1)
        if self.blocks and not item.ready:
            self.unready.add(item.id)
        self.changed(queue)

    def rehold(self, item: Item, queue: Queue, admission: Admission) -> None:
        """A workload that holds quota gets another admission; it has held it as long as before."""
        self.trees[queue.tree].remove_all(item.amounts)
        queue.count(item, -1)
        if self.land is not None:
            self.land.remove(item.placed)
        self.second.pop(item.id, None)
        if item.workload.unhealthy_nodes:
            item.workload = item.workload._replace(unhealthy_nodes=())
        self.hold(item, queue, admission, item.reserved_at)
        queue.renew()

    def changed(self, queue: Queue) -> None:
        """What the queue holds has changed."""
        queue.version += 1
        self.stamp += 1
        self.stamps[queue.tree] += 1

    def enqueue(self, item: Item) -> None:
        """Put ``item`` in its queue, or nowhere when it has none that takes it."""
        item.queue = queue = self.entrance.of(item)
        if queue is None:
            return
        item.home = queue.tree
        item.foreign = self.entrance.is_shut(item, queue)
        if self.backs_off(item):
            queue.park(item, held=True)
            life.shelve(self, item)
        elif queue.alike(item) in queue.moved and not queue.strict:
            queue.park(item)
        else:
            queue.push(item)
            self.busy[queue.name] = queue

    def backs_off(self, item: Item) -> bool:
        """Whether the workload must not be looked at yet."""
        return item.shelved or item.wakes > self.now

    def _forget(self, item: Item) -> None:
        """Remove ``item`` from queues and holders; its quota is free."""
        queue = item.queue
        if queue is None:
            return
        if item.reserved:
            self.trees[queue.tree].remove_all(item.amounts)
            if self.land is not None:
                self.land.remove(item.placed)
                item.placed = TAKES_NOTHING
                self.second.pop(item.id, None)
            del queue.holders[item.id]
            queue.count(item, -1)
            item.reserved = item.admitted = item.ready = False
            self.unready.discard(item.id)
            item.admission, item.amounts, item.columns, item.held = None, (), NO_COLUMNS, None
            queue.renew()
            self.changed(queue)
        elif item.place != AWAY:
            queue.take_out(item)

    def home_of(self, name: str, item: Item | None) -> int:
        """The tree of the last queue that a workload was in, gone or not; -1 for none."""
        return item.home if item is not None and item.home >= 0 else self.homes.get(name, -1)

    def release(self, ids: Iterable[str], *, requeue: bool = False) -> None:
        """Workloads stop or are deleted; parked workloads of the trees whose quota is freed return."""
        freed: set[int] = set()
        back: list[Item] = []
        for name in ids:
            # Parked workloads return whether or not quota was held: controllers do not look.
            item = self.items.get(name)
            home = self.home_of(name, item)
            if home >= 0:
                freed.add(home)
            if item is None:
                continue
            self._forget(item)
            if requeue:
                back.append(item)
            else:
                del self.items[name]
                self.homes[name] = home
        for item in back:
            life.begin_again(item)
            self.enqueue(item)
        if self.returning is None:
            self.return_parked(freed)
        else:
            self.returning |= freed

    def return_parked(self, trees: Iterable[int]) -> None:
        """All parked workloads of ``trees`` are active again."""
        for tree in sorted(trees):
            for queue in self.members[tree]:
                if queue is not None:
                    queue.return_all(self.backs_off)
                    if queue.waiting:
                        self.busy[queue.name] = queue

    def settle(self) -> None:
        """What controllers do between cycles: the evicted stop, release their quota, queue again."""
        victims, self.victims = self.victims, []
        self.release([v.id for v in victims], requeue=True)

    # -- cycles ---------------------------------------------------------------------------------

    def cycle(self, now: int) -> list[Decision]:
        """One scheduling cycle at ``now`` (nanoseconds)."""
        return [decision for some in self.deciding(now) for decision in some]

    def deciding(self, now: int) -> Iterator[list[Decision]]:
        """The same in parts: decisions about trees that have nothing to do with those after them, decided while
        one goes through them. One has to come to the end, and to do nothing meanwhile on which others depend.
        """
        from policycheck.systems.kueue.scheduler.cycle import Cycle

        self.now = now
        if self.blocked:
            return iter(())
        self.stalled = False
        self.number += 1
        return Cycle(self).run()

    def has_work(self) -> bool:
        """Whether any active queue has an active workload, and nothing holds the scheduler up."""
        if self.blocked:
            return False
        for queue in self.busy.values():
            if queue.waiting and not queue.inactive:
                return True
        return any(self.tried.get(name) != self.stamp for name in self.second)

    def plan(self, queue: Queue, shape: Shape, pods: tuple[int, ...]) -> Plan:
        """The plan of ``shape`` with ``pods`` in ``queue``, worked out once."""
        return plan(self.world, self.trees[queue.tree], queue, shape, pods)

    def scene(self, number: int) -> Scene:
        """Tree ``number`` as nominations see it."""
        from policycheck.systems.kueue.scheduler.nominate import Scene

        shares, members = self.world.shares[number], self.members[number]
        return Scene(
            self.world, self.trees[number], members, shares, self.ledger, self.now, self.plan, self.land
        )

    # -- what happens between cycles ------------------------------------------------------------

    @property
    def blocked(self) -> bool:
        """Whether the last cycle waits for pods to be ready before it admits more (blockAdmission)."""
        return self.stalled and bool(self.unready)

    def check(
        self,
        workload: str,
        name: str,
        state: str,
        now: int,
        *,
        retry_after: int = 0,
        updates: tuple[Mapping[str, object], ...] = (),
    ) -> list[Turn]:
        """An admission check of a workload is Ready, Retry (evicted, again after ``retry_after``) or
        Rejected (deactivated). ``updates`` are the podSetUpdates that go with Ready.
        """
        given = CheckState(name, state, "", updates)
        return life.check(self, workload, given, now, retry_after=retry_after)

    def pending_checks(self, workload: str) -> tuple[str, ...]:
        """The checks that a workload with quota still has to pass."""
        return life.pending_checks(self, workload)

    def ready(self, workload: str, now: int) -> None:
        """All pods of the workload run."""
        self.now = max(self.now, now)
        life.ready(self, workload)

    def not_ready(self, workload: str, now: int) -> list[Turn]:
        """Its pods were not ready in time. Nothing happens when waitForPodsReady is off."""
        return life.not_ready(self, workload, now)

    def evict(self, workload: str, reason: str, now: int) -> list[Turn]:
        """It stops for ``reason`` and queues again."""
        item = self.items.get(workload)
        return [] if item is None else life.evict(self, item, reason, now)

    def deactivate(self, workload: str, cause: str, now: int) -> list[Turn]:
        """It is set inactive: it stops, and queues no more."""
        return life.deactivate(self, workload, cause, now)

    def activate(self, workload: str, now: int) -> None:
        """It is active again and queues."""
        life.activate(self, workload, now)

    def stop(self, queue: str, policy: str, now: int) -> list[Turn]:
        """The stopPolicy of a ClusterQueue becomes None, Hold or HoldAndDrain."""
        return life.stop(self, queue, policy, now)

    def node_down(self, name: str, now: int, *, gone: bool = True) -> list[Turn]:
        """A node was deleted, or (not ``gone``) is not Ready any more."""
        return outage.down(self, name, now, gone=gone)

    def node_up(self, name: str, now: int) -> None:
        """A node that the session knows can be used (again)."""
        outage.up(self, name, now)

    def node_tainted(self, name: str, taints: tuple[Taint, ...], now: int) -> list[Turn]:
        """A node has other taints than before."""
        return outage.taint(self, name, taints, now)

    def nodes_added(self, nodes: Iterable[Node], now: int) -> None:
        """Nodes that the session has not seen, or other labels and amounts of known ones. That lays out
        everything anew; what comes and goes should be known from the start, as nodes that are not ready.
        """
        outage.add(self, nodes, now)

    def sample(self, now: int) -> None:
        """Admission fair sharing takes account of what is used now, due every ``usageSamplingInterval``."""
        self.now = max(self.now, now)
        if self.ledger is not None:
            self.ledger.sample(life.usage_by_local(self))

    def wake(self, now: int) -> list[Turn]:
        """Everything that was due by ``now`` happens."""
        return life.wake(self, now)

    def next_due(self) -> int | None:
        """When something happens by itself; None when nothing will."""
        return life.next_due(self)

    # -- looking in -----------------------------------------------------------------------------

    def waiting(self) -> list[Waiting]:
        """All workloads without quota, by id."""
        return fork.waiting(self)

    def holding(self) -> dict[str, Grant]:
        """All workloads with quota, by id."""
        return fork.holding(self)

    def fork(self) -> Session:
        """An independent copy; what is compiled is shared."""
        return fork.fork(self)

    def digest(self) -> str:
        """Equal for states that decide alike from here on, whatever the clock says."""
        return hashlib.sha256(repr(fork.state(self)).encode()).hexdigest()
