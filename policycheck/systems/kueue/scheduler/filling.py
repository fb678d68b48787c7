"""All podsets of one workload in their flavors: groups, what earlier podsets take, elastic slices, and
the replacement of a failed node.

Sources: KEP-2724 "Topology aware scheduling" (podset groups, node replacement), KEP-77 "Elastic jobs";
facts 1c.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policycheck.model.workload import TopologyRequest
from policycheck.systems.kueue.model import TopologyAssignment
from policycheck.systems.kueue.scheduler.counts import Profile
from policycheck.systems.kueue.scheduler.domains import Domains
from policycheck.systems.kueue.scheduler.land import PODS, Land
from policycheck.systems.kueue.scheduler.placing import Finder, Placement
from policycheck.systems.kueue.scheduler.room import Assumed
from policycheck.systems.kueue.scheduler.wish import Ask, layers_of, level_of

Asks = Mapping[str, Sequence[Ask]]  # by flavor


class Failure(NamedTuple):
    """The podset that found no place, in which flavor, and why."""

    member: int
    flavor: str
    text: str


class Holding(NamedTuple):
    """A workload that is placed already and has lost a node."""

    lost: str  # the first of its unhealthy nodes; only one is ever replaced
    placed: Mapping[int, TopologyAssignment]  # by podset
    pod_owned: bool


class Found(NamedTuple):
    """Assignments by podset, as far as places were found."""

    placed: Mapping[int, TopologyAssignment]
    failure: Failure | None


def fill(
    land: Land,
    asks: Asks,
    profile: Profile,
    *,
    holding: Holding | None = None,
    empty: bool = False,
    telling: bool = False,
) -> Found:
    """Places for all ``asks``, flavor by flavor; ``empty`` as if nobody else had been placed."""
    placed: dict[int, TopologyAssignment] = {}
    shared = Assuming()
    for flavor in sorted(asks):
        finder = Finder(land, flavor, profile, empty=empty, telling=telling)
        assumed = shared if profile.overlapping and finder.domains.hostname else Assuming()
        filling = Filling(finder, assumed)
        for group in _groups(asks[flavor]):
            failure = filling.replace(group, holding) if holding is not None else filling.group(group)
            if failure is not None:
                return Found({**placed, **filling.placed}, failure)
        placed.update(filling.placed)
    return Found(placed, None)


class Assuming:
    """What podsets that were placed before take; added up only when somebody asks."""

    __slots__ = ("_known", "_later")

    def __init__(self) -> None:
        self._known: Assumed = {}
        self._later: list[tuple[TopologyAssignment, Mapping[str, int]]] = []

    def add(self, assignment: TopologyAssignment, each: Mapping[str, int]) -> None:
        """``assignment`` takes ``each`` for every pod."""
        self._later.append((assignment, each))

    def total(self) -> Assumed:
        """All that is taken, by leaf."""
        later, self._later = self._later, []
        for assignment, each in later:
            for values, pods in assignment.domains:
                held = self._known.setdefault(values, {})
                for resource, amount in each.items():
                    held[resource] = held.get(resource, 0) + amount * pods
                held[PODS] = held.get(PODS, 0) + pods
        return self._known


def _groups(asks: Sequence[Ask]) -> list[list[Ask]]:
    if len(asks) == 1:
        return [[asks[0]]]
    found: dict[object, list[Ask]] = {}
    for number, ask in enumerate(asks):
        found.setdefault(ask.request.group or number, []).append(ask)
    return list(found.values())


class Filling:
    """One flavor, podset after podset."""

    def __init__(self, finder: Finder, assumed: Assuming) -> None:
        self._finder = finder
        self._domains: Domains = finder.domains
        self._assumed = assumed
        self.placed: dict[int, TopologyAssignment] = {}

    def _assignment(self, placement: Placement) -> TopologyAssignment:
        domains = self._domains
        return TopologyAssignment(
            domains.written_levels, tuple((domains.names[leaf], pods) for leaf, pods in placement)
        )

    def _fail(self, ask: Ask, text: str) -> Failure:
        return Failure(ask.member, self._finder.flavor, text)

    # -- a workload that is placed for the first time -------------------------------------------

    def group(self, asks: Sequence[Ask]) -> Failure | None:
        """A podset, or workers with their leader (the smaller of the two)."""
        workers, leader = asks[0], asks[1] if len(asks) > 1 else None
        if leader is not None and leader.pods > workers.pods:
            workers, leader = leader, workers
        if self._finder.profile.elastic and workers.before is not None and self._stands(workers, leader):
            return self._resize(workers, leader)
        found = self._finder.place(workers, leader, self._assumed.total())
        if isinstance(found, str):
            return self._fail(asks[0], found)
        for ask, placement in ((workers, found[0]), (leader, found[1])):
            if ask is not None:
                self._put(ask, self._assignment(placement))
        return None

    def _put(self, ask: Ask, assignment: TopologyAssignment) -> None:
        self.placed[ask.member] = assignment
        self._assumed.add(assignment, ask.each)

    # -- an elastic job -------------------------------------------------------------------------

    def _stands(self, workers: Ask, leader: Ask | None) -> bool:
        """Whether the earlier placement can be kept: all of its nodes are there, slices are whole."""
        before = workers.before
        if before is None or self._stale(before):
            return False
        if leader is not None and leader.before is not None and self._stale(leader.before):
            return False
        layers = layers_of(workers.request)
        size = max(1, layers[0][1]) if layers else 1
        return sum(pods for _, pods in before.domains) % size == 0 and workers.pods % size == 0

    def _stale(self, assignment: TopologyAssignment) -> str:
        """A domain that is not there any more, or ""."""
        gone = (values for values, _ in assignment.domains if not self._domains.is_live(values))
        return next((",".join(values) or "a domain without a name" for values in gone), "")

    def _resize(self, workers: Ask, leader: Ask | None) -> Failure | None:
        """More pods: what is there stays and the rest is placed. Fewer: the last are taken off."""
        before = workers.before
        if before is None:
            return None
        placed = sum(pods for _, pods in before.domains)
        if workers.pods <= placed:
            self._put(workers, _truncate(before, workers.pods))
            if leader is not None and leader.before is not None:
                self._put(leader, leader.before)
            return None
        self._assumed.add(before, workers.each)
        kept = leader.before if leader is not None else None
        if leader is not None and kept is not None:
            self._put(leader, kept)
        more = workers._replace(pods=workers.pods - placed, before=None)
        newcomer = leader if kept is None else None
        found = self._finder.place(more, newcomer, self._assumed.total())
        if isinstance(found, str):
            return self._fail(workers, found)
        added = self._assignment(found[0])
        self.placed[workers.member] = self._merged(added, before)
        self._assumed.add(added, workers.each)
        if newcomer is not None:
            self._put(newcomer, self._assignment(found[1]))
        return None

    def _merged(self, a: TopologyAssignment, b: TopologyAssignment) -> TopologyAssignment:
        """Both together, in the order of leaves."""
        found: dict[int, int] = {}
        for values, pods in (*a.domains, *b.domains):
            leaf = self._domains.where[values]
            found[leaf] = found.get(leaf, 0) + pods
        return self._assignment(tuple(sorted(found.items())))

    # -- a failed node --------------------------------------------------------------------------

    def replace(self, asks: Sequence[Ask], holding: Holding) -> Failure | None:
        """New places for the pods of the lost node, all others staying where they are."""
        for ask in asks:
            before = holding.placed.get(ask.member)
            if before is None:
                continue
            if holding.pod_owned and self._finder.profile.keeps_pod_owned:
                self.placed[ask.member] = before
                continue
            failure = self._replace(ask, before, holding.lost)
            if failure is not None:
                return failure
        return None

    def _replace(self, ask: Ask, before: TopologyAssignment, lost: str) -> Failure | None:
        missing = 0
        for values, pods in before.domains:
            missing = pods if values[-1:] == (lost,) else missing
        rest = before._replace(domains=tuple(d for d in before.domains if d[0][-1:] != (lost,)))
        stale = self._stale(rest)
        if stale:
            return self._fail(ask, f"the node cannot be replaced, since {stale} is not there any more either")
        within, request = self._confined(ask, rest, missing)
        found = self._finder.place(
            ask._replace(pods=missing, request=request), None, self._assumed.total(), within=within
        )
        if isinstance(found, str):
            return self._fail(ask, found)
        if not found[0]:
            return self._fail(ask, f"cannot find replacement assignment for unhealthy node: {lost}")
        added = self._assignment(found[0])
        self.placed[ask.member] = self._merged(added, rest)
        self._assumed.add(added, ask.each)
        return None

    def _confined(
        self, ask: Ask, rest: TopologyAssignment, missing: int
    ) -> tuple[int | None, TopologyRequest]:
        """The domain in which the replacement must be, and what is asked of it.

        A slice that lost some of its pods is mended where its others are, innermost first; else the
        domain that was required holds.
        """
        request, levels = ask.request, self._domains.levels
        key = level_of(request, levels, implied=ask.implied)
        if key not in levels or not rest.domains:
            return None, request
        layers = layers_of(request)
        if layers and layers[0][1] > 0 and missing % layers[0][1]:
            broken = next(
                ((k, size) for k, size in reversed(layers) if size <= 0 or missing % size), layers[0]
            )
            within = self._incomplete(rest, missing, *broken)
            if within is None:
                return None, request
            whole = next(((k, s) for k, s in reversed(layers) if s > 0 and missing % s == 0), ("", 1))
            return within, request._replace(slices=(), slice_level=whole[0], slice_size=whole[1])
        if request.mode != "required":
            return None, request
        leaf = self._domains.where[rest.domains[0][0]]
        return self._domains.above(leaf, levels.index(key)), request

    def _incomplete(self, rest: TopologyAssignment, missing: int, key: str, size: int) -> int | None:
        """The domain at level ``key`` in which ``missing`` pods complete a slice of ``size``."""
        level = self._domains.level(key)
        if level < 0 or size <= 0:
            return None
        held: dict[int, int] = {}
        for values, pods in rest.domains:
            domain = self._domains.above(self._domains.where[values], level)
            held[domain] = held.get(domain, 0) + pods
        return next((d for d in sorted(held) if (held[d] + missing) % size == 0), None)


def _truncate(assignment: TopologyAssignment, pods: int) -> TopologyAssignment:
    """The first ``pods`` pods of the assignment."""
    kept = []
    for values, held in assignment.domains:
        if pods <= 0:
            break
        kept.append((values, min(held, pods)))
        pods -= held
    return assignment._replace(domains=tuple(kept))
