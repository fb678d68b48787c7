"""Workloads that quota admits and nodes do not: gangs that no flavor can run all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.lint.hit import Hit
from policycheck.model import capacity
from policycheck.model.amount import UNLIMITED
from policycheck.model.cluster import Cluster
from policycheck.systems.kueue.checks import holding
from policycheck.systems.kueue.checks.ask import Ask, count_place, request_place
from policycheck.systems.kueue.checks.common import Found, Params, ceilings, derived, ground
from policycheck.systems.kueue.checks.domains import key_of, too_small
from policycheck.systems.kueue.checks.holding import Gang
from policycheck.systems.kueue.checks.requests import nodes_for
from policycheck.wording import join

if TYPE_CHECKING:
    from policycheck.simulate.hold import Answer


class Hopeless(NamedTuple):
    """Podsets that no flavor of their queue can run all at once, and why."""

    asks: tuple[Ask, ...]
    flavors: tuple[str, ...]
    answer: Answer


def fits_no_flavor(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A gang that its queue has quota for and whose pods no flavor's nodes hold at once, even empty."""
    for one in hopeless(cluster).values():
        ask = one.asks[0]
        bound = one.answer.bound
        single = bound is not None and bound.kind == "pod" and not bound.resource
        path = count_place(cluster, ask) if ask.least > 1 and not single else ()
        values = {
            "workload": ask.workload,
            "flavors": f"{'flavor' if len(one.flavors) == 1 else 'flavors'} {join(one.flavors)}",
            "why": one.answer.why,
            "effect": _effect(cluster, one),
            "queue": ask.queue.name,
        }
        resource = next(iter(holding.accelerators(ask)))
        yield Hit(ask.id, path or request_place(cluster, ask, resource), values)


def _effect(cluster: Cluster, one: Hopeless) -> str:
    queue = one.asks[0].queue.name
    if all(holding.topology_of(cluster, f) is not None for f in one.flavors):
        return f"{queue} has the quota, and it waits for ever all the same"
    return f"{queue} admits it, and pods of it stay Pending"


def hopeless(cluster: Cluster) -> Mapping[object, Hopeless]:
    """By workload, what no other rule says already."""
    return derived(cluster, _hopeless)


def _hopeless(cluster: Cluster) -> dict[object, Hopeless]:
    found: dict[object, Hopeless] = {}
    for gang in holding.gangs(cluster):
        key = gang.first.key
        if key in found or not _is_admitted(cluster, gang) or _is_elsewhere(cluster, gang):
            continue
        tried: list[tuple[Ask, ...]] = [(ask,) for ask in gang.placed]
        if len(tried) > 1:
            tried.append(gang.placed)
        one = next((h for some in tried if (h := _look(cluster, some)) is not None), None)
        if one is not None:
            found[key] = one
    return found


def _is_admitted(cluster: Cluster, gang: Gang) -> bool:
    """Whether there could be quota for all of it, with everybody else idle."""
    limits = ceilings(cluster)
    queue = gang.first.queue
    for group in queue.groups:
        for resource in group.covered:
            total = sum(ask.charge(resource) for ask in gang.asks)
            if total > sum(limits.most(queue.name, (f.name, resource)) for f in group.flavors):
                return False
    return all(_admitting(cluster, ask) for ask in gang.placed)


def _admitting(cluster: Cluster, ask: Ask) -> list[str]:
    """The flavors that could hold the podset by quota."""
    limits, group = ceilings(cluster), holding.group_of(ask)
    if group is None:
        return []
    return [
        f.name
        for f in group.flavors
        if all(ask.charge(r) <= limits.most(ask.queue.name, (f.name, r)) for r in group.covered)
    ]


def is_told(cluster: Cluster, gang: Gang) -> bool:
    """Whether some rule says already that it can not run, even alone."""
    return gang.first.key in hopeless(cluster) or _is_elsewhere(cluster, gang)


def _is_elsewhere(cluster: Cluster, gang: Gang) -> bool:
    """Whether other rules say of it that one resource, a domain, a selector or what it mixes is to blame."""
    small = {key for key, _ in derived(cluster, too_small)}
    if any(key_of(ask) in small or len(holding.accelerators(ask)) > 1 for ask in gang.placed):
        return True
    if any(
        (nodes := holding.open_nodes(cluster, ask)) is not None and not any(nodes.values())
        for ask in gang.placed
    ):
        return True
    return any(_is_larger(cluster, ask) for ask in gang.asks)


def _is_larger(cluster: Cluster, ask: Ask) -> bool:
    return any(
        amount > 0 and _largest(cluster, ask, resource) < amount
        for resource, amount in ask.pods.requests.items()
    )


def _largest(cluster: Cluster, ask: Ask, resource: str) -> int:
    """The most of one resource that a node of its queue's flavors may have; endless when nobody can tell."""
    kept = derived(cluster, _kept)
    flavors = tuple(f.name for g in ask.queue.groups if resource in g.covered for f in g.flavors)
    if (flavors, resource) not in kept:
        nodes = nodes_for(ground(cluster), ask, resource) or {}
        every = [n for some in nodes.values() for n in some]
        most = capacity.largest_node(every, resource).high if every else None
        kept[flavors, resource] = UNLIMITED if most is None else most
    return kept[flavors, resource]


def _kept(cluster: Cluster) -> dict[tuple[tuple[str, ...], str], int]:  # noqa: ARG001 - made once for each
    """The largest nodes by flavors and resource."""
    return {}


def _look(cluster: Cluster, some: Sequence[Ask]) -> Hopeless | None:
    """Podsets of one workload against every flavor that quota admits them to."""
    from policycheck.simulate.hold import FAILS, hold

    entries = []
    for ask in some:
        nodes = holding.open_nodes(cluster, ask)
        usable = {f: nodes[f] for f in _admitting(cluster, ask) if nodes.get(f)} if nodes else {}
        if not usable:
            return None  # nobody can tell, or no node is for them, which is another rule's
        entries.append(holding.Entry(ask, usable))
    classes, demands = holding.posed(cluster, entries)
    answer = hold(classes, demands, holding.STEPS)
    if answer.outcome != FAILS or answer.bound is None:
        return None
    if answer.bound.kind == "pod" and answer.bound.resource and not answer.bound.room:
        return None  # no node has any: that nobody offers it is another rule's
    short = tuple(some[n] for n in answer.bound.demands)
    flavors = dict.fromkeys(f for n in answer.bound.demands for f in entries[n].nodes)
    return Hopeless(short, tuple(flavors), answer)
