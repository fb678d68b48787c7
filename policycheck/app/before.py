"""What was there before: findings that are known, and objects that a change is held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from policycheck.model.cluster import Entry
from policycheck.model.facts import Facts
from policycheck.model.origin import ObjectKey
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.finding import LintResult


class OldObject(NamedTuple):
    """An object as it was, and where it stood."""

    scope: str
    file: str
    digest: str
    facts: Facts
    value: Mapping[str, Any]  # as written


Past = Mapping[ObjectKey, tuple[OldObject, ...]]


def past(scopes: tuple[Gathered, ...]) -> Past:
    """Every object of an earlier state by its identity, so that a file may be renamed."""
    found: dict[ObjectKey, list[OldObject]] = {}
    for scope in scopes:
        for entry in scope.entries:
            origin = entry.origin
            value = scope.documents[origin.id].value
            one = OldObject(scope.name, origin.id.file, origin.digest, entry.facts, value)
            found.setdefault(entry.facts.key, []).append(one)
    return {key: tuple(objects) for key, objects in found.items()}


def changed_from(entry: Entry, scope: str, before: Past) -> OldObject | None:
    """What ``entry`` was before; None when it is new or the same, or when several could be meant.

    The same scope goes first, then the same file: clusters may have objects of one name.
    """
    near = before.get(entry.facts.key, ()) if entry.facts.key.name else ()
    near = tuple(old for old in near if old.scope == scope) or near
    near = tuple(old for old in near if old.file == entry.origin.id.file) or near
    if len({old.digest for old in near}) != 1 or near[0].digest == entry.origin.digest:
        return None
    return near[0]


def only_new(result: LintResult, earlier: LintResult) -> LintResult:
    """``result`` without the findings that were there before; they are counted."""
    known = {finding.fingerprint for finding in earlier.findings}
    new = tuple(finding for finding in result.findings if finding.fingerprint not in known)
    old = tuple(finding for finding in result.findings if finding.fingerprint in known)
    return result._replace(findings=new, known=len(old), before=old)
