"""Rules over clusters: hits stamped into findings, sorted, with everything that did not run listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from policycheck.lint import evaluate
from policycheck.lint.cel import Runtime
from policycheck.lint.evaluate import Outcome, RawHit, Setting
from policycheck.lint.finding import (
    Finding,
    LintResult,
    Place,
    RuleError,
    SkippedRule,
    TargetUsed,
)
from policycheck.lint.fix import Found, fix_of
from policycheck.lint.hit import Hit
from policycheck.lint.message import MessageError, render
from policycheck.lint.place import dotted, fingerprint, written_dotted
from policycheck.lint.reminder import ending, reminder
from policycheck.lint.rule import Rule, Systems
from policycheck.lint.rulebook import Rulebook
from policycheck.lint.select import choose, complaints, params_of, severity_of
from policycheck.lint.settings import Settings, Target
from policycheck.lint.suppression import Suppression, apply, by_path
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.record import NamedTuple
from policycheck.source.document import Span, TextTrouble

# The span of a path as written, of its key alone when asked; of the nearest written parent's key
# when the path is not written.
Locate = Callable[[DocumentId, Path, bool], Span]


class Spot(NamedTuple):
    """Where a place was looked up: the path as written in its document."""

    id: DocumentId
    path: Path
    on_key: bool
    label: str


class Draft(NamedTuple):
    """A finding before it has its fingerprint, with what that takes, and with where its places come from."""

    finding: Finding
    id: DocumentId
    newest: str  # dotted path in the newest form
    discriminator: str
    spot: Spot | None  # None: reading noticed it, and knows the place
    related: tuple[Spot, ...]


class Looked(NamedTuple):
    """What came of a group of rules: no more than has to travel from one process to another."""

    drafts: list[Draft]
    skipped: list[SkippedRule]
    errors: list[RuleError]


Apart = Callable[[Sequence[Callable[[], Looked]]], list[Looked]]


def together(tasks: Sequence[Callable[[], Looked]]) -> list[Looked]:
    """One after another."""
    return [task() for task in tasks]


class Job(NamedTuple):
    """Everything that a run needs; only ``clusters``, ``rulebook``, ``systems``, ``locate`` have to be.

    ``targets`` are by scope and system. ``today`` is an ISO date, "" when suppressions never end.
    """

    clusters: tuple[Cluster, ...]
    rulebook: Rulebook
    systems: Systems
    locate: Locate
    settings: Settings = Settings()
    targets: Mapping[str, Mapping[str, Target]] = {}
    texts: Mapping[DocumentId, tuple[TextTrouble, ...]] = {}
    suppressions: tuple[Suppression, ...] = ()
    today: str = ""
    skipped: tuple[SkippedRule, ...] = ()  # what could not be decided before any rule ran
    apart: Apart = together  # does the groups of rules, all at once where that is faster
    groups: int = 1  # into which rules are split


def run(job: Job) -> LintResult:
    """Every chosen rule over every cluster. ``files`` of the result is left to the caller.

    Settings that fit no rule are among the errors: a misspelt rule must not look like a clean run.
    """
    return concluded(job, looked(job))


def looked(job: Job) -> Looked:
    """What every chosen rule finds in every cluster."""
    chosen = choose(job.rulebook, job.settings)
    # Each n-th rule: those that look at the same things stand together, and take about as long.
    groups = [chosen.rules[n :: job.groups] for n in range(job.groups)]
    return joined(job.apart([partial(_looked, rules, job) for rules in groups]))


def joined(every: Sequence[Looked]) -> Looked:
    """What came of several groups of rules, or of clusters."""
    return Looked(
        [draft for one in every for draft in one.drafts],
        [skip for one in every for skip in one.skipped],
        [error for one in every for error in one.errors],
    )


def concluded(job: Job, looked: Looked) -> LintResult:
    """What was found, with what ignores some of it; see ``run``."""
    chosen = choose(job.rulebook, job.settings)
    errors = [RuleError("settings", what) for what in complaints(job.rulebook, job.settings)]
    errors.extend(looked.errors)
    skipped = [*job.skipped, *looked.skipped]
    findings = _finish(looked.drafts, job)
    ran = _ran(chosen.rules, skipped, errors)
    elsewhere = by_path(findings, job.rulebook, job.settings, job.today)
    outcome = apply(elsewhere.findings, job.suppressions, ran, job.rulebook, job.settings, job.today)
    suppressed = sorted([*outcome.suppressed, *elsewhere.suppressed], key=lambda s: s.finding.order)
    near = ending(suppressed, job.settings.suppressions, job.today)
    ids = {i for cluster in job.clusters for i, entry in cluster.entries.items() if entry.origin.reported}
    return LintResult(
        findings=tuple(sorted(outcome.findings, key=lambda finding: finding.order)),
        suppressed=tuple(suppressed),
        skipped=tuple(_sorted_skips(skipped)),
        errors=tuple(sorted(set(errors), key=lambda e: (e.scope, e.rule, e.why))),
        files=(),
        targets=_targets(job),
        documents=len(ids),
        scopes=tuple(cluster.scope for cluster in job.clusters),
        notes=(*chosen.notes, *reminder(near, job.today)),
        ending=near,
        ran=tuple(sorted(rule.id for rule in chosen.rules)),
    )


def stamped(
    raw: list[tuple[Cluster, RawHit]], job: Job, runtime: Callable[[], Runtime]
) -> tuple[list[Finding], list[RuleError]]:
    """Hits in documents that are reported as findings with their fingerprints, before anything is ignored.

    Of hits that only a count tells apart, all have to be here for the count to be right.
    """
    drafts, errors = drafted(raw, job, runtime)
    return _finish(drafts, job), errors


def _looked(rules: tuple[Rule, ...], job: Job) -> Looked:
    """What a group of rules finds in all clusters."""
    runtime = cache(Runtime)  # one for all, made when there is something to evaluate
    outcomes = [(cluster, look(cluster, rules, job, runtime)) for cluster in job.clusters]
    drafts, errors = drafted([(c, hit) for c, outcome in outcomes for hit in outcome.hits], job, runtime)
    errors.extend(error for _, outcome in outcomes for error in outcome.errors)
    return Looked(drafts, [skip for _, outcome in outcomes for skip in outcome.skipped], errors)


def drafted(
    raw: list[tuple[Cluster, RawHit]], job: Job, runtime: Callable[[], Runtime]
) -> tuple[list[Draft], list[RuleError]]:
    """Hits in documents that are reported, with their words and places."""
    drafts: list[Draft] = []
    errors: list[RuleError] = []
    # Sorted by file, so that each file with findings is looked into once.
    for cluster, hit in sorted(raw, key=lambda pair: (pair[1].hit.id, pair[0].scope, pair[1].rule.id)):
        if not cluster.entries[hit.hit.id].origin.reported:
            continue
        draft = _stamp(cluster, hit, job, runtime)
        if isinstance(draft, RuleError):
            errors.append(draft)
        else:
            drafts.append(draft)
    return drafts, errors


def look(cluster: Cluster, rules: tuple[Rule, ...], job: Job, runtime: Callable[[], Runtime]) -> Outcome:
    """What ``rules`` hit on one cluster, raw."""
    outcome = Outcome([], [], [])
    for rule in rules:
        if not rule.troubles:
            ask(rule, setting_of(rule, cluster, job), job, runtime, outcome)
    notice(cluster, rules, job, outcome)
    return outcome


def setting_of(rule: Rule, cluster: Cluster, job: Job) -> Setting:
    """What a rule is run with on a cluster."""
    params = params_of(rule, job.settings)
    if params.get("today") == "":  # the only way in which a rule learns the day
        params = {**params, "today": job.today}
    return Setting(cluster, params, job.targets.get(cluster.scope, {}))


def ask(rule: Rule, setting: Setting, job: Job, runtime: Callable[[], Runtime], outcome: Outcome) -> None:
    """One rule on one cluster, or why it can not run there."""
    why = evaluate.reason_to_skip(rule, setting)
    if why is not None:
        if why:
            outcome.skipped.append(SkippedRule(rule.id, why, setting.cluster.scope))
    elif rule.check:
        _run_check(rule, setting, job, outcome)
    else:
        evaluate.run_expression(rule, runtime, setting, job.texts, outcome)


def notice(cluster: Cluster, rules: tuple[Rule, ...], job: Job, outcome: Outcome) -> None:
    """Troubles as hits; one that no rule of the whole rulebook reports must not vanish."""
    setting = Setting(cluster, {}, job.targets.get(cluster.scope, {}))
    by_code: dict[str, list[Rule]] = {}
    for rule in job.rulebook.rules:
        for code in rule.troubles:
            by_code.setdefault(code, []).append(rule)
    chosen = {rule.id for rule in rules}
    for found in evaluate.trouble_hits(by_code, setting, job.texts):
        if isinstance(found, str):
            what = f"reading noticed {found!r}, and no rule of the rulebook reports that"
            outcome.errors.append(RuleError("trouble", what, setting.cluster.scope))
        elif found.rule.id in chosen:
            outcome.hits.append(found)


def _run_check(rule: Rule, setting: Setting, job: Job, outcome: Outcome) -> None:
    try:
        check = job.systems.check(rule.check)
    except LookupError as error:
        why = str(error.args[0] if error.args else error)
        outcome.errors.append(RuleError(rule.id, why, setting.cluster.scope))
        return
    evaluate.run_check(rule, check, setting, outcome)


def _stamp(cluster: Cluster, raw: RawHit, job: Job, runtime: Callable[[], Runtime]) -> Draft | RuleError:
    """The finding of a hit, without its fingerprint."""
    rule, hit = raw.rule, raw.hit
    facts = cluster.entries[hit.id].facts
    try:
        message = render(rule.message, hit.values, raw.context)
        remedy = render(rule.remediation, hit.values, raw.context)
    except MessageError as error:
        return RuleError(rule.id, str(error), cluster.scope)
    place, spot = _placed(cluster, raw, job)
    related = tuple(_related(cluster, hit))
    fix = fix_of(Found(rule, hit, raw.base, raw.context, cluster), job.systems, runtime)
    finding = Finding(
        rule=rule.id,
        name=rule.name,
        severity=severity_of(rule, job.settings, hit.id.file),
        confidence=rule.confidence,
        message=message,
        help=remedy,
        scope=cluster.scope,
        place=place,
        path=dotted(hit.path, facts.value) if hit.raw else written_dotted(facts, hit.path),
        object=facts.key,
        api_version=facts.api_version,
        related=places_of(related, job.locate),
        fix=fix.safety,
        changes=fix.changes,
    )
    return Draft(finding, hit.id, dotted(hit.path, facts.value), hit.discriminator, spot, related)


def _placed(cluster: Cluster, raw: RawHit, job: Job) -> tuple[Place, Spot | None]:
    hit = raw.hit
    if raw.trouble is not None:
        return Place(hit.id.file, raw.trouble.span, hit.label), None
    path = hit.path if hit.raw else cluster.entries[hit.id].facts.written(hit.path)
    spot = Spot(hit.id, path, hit.on_key, hit.label)
    return place_of(spot, job.locate), spot


def _related(cluster: Cluster, hit: Hit) -> Iterator[Spot]:
    for related in hit.related:
        entry = cluster.entries.get(related.id)
        path = entry.facts.written(related.path) if entry else related.path
        yield Spot(related.id, path, False, related.label)


def place_of(spot: Spot, locate: Locate) -> Place:
    """Where that is in the text as it is now."""
    return Place(spot.id.file, locate(spot.id, spot.path, spot.on_key), spot.label)


def places_of(spots: Sequence[Spot], locate: Locate) -> tuple[Place, ...]:
    """The same for several, each place once."""
    return tuple(dict.fromkeys(place_of(spot, locate) for spot in spots))


def _finish(drafts: list[Draft], job: Job) -> list[Finding]:
    """Duplicates removed, fingerprints given."""
    named = {cluster.name for cluster in job.settings.clusters}
    turns: dict[tuple[object, ...], int] = {}
    findings: dict[tuple[object, ...], Finding] = {}
    for draft in sorted(drafts, key=lambda d: d.finding.order):
        one = draft.finding
        if (*one.order, one.path) in findings:
            continue
        # A cluster's name is the user's; the name of an inferred scope is a path, and paths move.
        apart = f"{one.scope if one.scope in named else ''}\x00{draft.discriminator}"
        same = (one.rule, one.object, draft.newest, apart)
        turn = turns.get(same, 0)
        turns[same] = turn + 1
        mark = fingerprint(one.rule, one.object, draft.newest, apart, turn)
        findings[(*one.order, one.path)] = one._replace(fingerprint=mark)
    return list(findings.values())


def _ran(rules: tuple[Rule, ...], skipped: list[SkippedRule], errors: list[RuleError]) -> frozenset[str]:
    """Rules that looked at everything: only of these a suppression can be called unused."""
    partly = {skip.rule for skip in skipped} | {error.rule for error in errors}
    return frozenset(rule.id for rule in rules if rule.id not in partly)


def _sorted_skips(skipped: list[SkippedRule]) -> list[SkippedRule]:
    return sorted(set(skipped), key=lambda s: (s.scope, s.rule, s.why))


def _targets(job: Job) -> dict[str, TargetUsed]:
    """Targets by system; by scope and system where scopes differ."""
    used: dict[str, TargetUsed] = {}
    for scope in sorted(job.targets):
        for system, target in sorted(job.targets[scope].items()):
            one = TargetUsed(target.version, target.assumed, target.source)
            if used.setdefault(system, one) != one:
                used[f"{scope}/{system}"] = one
    return used
