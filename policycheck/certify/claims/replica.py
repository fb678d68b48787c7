"""A service as ``inference-protected`` looks at it: what it needs, and what batch work runs beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policycheck.certify.arena import Ask, Service
from policycheck.certify.claims.common import Bench, shapes_of
from policycheck.certify.promise import Shape
from policycheck.certify.verdict import PROOF, Counterexample
from policycheck.model.placement import Toleration
from policycheck.model.workload import PodSet

_NAMELESS = "pods without a class"


class Answer(NamedTuple):
    """What one part of the question comes to; "" in ``outcome`` where it is nothing that speaks against it."""

    outcome: str = ""
    why: str = ""
    basis: str = PROOF
    story: Counterexample | None = None


FINE = Answer()


class Serving:
    """One service. ``seen`` are all in sight, ``every`` those and the promised ones. ``assumed`` collects what
    answers rest on.
    """

    def __init__(
        self, bench: Bench, service: Service, seen: Sequence[Service], every: Sequence[Service]
    ) -> None:
        self.bench, self.arena, self.service, self.seen = bench, bench.arena, service, seen
        self.every = every
        self.sources = {one.shape.source for one in every if one.shape.source}
        self.queues = {one.queue for one in every if one.queue and not any(self.running(one.queue))}
        self.sets = [s for s in service.shape.pod_sets if s.pods and self.resource(s)]
        self.surge = service.surge or (0,) * len(service.shape.pod_sets)
        self.assumed: list[str] = []

    def resource(self, spec: PodSet) -> str:
        """The accelerator that the pods ask for, or ""."""
        return next((r for r in self.arena.accelerators if spec.requests.get(r, 0) > 0), "")

    def needs(self) -> Iterator[tuple[PodSet, str, int]]:
        """Pods that have to be there during a rollout: podset, resource, pods."""
        for spec, more in zip(self.service.shape.pod_sets, self.surge, strict=False):
            resource = self.resource(spec)
            if spec.pods and resource:
                yield spec, resource, spec.pods + more

    def sums(self) -> dict[tuple[str, tuple[str, ...]], tuple[int, int]]:
        """What it needs of each resource through the flavors that lead to nodes for it, and through all of them:
        at its fewest replicas, and during a rollout.
        """
        found: dict[tuple[str, tuple[str, ...]], tuple[int, int]] = {}
        for spec, resource, pods in self.needs():
            every = self.flavors(resource)
            some = tuple(f for f in every if self.arena.opens(spec, f))
            each = spec.requests[resource]
            for key in dict.fromkeys(((resource, some or every), (resource, every))):
                least, most = found.get(key, (0, 0))
                found[key] = least + each * spec.pods, most + each * pods
        return found

    def asks(self, name: str) -> list[Ask]:
        """The workloads of a rollout: the replicas that run, and what comes beside them."""
        shape = self.service.shape
        made = self.replicas()
        if self.service.apart and len(shape.pod_sets) == 1:
            made += made[:1] * self.surge[0]
        else:
            more = [s._replace(pods=m) for s, m in zip(shape.pod_sets, self.surge, strict=False) if m]
            made += [shape._replace(pod_sets=tuple(more))] if more else []
        return [
            Ask(f"{name}{n + 1}", self.service.queue, one, shape.priority, shape.priority_class, n)
            for n, one in enumerate(made)
        ]

    def running(self, queue: str) -> Iterator[Shape]:
        """What runs through the queue, as promised or in sight, and does not serve."""
        promises = self.bench.promises
        teams = [t for t in promises.teams if queue in t.queues]
        promised = [s for t in teams for s in shapes_of(self.arena, t, queue)]
        for shape in (*promised, *self.arena.shapes(queue)):
            serves = shape.priority_class in promises.protection.serving and shape.priority_class
            if not serves and shape.source not in self.sources:
                yield shape

    def batch(self) -> Iterator[tuple[str, Shape]]:
        """What runs in queues and does not serve."""
        for queue in self.arena.queues():
            yield from ((queue, shape) for shape in self.running(queue))

    def tolerations(self) -> tuple[Toleration, ...]:
        """What pods of batch work bring, as far as it is known."""
        every = (t for _, shape in self.batch() for spec in shape.pod_sets for t in spec.tolerations)
        return tuple(dict.fromkeys(every))

    def may(self, taker: str, holder: str) -> bool:
        """Whether pods of one class may displace those of another."""
        taker, holder = taker or self.arena.pod_default, holder or self.arena.pod_default
        for rung in self.arena.ladder():
            if (rung.taker, rung.holder) == (taker, holder):
                return rung.may
        values = self.arena.pod_classes
        return values.get(taker, 0) > values.get(holder, 0)

    def called(self, name: str) -> str:
        """A pod class for people."""
        name = name or self.arena.pod_default
        return f"{name or _NAMELESS} ({self.arena.pod_classes.get(name, 0)})"

    def flavors(self, resource: str) -> tuple[str, ...]:
        """Through which its pods go; () outside of queues."""
        if not self.service.queue:
            return ()
        pairs = self.arena.nominal(self.service.queue)
        return tuple(f for f, r in pairs if r == resource)

    def flavors_of(self, one: Service, resource: str) -> tuple[str, ...]:
        """The same of another service."""
        if not one.queue:
            return ()
        return tuple(f for f, r in self.arena.nominal(one.queue) if r == resource)

    def replicas(self) -> list[Shape]:
        """The workloads that it is for the queue."""
        shape = self.service.shape
        if not self.service.apart or len(shape.pod_sets) != 1:
            return [shape]
        (spec,) = shape.pod_sets
        return [shape._replace(pod_sets=(spec._replace(pods=1),))] * spec.pods

    def displaces(self) -> bool:
        """Whether its pods displace all batch pods where it needs room."""
        if self.service.queue and self.arena.places(self.service.queue):
            return False
        classes = {spec.priority_class for _, shape in self.batch() for spec in shape.pod_sets} or {""}
        return all(self.may(spec.priority_class, other) for spec in self.sets for other in classes)
