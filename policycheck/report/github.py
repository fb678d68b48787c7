"""Annotations of a GitHub workflow: commands on standard output that a runner turns into remarks.

Form and limits: https://docs.github.com/actions/reference/workflow-commands-for-github-actions and the
problem matchers of actions/toolkit: ten of each level a step, the others are dropped without a word.
"""

from __future__ import annotations

from policycheck.lint.finding import SEVERITIES, Finding, LintResult
from policycheck.report import View
from policycheck.report.screen import clean
from policycheck.source.document import FileReport
from policycheck.wording import plural

MOST = 10  # of each level a step
_LEVEL = {"error": "error", "warning": "warning", "info": "notice"}
_NOUN = {"error": "error", "warning": "warning", "info": "notice"}
_NO_FILE = "<stdin>"


def render(result: LintResult, view: View) -> str:
    """At most ten of each level, the worst first, what could not be done before all; then what was left out.

    What was there before is a notice, behind all that is new.
    """
    told = {
        severity: [_finding(one, view) for one in result.findings if one.severity == severity]
        for severity in SEVERITIES
    }
    unread = [_unread(report, view) for report in result.files if report.failed]
    broken = [
        _command("error", {"title": f"policycheck: {error.rule}"}, error.why) for error in result.errors
    ]
    told["error"] = [*unread, *broken, *told["error"]]
    known = sorted(result.before, key=lambda one: SEVERITIES.index(one.severity))
    told["info"] += [_finding(one, view, known=True) for one in known]
    rows = [row for severity in SEVERITIES for row in told[severity][:MOST]]
    hidden = [
        plural(len(told[severity]) - MOST, _NOUN[severity])
        for severity in SEVERITIES
        if len(told[severity]) > MOST
    ]
    if hidden:
        rows.append(f"and {', '.join(hidden)} more than a step may annotate: the other reports have them all")
    return "".join(f"{row}\n" for row in rows)


def _finding(finding: Finding, view: View, *, known: bool = False) -> str:
    span = finding.place.span
    told: dict[str, object] = {}
    body = finding.message
    if finding.place.file == _NO_FILE:
        body = f"{_NO_FILE}:{span.line}: {body}"
    else:
        told = {"file": view.relative(finding.place.file), "line": span.line, "endLine": span.end_line}
        if span.line == span.end_line:  # columns of a remark over several lines are refused
            told |= {"col": span.column, "endColumn": span.end_column}
    told["title"] = f"{finding.rule} {finding.name}{' (known before)' if known else ''}"
    if finding.help:
        body += f"\n{finding.help}"
    return _command("notice" if known else _LEVEL[finding.severity], told, body)


def _unread(report: FileReport, view: View) -> str:
    told: dict[str, object] = {"file": view.relative(report.file), "line": report.line or 1}
    return _command("error", {**told, "title": "policycheck: not checked"}, report.why)


def _command(level: str, properties: dict[str, object], body: str) -> str:
    """One command. What manifests say can neither end it nor begin another."""
    written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    lines = "\n".join(clean(line) for line in body.strip().split("\n"))
    return f"::{level} {written}::{_data(lines)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")
