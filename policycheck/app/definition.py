"""The user's own CustomResourceDefinitions: read, and held against the objects of a scope.

Where a definition covers a kind it decides about types and fields, since it is what the user's
server has; our own field table speaks there only when it has more to say of the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.app.before import changed_from
from policycheck.model.facts import Facts
from policycheck.record import NamedTuple
from policycheck.source.document import FileReport
from policycheck.source.files import UNMATCHED, expand, load
from policycheck.source.tree import Tree
from policycheck.source.yamldoc import ParsedFile
from policycheck.systems import registry

if TYPE_CHECKING:
    from policycheck.app.before import Past
    from policycheck.app.gather import Gathered
    from policycheck.lint.settings import Target
    from policycheck.systems.crds import Crds

NOT_EVALUATED = "not-evaluated"  # a rule that only an API server can evaluate: skipped, no finding
# What a field table and a definition both judge.
_SCHEMA = frozenset(
    {
        "bad-enum",
        "dead-version",
        "deprecated-version",
        "duplicate-item",
        "missing-field",
        "other-version-field",
        "out-of-range",
        "unknown-field",
        "wrong-type",
    }
)
# Ours say more than a definition can: which version has the field, which suffixes there are.
_BETTER = frozenset({"other-version-field", "bad-quantity"})


class DefinitionError(ValueError):
    """A file given as definitions that has none, or one that can not be used: file and reason."""


def definitions(paths: tuple[str, ...], read: Callable[[str], bytes], tree: Tree) -> Crds:
    """Every definition in ``paths``. Raises DefinitionError.

    Other kinds beside them are passed over, but a path without any definition is a mistake.
    """
    from policycheck.systems.crds import Crds

    versions: dict[tuple[str, str], Any] = {}
    for path in paths:
        found = expand([path], tree=tree)
        for report in found.troubles:
            raise DefinitionError(f"--crds: {report.file}: {report.why}")
        parsed = [load(file, read) for file in found.files]
        made = [_defined(one) for one in parsed]
        if not any(len(one) for one in made):
            raise DefinitionError(f"--crds: {_nothing(path, parsed)}")
        for one in made:
            for kind, named in one.versions.items():
                versions[kind] = {**versions.get(kind, {}), **named}
    return Crds(versions)


def _defined(parsed: ParsedFile) -> Crds:
    from policycheck.systems.crds import CrdError
    from policycheck.systems.crds import load as define

    report = parsed.report
    if report.failed:
        raise DefinitionError(f"--crds: {_place(report)}: {report.why}")
    try:
        return define(document.value for document in parsed.documents)
    except CrdError as error:
        raise DefinitionError(f"--crds: {report.file}: {error}") from error


def _nothing(path: str, parsed: list[ParsedFile]) -> str:
    """Why a path has no definition in it."""
    if not parsed:
        return f"{path} {UNMATCHED}"
    wrong = next((one.report for one in parsed if one.report.why), None)
    why = f" ({_place(wrong)}: {wrong.why})" if wrong else ""
    return f"{path} has no CustomResourceDefinition in it{why}; export it with `kubectl get crds -o yaml`"


def _place(report: FileReport) -> str:
    return f"{report.file}:{report.line}" if report.line else report.file


def judged(
    facts: Facts, value: Mapping[str, Any], crds: Crds, old: Mapping[str, Any] | None = None
) -> tuple[Facts, tuple[str, ...]]:
    """``facts`` with what its definition says of ``value``, the object as written, and of its change
    from ``old``; and which rules of the definition could not be evaluated.
    """
    found = crds.check(value, old)
    idle = tuple(trouble.message for trouble in found if trouble.code == NOT_EVALUATED)
    told = [trouble for trouble in found if trouble.code != NOT_EVALUATED]
    places = {trouble.path for trouble in told}
    ours = [t for t in facts.troubles if t.code not in _SCHEMA or (t.code in _BETTER and t.path in places)]
    better = {trouble.path for trouble in ours if trouble.code in _BETTER}
    theirs = [trouble for trouble in told if trouble.path not in better]
    return facts._replace(troubles=(*ours, *theirs)), idle


class Held(NamedTuple):
    """A scope whose objects were held against definitions and against what they were before.

    ``idle`` tells of rules of the definitions that could not be evaluated.
    """

    scope: Gathered
    idle: tuple[str, ...] = ()


def hold(scope: Gathered, before: Past, targets: Mapping[str, Target]) -> Held:
    """``scope`` with whatever its definitions, and the rules about changes, refuse among the troubles."""
    entries = []
    idle: dict[str, None] = {}
    for entry in scope.entries:
        facts = entry.facts
        if entry.origin.reported:
            old = changed_from(entry, scope.name, before) if before else None
            if scope.crds is not None and scope.crds.has(facts.key.group, facts.key.kind):
                value = scope.documents[entry.origin.id].value
                facts, unsure = judged(facts, value, scope.crds, old.value if old else None)
                idle.update(dict.fromkeys(unsure))
            if old is not None:
                spoken = {trouble.path for trouble in facts.troubles}
                found = registry.transitions(facts, old.facts, targets)
                facts = facts._replace(
                    troubles=(*facts.troubles, *(t for t in found if t.path not in spoken))
                )
        entries.append(entry if facts is entry.facts else entry._replace(facts=facts))
    return Held(scope._replace(entries=tuple(entries)), tuple(idle))
