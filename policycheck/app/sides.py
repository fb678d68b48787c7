"""The cluster before a change and after it, and what rules find on both, as far as the change can reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from policycheck.app.bench import Bench, Bound, Change, Rules, state_of
from policycheck.app.reach import WHOLE, Aspect, aspect, focused, in_sight, is_work
from policycheck.lint.evaluate import RawHit
from policycheck.lint.subject import kind_of
from policycheck.model.cluster import Cluster, Entry, replace
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, Origin
from policycheck.record import NamedTuple
from policycheck.systems.kueue import focus
from policycheck.systems.kueue.checks.common import inherit
from policycheck.systems.kueue.model import LocalQueue

if TYPE_CHECKING:
    from policycheck.lint.finding import RuleError


class Sides(NamedTuple):
    """The cluster before and after, on which ``scene`` is what the change touches (None: anything)."""

    before: Cluster
    after: Cluster
    scene: focus.Scene | None
    left_out: int = 0


class Pair(NamedTuple):
    """The hits of some rules before and after."""

    before: tuple[RawHit, ...]
    after: tuple[RawHit, ...]


class Run:
    """One judgement under way."""

    def __init__(
        self,
        bench: Bench,
        change: Change,
        generation: object,
        late: Callable[[], bool],
        rules: frozenset[str] | None,
        today: str,
    ) -> None:
        self.bench = bench
        self.rules = rules
        self.today = today
        self._made: list[Cluster] = []
        self.samples: tuple[str, ...] = ()
        self.scene: focus.Scene | None = None
        self.change = change
        self.generation = generation
        self.late = late
        self.errors: list[RuleError] = []
        self.is_work = is_work(change.facts)
        self.from_known = False  # what was there before is what the world knows

    def close(self) -> None:
        """Lets go of what was worked out for clusters that nobody asks again: it refers to them in circles, and
        waiting for the collector would stop everything for a tenth of a second now and then.
        """
        for cluster in self._made:
            cluster.__dict__.clear()

    # -- both sides -----------------------------------------------------------------------------

    def sides(self, base: Cluster) -> Sides:
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
        scene = self.scene = focus.scene(state_of(before), state_of(after), changed)
        made = Sides(before, after, scene)
        if self.is_work or scene is None:
            return made
        places = {
            place
            for cluster in (before, after)
            for tree in scene.trees
            if tree in state_of(cluster).trees
            for queue in state_of(cluster).trees[tree].queues
            for place in self.bench.leads(cluster).to.get(queue, ())
        }
        entries, left = self.bench.world.samples(places)
        if not entries:
            return made._replace(left_out=left)
        more = {entry.origin.id: entry for entry in entries}
        before, after = (replace(one, more, one.inventory) for one in (before, after))
        self._made += (before, after)
        self.samples = tuple(sorted(entry.origin.digest for entry in entries))
        return Sides(before, after, scene, left)

    def _with(self, cluster: Cluster, facts: Facts | None) -> Cluster:
        """``cluster`` with the object as ``facts`` say, or without it."""
        key = self.change.facts.key
        ids = cluster.index.ids(key)
        if facts is None:
            return replace(cluster, dict.fromkeys(ids), cluster.inventory) if ids else cluster
        if len(ids) == 1 and cluster.entries[ids[0]].facts == facts:
            return cluster
        first = ids[0] if ids else self.bench.world.identity(key)
        changes: dict[DocumentId, Entry | None] = dict.fromkeys(ids)
        changes[first] = Entry(facts, Origin(first, 1, f"changed {first}"))
        made = replace(cluster, changes, cluster.inventory)
        self._made.append(made)
        if not self.is_work:
            inherit(made, cluster, same_queues=False)
        return made

    # -- hits -----------------------------------------------------------------------------------

    def pairs(self, sides: Sides) -> list[Pair]:
        """Everything that rules find on both sides, as far as the change can reach."""
        groups = self.bench.groups
        key = self.change.facts.key
        read = Pair(*(tuple(self.bench.notice(cluster, key)) for cluster in sides[:2]))
        if sides.scene is None:
            every = (*groups.own, *groups.near, *groups.whole)
            return [read, self._both(lambda: sides.before, sides.after, every, "everything")]
        near = self._narrow(sides, wide=False)
        own = tuple(b for b in groups.own if kind_of(b.rule.subject) == key[:2])
        if self.is_work:
            far = self._narrow(sides, wide=False, narrow_state=False)
            work = self._both(*near, (*own, *groups.work_near), "work")
            found = [read, work, self._both(*far, groups.work_far, "far")]
            old = tuple(b for b in self._whole(groups.whole) if WHOLE[b.rule.check] == "versions")
            return [*found, self._both(lambda: sides.before, sides.after, old, "whole")] if old else found
        wide = self._narrow(sides, wide=True)
        found = [read, self._both(*near, own, "own"), self._both(*wide, groups.near, "trees")]
        asked = self._whole(groups.whole)
        if isinstance(self.change.facts.typed, LocalQueue):
            # Nothing refers to one but workloads, and those that wait in it are in sight.
            names = tuple(b for b in asked if WHOLE[b.rule.check] == "names")
            far = self._narrow(sides, wide=False, narrow_state=False)
            found.append(self._both(*far, names, "names"))
            asked = tuple(b for b in asked if b not in names)
        return [*found, self._both(lambda: sides.before, sides.after, asked, "whole")] if asked else found

    def _whole(self, rules: Rules) -> Rules:
        """The rules about all trees for which something changed; what waits asks for quota, and has a priority."""
        old, new = self.change.old, self.change.new
        waits = {"sums", "settings"} if self.samples else set()
        kept: dict[tuple[Aspect, int], bool] = {}

        def differs(which: Aspect, params: Mapping[str, object]) -> bool:
            key = (which, id(params) if which == "marks" else 0)
            if key not in kept:
                kept[key] = aspect(old, which, params) != aspect(new, which, params)
            return kept[key]

        return tuple(b for b in rules if (which := WHOLE[b.rule.check]) in waits or differs(which, b.params))

    def _both(self, before: Callable[[], Cluster], after: Cluster, rules: Rules, what: str) -> Pair:
        if self.rules is not None:
            rules = tuple(b for b in rules if b.rule.id in self.rules)
        outcome = self.bench.look(after, rules, self.late, self.today)
        self.errors.extend(outcome.errors)
        found = tuple(hit for hit in outcome.hits if what == "whole" or self._counts(after, hit))
        return Pair(self._earlier(before, after, rules, what, found), found)

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
                made.extend(self.bench.remember(known, partial(self._hits, before, bound)))
            else:
                made.extend(self._hits(before, bound))
        return tuple(made)

    def _hits(self, cluster: Callable[[], Cluster], bound: Bound) -> tuple[RawHit, ...]:
        return tuple(self.bench.look(cluster(), (bound,), self.late, self.today).hits)

    def _narrow(
        self, sides: Sides, *, wide: bool, narrow_state: bool = True
    ) -> tuple[Callable[[], Cluster], Cluster]:
        """Both sides with the scene in focus; the one before is made when it is asked for."""
        scene = sides.scene
        assert scene is not None  # noqa: S101 - asked by the caller
        leads = self.bench.leads(sides.before)

        def made(cluster: Cluster) -> Cluster:
            narrowed = focus.narrowed(state_of(cluster), scene, leads)
            shown = focus.shown(narrowed) if wide else {}
            index = in_sight(cluster.index, scene, shown, self.bench.within)
            systems = {**cluster.systems, "kueue": narrowed} if narrow_state else cluster.systems
            one = focused(cluster, index, systems, same_queues=self.is_work)
            self._made.append(one)
            if self.is_work and narrow_state:
                one.__dict__["view"] = self.bench.view(one, scene, self.generation)
            return one

        return cache(lambda: made(sides.before)), made(sides.after)
