"""Quotas against the nodes behind them: promises beyond hardware, placeholders, stranded devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model import capacity
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node, Range
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.core.mend import plain
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import sums
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    ceilings,
    ground,
    quota_place,
    settled,
    state,
    undecided,
    whence,
)
from policycheck.systems.kueue.checks.lowered import to_promises
from policycheck.systems.kueue.link import elastic_flavors
from policycheck.systems.kueue.state import KueueState
from policycheck.systems.kueue.sums import Ground, Promise, Shortfall
from policycheck.wording import join, plural

COMPANIONS = frozenset({"cpu", "memory"})
# Nobody's cluster has a million accelerators: a number that large means "do not limit".
PLACEHOLDER = 1_000_000
# Ten times what the nodes have, in cpu or memory, is a way to say "do not limit" too.
_GENEROUS = 10
_SHOWN = 8  # places beside the first
_Share = tuple[DocumentId, Path, str]
# Below these an amount has lost its unit, which is a rule of its own.
_SLIPPED = {"cpu": 1000, "memory": 2**20}


def is_placeholder(amount: int) -> bool:
    """Whether a number of accelerators means "no limit"."""
    return amount >= PLACEHOLDER


def _is_firm(promise: Promise, offer: Range) -> bool:  # noqa: ARG001 - one signature
    return not is_placeholder(promise.holder.quota.nominal)


def _is_modest(promise: Promise, offer: Range) -> bool:
    return offer.high is None or promise.holder.quota.nominal <= _GENEROUS * offer.high


def all_shortfalls(cluster: Cluster) -> list[Shortfall]:
    """Accelerators that are promised beyond hardware."""
    return settled(cluster, _all_shortfalls)


def _all_shortfalls(cluster: Cluster) -> list[Shortfall]:
    found, base = state(cluster), ground(cluster)
    wanted = sums.resources(found, is_accelerator)
    return [s for resource in wanted for s in sums.shortfalls(found, base, resource, _is_firm)]


def guarantees_beyond_hardware(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Nominal quota of accelerators over all trees exceeds what the flavor's nodes have."""
    base = ground(cluster)
    yield from _unsummed(cluster, base, is_accelerator)
    for short in all_shortfalls(cluster):
        for hit in _short(cluster, short):
            yield hit._replace(changes=to_promises(cluster, short)) if isinstance(hit, Hit) else hit


def companions_beyond_hardware(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The same for cpu and memory, where large numbers mean that no limit is wanted."""
    found = state(cluster)
    base = ground(cluster)
    for resource in sums.resources(found, COMPANIONS.__contains__):
        for short in sums.shortfalls(found, base, resource, _is_modest):
            yield from _short(cluster, short)


def _unsummed(cluster: Cluster, base: Ground, is_wanted: Callable[[str], bool]) -> Found:
    """What could not be summed, and where the nodes do not say enough."""
    found = state(cluster)
    wanted = {f for t in found.trees.values() for f, r in t.holders if is_wanted(r)}
    for flavor in sorted(wanted & base.unknown.keys()):
        yield Skip(base.unknown[flavor])
    for tree in found.trees.values():
        if tree.ambiguous and any(is_wanted(r) for _, r in tree.holders):
            yield Skip(undecided(tree))
    for resource in sums.resources(found, is_wanted):
        for flavor, held in sums.promises(found, resource, base.told).items():
            offer = capacity.total(base.nodes.get(flavor, ()), resource)
            total = sum(p.holder.quota.nominal for p in held if _is_firm(p, offer))
            if offer.low < total and (offer.high is None or total <= offer.high):
                yield Skip(f"flavor {flavor} has {offer} {resource}, quotas promise {total}: {offer.why}")


def _short(cluster: Cluster, short: Shortfall) -> Found:
    """The finding, at the largest share, with all other shares and the flavors beside it."""
    # Of a thousand shares the largest and a few others are shown: only these are looked up.
    order = lambda p: (p.holder.quota.nominal, p.holder.kind, p.holder.name)  # noqa: E731
    largest = max(short.promises, key=order)
    found = _shares(cluster, short, [largest, *(p for p in short.promises if p is not largest)])
    main = next(found, None)
    if main is None:
        return
    shown = islice(_shares(cluster, short, short.promises), _SHOWN + 1)
    others = [Related(i, path, label) for i, path, label in shown if (i, path) != main[:2]]
    for flavor in short.flavors:
        identity = whence(cluster, "ResourceFlavor", flavor)
        if identity is not None:
            label = f"flavor {flavor} selects {_nodes(short.nodes)}"
            others.append(Related(identity, ("spec", "nodeLabels"), label))
    yield Hit(
        main[0],
        main[1],
        {
            "resource": short.resource,
            "flavors": _flavors(short.flavors),
            "sum": sums.spelled(short.promises, short.resource, short.total),
            "offer": _offer(short),
            "excess": show(short.resource, short.excess),
        },
        tuple(others[:_SHOWN]),
        label=f"{show(short.resource, short.excess)} more than there is",
        discriminator=f"{short.resource} {' '.join(short.flavors)}",
    )


def _shares(cluster: Cluster, short: Shortfall, promises: Iterable[Promise]) -> Iterator[_Share]:
    """Where each promise is written."""
    for promise in promises:
        holder = promise.holder
        place = quota_place(cluster, holder.kind, holder.name, (promise.flavor, short.resource))
        if place is not None:
            amount = show(short.resource, holder.quota.nominal)
            yield place[0], (*place[1], "nominalQuota"), f"{holder.kind} {holder.name}: {amount}"


def _flavors(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f"flavor {names[0]}"
    return f"flavors {join(names)}, which share nodes,"


def _nodes(nodes: tuple[Node, ...]) -> str:
    count = capacity.machines(nodes)
    return f"{count} {'node' if count.high == 1 else 'nodes'}"


def _offer(short: Shortfall) -> str:
    """``64 = 8 nodes x 8``, and what is left out of it."""
    high = short.offer.high or 0
    shown = show(short.resource, high)
    if short.offer.is_exact and short.resource not in COMPANIONS and high:
        shown = f"{high} = {capacity.arithmetic(short.nodes, short.resource)}"
    elif not short.offer.is_exact:
        shown = f"at most {shown}"
    if not high:
        others = sorted({r for n in short.nodes for r in n.allocatable or () if is_accelerator(r)})
        shown += f" (they have {join(others)})" if others else ""
    idle = [n for n in short.nodes if not n.usable]
    if idle:
        shown += f" ({plural(len(idle), 'node')} cordoned or not ready left out)"
    return shown


def placeholder_quota(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A quota of accelerators that means "no limit" on a flavor whose nodes nothing provisions."""
    found = state(cluster)
    elastic = elastic_flavors(found.objects)
    for tree in found.trees.values():
        for (flavor, resource), holders in tree.holders.items():
            if flavor in elastic or not is_accelerator(resource):
                continue
            for holder in holders:
                if not is_placeholder(holder.quota.nominal):
                    continue
                place = quota_place(cluster, holder.kind, holder.name, (flavor, resource))
                if place is not None:
                    amount = f"{holder.quota.nominal:,}"
                    values = {"flavor": flavor, "resource": resource, "amount": amount, "name": holder.name}
                    yield Hit(place[0], (*place[1], "nominalQuota"), values)


class _Pair(NamedTuple):
    """The quota of accelerators in a flavor and of one companion in the same flavor."""

    queue: str
    flavor: str
    accelerator: str
    devices: int
    companion: str
    amount: int


def _pairs(found: KueueState) -> list[_Pair]:
    """Accelerators with a companion in the same resource group: one flavor has to give both."""
    made: list[_Pair] = []
    for queue in found.objects.cluster_queues.values():
        for group in queue.groups:
            for flavor in group.flavors:
                devices = [(r, q.nominal) for r, q in flavor.resources.items() if is_accelerator(r)]
                made.extend(
                    _Pair(queue.name, flavor.name, resource, count, companion, quota.nominal)
                    for resource, count in devices
                    for companion, quota in flavor.resources.items()
                    if companion in COMPANIONS and count > 0
                )
    return made


def companions_strand(cluster: Cluster, params: Params) -> Found:
    """Cpu or memory per accelerator far below what the nodes have per accelerator."""
    found = state(cluster)
    base = ground(cluster)
    least = float(str(params.get("share", 0.5)))
    totals: dict[tuple[str, str], Range] = {}
    for pair in _pairs(found):
        for resource in (pair.accelerator, pair.companion):
            if (pair.flavor, resource) not in totals:
                nodes = base.nodes.get(pair.flavor, ())
                totals[pair.flavor, resource] = capacity.total(nodes, resource)
        has, offers = totals[pair.flavor, pair.accelerator], totals[pair.flavor, pair.companion]
        if pair.amount < _SLIPPED[pair.companion]:
            continue
        if not (has.is_exact and offers.is_exact and has.low and offers.low):
            continue
        if pair.amount * has.low > least * offers.low * pair.devices or is_placeholder(pair.devices):
            continue
        place = quota_place(cluster, "ClusterQueue", pair.queue, (pair.flavor, pair.companion))
        if place is None or found.trees[found.tree_of[pair.queue]].ambiguous:
            continue
        per_node = offers.low // has.low
        usable = pair.amount // per_node
        yield Hit(
            place[0],
            (*place[1], "nominalQuota"),
            {
                "queue": pair.queue,
                "flavor": pair.flavor,
                "companion": pair.companion,
                "accelerator": pair.accelerator,
                "devices": pair.devices,
                "amount": show(pair.companion, pair.amount),
                "each": show(pair.companion, pair.amount // pair.devices),
                "node": show(pair.companion, per_node),
                "usable": usable,
                "wanted": show(pair.companion, per_node * pair.devices),
                "right": plain(pair.companion, per_node * pair.devices),
            },
            discriminator=pair.accelerator,
        )


def companions_zero(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Accelerators guaranteed with cpu or memory of 0: borrowing companions forbids reclaiming."""
    found = state(cluster)
    limits = ceilings(cluster)
    for pair in _pairs(found):
        tree = found.trees[found.tree_of[pair.queue]]
        if pair.amount or undecided(tree):
            continue
        queue = found.objects.cluster_queues[pair.queue]
        policy = queue.preemption
        if limits.most(pair.queue, (pair.flavor, pair.companion)) == 0:
            effect = f"no pod that requests {pair.companion} can ever start in flavor {pair.flavor}"
        elif policy.reclaim_within_cohort != "Never" and policy.borrow_within_cohort.policy == "Never":
            effect = (
                f"its {pair.companion} has to be borrowed, and who borrows may not preempt: "
                "the guarantee is never reclaimed"
            )
        else:
            continue
        place = quota_place(cluster, "ClusterQueue", pair.queue, (pair.flavor, pair.companion))
        if place is not None:
            values = {**pair._asdict(), "effect": effect}
            yield Hit(place[0], (*place[1], "nominalQuota"), values, discriminator=pair.accelerator)
