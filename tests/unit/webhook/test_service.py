"""What is answered to whom: modes, exemptions, overrides, and what is never in the way."""

import json

import admission_worlds as worlds
import pytest

from policycheck.adapters.webhook import review
from policycheck.adapters.webhook.answer import encode
from policycheck.adapters.webhook.override import ANNOTATION
from policycheck.adapters.webhook.service import Conditions, Service
from policycheck.lint.settings import Admission, Settings

IN_TIME = lambda: False  # noqa: E731
WRONG = {"pods": 40}


def service(world=None, settings=None, certificates=None, **more):
    settings = settings or Admission()
    judge = worlds.judge_of(world or worlds.small(), Settings(webhook=settings))
    conditions = Conditions(
        settings=settings,
        today=lambda: "2026-06-01",
        now=lambda: "2026-06-01T00:00:00Z",
        age=lambda: 1.5,
        certificates=lambda: certificates,
        **more,
    )
    return Service(judge, conditions)


def asked(new, operation="CREATE", old=None, **more):
    value = new if new is not None else old
    group, _, version = value["apiVersion"].rpartition("/")
    meta = value["metadata"]
    request = {
        "uid": "u",
        "operation": operation,
        "kind": {"group": group, "version": version, "kind": value["kind"]},
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "object": new,
        "oldObject": old,
        "userInfo": {"username": "eve", "groups": ["dev"]},
        **more,
    }
    data = {"apiVersion": review.API_VERSION, "kind": review.KIND, "request": request}
    return review.read(json.dumps(data).encode())


def answer(made, request, **more):
    quick = made.at_once(request)
    return quick if quick is not None else made.review(request, IN_TIME, critical=more.pop("critical", True))


def test_what_is_fine_is_allowed_without_a_word():
    found = answer(service(), asked(worlds.job("j")))
    assert found.verdict == "allowed"
    assert found.answer.allowed
    assert found.answer.warnings == ()


def test_what_can_never_be_admitted_is_refused_in_full():
    found = answer(service(), asked(worlds.job("j", **WRONG)))
    assert not found.answer.allowed
    first, *rest = found.answer.message.splitlines()
    assert first.startswith("KQ630 spec.parallelism: Job team-a/j asks for 40")
    assert first.endswith("(found 40)")
    assert any(line.startswith("See https://") and "KQ630" in line for line in rest)
    assert found.answer.notes["rules"] == "KQ630"
    assert found.answer.notes["staleness"] == "1.5s"
    assert len(found.answer.notes["rulebook"]) == 64


def test_the_rest_is_warned_of():
    found = answer(service(), asked(worlds.job("j", queue="")))
    assert found.answer.allowed
    assert found.verdict == "warned"
    assert any("KQ620" in warning for warning in found.answer.warnings)


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        (Admission(), "denied"),
        (Admission(mode="warn"), "warned"),
        (Admission(mode="audit"), "allowed"),
        (Admission(mode="off"), "allowed"),
        (Admission(rules={"KQ630": "warn"}), "warned"),
        (Admission(rules={"KQ": "audit", "KQ630": "warn"}), "warned"),
        (Admission(rules={"kueue": "audit"}), "allowed"),
        (Admission(mode="warn", rules={"request-exceeds-limits": "deny"}), "denied"),
        (Admission(namespaces={"team-*": {"mode": "warn"}}), "warned"),
        (Admission(namespaces={"team-*": {"mode": "warn"}, "team-a": {"mode": "deny"}}), "denied"),
        (Admission(rules={"KQ630": "deny"}, namespaces={"team-a": {"rules": {"KQ630": "audit"}}}), "allowed"),
        (Admission(namespaces={"other": {"mode": "warn"}}), "denied"),
    ],
)
def test_the_most_particular_mode_counts(settings, verdict):
    assert answer(service(settings=settings), asked(worlds.job("j", **WRONG))).verdict == verdict


def test_what_is_audited_is_in_the_notes_alone():
    found = answer(service(settings=Admission(mode="audit")), asked(worlds.job("j", **WRONG)))
    assert found.answer.warnings == ()
    assert found.answer.notes["audited-rules"] == "KQ630"


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (asked(worlds.job("j", **WRONG), subResource="status"), "subresource"),
        (asked(worlds.job("j", **WRONG), subResource="scale"), "subresource"),
        (asked(worlds.job("j", space="kube-system", **WRONG)), "exempt"),
        (asked(worlds.job("j", space="policycheck", **WRONG)), "of the webhook"),
        (asked(worlds.job("j", deletionTimestamp="2026-01-01T00:00:00Z", **WRONG), "UPDATE"), "deleted"),
        (
            asked(
                worlds.job("j", finalizers=["a"], resourceVersion="2", **WRONG),
                "UPDATE",
                worlds.job("j", resourceVersion="1"),
            )._replace(old=worlds.job("j", **WRONG)),
            "nothing changed",
        ),
        (asked(worlds.job("j"), "CONNECT"), "CONNECT"),
    ],
)
def test_some_things_are_never_in_the_way(request_, why):
    found = answer(service(namespace="policycheck"), request_)
    assert found.answer.allowed
    assert found.verdict == "skipped"
    assert why in found.why


def test_a_deletion_is_never_refused_and_tells_what_it_leaves():
    world = worlds.small(worlds.flavor("a100"))
    found = answer(service(world, Admission(mode="deny")), asked(None, "DELETE", worlds.flavor()))
    assert found.answer.allowed
    assert any("KQ640" in warning for warning in found.answer.warnings)


def test_an_update_that_makes_nothing_worse_is_allowed():
    made = service()
    old, new = worlds.job("j", **WRONG), worlds.job("j", labels={}, **WRONG)
    new["metadata"]["annotations"] = {"a": "b"}
    new["metadata"]["labels"] = dict(old["metadata"]["labels"])
    assert answer(made, asked(new, "UPDATE", old)).verdict == "allowed"


def test_an_update_that_makes_it_wrong_is_refused():
    found = answer(service(), asked(worlds.job("j", **WRONG), "UPDATE", worlds.job("j")))
    assert found.verdict == "denied"


def test_a_suppression_holds_as_it_does_elsewhere():
    quiet = worlds.job("j", annotations={"policycheck.dev/ignore.KQ630": "a test"}, **WRONG)
    found = answer(service(), asked(quiet))
    assert found.answer.allowed
    assert found.answer.notes["suppressed-rules"] == "KQ630"


def test_kinds_that_nobody_reads_pass():
    value = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    assert answer(service(), asked(value)).why == "nothing reads this kind"


# -- overrides ----------------------------------------------------------------------------------------

MAY = Admission(users=("eve",), groups=("sre",))
GOOD = "night shift, ticket 7; owner=ann; until=2026-06-02"


def overriding(text, **meta):
    return worlds.job("j", annotations={ANNOTATION: text}, **WRONG, **meta)


def test_whoever_may_overrides_and_it_is_recorded():
    found = answer(service(settings=MAY), asked(overriding(GOOD)))
    assert found.answer.allowed
    assert found.verdict == "overridden"
    assert found.override.owner == "ann"
    assert "ticket 7" in found.answer.notes["override"]
    assert any("overridden by eve" in warning for warning in found.answer.warnings)
    assert any("would be refused" in warning for warning in found.answer.warnings)


def test_a_group_may_too():
    settings = Admission(groups=("dev",))
    assert answer(service(settings=settings), asked(overriding(GOOD))).verdict == "overridden"


@pytest.mark.parametrize(
    ("settings", "text", "why"),
    [
        (Admission(), GOOD, "eve may not override"),
        (MAY, "because", "owner and until"),
        (MAY, "; owner=a; until=2026-07-01", "reason"),
        (MAY, "r; owner=a; until=soon", "until is 'soon'"),
        (MAY, "r; owner=a; until=2026-05-31", "ended"),
    ],
)
def test_other_overrides_do_not_count_and_it_is_said_why(settings, text, why):
    found = answer(service(settings=settings), asked(overriding(text)))
    assert found.verdict == "denied"
    assert why in found.answer.message


def test_an_override_of_nothing_is_none():
    fine = worlds.job("j", annotations={ANNOTATION: GOOD})
    assert answer(service(settings=MAY), asked(fine)).verdict == "allowed"


# -- what can not be judged ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("critical", "allow", "allowed"), [(True, False, False), (True, True, True), (False, False, True)]
)
def test_a_deadline_is_answered_by_path(critical, allow, allowed):
    made = service(allow_late=allow)
    found = made.review(asked(worlds.job("j")), lambda: True, critical=critical)
    assert found.verdict == "late"
    assert found.answer.allowed is allowed
    if allowed:
        assert "deadline" in found.answer.warnings[0]
    else:
        assert (found.answer.code, found.answer.reason) == (504, "Timeout")


def test_a_bug_is_answered_and_told():
    made = service()
    made.judge.judge = None
    found = made.review(asked(worlds.job("j")), IN_TIME, critical=True)
    assert found.verdict == "failed"
    assert not found.answer.allowed
    assert "TypeError" in found.why


def test_a_rule_that_raises_is_told_and_never_refuses():
    made = service()
    bound = made.judge.bench.groups

    def broken(cluster, params):
        raise RuntimeError("no")

    def spoil(group):
        return tuple(b._replace(check=broken) if b.rule.id == "KQ630" else b for b in group)

    made.judge.bench.groups = bound._replace(work_near=spoil(bound.work_near))
    found = answer(made, asked(worlds.job("j", **WRONG)))
    assert found.answer.allowed
    assert found.broken == ("KQ630",)
    assert any("KQ630 could not be evaluated" in warning for warning in found.answer.warnings)


def test_every_answer_is_a_review():
    made = service()
    for request in (
        asked(worlds.job("j", **WRONG)),
        asked(worlds.job("j")),
        asked(None, "DELETE", worlds.flavor()),
    ):
        value = json.loads(encode(request.uid, answer(made, request).answer))
        assert value["response"]["uid"] == "u"
        assert isinstance(value["response"]["allowed"], bool)
        notes = value["response"].get("auditAnnotations", {})
        assert all(isinstance(note, str) for note in notes.values())
