"""What a workload asks of quota: its podsets after exclusion, transformation and device mapping.

Sources: the Configuration API (resources.excludeResourcePrefixes, resources.transformations,
resources.deviceClassMappings); facts 1c "Requests of a workload".
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, TypeVar

from policycheck.model.amount import QuantityError, clamp, quantity, scale
from policycheck.model.workload import PodSet
from policycheck.systems.kueue.model import Configuration, KueueWorkload, Transformation

Requests = Mapping[str, int]
T = TypeVar("T")


class SetShape(NamedTuple):
    """One podset: how many pods are charged, and what one of them asks of quota."""

    name: str
    pods: int
    least: int | None  # minCount, when pods may be left out
    each: Requests
    spec: PodSet

    def total(self, pods: int) -> dict[str, int]:
        """Requests of ``pods`` pods."""
        return {r: scale(v, pods) for r, v in self.each.items()}


class Shape(NamedTuple):
    """All podsets; ``key`` is equal for workloads that are told apart by nothing but their queue,
    priority and time. ``number`` is dense within a session.
    """

    number: int
    sets: tuple[SetShape, ...]
    groups: tuple[tuple[int, ...], ...]  # podsets that must get one flavor together
    reducible: bool
    allowed: frozenset[str] | None  # flavors a variant of concurrent admission is confined to
    pods: tuple[int, ...]  # of each podset


def _transform(requests: Requests, rules: Mapping[str, Transformation]) -> dict[str, int]:
    """Outputs are input x factor (x another requested resource); collisions add, negatives vanish."""
    out: dict[str, Fraction] = {}

    def put(name: str, value: Fraction) -> None:
        out[name] = out.get(name, Fraction(0)) + value

    def whole(name: str) -> int:
        value = requests.get(name, 0)
        return -(-value // 1000) if name == "cpu" else value

    for name, value in requests.items():
        rule = rules.get(name)
        if rule is None or rule.strategy != "Replace":
            put(name, Fraction(value))
        if rule is None:
            continue
        times = whole(name) * (whole(rule.multiply_by) if rule.multiply_by else 1)
        for output, text in rule.outputs.items():
            try:
                factor = quantity(text)
            except QuantityError:
                continue  # the schema rule reports it; a factor that is none adds nothing
            put(output, factor * times * (1000 if output == "cpu" else 1))
    return {n: clamp(-(-v.numerator // v.denominator)) if v > 0 else 0 for n, v in out.items()}


def per_pod(spec: PodSet, configuration: Configuration) -> dict[str, int]:
    """What one pod of the podset asks of quota, in base units."""
    prefixes = configuration.exclude_prefixes
    requests = {r: v for r, v in spec.requests.items() if not r.startswith(prefixes)}
    if configuration.transformations:
        requests = _transform(requests, {t.input: t for t in configuration.transformations})
    for claim in spec.claims:
        for mapping in configuration.device_classes:
            if claim.device_class in mapping.device_classes:
                requests[mapping.name] = requests.get(mapping.name, 0) + claim.devices
    return requests


def _freeze(amounts: Mapping[str, T]) -> tuple[tuple[str, T], ...]:
    return tuple(sorted(amounts.items())) if len(amounts) > 1 else tuple(amounts.items())


def spec_key(spec: PodSet, pods: int) -> tuple[object, ...]:
    """Everything about a podset that scheduling can see, hashable."""
    return (
        spec.name,
        pods,
        spec.min_count,
        _freeze(spec.requests),
        tuple([(c.init, _freeze(c.requests)) for c in spec.containers]),
        _freeze(spec.node_selector),
        spec.has_affinity,
        spec.affinity,
        spec.preferred,
        spec.tolerations,
        spec.topology,
        spec.claims,
    )


_ALLOWED = "kueue.x-k8s.io/workload-allowed-resource-flavors"


class Shapes:
    """Interns shapes, so that work done for one workload serves all alike."""

    def __init__(self, configuration: Configuration, *, reclaims: bool, variants: bool) -> None:
        self._configuration = configuration
        self._reclaims = reclaims
        self._variants = variants
        self._known: dict[tuple[object, ...], Shape] = {}

    def of(self, workload: KueueWorkload) -> Shape:
        """The shape of ``workload`` as it would be queued now."""
        pods = [self.charged(workload, s) for s in workload.pod_sets]
        allowed = None
        if self._variants and _ALLOWED in workload.annotations:
            allowed = frozenset(workload.annotations[_ALLOWED].split(","))
        key = (allowed, *map(spec_key, workload.pod_sets, pods))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(workload, pods, allowed)
        return found

    def charged(self, workload: KueueWorkload, spec: PodSet) -> int:
        """Pods of a podset that still need quota."""
        done = workload.reclaimable.get(spec.name, 0) if self._reclaims else 0
        return max(0, spec.pods - done)

    def _make(self, workload: KueueWorkload, pods: list[int], allowed: frozenset[str] | None) -> Shape:
        sets = tuple(
            SetShape(s.name, n, s.min_count, per_pod(s, self._configuration), s)
            for s, n in zip(workload.pod_sets, pods, strict=True)
        )
        groups: dict[str, list[int]] = {}
        for number, spec in enumerate(workload.pod_sets):
            name = spec.topology.group if spec.topology else ""
            groups.setdefault(f"group {name}" if name else str(number), []).append(number)
        reducible = any(s.least is not None and s.least < s.spec.pods for s in sets)
        together = tuple(map(tuple, groups.values()))
        return Shape(len(self._known), sets, together, reducible, allowed, tuple(pods))
