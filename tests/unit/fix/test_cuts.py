"""Cuts that change no data, edits inside of literal blocks, and the order of changes."""

from __future__ import annotations

import pytest

from policycheck.source.document import Change, DocumentId, Span
from policycheck.source.edit import edit, in_order

FILE = DocumentId("q.yaml")


def cut(text, action, line, column):
    return edit(text, [Change(FILE, (), action, Span(line, column, line, column + 1))])


@pytest.mark.parametrize(
    ("text", "line", "column", "after"),
    [
        ("a: 1\n# policycheck: x\nb: 2\n", 2, 1, "a: 1\nb: 2\n"),
        ("a: 1   # policycheck: x\nb: 2\n", 1, 8, "a: 1\nb: 2\n"),
        ("a: 1\n  # policycheck: x", 2, 3, "a: 1\n"),
        ("--- # policycheck: x\na: 1\n", 1, 5, "---\na: 1\n"),
        ("a: 1\r\n# x\r\nb: 2\r\n", 2, 1, "a: 1\r\nb: 2\r\n"),
    ],
)
def test_a_comment_goes_with_its_line_when_it_has_it_to_itself(text, line, column, after):
    assert cut(text, "uncomment", line, column).text == after


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: 2\n", 1, 1),
        ('a: "# no"\n', 1, 5),
        ("a: |\n  # text\nb: 1\n", 2, 3),
        ("", 1, 1),
        ("a: b: c # x\n", 1, 9),
    ],
)
def test_what_is_no_comment_stays(text, line, column):
    done = cut(text, "uncomment", line, column)
    assert (done.text, len(done.dropped)) == (text, 1)
    assert done.dropped[0].why


@pytest.mark.parametrize(
    ("text", "line", "column", "after"),
    [
        ("a: 1   # first\nb: 2\na: 3\n", 3, 1, "b: 2\na: 3\n"),
        ("x:\n  a:\n    k: 1\n  # between\n  a: 3\n", 5, 3, "x:\n  # between\n  a: 3\n"),
        ("x: {a: 1, b: 2, a: 3}\n", 1, 17, "x: {b: 2, a: 3}\n"),
        ('{"a": 1, "a": 3}\n', 1, 10, '{"a": 3}\n'),
        ("a: 1\na: 2\na: 3\n", 3, 1, "a: 1\na: 3\n"),
        ("a: |\n  text\nb: 1\na: 2\n", 4, 1, "b: 1\na: 2\n"),
        ("z: 1\n---\na: 1\na: 2\n", 4, 1, "z: 1\n---\na: 2\n"),
    ],
)
def test_of_two_keys_the_earlier_one_goes(text, line, column, after):
    assert cut(text, "unrepeat", line, column).text == after


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: 2\n", 2, 1),
        ("- a: 1\n  b: 2\n  a: 3\n", 3, 3),
        ("a: &x 1\nb: *x\na: 2\n", 3, 1),
        ("x: {a: 1,\n  a: 2}\n", 2, 3),
    ],
)
def test_a_key_that_can_not_go_by_itself_stays(text, line, column):
    done = cut(text, "unrepeat", line, column)
    assert (done.text, len(done.dropped)) == (text, 1)


CONFIG = """\
kind: ConfigMap
data:
  # the one that counts
  config.yaml: |   # read at start
    # head
    kind: Configuration

    metrics:   # for the dashboards
      port: 1
    gates: {A: true}
  other: "kind: x"
"""


@pytest.mark.parametrize(
    ("path", "action", "value", "old", "new"),
    [
        (("metrics", "port"), "set", 2, "      port: 1\n", "      port: 2\n"),
        (("metrics", "on"), "set", True, "      port: 1\n", '      port: 1\n      "on": true\n'),
        (("gates", "A"), "rename", "B", "{A: true}", "{B: true}"),
        (("gates",), "remove", None, "    gates: {A: true}\n", ""),
        (("new", "k"), "set", 1, "{A: true}\n", "{A: true}\n    new:\n      k: 1\n"),
    ],
)
def test_yaml_inside_of_a_literal_block_is_changed_in_its_place(path, action, value, old, new):
    done = edit(CONFIG, [Change(FILE, ("data", "config.yaml", *path), action, value)])
    assert done.dropped == ()
    assert done.text.replace("'on'", '"on"') == CONFIG.replace(old, new)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (CONFIG, ("data", "other", "kind")),
        ("d: |2\n    a: 1\n", ("d", "a")),
        ("d: >\n  a: 1\n", ("d", "a")),
        ("d: |\n  a: b: c\n", ("d", "a")),
        ("d: |\n", ("d", "a")),
        ("d: |\n  a: 1\n", ("d", "b", "c", "d")),
    ],
)
def test_other_text_in_text_is_left(text, path):
    done = edit(text, [Change(FILE, path, "remove")])
    assert (done.text, len(done.dropped)) == (text, 1)


def test_a_block_at_the_end_of_a_file_without_a_break():
    done = edit("d: |\n  a: 1", [Change(FILE, ("d", "b"), "set", 2)])
    assert done.text == "d: |\n  a: 1\n  b: 2"


def test_a_text_in_a_text_in_a_text():
    text = "d: |\n  e: |\n    f: 1\n    g: 2\n  h: 3\n"
    assert edit(text, [Change(FILE, ("d", "e", "f"), "set", 4)]).text == text.replace("f: 1", "f: 4")


def test_cuts_go_first_and_from_the_end_on():
    text = "a: 1\n# one\nb: 2\n# two\nc: 3   # three\n"
    changes = [
        Change(FILE, ("b",), "remove"),
        Change(FILE, (), "uncomment", Span(2, 1, 2, 6)),
        Change(FILE, (), "uncomment", Span(5, 8, 5, 15)),
        Change(FILE, (), "uncomment", Span(4, 1, 4, 6)),
        Change(FILE, (), "uncomment", Span(4, 1, 4, 6)),
    ]
    assert edit(text, in_order(changes)).text == "a: 1\nc: 3\n"
    assert len(in_order(changes)) == 4


def test_mixed_line_ends_are_left_as_they_are():
    text = "a: 1\r\nb: 2\nc: 3\r\n"
    assert edit(text, [Change(FILE, ("b",), "set", 5)]).text == "a: 1\r\nb: 5\nc: 3\r\n"
