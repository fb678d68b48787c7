"""Required levels that are held only sometimes: when pools have grown, or while others stay elsewhere."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.lint.hit import Hit
from policycheck.model.amount import show
from policycheck.model.capacity import HOSTNAME
from policycheck.model.cluster import Cluster
from policycheck.systems.kueue.checks import holding
from policycheck.systems.kueue.checks.ask import Ask
from policycheck.systems.kueue.checks.common import Found, Params, derived, ground, state
from policycheck.systems.kueue.checks.domains import (
    Room,
    Want,
    key_of,
    nearness,
    pods_on,
    rooms,
    told,
    too_small,
    wants,
)
from policycheck.systems.kueue.checks.hardware import is_placeholder
from policycheck.systems.kueue.checks.requests import annotation_place
from policycheck.systems.kueue.sums import promises
from policycheck.wording import join

# -- only when pools have grown ----------------------------------------------------------------------


def level_needs_growth(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A required level that no domain holds while elastic pools are at their minimum.

    Placement is decided before there are pods, so that no autoscaler is asked (Kueue's documentation,
    "Topology Aware Scheduling", on provisioning). A flavor whose pools are all empty is another rule's.
    """
    small = derived(cluster, too_small)
    for gang in holding.gangs(cluster):
        for want in wants(gang):
            if (key_of(want.ask), want.level) in small or not _is_elastic(cluster, want.ask):
                continue
            least = rooms(cluster, want, most=False)
            if not least or any(room.answer.outcome != "FAILS" for room in least):
                continue
            most = [room for room in rooms(cluster, want) if room.answer.outcome == "HOLDS"]
            if not most:
                continue
            needs, largest = told(want, max(least, key=nearness))
            nodes = holding.open_nodes(cluster, want.ask) or {}
            pools = {n.name for some in nodes.values() for n in some if n.most != n.machines}
            values = {
                "workload": want.ask.workload,
                "queue": want.ask.queue.name,
                "needs": needs,
                "level": want.level,
                "largest": largest,
                "pools": join(sorted(pools)),
            }
            yield Hit(want.ask.id, annotation_place(cluster, want.ask, want.level), values)


def _is_elastic(cluster: Cluster, ask: Ask) -> bool:
    """Whether some nodes come and go, and some are there all the time in every flavor."""
    nodes = holding.open_nodes(cluster, ask) or {}
    elastic = any(n.most != n.machines for some in nodes.values() for n in some)
    return elastic and all(any(n.machines for n in ground(cluster).nodes[f]) for f in nodes)


# -- only sometimes ----------------------------------------------------------------------------------


class _Spoilt(NamedTuple):
    """How little it takes to leave a want no domain: accelerators in full nodes, in how many domains."""

    holding: int
    domains: int
    cost: int


def sometimes_held(cluster: Cluster, params: Params) -> Found:
    """A required level that others can make impossible with a small part of what they are guaranteed."""
    share = float(str(params.get("share", 0.33)))
    small = derived(cluster, too_small)
    largest: dict[tuple[str, str], tuple[int, Hit]] = {}
    for gang in holding.gangs(cluster):
        for want in wants(gang):
            if (key_of(want.ask), want.level) in small or want.level == HOSTNAME or want.is_slice:
                continue
            hit = _sometimes(cluster, want, share)
            size = sum(p.pods * sum(holding.accelerators(want.ask).values()) for p in want.parts)
            key = want.ask.queue.name, want.level
            if hit is not None and size > largest.get(key, (0, hit))[0]:
                largest[key] = size, hit
    for _, hit in largest.values():
        yield hit


def _sometimes(cluster: Cluster, want: Want, share: float) -> Hit | None:
    some = [room for room in rooms(cluster, want) if room.answer.outcome == "HOLDS"]
    if len(some) != 1:
        return None  # another flavor is a way out, or it is not known
    resource = next(iter(holding.accelerators(want.ask)))
    spoilt = _spoil(some[0], want, resource)
    others, names = _guaranteed_to_others(cluster, want.ask, some[0].flavor, resource)
    if not spoilt.cost or spoilt.cost > share * others or spoilt.domains < 2:
        return None
    part = want.parts[0]
    values = {
        "workload": want.ask.workload,
        "needs": f"{part.pods} pods of {show(resource, part.each[resource])} {resource}",
        "level": want.level,
        "fits": spoilt.holding,
        "domains": spoilt.domains,
        "cost": show(resource, spoilt.cost),
        "others": show(resource, others),
        "resource": resource,
        "names": join(names),
        "flavor": some[0].flavor,
    }
    return Hit(want.ask.id, annotation_place(cluster, want.ask, want.level), values)


def _spoil(room: Room, want: Want, resource: str) -> _Spoilt:
    """The fewest full nodes, domain by domain, after which the first part has too few places."""
    from policycheck.simulate.hold.problem import split

    part = want.parts[0]
    paths = [c.path for c in room.classes]
    every = split(range(len(room.classes)), paths, room.depth)
    held = cost = 0
    for domain in every:
        nodes = sorted(
            (
                (pods_on(c, part), c.free.get(resource, 0), c.machines)
                for c in (room.classes[n] for n in domain)
            ),
            key=lambda n: (1000 * n[1] // max(1, n[0]), -n[0]),
        )
        spare = sum(pods * machines for pods, _, machines in nodes) - part.pods
        if spare < 0:
            continue
        held += 1
        for pods, free, machines in nodes:
            taken = min(machines, spare // pods + 1) if pods and spare >= 0 else 0
            spare -= taken * pods
            cost += taken * free
    return _Spoilt(held, len(every), cost)


def _guaranteed_to_others(cluster: Cluster, ask: Ask, flavor: str, resource: str) -> tuple[int, list[str]]:
    """What other queues and cohorts are guaranteed on nodes that this flavor has too."""
    base = ground(cluster)
    mine = {n.name for n in base.nodes[flavor]}
    total, names = 0, dict[str, None]()
    for name, held in promises(state(cluster), resource).items():
        shared = {n.name for n in base.nodes.get(name, ())}
        if not shared or not shared <= mine:
            continue
        for promise in held:
            holder = promise.holder
            if (holder.kind, holder.name) == ("ClusterQueue", ask.queue.name):
                continue
            if not is_placeholder(holder.quota.nominal):
                total += holder.quota.nominal
                names[holder.name] = None
    return total, sorted(names)
