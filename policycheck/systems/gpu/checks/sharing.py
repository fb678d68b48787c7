"""Shares of GPUs (time slices, MPS) that are counted or used as if they were GPUs.

A share has no memory of its own, and the tenants of a card fail together. Sources: the README of the
k8s-device-plugin ("Shared Access to GPUs"), the GPU operator's page on time slicing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from policycheck.lint.hit import Hit, Related
from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node, Range
from policycheck.model.queueing import Flavor
from policycheck.model.workload import ContainerRequest
from policycheck.record import NamedTuple
from policycheck.systems.core.inventory import admits
from policycheck.systems.core.podspec import mapping
from policycheck.systems.gpu import labels, resources
from policycheck.systems.gpu.checks.common import Asking, Found, Params, asking, nodes_named, shape
from policycheck.systems.gpu.checks.plugin import in_use, settings
from policycheck.wording import join


class Offer(NamedTuple):
    """The nodes that offer a resource as shares of cards, and those that offer it whole."""

    shared: tuple[Node, ...]
    whole: tuple[Node, ...]

    @property
    def replicas(self) -> int:
        """Shares of a card, the most of any node; 0 when nobody says."""
        return max((n.accelerators.replicas for n in self.shared if n.accelerators), default=0)

    @property
    def cards(self) -> Range:
        """Cards behind the shares."""
        return capacity.together(
            capacity.times(n.accelerators.physical, n) for n in self.shared if n.accelerators is not None
        )


def offer(nodes: tuple[Node, ...], resource: str) -> Offer:
    """How ``nodes`` offer a resource."""
    giving = [n for n in nodes if (n.allocatable or {}).get(resource, 0) > 0]
    shared = tuple(n for n in giving if _shares(n, resource))
    return Offer(shared, tuple(n for n in giving if n not in shared))


def _shares(node: Node, resource: str) -> bool:
    found = node.accelerators
    return found is not None and resource in found.shares and not resource.startswith(resources.MIG_PREFIX)


def _is_named(flavor: Flavor) -> bool:
    """Whether the flavor says itself that its GPUs are shared or sliced."""
    product = flavor.node_labels.get(labels.PRODUCT, "")
    told = {key: value for key, value in flavor.node_labels.items() if key != labels.PRODUCT}
    is_said = labels.REPLICAS in told or labels.SHARING in told
    return is_said or product.endswith("-SHARED") or "-MIG-" in product


def _promised(cluster: Cluster) -> dict[tuple[str, str], list[tuple[str, int]]]:
    """Who has how much quota, by flavor and resource."""
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    held = [(queue.name, queue.quotas) for queue in cluster.view.queues]
    held += [(cohort.name, cohort.quotas) for cohort in cluster.view.cohorts]
    for name, quotas in held:
        for pair, quota in quotas.items():
            if quota.nominal > 0:
                found.setdefault(pair, []).append((name, quota.nominal))
    return found


def _has_shares(cluster: Cluster) -> bool:
    return any(n.accelerators is not None and n.accelerators.shares for n in cluster.inventory.nodes)


def _offers(cluster: Cluster) -> Iterator[tuple[Flavor, str, Offer]]:
    if not _has_shares(cluster):
        return
    flavors = {flavor.name: flavor for flavor in cluster.view.flavors}
    for name, resource in _promised(cluster):
        flavor = flavors.get(name)
        if flavor is not None and not flavor.elastic and flavor.node_labels:
            nodes = capacity.select(cluster.inventory, flavor.node_labels)
            yield flavor, resource, offer(nodes, resource)


def quota_counts_shares(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """More quota than cards, in a flavor whose nodes all share their cards under the GPU's own name."""
    promised = _promised(cluster) if _has_shares(cluster) else {}
    for flavor, resource, found in _offers(cluster):
        cards, total = found.cards, sum(n for _, n in promised[flavor.name, resource])
        if not found.shared or found.whole or resource.endswith(".shared") or _is_named(flavor):
            continue
        if cards.high is None or total <= cards.high:
            continue
        values = {
            "flavor": flavor.name,
            "resource": resource,
            "nodes": nodes_named([n.name for n in found.shared]),
            "replicas": found.replicas or "several",
            "total": f"{total:,}",
            "cards": str(cards),
            "who": join(name for name, _ in promised[flavor.name, resource]),
        }
        yield Hit(flavor.id, ("spec", "nodeLabels"), values, discriminator=resource)


def shares_among_gpus(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A flavor in which some nodes offer shares under the name by which others offer whole GPUs."""
    for flavor, resource, found in _offers(cluster):
        if not found.shared or not found.whole:
            continue
        values = {
            "flavor": flavor.name,
            "resource": resource,
            "shared": nodes_named([n.name for n in found.shared]),
            "whole": nodes_named([n.name for n in found.whole]),
            "replicas": found.replicas or "several",
        }
        because = tuple(
            Related(cluster.inventory.origins[n.name], ("metadata", "labels"), f"{n.name} shares its GPUs")
            for n in found.shared[:4]
            if cluster.inventory.origins.get(n.name) in cluster.entries
        )
        yield Hit(flavor.id, ("spec", "nodeLabels"), values, because, discriminator=resource)


def _only_shares(cluster: Cluster) -> Iterator[tuple[Asking, ContainerRequest, str, str, int]]:
    """Containers that ask for what every node open to them offers as shares only."""
    nodes = cluster.inventory.nodes
    if not any(n.accelerators is not None and n.accelerators.shares for n in nodes):
        return
    known: dict[Hashable, bool] = {}
    for ask in asking(cluster):
        for container in ask.pods.containers:
            asked: Mapping[str, int] = {**container.requests, **container.limits}
            for resource, amount in asked.items():
                if amount <= 0 or not resources.is_accelerator(resource):
                    continue
                key = (shape(ask.pods), resource)
                if key not in known:
                    open_ = tuple(n for n in nodes if admits(n._replace(taints=()), ask.pods))
                    found = offer(open_, resource)
                    known[key] = bool(found.shared) and not found.whole
                if known[key]:
                    field = "requests" if resource in container.requests else "limits"
                    yield ask, container, resource, field, amount


def several_shares(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A container that asks for several shares: perhaps of one card, never twice the compute."""
    strict = any(
        in_use(cluster, setting)
        and mapping(setting.sharing.get("timeSlicing")).get("failRequestsGreaterThanOne") is True
        for setting in settings(cluster)
    )
    for ask, container, resource, field, amount in _only_shares(cluster):
        if amount < 2:
            continue
        effect = (
            "the device plugin refuses more than one (failRequestsGreaterThanOne)"
            if strict
            else "they may be shares of one card, and are never more compute or memory than one"
        )
        values = {
            "container": container.name,
            "workload": ask.name,
            "amount": amount,
            "resource": resource,
            "effect": effect,
        }
        yield Hit(ask.id, (*container.path, "resources", field, resource), values)


def service_on_shares(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A service that can only run on shared GPUs: nothing keeps its neighbours from its memory."""
    for ask, container, resource, field, _ in _only_shares(cluster):
        if ask.workload.nature == "service":
            values = {"workload": ask.name, "container": container.name, "resource": resource}
            yield Hit(ask.id, (*container.path, "resources", field, resource), values)
