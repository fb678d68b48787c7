"""Fixes in rounds, over a lint made by hand: what is kept, what is not, and the reason that is said."""

from __future__ import annotations

import re

import pytest

from policycheck.app import Sources
from policycheck.app.fix import Claims, Options, barred, fix
from policycheck.lint.finding import Finding, LintResult, Place, Suppressed
from policycheck.lint.rule import Rule
from policycheck.lint.rulebook import Rulebook
from policycheck.source.document import Change, DocumentId, FileReport, Span
from policycheck.source.tree import Listing

NOWHERE = Span(1, 1, 1, 2)
SAFE = Options()


def rule(identity, **more):
    return Rule(identity, identity.lower(), "", "error", "high", "queues", "own", "any", "", "", **more)


BOOK = Rulebook((rule("A1", fix="safe"), rule("A2", fix="unsafe"), rule("C1", fix="safe", fix_claims=True)))


def found(identity, path, changes, *, fix_="safe", file="q.yaml", line=1):
    return Finding(
        identity,
        identity.lower(),
        "error",
        "high",
        f"{identity} at {path}",
        "",
        "",
        Place(file, Span(line, 1, line, 2)),
        path,
        None,
        "",
        fix=fix_,
        changes=tuple(changes),
    )


def change(*path, action="remove", value=None, file="q.yaml"):
    return Change(DocumentId(file), path, action, value)


def result(findings, **more):
    return LintResult(
        tuple(sorted(findings, key=lambda one: one.order)),
        (),
        (),
        (),
        (FileReport("q.yaml", "checked", documents=1),),
        {},
        1,
    )._replace(**more)


def worked(texts, judge, *, test=None, options=SAFE, book=BOOK):
    """What fixing comes to where ``judge`` gives the findings of the texts."""
    sources = Sources(
        tuple(texts), read=lambda name: texts[name].encode(), tree=Listing(texts), in_memory=True
    )

    def lint(these):
        held = {name: these.read(name).decode() for name in texts}
        answer = judge(held)
        return answer if isinstance(answer, LintResult) else result(answer)

    tested = test or (lambda _before, _after: Claims())
    return fix(sources, options, lint, book, tested)


def limits(held):
    """A key called ``limit`` is a finding each, and it can go; safe in ``a``, unsafe in ``b``."""
    findings = []
    for file, text in held.items():
        for name in ("a", "b"):
            if re.search(rf"^{name}:\n(?:  .*\n)*  limit:", text, re.MULTILINE):
                safety = "safe" if name == "a" else "unsafe"
                changes = [change(name, "limit", file=file)]
                identity = "A1" if name == "a" else "A2"
                findings.append(found(identity, f"{name}.limit", changes, fix_=safety, file=file))
    return findings


TEXT = "# head\na:\n  limit: 1   # tail\n  quota: 2\nb:\n  limit: 3\n  quota: 4\n"


def test_safe_fixes_are_made_and_unsafe_ones_are_left():
    outcome = worked({"q.yaml": TEXT}, limits)
    assert outcome.new == {"q.yaml": TEXT.replace("  limit: 1   # tail\n", "").encode()}
    assert outcome.old == {"q.yaml": TEXT.encode()}
    assert [one.rule for one in outcome.fixed] == ["A1"]
    assert [one.rule for one in outcome.after.findings] == ["A2"]
    assert outcome.left == ()


def test_unsafe_fixes_are_made_when_they_are_asked_for():
    outcome = worked({"q.yaml": TEXT}, limits, options=Options(unsafe=True))
    assert b"limit" not in outcome.new["q.yaml"]
    assert outcome.after.findings == ()


def test_nothing_to_fix_changes_nothing():
    outcome = worked({"q.yaml": "a:\n  quota: 1\n"}, limits)
    assert (outcome.new, outcome.fixed, outcome.left) == ({}, (), ())


def test_a_fix_that_makes_a_new_finding_is_dropped_and_the_others_are_made():
    def judge(held):
        findings = limits(held)
        if "limit: 1" not in held["q.yaml"]:
            findings.append(found("B9", "a", []))
        return findings

    outcome = worked({"q.yaml": TEXT}, judge, options=Options(unsafe=True))
    assert [one.rule for one in outcome.fixed] == ["A2"]
    assert [(one.finding.rule, one.why) for one in outcome.left] == [
        ("A1", "it would make a new finding: B9 B9 at a")
    ]
    assert b"limit: 1" in outcome.new["q.yaml"]


def test_a_fix_whose_finding_stays_is_dropped():
    def judge(held):
        return [found("A1", "a", [change("a", "limit")])]

    outcome = worked({"q.yaml": TEXT}, judge)
    assert [one.why for one in outcome.left] == ["its finding would stay"]
    assert outcome.new == {}


def test_two_fixes_that_are_only_good_together_are_made():
    def judge(held):
        text = held["q.yaml"]
        has = {name: f"\n{name}:" in text for name in ("p", "q")}
        findings = [found("A1", name, [change(name)]) for name in has if has[name]]
        return [*findings, *([found("B9", "half", [])] if has["p"] != has["q"] else [])]

    outcome = worked({"q.yaml": "a: 1\np: 1\nq: 2\n"}, judge)
    assert outcome.new == {"q.yaml": b"a: 1\n"}


def test_two_fixes_of_one_place_are_made_one_after_the_other():
    seen = []

    def judge(held):
        text = held["q.yaml"]
        seen.append(text)
        findings = []
        if "old" in text:
            findings.append(found("A1", "old", [change("old", action="rename", value="name")], line=2))
        if "name" not in text:
            findings.append(found("A2", "name", [change("name", action="set", value="x")], fix_="unsafe"))
        return findings

    outcome = worked({"q.yaml": "a: 1\nold: y   # mine\n"}, judge, options=Options(unsafe=True))
    # The safe one goes first, although it stands below; with it the other one is gone.
    assert outcome.new == {"q.yaml": b"a: 1\nname: y   # mine\n"}
    assert [one.rule for one in outcome.fixed] == ["A1"]


def test_items_of_one_list_go_one_after_another():
    def judge(held):
        items = re.findall(r"- (\w+)", held["q.yaml"])
        return [found("A1", n, [change("l", at)]) for at, n in enumerate(items) if n.startswith("bad")]

    outcome = worked({"q.yaml": "l:\n- bad1\n- good\n- bad2\n- bad3\n"}, judge)
    assert outcome.new == {"q.yaml": b"l:\n- good\n"}
    assert len(outcome.fixed) == 3


def test_the_same_finding_in_two_scopes_is_one_change():
    def judge(held):
        if "x" not in held["q.yaml"]:
            return []
        return [found("A1", "x", [change("x")])._replace(scope=scope) for scope in ("prod", "test")]

    outcome = worked({"q.yaml": "a: 1\nx: 2\n"}, judge)
    assert outcome.new == {"q.yaml": b"a: 1\n"}
    assert len(outcome.fixed) == 2


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("<stdin>", "standard input can not be changed"),
        ("prod/<rendered>", "it is rendered: change what it is rendered from"),
    ],
)
def test_what_is_no_file_of_people_is_left_and_said(file, why):
    assert barred(file) == why
    outcome = worked({file: TEXT}, limits)
    assert outcome.new == {}
    assert [one.why for one in outcome.left] == [f"{file}: {why}"]


def test_what_is_suppressed_or_known_from_before_is_not_new():
    def judge(held):
        old = found("B9", "b", [])
        if "limit: 1" in held["q.yaml"]:
            hidden = (Suppressed(old, "", "", "", Place("q.yaml", NOWHERE)),)
            return result([found("A1", "a.limit", [change("a", "limit")])], suppressed=hidden)
        return result([], before=(old,))

    assert [one.rule for one in worked({"q.yaml": TEXT}, judge).fixed] == ["A1"]


# -- claims ---------------------------------------------------------------------------------------


def quota(held):
    return [found("C1", "a.limit", [change("a", "limit")])] if "limit: 1" in held["q.yaml"] else []


def test_claims_are_run_where_the_rule_asks_for_it():
    calls = []

    def test(before, after):
        calls.append((dict(before), dict(after)))
        return Claims()

    outcome = worked({"q.yaml": TEXT}, quota, test=test)
    assert [one.rule for one in outcome.fixed] == ["C1"]
    assert calls == [({}, outcome.new)]
    worked({"q.yaml": TEXT}, limits, test=test)
    assert len(calls) == 1


def test_claims_are_run_where_quota_or_policy_changes_whatever_the_rule():
    def judge(held):
        name = "cohort"
        return (
            [found("A1", name, [change(name, action="rename", value="cohortName")])]
            if "\ncohort:" in held["q.yaml"]
            else []
        )

    outcome = worked({"q.yaml": "a: 1\ncohort: x\n"}, judge, test=lambda *_: Claims(("gang-whole",)))
    assert [one.why for one in outcome.left] == ["a claim that holds would fail: gang-whole"]
    idle = Claims(idle="no inventory is in sight")
    outcome = worked({"q.yaml": "a: 1\ncohort: x\n"}, judge, test=lambda *_: idle)
    assert outcome.new == {"q.yaml": b"a: 1\ncohortName: x\n"}
    assert outcome.notes == ("claims not run: no inventory is in sight",)


def test_a_fix_that_breaks_a_claim_is_dropped_and_says_so():
    outcome = worked({"q.yaml": TEXT}, quota, test=lambda *_: Claims(("burst-usable (vision)",)))
    assert outcome.new == {}
    assert [one.why for one in outcome.left] == ["a claim that holds would fail: burst-usable (vision)"]


def test_without_claims_it_is_made_when_unsafe_ones_are_asked_for_alone():
    idle = Claims(idle="no inventory is in sight")
    outcome = worked({"q.yaml": TEXT}, quota, test=lambda *_: idle)
    assert [one.why for one in outcome.left] == ["claims not run: no inventory is in sight"]
    outcome = worked({"q.yaml": TEXT}, quota, test=lambda *_: idle, options=Options(unsafe=True))
    assert [one.rule for one in outcome.fixed] == ["C1"]
    assert outcome.notes == ("claims not run: no inventory is in sight",)


def test_what_was_refused_is_tried_again_when_others_were_made():
    """x can only go when y has gone, and stands in the same list before it, so that it is tried first."""

    def judge(held):
        items = re.findall(r"- (\w+)", held["q.yaml"])
        findings = [found("A1", n, [change("l", at)], line=at + 2) for at, n in enumerate(items) if n in "xy"]
        return [*findings, *([found("B9", "y", [])] if "y" in items and "x" not in items else [])]

    outcome = worked({"q.yaml": "l:\n- x\n- y\n- z\n"}, judge)
    assert outcome.new == {"q.yaml": b"l:\n- z\n"}
    assert outcome.left == ()


def test_there_is_an_end_to_what_is_tried():
    counted = []

    def judge(held):
        counted.append(1)
        text = held["q.yaml"]
        names = re.findall(r"^k\d+", text, re.MULTILINE)
        findings = [found("A1", n, [change(n)]) for n in names]
        return [*findings, *(found("B9", str(n), []) for n in range(20 - len(names)))]

    text = "".join(f"k{n}: 1\n" for n in range(20))
    outcome = worked({"q.yaml": text}, judge, options=Options(runs=7))
    assert len(counted) <= 8
    assert outcome.new == {}
    assert len(outcome.left) == 20
    assert any("run it again" in one.why for one in outcome.left)


def test_encodings_are_kept():
    text = "a:\n  limit: 1\n  name: é\n"
    for encoding in ("utf-8-sig", "utf-16"):
        held = {"q.yaml": text.encode(encoding)}
        sources = Sources(("q.yaml",), read=held.__getitem__, tree=Listing(dict.fromkeys(held, "")))

        def lint(these, encoding=encoding):
            return result(limits({"q.yaml": these.read("q.yaml").decode(encoding)}))

        outcome = fix(sources, Options(), lint, BOOK)
        assert outcome.new["q.yaml"].decode(encoding) == "a:\n  name: é\n"
        assert outcome.new["q.yaml"][:2] == held["q.yaml"][:2]
