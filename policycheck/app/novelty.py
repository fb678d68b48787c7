"""Which findings are new: on one side and not on the other, with what annotations of the objects ignore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from policycheck.app.bench import NOWHERE, Bench, Change
from policycheck.app.sides import Pair, Sides
from policycheck.lint.evaluate import RawHit
from policycheck.lint.finding import SEVERITIES, Place
from policycheck.lint.place import dotted
from policycheck.lint.suppression import apply
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.record import NamedTuple
from policycheck.source.document import Document
from policycheck.source.suppress import ANNOTATION, annotated

if TYPE_CHECKING:
    from policycheck.lint.finding import Finding, RuleError, Suppressed
    from policycheck.lint.suppression import Suppression


class Judgement(NamedTuple):
    """What a change comes to. ``new`` are findings that were not there before, worst first."""

    new: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    errors: tuple[RuleError, ...] = ()  # rules that raised
    reach: str = "object"  # how far it was looked: "object", "trees", "cluster"
    left_out: int = 0  # shapes of waiting workloads that were not looked at, being too many
    generation: int = 0  # of the world


class _Found(NamedTuple):
    """Findings that are told, and those that annotations of their object ignore."""

    told: list[Finding]
    ignored: list[Suppressed]
    errors: list[RuleError]


def judged(bench: Bench, change: Change, sides: Sides, pairs: list[Pair], today: str) -> Judgement:
    """What the change comes to."""
    new: list[Finding] = []
    suppressed: list[Suppressed] = []
    errors: list[RuleError] = []
    key = change.facts.key
    same_marks = _marks(change.old) == _marks(change.new)
    for pair in pairs:
        for identity, before, after in _different(sides, pair, key, same_marks=same_marks):
            was = _found(bench, sides.before, identity, before, today)
            now = _found(bench, sides.after, identity, after, today)
            known = {finding.fingerprint for finding in was.told}
            new.extend(finding for finding in now.told if finding.fingerprint not in known)
            suppressed.extend(now.ignored)
            errors.extend(now.errors)
    if not same_marks and change.new is not None:
        known = {finding.fingerprint for finding in _about_marks(bench, sides.before, key, today)}
        now_ = _about_marks(bench, sides.after, key, today)
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
    sides: Sides, pair: Pair, key: ObjectKey, *, same_marks: bool
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


def _found(bench: Bench, cluster: Cluster, identity: DocumentId, hits: list[RawHit], today: str) -> _Found:
    findings, errors = bench.stamped(cluster, hits)
    marks = suppressions(cluster, identity) if hits else ()
    if not marks:
        return _Found(findings, [], errors)
    applied = apply(findings, marks, frozenset(), bench.rulebook, bench.settings, today)
    mine = {finding.fingerprint for finding in findings}
    told = [finding for finding in applied.findings if finding.fingerprint in mine]
    return _Found(told, applied.suppressed, errors)


def _about_marks(bench: Bench, cluster: Cluster, key: ObjectKey, today: str) -> list[Finding]:
    """What is wrong with the suppressions of an object: malformed, refused, at an end."""
    marks = tuple(mark for i in cluster.index.ids(key) for mark in suppressions(cluster, i))
    return apply([], marks, frozenset(), bench.rulebook, bench.settings, today).findings


def _marks(facts: Facts | None) -> dict[str, object]:
    """The annotations of an object that are ours."""
    meta = facts.value.get("metadata") if facts is not None else None
    notes = meta.get("annotations") if isinstance(meta, Mapping) else None
    if not isinstance(notes, Mapping):
        return {}
    return {key: value for key, value in notes.items() if str(key).startswith(ANNOTATION.removesuffix("."))}


def suppressions(cluster: Cluster, identity: DocumentId) -> tuple[Suppression, ...]:
    """What the annotations of an object ignore."""
    entry = cluster.entries.get(identity)
    if entry is None or not _marks(entry.facts):
        return ()
    from policycheck.lint.suppression import Suppression

    facts = entry.facts
    return tuple(
        Suppression(
            rules=one.rules,
            place=Place(identity.file, NOWHERE),
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
