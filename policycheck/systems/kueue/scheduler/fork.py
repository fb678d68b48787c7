"""Copies of a session's state, and what it looks like from outside."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from policycheck.simulate.scheduler import Grant, Waiting
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.grant import grant_of
from policycheck.systems.kueue.scheduler.state import ACTIVE, PARKED, Item, Queue

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.session import Session


def with_usage(tree: Tree, usage: list[int]) -> Tree:
    """The same tree with usage of its own."""
    other = Tree.__new__(Tree)
    for name in Tree.__slots__:
        setattr(other, name, getattr(tree, name))
    other.usage = usage
    return other


def fork(session: Session) -> Session:
    """An independent copy of ``session``."""
    from policycheck.systems.kueue.scheduler.session import Session as Made

    items = {name: item.copy() for name, item in session.items.items()}
    queues = {name: _copy_queue(queue, items) for name, queue in session.queues.items()}
    for item in items.values():
        if item.queue is not None:
            item.queue = queues[item.queue.name]
    ledger = session.ledger.copy() if session.ledger is not None else None
    trees = [with_usage(t, t.usage.copy()) for t in session.trees]
    shares = tuple(s.on(t) for s, t in zip(session.world.shares, trees, strict=True))
    land = session.land.copy() if session.land is not None else None
    other = Made(
        session.world._replace(shares=shares), trees, queues, ledger, session.now, land, session.nodes
    )
    other.number, other.nominations = session.number, session.nominations
    other.explaining = session.explaining
    other.items = items
    other.homes = dict(session.homes)
    other.victims = [items[v.id] for v in session.victims if v.id in items]
    other.busy = {name: queues[name] for name in session.busy}
    other.second = {name: items[name] for name in session.second}
    other.tried = dict(session.tried)
    other.stamp = session.stamp
    other.due, other.failing = session.due.copy(), dict(session.failing)
    other.returning = None if session.returning is None else set(session.returning)
    other.unready, other.stalled = set(session.unready), session.stalled
    return other


def waiting(session: Session) -> list[Waiting]:
    """All workloads without quota, by id."""
    out = []
    for name in sorted(session.items):
        item = session.items[name]
        if item.reserved:
            continue
        place = {ACTIVE: "active", PARKED: "inadmissible"}.get(item.place, "notQueued")
        queue = item.queue
        implied = queue.moved.get(queue.alike(item)) if queue is not None else None
        out.append(Waiting(name, queue.name if queue else "", place, item.reason, implied))
    return out


def holding(session: Session) -> dict[str, Grant]:
    """All workloads with quota, by id."""
    return {
        name: grant_of(item.admission)
        for name, item in sorted(session.items.items())
        if item.reserved and item.admission is not None
    }


def _copy_queue(queue: Queue, items: dict[str, Item]) -> Queue:
    other = Queue.__new__(Queue)
    for name in Queue.__slots__:
        setattr(other, name, getattr(queue, name))
    other.frozen = (-1, ())
    other.sums = {priority: dict(row) for priority, row in queue.sums.items()}
    other.holders = {name: items[name] for name in queue.holders}
    other.moved = dict(queue.moved)
    other.scanning = {name: items[name] for name in queue.scanning if name in items}
    other.preemptor = items.get(queue.preemptor.id) if queue.preemptor is not None else None
    other.kin = {key: kin.copied(items) for key, kin in queue.kin.items()}
    other.order = [(-kin.priority, kin.told, kin) for kin in other.kin.values() if kin.told is not None]
    heapq.heapify(other.order)
    other.unsigned = {other.kin[kin.key] for kin in queue.unsigned}
    other.lying = {key: other.kin[key] for key in queue.lying}
    return other


def state(session: Session) -> tuple[object, ...]:
    """Everything that later decisions depend on, in one canonical form.

    Of reservation times only the order counts: it decides between victims.
    """
    held = sorted((i for i in session.items.values() if i.reserved), key=lambda i: (i.reserved_at, i.id))
    rank: dict[int, int] = {}
    for item in held:
        rank.setdefault(item.reserved_at, len(rank))
    rows: list[tuple[object, ...]] = []
    limited = session.world.objects.configuration.wait_for_pods_ready.backoff_limit is not None
    for name in sorted(session.items):
        item = session.items[name]
        scan = None if item.scan is None else tuple(tuple(sorted(s.items())) for s in item.scan)
        fresh = item.queue is not None and item.scan_generation == item.queue.generation
        rows.append(
            (
                name,
                item.place,
                item.priority,
                item.time,
                item.shape.number,
                scan,
                fresh,
                item.reserved and rank[item.reserved_at],
                item.evicted,
                item.amounts,
                item.placed,
                name in session.second,
                item.workload.active,
                item.workload.unhealthy_nodes,
                tuple((c.name, c.state) for c in item.workload.check_states),
                max(0, item.wakes - session.now),
                item.shelved,
                item.requeues if limited else 0,
                name in session.unready,
            )
        )
    queues = tuple(
        (name, q.preemptor.id if q.preemptor else "", tuple(sorted(q.moved)), q.inactive)
        for name, q in sorted(session.queues.items())
    )
    ledger = session.ledger.state() if session.ledger is not None else ()
    nodes = [(f, d.live) for f, d in sorted(session.land.fields.items())] if session.land is not None else []
    return tuple(rows), queues, ledger, nodes, session.blocked
