"""The result for programs; its shape is a contract, additions are allowed, changes raise the version."""

from __future__ import annotations

import json
from typing import Any

from policycheck.lint.finding import Finding, LintResult, Place
from policycheck.report import View
from policycheck.report.summary import count

SCHEMA_VERSION = 1


def render(result: LintResult, _view: View | None = None) -> str:
    """The same result gives the same bytes: no clock in it, ASCII alone, keys in a fixed order."""
    return json.dumps(as_dict(result), indent=2, ensure_ascii=True) + "\n"


def as_dict(result: LintResult) -> dict[str, Any]:
    """What ``render`` writes, as plain values."""
    counts = count(result)
    return {
        "schemaVersion": SCHEMA_VERSION,
        "findings": [_finding(finding) for finding in result.findings],
        "summary": {
            "documents": result.documents,
            "files": [
                {
                    "file": file.file,
                    "state": file.state,
                    "line": file.line,
                    "why": file.why,
                    "failed": file.failed,
                }
                for file in result.files
            ],
            "skippedRules": [
                {"rule": skip.rule, "why": skip.why, "scope": skip.scope} for skip in result.skipped
            ],
            "ruleErrors": [
                {"rule": error.rule, "why": error.why, "scope": error.scope} for error in result.errors
            ],
            "targets": {
                system: {"version": used.version, "assumed": used.assumed, "source": used.source}
                for system, used in sorted(result.targets.items())
            },
            "scopes": list(result.scopes),
            "notes": list(result.notes),
            "errors": counts.errors,
            "warnings": counts.warnings,
            "infos": counts.infos,
            "suppressed": counts.suppressed,
            "knownBefore": counts.known,
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "message": finding.message,
        "help": finding.help,
        "scope": finding.scope,
        **_place(finding.place),
        "path": finding.path,
        "object": _object(finding),
        "related": [{**_place(place), "label": place.label} for place in finding.related],
        "fix": finding.fix,
        "fingerprint": finding.fingerprint,
    }


def _place(place: Place) -> dict[str, Any]:
    span = place.span
    return {
        "file": place.file,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _object(finding: Finding) -> dict[str, Any] | None:
    key = finding.object
    if key is None:
        return None
    return {
        "apiVersion": finding.api_version,
        "kind": key.kind,
        "namespace": key.namespace or None,
        "name": key.name,
    }
