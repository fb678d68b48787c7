"""The baseline as data: read strictly, written the same way every time, and held against a run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policycheck.lint.baseline import (
    Baseline,
    BaselineError,
    Entry,
    compare,
    dump,
    entries_of,
    parse,
    together,
)
from policycheck.lint.finding import Finding, LintResult, Place, RuleError, SkippedRule
from policycheck.lint.rule import Rule
from policycheck.lint.rulebook import Rulebook
from policycheck.model.origin import ObjectKey
from policycheck.source.document import Span


def a_rule(identity, status="stable", heir=""):
    return Rule(
        identity,
        identity.lower(),
        "t",
        "error",
        "high",
        "observe",
        "ex",
        "any",
        "m",
        "r",
        status=status,
        replaced_by=heir,
    )


BOOK = Rulebook(
    (a_rule("EX101"), a_rule("EX102"), a_rule("EX900", "deprecated", "EX102"), a_rule("EX901", "deprecated"))
)


def finding(rule="EX101", mark="a", file="q.yaml", line=1, **changes):
    base = Finding(
        rule, rule.lower(), "error", "high", "m", "h", "", Place(file, Span(line, 1, line, 2)), "spec.x",
        ObjectKey("ex.org", "Queue", "ns", "a"), "ex.org/v1", fingerprint=mark * 32,
    )  # fmt: skip
    return base._replace(**changes)


def result(*findings, ran=("EX101", "EX102"), **changes):
    base = LintResult(tuple(findings), (), (), (), (), {}, 1, ran=ran)
    return base._replace(**changes)


def entry(rule="EX101", mark="a", times=1, file="q.yaml", **changes):
    return Entry(rule, "Queue.ex.org ns/a", "spec.x", "m", file, mark * 32, times)._replace(**changes)


def held(found, *entries, looked_at=lambda _: True, book=BOOK):
    return compare(found, entries, book, lambda name: name, looked_at)


def test_what_is_written_is_read_again():
    made = entries_of(
        [finding(), finding(line=9), finding(mark="b", message="héh \u202e \ud800")], lambda n: n
    )
    assert {one.fingerprint[0]: one.times for one in made} == {"a": 2, "b": 1}
    text = dump(Baseline(made, ("b", "a", "b")))
    assert text.isascii()
    back = parse(text.encode(), "b")
    assert (set(back.entries), back.paths) == (set(made), ("a", "b"))


def test_the_text_is_sorted_and_one_line_an_entry():
    made = [entry("EX102", "b"), entry("EX101", "c", 3), entry("EX101", "a")]
    text = dump(Baseline(tuple(made)))
    assert text == dump(Baseline(tuple(reversed(made))))
    lines = [json.loads(line.rstrip(",")) for line in text.splitlines() if '"rule"' in line]
    assert [(one["rule"], one["fingerprint"][0], one.get("count")) for one in lines] == [
        ("EX101", "a", None),
        ("EX101", "c", 3),
        ("EX102", "b", None),
    ]
    assert not any("line" in one or "column" in one for one in lines)
    empty = '{\n  "policycheck": "baseline",\n  "version": 1,\n  "paths": ["."],\n  "entries": []\n}\n'
    assert dump(Baseline(())) == empty


WHOLE = {"policycheck": "baseline", "version": 1, "entries": []}
ONE = {"rule": "EX101", "fingerprint": "a" * 32}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"", "b.json:1:1: no JSON"),
        (b"{", "b.json:1:2: no JSON"),
        (b'{\n<<<<<<< HEAD\n"a": 1}', "it has marks of a merge, which has to be finished"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        ([], "no baseline of policycheck"),
        ({"results": []}, "no baseline of policycheck"),
        ({**WHOLE, "policycheck": "certificate"}, "no baseline of policycheck"),
        ({**WHOLE, "version": 2}, "a baseline of version 2; this policycheck reads 1"),
        ({"policycheck": "baseline"}, "a baseline of version None"),
        ({**WHOLE, "entries": {}}, "'entries' is missing or no list"),
        ({**WHOLE, "paths": "."}, "'paths' is no list of paths"),
        ({**WHOLE, "paths": [1]}, "'paths' is no list of paths"),
        ({**WHOLE, "entries": [1]}, "entries[0] is no map"),
        ({**WHOLE, "entries": [{**ONE, "line": 3}]}, "entries[0]: unknown key 'line'; known are rule,"),
        ({**WHOLE, "entries": [{"rule": "EX101"}]}, "a fingerprint of 32 hexadecimal digits"),
        ({**WHOLE, "entries": [{**ONE, "fingerprint": "x" * 32}]}, "a fingerprint of 32"),
        ({**WHOLE, "entries": [{**ONE, "fingerprint": 3}]}, "'fingerprint' is no text"),
        ({**WHOLE, "entries": [{**ONE, "rule": ""}]}, "an entry has a rule"),
        ({**WHOLE, "entries": [{**ONE, "count": 0}]}, "'count' is 0"),
        ({**WHOLE, "entries": [{**ONE, "count": True}]}, "'count' is True"),
        ({**WHOLE, "entries": [{**ONE, "count": 1.5}]}, "'count' is 1.5"),
        ({**WHOLE, "entries": [ONE, ONE]}, "entries[0] and entries[1] have one fingerprint"),
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_an_error_that_says_why(value, words):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    with pytest.raises(BaselineError) as caught:
        parse(data, "b.json")
    assert words in str(caught.value)
    assert str(caught.value).startswith("b.json:")


@given(st.binary(max_size=200))
def test_no_bytes_are_a_traceback(data):
    try:
        parse(data, "b")
    except BaselineError:
        return
    raise AssertionError("nothing random is a baseline")


def test_what_is_known_is_taken_out_and_what_is_new_stays():
    found = held(result(finding(), finding("EX102", "b")), entry())
    assert [one.rule for one in found.new] == ["EX102"]
    assert [one.rule for one in found.known] == ["EX101"]
    assert (found.gone, found.unseen, found.strange) == (0, 0, ())


def test_lines_do_not_matter():
    assert held(result(finding(line=500)), entry()).new == ()


def test_as_many_are_known_as_are_counted_those_of_the_same_file_first():
    found = held(
        result(finding(file="a.yaml"), finding(file="q.yaml"), finding(file="z.yaml")), entry(times=2)
    )
    assert [one.place.file for one in found.known] == ["a.yaml", "q.yaml"]
    assert [one.place.file for one in found.new] == ["z.yaml"]
    found = held(result(finding(file="a.yaml"), finding(file="q.yaml")), entry())
    assert [one.place.file for one in found.new] == ["a.yaml"]


def test_what_is_not_found_is_gone():
    found = held(result(), entry(times=3))
    assert (found.gone, found.left) == (3, ())
    found = held(result(finding()), entry(times=3))
    assert (found.gone, [one.times for one in found.left]) == (2, [1])


@pytest.mark.parametrize(
    "changes",
    [
        {"ran": ("EX102",)},
        {"skipped": (SkippedRule("EX101", "no inventory"),)},
        {"errors": (RuleError("EX101", "raised"),)},
    ],
)
def test_an_entry_of_a_rule_that_did_not_look_at_everything_is_not_called_gone(changes):
    found = held(result(**changes), entry(times=2))
    assert (found.gone, found.unseen, found.left) == (0, 2, (entry(times=2),))


def test_nor_one_of_a_file_that_was_not_looked_at():
    found = held(
        result(), entry(), entry("EX102", "b", file="r.yaml"), looked_at=lambda name: name == "r.yaml"
    )
    assert (found.gone, found.unseen, found.left) == (1, 1, (entry(),))


def test_entries_of_rules_that_are_not_here_are_kept_and_named():
    found = held(result(), entry("ACME1", "c"))
    assert (found.gone, found.unseen, found.strange) == (0, 1, ("ACME1",))
    assert found.left == (entry("ACME1", "c"),)


def test_an_entry_of_a_retired_rule_stands_for_what_its_heir_finds_at_the_same_place():
    same = finding("EX102", "d", message="in other words")
    elsewhere = finding("EX102", "e", path="spec.y")
    found = held(result(same, elsewhere), entry("EX900", "9"))
    assert found.known == (same,)
    assert found.new == (elsewhere,)
    (left,) = found.left
    assert (left.rule, left.fingerprint, left.message) == ("EX102", "d" * 32, "in other words")


def test_a_chain_of_heirs_is_followed_and_a_ring_ends():
    chain = Rulebook(
        (a_rule("EX1", "deprecated", "EX2"), a_rule("EX2", "deprecated", "EX101"), a_rule("EX101"))
    )
    assert held(result(finding()), entry("EX1", "1"), book=chain).new == ()
    ring = Rulebook((a_rule("EX1", "deprecated", "EX2"), a_rule("EX2", "deprecated", "EX1")))
    assert held(result(), entry("EX1", "1"), book=ring).unseen == 1


def test_retired_rules_whose_heirs_find_nothing_are_gone():
    assert held(result(), entry("EX900", "9"), entry("EX901", "8")).gone == 2
    assert held(result(ran=("EX101",)), entry("EX900", "9")).unseen == 1


def test_an_entry_of_its_own_goes_before_an_heirs():
    found = held(result(finding("EX102", "d")), entry("EX900", "9"), entry("EX102", "d"))
    assert (len(found.known), found.gone) == (1, 1)


def test_findings_that_are_known_in_another_way_are_not_gone():
    old = finding()
    found = held(result(before=(old,)), entry())
    assert (found.new, found.known, found.gone) == ((), (), 0)


MARKS = st.lists(st.sampled_from("abc"), max_size=6)


@given(MARKS, MARKS)
def test_a_baseline_never_grows_and_loses_nothing_that_is_found(before, now):
    entries = entries_of([finding(mark=mark, line=at) for at, mark in enumerate(before)], lambda n: n)
    found = held(result(*(finding(mark=mark, line=at) for at, mark in enumerate(now))), *entries)
    counts = {one.fingerprint[0]: one.times for one in found.left}
    for mark in "abc":
        old, new = before.count(mark), now.count(mark)
        assert counts.get(mark, 0) == min(old, new)
        assert sum(one.fingerprint[0] == mark for one in found.new) == max(0, new - old)
    assert found.gone == sum(max(0, before.count(m) - now.count(m)) for m in "abc")
    again = held(result(*found.known), *found.left)
    assert (again.new, again.gone, set(again.left)) == ((), 0, set(found.left))


def test_entries_of_one_fingerprint_are_put_together():
    assert together([entry(), entry("EX102", "b"), entry(times=2)]) == (entry(times=3), entry("EX102", "b"))
