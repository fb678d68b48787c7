"""FGD: the node and card on which placing a pod leaves the least that other pods can not use.

Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent", USENIX ATC 2023. What others ask for are the commonest pods of the workload, 95 in 100 of all; the
fragment counts CPU and cards, not memory. The gain is put through a logistic curve (in cards) into a whole
number from 0 to 100, so that small differences are equal; equal nodes go by the order of ties, equal cards
by their position.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from policycheck.simulate.card import WHOLE
from policycheck.simulate.device import DeviceAsk, Devices, Taken, canonical, take, ways
from policycheck.simulate.job import Job
from policycheck.simulate.measure import Meter, Shape
from policycheck.simulate.placement import Ground, Load
from policycheck.simulate.room import Room

_COMMON = 0.95
Way = tuple[Devices, Taken]


def common(jobs: Sequence[Job], resource: str) -> list[Shape]:
    """The commonest pods, as the shapes that a fragment is measured against."""
    seen = Counter(
        (
            job.pod_sets[0].requests.get("cpu", 0),
            job.milli if job.pod_sets[0].requests.get(resource) else 0,
            job.pod_sets[0].requests.get(resource, 0),
            job.models,
        )
        for job in jobs
    )
    shapes = []
    taken = 0
    for kind, number in sorted(seen.items(), key=lambda item: (item[1], item[0]), reverse=True):
        if taken >= _COMMON * len(jobs):
            break
        taken += number
        cpu, milli, cards, models = kind
        ask = DeviceAsk({resource: cards} if cards else {}, milli or WHOLE, models)
        shapes.append(Shape("", {"cpu": cpu}, ask, number))
    return shapes


class Gradient:
    """Scores nodes of a ground by what placing a pod does to the fragment."""

    def __init__(self, ground: Ground, mix: Iterable[Shape]) -> None:
        self._ground = ground
        self._meter = Meter(list(mix))
        self._cpu = ground.columns["cpu"]
        self._most = max(shape.needs["cpu"] for shape in self._meter.mix)
        self._fragments: dict[tuple[int, Devices], int] = {}
        self._best: dict[tuple[int, int], Way | None] = {}

    def __call__(self, state: int, load: Load) -> int:
        """The score of a node in ``state`` for ``load``, with the card that gives it."""
        _, free, devices = self._ground.of(state)
        before = self._fragment(free[self._cpu], devices)
        left = free[self._cpu] - load.vector[self._cpu]
        if load.ask is None:
            return self._gain(before, left, devices)
        if load.ask.milli == WHOLE:
            one = take(devices, load.ask)
            return self._gain(before, left, one[0]) if one is not None else 0
        found = [(self._gain(before, left, way[0]), way) for way in ways(devices, load.ask)]
        best = max(found, key=lambda pair: (pair[0], -pair[1][1][0].card))
        self._best[state, load.number] = best[1]
        return best[0]

    @property
    def weight(self) -> int:
        """What fragments are to be divided by."""
        return self._meter.weight

    def fragment(self, n: int) -> int:
        """Thousandths of cards on node ``n`` that are idle and that the mix can not use, times ``weight``."""
        _, free, devices = self._ground.of(self._ground.state[n])
        return self._fragment(free[self._cpu], devices)

    def way(self, state: int, load: Load) -> Way | None:
        """The cards by which the score came about; None where the pick of whole cards does not matter."""
        return self._best.get((state, load.number))

    def _gain(self, before: int, cpu: int, devices: Devices) -> int:
        gain = (before - self._fragment(cpu, devices)) / (self._meter.weight * WHOLE)
        return int(100.0 / (1.0 + math.exp(-gain)))

    def _fragment(self, cpu: int, devices: Devices) -> int:
        key = (min(cpu, self._most), canonical(devices))
        found = self._fragments.get(key)
        if found is None:
            part = self._meter.of(Room("", {"cpu": cpu}, devices))
            found = self._fragments[key] = sum(part[1:]) - part.q3
        return found
