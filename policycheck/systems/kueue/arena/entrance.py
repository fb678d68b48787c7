"""Through which LocalQueue workloads of an attack reach each ClusterQueue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.model.placement import Selector
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects, LocalQueue

SPACE = "certify"  # a namespace of our own, for queues that nobody can reach


class Entrance(NamedTuple):
    """A LocalQueue. ``made``: nobody wrote it, and the ClusterQueue is taken to accept its namespace."""

    namespace: str
    name: str
    made: bool


def entrances(
    objects: KueueObjects, labels: Mapping[str, Mapping[str, str]]
) -> tuple[KueueObjects, dict[str, Entrance]]:
    """The objects with every ClusterQueue reachable, and how. What is in sight is used where it serves."""
    found: dict[str, Entrance] = {}
    for (namespace, name), local in sorted(objects.local_queues.items()):
        queue = objects.cluster_queues.get(local.cluster_queue)
        if queue is None or queue.name in found or local.stop_policy != "None" or local.deleting:
            continue
        selector = queue.namespace_selector
        if selector is not None and selector.matches(labels.get(namespace, {})):
            found[queue.name] = Entrance(namespace, name, made=False)
    queues, locals_ = dict(objects.cluster_queues), dict(objects.local_queues)
    for name, queue in queues.items():
        if name not in found:
            found[name] = Entrance(SPACE, name, made=True)
            queues[name] = opened(queue)
            locals_[SPACE, name] = LocalQueue(SPACE, name, name)
    return objects._replace(cluster_queues=queues, local_queues=locals_, workloads={}), found


def opened(queue: ClusterQueue) -> ClusterQueue:
    """The queue, open for every namespace."""
    return queue._replace(namespace_selector=Selector())
