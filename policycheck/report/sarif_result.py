"""A finding as a result of SARIF: where, what, how to tell it again, and what would repair it."""

from __future__ import annotations

import re
from typing import Any

from policycheck.lint.finding import Finding, Place, Replacement, Suppressed
from policycheck.report import View
from policycheck.report.address import uri
from policycheck.report.screen import clean
from policycheck.source.document import Span

LEVEL = {"error": "error", "warning": "warning", "info": "note"}
FINGERPRINT = "policycheckFingerprint/v1"
_PLACES = 1000  # related ones of a result; more are refused
_LINKED = 20  # of these, how many the message links to
_FIX = {
    "safe": "A safe fix: the meaning stays, or becomes what can only have been meant.",
    "unsafe": "An unsafe fix: it changes behaviour; read it first.",
    "manual": "A suggestion: fill in what it leaves open.",
}
_LOOKS_LIKE_A_LINK = re.compile(r"\[(?=[^\]]*\]\()")
_IN_LINK = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]"})


def result_of(finding: Finding, number: int, view: View) -> dict[str, Any]:
    """The result; ``number`` is the rule's place among the rules of the run."""
    related = finding.related[: _PLACES - 1]
    location: dict[str, Any] = {"physicalLocation": physical(finding.place, view)}
    if finding.place.label:
        location["message"] = {"text": clean(finding.place.label)}
    if finding.object is not None:
        location["logicalLocations"] = [_logical(finding)]
    made: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": LEVEL[finding.severity],
        "message": {"text": _message(finding, related)},
        "locations": [location],
    }
    if related:
        made["relatedLocations"] = [
            {
                "id": at,
                "physicalLocation": physical(place, view),
                "message": {"text": clean(place.label) or "see here"},
            }
            for at, place in enumerate(related, 1)
        ]
    made["partialFingerprints"] = {FINGERPRINT: finding.fingerprint}
    fixes = view.replacements(finding)
    if fixes:
        made["fixes"] = [_fix(finding, fixes, view)]
    made["properties"] = {"confidence": finding.confidence, "scope": finding.scope}
    return made


def physical(place: Place, view: View) -> dict[str, Any]:
    """Where a place is; never without a line."""
    return {"artifactLocation": artifact(place.file, view), "region": _region(place.span)}


def artifact(file: str, view: View) -> dict[str, Any]:
    """A file, relative to the root of the repository where it lies in there."""
    address = uri(view.relative(file))
    return {"uri": address} if address.startswith("file:") else {"uri": address, "uriBaseId": "%SRCROOT%"}


def suppression_of(one: Suppressed, view: View) -> dict[str, Any]:
    """On whose word a finding is ignored, why, and until when."""
    inside = one.place.file == one.finding.place.file
    made: dict[str, Any] = {"kind": "inSource" if inside else "external", "status": "accepted"}
    if one.reason:
        made["justification"] = clean(one.reason)
    if one.place.file:
        made["location"] = {"physicalLocation": physical(one.place, view)}
    told = {"expires": one.until, "owner": clean(one.owner)}
    properties = {name: value for name, value in told.items() if value}
    if properties:
        made["properties"] = properties
    return made


def _region(span: Span) -> dict[str, int]:
    line = max(1, span.line)
    return {
        "startLine": line,
        "startColumn": max(1, span.column),
        "endLine": max(line, span.end_line),
        "endColumn": max(1, span.end_column),
    }


def _logical(finding: Finding) -> dict[str, str]:
    assert finding.object is not None  # noqa: S101 - asked before
    name = str(finding.object).replace(" ", "/", 1)
    told = {"name": clean(finding.object.name), "kind": "object"}
    return {"fullyQualifiedName": clean(f"{name}#{finding.path}" if finding.path else name), **told}


def _message(finding: Finding, related: tuple[Place, ...]) -> str:
    """What was found, what to do, and links to the other places."""
    parts = [_plain(finding.message)]
    if finding.help:
        parts.append("\n".join(_plain(line) for line in finding.help.strip().split("\n")))
    links = [
        f"[{(clean(place.label) or 'here').translate(_IN_LINK)}]({at})"
        for at, place in enumerate(related[:_LINKED], 1)
    ]
    if links:
        parts.append(f"See {', '.join(links)}.")
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """Text of manifests that must not become a link."""
    return _LOOKS_LIKE_A_LINK.sub(r"\\[", clean(text))


def _fix(finding: Finding, replacements: tuple[Replacement, ...], view: View) -> dict[str, Any]:
    files: dict[str, list[dict[str, Any]]] = {}
    for one in replacements:
        made: dict[str, Any] = {"deletedRegion": _region(one.span)}
        if one.text:
            made["insertedContent"] = {"text": one.text}
        files.setdefault(one.file, []).append(made)
    return {
        "description": {"text": _FIX.get(finding.fix or "", _FIX["manual"])},
        "artifactChanges": [
            {"artifactLocation": artifact(file, view), "replacements": made} for file, made in files.items()
        ],
        "properties": {"applicability": finding.fix or "manual"},
    }
