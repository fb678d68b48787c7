"""A finding: a hit, stamped with its rule and resolved to a place; what every report is made of."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.origin import ObjectKey
from policycheck.record import NamedTuple
from policycheck.source.document import Change, FileReport, Span

SEVERITIES = ("error", "warning", "info")


class Place(NamedTuple):
    """A resolved place in a file."""

    file: str
    span: Span
    label: str = ""


class Replacement(NamedTuple):
    """New text for a stretch of a file: what a fix comes to. Without a width it is put in."""

    file: str
    span: Span
    text: str


class Finding(NamedTuple):
    """One reportable result. ``path`` is dotted, with list items by name."""

    rule: str
    name: str
    severity: str
    confidence: str
    message: str
    help: str  # the remediation, placeholders resolved
    scope: str
    place: Place
    path: str
    object: ObjectKey | None
    api_version: str
    related: tuple[Place, ...] = ()
    fingerprint: str = ""  # stable under moves in the file and renames of others
    fix: str | None = None  # "safe", "unsafe", "manual"
    changes: tuple[Change, ...] = ()  # of the data as written; what the fix would make of them

    @property
    def order(self) -> tuple[str, str, int, int, str, str]:
        """Sort key: scope, file, line, column, rule, message."""
        span = self.place.span
        return (self.scope, self.place.file, span.line, span.column, self.rule, self.message)


class SkippedRule(NamedTuple):
    """A rule that did not run, or not on everything, and why."""

    rule: str
    why: str
    scope: str = ""


class RuleError(NamedTuple):
    """A rule that raised. Exit code 2; never a finding, never silence."""

    rule: str
    why: str
    scope: str = ""


class Suppressed(NamedTuple):
    """A finding that was ignored on purpose, and on whose word."""

    finding: Finding
    reason: str
    owner: str
    until: str
    place: Place


class TargetUsed(NamedTuple):
    """The version of a system that was assumed or detected."""

    version: str
    assumed: bool
    source: str = ""  # "image tag in deploy.yaml:12"


class LintResult(NamedTuple):
    """Everything one lint run found out; each report renders this and nothing else."""

    findings: tuple[Finding, ...]  # sorted by Finding.order
    suppressed: tuple[Suppressed, ...]
    skipped: tuple[SkippedRule, ...]
    errors: tuple[RuleError, ...]
    files: tuple[FileReport, ...]
    targets: Mapping[str, TargetUsed]
    documents: int
    scopes: tuple[str, ...] = ()
    known: int = 0  # findings that were there before, and are left out
    before: tuple[Finding, ...] = ()  # these, as they are now; sorted by Finding.order
    ran: tuple[str, ...] = ()  # ids of the chosen rules, sorted: what "no finding" speaks of
    notes: tuple[str, ...] = ()  # anything the user should know: an assumed version, a cut
    ending: tuple[Suppressed, ...] = ()  # of ``suppressed`` what comes back soon; first things first
