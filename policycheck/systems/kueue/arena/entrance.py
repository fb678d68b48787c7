"""Through which LocalQueue workloads of an attack reach each ClusterQueue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.model.placement import Selector
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects, LocalQueue

SPACE = "certify"  # a namespace of our own, for queues that nobody can reach


class Entrance(NamedTuple):
    """A LocalQueue. ``made``: nobody wrote it, and the ClusterQueue is taken to accept its namespace. ``shut``: why
    those in sight let nobody in; "" where one does, where none is in sight, or where it can not be told.
    """

    namespace: str
    name: str
    made: bool
    shut: str = ""


def entrances(
    objects: KueueObjects, labels: Mapping[str, Mapping[str, str]], *, as_written: bool = False
) -> tuple[KueueObjects, dict[str, Entrance]]:
    """The objects with every ClusterQueue reachable, and how. What is in sight is used where it serves.

    ``as_written``: and where it lets nobody in, so that one sees workloads wait there.
    """
    found: dict[str, Entrance] = {}
    shut: dict[str, list[str]] = {}
    places: dict[str, tuple[str, str]] = {}
    for (namespace, name), local in sorted(objects.local_queues.items()):
        queue = objects.cluster_queues.get(local.cluster_queue)
        if queue is None or queue.name in found:
            continue
        why = _shut(local, queue, labels.get(namespace))
        if why is None:
            found[queue.name] = Entrance(namespace, name, made=False)
        else:
            shut.setdefault(queue.name, []).append(why)
            places.setdefault(queue.name, (namespace, name))
    for name, (namespace, local_name) in places.items() if as_written else ():
        if name not in found:
            found[name] = Entrance(
                namespace, local_name, made=False, shut="; ".join(filter(None, shut[name]))
            )
    queues, locals_ = dict(objects.cluster_queues), dict(objects.local_queues)
    for name, queue in queues.items():
        if name not in found:
            known = shut.get(name, [])
            found[name] = Entrance(SPACE, name, made=True, shut="; ".join(known) if all(known) else "")
            queues[name] = opened(queue)
            locals_[SPACE, name] = LocalQueue(SPACE, name, name)
    return objects._replace(cluster_queues=queues, local_queues=locals_, workloads={}), found


def _shut(local: LocalQueue, queue: ClusterQueue, labels: Mapping[str, str] | None) -> str | None:
    """Why nothing comes in through a LocalQueue, "" when the labels of its namespace are not known; None when it
    serves.
    """
    place = f"LocalQueue {local.namespace}/{local.name}"
    if local.deleting:
        return f"{place} is being deleted"
    if local.stop_policy != "None":
        return f"{place} is held (stopPolicy {local.stop_policy})"
    if queue.namespace_selector is None:
        return f"ClusterQueue {queue.name} selects no namespace"
    if queue.namespace_selector.matches(labels or {}):
        return None
    return "" if labels is None else f"ClusterQueue {queue.name} does not select the namespace of {place}"


def opened(queue: ClusterQueue) -> ClusterQueue:
    """The queue, open for every namespace."""
    return queue._replace(namespace_selector=Selector())
