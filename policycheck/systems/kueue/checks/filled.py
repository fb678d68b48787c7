"""Guarantees that jobs of the declared shapes can not use, in whatever mixture they come.

A queue is promised 64 GPUs and runs pods of five: on nodes of eight that is 40. Held against each other
are what queues are guaranteed in flavors that share nodes, each filled with gangs like those that wait in
it. Sound and not complete: a promise to a cohort, of which nobody knows who uses it, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.lint.hit import Hit
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks import holding
from policycheck.systems.kueue.checks.common import Found, Params, derived, quota_place, related
from policycheck.systems.kueue.checks.hardware import is_placeholder
from policycheck.systems.kueue.checks.holding import Gang
from policycheck.systems.kueue.checks.promised import clashes, corners, topology_of
from policycheck.systems.kueue.checks.unplaceable import is_told
from policycheck.systems.kueue.model import ClusterQueue
from policycheck.systems.kueue.state import quotas
from policycheck.wording import join

if TYPE_CHECKING:
    from policycheck.simulate.hold import Demand, Machines
    from policycheck.simulate.hold.fill import Filling, Wasted


class Share(NamedTuple):
    """What a queue is guaranteed of accelerators in one flavor, and the gangs that it runs there."""

    queue: str
    flavor: str
    resource: str
    nominal: int
    amount: int  # as much of it as these gangs may take by all their quotas
    gangs: tuple[Gang, ...]


class Waste(NamedTuple):
    """Shares that can not be used in full, and why."""

    shares: tuple[Share, ...]
    found: Wasted


def guarantee_not_usable(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """What queues are guaranteed, against all mixtures of jobs like those that are declared."""
    for waste in wastes(cluster):
        shares, resource = waste.shares, waste.found.resource
        first = max(shares, key=lambda s: s.amount)
        place = quota_place(cluster, "ClusterQueue", first.queue, (first.flavor, resource))
        if place is None:
            continue
        queues = list(dict.fromkeys(s.queue for s in shares))
        flavors = list(dict.fromkeys(s.flavor for s in shares))
        gangs = {g.first.key: g for s in shares for g in s.gangs}
        values = {
            "queues": join(queues),
            "are": "is" if len(queues) == 1 else "are",
            "total": show(resource, sum(s.nominal for s in shares)),
            "resource": resource,
            "flavors": f"{'flavor' if len(flavors) == 1 else 'flavors'} {join(flavors)}",
            "workloads": join([g.first.workload for g in gangs.values()]),
            "why": waste.found.why,
            "used": f", at most {show(resource, waste.found.room)}" if waste.found.room >= 0 else "",
        }
        places = [
            (p[0], (*p[1], "nominalQuota"), f"{show(resource, s.nominal)} for {s.queue}")
            for s in shares
            if s is not first and (p := quota_place(cluster, "ClusterQueue", s.queue, (s.flavor, resource)))
        ]
        places += [
            (g.first.id, holding.accelerator_place(cluster, g.first), "what it runs") for g in gangs.values()
        ]
        yield Hit(place[0], (*place[1], "nominalQuota"), values, related(places), discriminator=first.flavor)


def wastes(cluster: Cluster) -> tuple[Waste, ...]:
    """Everything that is guaranteed in vain, of queues of which nothing worse is said."""
    return derived(cluster, _wastes)


def _wastes(cluster: Cluster) -> tuple[Waste, ...]:
    from policycheck.simulate.hold.fill import wasted

    spoken = {e.ask.queue.name for clash in clashes(cluster) for e in clash.entries}
    found: list[Waste] = []
    for flavors in corners(cluster):
        shares = [s for s in _shares(cluster, flavors) if s.queue not in spoken]
        if shares:
            classes, fillings = _posed(cluster, shares, flavors)
            some = wasted(classes, fillings)
            found.extend(Waste(tuple(shares[n] for n in one.fillings), one) for one in some)
    return tuple(found)


def said(cluster: Cluster) -> frozenset[str]:
    """Queues of which it is said that their guarantees can not be held."""
    of_work = {e.ask.queue.name for clash in clashes(cluster) for e in clash.entries}
    return frozenset(of_work | {s.queue for waste in wastes(cluster) for s in waste.shares})


# -- what is asked for -------------------------------------------------------------------------------


def _shares(cluster: Cluster, flavors: frozenset[str]) -> list[Share]:
    by_queue: dict[str, list[Gang]] = {}
    for gang in holding.gangs(cluster):
        by_queue.setdefault(gang.first.queue.name, []).append(gang)
    found = []
    for gangs in by_queue.values():
        queue = gangs[0].first.queue
        if any(holding.open_nodes(cluster, ask) is None for g in gangs for ask in g.placed):
            continue  # what else it may run is not known
        fit = [g for g in gangs if not is_told(cluster, g)]
        for (flavor, resource), quota in quotas(queue.groups).items():
            firm = quota.nominal > 0 and not is_placeholder(quota.nominal)
            if not (firm and flavor in flavors and is_accelerator(resource)):
                continue
            kinds = [g for g in fit if _runs_in(cluster, g, flavor, resource)]
            amount = _amount(queue, flavor, resource, kinds)
            if amount > 0:
                found.append(Share(queue.name, flavor, resource, quota.nominal, amount, tuple(kinds)))
    return found


def _runs_in(cluster: Cluster, gang: Gang, flavor: str, resource: str) -> bool:
    """Whether all its pods may go to the flavor, and are charged what they ask for."""
    if any(not (holding.open_nodes(cluster, ask) or {}).get(flavor) for ask in gang.placed):
        return False
    return any(ask.pods.requests.get(resource) for ask in gang.placed) and all(
        ask.each.get(resource, 0) == ask.pods.requests.get(resource, 0) for ask in gang.placed
    )


def _amount(queue: ClusterQueue, flavor: str, resource: str, kinds: Sequence[Gang]) -> int:
    """How much of the resource gangs of these kinds may take within all quotas of the queue; 0 when what
    goes with it bounds some mixtures and not others, so that nobody can say.
    """
    held = quotas(queue.groups)
    nominal = held[flavor, resource].nominal
    bound = nominal
    for gang in kinds:
        own = sum(ask.charge(resource) for ask in gang.asks)
        for name in {r for ask in gang.asks for r, a in ask.each.items() if a} - {resource}:
            other = sum(ask.charge(name) for ask in gang.asks)
            most = _most(queue, flavor, name)
            if most is not None and most * own < nominal * other:
                bound = min(bound, own * (most // other))
    return bound if bound == nominal or len(kinds) == 1 else 0


def _most(queue: ClusterQueue, flavor: str, resource: str) -> int | None:
    """The queue's own quota of what goes with accelerators; None when it has none at all."""
    for group in queue.groups:
        if resource in group.covered:
            names = [f.name for f in group.flavors]
            some = [flavor] if flavor in names else names
            return sum(
                f.resources[resource].nominal
                for f in group.flavors
                if f.name in some and resource in f.resources
            )
    return None


def _posed(
    cluster: Cluster, shares: Sequence[Share], flavors: frozenset[str]
) -> tuple[tuple[Machines, ...], list[Filling]]:
    """The shares as fillings of classes of nodes."""
    from policycheck.simulate.hold.fill import Filling

    topology = topology_of(cluster, flavors)
    marked: dict[str, tuple[Node, ...]] = {}
    for n, share in enumerate(shares):
        for k, gang in enumerate(share.gangs):
            every = {
                node.name: node
                for ask in gang.placed
                for node in (holding.open_nodes(cluster, ask) or {})[share.flavor]
            }
            marked[f"{n} {k}"] = tuple(every.values())
    levels = topology.levels if topology is not None else ()
    if not holding.tells_levels((n for nodes in marked.values() for n in nodes), levels, every=True):
        levels = ()
    asks = [ask for share in shares for gang in share.gangs for ask in gang.placed]
    kinds = holding.surveyed(cluster, marked, holding.resources(asks), holding.wide(levels))
    fillings = []
    for n, share in enumerate(shares):
        made = tuple(_kind(gang, kinds.marked(f"{n} {k}"), levels) for k, gang in enumerate(share.gangs))
        fillings.append(Filling(share.queue, share.resource, {share.resource: share.amount}, made))
    return kinds.classes, fillings


def _kind(gang: Gang, allowed: tuple[int, ...], levels: Sequence[str]) -> Demand:
    """One gang. What podsets require counts where there is only one."""
    from policycheck.simulate.hold import Demand

    if len(gang.placed) == 1:
        return holding.leveled(gang.placed[0], 1, (allowed,), levels)
    return Demand(gang.first.workload, tuple(map(holding.part, gang.placed)), 1, (allowed,))
