"""A Kueue cluster as the event engine finds it: its admitter, and the nodes with the default scheduler on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policycheck.model.inventory import Inventory, Node
from policycheck.simulate.device import Devices
from policycheck.simulate.events import Delays, Pool, World
from policycheck.simulate.job import Job
from policycheck.simulate.machine import machines, offers
from policycheck.simulate.period import show
from policycheck.simulate.placer import Set
from policycheck.simulate.reference import Watch, reference, shape
from policycheck.simulate.room import pods_on, room
from policycheck.systems.core.kubelet import Alignment
from policycheck.systems.core.scheduler.placer import NodePlacer
from policycheck.systems.gpu import aligned
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.drive.admitter import KueueAdmitter
from policycheck.systems.kueue.drive.facts import check
from policycheck.systems.kueue.drive.tolerating import tolerating
from policycheck.systems.kueue.model import KueueObjects
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler.domains import HOSTNAME

_STANDARD = Delays()
_UNALIGNED = Alignment()
NO_NODES = "no inventory is known: nodes are not simulated, and a job starts as soon as it has quota"
NOT_PLACED = "where pods go is not simulated, as asked: a job starts as soon as it has quota"
BY_QUOTA = "nodes come and go on demand, so that topologies are not decided: {0} place by quota alone"


def world(
    opening: Opening,
    inventory: Inventory,
    jobs: Sequence[Job] = (),
    *,
    placing: bool = True,
    delays: Delays = _STANDARD,
    told: Alignment = _UNALIGNED,
) -> World:
    """The cluster with no Workload in it. ``placing`` False: quota alone, wherever pods may go.

    ``jobs`` are those to come: what is free on nodes is measured against their pods. ``delays`` must be
    those of the run; ``told`` is how kubelets align devices.
    """
    objects = opening.objects._replace(workloads={})
    opening = opening._replace(objects=objects, nodes=opening.nodes if placing else None)
    admitter = KueueAdmitter(opening, batch=delays.batch)
    notes = _assumed(objects, delays)
    if not placing or not inventory.known:
        return World(admitter, notes=(*notes, NOT_PLACED if inventory.known else NO_NODES))
    if opening.nodes is None:
        notes += _undecided(objects)
    if opening.nodes is not None and _chooses_all(objects) and not is_accelerator(admitter.resource):
        return World(admitter, notes=notes)
    placer, pools = nodes(inventory.nodes, tolerating(objects, jobs), told)
    return World(admitter, placer, pools, (*notes, *placer.notes, *aligned.notes(told, inventory.nodes)))


def _assumed(objects: KueueObjects, delays: Delays) -> tuple[str, ...]:
    """How long admission checks take, which no manifest says."""
    used = sorted({rule.name for queue in objects.cluster_queues.values() for rule in queue.checks})
    found = [(name, delays.of(check(objects, name))) for name in used if name in objects.checks]
    return tuple(f"admission check {name} is taken to agree after {show(ms)}" for name, ms in found)


def _undecided(objects: KueueObjects) -> tuple[str, ...]:
    names = sorted(name for name, flavor in objects.flavors.items() if flavor.topology)
    return (BY_QUOTA.format(", ".join(names)),) if names else ()


def _chooses_all(objects: KueueObjects) -> bool:
    """Whether every flavor that queues use has a topology down to the hostname: then Kueue names all nodes."""
    used = {f.name for q in objects.cluster_queues.values() for g in q.groups for f in g.flavors}
    topologies = [objects.topologies.get(objects.flavors[n].topology) for n in used if n in objects.flavors]
    return bool(topologies) and all(t is not None and HOSTNAME in t.levels for t in topologies)


def nodes(
    known: Sequence[Node], jobs: Sequence[Job] = (), told: Alignment = _UNALIGNED
) -> tuple[NodePlacer, tuple[Pool, ...]]:
    """The default scheduler on ``known`` nodes, and the pools among them that grow on demand."""
    devices_of = aligned.under(told)
    offered = frozenset(r for node in known for card in devices_of(node) for r in offers(card.kind))
    against = reference(jobs, offered)
    placer = NodePlacer(known, devices_of=devices_of, measure=Watch(against) if against is not None else None)
    pools = []
    for node in known:
        if node.most == node.machines:
            continue
        every, extra, _ = machines([node])
        names = tuple(one.name for one in every[len(every) - extra :] if one.name in placer.ground.where)
        if names:
            pools.append(Pool(node.name, names, _holds(every[-1], devices_of(every[-1]), offered)))
    return placer, tuple(pools)


def _holds(node: Node, devices: Devices, offered: frozenset[str]) -> Callable[[Set], int]:
    empty = room(node._replace(ready=True), devices)
    return lambda one: pods_on(empty, shape(one, offered))
