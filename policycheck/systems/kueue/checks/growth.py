"""Guarantees that are there only once elastic pools have grown, with somebody who makes them grow or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policycheck.lint.hit import Hit, Related
from policycheck.model import capacity
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node, Range
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import sums
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    derived,
    ground,
    quota_place,
    related,
    shelf,
    state,
    whence,
)
from policycheck.systems.kueue.checks.hardware import all_shortfalls, is_placeholder
from policycheck.systems.kueue.sums import Ground, Promise, Shortfall
from policycheck.wording import join

# eksctl sets the limits of a group and leaves growing to whoever is installed. Of the other sources the very
# size tells of an autoscaler: Karpenter's pools, GKE's with autoscaling on, Cluster API's annotations.
_ONLY_LIMITS = "alpha.eksctl.io/nodegroup-name"
_AUTOSCALERS = ("cluster-autoscaler", "karpenter")


class _Late(NamedTuple):
    """A guarantee that the pools' minimum does not give and their maximum does."""

    short: Shortfall  # at the minimum
    most: Range
    pools: tuple[str, ...]
    grower: str  # what adds machines, "" for nothing in sight


def needs_growth(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Guarantees that need machines which nothing in sight adds."""
    for late in _late(cluster):
        if not late.grower:
            yield from _hit(cluster, late)


def waits_for_growth(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Guarantees that need machines which are added on demand."""
    for late in _late(cluster):
        if late.grower:
            yield from _hit(cluster, late)


def _hit(cluster: Cluster, late: _Late) -> Iterator[Hit]:
    short = late.short
    places = []
    for promise in sorted(
        short.promises, key=lambda p: (-p.holder.quota.nominal, p.holder.kind, p.holder.name)
    ):
        holder = promise.holder
        place = quota_place(cluster, holder.kind, holder.name, (promise.flavor, short.resource))
        if place is not None:
            told = f"{holder.kind} {holder.name}: {show(short.resource, holder.quota.nominal)}"
            places.append((place[0], (*place[1], "nominalQuota"), told))
    if not places:
        return
    flavors = [(i, f) for f in short.flavors if (i := whence(cluster, "ResourceFlavor", f)) is not None]
    because = (*related(places[1:]), *(Related(i, ("spec", "nodeLabels"), f"flavor {f}") for i, f in flavors))
    values = {
        "flavors": f"{'flavor' if len(short.flavors) == 1 else 'flavors'} {join(short.flavors)}",
        "resource": short.resource,
        "total": show(short.resource, short.total),
        "least": show(short.resource, short.offer.high or 0),
        "most": "any number" if late.most.high is None else show(short.resource, late.most.high),
        "pools": join(late.pools),
        "grower": late.grower,
    }
    yield Hit(places[0][0], places[0][1], values, because)


def _late(cluster: Cluster) -> tuple[_Late, ...]:
    return derived(cluster, _all_late)


def _all_late(cluster: Cluster) -> tuple[_Late, ...]:
    found = state(cluster)
    base = _with_provisioned(cluster, ground(cluster))
    told = {(f, s.resource) for s in all_shortfalls(cluster) for f in s.flavors}
    if not any(_may_grow(nodes) for nodes in base.nodes.values()):
        return ()  # there is what there is
    least = base._replace(
        nodes={f: tuple(map(_at_least, nodes)) for f, nodes in base.nodes.items()},
        elastic=frozenset(),
        unknown={},
    )
    late = []
    for resource in sums.resources(found, is_accelerator):
        for short in sums.shortfalls(found, least, resource, _is_firm):
            nodes = [n for f in short.flavors for n in base.nodes[f] if n.usable and n.most != n.machines]
            most = capacity.total(
                {n.name: n for f in short.flavors for n in base.nodes[f]}.values(), resource
            )
            covered = most.high is None or most.high >= short.total
            is_told = any(
                (f, resource) in told or _is_empty(cluster, f, base.nodes[f]) for f in short.flavors
            )
            if nodes and covered and not is_told:
                pools = tuple(sorted({n.name for n in nodes}))
                late.append(_Late(short, most, pools, _grower(cluster, short.flavors, nodes)))
    return tuple(late)


def _is_empty(cluster: Cluster, flavor: str, nodes: tuple[Node, ...]) -> bool:
    """A flavor that is placed by topology, on pools without a node and without a check: another rule's."""
    known = state(cluster).objects.flavors.get(flavor)
    provisioned = flavor in ground(cluster).elastic
    return bool(known and known.topology) and not provisioned and not any(n.machines for n in nodes)


def _is_firm(promise: Promise, offer: Range) -> bool:  # noqa: ARG001 - one signature
    return not is_placeholder(promise.holder.quota.nominal)


def _with_provisioned(cluster: Cluster, base: Ground) -> Ground:
    """The nodes of flavors too that a check provisions, where pools for them are in sight."""
    held, objects = shelf(cluster), state(cluster).objects
    more = {
        f: held.select(objects.flavors[f].node_labels)
        for f in base.elastic
        if f in objects.flavors
        and objects.flavors[f].node_labels
        and capacity.knows_labels(cluster.inventory)
    }
    return base._replace(nodes={**base.nodes, **{f: nodes for f, nodes in more.items() if _may_grow(nodes)}})


def _may_grow(nodes: tuple[Node, ...]) -> bool:
    return any(n.most != n.machines for n in nodes)


def _at_least(node: Node) -> Node:
    return node._replace(most=node.machines)


def _grower(cluster: Cluster, flavors: tuple[str, ...], nodes: list[Node]) -> str:
    """What adds machines to these pools, as far as it is in sight; "" for nothing."""
    if set(flavors) & ground(cluster).elastic:
        return "an admission check provisions them"
    if all(n.source == "elastic" and _ONLY_LIMITS not in n.labels for n in nodes):
        return "their autoscaler adds them for pods that are Pending"
    if any(word in name for name in _names(cluster) for word in _AUTOSCALERS):
        return "an autoscaler in sight adds them for pods that are Pending"
    return ""


def _names(cluster: Cluster) -> Mapping[str, None]:
    """Names of what runs in the cluster, by which an autoscaler is known."""
    kinds = (("apps", "Deployment"), ("apps", "StatefulSet"))
    return {key.name: None for group, kind in kinds for key in cluster.index.kinds.get((group, kind), {})}
