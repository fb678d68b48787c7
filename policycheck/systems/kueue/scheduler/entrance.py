"""Where workloads come in: LocalQueues that lead to a queue, and whether that takes workloads of their namespace."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.world import World


class Entrance:
    """The LocalQueues of one session. None of them changes while it goes on."""

    __slots__ = ("_doors", "_shut", "_world")

    def __init__(self, world: World, queues: Mapping[str, Queue]) -> None:
        self._world = world
        self._doors = {
            f"{namespace}/{name}": queues[local.cluster_queue]
            for (namespace, name), local in world.objects.local_queues.items()
            if local.stop_policy == "None" and local.cluster_queue in queues
        }
        self._shut: dict[str, bool] = {}  # by LocalQueue: its ClusterQueue does not take its namespace

    def of(self, item: Item) -> Queue | None:
        """The queue that a workload goes to, or None."""
        workload: KueueWorkload = item.workload
        return self._doors.get(item.local) if workload.active and not workload.deleting else None

    def is_shut(self, item: Item, queue: Queue) -> bool:
        """Whether ``queue``, to which its LocalQueue leads, does not take workloads of the item's namespace."""
        known = self._shut.get(item.local)
        if known is None:
            known = self._shut[item.local] = not self.takes(queue, item)
        return known

    def takes(self, queue: Queue, item: Item) -> bool:
        """Whether a queue takes workloads of the item's namespace."""
        selector = queue.config.namespace_selector
        if selector is None:
            return False
        return selector.matches(self._world.namespaces.get(item.workload.namespace, {}))
