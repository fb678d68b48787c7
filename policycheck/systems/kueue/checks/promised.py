"""Guarantees that add up and can not be held: by the jobs that are declared, or by any jobs of their shapes.

Kueue admits what is within quota; whether pods of five GPUs find nodes of eight it does not ask
(kubernetes-sigs/kueue#2665, #4329). Left out are flavors whose numbers do not add up to begin with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.lint.hit import Hit, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Range
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import sums
from policycheck.systems.kueue.checks import holding
from policycheck.systems.kueue.checks.ask import Ask, is_refused
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    derived,
    ground,
    quota_place,
    related,
    settled,
    state,
)
from policycheck.systems.kueue.checks.hardware import COMPANIONS, all_shortfalls, is_placeholder
from policycheck.systems.kueue.checks.holding import Entry, Gang
from policycheck.systems.kueue.checks.unplaceable import is_told
from policycheck.systems.kueue.model import Quota, Topology
from policycheck.systems.kueue.sums import Promise
from policycheck.wording import join

if TYPE_CHECKING:
    from policycheck.simulate.hold import Answer

_GENEROUS = 10  # times what there is: a quota of cpu or memory that limits nothing


def corners(cluster: Cluster) -> tuple[frozenset[str], ...]:
    """Flavors that hang together through shared nodes, in sets, where what is promised is there in sum."""
    return settled(cluster, _corners)


def _corners(cluster: Cluster) -> tuple[frozenset[str], ...]:
    found, base = state(cluster), ground(cluster)
    short = {f for s in all_shortfalls(cluster) for f in s.flavors}
    for resource in sums.resources(found, COMPANIONS.__contains__):
        short |= {f for s in sums.shortfalls(found, base, resource, _is_meant) for f in s.flavors}
    behind = {f: frozenset(n.name for n in nodes) for f, nodes in base.nodes.items() if nodes}
    made: list[frozenset[str]] = []
    done: set[str] = set()
    for start in sorted(behind):
        if start not in done:
            together = frozenset(sums.connected(start, behind))
            done |= together
            if short.isdisjoint(together):
                made.append(together)
    return tuple(made)


def _is_meant(promise: Promise, offer: Range) -> bool:
    return offer.high is None or promise.holder.quota.nominal <= _GENEROUS * offer.high


def topology_of(cluster: Cluster, flavors: frozenset[str]) -> Topology | None:
    """The one topology that all these flavors have; None when they have none, or several."""
    found = {holding.topology_of(cluster, f) for f in flavors}
    return found.pop() if len(found) == 1 else None


# -- what is declared --------------------------------------------------------------------------------


class Clash(NamedTuple):
    """Workloads within their queues' guarantees that can not all run at once."""

    entries: tuple[Entry, ...]  # of the podsets that are too much
    answer: Answer


class _Doubt(NamedTuple):
    """Flavors of which it was not found out."""

    flavors: frozenset[str]
    why: str


def declared_not_held(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Declared work that is within the guarantees in numbers, and that the nodes do not hold at once."""
    for doubt in derived(cluster, _asked)[1]:
        yield Skip(f"whether flavor {join(sorted(doubt.flavors))} holds all that is declared: {doubt.why}")
    for clash in clashes(cluster):
        entries = {e.ask.key: e for e in reversed(clash.entries)}
        first = max(entries.values(), key=lambda e: e.times * e.ask.least * _weight(e.ask))
        queues = list(dict.fromkeys(e.ask.queue.name for e in clash.entries))
        flavors = list(dict.fromkeys(f for e in clash.entries for f in e.nodes))
        several = len(entries) > 1 or first.times > 1
        values = {
            "workloads": join([_named(e) for e in entries.values()]),
            "are": "are" if several else "is",
            "queues": join(queues),
            "flavors": f"{'flavor' if len(flavors) == 1 else 'flavors'} {join(flavors)}",
            "why": clash.answer.why,
        }
        places = [
            (e.ask.id, holding.accelerator_place(cluster, e.ask), f"{_named(e)}, {e.ask.least} pods of it")
            for e in entries.values()
            if e is not first
        ]
        places += _quotas(cluster, clash.entries)
        yield Hit(first.ask.id, holding.accelerator_place(cluster, first.ask), values, related(places))


def _weight(ask: Ask) -> int:
    return sum(holding.accelerators(ask).values())


def _named(entry: Entry) -> str:
    if entry.times == 1:
        return entry.ask.workload
    return f"{entry.times} of {entry.ask.workload}"


def _quotas(cluster: Cluster, entries: Sequence[Entry]) -> list[tuple[DocumentId, Path, str]]:
    places = []
    for entry in entries:
        resource = next(iter(holding.accelerators(entry.ask)))
        for flavor in entry.nodes:
            place = quota_place(cluster, "ClusterQueue", entry.ask.queue.name, (flavor, resource))
            if place is not None:
                told = (place[0], (*place[1], "nominalQuota"), f"guaranteed to {entry.ask.queue.name}")
                places.append(told)
    return list(dict.fromkeys(places))


def clashes(cluster: Cluster) -> tuple[Clash, ...]:
    """One for each set of flavors that share nodes, at most."""
    return derived(cluster, _asked)[0]


def _asked(cluster: Cluster) -> tuple[tuple[Clash, ...], tuple[_Doubt, ...]]:
    from policycheck.simulate.hold import FAILS, UNKNOWN

    found, doubts = [], []
    for flavors in corners(cluster):
        entries = list(_within(cluster, flavors))
        if sum(e.times for e in entries) < 2:
            continue
        answer, short = _held(cluster, flavors, entries)
        if answer.outcome == FAILS and short:
            found.append(Clash(short, answer))
        if answer.outcome == UNKNOWN:
            doubts.append(_Doubt(flavors, answer.why))
    return tuple(found), tuple(doubts)


def _held(
    cluster: Cluster, flavors: frozenset[str], entries: list[Entry]
) -> tuple[Answer, tuple[Entry, ...]]:
    """Whether all is held, and the fewest that are too much. What fails even alone is another rule's."""
    from policycheck.simulate.hold import FAILS, hold

    topology = topology_of(cluster, flavors)
    while True:
        classes, demands = holding.posed(cluster, entries, topology)
        answer = hold(classes, demands, holding.STEPS)
        which = answer.bound.demands if answer.bound is not None else ()
        if answer.outcome != FAILS or len(which) != 1:
            return answer, tuple(entries[n] for n in which)
        one = demands[which[0]]._replace(gangs=1)
        if hold(classes, [one], holding.STEPS).outcome != FAILS:
            return answer, (entries[which[0]],)
        del entries[which[0]]


def _within(cluster: Cluster, flavors: frozenset[str]) -> Iterator[Entry]:
    """As many of the declared workloads as their queues are guaranteed, those of higher priority first."""
    left: dict[tuple[str, str, str], int] = {}
    order = sorted(holding.gangs(cluster), key=lambda g: (g.first.queue.name, *_turn(g)))
    for gang in order:
        nodes = [holding.open_nodes(cluster, ask) for ask in gang.placed]
        if is_told(cluster, gang) or not all(n and flavors.issuperset(n) for n in nodes):
            continue
        taken = _assigned(cluster, gang, left)
        if taken is None:
            continue
        times = min([gang.first.copies, *(left[k] // a for k, a in taken.items() if a)])
        if times < 1:
            continue
        for key, amount in taken.items():
            left[key] -= times * amount
        for ask, some in zip(gang.placed, nodes, strict=True):
            yield Entry(ask, {f: n for f, n in (some or {}).items() if n}, times)


def _turn(gang: Gang) -> tuple[int, str, str]:
    made = gang.first.made
    return -made.priority, made.created, made.id


def _assigned(
    cluster: Cluster, gang: Gang, left: dict[tuple[str, str, str], int]
) -> dict[tuple[str, str, str], int] | None:
    """What one copy takes of its queue's own quota, podset by podset in the first flavor that is for it and
    has that.
    """
    queue = gang.first.queue
    taken: dict[tuple[str, str, str], int] = {}
    for ask in gang.asks:
        for group in queue.groups:
            wanted = {r: ask.charge(r) for r in group.covered if ask.charge(r) > 0}
            chosen = None
            for flavor in group.flavors if wanted else ():
                known = state(cluster).objects.flavors.get(flavor.name)
                if known is None or is_refused(known, ask):
                    continue
                keys = {r: (queue.name, flavor.name, r) for r in wanted}
                for r, key in keys.items():
                    left.setdefault(key, _firm(flavor.resources.get(r), r))
                if all(left[keys[r]] - taken.get(keys[r], 0) >= a for r, a in wanted.items()):
                    chosen = keys
                    break
            if wanted and chosen is None:
                return None
            for r, key in (chosen or {}).items():
                taken[key] = taken.get(key, 0) + wanted[r]
    return taken


def _firm(quota: Quota | None, resource: str) -> int:
    """What is guaranteed; of accelerators a placeholder is nothing."""
    if quota is None or (is_accelerator(resource) and is_placeholder(quota.nominal)):
        return 0
    return quota.nominal
