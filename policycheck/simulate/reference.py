"""What free nodes are measured against: the pods that jobs are made of, and their commonest gang.

Selectors and tolerations are those of the pods as they are handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policycheck.simulate.card import WHOLE
from policycheck.simulate.device import DeviceAsk
from policycheck.simulate.job import Job
from policycheck.simulate.measure import Gauge, room
from policycheck.simulate.placement import PLENTY, Ground
from policycheck.simulate.placer import Set
from policycheck.simulate.room import Shape

_MOST = 32  # shapes that a fragment is measured against


class Reference(NamedTuple):
    """Shapes by how many pods of jobs have them, and the one of which the largest gang is told."""

    mix: tuple[Shape, ...]
    gang: Shape


def shape(one: Set, offered: frozenset[str], weight: int = 1) -> Shape:
    """Pods of a set as measures see them; ``offered`` are the resources that cards serve."""
    spec = one.spec
    needs = {r: n for r, n in spec.requests.items() if r not in offered and n > 0}
    units = {r: n for r, n in spec.requests.items() if r in offered and n > 0}
    ask = DeviceAsk(units, one.milli if units else WHOLE, one.models if units else ())
    return Shape(
        spec.name,
        needs,
        ask,
        weight,
        selector=spec.node_selector,
        affinity=spec.affinity,
        tolerations=spec.tolerations,
    )


class _Seen:
    """One podset: how many pods of it there are, and how many of those in gangs."""

    __slots__ = ("gangs", "one", "pods")

    def __init__(self, one: Set) -> None:
        self.one = one
        self.pods = self.gangs = 0


def reference(jobs: Iterable[Job], offered: frozenset[str]) -> Reference | None:
    """The commonest shapes that ask for cards; None when no job asks for any."""
    seen: dict[tuple[int, tuple[str, ...], int], _Seen] = {}
    for job in jobs:
        for spec in job.pod_sets:
            kind = (id(spec), job.models, job.milli)
            found = seen.get(kind)
            if found is None:
                found = seen[kind] = _Seen(Set(spec, spec.pods, job.models, job.milli))
            found.pods += spec.pods
            found.gangs += spec.pods * (job.pods > 1)
    return _merged(seen.values(), offered)


def _merged(found: Iterable[_Seen], offered: frozenset[str]) -> Reference | None:
    """Podsets that are equal in all that is measured are one shape."""
    shapes: dict[str, Shape] = {}
    gangs: dict[str, int] = {}
    for seen in found:
        made = shape(seen.one, offered)
        if not made.ask.units:
            continue
        key = repr(made._replace(name=""))
        known = shapes.get(key)
        shapes[key] = made._replace(weight=seen.pods + (known.weight if known else 0))
        gangs[key] = gangs.get(key, 0) + seen.gangs
    if not shapes:
        return None
    order = sorted(shapes, key=lambda key: (-shapes[key].weight, key))
    best = min(shapes, key=lambda key: (-gangs[key], -shapes[key].weight, key))
    return Reference(tuple(shapes[key] for key in order[:_MOST]), shapes[best])


class Watch:
    """Measures of a ground, asked now and then: only nodes that changed since are looked at again."""

    def __init__(self, known: Reference) -> None:
        self._gauge = Gauge(known.mix, known.gang)
        self._at = 0
        self._epoch = -1

    def __call__(self, ground: Ground) -> Mapping[str, int]:
        """``largest``, ``allowed`` and ``fragment`` now."""
        if self._epoch != ground.epoch:
            changed: Iterable[int] = range(len(ground.nodes))
        else:
            changed = dict.fromkeys(ground.log[self._at :])
        self._at, self._epoch = len(ground.log), ground.epoch
        for n in changed:
            self._look(ground, n)
        return self._gauge.measures()

    def _look(self, ground: Ground, n: int) -> None:
        node = ground.nodes[n]
        if ground.closed[n] or not node.usable:
            self._gauge.drop(node.name)
            return
        _, amounts, devices = ground.of(ground.state[n])
        free = {name: amounts[at] for name, at in ground.columns.items() if amounts[at] < PLENTY // 2}
        self._gauge.put(room(node, devices, free))
