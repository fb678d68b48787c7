"""What a run comes to, in figures and in words; every report says the same of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.lint.finding import SEVERITIES, LintResult
from policycheck.record import NamedTuple
from policycheck.source.document import FileReport
from policycheck.source.files import UNMATCHED
from policycheck.wording import plural

FEW = 5  # of each list, when the user did not ask for all


class Counts(NamedTuple):
    """Findings by severity, and what they were looked for in."""

    errors: int
    warnings: int
    infos: int
    suppressed: int
    documents: int
    files: int  # checked, wholly or partly
    known: int = 0  # findings left out, since they were there before

    @property
    def findings(self) -> int:
        """All of them, whatever the severity."""
        return self.errors + self.warnings + self.infos


class Notice(NamedTuple):
    """Something beside the findings that the user has to know: a heading and its items."""

    kind: str  # "unread", "notChecked", "partly", "ruleError", "skipped", "target", "note"
    title: str
    items: tuple[str, ...] = ()


def count(result: LintResult) -> Counts:
    """The figures of a result."""
    severity = dict.fromkeys(SEVERITIES, 0)
    for finding in result.findings:
        severity[finding.severity] += 1
    files = sum(report.state != "notChecked" for report in result.files)
    return Counts(
        severity["error"],
        severity["warning"],
        severity["info"],
        len(result.suppressed),
        result.documents,
        files,
        result.known,
    )


def headline(counts: Counts, dot: str = " · ") -> str:
    """``3 errors, 2 warnings · 1 suppressed · 214 objects in 37 files``."""
    named = ((counts.errors, "error"), (counts.warnings, "warning"))
    found = [plural(amount, noun) for amount, noun in named if amount]
    if counts.infos:
        found.append(f"{counts.infos:,} info")
    parts = [", ".join(found) or "no findings"]
    if counts.suppressed:
        parts.append(f"{counts.suppressed:,} suppressed")
    if counts.known:
        parts.append(f"{counts.known:,} known before")
    parts.append(f"{plural(counts.documents, 'object')} in {plural(counts.files, 'file')}")
    return dot.join(parts)


def notices(result: LintResult) -> list[Notice]:
    """All that was not checked, not run or assumed, most serious first. Silence is never "fine"."""
    found = [*_rule_errors(result), *_files(result.files), *_skipped(result), *_targets(result)]
    found.extend(Notice("note", note) for note in result.notes)
    return found


def _rule_errors(result: LintResult) -> list[Notice]:
    if not result.errors:
        return []
    items = _grouped((error.rule, error.scope, error.why) for error in result.errors)
    return [
        Notice(
            "ruleError",
            f"{plural(len(items), 'error')} in rules or settings, so findings may be missing",
            items,
        )
    ]


def _files(files: Sequence[FileReport]) -> list[Notice]:
    if all(file.why == UNMATCHED for file in files):
        named = tuple(_file(file) for file in files)
        return [Notice("unread", "nothing was checked: no file matched what was given", named)]
    unread = tuple(_file(file) for file in files if file.failed)
    partly = tuple(_file(file) for file in files if file.state == "partly" and not file.failed)
    skipped = tuple(_file(file) for file in files if file.state == "notChecked" and not file.failed)
    found: list[Notice] = []
    if unread:
        found.append(Notice("unread", f"{plural(len(unread), 'file')} could not be read", unread))
    if partly:
        found.append(Notice("partly", f"{plural(len(partly), 'file')} checked in part", partly))
    if skipped:
        found.append(Notice("notChecked", f"{plural(len(skipped), 'file')} not checked", skipped))
    return found


def _file(report: FileReport) -> str:
    at = report.file if report.line is None else f"{report.file}:{report.line}"
    return f"{at}: {report.why}" if report.why else at


def _skipped(result: LintResult) -> list[Notice]:
    if not result.skipped:
        return []
    items = _grouped((skip.rule, skip.scope, skip.why) for skip in result.skipped)
    rules = len({skip.rule for skip in result.skipped})
    return [Notice("skipped", f"{plural(rules, 'rule')} not run, or not on everything", items)]


def _targets(result: LintResult) -> list[Notice]:
    used = sorted(result.targets.items())
    return [
        Notice("target", f"{system} {target.version} assumed; say which with --target {system}=VERSION")
        for system, target in used
        if target.assumed
    ] + [
        Notice("target", f"{system} {target.version}" + (f" (from {target.source})" if target.source else ""))
        for system, target in used
        if not target.assumed
    ]


def _grouped(entries: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """``KQ101, KQ107: no inventory``: rules with the same reason are one item."""
    groups: dict[tuple[str, str], list[str]] = {}
    for rule, scope, why in entries:
        rules = groups.setdefault((scope, why), [])
        if rule not in rules:
            rules.append(rule)
    return tuple(
        f"{', '.join(rules)}{f' in {scope}' if scope else ''}: {why}"
        for (scope, why), rules in groups.items()
    )
