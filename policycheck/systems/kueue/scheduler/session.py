"""A session: all state of the scheduler between cycles, compiled flat; only decisions leave it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.simulate.scheduler import Decision, Grant, Waiting
from policycheck.systems.kueue.model import Admission, KueueObjects, KueueWorkload, LocalQueue
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.counts import Profile
from policycheck.systems.kueue.scheduler.flavor import refused
from policycheck.systems.kueue.scheduler.grant import grant_of
from policycheck.systems.kueue.scheduler.land import Land
from policycheck.systems.kueue.scheduler.limits import LimitRule
from policycheck.systems.kueue.scheduler.local import Ledger
from policycheck.systems.kueue.scheduler.moment import NANOS, moment
from policycheck.systems.kueue.scheduler.plan import Ground, Plan, compile_plan
from policycheck.systems.kueue.scheduler.shape import Shape, Shapes
from policycheck.systems.kueue.scheduler.share import Shares
from policycheck.systems.kueue.scheduler.state import ACTIVE, AWAY, PARKED, Item, Queue
from policycheck.systems.kueue.scheduler.topology import claims_of, needs_second_pass
from policycheck.systems.kueue.target import Strategy

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.nominate import Scene

_BOOST = "kueue.x-k8s.io/priority-boost"
_SIGNED = re.compile(r"[+-]?[0-9]{1,10}")


class World(NamedTuple):
    """What no decision changes; forks share it."""

    objects: KueueObjects
    strategy: Strategy
    namespaces: Mapping[str, Mapping[str, str]]
    limit_rules: tuple[LimitRule, ...]
    shapes: Shapes
    shares: tuple[Shares, ...]
    fair: tuple[str, ...] | None  # strategies of fair sharing; None: classical
    ignore_undeclared: bool
    locals: Mapping[str, LocalQueue]
    profile: Profile


class Session:
    """Implements simulate.scheduler.Scheduler for Kueue's workloads."""

    def __init__(
        self,
        world: World,
        trees: Sequence[Tree],
        queues: Mapping[str, Queue],
        ledger: Ledger | None,
        now: int,
        land: Land | None = None,
    ) -> None:
        self.world = world
        self.trees = tuple(trees)
        self.queues = dict(queues)
        self.ledger = ledger
        self.now = now
        self.land = land
        self.number = 0  # of the cycle
        self.items: dict[str, Item] = {}
        self.homes: dict[str, int] = {}  # tree of every workload that ever was in a queue
        self.victims: list[Item] = []  # evicted by the last cycle, still holding quota
        self.members: list[list[Queue | None]] = [[None] * t.size for t in self.trees]
        self.busy: dict[str, Queue] = {}  # queues that may have a head
        self.second: dict[str, Item] = {}  # hold quota, and wait for a place on nodes
        self.tried: dict[str, int] = {}  # of those: how much had changed when there was none
        for queue in self.queues.values():
            self.members[queue.tree][queue.node] = queue
        placing = {q.tree for q in self.queues.values() if q.traits is not None}
        first = min(placing, default=-1)
        # Trees whose pods share nodes are decided together: the group of each, by its first tree.
        self.group = [first if n in placing else n for n in range(len(self.trees))]
        self.stamps = [0] * len(self.trees)  # grows whenever what a tree decides on has changed

    # -- submitting and releasing ---------------------------------------------------------------

    def offer(self, workloads: Iterable[KueueWorkload]) -> None:
        """Submit workloads; those with quota reserved take their place among the holders."""
        for workload in workloads:
            if workload.finished:
                continue
            item = self.make(workload)
            old = self.items.get(item.id)
            if old is not None:
                self._forget(old)
            self.items[item.id] = item
            if workload.has("QuotaReserved") and workload.admission is not None:
                self._restore(item, workload.admission)
            else:
                self.enqueue(item)

    def make(self, workload: KueueWorkload) -> Item:
        """The workload as an item that is nowhere yet."""
        if workload.unhealthy_nodes and not self.world.strategy.topology_replaces:
            workload = workload._replace(unhealthy_nodes=())
        item = Item(workload, self.world.shapes.of(workload), f"{workload.namespace}/{workload.queue}")
        if self.world.strategy.priority_boost:
            boost = workload.annotations.get(_BOOST, "")
            item.priority += int(boost) if _SIGNED.fullmatch(boost) else 0
        item.created = moment(workload.created)
        item.time = self._queue_time(item)
        item.evicted = workload.has("Evicted")
        return item

    def _queue_time(self, item: Item) -> int:
        """Creation, unless a timeout of readiness, a check or (without priorities in the cohort) a
        preemption while borrowing sent it back.
        """
        workload = item.workload
        evicted = workload.conditions.get("Evicted")
        if evicted is not None and evicted.status:
            waits = self.world.objects.configuration.wait_for_pods_ready.requeuing_timestamp
            if evicted.reason == "PodsReadyTimeout" and waits == "Eviction":
                return moment(evicted.since)
            if evicted.reason == "AdmissionCheck":
                return moment(evicted.since)
        preempted = workload.conditions.get("Preempted")
        if (
            not self.world.strategy.priority_within_cohort
            and preempted is not None
            and preempted.status
            and preempted.reason == "InCohortReclaimWhileBorrowing"
        ):
            return moment(preempted.since) + NANOS // 1000
        return item.created

    def _restore(self, item: Item, admission: Admission) -> None:
        """Put a workload that holds quota in its place."""
        queue = self.queues.get(admission.cluster_queue)
        if queue is None:
            return
        condition = item.workload.conditions.get("QuotaReserved")
        item.admitted = item.workload.has("Admitted")
        self.hold(item, queue, self.charged(item, admission), moment(condition.since) if condition else 0)
        if self.land is not None and needs_second_pass(item):
            self.second[item.id] = item

    def charged(self, item: Item, admission: Admission) -> Admission:
        """The admission with usage of no more pods than the podsets still have: reclaimable ones are
        done with.
        """
        left = {s.name: s.pods for s in item.shape.sets}
        if all(left.get(given.name, given.pods) >= given.pods for given in admission.pod_sets):
            return admission
        sets = []
        for given in admission.pod_sets:
            pods = left.get(given.name, given.pods)
            if pods < given.pods:
                usage = {r: v // given.pods * pods for r, v in given.usage.items()}
                sets.append(given._replace(pods=pods, usage=usage))
            else:
                sets.append(given)
        return admission._replace(pod_sets=tuple(sets))

    def hold(self, item: Item, queue: Queue, admission: Admission, since: int) -> None:
        """``item`` holds ``admission`` in ``queue`` from ``since`` on."""
        tree = self.trees[queue.tree]
        usage: dict[int, int] = {}
        for given in admission.pod_sets:
            for resource, flavor in given.flavors.items():
                cell = tree.cell(queue.node, (flavor, resource))
                usage[cell] = usage.get(cell, 0) + given.usage.get(resource, 0)
        item.amounts = tuple(usage.items())
        item.columns = frozenset(cell // tree.size for cell in usage)
        tree.add_all(item.amounts)
        item.queue, item.admission = queue, admission
        if self.land is not None:
            item.placed = self.land.taken(claims_of(self.land, item))
            self.land.add(item.placed)
        self.homes[item.id] = queue.tree
        item.reserved, item.reserved_at = True, since
        queue.holders[item.id] = item
        self.changed(queue)

    def rehold(self, item: Item, queue: Queue, admission: Admission) -> None:
        """A workload that holds quota gets another admission; it has held it as long as before."""
        self.trees[queue.tree].remove_all(item.amounts)
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
        self.stamps[queue.tree] += 1

    def enqueue(self, item: Item) -> None:
        """Put ``item`` in its queue, or nowhere when it has none that takes it."""
        item.queue = queue = self.queue_of(item.workload)
        if queue is None:
            return
        self.homes[item.id] = queue.tree
        if self.backs_off(item) or (queue.alike(item) in queue.moved and not queue.strict):
            queue.park(item)
        else:
            queue.push(item)
            self.busy[queue.name] = queue

    def queue_of(self, workload: KueueWorkload) -> Queue | None:
        """The queue that the workload goes to, or None."""
        local = self.world.objects.local_queues.get((workload.namespace, workload.queue))
        if local is None or not workload.active or local.stop_policy != "None" or workload.deleting:
            return None
        return self.queues.get(local.cluster_queue)

    def backs_off(self, item: Item) -> bool:
        """Whether the workload must not be looked at yet."""
        requeued = item.workload.conditions.get("Requeued")
        if requeued is not None and not requeued.status:
            return True
        at = item.workload.requeue_at
        return bool(at) and moment(at) > self.now

    def _stays(self, item: Item) -> bool:
        """Whether a release of quota leaves the parked workload where it is."""
        queue = item.queue
        return queue is None or not self.namespace_matches(queue, item) or self.backs_off(item)

    def namespace_matches(self, queue: Queue, item: Item) -> bool:
        """Whether the queue takes workloads of the item's namespace."""
        selector = queue.config.namespace_selector
        if selector is None:
            return False
        return selector.matches(self.world.namespaces.get(item.workload.namespace, {}))

    def _forget(self, item: Item) -> None:
        """Remove ``item`` from queues and holders; its quota is free."""
        queue = item.queue
        if queue is None:
            return
        if item.reserved:
            self.trees[queue.tree].remove_all(item.amounts)
            if self.land is not None:
                self.land.remove(item.placed)
                item.placed = ()
                self.second.pop(item.id, None)
            del queue.holders[item.id]
            item.reserved = item.admitted = False
            item.admission, item.amounts, item.columns = None, (), frozenset()
            queue.renew()
            self.changed(queue)
        elif item.place != AWAY:
            queue.take_out(item)

    def release(self, ids: Iterable[str], *, requeue: bool = False) -> None:
        """Workloads stop or are deleted; parked workloads of the trees whose quota is freed return."""
        freed: set[int] = set()
        back: list[Item] = []
        for name in ids:
            # Parked workloads return whether or not quota was held: controllers do not look.
            if name in self.homes:
                freed.add(self.homes[name])
            item = self.items.get(name)
            if item is None:
                continue
            self._forget(item)
            if requeue:
                back.append(item)
            else:
                del self.items[name]
        for item in back:
            item.evicted = False
            item.reason = "PendingEvaluation"
            if item.workload.unhealthy_nodes:
                item.workload = item.workload._replace(unhealthy_nodes=())
            self.enqueue(item)
        self.return_parked(freed)

    def return_parked(self, trees: Iterable[int]) -> None:
        """All parked workloads of ``trees`` are active again."""
        for tree in sorted(trees):
            for queue in self.members[tree]:
                if queue is not None:
                    queue.return_all(self._stays)
                    if queue.waiting:
                        self.busy[queue.name] = queue

    def settle(self) -> None:
        """What controllers do between cycles: the evicted stop, release their quota, queue again."""
        victims, self.victims = self.victims, []
        self.release([v.id for v in victims], requeue=True)

    # -- cycles ---------------------------------------------------------------------------------

    def cycle(self, now: int) -> list[Decision]:
        """One scheduling cycle at ``now`` (nanoseconds)."""
        from policycheck.systems.kueue.scheduler.cycle import Cycle

        self.now = now
        self.number += 1
        return Cycle(self).run()

    def has_work(self) -> bool:
        """Whether any active queue has an active workload."""
        if any(q.waiting and not q.inactive for q in self.busy.values()):
            return True
        return any(self.tried.get(name) != sum(self.stamps) for name in self.second)

    def plan(self, queue: Queue, shape: Shape, pods: tuple[int, ...]) -> Plan:
        """The plan of ``shape`` with ``pods`` in ``queue``, worked out once."""
        key = (shape.number, pods)
        found = queue.plans.get(key)
        if found is None:
            ground = Ground(queue.config.groups, queue.covers, queue.node, self.trees[queue.tree])

            def refuse(flavor: str, member: int, group: int) -> str:
                spec = shape.sets[member].spec
                return refused(self.world.objects, self.world.strategy, queue.config, spec, flavor, group)

            found = compile_plan(shape, pods, ground, refuse, ignore_undeclared=self.world.ignore_undeclared)
            queue.plans[key] = found
        return found

    def scene(self, number: int) -> Scene:
        """Tree ``number`` as nominations see it."""
        from policycheck.systems.kueue.scheduler.nominate import Scene

        return Scene(
            self.world,
            self.trees[number],
            self.members[number],
            self.world.shares[number],
            self.ledger,
            self.now,
            self.plan,
            self.land,
        )

    # -- looking in -----------------------------------------------------------------------------

    def waiting(self) -> list[Waiting]:
        """All workloads without quota, by id."""
        out = []
        for name in sorted(self.items):
            item = self.items[name]
            if item.reserved:
                continue
            state = {ACTIVE: "active", PARKED: "inadmissible"}.get(item.place, "notQueued")
            queue = item.queue
            implied = queue.moved.get(queue.alike(item)) if queue is not None else None
            out.append(Waiting(name, queue.name if queue else "", state, item.reason, implied))
        return out

    def holding(self) -> dict[str, Grant]:
        """All workloads with quota, by id."""
        return {
            name: grant_of(item.admission)
            for name, item in sorted(self.items.items())
            if item.reserved and item.admission is not None
        }

    def fork(self) -> Session:
        """An independent copy; what is compiled is shared."""
        from policycheck.systems.kueue.scheduler.fork import fork

        return fork(self)

    def digest(self) -> str:
        """Equal for states that decide alike from here on, whatever the clock says."""
        from policycheck.systems.kueue.scheduler.fork import state

        return hashlib.sha256(repr(state(self)).encode()).hexdigest()
