"""What was promised as loads on nodes: jobs first, then what is left of each guarantee as single units.

Twice. ``strict`` assigns every job to one queue and flavor with quota for it, in the order of the flavors: what
holds so is kept with the quota that there is. ``wide`` leaves every flavor of the team open and takes units to
tolerate everything: what fails even so can not be had in any way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policycheck.certify.arena import Arena, Ask, Load
from policycheck.certify.attack import MADE
from policycheck.certify.claims.common import MINE
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.model.placement import Toleration
from policycheck.model.workload import PodSet

_CHUNKS: Mapping[str, int] = {"cpu": 1000, "memory": 1 << 30}
_PARTS = 64  # in which any other companion is taken
_MOST_JOBS = 512  # of one shape
_ANYTHING = (Toleration("", "Exists"),)
Key = tuple[str, str, str]  # queue, flavor, resource


class Laid(NamedTuple):
    """The loads in both readings, alike in number and order; and asks that hold all of it in queues."""

    strict: tuple[Load, ...]
    wide: tuple[Load, ...]
    asks: tuple[Ask, ...]
    jobs: int  # of promised or declared shapes


def laid(arena: Arena, promises: Promises) -> Laid:
    """All that is promised in one scope: to teams, to queues of nobody's, by cohorts, and what serves outside."""
    made = _Laying(arena)
    elsewhere = {queue for queue in arena.queues() if arena.inapplicable(queue)}
    theirs = {queue for team in promises.teams for queue in team.queues}
    for team in promises.teams:
        if not team.queues or not elsewhere.issuperset(team.queues):
            made.team(team)
    for one in arena.holdings():
        is_here = not elsewhere.issuperset(one.queues or (one.holder,)) and one.holder not in elsewhere
        if is_here and (one.kind == "Cohort" or one.holder not in theirs):
            kind = "cohort" if one.kind == "Cohort" else "queue"
            made.units(f"{kind} {one.holder}", (one.flavor,), (one.flavor,), one.resource, one.amount, ())
            made.asked(
                "" if kind == "cohort" else one.holder, one.resource, one.amount, f"{one.holder}-{one.flavor}"
            )
    for service in arena.services():
        if not service.queue:
            made.outside(service.name, service.shape)
    return Laid(tuple(made.strict), tuple(made.wide), tuple(made.asks), made.jobs)


class _Laying:
    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.strict: list[Load] = []
        self.wide: list[Load] = []
        self.asks: list[Ask] = []
        self.jobs = 0
        self._open: dict[tuple[int, str], tuple[PodSet, bool]] = {}

    def opens(self, pods: PodSet, flavor: str) -> bool:
        """As the arena says, each asked once."""
        key = id(pods), flavor
        if key not in self._open:
            self._open[key] = (
                pods,
                self.arena.opens(pods, flavor),
            )  # kept, so that no other gets its identity
        return self._open[key][1]

    def team(self, team: TeamPromise) -> None:
        _Team(self, team).lay()

    def both(self, strict: Load, flavors: tuple[str, ...], pods: PodSet | None = None) -> None:
        """A load, and what it is in the wide reading."""
        self.strict.append(strict)
        self.wide.append(strict._replace(flavors=flavors, pods=pods or strict.pods))

    def units(
        self,
        who: str,
        flavors: tuple[str, ...],
        wide: tuple[str, ...],
        resource: str,
        amount: int,
        tolerations: tuple[Toleration, ...],
    ) -> None:
        """``amount`` of a resource as small pods."""
        each = self._each(resource, amount)
        for size, times in ((each, amount // each), (amount % each, 1)):
            if size and times:
                spec = PodSet("main", 1, {resource: size}, tolerations=tolerations)
                load = Load(f"{who} ({resource})", spec, times, flavors)
                self.both(load, wide, spec._replace(tolerations=_ANYTHING))

    def _each(self, resource: str, amount: int) -> int:
        if resource in self.arena.accelerators:
            return 1
        return _CHUNKS.get(resource, max(1, amount // _PARTS))

    def asked(self, queue: str, resource: str, amount: int, name: str) -> None:
        """The same as one workload of a story."""
        if queue and amount and resource in self.arena.accelerators:
            spec = PodSet("main", amount, {resource: 1})
            self.asks.append(
                Ask(f"{name}-rest", queue, Shape(name, (spec,), source=MADE), age=len(self.asks))
            )

    def outside(self, name: str, shape: Shape) -> None:
        for spec in shape.pod_sets:
            if spec.pods and any(r in self.arena.accelerators for r in spec.requests):
                self.both(Load(name, spec._replace(pods=1), spec.pods), ())


class _Team:
    """One team: what is left of its quota and of its guarantee while its jobs are laid out."""

    def __init__(self, to: _Laying, team: TeamPromise) -> None:
        self.to, self.promise, self.arena = to, team, to.arena
        known = set(self.arena.queues())
        self.queues = [q for q in team.queues if q in known]
        self.quota: dict[Key, int] = {
            (q, f, r): v for q in self.queues for (f, r), v in self.arena.nominal(q).items()
        }
        self.left = {r: v for r, v in team.guarantee.items() if v > 0}
        self.by_flavor = dict(team.flavors)
        self.named = {r for _, r in team.flavors}

    def lay(self) -> None:
        tolerations: dict[Toleration, None] = {}
        for shape, times in self._shapes():
            laid = 0
            while laid < times and self._job(shape, laid):
                laid += 1
            self.to.jobs += laid
            for spec in shape.pod_sets:
                tolerations.update(dict.fromkeys(spec.tolerations))
        self._rest(tuple(tolerations))

    def _shapes(self) -> Iterator[tuple[Shape, int]]:
        if self.promise.shapes:
            yield from ((s, min(s.jobs, _MOST_JOBS)) for s in self.promise.shapes)
            return
        for queue in self.queues:
            # A service in sight is there as often as it runs; a job as often as it is written.
            yield from ((s._replace(queues=(queue,)), 1) for s in self.arena.shapes(queue))

    def _job(self, shape: Shape, number: int) -> bool:
        """One job more, where its queue has quota for it and the guarantee covers it."""
        asking = [s for s in shape.pod_sets if s.pods and any(r in self.left for r in s.requests)]
        for queue in self.queues:
            if not asking or (shape.queues and queue not in shape.queues):
                continue
            chosen = self._assigned(queue, asking)
            if chosen is None:
                continue
            for spec, flavor in zip(asking, chosen, strict=True):
                self._take(queue, flavor, spec)
                name = f"{self.promise.name}: {shape.name}"
                self._add(Load(name, spec, 1, (flavor,)), self._flavors(spec))
            name = f"{MINE}{self.promise.name}-{shape.name.rpartition('/')[2]}-{number + 1}"
            self.to.asks.append(
                Ask(name, queue, shape, shape.priority, shape.priority_class, len(self.to.asks))
            )
            return True
        return False

    def _add(self, load: Load, wide: tuple[str, ...]) -> None:
        if self.to.strict:
            last = self.to.strict[-1]
            if last._replace(times=1) == load:
                self.to.strict[-1] = last._replace(times=last.times + 1)
                self.to.wide[-1] = self.to.wide[-1]._replace(times=last.times + 1)
                return
        self.to.both(load, wide)

    def _flavors(self, spec: PodSet) -> tuple[str, ...]:
        """All through which such pods might get quota of this team's."""
        asked = {r for r in spec.requests if r in self.left}
        names = dict.fromkeys(f for (_, f, r) in self.quota if r in asked)
        return tuple(f for f in names if self.to.opens(spec, f)) or tuple(names)

    def _assigned(self, queue: str, asking: Sequence[PodSet]) -> list[str] | None:
        """A flavor for each podset, the first that has quota left and nodes for it."""
        taken: dict[Key, int] = {}
        chosen = []
        flavors = list(dict.fromkeys(f for (q, f, _) in self.quota if q == queue))
        for spec in asking:
            for flavor in flavors:
                keys = {
                    (queue, flavor, r): v * spec.pods
                    for r, v in spec.requests.items()
                    if self._counts(queue, r)
                }
                if self._has(keys, taken) and self.to.opens(spec, flavor):
                    for key, value in keys.items():
                        taken[key] = taken.get(key, 0) + value
                    chosen.append(flavor)
                    break
            else:
                return None
        return chosen

    def _counts(self, queue: str, resource: str) -> bool:
        """Whether the queue has quota of it in the same flavors as of accelerators."""
        return any(q == queue and r == resource for q, _, r in self.quota) and (
            resource in self.left or resource in self.arena.accelerators
        )

    def _has(self, keys: Mapping[Key, int], taken: Mapping[Key, int]) -> bool:
        for (queue, flavor, resource), value in keys.items():
            key = queue, flavor, resource
            total = value + taken.get(key, 0)
            of_resource = value + sum(v for k, v in taken.items() if k[2] == resource)
            most = min(self.quota.get(key, 0), self._promised(flavor, resource))
            if total > most or of_resource > self.left.get(resource, 0):
                return False
        return bool(keys)

    def _promised(self, flavor: str, resource: str) -> int:
        """What is left of the guarantee that may be had in the flavor."""
        if resource in self.named:
            return self.by_flavor.get((flavor, resource), 0)
        return self.left.get(resource, 0)

    def _take(self, queue: str, flavor: str, spec: PodSet) -> None:
        for resource, each in spec.requests.items():
            if self._counts(queue, resource):
                self._spend((queue, flavor, resource), each * spec.pods)

    def _spend(self, key: Key, amount: int) -> None:
        _, flavor, resource = key
        self.quota[key] = self.quota.get(key, 0) - amount
        if resource in self.left:
            self.left[resource] -= amount
        if resource in self.named:
            self.by_flavor[flavor, resource] = self.by_flavor.get((flavor, resource), 0) - amount

    def _rest(self, tolerations: tuple[Toleration, ...]) -> None:
        """What is left of the guarantee, where there is quota for it; and beyond quota, anywhere."""
        who = f"team {self.promise.name}"
        for resource in sorted(self.left):
            flavors = tuple(dict.fromkeys(f for (_, f, r) in self.quota if r == resource))
            for key in [k for k in self.quota if k[2] == resource]:
                queue, flavor, _ = key
                amount = min(self.quota[key], self._promised(flavor, resource), self.left[resource])
                if amount > 0:
                    self._spend(key, amount)
                    wide = (flavor,) if resource in self.named else flavors
                    self.to.units(who, (flavor,), wide, resource, amount, tolerations)
                    self.to.asked(queue, resource, amount, f"{queue}-{flavor}")
            for flavor, of in [k for k, v in self.by_flavor.items() if v > 0 and k[1] == resource]:
                amount = min(self.by_flavor[flavor, of], self.left[resource])
                if amount > 0:
                    self.left[resource] -= amount
                    self.to.units(who, (flavor,), (flavor,), resource, amount, tolerations)
            if self.left[resource] > 0 and flavors:
                self.to.units(who, flavors, flavors, resource, self.left[resource], tolerations)
