"""Checkstyle's XML, which many dashboards and review tools read.

Findings alone have a place in it, and files that could not be read.
"""

from __future__ import annotations

from policycheck.lint.finding import LintResult
from policycheck.report import View
from policycheck.report.markup import HEAD, element

_VERSION = "4.3"  # of the format: what readers expect


def render(result: LintResult, view: View) -> str:
    """Errors by file; ``source`` is ``policycheck.RULE``."""
    files: dict[str, list[str]] = {}
    for report in result.files:
        if report.failed:
            told = {"line": report.line or 1, "severity": "error", "message": report.why}
            _put(files, view.relative(report.file), {**told, "source": "policycheck.unreadable"})
    for finding in result.findings:
        span = finding.place.span
        told = {
            "line": span.line,
            "column": span.column,
            "severity": finding.severity,
            "message": finding.message,
            "source": f"policycheck.{finding.rule}",
        }
        _put(files, view.relative(finding.place.file), told)
    parts = [element("file", {"name": name}, errors) for name, errors in files.items()]
    return HEAD + element("checkstyle", {"version": _VERSION}, parts)


def _put(files: dict[str, list[str]], name: str, told: dict[str, object]) -> None:
    files.setdefault(name, []).append(element("error", told))
