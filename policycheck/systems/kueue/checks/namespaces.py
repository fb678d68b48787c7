"""Which namespaces a queue takes workloads from, and whether its LocalQueues are in one of them."""

from __future__ import annotations

from policycheck.lint.hit import Hit, Related
from policycheck.model.cluster import Cluster
from policycheck.model.placement import Selector
from policycheck.systems.kueue.checks.common import Found, Params, core, documents, state, whence
from policycheck.systems.kueue.model import ClusterQueue, LocalQueue
from policycheck.wording import join

NAME_LABEL = "kubernetes.io/metadata.name"


def _selects(cluster: Cluster, selector: Selector, namespace: str) -> bool | None:
    """Whether ``selector`` takes a namespace; None when its labels are not known."""
    known = core(cluster).namespaces.get(namespace)
    labels = {**(known.labels if known else {}), NAME_LABEL: namespace}
    if known is None and any(r.key != NAME_LABEL for r in selector.requirements):
        by_name = [r for r in selector.requirements if r.key == NAME_LABEL]
        # Another label may be there or not; the name alone can already rule it out.
        return False if any(not r.matches(labels) for r in by_name) else None
    return selector.matches(labels)


def selects(cluster: Cluster, local: LocalQueue) -> bool | None:
    """Whether the ClusterQueue of a LocalQueue takes its namespace; None when that is not known."""
    queue = state(cluster).objects.cluster_queues.get(local.cluster_queue)
    if queue is None or queue.namespace_selector is None:
        return None
    return _selects(cluster, queue.namespace_selector, local.namespace)


def local_queue_outside_selector(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A LocalQueue in a namespace that its ClusterQueue does not take workloads from."""
    found = state(cluster)
    for identity, facts in documents(cluster, "LocalQueue"):
        local = facts.typed
        if not isinstance(local, LocalQueue) or not local.namespace:
            continue
        queue = found.objects.cluster_queues.get(local.cluster_queue)
        if queue is None or queue.namespace_selector is None:
            continue
        where = whence(cluster, "ClusterQueue", queue.name)
        is_double = where is not None and cluster.entries[where].facts.key in cluster.ambiguous
        if is_double or _selects(cluster, queue.namespace_selector, local.namespace) is not False:
            continue
        values = {"local": local.name, "namespace": local.namespace, "queue": queue.name}
        because = () if where is None else (Related(where, ("spec", "namespaceSelector"), "selects others"),)
        yield Hit(identity, ("metadata", "namespace"), values, because)


def selector_matches_none(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A namespaceSelector that takes none of the namespaces in sight."""
    found = state(cluster)
    spaces = core(cluster).namespaces
    if not spaces:
        return
    led_to = {local.cluster_queue for local in found.objects.local_queues.values()}
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue) or queue.namespace_selector is None or queue.name in led_to:
            continue
        if not any(_selects(cluster, queue.namespace_selector, name) for name in spaces):
            values = {"queue": queue.name, "namespaces": join(spaces)}
            yield Hit(identity, ("spec", "namespaceSelector"), values)
