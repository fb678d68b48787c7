"""Nodes that fail, come back, or are new: capacity, and what becomes of the pods that were placed there.

Only where the lowest level of a topology is the hostname does Kueue know which node a pod is on: there one
failed node is replaced, the rest staying where it is, and more than one evicts (NodeFailures). When a node
counts as failed is a matter of version: gone at once; not Ready when its pods are being terminated
(TASReplaceNodeOnPodTermination: 300 s, what pods tolerate by default) or after 30 s
(TASReplaceNodeDueToNotReadyOverFixedTime). Sources: KEP-2724 "Node failures", documentation "Topology aware
scheduling / Hot swap support"; facts 1c.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from policycheck.model.inventory import Node
from policycheck.model.placement import Taint, untolerated
from policycheck.systems.kueue.scheduler.land import TAKES_NOTHING, Land, survey
from policycheck.systems.kueue.scheduler.life import FAILURE, MARKED, STRANDED, Turn, evict
from policycheck.systems.kueue.scheduler.moment import NANOS
from policycheck.systems.kueue.scheduler.state import Item
from policycheck.systems.kueue.scheduler.topology import claims_of, lost_any, needs_second_pass, traits
from policycheck.systems.kueue.scheduler.world import Failing

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.session import Session

NODE_FAILURES = "NodeFailures"
_FIXED, _TERMINATION = 30 * NANOS, 300 * NANOS


def failing(gates: Mapping[str, bool], version: tuple[int, int]) -> Failing:
    """What gates and version say about it."""
    if gates["TASReplaceNodeDueToNotReadyOverFixedTime"]:
        after: int | None = _FIXED
    elif gates["TASReplaceNodeOnPodTermination"]:
        after = _TERMINATION
    else:
        after = _FIXED if version < (0, 17) else None
    return Failing(gates["TASFailedNodeReplacement"], after, gates["TASReplaceNodeOnNodeTaints"])


def down(session: Session, name: str, now: int, *, gone: bool) -> list[Turn]:
    """The node cannot be used any more; ``gone``: it was deleted, else it is not Ready."""
    session.now = max(session.now, now)
    if session.land is None:
        return []
    changed = session.land.switch(name, on=False)
    if changed:
        _stir(session, changed)
    after = 0 if gone else session.world.failing.after
    if after is None or not _hosts(session, name):
        return []
    if after == 0:
        session.failing.pop(name, None)
        return _mark(session, name, now)
    session.failing[name] = now + after
    heapq.heappush(session.due, (now + after, FAILURE, name))
    return []


def confirm(session: Session, name: str, now: int) -> list[Turn]:
    """The node has been down for so long that it counts as failed."""
    session.failing.pop(name, None)
    return _mark(session, name, now)


def up(session: Session, name: str, now: int) -> None:
    """The node can be used (again). Pods that were to be moved away from it stay."""
    session.now = max(session.now, now)
    session.failing.pop(name, None)
    if session.land is None:
        return
    changed = session.land.switch(name, on=True)
    if changed:
        _stir(session, changed)
    for host in _hosts(session, name):
        for item in _at(session, host):
            if host in item.workload.unhealthy_nodes:
                left = tuple(n for n in item.workload.unhealthy_nodes if n != host)
                item.workload = item.workload._replace(unhealthy_nodes=left)
                if not needs_second_pass(item):
                    session.second.pop(item.id, None)


def taint(session: Session, name: str, taints: tuple[Taint, ...], now: int) -> list[Turn]:
    """The node has other taints. Pods that do not tolerate one with NoExecute are driven away, and placed anew
    (TASReplaceNodeOnNodeTaints, 0.17); those that NoSchedule keeps away run on.
    """
    session.now = max(session.now, now)
    if session.land is None:
        return []
    changed = session.land.retaint(name, taints)
    if not changed:
        return []
    _stir(session, changed)
    drives = tuple(t for t in taints if t.effect == "NoExecute")
    if not drives or not session.world.failing.on_taints:
        return []
    return _mark(session, name, now, drives)


def add(session: Session, nodes: Iterable[Node], now: int) -> None:
    """New nodes, or other labels, taints or amounts of known ones: the land is laid out anew."""
    session.now = max(session.now, now)
    given = {n.name: n for n in nodes}
    if session.land is None or not given:
        return
    session.nodes = tuple({**{n.name: n for n in session.nodes}, **given}.values())
    objects = session.world.objects
    land = survey(objects, session.nodes, session.world.strategy)
    if land is None:
        return
    for name, on in _usable(session.land).items():
        if name not in given:
            land.switch(name, on=on)
    session.land = land
    for item in session.items.values():
        if item.reserved and item.admission is not None:
            item.placed, item.held = land.taken(claims_of(land, item)), None
            land.add(item.placed)
        else:
            item.placed, item.held = TAKES_NOTHING, None
    for queue in session.queues.values():
        queue.traits = traits(queue.config, objects, land)
        session.changed(queue)
    session.regroup()
    _stir(session, list(land.fields))


def _usable(land: Land) -> dict[str, bool]:
    """Which nodes can be used now."""
    found: dict[str, bool] = {}
    for domains in land.fields.values():
        for known, machines in zip(domains.known, domains.machines, strict=True):
            found.update({n.name: n in machines for n in known})
    return found


def _stir(session: Session, flavors: list[str]) -> None:
    """What nodes of ``flavors`` can take has changed: parked workloads of their trees return."""
    names = set(flavors)
    trees = {
        q.tree for q in session.placing if q.traits is not None and not names.isdisjoint(q.traits.flavors)
    }
    session.stamp += len(trees)
    session.return_parked(trees)


def _hosts(session: Session, name: str) -> list[str]:
    """The hostnames by which assignments call the node."""
    land, found = session.land, dict[str, None]()
    for domains in land.fields.values() if land is not None else ():
        leaf = domains.homes.get(name, -1)
        if domains.hostname and leaf >= 0:
            found[domains.names[leaf][-1]] = None
    return list(found)


def _at(session: Session, host: str) -> list[Item]:
    """Workloads with pods on the host, by id."""
    land = session.land
    if land is None:
        return []
    spots = {
        land.place(flavor).space.offset + land.place(flavor).spots[leaf]
        for flavor, domains in land.fields.items()
        if domains.hostname and (leaf := domains.where.get((host,), -1)) >= 0
    }
    found = [
        item
        for queue in session.placing
        for item in queue.holders.values()
        if not spots.isdisjoint(item.placed.spots)
    ]
    return sorted(found, key=lambda item: item.id)


def _tolerates(session: Session, item: Item, host: str, taints: tuple[Taint, ...]) -> bool:
    """Whether all pods of the workload on ``host`` tolerate ``taints``."""
    specs = {s.name: s.spec for s in item.shape.sets}
    for given in item.admission.pod_sets if item.admission is not None else ():
        if given.topology is None or all(values[-1] != host for values, _ in given.topology.domains):
            continue
        flavors = [session.world.objects.flavors.get(f) for f in sorted(set(given.flavors.values()))]
        more = tuple(t for f in flavors if f is not None for t in f.tolerations)
        if given.name in specs and untolerated(taints, specs[given.name].tolerations + more) is not None:
            return False
    return True


def _mark(session: Session, name: str, now: int, taints: tuple[Taint, ...] = ()) -> list[Turn]:
    """The workloads with pods on the failed node look for another one, or must go; with ``taints`` those
    that do not tolerate them.
    """
    found: list[Turn] = []
    for host in _hosts(session, name):
        for item in _at(session, host):
            if item.evicted or not item.admitted or host in item.workload.unhealthy_nodes:
                continue
            if taints and _tolerates(session, item, host, taints):
                continue
            if not session.world.failing.replaces:
                found.append(Turn(item.id, STRANDED, NODE_FAILURES, host))
                continue
            lost = (*item.workload.unhealthy_nodes, host)
            item.workload = item.workload._replace(unhealthy_nodes=lost)
            if len(lost) > 1:
                found += evict(session, item, NODE_FAILURES, now)
            elif lost_any(item):
                session.second[item.id] = item
                session.tried.pop(item.id, None)
                found.append(Turn(item.id, MARKED, NODE_FAILURES, host))
    return found
