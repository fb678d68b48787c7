"""The smallest situation in which one queue asks for what another holds, decided by a real cycle.

Only quota, priorities and policies are looked at: one (flavor, resource), no taints, no topology, no
admission checks. Whether a situation exists is arithmetic on the quota tree alone (facts of KEP-79);
what happens in it is for the decision to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from policycheck.model.placement import Selector
from policycheck.model.workload import PodSet
from policycheck.simulate.matrix import Rank
from policycheck.systems.kueue.model import (
    Admission,
    ClusterQueue,
    Condition,
    Configuration,
    FlavorQuotas,
    KueueObjects,
    KueueWorkload,
    LocalQueue,
    PodSetAssignment,
    Quota,
    ResourceFlavor,
    ResourceGroup,
)
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.compile import compile_session
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.state import FlavorResource
from policycheck.systems.kueue.taking import ANY, BORROWING, COHORT, OWN, chain
from policycheck.systems.kueue.target import Target

_MOST = 1 << 62  # no request is larger; what needs more is unlimited and never contested
_TOP = (1 << 31) - 1  # priority of holders that must not be what is taken
_SPACE = "contest"
_BEFORE, _TAKER, _AFTER = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z"
_NOW = 1 << 62  # of the cycle: after everything
_FINAL, _INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


class Contest(NamedTuple):
    """Who holds how much before the taker asks for ``ask``; of the holder's, ``at_stake`` is the victim."""

    held: Mapping[str, int]
    ask: int
    at_stake: int


class Arena:
    """The queues of one tree reduced to one (flavor, resource)."""

    def __init__(
        self, objects: KueueObjects, queues: Iterable[str], pair: FlavorResource, target: Target
    ) -> None:
        self.pair = pair
        reduced = _reduced(objects, queues, pair)
        self._session = compile_session(reduced, {_SPACE: {}}, target)
        self.place = {name: queue.node for name, queue in self._session.queues.items()}
        self.number = next(iter(self._session.queues.values())).tree if self._session.queues else 0
        self._rules = {name: queue.rules for name, queue in self._session.queues.items()}

    def _fresh(self) -> Session:
        return self._session.fork()

    def contest(self, taker: str, holder: str, situation: str) -> Contest | None:
        """A situation in which ``taker`` is short of what ``holder`` has on loan; None when none is found."""
        for others in (_idle, _at_nominal, _greedy):
            found = _Build(self._fresh(), self, taker, holder, situation).run(others)
            if found is not None:
                return found
        return None

    def run(self, contest: Contest, taker: str, holder: str, rank: Rank) -> str | None:
        """By which reason the victim is taken; "" when it is spared, None when others go in its place."""
        session = self._fresh()
        victim = f"{_SPACE}/victim"
        created = _AFTER if rank.is_newer else _BEFORE
        offered = []
        for name, amount in contest.held.items():
            rest = amount - contest.at_stake if name == holder else amount
            if rest > 0:
                offered.append(self._holding(name, f"rest-{self.place[name]}", rest, _TOP, _BEFORE))
        offered.append(self._holding(holder, "victim", contest.at_stake, rank.victim, created))
        ask = self._asking(taker, "taker", contest.ask, rank.taker, _TAKER)
        session.offer([*offered, ask])
        decided = [d for d in session.cycle(_NOW) if d.workload == ask.id]
        victims = {v.workload: v.reason for d in decided for v in d.victims}
        if victim in victims:
            return victims[victim]
        return None if victims else ""

    def _asking(self, queue: str, name: str, amount: int, priority: int, created: str) -> KueueWorkload:
        resource = self.pair[1]
        spec = PodSet("main", amount, {}) if resource == "pods" else PodSet("main", 1, {resource: amount})
        return KueueWorkload(_SPACE, name, queue, (spec,), priority, created=created, uid=name)

    def _holding(self, queue: str, name: str, amount: int, priority: int, created: str) -> KueueWorkload:
        flavor, resource = self.pair
        asking = self._asking(queue, name, amount, priority, created)
        given = PodSetAssignment("main", asking.pod_sets[0].pods, {resource: flavor}, {resource: amount})
        held = {c: Condition(c, True, c, created) for c in ("QuotaReserved", "Admitted")}
        return asking._replace(admission=Admission(queue, (given,)), conditions=held)

    def may_ask(self, tree: Tree, queue: str, amount: int) -> bool:
        """Whether preemption is tried at all for ``amount``: within nominal quota, within the quota of
        a cohort below the root, or with a policy to preempt while borrowing.
        """
        cell = self.place[queue]
        within = tree.nominal[cell] >= amount or tree.reach(cell, amount)[1]
        return within or self._rules[queue].may_preempt_borrowing


def _reduced(objects: KueueObjects, queues: Iterable[str], pair: FlavorResource) -> KueueObjects:
    kept: dict[str, ClusterQueue] = {}
    for name in queues:
        queue = objects.cluster_queues[name]
        kept[name] = ClusterQueue(
            name,
            queue.cohort,
            _only(queue.groups, pair),
            Selector(),
            preemption=queue.preemption,
            fair_weight=queue.fair_weight,
        )
    above = {cohort for queue in kept.values() for cohort in chain(queue, objects.cohorts)}
    return KueueObjects(
        cluster_queues=kept,
        cohorts={
            name: c._replace(groups=_only(c.groups, pair))
            for name, c in objects.cohorts.items()
            if name in above
        },
        local_queues={(_SPACE, name): LocalQueue(_SPACE, name, name) for name in kept},
        flavors={pair[0]: ResourceFlavor(pair[0])},
        configuration=Configuration(fair_sharing=objects.configuration.fair_sharing),
    )


def _only(groups: Iterable[ResourceGroup], pair: FlavorResource) -> tuple[ResourceGroup, ...]:
    flavor, resource = pair
    for group in groups:
        for given in group.flavors:
            if given.name == flavor and resource in given.resources:
                quota: dict[str, Quota] = {resource: given.resources[resource]}
                return (ResourceGroup((resource,), (FlavorQuotas(flavor, quota),)),)
    return ()


class _Build:
    """One attempt to bring about a situation, on a tree that nothing is used of yet."""

    def __init__(self, session: Session, arena: Arena, taker: str, holder: str, situation: str) -> None:
        self._session = session
        self.tree = session.trees[arena.number]
        self._arena = arena
        self.taker, self.holder = taker, holder
        self._situation = situation
        self.held: dict[str, int] = {}

    def use(self, queue: str, amount: int) -> None:
        """``queue`` holds ``amount`` more."""
        if amount > 0:
            self.tree.add(self._arena.place[queue], amount)
            self.held[queue] = self.held.get(queue, 0) + amount

    def others(self) -> list[str]:
        """Queues that are neither taker nor holder."""
        return [name for name in self._arena.place if name not in (self.taker, self.holder)]

    def free(self, queue: str) -> int:
        """What ``queue`` may still use."""
        return self.tree.free(self._arena.place[queue])

    def left(self, queue: str) -> int:
        """What ``queue`` may still use within its nominal quota."""
        cell = self._arena.place[queue]
        return min(self.free(queue), max(0, self.tree.nominal[cell] - self.tree.usage[cell]))

    def run(self, others: Callable[[_Build], None]) -> Contest | None:
        """The contest with ``others`` doing as they are told, or None when it does not come to one."""
        if self._situation in (COHORT, BORROWING) and self.taker != self.holder:
            self.use(self.taker, min(self.left(self.taker), _MOST))
        if others is not _idle:
            _at_nominal(self)
        self.use(self.holder, min(self.free(self.holder), _MOST))
        if others is _greedy:
            _greedy(self)
        ask = self.free(self.taker) + 1
        if ask >= _MOST or any(v >= _MOST for v in self.held.values()) or not self._holds(ask):
            return None
        if not self._comes_to_it(ask):
            return None
        return Contest(dict(self.held), ask, 1)

    def _holds(self, ask: int) -> bool:
        """Whether the situation is the one that is wanted."""
        tree, cell = self.tree, self._arena.place[self.taker]
        if not self._arena.may_ask(tree, self.taker, ask) or ask > tree.ceiling[cell]:
            return False
        if self.taker == self.holder:
            return self.held.get(self.holder, 0) > 0
        within = tree.usage[cell] + ask <= tree.nominal[cell]
        if self._situation == OWN:
            return within
        if within:
            return False
        if self._session.world.fair is not None:
            return True
        return self._advantage(ask) == (self._situation == COHORT)

    def _advantage(self, ask: int) -> bool:
        """Whether a cohort above the taker and not above the holder has quota of its own for the rest."""
        tree, node = self.tree, self._arena.place[self.taker]
        shared = set(tree.path(self._arena.place[self.holder]))
        rest = max(0, ask - max(0, tree.local[node] - tree.usage[node]))
        for above in tree.path(node):
            if above in shared:
                return False
            if tree.usage[above] + rest <= tree.subtree[above]:
                return True
            rest = max(0, rest - max(0, tree.local[above] - tree.usage[above]))
        return False

    def _comes_to_it(self, ask: int) -> bool:
        """Whether one unit less in the holder's hands makes room, and nothing but policy protects it."""
        tree, mine, theirs = self.tree, self._arena.place[self.taker], self._arena.place[self.holder]
        if self.taker != self.holder:
            ours = set(tree.path(mine))
            below = [theirs, *(n for n in tree.path(theirs) if n not in ours)]
            if any(tree.usage[n] <= tree.subtree[n] for n in below):
                return False
        if tree.usage[theirs] < 1 or not self._shares_allow(ask):
            return False
        tree.remove(theirs, 1)
        fits = tree.free(mine) >= ask
        tree.add(theirs, 1)
        return fits

    def _shares_allow(self, ask: int) -> bool:
        """Under fair sharing: whether the shares are such that the taker may take, by either strategy."""
        world = self._session.world
        if world.fair is None or self._situation == ANY:
            return True
        tree, shares = self.tree, world.shares[self._arena.number]
        mine, theirs = self._rivals()
        cell, other = self._arena.place[self.taker], self._arena.place[self.holder]
        if self._situation == OWN and world.strategy.within_nominal:
            return not any(shares.is_zero(n) for n in self._below())
        tree.add(cell, ask)
        share, before = shares.rank(mine), shares.rank(theirs)
        zero = any(shares.is_zero(n) for n in self._below())
        tree.remove(other, 1)
        after = shares.rank(theirs)
        tree.add(other, 1)
        tree.remove(cell, ask)
        return not zero and (
            (_FINAL in world.fair and share <= after) or (_INITIAL in world.fair and share < before)
        )

    def _below(self) -> list[int]:
        """The holder and the cohorts above it that are not above the taker."""
        ours = set(self.tree.path(self._arena.place[self.taker]))
        theirs = self._arena.place[self.holder]
        return [theirs, *(n for n in self.tree.path(theirs) if n not in ours)]

    def _rivals(self) -> tuple[int, int]:
        """The two nodes just below the cohort that both queues have in common."""
        tree = self.tree
        mine, theirs = self._arena.place[self.taker], self._arena.place[self.holder]
        ours, others = set(tree.path(mine)), set(tree.path(theirs))
        up = [mine, *(n for n in tree.path(mine) if n not in others)]
        down = [theirs, *(n for n in tree.path(theirs) if n not in ours)]
        return up[-1], down[-1]


def _idle(build: _Build) -> None:
    """Nobody else uses anything."""


def _at_nominal(build: _Build) -> None:
    """Everybody else uses nominal quota, which nobody may take from them."""
    for name in build.others():
        build.use(name, min(build.left(name), _MOST))


def _greedy(build: _Build) -> None:
    """Everybody else borrows what is left."""
    for name in build.others():
        build.use(name, min(build.free(name), _MOST))
