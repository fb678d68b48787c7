"""The use cases: the only package that knows the whole pipe.

``load`` gives the linked clusters, ``lint`` the findings; each is a few lines over the modules
beside: ``gather`` (text to documents), ``book`` (rules and what lint may know of systems) and
``target`` (which version of which system is assumed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.app.book import rulebook, systems
from policycheck.app.gather import Gathered, Shared, Sources, accounts, gather, scoped
from policycheck.app.linked import linked
from policycheck.garbage import no_collection
from policycheck.model.cluster import Cluster
from policycheck.source.tree import Listing
from policycheck.wording import some

if TYPE_CHECKING:
    from policycheck.app.before import Past
    from policycheck.app.plan import Part
    from policycheck.lint.finding import LintResult, RuleError, SkippedRule
    from policycheck.lint.rulebook import Rulebook
    from policycheck.lint.settings import Settings, Target
    from policycheck.lint.suppression import Suppression
    from policycheck.source.document import Span
    from policycheck.source.spans import Spans

__all__ = ["Sources", "lint", "lint_texts", "load", "rulebook", "systems"]


_SHOWN = 5  # of a list in a note
_MANY = 1500  # documents from which on processes win more time with rules than starting them takes
_MOST_GROUPS = 8  # of rules: what rules derive together is derived once a group
# The day on which rule examples happen, so that a suppression in one can be over.
TODAY_IN_TEXTS = "2026-01-01"


def load(sources: Sources, settings: Settings) -> tuple[Cluster, ...]:
    """One linked Cluster a scope."""
    return tuple(linked(scope) for scope in gather(sources, settings))


def lint(sources: Sources, settings: Settings) -> LintResult:
    """Every chosen rule over every scope; with an earlier state only what is new against that."""
    with no_collection():
        if sources.kept is None:
            return _both(sources, settings)
        from policycheck.app.again import again

        planned = scoped(sources, settings)
        return again(sources, settings, planned, lambda these: _both(these, settings, planned))


def _both(sources: Sources, settings: Settings, planned: tuple[Part, ...] | None = None) -> LintResult:
    if sources.before is None:
        scopes = gather(sources, settings, None, planned)
        return _placed(_lint(scopes, sources, settings), scopes, sources)
    from policycheck.app.before import only_new, past

    shared = Shared()
    earlier = gather(sources.before, settings, shared)
    known = _lint(earlier, sources.before, settings)
    now = gather(sources, settings, shared, planned)
    return _placed(only_new(_lint(now, sources, settings, past(earlier)), known), now, sources)


def _placed(result: LintResult, scopes: tuple[Gathered, ...], sources: Sources) -> LintResult:
    """Findings in rendered text, where they are written."""
    if not any(scope.rendered for scope in scopes):
        return result
    from policycheck.app.rendered import placed

    return placed(result, scopes, sources)


def lint_texts(
    texts: Mapping[str, str],
    settings: Settings,
    *,
    inventory: Mapping[str, str] | None = None,
    context: Mapping[str, str] | None = None,
    crds: Mapping[str, str] | None = None,
    before: Mapping[str, str] | None = None,
    today: str = TODAY_IN_TEXTS,
) -> LintResult:
    """The same over texts in memory, as one scope: rule examples, tests, the webhook.

    ``before`` are the texts as they were; then only what is new against them is found.
    """
    beside = {**(inventory or {}), **(context or {}), **(crds or {})}
    held = {**texts, **beside}
    sources = Sources(
        paths=tuple(texts),
        read=lambda name: held[name].encode(),
        context=tuple(context or ()),
        inventory=tuple(inventory or ()),
        targets=settings.target,
        rules=settings.rules,
        today=today,
        crds=tuple(crds or ()),
        tree=Listing(held),
        in_memory=True,
    )
    if before is not None:
        old = {**before, **beside}
        earlier = sources._replace(
            paths=tuple(before), read=lambda name: old[name].encode(), tree=Listing(old)
        )
        sources = sources._replace(before=earlier)
    return lint(sources, settings)


def _lint(
    scopes: tuple[Gathered, ...], sources: Sources, settings: Settings, before: Past | None = None
) -> LintResult:
    from policycheck.app.target import complaints, remark, targets_of
    from policycheck.lint import runner
    from policycheck.lint.finding import RuleError
    from policycheck.source.spans import Spans

    book = rulebook(sources.rules)
    targets: dict[str, Mapping[str, Target]] = {
        scope.name: targets_of(scope, (*scope.targets, *sources.targets)) for scope in scopes
    }
    idle: list[tuple[str, str]] = []  # scope, and what of a definition could not be evaluated
    if sources.crds or before:
        from policycheck.app.definition import hold

        held = [hold(scope, before or {}, targets[scope.name]) for scope in scopes]
        scopes = tuple(one.scope for one in held)
        idle = [(one.scope.name, what) for one in held for what in one.idle]
    clusters = tuple(linked(scope) for scope in scopes)
    spans = Spans(lambda file: _bytes(scopes, file, sources.read))
    job = runner.Job(
        clusters=clusters,
        rulebook=book,
        systems=systems(),
        locate=_locator(spans),
        settings=settings,
        targets=targets,
        texts={i: t for scope in scopes for i, t in scope.texts.items()},
        suppressions=_suppressions(scopes, spans, sources.read),
        today=sources.today,
        skipped=_not_evaluated(book, idle),
        **_apart(scopes, sources.jobs),
    )
    looked = runner.looked(job) if sources.memory is None else sources.memory.looked(job, scopes)
    result = runner.concluded(job, looked)
    told = (what for scope in scopes for what in complaints(scope, sources.targets))
    wrong = [RuleError("settings", what) for what in dict.fromkeys(told)]
    remarks = filter(None, (remark(one) for known in targets.values() for one in known.values()))
    return result._replace(
        files=accounts(scopes),
        errors=(*result.errors, *_problems(book), *wrong),
        notes=(*result.notes, *dict.fromkeys(remarks), *_unseen(scopes)),
    )


def _apart(scopes: tuple[Gathered, ...], jobs: int) -> dict[str, Any]:
    """How the rules of a Job are shared among processes, where that pays."""
    if jobs < 2 or sum(len(scope.entries) for scope in scopes) < _MANY:
        return {}
    from policycheck.app.apart import done

    groups = min(jobs, _MOST_GROUPS)
    return {"apart": lambda tasks: done(tasks, groups), "groups": groups}


def _unseen(scopes: tuple[Gathered, ...]) -> Iterator[str]:
    """What references may mean without anybody being able to tell."""
    for scope in scopes:
        names = [f"{kind} {name or '(name not known)'}" for kind, name in sorted(scope.unseen)]
        if names:
            shown = some(names, _SHOWN)
            where = f" in {scope.name}" if len(scopes) > 1 and scope.name else ""
            yield f"not in sight{where}, since their text could not be read: {shown}"


def _problems(book: Rulebook) -> tuple[RuleError, ...]:
    from policycheck.lint.finding import RuleError

    return tuple(RuleError(f"{p.file}:{p.line}:{p.column}", p.message) for p in book.problems)


def _suppressions(
    scopes: tuple[Gathered, ...], spans: Spans, read: Callable[[str], bytes]
) -> tuple[Suppression, ...]:
    if not any(scope.marked for scope in scopes):
        return ()
    from policycheck.app.suppression import suppressions

    return suppressions(scopes, spans, read)


def _not_evaluated(book: Rulebook, idle: list[tuple[str, str]]) -> tuple[SkippedRule, ...]:
    from policycheck.lint.finding import SkippedRule

    speaking = [rule.id for rule in book.rules if "failed-rule" in rule.troubles] or ["--crds"]
    return tuple(dict.fromkeys(SkippedRule(speaking[0], what, scope) for scope, what in idle))


def _bytes(scopes: tuple[Gathered, ...], file: str, read: Callable[[str], bytes]) -> bytes:
    """A file's bytes: rendered ones are held, others are read again."""
    for scope in scopes:
        if file in scope.rendered:
            return scope.rendered[file]
    return read(file)


def _locator(spans: Spans) -> Callable[..., Span]:
    def locate(identity: object, path: object, on_key: bool) -> Span:
        return spans.locate(identity, path, on_key=on_key).span  # type: ignore[arg-type]

    return locate
