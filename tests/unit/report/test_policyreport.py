import json

import pytest

from policycheck.lint.finding import Finding, LintResult, Place, RuleError, SkippedRule, Suppressed
from policycheck.model.origin import ObjectKey
from policycheck.report.policyreport import DIGEST, FORMS, MOST, WHOLE, Subject, reports, stamped
from policycheck.source.document import FileReport, Span

QUEUE = ObjectKey("example.org", "Queue", "", "a")
JOB = ObjectKey("batch", "Job", "team", "train")
SUBJECTS = (Subject(QUEUE, "example.org/v1", "u-1"), Subject(JOB, "batch/v1", "u-2"))
FORM = FORMS["wgpolicyk8s.io"]
NOTHING = LintResult((), (), (), (), (), {}, 2)


def finding(key, rule="AB101", severity="error", message="too much"):
    place = Place("file", Span(1, 1, 1, 2))
    return Finding(
        rule, "too-much", severity, "high", message, "ask for less", "", place, "spec.quota", key, "v1"
    )


def test_an_object_with_findings_has_a_report_that_it_owns_and_one_without_has_none():
    whole, report = reports(NOTHING._replace(findings=(finding(JOB),)), SUBJECTS, FORM)
    assert whole["metadata"]["name"] == WHOLE
    assert whole["summary"] == {"pass": 1, "fail": 0, "warn": 0, "error": 0, "skip": 0}
    assert (report["kind"], report["metadata"]["namespace"]) == ("PolicyReport", "team")
    assert report["metadata"]["ownerReferences"] == [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u-2"}
    ]
    assert report["summary"]["fail"] == 1
    (result,) = report["results"]
    assert (result["rule"], result["result"], result["severity"]) == ("AB101", "fail", "high")
    assert result["properties"] == {
        "path": "spec.quota",
        "name": "too-much",
        "confidence": "high",
        "help": "ask for less",
    }


@pytest.mark.parametrize(
    ("severity", "result", "shown"),
    [("error", "fail", "high"), ("warning", "warn", "medium"), ("info", "warn", "low")],
)
def test_severities(severity, result, shown):
    _, report = reports(NOTHING._replace(findings=(finding(QUEUE, severity=severity),)), SUBJECTS, FORM)
    assert report["kind"] == "ClusterPolicyReport"
    assert "namespace" not in report["metadata"]
    assert (report["results"][0]["result"], report["results"][0]["severity"]) == (result, shown)
    assert report["summary"][result] == 1


def test_a_suppressed_finding_is_skipped_with_its_reason():
    one = Suppressed(finding(QUEUE), "agreed", "ann", "2027-01-01", Place("f", Span(1, 1, 1, 1)))
    _, report = reports(NOTHING._replace(suppressed=(one,)), SUBJECTS, FORM)
    (result,) = report["results"]
    assert result["result"] == "skip"
    assert result["scored"] is False
    assert {"reason": "agreed", "owner": "ann", "until": "2027-01-01"}.items() <= result["properties"].items()


def test_what_has_no_object_failed_or_was_not_checked_is_in_the_report_about_the_cluster():
    result = NOTHING._replace(
        findings=(finding(None), finding(QUEUE._replace(name="unknown"))),
        skipped=(SkippedRule("AB1", "no inventory"),),
        errors=(RuleError("AB2", "raised"),),
        files=(FileReport("nodes", "notChecked", None, "forbidden", failed=True), FileReport("x", "checked")),
    )
    (whole,) = reports(result, SUBJECTS, FORM)
    assert whole["summary"] == {"pass": 2, "fail": 2, "warn": 0, "error": 1, "skip": 2}
    assert [one["rule"] for one in whole["results"]] == ["AB101", "AB101", "AB2", "AB1", "not-checked"]


def test_a_report_is_bounded_and_says_how_much_is_left_out():
    many = tuple(finding(QUEUE, message="x" * 5000) for _ in range(MOST + 50))
    _, report = reports(NOTHING._replace(findings=many), SUBJECTS, FORM)
    assert len(report["results"]) == MOST + 1
    assert report["results"][-1]["message"].startswith("50 more")
    assert report["summary"]["fail"] == MOST + 50
    assert max(len(one["message"]) for one in report["results"]) == 1024
    assert len(json.dumps(report)) < 1_000_000  # what an object of the API may be, with room


def test_the_digest_changes_with_what_is_said_and_not_with_the_time():
    result = NOTHING._replace(findings=(finding(QUEUE),))
    _, one = reports(result, SUBJECTS, FORM)
    _, same = reports(result, SUBJECTS, FORM)
    _, other = reports(NOTHING._replace(findings=(finding(QUEUE, message="else"),)), SUBJECTS, FORM)
    assert one == same
    assert stamped(one, 5)["metadata"] == stamped(one, 6)["metadata"]
    assert stamped(one, 5)["results"][0]["timestamp"] == {"seconds": 5, "nanos": 0}
    assert one["metadata"]["annotations"][DIGEST] != other["metadata"]["annotations"][DIGEST]


def test_the_other_api_has_the_same_shape_and_names_its_source_above():
    result = NOTHING._replace(findings=(finding(JOB),))
    _, one = reports(result, SUBJECTS, FORM)
    _, other = reports(result, SUBJECTS, FORMS["openreports.io"])
    assert (other["apiVersion"], other["kind"], other["source"]) == (
        "openreports.io/v1alpha1",
        "Report",
        "policycheck",
    )
    assert other["results"] == one["results"]
    assert other["summary"] == one["summary"]


def test_the_order_of_objects_does_not_matter_and_that_about_the_cluster_comes_first():
    result = NOTHING._replace(findings=(finding(JOB), finding(QUEUE)))
    found = reports(result, SUBJECTS, FORM)
    assert found == reports(result, reversed(SUBJECTS), FORM)
    assert [one["metadata"]["name"] for one in found] == [WHOLE, "policycheck-u-1", "policycheck-u-2"]
