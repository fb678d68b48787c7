"""Podsets of jobs of a mix or a trace: equal ones are the same object, which schedulers cache by."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.simulate.mix import Pods, Shape, Topology

MAIN = "main"
Sets = tuple[PodSet, ...]


class Shelf:
    """Podsets by shape. ``lost`` tells for which classes a topology level was asked that a queue has not."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.lost: dict[str, int] = {}
        self._made: dict[object, Sets] = {}

    def of(self, klass: str, pods: Pods, shape: Shape, levels: tuple[str, ...]) -> Sets:
        """The podsets of a job of ``klass`` in a queue with these topology ``levels``."""
        request = self._request(klass, pods.topology, shape, levels) if pods.topology else None
        requests = self._requests(pods, shape)
        key = (
            shape.pods,
            tuple(sorted(requests.items())),
            request,
            tuple(sorted(pods.selector.items())),
            pods.tolerations,
        )
        held = self._made.get(key)
        if held is None:
            made = PodSet(
                MAIN,
                shape.pods,
                requests,
                node_selector=pods.selector,
                tolerations=pods.tolerations,
                topology=request,
            )
            held = self._made[key] = (made,)
        return held

    def _requests(self, pods: Pods, shape: Shape) -> Mapping[str, int]:
        found = dict(pods.requests)
        if shape.gpus:
            part = shape.gpus * shape.milli
            for resource, amount in pods.per_gpu.items():
                found[resource] = found.get(resource, 0) + -(-amount * part // 1000)
            found[self.resource] = shape.gpus
        return found

    def _request(
        self, klass: str, asked: Topology, shape: Shape, levels: tuple[str, ...]
    ) -> TopologyRequest | None:
        if shape.pods < asked.pods:
            return None
        level, sliced = _level(asked.level, levels), _level(asked.slice_level, levels)
        if level is None or sliced is None or not (level or sliced or asked.mode == "unconstrained"):
            self.lost[klass] = self.lost.get(klass, 0) + 1
            return None
        return TopologyRequest(asked.mode, level, sliced, asked.slice_size if sliced else 0)


def _level(asked: str | int, levels: tuple[str, ...]) -> str | None:
    """The label of a level; None for a number that ``levels`` do not reach."""
    if isinstance(asked, str):
        return asked
    return levels[asked] if -len(levels) <= asked < len(levels) else None
