"""Bodies that may be anything, and the answer within its limits."""

import json

import pytest

from policycheck.adapters.webhook import review
from policycheck.adapters.webhook.answer import (
    ALL,
    LONGEST,
    MOST,
    Answer,
    encode,
    fitted,
    found_at,
    refusal,
    value_at,
)
from policycheck.adapters.webhook.review import BadReviewError, completed, read, seconds
from policycheck.lint.finding import Finding, Place
from policycheck.source.document import Span


def body(**request):
    asked = {
        "uid": "u",
        "operation": "CREATE",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "namespace": "a",
        "name": "x",
        "object": {"metadata": {"name": "x"}},
        **request,
    }
    asked = {key: value for key, value in asked.items() if value is not ...}
    return json.dumps({"apiVersion": review.API_VERSION, "kind": review.KIND, "request": asked}).encode()


def test_a_review_is_read():
    found = read(body(userInfo={"username": "eve", "groups": ["sre"]}, dryRun=True, subResource="status"))
    assert (found.uid, found.kind, found.user, found.groups) == ("u", "Job", "eve", ("sre",))
    assert found.dry_run
    assert found.subresource == "status"


@pytest.mark.parametrize(
    ("data", "status", "word"),
    [
        (b"", 400, "no JSON"),
        (b"nonsense", 400, "no JSON"),
        (b"[]", 400, "list"),
        (b"{}", 400, "no other"),
        (
            b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {}}',
            400,
            "v1beta1",
        ),
        (b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}', 400, "no request"),
        (body(uid=""), 400, "uid"),
        (body(uid=...), 400, "uid"),
        (body(uid="x" * 200), 400, "uid"),
        (body(operation="PATCH"), 400, "PATCH"),
        (body(object=None), 400, "object is missing"),
        (body(object=[]), 400, "list"),
        (body(kind={"kind": 3}), 400, "text"),
        (body(kind={}), 400, "kind is missing"),
        (body(namespace={}), 400, "namespace"),
        (body(userInfo=[]), 400, "userInfo"),
        (b'{"a": NaN}', 400, "NaN"),
        (b'{"a": 1e400}', 400, "1e400"),
        (b'{"a": "\\ud800"}', 400, "surrogates"),
        (b"[" * 300 + b"]" * 300, 400, "deeper"),
        (b"{" + b'"a":{' * 100_000, 400, "deeper"),
        (b"\xff\xfe{}", 400, "no JSON"),
        (b"[" + b"1," * 600_000 + b"1]", 413, "values"),
        (b'"' + b"x" * (review.MOST_BYTES + 1) + b'"', 413, "bytes"),
    ],
)
def test_what_is_no_review_is_refused_with_a_reason(data, status, word):
    with pytest.raises(BadReviewError, match=word) as found:
        read(data)
    assert found.value.status == status


@pytest.mark.parametrize("kind", ["", "text/plain", "application/yaml", "application/jsonx"])
def test_another_content_type_is_refused(kind):
    with pytest.raises(BadReviewError) as found:
        read(body(), kind)
    assert found.value.status == 415


def test_a_charset_beside_the_content_type_is_fine():
    assert read(body(), "application/json; charset=utf-8").uid == "u"


def test_brackets_within_texts_are_not_nesting():
    assert read(body(object={"metadata": {"name": "x", "annotations": {"a": "[" * 1000}}})).uid == "u"


def test_a_deletion_needs_no_object():
    assert read(body(operation="DELETE", object=None)).new is None


def test_an_object_gets_what_the_request_knows():
    asked = read(body(object={"spec": {}}))
    made = completed(asked, asked.new)
    assert made["apiVersion"] == "batch/v1"
    assert made["kind"] == "Job"
    assert made["metadata"] == {"namespace": "a", "name": "x"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("10s", 10),
        ("1m30s", 90),
        ("500ms", 0.5),
        ("2m", 120),
        ("1h", 3600),
        ("1.5s", 1.5),
        ("", None),
        ("10", None),
    ],
)
def test_durations_are_those_of_go(text, wanted):
    assert seconds(text) == wanted


# -- answers ------------------------------------------------------------------------------------------


def finding(
    rule="KQ630", message="asks for 32", path="spec.parallelism", severity="error", what="Ask for less"
):
    place = Place("f", Span(1, 1, 1, 1))
    return Finding(rule, rule.lower(), severity, "high", message, what, "live", place, path, None, "batch/v1")


def test_the_uid_is_echoed_and_an_admission_says_no_more_than_it_has_to():
    made = json.loads(encode("u", Answer(allowed=True)))
    assert made == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True},
    }


def test_a_refusal_is_forbidden_with_the_whole_story_on_its_first_line():
    text = refusal([finding(), finding("KQ110", "there is less")], {"spec": {"parallelism": 4}}, {})
    assert text.splitlines()[0] == "KQ630 spec.parallelism: asks for 32 (found 4)"
    assert "Also KQ110" in text
    status = json.loads(encode("u", Answer(allowed=False, message=text)))["response"]["status"]
    assert (status["code"], status["reason"]) == (403, "Forbidden")


def test_many_findings_are_counted():
    text = refusal([finding(f"KQ{n}") for n in range(600, 620)], None, {})
    assert len(text.splitlines()) < 12
    assert "14 more" in text


def test_warnings_stay_within_their_limits():
    shown = fitted([f"KQ{n} " + "long " * 100 for n in range(20)])
    assert len(shown) == MOST + 1
    assert max(map(len, shown)) <= LONGEST
    assert "15 more" in shown[-1]
    assert sum(len(w.encode()) for w in fitted(["\U0001f600" * 119] * 20)) <= ALL


def test_warnings_are_one_line_of_printable_text():
    assert fitted(["a\nb\x1b[31m"])[0].isprintable()


def test_annotations_are_texts_and_empty_ones_are_left_out():
    made = json.loads(encode("u", Answer(allowed=True, notes={"rules": "KQ630", "certificate": ""})))
    assert made["response"]["auditAnnotations"] == {"rules": "KQ630"}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("spec.a", 1),
        ("spec.list[0].x", 2),
        ("spec.list[name=b].x", 3),
        ("metadata.labels['kueue.x-k8s.io/queue-name']", "q"),
    ],
)
def test_paths_of_findings_lead_to_values(path, wanted):
    value = {
        "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"a": 1, "list": [{"name": "a", "x": 2}, {"name": "b", "x": 3}]},
    }
    assert value_at(value, path) == wanted


def test_what_is_not_written_is_said_to_be_missing():
    assert found_at("spec.b", {"spec": {}}) == " (not written)"
    assert found_at("spec", {"spec": {}}) == ""
    assert found_at("spec.list[7]", {"spec": {"list": []}}) == " (not written)"
