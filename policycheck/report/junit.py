"""JUnit's XML, as test pages of CI servers read it: a suite a file, a case a finding.

Written by hand: a library for it takes longer to load than a run of ``lint`` on ten files, would be a
dependency of every hook, and leaves in what XML forbids. Readers' expectations are pinned by tests.
"""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.lint.finding import Finding, LintResult
from policycheck.record import NamedTuple
from policycheck.report import View
from policycheck.report.markup import HEAD, element, text
from policycheck.source.document import FileReport

_OWN = "policycheck"  # the suite of what is about no file


class _Case(NamedTuple):
    """One test as the page shows it."""

    outcome: str  # "passed", "failure", "error", "skipped"
    xml: str


def render(result: LintResult, view: View) -> str:
    """Findings that fail the run are failures, others pass and say so; suppressed and known ones are
    skipped; what could not be read, and rules that raised, are errors. The figures add up.
    """
    suites: dict[str, list[_Case]] = {}
    for report in result.files:
        suites[report.file] = _of_file(report, view)
    for finding in result.findings:
        suites.setdefault(finding.place.file, []).append(_found(finding, view))
    for one in result.suppressed:
        why = (
            f"suppressed{f' until {one.until}' if one.until else ''}{f' by {one.owner}' if one.owner else ''}"
        )
        why += f": {one.reason}" if one.reason else ""
        suites.setdefault(one.finding.place.file, []).append(_skipped(one.finding, why, view))
    for finding in result.before:
        suites.setdefault(finding.place.file, []).append(_skipped(finding, "known before", view))
    for name, cases in suites.items():
        if not cases:
            cases.append(_case(view.relative(name), "no findings", "passed"))
    own = _about_no_file(result)
    shown = [(view.relative(name), cases) for name, cases in sorted(suites.items())]
    return HEAD + _suites([*shown, (_OWN, own)] if own else shown)


def _of_file(report: FileReport, view: View) -> list[_Case]:
    """What became of a file that was not checked, or not wholly."""
    if report.state == "checked":
        return []
    name = view.relative(report.file)
    where = f"{name}:{report.line or 1}"
    if report.failed:
        detail = element(
            "error", {"message": report.why, "type": "unreadable"}, text(f"{where}: {report.why}")
        )
        return [_case(name, "readable", "error", detail)]
    return [_case(name, report.state, "skipped", element("skipped", {"message": report.why}))]


def _about_no_file(result: LintResult) -> list[_Case]:
    cases = []
    for error in result.errors:
        detail = element("error", {"message": error.why, "type": "rule"}, text(error.why))
        cases.append(_case(error.scope or _OWN, error.rule, "error", detail))
    for skip in result.skipped:
        detail = element("skipped", {"message": skip.why})
        cases.append(_case(skip.scope or _OWN, skip.rule, "skipped", detail))
    return cases


def _found(finding: Finding, view: View) -> _Case:
    if finding.severity in view.fails:
        told = {"message": finding.message, "type": finding.severity}
        detail = element("failure", told, text(_body(finding, view)))
        return _case(_class(finding, view), _title(finding), "failure", detail)
    detail = element("system-out", {}, text(_body(finding, view)))
    return _case(_class(finding, view), _title(finding), "passed", detail)


def _skipped(finding: Finding, why: str, view: View) -> _Case:
    detail = element("skipped", {"message": why}, text(_body(finding, view)))
    return _case(_class(finding, view), _title(finding), "skipped", detail)


def _body(finding: Finding, view: View) -> str:
    span = finding.place.span
    where = f"{view.relative(finding.place.file)}:{span.line}:{span.column}"
    rows = [f"{where}: {finding.severity}[{finding.rule}] {finding.message}"]
    if finding.path:
        rows.append(f"at {finding.path}")
    rows.extend(
        f"{view.relative(place.file)}:{place.span.line}:{place.span.column}: {place.label}"
        for place in finding.related
    )
    if finding.help:
        rows.append(finding.help.strip())
    return "\n".join(rows)


def _title(finding: Finding) -> str:
    return f"{finding.rule} {finding.name} line {finding.place.span.line}"


def _class(finding: Finding, view: View) -> str:
    return str(finding.object) if finding.object is not None else view.relative(finding.place.file)


def _case(owner: str, name: str, outcome: str, detail: str = "") -> _Case:
    inner = [detail] if detail else ""
    return _Case(outcome, element("testcase", {"classname": owner, "name": name}, inner))


def _suites(suites: list[tuple[str, list[_Case]]]) -> str:
    total = _figures(case for _, cases in suites for case in cases)
    total.pop("skipped")  # the outer element has no such figure
    parts = [
        element("testsuite", {"name": name, **_figures(cases)}, [case.xml for case in cases])
        for name, cases in suites
    ]
    return element("testsuites", {"name": "policycheck", **total}, parts)


def _figures(cases: Iterable[_Case]) -> dict[str, int]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
