"""Workloads on their way into a session: compiled, timed, charged for the pods they still have, and planned
against the queue that they are in.
"""

from __future__ import annotations

import re
from sys import intern
from typing import TYPE_CHECKING

from policycheck.systems.kueue.model import Admission, KueueWorkload
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.flavor import refused
from policycheck.systems.kueue.scheduler.moment import NANOS, moment
from policycheck.systems.kueue.scheduler.plan import Ground, Plan, compile_plan
from policycheck.systems.kueue.scheduler.shape import Shape
from policycheck.systems.kueue.scheduler.state import Item, Queue

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.world import World

_BOOST = "kueue.x-k8s.io/priority-boost"
_SIGNED = re.compile(r"[+-]?[0-9]{1,10}")


def make(world: World, workload: KueueWorkload) -> Item:
    """The workload as an item that is nowhere yet."""
    if workload.unhealthy_nodes and not world.strategy.topology_replaces:
        workload = workload._replace(unhealthy_nodes=())
    item = Item(workload, world.shapes.of(workload), intern(f"{workload.namespace}/{workload.queue}"))
    if world.strategy.priority_boost:
        boost = workload.annotations.get(_BOOST, "")
        item.priority += int(boost) if _SIGNED.fullmatch(boost) else 0
    item.created = moment(workload.created)
    item.time = _queue_time(world, item)
    item.evicted = workload.has("Evicted")
    item.ready = workload.has("PodsReady")
    requeued = workload.conditions.get("Requeued")
    item.shelved = requeued is not None and not requeued.status
    item.wakes = moment(workload.requeue_at) if workload.requeue_at else 0
    item.requeues = workload.requeue_count
    return item


def _queue_time(world: World, item: Item) -> int:
    """Creation, unless a timeout of readiness, a check or (without priorities in the cohort) a preemption
    while borrowing sent it back.
    """
    workload = item.workload
    evicted = workload.conditions.get("Evicted")
    if evicted is not None and evicted.status:
        waits = world.objects.configuration.wait_for_pods_ready.requeuing_timestamp
        if evicted.reason == "PodsReadyTimeout" and waits == "Eviction":
            return moment(evicted.since)
        if evicted.reason == "AdmissionCheck":
            return moment(evicted.since)
    preempted = workload.conditions.get("Preempted")
    if (
        not world.strategy.priority_within_cohort
        and preempted is not None
        and preempted.status
        and preempted.reason == "InCohortReclaimWhileBorrowing"
    ):
        return moment(preempted.since) + NANOS // 1000
    return item.created


def charged(item: Item, admission: Admission) -> Admission:
    """The admission with usage of no more pods than the podsets still have: reclaimable ones are done with."""
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


def plan(world: World, tree: Tree, queue: Queue, shape: Shape, pods: tuple[int, ...]) -> Plan:
    """The plan of ``shape`` with ``pods`` in ``queue``, worked out once."""
    key = (shape.number, pods)
    found = queue.plans.get(key)
    if found is None:
        ground = Ground(queue.config.groups, queue.covers, queue.node, tree)

        def refuse(flavor: str, member: int, group: int) -> str:
            spec = shape.sets[member].spec
            return refused(world.objects, world.strategy, queue.config, spec, flavor, group)

        found = compile_plan(shape, pods, ground, refuse, ignore_undeclared=world.ignore_undeclared)
        queue.plans[key] = found
    return found
