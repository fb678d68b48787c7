"""A service among other services: what they keep out of nodes that batch work takes from all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from policycheck.certify.arena import SUBMIT, Ask, Load, Scenario, Service, Story
from policycheck.certify.attack import Rival, attack, fill, mixes, plain
from policycheck.certify.claims.replica import Serving
from policycheck.certify.verdict import Counterexample
from policycheck.model.workload import PodSet

MOST_ASKS = 64  # replicas of one story
SERVICE = "service-"  # names of the workloads that serve
_ODD = re.compile(r"[^a-z0-9-]+")
_LONG = 40  # characters of a service's name in that of a workload


class Company:
    """The services beside one: those in sight, and those that were promised."""

    def __init__(self, of: Serving, claim: str) -> None:
        self.of, self.claim = of, claim
        self.bench, self.arena, self.service, self.seen = of.bench, of.arena, of.service, of.seen
        self.every = of.every

    def keeps_out(self, spec: PodSet, resource: str) -> int:
        """Pods of this size that other services keep out for certain: all of whose nodes are among those of the
        pods.
        """

        def out(one: Service) -> int:
            return self._kept_out(spec, resource, one)

        return sum(map(out, self._rest(out)))

    def _kept_out(self, spec: PodSet, resource: str, one: Service) -> int:
        each = spec.requests[resource]
        return sum(
            s.pods * (s.requests[resource] // each)
            for s in one.shape.pod_sets
            if s.requests.get(resource, 0) >= each and self._homes_within(spec, s, one, resource)
        )

    def _homes_within(self, spec: PodSet, other: PodSet, one: Service, resource: str) -> bool:
        """Whether all nodes of the other's pods are open to this one's."""
        mine, theirs = self.homes(spec, other, one, resource)
        return bool(theirs) and theirs <= mine

    def crowded(self, resource: str, flavors: Collection[str]) -> Counterexample | None:
        """Batch work in ``flavors`` takes nodes, and of all services, with a rollout, one finds no room that has
        room without batch work; None where it does not come to that when it is played.
        """
        mine = self.of.asks(f"{SERVICE}{_short(self.service)}-")
        for number, one in enumerate(self._rest(_pods), len(mine) + 1):
            if not one.queue:
                continue
            shape, name = one.shape, f"{SERVICE}{_short(one)}-{number}"
            mine.append(Ask(name, one.queue, shape, shape.priority, shape.priority_class))
        if not self.service.queue or len(mine) > MOST_ASKS:
            return None
        unit = plain(resource, 1, {}, f"one {resource}")  # what the arithmetic takes batch work to be
        who = [
            Rival(queue, (unit, *self.of.running(queue)))
            for queue in self.arena.queues()
            if queue not in self.of.queues
            and any(f in flavors and r == resource for f, r in self.arena.nominal(queue))
        ]
        for mix in mixes(self.arena, who):
            scenario = attack(fill(self.arena, who, mix), mine)
            if self._stuck(scenario, self.arena.play(scenario)):
                name = f"{self.claim} {self.service.name}"
                return self.bench.counterexample(scenario, self._stuck, name, _serves)
        return None

    def _stuck(self, scenario: Scenario, story: Story) -> str:
        """In words, who of the services waits; "" where somebody waits without batch work too."""
        waits = [
            a for a in scenario.asks if _serves(a) and (a.name in story.waiting or a.name in story.unplaced)
        ]
        if not waits:
            return ""
        moves = tuple(m._replace(asks=tuple(filter(_serves, m.asks))) for m in scenario.moves)
        alone = scenario._replace(moves=tuple(m for m in moves if m.what == SUBMIT and m.asks))
        rest = self.arena.play(alone)
        if any(a.name not in rest.holding or a.name in rest.unplaced for a in alone.asks):
            return ""
        why = story.waiting.get(waits[0].name) or story.unplaced.get(waits[0].name)
        return f"{waits[0].name} of {waits[0].queue} finds no node beside batch work: {why}"

    def _rest(self, weight: Callable[[Service], int]) -> list[Service]:
        """The other services: of each queue those promised or those in sight, whichever weigh more, since one may be
        the other. In its own queue without what it is itself; outside of queues each stands for itself.
        """
        found = [one for one in self.seen if not one.queue and one.name != self.service.name]
        for queue in dict.fromkeys(one.queue for one in self.every if one.queue):
            here = [one for one in self.every if one.queue == queue]
            ways: list[list[Service] | None] = [
                [one for one in here if (one in self.seen) is is_seen] for is_seen in (True, False)
            ]
            if queue == self.service.queue:
                ways = [_without(some or (), self.service) for some in ways]
            known = [way for way in ways if way is not None]
            found += max(known, key=lambda some: sum(map(weight, some)), default=[])
        return found

    def homes(self, spec: PodSet, other: PodSet, one: Service, resource: str) -> tuple[set[int], set[int]]:
        """Kinds of nodes to which its pods may go, and to which those of the other may."""
        loads = [
            Load("it", spec._replace(pods=1), 1, self.of.flavors(resource)),
            Load(one.name, other._replace(pods=1), 1, self.of.flavors_of(one, resource)),
        ]
        homes = [{c for home in d.allowed for c in home} for d in self.arena.posed(loads).demands]
        return (homes[0], homes[-1]) if homes else (set(), set())


def _short(one: Service) -> str:
    """The last part of its name, as a name of a workload may be."""
    return _ODD.sub("-", re.split(r"[/:]", one.name)[-1].strip().lower()).strip("-")[:_LONG] or "x"


def _serves(ask: Ask) -> bool:
    return ask.name.startswith(SERVICE)


def _pods(one: Service) -> int:
    return sum(spec.pods for spec in one.shape.pod_sets)


def _without(some: Sequence[Service], one: Service) -> list[Service] | None:
    """The others: without the service itself, or what has its name or is like it; None where none of them is."""
    requests = [spec.requests for spec in one.shape.pod_sets]
    itself = next(
        (
            other
            for is_it in (
                lambda o: o.name == one.name,
                lambda o: _short(o) == _short(one),
                lambda o: [spec.requests for spec in o.shape.pod_sets] == requests,
            )
            for other in some
            if is_it(other)
        ),
        None,
    )
    return None if itself is None else [other for other in some if other is not itself]
