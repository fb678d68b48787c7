"""Reviewdog's diagnostics: remarks and suggestions at the lines of a change, on any forge that it serves.

Shape: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf. Columns there count bytes of UTF-8.
"""

from __future__ import annotations

import json
from typing import Any

from policycheck.lint.finding import Finding, LintResult, Place
from policycheck.report import View
from policycheck.report.address import HOME, page
from policycheck.report.screen import clean
from policycheck.source.document import Span

_SEVERITY = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(result: LintResult, view: View) -> str:
    """One DiagnosticResult; files that could not be read stand in it as well."""
    found: list[dict[str, Any]] = [
        {
            "message": f"not checked: {clean(report.why)}",
            "location": {
                "path": view.relative(report.file),
                "range": {"start": {"line": report.line or 1}},
            },
            "severity": "ERROR",
            "code": {"value": "unreadable-file"},
        }
        for report in result.files
        if report.failed
    ]
    found.extend(_finding(finding, view) for finding in result.findings)
    told = {"source": {"name": "policycheck", "url": HOME}, "diagnostics": found}
    return json.dumps(told, indent=2, ensure_ascii=True) + "\n"


def _finding(finding: Finding, view: View) -> dict[str, Any]:
    code = {"value": finding.rule}
    address = page(view.rule(finding.rule), finding.rule)
    if address:
        code["url"] = address
    told: dict[str, Any] = {
        "message": clean(finding.message),
        "location": _location(finding.place, view),
        "severity": _SEVERITY[finding.severity],
        "code": code,
    }
    suggestions = [
        {"range": _range(one.file, one.span, view), "text": one.text}
        for one in view.replacements(finding)
        if one.file == finding.place.file  # a suggestion belongs to the file of its remark
    ]
    if suggestions:
        told["suggestions"] = suggestions
    if finding.related:
        told["relatedLocations"] = [
            {"message": clean(place.label), "location": _location(place, view)} for place in finding.related
        ]
    return told


def _location(place: Place, view: View) -> dict[str, Any]:
    return {"path": view.relative(place.file), "range": _range(place.file, place.span, view)}


def _range(file: str, span: Span, view: View) -> dict[str, Any]:
    lines = view.lines(file)

    def place(line: int, column: int) -> dict[str, int]:
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        before = text[: column - 1].encode("utf-8", "surrogatepass")
        # Beyond the text that is at hand, code points have to do.
        return {"line": line, "column": len(before) + 1 + max(0, column - 1 - len(text))}

    return {"start": place(span.line, span.column), "end": place(span.end_line, span.end_column)}
