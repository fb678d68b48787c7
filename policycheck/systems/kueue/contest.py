"""The smallest situation in which one queue asks for what another holds, decided by a real cycle.

Only quota, priorities and policies are looked at: one (flavor, resource), no taints, no topology, no
admission checks. Whether a situation exists is arithmetic on the quota tree alone (facts of KEP-79);
what happens in it is for the decision to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from policycheck.model.placement import Selector
from policycheck.model.workload import PodSet
from policycheck.record import NamedTuple
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
    """Who holds how much before the taker asks for ``ask``; of the holder's, ``at_stake`` is the victim.

    ``crowded``: others borrow as well, or the victim is not all that the holder can lose, so that
    something else may be looked at first.
    """

    held: Mapping[str, int]
    ask: int
    at_stake: int
    crowded: bool = False


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
        self._scratch = self._session.fork()
        # More ways of filling a small tree than a large one: each costs a walk over all queues.
        self._fills = (*_FILLS, *map(_mixed, range(max(4, 400 // max(1, len(self.place))))))

    def contest(self, taker: str, holder: str, situation: str) -> Contest | None:
        """A situation in which ``taker`` is short of what ``holder`` has on loan; None when none is found."""
        loads = (False,) if taker == holder else ((False, True) if situation == OWN else (True, False))
        for loaded in loads:
            for fill in self._fills:
                build = _Build(self._scratch, self, taker, holder, situation)
                found = build.run(fill, loaded=loaded)
                if found is not None:
                    return found
        return None

    def stage(self, contest: Contest, taker: str, holder: str) -> Stage:
        """The contest with everybody in place but the victim and the taker."""
        return Stage(self, self._session, contest, taker, holder)

    def looks_at_all(self, taker: str) -> bool:
        """Whether what others hold is looked at whatever its priority, so that it may stand before the
        victim in the order of shares.
        """
        policy = self._session.queues[taker].config.preemption.reclaim_within_cohort
        return policy == "Any" and self._session.world.fair is not None

    def asking(self, queue: str, name: str, amount: int, priority: int, created: str) -> KueueWorkload:
        """A workload of ``queue`` that asks for ``amount``."""
        resource = self.pair[1]
        spec = PodSet("main", amount, {}) if resource == "pods" else PodSet("main", 1, {resource: amount})
        return KueueWorkload(_SPACE, name, queue, (spec,), priority, created=created, uid=name)

    def holding(self, queue: str, name: str, amount: int, priority: int, created: str) -> KueueWorkload:
        """A workload of ``queue`` that holds ``amount``."""
        flavor, resource = self.pair
        asking = self.asking(queue, name, amount, priority, created)
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


class Stage:
    """One contest set up once and played for many priorities. Only one stage of an arena at a time."""

    def __init__(self, arena: Arena, session: Session, contest: Contest, taker: str, holder: str) -> None:
        self._arena, self._session, self._contest = arena, session, contest
        self._taker, self._holder = taker, holder
        self._others: list[str] = []

    def _set_up(self) -> None:
        arena, contest, others = self._arena, self._contest, []
        for name, amount in contest.held.items():
            rest = amount - contest.at_stake if name == self._holder else amount
            if rest > 0:
                others.append(arena.holding(name, f"rest-{arena.place[name]}", rest, _TOP, _BEFORE))
        self._session.offer(others)
        self._others = [workload.id for workload in others]

    def run(self, rank: Rank) -> str | None:
        """By which reason the victim is taken; "" when it is spared, None when others go in its place."""
        if not self._others:
            self._set_up()
        created = _AFTER if rank.is_newer else _BEFORE
        victim = self._arena.holding(self._holder, "victim", self._contest.at_stake, rank.victim, created)
        ask = self._arena.asking(self._taker, "taker", self._contest.ask, rank.taker, _TAKER)
        self._session.offer([victim, ask])
        decided = [d for d in self._session.cycle(_NOW) if d.workload == ask.id]
        victims = {v.workload: v.reason for d in decided for v in d.victims}
        self._session.release([victim.id, ask.id])
        if victims.keys() - {victim.id}:
            self.close()
        self._session.settle()
        if victim.id in victims:
            return victims[victim.id]
        unclear = self._contest.crowded and self._arena.looks_at_all(self._taker)
        return None if victims or unclear else ""

    def close(self) -> None:
        """Everybody leaves: cheaper than a copy of all queues for each of so many small situations."""
        self._session.release(self._others)
        self._others = []


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
        self.tree.usage[:] = [0] * len(self.tree.usage)
        self._arena = arena
        self.taker, self.holder = taker, holder
        self._situation = situation
        self.held: dict[str, int] = {}

    def use(self, queue: str, amount: int) -> None:
        """``queue`` holds ``amount`` more, unless that is without limit."""
        if 0 < amount < _MOST:
            self.tree.add(self._arena.place[queue], amount)
            self.held[queue] = self.held.get(queue, 0) + amount

    def place(self, queue: str) -> int:
        """The node of ``queue``, which is its cell as well."""
        return self._arena.place[queue]

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

    def run(self, fill: Callable[[_Build], None], *, loaded: bool) -> Contest | None:
        """The contest after ``fill``, or None when it does not come to one. ``loaded``: the taker has
        used its nominal quota before it asks.
        """
        if loaded:
            self.use(self.taker, self.left(self.taker))
        fill(self)
        cell = self._arena.place[self.taker]
        free = self.free(self.taker)
        ask = free + 1
        if self._situation in (COHORT, BORROWING):
            ask = max(ask, self.tree.nominal[cell] - self.tree.usage[cell] + 1)
        stake = ask - free
        if ask >= _MOST or stake > self.held.get(self.holder, 0) or not self._holds(ask):
            return None
        if not self._comes_to_it(ask, stake):
            return None
        nominal = self.tree.nominal
        crowded = stake > 1 or any(self.held.get(n, 0) > nominal[self.place(n)] for n in self.others())
        return Contest(dict(self.held), ask, stake, crowded)

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

    def _comes_to_it(self, ask: int, stake: int) -> bool:
        """Whether ``stake`` less in the holder's hands makes room, and nothing but policy protects it."""
        tree, mine, theirs = self.tree, self._arena.place[self.taker], self._arena.place[self.holder]
        if self.taker != self.holder and any(tree.usage[n] <= tree.subtree[n] for n in self._below()):
            return False
        if not self._shares_allow(ask, stake):
            return False
        tree.remove(theirs, stake)
        fits = tree.free(mine) >= ask
        tree.add(theirs, stake)
        return fits

    def _shares_allow(self, ask: int, stake: int) -> bool:
        """Under fair sharing: whether the shares are such that the taker may take, by either strategy."""
        world = self._session.world
        if world.fair is None or self._situation == ANY:
            return True
        tree, shares = self.tree, world.shares[self._arena.number]
        mine, theirs = self._rivals()
        cell, other = self._arena.place[self.taker], self._arena.place[self.holder]
        tree.add(cell, ask)
        share, before = shares.rank(mine), shares.rank(theirs)
        nothing = any(shares.rank(n)[1] == 0 for n in self._below())
        tree.remove(other, stake)
        after = shares.rank(theirs)
        tree.add(other, stake)
        tree.remove(cell, ask)
        if nothing or (self._situation == OWN and world.strategy.within_nominal):
            return not nothing
        return (_FINAL in world.fair and share <= after) or (_INITIAL in world.fair and share < before)

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
    """Nobody else uses anything; the holder has all it can."""
    build.use(build.holder, build.free(build.holder))


def _at_nominal(build: _Build) -> None:
    """Everybody else uses nominal quota, which nobody may take from them; the holder has the rest."""
    for name in build.others():
        build.use(name, build.left(name))
    build.use(build.holder, build.free(build.holder))


def _just_over(build: _Build) -> None:
    """The holder has just more than its own; then the others borrow what they can."""
    _lightly(build)
    for name in build.others():
        build.use(name, build.free(name))


def _just_over_turned(build: _Build) -> None:
    """The same, the others in the other order."""
    _lightly(build)
    for name in reversed(build.others()):
        build.use(name, build.free(name))


def _crowded(build: _Build) -> None:
    """Those close to the taker borrow first, the rest keep to their own, the holder has what is left."""
    _lightly(build)
    shared = set(build.tree.path(build.place(build.holder)))
    others = [(n, bool(shared.issuperset(build.tree.path(build.place(n))))) for n in build.others()]
    for name, is_far in others:
        build.use(name, build.left(name) if is_far else build.free(name))
    build.use(build.holder, build.free(build.holder))


def _lightly(build: _Build) -> None:
    cell = build.place(build.holder)
    own = 0 if build.taker == build.holder else build.tree.nominal[cell]
    build.use(build.holder, min(build.free(build.holder), own + 1))


def _mixed(number: int) -> Callable[[_Build], None]:
    """One of many mixtures, always the same for a number: each queue uses nothing, one, its own, or all
    that is free, in an order that turns with the number.
    """

    def fill(build: _Build) -> None:
        names = [*build.others(), build.holder]
        turn = number % len(names)
        for at, name in enumerate(names[turn:] + names[:turn]):
            draw = ((number + 1) * 2654435761 + (at + 1) * 40503 * (number + 3)) >> 7
            free = build.free(name)
            if name == build.holder:
                own = min(free, build.tree.nominal[build.place(name)])
                build.use(name, (min(free, own + 1), own + (free - own) // 2, free)[draw % 3])
            else:
                build.use(name, (0, min(1, free), build.left(name), free)[draw % 4])

    return fill


_FILLS = (_idle, _at_nominal, _just_over, _just_over_turned, _crowded)
