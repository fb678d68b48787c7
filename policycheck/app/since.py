"""After a small change rules are asked again about what it can reach; what else they found stands as it did.

What a change of queues, cohorts, flavors and work reaches is told where the webhook has it from (``reach``,
``systems.kueue.focus``). Where anything else changed, or where it can not be told, every rule is asked about
everything. That the result is what asking everything would give is held by a property test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from policycheck.app.reach import WHOLE, WITHOUT_WORK, aspect, is_work
from policycheck.app.touched import Part, Touched, touched
from policycheck.lint import runner
from policycheck.lint.cel import Runtime
from policycheck.lint.evaluate import Outcome, RawHit, reason_to_skip
from policycheck.lint.runner import Draft, Looked, Spot, place_of, places_of
from policycheck.lint.select import choose
from policycheck.model.cluster import Cluster, Index
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId
from policycheck.record import NamedTuple
from policycheck.systems.kueue.model import LocalQueue

if TYPE_CHECKING:
    from policycheck.app.touched import Difference
    from policycheck.lint.finding import SkippedRule
    from policycheck.lint.rule import Rule
    from policycheck.lint.runner import Job


class Known(NamedTuple):
    """What rules found in one scope."""

    looked: Looked
    idle: frozenset[str]  # rules that could not run there, or had nothing to look at


def known(job: Job, cluster: Cluster, looked: Looked) -> Known:
    """What to remember of a run over one cluster."""
    rules = choose(job.rulebook, job.settings).rules
    idle = (r.id for r in rules if reason_to_skip(r, runner.setting_of(r, cluster, job)) is not None)
    return Known(looked, frozenset(idle))


def since(job: Job, cluster: Cluster, earlier: Known, change: Difference) -> Looked | None:
    """What every chosen rule finds in the cluster; None where all of them have to be asked about everything."""
    found = touched(cluster, change)
    return None if found is None else _Asking(job, found, earlier, change).all()


class _Asking:
    """One run over one cluster that was looked at before."""

    def __init__(self, job: Job, on: Touched, earlier: Known, change: Difference) -> None:
        self.job = job
        self.on = on
        self.change = change
        self.idle = earlier.idle
        self.pairs = tuple(change.pairs)
        self.with_work = any(_is_about_work(facts) for pair in self.pairs for facts in pair)
        self.drafts = _by_rule(earlier.looked.drafts)
        self.skipped: dict[str, set[SkippedRule]] = {}
        for skip in earlier.looked.skipped:
            self.skipped.setdefault(skip.rule, set()).add(skip)
        self.runtime = cache(Runtime)
        self.outcome = Outcome([], [], [])
        self.stays: list[Draft] = []

    def all(self) -> Looked | None:
        """What rules found before and find now; None when one of them fails."""
        rules = choose(self.job.rulebook, self.job.settings).rules
        for rule in rules:
            if not rule.troubles:
                self._ask(rule)
        self._notice(tuple(rule for rule in rules if rule.troubles))
        raw = [(self.on.cluster, hit) for hit in self.outcome.hits]
        drafts, errors = runner.drafted(raw, self.job, self.runtime)
        if errors or self.outcome.errors:
            return None
        return Looked([*self.stays, *drafts], self.outcome.skipped, [])

    def _ask(self, rule: Rule) -> None:
        """Where it has to be asked, and no further."""
        why = reason_to_skip(rule, runner.setting_of(rule, self.on.cluster, self.job))
        own = rule.check == "" and "/" in rule.subject
        if why is not None or rule.id in self.idle or not (self._own(rule) if own else self._near(rule)):
            self._look(rule, self.on.cluster, self.outcome)

    def _own(self, rule: Rule) -> bool:
        """A rule about each object alone; False when that is not enough."""
        made = self._look(rule, self.on.changed)
        stays = self._carried(d for d in self.drafts.get(rule.id, ()) if d.id not in self.change.gone)
        if stays is None or made.skipped or self.skipped.get(rule.id):
            return False
        self._take(stays, made.hits, made)
        return True

    def _near(self, rule: Rule) -> bool:
        """A rule about trees; False when it has to be asked about all of them."""
        if rule.check in WHOLE:
            return self._far(rule)
        drafts = self.drafts.get(rule.id, ())
        part = self.on.part
        made = self._look(rule, self.on.narrow)
        hits = [(part(self.on.cluster.entries[hit.hit.id].facts.key), hit) for hit in made.hits]
        held = [(self._part(draft), draft) for draft in drafts]
        stays = self._carried(draft for where, draft in held if where == "stays")
        shared = any(where == "shared" for where, _ in (*hits, *held))
        if stays is None or shared or set(made.skipped) != self.skipped.get(rule.id, set()):
            return False
        self._take(stays, (hit for where, hit in hits if where == "again"), made)
        return True

    def _far(self, rule: Rule) -> bool:
        """A rule about everything, which stands when nothing that it reads changed."""
        drafts = self.drafts.get(rule.id, ())
        # What it says of an object, and how to mend it, may depend on more than whether it says anything.
        if self._reaches(rule) or any(self._part(draft) != "stays" for draft in drafts):
            return False
        stays = self._carried(drafts)
        if stays is not None:
            self.stays.extend(stays)
            self.outcome.skipped.extend(self.skipped.get(rule.id, ()))
        return stays is not None

    def _part(self, draft: Draft) -> Part:
        key = draft.finding.object
        return "shared" if key is None else self.on.part(key)

    def _notice(self, rules: tuple[Rule, ...]) -> None:
        """What reading noticed: looked at again in every file with another text."""
        full, files = self.on.cluster.index, self.change.files
        entries = {i: entry for i, entry in full.entries.items() if i.file in files}
        runner.notice(self.on.cluster.seen(Index(entries, {})), rules, self.job, self.outcome)
        for rule in rules:
            self.stays.extend(d for d in self.drafts.get(rule.id, ()) if d.id.file not in files)

    def _look(self, rule: Rule, cluster: Cluster, into: Outcome | None = None) -> Outcome:
        made = Outcome([], [], []) if into is None else into
        runner.ask(rule, runner.setting_of(rule, cluster, self.job), self.job, self.runtime, made)
        return made

    def _take(self, stays: list[Draft], hits: Iterable[RawHit], made: Outcome) -> None:
        self.stays.extend(stays)
        self.outcome.hits.extend(hits)
        self.outcome.skipped.extend(made.skipped)
        self.outcome.errors.extend(made.errors)

    def _reaches(self, rule: Rule) -> bool:
        """Whether a rule about all trees may find something else now."""
        params = runner.setting_of(rule, self.on.cluster, self.job).params
        which, asks_work = WHOLE[rule.check], rule.check not in WITHOUT_WORK
        if asks_work and self.with_work and which != "names":
            return True
        return any(
            aspect(old, which, params) != aspect(new, which, params)
            for old, new in self.pairs
            if asks_work or which == "versions" or not any(is_work(facts) for facts in (old, new) if facts)
        )

    def _carried(self, drafts: Iterable[Draft]) -> list[Draft] | None:
        """What was found, at its places now; None when something that it speaks of changed."""
        made = []
        for draft in drafts:
            spots = (draft.spot, *draft.related)
            ids = {spot.id for spot in spots if spot is not None}
            ids |= {one.id for one in draft.finding.changes}
            if not self.change.gone.keys().isdisjoint(ids):
                return None
            files = {identity.file for identity in ids}
            made.append(draft if files.isdisjoint(self.change.files) else self._placed(draft))
        return made

    def _placed(self, draft: Draft) -> Draft:
        moved = self.change.moved
        related = tuple(_moved(spot, moved) for spot in draft.related)
        changes = tuple(one._replace(id=moved.get(one.id, one.id)) for one in draft.finding.changes)
        finding = draft.finding._replace(related=places_of(related, self.job.locate), changes=changes)
        spot = draft.spot
        if spot is not None:
            spot = _moved(spot, moved)
            finding = finding._replace(place=place_of(spot, self.job.locate))
        identity = moved.get(draft.id, draft.id)
        return draft._replace(finding=finding, id=identity, spot=spot, related=related)


def _is_about_work(facts: Facts | None) -> bool:
    """Whether what changed is work, or says where work goes."""
    return facts is not None and (is_work(facts) or isinstance(facts.typed, LocalQueue))


def _by_rule(drafts: Iterable[Draft]) -> dict[str, list[Draft]]:
    found: dict[str, list[Draft]] = {}
    for draft in drafts:
        found.setdefault(draft.finding.rule, []).append(draft)
    return found


def _moved(spot: Spot, moved: Mapping[DocumentId, DocumentId]) -> Spot:
    return spot._replace(id=moved.get(spot.id, spot.id))
