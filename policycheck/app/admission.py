"""One change held against a cluster: which findings there would be that were not there before.

The same rules, words and suppressions as everywhere. Not everything is asked again: what a change can reach is
in ``reach`` (rules) and ``systems.kueue.focus`` (objects). That the answer is what linting the whole cluster
before and after would give, is held by a property test.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, get_args

from policycheck.app.hardware import classes
from policycheck.app.reach import MANY, WHOLE, WITHOUT_WORK, WORK_AND_WHOLE, Aspect, aspect, is_work
from policycheck.lint import runner
from policycheck.lint.cel import Runtime
from policycheck.lint.evaluate import Outcome, RawHit, Setting, applies, run_check, run_expression
from policycheck.lint.finding import SEVERITIES, Place, RuleError
from policycheck.lint.place import dotted
from policycheck.lint.rule import ANY
from policycheck.lint.select import choose, params_of
from policycheck.lint.subject import kind_of, occurs
from policycheck.lint.suppression import apply
from policycheck.model.capacity import HOSTNAME
from policycheck.model.cluster import Cluster, Entry, GroupKind, Index, replace
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, ObjectKey, Origin
from policycheck.model.workload import Workload
from policycheck.record import NamedTuple
from policycheck.source.document import Document, Span
from policycheck.source.suppress import ANNOTATION, annotated
from policycheck.systems import registry
from policycheck.systems.kueue import GROUP, focus
from policycheck.systems.kueue.checks.common import inherit
from policycheck.systems.kueue.checks.settling import settle
from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.state import KueueState

if TYPE_CHECKING:
    from policycheck.app.world import Picture, World
    from policycheck.lint.finding import Finding, Suppressed
    from policycheck.lint.rule import Check, Rule, Systems
    from policycheck.lint.rulebook import Rulebook
    from policycheck.lint.settings import Settings, Target
    from policycheck.lint.suppression import Suppression

_KEPT = 512  # answers about what was there before
_NOWHERE = Span(1, 1, 1, 1)  # an object of the API has no lines
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


class Judgement(NamedTuple):
    """What a change comes to. ``new`` are findings that were not there before, worst first."""

    new: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    errors: tuple[RuleError, ...] = ()  # rules that raised
    reach: str = "object"  # how far it was looked: "object", "trees", "cluster"
    left_out: int = 0  # shapes of waiting workloads that were not looked at, being too many
    generation: int = 0  # of the world


class TooLateError(Exception):
    """The deadline passed before all rules were asked."""


class _Sides(NamedTuple):
    """The cluster before and after, on which ``scene`` is what the change touches (None: anything)."""

    before: Cluster
    after: Cluster
    scene: focus.Scene | None
    left_out: int = 0


class _Bound(NamedTuple):
    """A rule that can run on this world, with what it runs with. ``check`` is None for an expression."""

    rule: Rule
    check: Check | None
    params: Mapping[str, object]


Rules = tuple[_Bound, ...]


class _Groups(NamedTuple):
    """The chosen rules, by how they have to be asked again."""

    own: Rules  # about each object alone
    near: Rules  # about trees
    whole: Rules
    work_near: Rules  # of those that look at workloads
    work_far: Rules
    texts: tuple[Rule, ...]  # what reading notices


class _Plain(NamedTuple):
    """A cluster with alike nodes as one, and what of nodes it can not tell any more."""

    of: Cluster
    cluster: Cluster
    dropped: frozenset[str]


class Judge:
    """Judges changes of one world. Not for several threads at once.

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
        self._failed: list[RuleError] = []  # rules that can not run at all
        chosen = choose(rulebook, settings).rules
        self.groups = _grouped(tuple(self._bound(chosen, systems)), chosen)
        self._job = runner.Job(
            clusters=(),
            rulebook=rulebook,
            systems=systems,
            locate=lambda *_: _NOWHERE,
            settings=settings,
            targets={world.scope: targets},
        )
        self._runtime = cache(Runtime)
        self._known: OrderedDict[object, tuple[RawHit, ...]] = OrderedDict()
        self._leads: tuple[object, focus.Leads] | None = None
        self._spaces: dict[GroupKind, tuple[object, Mapping[str, tuple[ObjectKey, ...]]]] = {}
        self._plain: _Plain | None = None

    def judge(
        self, change: Change, *, today: str = "", late: Callable[[], bool] = lambda: False
    ) -> Judgement:
        """What ``change`` adds. ``today`` is an ISO date, for suppressions that end. Raises TooLateError."""
        picture = self.world.picture()
        change = self._with_transitions(change)
        found = self._first(change, picture, today, late)
        if found is None or found.new:
            rules = None if found is None else frozenset(finding.rule for finding in found.new)
            errors = () if found is None else found.errors
            found = self._on(picture.cluster, change, picture.generation, today, late, rules)
            found = found._replace(errors=tuple(dict.fromkeys((*errors, *found.errors))))
        return found._replace(generation=picture.generation)

    def _first(
        self, change: Change, picture: Picture, today: str, late: Callable[[], bool]
    ) -> Judgement | None:
        """Whether there is anything new, told with alike nodes as one; the words need all nodes.

        None when it has to be looked at on all nodes from the start.
        """
        if not picture.cluster.inventory.known:
            return None
        plain = self._without_names(picture.cluster)
        asked = {key for facts in (change.old, change.new) for key in _node_keys(facts)}
        if not asked.isdisjoint(plain.dropped):
            return None
        return self._on(plain.cluster, change, (picture.generation, "plain"), today, late, None)

    def _without_names(self, cluster: Cluster) -> _Plain:
        plain = self._plain
        if plain is None or plain.of is not cluster:
            objects = _state(cluster).objects
            kept = {key for flavor in objects.flavors.values() for key in flavor.node_labels}
            kept |= {level for t in objects.topologies.values() for level in t.levels if level != HOSTNAME}
            made = classes(cluster.inventory, frozenset(kept))
            plain = self._plain = _Plain(cluster, cluster.with_inventory(made.inventory), made.dropped)
        return plain

    def _on(
        self,
        cluster: Cluster,
        change: Change,
        generation: object,
        today: str,
        late: Callable[[], bool],
        rules: frozenset[str] | None,
    ) -> Judgement:
        run = _Run(self, change, generation, late, rules, today)
        sides = run.sides(cluster)
        found = _judged(self, change, sides, run.pairs(sides), today)
        return found._replace(errors=tuple(dict.fromkeys((*run.errors, *found.errors))))

    def warm(self) -> None:
        """Works out what any judgement of the cluster as it is needs, before one waits for it. From any thread."""
        picture = self.world.picture()
        for cluster in (picture.cluster, self._without_names(picture.cluster).cluster):
            settle(cluster)

    def _with_transitions(self, change: Change) -> Change:
        """What an update is refused for where creating the object would not be, among its troubles."""
        if change.old is None or change.new is None:
            return change
        spoken = {trouble.path for trouble in change.new.troubles}
        more = registry.transitions(change.new, change.old, self.targets)
        fresh = tuple(trouble for trouble in more if trouble.path not in spoken)
        if not fresh:
            return change
        return change._replace(new=change.new._replace(troubles=(*change.new.troubles, *fresh)))

    def leads(self, cluster: Cluster) -> focus.Leads:
        """Which LocalQueues lead where, kept while none changes."""
        state = _state(cluster)
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

    def _bound(self, rules: tuple[Rule, ...], systems: Systems) -> Iterable[_Bound]:
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
                self._failed.append(RuleError(rule.id, str(error.args[0]), self.world.scope))
            else:
                yield _Bound(rule, check, params_of(rule, self.settings))

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
        one = Cluster(cluster.scope, alone, cluster.linkers, cluster.systems, cluster.inventory)
        return runner.look(one, self.groups.texts, self._job, self._runtime).hits

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


def _grouped(bound: Rules, chosen: tuple[Rule, ...]) -> _Groups:
    own = tuple(b for b in bound if b.check is None and "/" in b.rule.subject)
    others = tuple(b for b in bound if b not in own)
    far = tuple(b for b in others if b.rule.check in WORK_AND_WHOLE)
    return _Groups(
        own=own,
        near=tuple(b for b in others if b.rule.check not in WHOLE),
        whole=tuple(b for b in others if b.rule.check in WHOLE),
        work_near=tuple(b for b in others if b.rule.check not in WITHOUT_WORK and b not in far),
        work_far=far,
        texts=tuple(rule for rule in chosen if rule.troubles),
    )


class _Pair(NamedTuple):
    """The hits of some rules before and after."""

    before: tuple[RawHit, ...]
    after: tuple[RawHit, ...]


class _Run:
    """One judgement under way."""

    def __init__(
        self,
        judge: Judge,
        change: Change,
        generation: object,
        late: Callable[[], bool],
        rules: frozenset[str] | None,
        today: str,
    ) -> None:
        self.judge = judge
        self.rules = rules
        self.today = today
        self.samples: tuple[str, ...] = ()
        self.scene: focus.Scene | None = None
        self.change = change
        self.generation = generation
        self.late = late
        self.errors: list[RuleError] = []
        self.is_work = is_work(change.facts)
        self.from_known = False  # what was there before is what the world knows

    # -- both sides -----------------------------------------------------------------------------

    def sides(self, base: Cluster) -> _Sides:
        """The cluster before and after the change, with what waits where the change matters to it."""
        old, new = self.change.old, self.change.new
        before = self._with(base, old) if old is not None else base
        self.from_known = before is base
        after = self._with(before, new)
        if self.is_work:
            for cluster in (before, after):
                if cluster is not base:
                    inherit(cluster, base, same_queues=True)
                    cluster.__dict__["reading"] = base.reading | {self.change.facts.system}
        changed = [facts for facts in (old, new) if facts is not None]
        scene = self.scene = focus.scene(_state(before), _state(after), changed)
        made = _Sides(before, after, scene)
        if self.is_work or scene is None:
            return made
        places = {
            place
            for cluster in (before, after)
            for tree in scene.trees
            if tree in _state(cluster).trees
            for queue in _state(cluster).trees[tree].queues
            for place in self.judge.leads(cluster).to.get(queue, ())
        }
        entries, left = self.judge.world.samples(places)
        if not entries:
            return made._replace(left_out=left)
        more = {entry.origin.id: entry for entry in entries}
        self.samples = tuple(sorted(entry.origin.digest for entry in entries))
        return _Sides(
            replace(before, more, before.inventory),
            replace(after, more, after.inventory),
            scene,
            left,
        )

    def _with(self, cluster: Cluster, facts: Facts | None) -> Cluster:
        """``cluster`` with the object as ``facts`` say, or without it."""
        key = self.change.facts.key
        ids = cluster.index.ids(key)
        if facts is None:
            return replace(cluster, dict.fromkeys(ids), cluster.inventory) if ids else cluster
        if len(ids) == 1 and cluster.entries[ids[0]].facts == facts:
            return cluster
        first = ids[0] if ids else self.judge.world.identity(key)
        changes: dict[DocumentId, Entry | None] = dict.fromkeys(ids)
        changes[first] = Entry(facts, Origin(first, 1, f"changed {first}"))
        made = replace(cluster, changes, cluster.inventory)
        if not self.is_work:
            inherit(made, cluster, same_queues=False)
        return made

    # -- hits -----------------------------------------------------------------------------------

    def pairs(self, sides: _Sides) -> list[_Pair]:
        """Everything that rules find on both sides, as far as the change can reach."""
        groups = self.judge.groups
        key = self.change.facts.key
        read = _Pair(*(tuple(self.judge.notice(cluster, key)) for cluster in sides[:2]))
        if sides.scene is None:
            every = (*groups.own, *groups.near, *groups.whole)
            return [read, self._both(lambda: sides.before, sides.after, every, "everything")]
        near = self._narrow(sides, wide=False)
        own = tuple(b for b in groups.own if kind_of(b.rule.subject) == key[:2])
        if self.is_work:
            far = self._narrow(sides, wide=False, narrow_state=False)
            work = self._both(*near, (*own, *groups.work_near), "work")
            return [read, work, self._both(*far, groups.work_far, "far")]
        wide = self._narrow(sides, wide=True)
        found = [read, self._both(*near, own, "own"), self._both(*wide, groups.near, "trees")]
        asked = self._whole(groups.whole)
        return [*found, self._both(lambda: sides.before, sides.after, asked, "whole")] if asked else found

    def _whole(self, rules: Rules) -> Rules:
        """The rules about all trees for which something changed."""
        old, new = self.change.old, self.change.new
        differs = {which: aspect(old, which) != aspect(new, which) for which in get_args(Aspect)}
        if self.samples:  # what waits asks for quota, and has a priority
            differs |= {"sums": True, "settings": True}
        return tuple(b for b in rules if differs[WHOLE[b.rule.check]])

    def _both(self, before: Callable[[], Cluster], after: Cluster, rules: Rules, what: str) -> _Pair:
        if self.rules is not None:
            rules = tuple(b for b in rules if b.rule.id in self.rules)
        outcome = self.judge.look(after, rules, self.late, self.today)
        self.errors.extend(outcome.errors)
        found = tuple(hit for hit in outcome.hits if what == "whole" or self._counts(after, hit))
        return _Pair(self._earlier(before, after, rules, what, found), found)

    def _counts(self, cluster: Cluster, hit: RawHit) -> bool:
        """Whether a hit is about something that the change can touch."""
        return self.scene is None or self.scene.has(cluster.entries[hit.hit.id].facts.key)

    def _earlier(
        self,
        before: Callable[[], Cluster],
        after: Cluster,
        rules: Rules,
        what: str,
        found: tuple[RawHit, ...],
    ) -> tuple[RawHit, ...]:
        """What rules that found something found before. An object that was not there had nothing."""
        key = self.change.facts.key if self.change.old is None else None
        asked = {hit.rule.id for hit in found if after.entries[hit.hit.id].facts.key != key}
        made: list[RawHit] = []
        for bound in (b for b in rules if b.rule.id in asked):
            if self.from_known and what == "whole":
                known = (self.generation, bound.rule.id, self.samples, self.today)
                made.extend(self.judge.remember(known, partial(self._hits, before, bound)))
            else:
                made.extend(self._hits(before, bound))
        return tuple(made)

    def _hits(self, cluster: Callable[[], Cluster], bound: _Bound) -> tuple[RawHit, ...]:
        return tuple(self.judge.look(cluster(), (bound,), self.late, self.today).hits)

    def _narrow(
        self, sides: _Sides, *, wide: bool, narrow_state: bool = True
    ) -> tuple[Callable[[], Cluster], Cluster]:
        """Both sides with the scene in focus; the one before is made when it is asked for."""
        scene = sides.scene
        assert scene is not None  # noqa: S101 - asked by the caller
        leads = self.judge.leads(sides.before)

        def made(cluster: Cluster) -> Cluster:
            narrowed = focus.narrowed(_state(cluster), scene, leads)
            index = self._index(cluster.index, scene, focus.shown(narrowed) if wide else {})
            systems = {**cluster.systems, "kueue": narrowed} if narrow_state else cluster.systems
            one = Cluster(
                cluster.scope, index, cluster.linkers, systems, cluster.inventory, is_named=cluster.is_named
            )
            one.__dict__["reading"] = cluster.reading  # of all that is in sight
            inherit(one, cluster, same_queues=self.is_work)
            return one

        return cache(lambda: made(sides.before)), made(sides.after)

    def _index(self, full: Index, scene: focus.Scene, shown: Mapping[str, tuple[ObjectKey, ...]]) -> Index:
        """``full`` for lookups; of kinds of which there are many only the scene for whoever goes through them."""
        kinds: dict[GroupKind, Mapping[ObjectKey, tuple[DocumentId, ...]]] = {}
        ids: list[DocumentId] = []
        for group_kind, keys in full.kinds.items():
            if group_kind not in MANY:
                kinds[group_kind] = keys
                ids.extend(i for held in keys.values() for i in held)
                continue
            some = set(shown.get(group_kind[1], ())) | {k for k in scene.keys if k[:2] == group_kind}
            if group_kind == ("", "Namespace"):
                some |= {ObjectKey("", "Namespace", "", space) for space in scene.spaces}
            elif group_kind[0] != GROUP:
                some |= set(self.judge.within(full, group_kind, scene.spaces))
            kinds[group_kind] = seen = focus.Focus(keys, sorted(some))
            ids.extend(i for held in seen.values() for i in held)
        return Index(focus.Focus(full.entries, ids), kinds)


def _node_keys(facts: Facts | None) -> Iterable[str]:
    """Labels by which a workload picks its nodes; the hostname for a pick by name."""
    typed = facts.typed if facts is not None else None
    if isinstance(typed, (Workload, KueueWorkload)):
        for pods in typed.pod_sets:
            yield from pods.node_selector
            for term in (*pods.affinity, *(p.term for p in pods.preferred)):
                yield from (r.key for r in term.expressions)
                if term.fields:
                    yield HOSTNAME
            yield from (one.topology_key for one in pods.spread)
            if pods.neighbours is not None:
                yield HOSTNAME  # whatever it is of: which pods are where matters


def _state(cluster: Cluster) -> KueueState:
    found = cluster.systems["kueue"]
    assert isinstance(found, KueueState)  # noqa: S101 - every cluster is linked with it
    return found


# -- what is new ------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """Findings that are told, and those that annotations of their object ignore."""

    told: list[Finding]
    ignored: list[Suppressed]
    errors: list[RuleError]


def _judged(judge: Judge, change: Change, sides: _Sides, pairs: list[_Pair], today: str) -> Judgement:
    new: list[Finding] = []
    suppressed: list[Suppressed] = []
    errors: list[RuleError] = []
    key = change.facts.key
    same_marks = _marks(change.old) == _marks(change.new)
    for pair in pairs:
        for identity, before, after in _different(sides, pair, key, same_marks=same_marks):
            was = _found(judge, sides.before, identity, before, today)
            now = _found(judge, sides.after, identity, after, today)
            known = {finding.fingerprint for finding in was.told}
            new.extend(finding for finding in now.told if finding.fingerprint not in known)
            suppressed.extend(now.ignored)
            errors.extend(now.errors)
    if not same_marks and change.new is not None:
        known = {finding.fingerprint for finding in _about_marks(judge, sides.before, key, today)}
        now_ = _about_marks(judge, sides.after, key, today)
        new.extend(finding for finding in now_ if finding.fingerprint not in known)
    ranked = sorted(
        {f.fingerprint: f for f in new}.values(),
        key=lambda f: (SEVERITIES.index(f.severity), f.object != key, f.order),
    )
    reach = "cluster" if sides.scene is None else "trees" if sides.scene.trees else "object"
    return Judgement(
        tuple(ranked),
        tuple({one.finding.fingerprint: one for one in suppressed}.values()),
        tuple(dict.fromkeys(errors)),
        reach,
        sides.left_out,
    )


def _different(
    sides: _Sides, pair: _Pair, key: ObjectKey, *, same_marks: bool
) -> Iterable[tuple[DocumentId, list[RawHit], list[RawHit]]]:
    """Hits of one rule on one object, before and after, where these differ."""
    groups: dict[tuple[str, DocumentId], tuple[list[RawHit], list[RawHit]]] = {}
    for side, hits in enumerate(pair):
        for hit in hits:
            groups.setdefault((hit.rule.id, hit.hit.id), ([], []))[side].append(hit)
    for (_, identity), (before, after) in groups.items():
        if not after:
            continue
        is_ours = sides.after.entries[identity].facts.key == key
        if (is_ours and not same_marks) or _counted(sides.before, before) != _counted(sides.after, after):
            yield identity, before, after


def _counted(cluster: Cluster, hits: list[RawHit]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for one in hits:
        found[dotted(one.hit.path, cluster.entries[one.hit.id].facts.value), one.hit.discriminator] += 1
    return found


def _found(judge: Judge, cluster: Cluster, identity: DocumentId, hits: list[RawHit], today: str) -> _Found:
    findings, errors = judge.stamped(cluster, hits)
    marks = _suppressions(cluster, identity) if hits else ()
    if not marks:
        return _Found(findings, [], errors)
    applied = apply(findings, marks, frozenset(), judge.rulebook, judge.settings, today)
    mine = {finding.fingerprint for finding in findings}
    told = [finding for finding in applied.findings if finding.fingerprint in mine]
    return _Found(told, applied.suppressed, errors)


def _about_marks(judge: Judge, cluster: Cluster, key: ObjectKey, today: str) -> list[Finding]:
    """What is wrong with the suppressions of an object: malformed, refused, at an end."""
    marks = tuple(mark for i in cluster.index.ids(key) for mark in _suppressions(cluster, i))
    return apply([], marks, frozenset(), judge.rulebook, judge.settings, today).findings


def _marks(facts: Facts | None) -> dict[str, object]:
    """The annotations of an object that are ours."""
    meta = facts.value.get("metadata") if facts is not None else None
    notes = meta.get("annotations") if isinstance(meta, Mapping) else None
    if not isinstance(notes, Mapping):
        return {}
    return {key: value for key, value in notes.items() if str(key).startswith(ANNOTATION.removesuffix("."))}


def _suppressions(cluster: Cluster, identity: DocumentId) -> tuple[Suppression, ...]:
    """What the annotations of an object ignore."""
    entry = cluster.entries.get(identity)
    if entry is None or not _marks(entry.facts):
        return ()
    from policycheck.lint.suppression import Suppression

    facts = entry.facts
    return tuple(
        Suppression(
            rules=one.rules,
            place=Place(identity.file, _NOWHERE),
            lines=None,
            object=facts.key,
            api_version=facts.api_version,
            scope=cluster.scope,
            until=one.until,
            owner=one.owner,
            reason=one.reason,
            wrong=one.wrong,
        )
        for one in annotated(Document(identity, 1, facts.value, entry.origin.digest))
    )
