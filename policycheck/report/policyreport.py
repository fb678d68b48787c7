"""Findings as policy reports, the objects that dashboards of clusters read.

One report for each object that has findings, owned by it, so that it goes when the object goes; and one for the
cluster, which says how much was checked and what was not. An object without findings has no report of its own:
thousands of empty ones would burden the API server and tell nobody anything.

Sources: the definitions of ``wgpolicyk8s.io/v1alpha2`` and ``openreports.io/v1alpha1``, which have one shape.
Nothing here takes the time: a report that would be written anew for its time alone is not written at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from policycheck.digest import sha256
from policycheck.lint.finding import Finding, LintResult, Suppressed
from policycheck.model.origin import ObjectKey
from policycheck.record import NamedTuple

SOURCE = "policycheck"
DIGEST = "policycheck.dev/digest"
MANAGED = {"app.kubernetes.io/managed-by": SOURCE}
WHOLE = "policycheck-scan"  # the report about the cluster
MOST = 100  # results of one report
LONGEST = 1024  # characters of a message


class Form(NamedTuple):
    """An API of policy reports."""

    api_version: str
    kind: str
    cluster_kind: str
    plural: str
    cluster_plural: str
    has_source: bool  # the report itself names its source


FORMS: Mapping[str, Form] = {
    "wgpolicyk8s.io": Form(
        "wgpolicyk8s.io/v1alpha2",
        "PolicyReport",
        "ClusterPolicyReport",
        "policyreports",
        "clusterpolicyreports",
        False,
    ),
    "openreports.io": Form(
        "openreports.io/v1alpha1", "Report", "ClusterReport", "reports", "clusterreports", True
    ),
}
_SEVERITY = {"error": "high", "warning": "medium", "info": "low"}
_RESULT = {"error": "fail", "warning": "warn", "info": "warn"}
_STATES = ("pass", "fail", "warn", "error", "skip")


class Subject(NamedTuple):
    """A scanned object, as the server knows it."""

    key: ObjectKey
    api_version: str
    uid: str


def reports(result: LintResult, subjects: Iterable[Subject], form: Form) -> tuple[dict[str, Any], ...]:
    """The reports that say what ``result`` says: that about the cluster, then the others in the order of their
    names. Findings of objects that are not among ``subjects`` are in the first.
    """
    known = {subject.key: subject for subject in subjects}
    found: dict[ObjectKey | None, list[dict[str, Any]]] = {None: []}
    for finding in result.findings:
        key = finding.object if finding.object in known else None
        found.setdefault(key, []).append(_finding(finding))
    for one in result.suppressed:
        key = one.finding.object if one.finding.object in known else None
        found.setdefault(key, []).append(_suppressed(one))
    loose = found.pop(None)
    made = [_report(known[key], results, form) for key, results in found.items() if key is not None]
    made.sort(key=lambda one: (one["metadata"].get("namespace", ""), one["metadata"]["name"]))
    return (_whole(result, loose, len(known) - len(found), form), *made)


def stamped(report: Mapping[str, Any], seconds: int) -> dict[str, Any]:
    """The report with the time of the scan at each result."""
    results = [{**one, "timestamp": {"seconds": seconds, "nanos": 0}} for one in report["results"]]
    return {**report, "results": results}


def _report(subject: Subject, results: list[dict[str, Any]], form: Form) -> dict[str, Any]:
    key = subject.key
    meta: dict[str, Any] = {
        "name": f"{SOURCE}-{subject.uid}",
        "ownerReferences": [
            {"apiVersion": subject.api_version, "kind": key.kind, "name": key.name, "uid": subject.uid}
        ],
    }
    scope = {"apiVersion": subject.api_version, "kind": key.kind, "name": key.name, "uid": subject.uid}
    if key.namespace:
        meta["namespace"] = scope["namespace"] = key.namespace
    return _sealed(meta, {"scope": scope}, results, 0, form)


def _whole(result: LintResult, loose: list[dict[str, Any]], clean: int, form: Form) -> dict[str, Any]:
    """The report about the cluster: what has no object, rules that failed, what was not checked."""
    results = [
        *loose,
        *(_result(error.rule, "error", "high", error.why) for error in result.errors),
        *(_result(skipped.rule, "skip", "info", skipped.why) for skipped in result.skipped),
        *(
            _result("not-checked", "skip", "info", f"{file.file}: {file.why}")
            for file in result.files
            if file.failed
        ),
    ]
    return _sealed({"name": WHOLE}, {}, results, clean, form)


def _sealed(
    meta: dict[str, Any], more: dict[str, Any], results: list[dict[str, Any]], clean: int, form: Form
) -> dict[str, Any]:
    """A report with its summary, cut to what it may hold, and a digest of all but the time."""
    summary = dict.fromkeys(_STATES, 0)
    for one in results:
        summary[one["result"]] += 1
    summary["pass"] = clean
    shown = results[:MOST]
    if len(results) > MOST:
        left = len(results) - MOST
        shown.append(_result("more", "skip", "info", f"{left} more, which `policycheck lint` lists"))
        summary["skip"] += 1
    kind = form.kind if meta.get("namespace") else form.cluster_kind
    body = {**more, "summary": summary, "results": shown}
    if form.has_source:
        body["source"] = SOURCE
    text = json.dumps([form.api_version, kind, body], sort_keys=True)
    meta = {**meta, "labels": MANAGED, "annotations": {DIGEST: sha256(text.encode()).hexdigest()}}
    return {"apiVersion": form.api_version, "kind": kind, "metadata": meta, **body}


def _finding(finding: Finding) -> dict[str, Any]:
    return _result(
        finding.rule,
        _RESULT[finding.severity],
        _SEVERITY[finding.severity],
        finding.message,
        path=finding.path,
        name=finding.name,
        confidence=finding.confidence,
        help=finding.help,
        fingerprint=finding.fingerprint,
    )


def _suppressed(one: Suppressed) -> dict[str, Any]:
    finding = one.finding
    return _result(
        finding.rule,
        "skip",
        _SEVERITY[finding.severity],
        finding.message,
        path=finding.path,
        name=finding.name,
        reason=one.reason,
        owner=one.owner,
        until=one.until,
    )


def _result(rule: str, result: str, severity: str, message: str, **properties: str) -> dict[str, Any]:
    kept = {key: _short(value) for key, value in properties.items() if value}
    return {
        "source": SOURCE,
        "policy": SOURCE,
        "rule": rule,
        "category": "GPU scheduling",
        "result": result,
        "severity": severity,
        "scored": result != "skip",
        "message": _short(message),
        **({"properties": kept} if kept else {}),
    }


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
