"""What would mend quotas, by what else is in sight: promises, LocalQueues of a namespace, labels of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.model.workload import Workload
from policycheck.source.document import Change
from policycheck.systems.core.mend import plain
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.common import derived, ground, quota_place, state
from policycheck.systems.kueue.jobs import QUEUE_LABEL
from policycheck.systems.kueue.sums import Promise, Shortfall

_PROMISES = ("policycheck.dev", "Promises")
_COMPANIONS = ("cpu", "memory")


def to_promises(cluster: Cluster, short: Shortfall) -> tuple[Change, ...]:
    """Quotas lowered to what teams were told, with cpu and memory beside them in proportion; () where no
    promise is written, or it does not come to what there is.
    """
    told = _told(cluster)
    total, changes = 0, []
    for promise in short.promises:
        holder = promise.holder
        least = told.get((holder.name, promise.flavor, short.resource), holder.quota.nominal)
        amount = min(least, holder.quota.nominal)
        total += amount
        if holder.kind == "ClusterQueue" and amount < holder.quota.nominal:
            changes += _lowered(cluster, promise, short.resource, amount)
    return tuple(changes) if short.offer.high is not None and total <= short.offer.high else ()


def _told(cluster: Cluster) -> dict[tuple[str, str, str], int]:
    """Whole accelerators promised by queue, flavor and resource: of teams with one queue for them."""
    ids = [i for some in cluster.index.kinds.get(_PROMISES, {}).values() for i in some]
    if len(ids) != 1:
        return {}
    queues = state(cluster).objects.cluster_queues
    found: dict[tuple[str, str, str], int] = {}
    for raw in items(cluster.entries[ids[0]].facts.value.get("teams")):
        team = mapping(raw)
        named = team.get("queues")
        own = [named] if isinstance(named, str) else [text(name) for name in items(named)]
        for resource, by_flavor in mapping(team.get("guarantee")).items():
            for flavor, amount in mapping(by_flavor).items():
                holding = [
                    q
                    for q in own
                    if q in queues
                    and any(
                        f.name == flavor and resource in f.resources
                        for g in queues[q].groups
                        for f in g.flavors
                    )
                ]
                if len(holding) == 1 and isinstance(amount, int) and is_accelerator(str(resource)):
                    found[holding[0], str(flavor), str(resource)] = amount
    return found


def _lowered(cluster: Cluster, promise: Promise, resource: str, amount: int) -> list[Change]:
    """One queue's quota of a flavor, lowered; none of its limits stays above it, and its accelerators have at
    least the cpu and memory of the nodes.
    """
    name, flavor, old = promise.holder.name, promise.flavor, promise.holder.quota.nominal
    queue = state(cluster).objects.cluster_queues[name]
    held = next((f for g in queue.groups for f in g.flavors if f.name == flavor), None)
    changes: list[Change] = []
    for other, quota in held.resources.items() if held is not None else ():
        place = quota_place(cluster, "ClusterQueue", name, (flavor, other))
        if place is None or (other != resource and other not in _COMPANIONS):
            continue
        less = amount if other == resource else quota.nominal * amount // old
        if other != resource:
            each = _on_nodes(cluster, flavor, resource, other)
            less = max(less, amount * each)
            most = each * (held.resources[resource].borrowing_limit or 0) if held is not None else 0
            if quota.borrowing_limit is not None and quota.borrowing_limit < most:
                changes.append(Change(place[0], (*place[1], "borrowingLimit"), "set", plain(other, most)))
        changes.append(Change(place[0], (*place[1], "nominalQuota"), "set", plain(other, less)))
        if quota.lending_limit is not None and less < quota.lending_limit < quota.nominal:
            changes.append(Change(place[0], (*place[1], "lendingLimit"), "set", plain(other, less)))
    return changes


def _on_nodes(cluster: Cluster, flavor: str, resource: str, companion: str) -> int:
    """How much of a companion the nodes have for each accelerator; 0 when that is not known."""
    nodes = ground(cluster).nodes.get(flavor, ())
    has, offers = capacity.total(nodes, resource), capacity.total(nodes, companion)
    return offers.low // has.low if has.is_exact and offers.is_exact and has.low else 0


def only_queue(cluster: Cluster, namespace: str, requests: Iterable[str]) -> str:
    """The one LocalQueue of a namespace that leads to all accelerators of ``requests``; "" when none or several."""
    wanted = [resource for resource in requests if is_accelerator(resource)]
    held = derived(cluster, _covered).get(namespace, ()) if wanted else ()
    fitting = [name for name, covered in held if covered.issuperset(wanted)]
    return fitting[0] if len(fitting) == 1 else ""


def _covered(cluster: Cluster) -> dict[str, list[tuple[str, frozenset[str]]]]:
    """The LocalQueues of each namespace, with what the ClusterQueue behind them covers."""
    found = state(cluster).objects
    made: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for (space, name), local in found.local_queues.items():
        queue = found.cluster_queues.get(local.cluster_queue)
        if queue is not None:
            covered = frozenset(resource for group in queue.groups for resource in group.covered)
            made.setdefault(space, []).append((name, covered))
    return made


def queue_label(workload: Workload) -> Path:
    """Where the object names its queue; of a CronJob where the Jobs that it makes do."""
    base: Path = ("spec", "jobTemplate") if workload.key.kind == "CronJob" else ()
    return (*base, "metadata", "labels", QUEUE_LABEL)


def queued(
    cluster: Cluster, identity: DocumentId, workload: Workload, requests: Iterable[str]
) -> tuple[Change, str]:
    """The label that brings a workload into the one queue that would do, and how safe that is: where there is no
    such queue, a person has to name it.
    """
    name = only_queue(cluster, workload.key.namespace, requests)
    change = Change(identity, queue_label(workload), "set", name or "LOCAL-QUEUE")
    return change, "" if name else "manual"


def told_apart(
    flavors: Iterable[tuple[str, DocumentId, Mapping[str, str]]], nodes: Iterable[Mapping[str, str]]
) -> tuple[Change, ...]:
    """A label of the nodes whose values are the names of the flavors, put into each; () when there is none."""
    known = list(flavors)
    values: dict[str, set[str]] = {}
    for labels in nodes:
        for key, value in labels.items():
            values.setdefault(key, set()).add(value)
    names = {name for name, _, _ in known}
    for key in sorted(values):
        if names <= values[key] and not any(key in labels for _, _, labels in known):
            path: Path = ("spec", "nodeLabels", key)
            return tuple(Change(identity, path, "set", name) for name, identity, _ in known)
    return ()
