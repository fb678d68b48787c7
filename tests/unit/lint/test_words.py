from __future__ import annotations

import pytest

from policycheck.lint.message import MessageError, render
from policycheck.lint.place import dotted, fingerprint, written_dotted
from policycheck.lint.written import dotted as loc_dotted
from policycheck.lint.written import read
from policycheck.model.facts import Facts, Rename
from policycheck.model.origin import ObjectKey

CONTEXT = {"object": {"metadata": {"name": "q", "labels": {"a.b/c": "x"}}, "list": ["p", "q"], "no": False}}


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{object.metadata.name} is it", "q is it"),
        ("{object.metadata.labels['a.b/c']}", "x"),
        ("{object.list[1]} of {object.list}", "q of p, q"),
        ("{object.metadata.namespace}", "(not set)"),
        ("{object.list[7]}", "(not set)"),
        ("{object.no}", "false"),
        ("{n} of {{braces}}", "3 of {braces}"),
        ("{{}}", "{}"),
        ("{object.metadata.labels}", '{"a.b/c": "x"}'),
    ],
)
def test_placeholders_are_filled(template, words):
    assert render(template, {"n": 3}, CONTEXT) == words


def test_a_value_that_nobody_gave_is_told():
    with pytest.raises(MessageError, match="the check gives no 'm'"):
        render("{m}", {"n": 3}, CONTEXT)


def test_long_values_are_cut_and_lines_joined():
    assert len(render("{v}", {"v": "x" * 1000}, {})) == 200
    assert render("{v}", {"v": "a\n  b"}, {}) == "a b"


VALUE = {
    "spec": {
        "groups": [{"flavors": [{"name": "h100"}, {"name": "a100", "n": 1}, {"name": "a100"}]}],
        "labels": {"x.y/z": "1"},
    }
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("spec", "groups", 0, "flavors", 0), "spec.groups[0].flavors[name=h100]"),
        (("spec", "groups", 0, "flavors", 1, "n"), "spec.groups[0].flavors[1].n"),
        (("spec", "groups", 5, "n"), "spec.groups[5].n"),
        (("spec", "labels", "x.y/z"), "spec.labels['x.y/z']"),
        ((), ""),
    ],
)
def test_items_are_called_by_a_name_that_is_their_own(path, text):
    assert dotted(path, VALUE) == text


def test_a_converted_path_is_shown_as_written_with_its_names():
    facts = Facts(
        ObjectKey("g", "K", "", "n"), "g/v1", "s",
        {"spec": {"checks": {"list": [{"name": "c"}]}, "new": [{"name": "i", "x": 1}]}}, None,
        (
            Rename(("spec", "checks", "list", 0, "name"), ("spec", "checks", 0)),
            Rename(("spec", "new"), ("spec", "old")),
        ),
    )  # fmt: skip
    assert written_dotted(facts, ("spec", "checks", "list", 0, "name")) == "spec.checks[0]"
    assert written_dotted(facts, ("spec", "new", 0, "x")) == "spec.old[name=i].x"
    assert written_dotted(facts, ("spec", "other")) == "spec.other"


def test_each_part_of_a_fingerprint_counts():
    key = ObjectKey("g", "K", "ns", "n")
    parts = ("EX1", key, "spec.x", "d", 0)
    others = [
        ("EX2", key, "spec.x", "d", 0),
        ("EX1", key._replace(name="m"), "spec.x", "d", 0),
        ("EX1", None, "spec.x", "d", 0),
        ("EX1", key, "spec.y", "d", 0),
        ("EX1", key, "spec.x", "e", 0),
        ("EX1", key, "spec.x", "d", 1),
    ]
    marks = {fingerprint(*one) for one in [parts, *others]}
    assert len(marks) == 7
    assert fingerprint(*parts) == fingerprint(*parts)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: 1.5", {"a": 1.5}),
        ("a: on", {"a": "on"}),
        ("a: 0.19", {"a": 0.19}),
        ("a: '1'", {"a": "1"}),
        ("a: true\nb: ~\nc:", {"a": True, "b": None, "c": None}),
        ("a: 2026-01-01", {"a": "2026-01-01"}),
        ("a: 1:30", {"a": "1:30"}),
        ("[1, {a: [x]}]", [1, {"a": ["x"]}]),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("", None),
    ],
)
def test_values_of_our_own_files(text, value):
    assert read(text).value == value


def test_places_of_our_own_files():
    text = "a:\n  - b: 1\n    c: {d: 2}\n"
    written = read(text)
    assert written.place(("a", 0, "c", "d")) == (3, 9)
    assert written.place(("a", 0)) == (2, 5)
    assert written.place(("a", 0, "nope")) == (2, 5)
    assert written.place(("nope",)) == (1, 1)
    assert loc_dotted(("a", 0, "c")) == "a[0].c"
