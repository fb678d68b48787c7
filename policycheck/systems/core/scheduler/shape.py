"""What one pod of a podset asks for, in the terms of a ground: pods of equal shape are decided alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.model.placement import PodAffinity, Spread
from policycheck.model.workload import PodSet
from policycheck.simulate.card import WHOLE
from policycheck.simulate.device import DeviceAsk
from policycheck.simulate.placement import Ground, Load
from policycheck.systems.core.scheduler.crowd import Kind
from policycheck.systems.core.scheduler.reach import Reach, Wants
from policycheck.systems.core.scheduler.score import beside

_MOST_REACHES = 2_000


class Shape(NamedTuple):
    """A pod: what it takes, where it may go, what it is to other pods and what they are to it."""

    load: Load
    reach: Reach
    kind: Kind
    spread: tuple[Spread, ...] = ()
    claims: tuple[str, ...] = ()  # device classes among what it takes

    @property
    def key(self) -> object:
        """Equal for shapes that are decided alike."""
        return self.load.number, id(self.reach), self.kind, self.spread

    @property
    def is_social(self) -> bool:
        """Whether it matters to it who runs where."""
        return bool(self.spread) or self.kind.neighbours != PodAffinity()


class Shapes:
    """Shapes of a ground, each made once."""

    __slots__ = ("_ground", "_made", "_reaches")

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._reaches: dict[Wants, Reach] = {}
        self._made: dict[tuple[int, object], tuple[PodSet, Shape]] = {}

    def on(self, ground: Ground) -> Shapes:
        """The same for a copy of the ground, whose nodes and loads are the same."""
        made = Shapes(ground)
        for name in ("_reaches", "_made"):
            setattr(made, name, getattr(self, name))
        return made

    def of(
        self, spec: PodSet, namespace: str, models: tuple[str, ...] = (), milli: int = WHOLE, node: str = ""
    ) -> Shape:
        """The shape of a pod of ``spec``; ``node`` is one that was chosen for it already."""
        place = (id(spec), (namespace, models, milli, node))
        found = self._made.get(place)
        if found is None or found[0] is not spec:
            if len(self._made) > _MOST_REACHES:
                self._made.clear()
            found = self._made[place] = (spec, self._make(spec, namespace, models, milli, node))
        return found[1]

    def _make(self, spec: PodSet, namespace: str, models: tuple[str, ...], milli: int, node: str) -> Shape:
        wants = Wants(
            tuple(sorted(spec.node_selector.items())),
            spec.affinity,
            spec.has_affinity,
            spec.preferred,
            spec.tolerations,
            tuple(sorted(models)),
            node,
        )
        kind = Kind(namespace, tuple(sorted(spec.labels.items())), spec.neighbours or PodAffinity())
        claims = tuple(sorted({c.device_class for c in spec.claims if c.devices and c.device_class}))
        return Shape(
            _load(self._ground, asked(spec), spec, models, milli),
            self._reach(wants),
            kind,
            spec.spread,
            claims,
        )

    def _reach(self, wants: Wants) -> Reach:
        found = self._reaches.get(wants)
        if found is None:
            if len(self._reaches) > _MOST_REACHES:
                self._reaches.clear()
            found = self._reaches[wants] = Reach(self._ground, wants)
        return found


def asked(spec: PodSet) -> dict[str, int]:
    """What one pod of ``spec`` takes, by resource: its requests, itself, and claimed devices by class."""
    found = {**spec.requests, "pods": 1}
    for claim in spec.claims:
        if claim.device_class:
            found[claim.device_class] = found.get(claim.device_class, 0) + claim.devices
    return found


def _load(
    ground: Ground, amounts: Mapping[str, int], spec: PodSet, models: tuple[str, ...], milli: int
) -> Load:
    running = sum(not c.init or c.sidecar for c in spec.containers)
    shadows = beside(spec.requests, running)
    units = {r: n for r, n in amounts.items() if ground.is_offered(r)}
    # On one NUMA node: cards have one only where a kubelet insists (systems.gpu.aligned).
    ask = DeviceAsk(units, milli, models, aligned=True) if units else None
    return ground.load(amounts, ask, shadows)
