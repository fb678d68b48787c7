"""The chosen rules over a world that changes: bound to what they run with, and asked of one cluster at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from policycheck.app.reach import TOGETHER, WHOLE, WITHOUT_WORK, WORK_AND_WHOLE
from policycheck.lint import runner
from policycheck.lint.cel import Runtime
from policycheck.lint.evaluate import (
    Outcome,
    RawHit,
    Setting,
    applies,
    reason_to_skip,
    run_check,
    run_expression,
)
from policycheck.lint.finding import RuleError
from policycheck.lint.rule import ANY, OWN
from policycheck.lint.select import choose, params_of
from policycheck.lint.subject import occurs
from policycheck.model.cluster import Cluster, GroupKind, Index
from policycheck.model.facts import Facts
from policycheck.model.origin import ObjectKey
from policycheck.model.queueing import View
from policycheck.record import NamedTuple
from policycheck.source.document import Span
from policycheck.systems.kueue import focus
from policycheck.systems.kueue.state import KueueState

if TYPE_CHECKING:
    from policycheck.app.world import World
    from policycheck.lint.finding import Finding
    from policycheck.lint.rule import Check, Rule, Systems
    from policycheck.lint.rulebook import Rulebook
    from policycheck.lint.settings import Settings, Target

NOWHERE = Span(1, 1, 1, 1)  # an object of the API has no lines
_KEPT = 512  # answers about what was there before
_AT_ONCE = 40  # rules between two looks at the clock


class Change(NamedTuple):
    """An object as it was (None: it is created) and as it would be (None: it is deleted)."""

    old: Facts | None
    new: Facts | None

    @property
    def facts(self) -> Facts:
        """Of the object, newest first. Raises ValueError for a change of nothing."""
        found = self.new or self.old
        if found is None:
            raise ValueError("a change has an object")
        return found


class TooLateError(Exception):
    """The deadline passed before all rules were asked."""


class Bound(NamedTuple):
    """A rule that can run on this world, with what it runs with. ``check`` is None for an expression."""

    rule: Rule
    check: Check | None
    params: Mapping[str, object]


Rules = tuple[Bound, ...]


class Groups(NamedTuple):
    """The chosen rules, by how they have to be asked again."""

    own: Rules  # about each object alone
    near: Rules  # about trees
    whole: Rules
    work_near: Rules  # of those that look at workloads
    work_far: Rules
    texts: tuple[Rule, ...]  # what reading notices


class Bench:
    """The rules of one world. Not for several threads at once.

    ``targets`` are the versions that are assumed, by system.
    """

    def __init__(
        self,
        world: World,
        rulebook: Rulebook,
        systems: Systems,
        settings: Settings,
        targets: Mapping[str, Target],
    ) -> None:
        self.world = world
        self.rulebook = rulebook
        self.settings = settings
        self.targets = targets
        self.failed: list[RuleError] = []  # rules that can not run at all
        chosen = choose(rulebook, settings).rules
        self.groups = _grouped(tuple(self._bound(chosen, systems)), chosen)
        self._job = runner.Job(
            clusters=(),
            rulebook=rulebook,
            systems=systems,
            locate=lambda *_: NOWHERE,
            settings=settings,
            targets={world.scope: targets},
        )
        self._runtime = cache(Runtime)
        self._known: OrderedDict[object, tuple[RawHit, ...]] = OrderedDict()
        self._leads: tuple[object, focus.Leads] | None = None
        self._views: dict[object, View] = {}
        self._spaces: dict[GroupKind, tuple[object, Mapping[str, tuple[ObjectKey, ...]]]] = {}

    def leads(self, cluster: Cluster) -> focus.Leads:
        """Which LocalQueues lead where, kept while none changes."""
        state = state_of(cluster)
        held = state.objects.local_queues
        if self._leads is None or self._leads[0] is not held:
            self._leads = (held, focus.leads(state))
        return self._leads[1]

    def within(self, index: Index, kind: GroupKind, spaces: frozenset[str]) -> list[ObjectKey]:
        """The objects of a namespaced kind in some namespaces, kept while none changes."""
        keys = index.kinds.get(kind, {})
        known = self._spaces.get(kind)
        if known is None or known[0] is not keys:
            by: dict[str, list[ObjectKey]] = {}
            for key in keys:
                by.setdefault(key.namespace, []).append(key)
            known = self._spaces[kind] = (keys, {space: tuple(held) for space, held in by.items()})
        return [key for space in spaces for key in known[1].get(space, ())]

    def _bound(self, rules: tuple[Rule, ...], systems: Systems) -> Iterable[Bound]:
        """The rules that are about the versions that run here. Nodes are no configuration: what is odd about
        them is there before and after.
        """
        for rule in rules:
            target = self.targets.get(rule.system)
            if (
                rule.troubles
                or rule.subject == "node"
                or not (target is None or applies(rule, target.version))
            ):
                continue
            try:
                check = systems.check(rule.check) if rule.check else None
            except LookupError as error:
                self.failed.append(RuleError(rule.id, str(error.args[0]), self.world.scope))
            else:
                yield Bound(rule, check, params_of(rule, self.settings))

    def look(self, cluster: Cluster, rules: Rules, late: Callable[[], bool], today: str) -> Outcome:
        """Raw hits of rules on a cluster. Raises TooLateError."""
        made = Outcome([], [], [])
        for at, (rule, check, params) in enumerate(rules):
            if at % _AT_ONCE == 0 and late():
                raise TooLateError
            if rule.subject != ANY and not occurs(cluster, rule.subject, rule.system):
                continue
            if ("inventory" in rule.needs and not cluster.inventory.known) or "context" in rule.needs:
                continue
            with_day = {**params, "today": today} if params.get("today") == "" else params
            setting = Setting(cluster, with_day, self.targets)
            if rule.system == OWN and reason_to_skip(rule, setting) is not None:
                continue  # whose version it is about, its subjects tell
            if check is None:
                run_expression(rule, self._runtime, setting, {}, made)
            else:
                run_check(rule, check, setting, made)
        return made

    def notice(self, cluster: Cluster, key: ObjectKey) -> list[RawHit]:
        """What reading noticed in one object."""
        ids = cluster.index.ids(key)
        if not any(cluster.entries[i].facts.troubles for i in ids):
            return []
        kinds = {key[:2]: {key: ids}}
        alone = Index({i: cluster.entries[i] for i in ids}, kinds)
        return runner.look(cluster.seen(alone), self.groups.texts, self._job, self._runtime).hits

    def view(self, cluster: Cluster, on: focus.Scene, known: object) -> View:
        """The neutral view of a narrowed cluster that differs from another in workloads alone: what is not about
        those is kept under ``known``.
        """
        key = (known, on.trees, on.flavors)
        if self._views.get(key) is None:
            if len(self._views) >= _KEPT:
                self._views.clear()
            self._views[key] = cluster.view
            return cluster.view
        state = state_of(cluster)
        work = state._replace(
            objects=state.objects._replace(cluster_queues={}, flavors={}), tree_of_cohort={}
        )
        every = [one.view(work, cluster.index).workloads for one in cluster.linkers if one.name == "kueue"]
        return self._views[key]._replace(workloads=tuple(w for some in every for w in some))

    def remember(self, key: object, make: Callable[[], tuple[RawHit, ...]]) -> tuple[RawHit, ...]:
        """What ``make`` gives, kept for the next that asks under this key."""
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        found = self._known[key] = make()
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found

    def stamped(self, cluster: Cluster, hits: Iterable[RawHit]) -> tuple[list[Finding], list[RuleError]]:
        """Hits as findings."""
        return runner.stamped([(cluster, hit) for hit in hits], self._job, self._runtime)


def _grouped(bound: Rules, chosen: tuple[Rule, ...]) -> Groups:
    own = tuple(b for b in bound if b.check is None and "/" in b.rule.subject)
    others = tuple(b for b in bound if b not in own)
    far = tuple(b for b in others if b.rule.check in WORK_AND_WHOLE)
    return Groups(
        own=own,
        near=tuple(b for b in others if b.rule.check not in WHOLE),
        whole=tuple(b for b in others if b.rule.check in WHOLE),
        work_near=tuple(b for b in others if b.rule.check not in WITHOUT_WORK | TOGETHER and b not in far),
        work_far=far,
        texts=tuple(rule for rule in chosen if rule.troubles),
    )


def state_of(cluster: Cluster) -> KueueState:
    """The queues of a cluster; every one is linked with them."""
    found = cluster.systems["kueue"]
    assert isinstance(found, KueueState)  # noqa: S101 - every cluster is linked with it
    return found
