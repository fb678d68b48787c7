"""GitLab's code quality report: what a merge request shows beside the changed lines.

Shape: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from policycheck.digest import sha256
from policycheck.lint.finding import Finding, LintResult
from policycheck.report import View
from policycheck.report.screen import clean
from policycheck.source.document import FileReport

# "blocker" is left to a certificate that is refused.
_SEVERITY = {"error": "major", "warning": "minor", "info": "info"}
_UNREADABLE = "unreadable-file"


def render(result: LintResult, view: View) -> str:
    """A flat list; each fingerprint in it once, since GitLab drops the second of two that are alike."""
    turns: Counter[str] = Counter()
    found = [_unread(report, view) for report in result.files if report.failed]
    for finding in result.findings:
        turn = turns[finding.fingerprint]
        turns[finding.fingerprint] += 1
        found.append(
            _finding(finding, f"{finding.fingerprint}-{turn}" if turn else finding.fingerprint, view)
        )
    return json.dumps(found, indent=2, ensure_ascii=True) + "\n"


def _finding(finding: Finding, mark: str, view: View) -> dict[str, Any]:
    span = finding.place.span
    return {
        "description": clean(finding.message),
        "check_name": finding.rule,
        "fingerprint": mark,
        "severity": _SEVERITY[finding.severity],
        "location": {
            "path": _path(finding.place.file, view),
            "lines": {"begin": span.line, "end": span.end_line},
        },
    }


def _unread(report: FileReport, view: View) -> dict[str, Any]:
    path, line = _path(report.file, view), report.line or 1
    return {
        "description": f"not checked: {clean(report.why)}",
        "check_name": _UNREADABLE,
        "fingerprint": sha256(f"{_UNREADABLE}\x00{path}".encode()).hexdigest()[:32],
        "severity": "critical",
        "location": {"path": path, "lines": {"begin": line, "end": line}},
    }


def _path(file: str, view: View) -> str:
    return clean(view.relative(file))
