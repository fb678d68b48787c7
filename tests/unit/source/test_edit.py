import pytest

from policycheck.source.document import DocumentId, Span
from policycheck.source.edit import Change, Edit, apply, changed, edit, replace_scalar, scalar_text
from policycheck.source.scalar import read_plain

TEXT = """\
# head
---
apiVersion: v1   # c
spec:
    groups:
    -   name: a   # x
        limits: {cpu: 1, nvidia.com/gpu: 2}
    # about b
    -   name: 'b'
        quota: "8"
    empty: {}
    none:
    other: 1
# tail
---
a: 1   # last
"""


def lines_changed(text, *changes, document=0):
    """The lines that went and the lines that came, and how many changes were dropped."""
    found = edit(text, [Change(DocumentId("q", document), *change) for change in changes])
    old, new = text.splitlines(), found.text.splitlines()
    gone = [line for line in old if line not in new]
    return gone, [line for line in new if line not in old], [d.why for d in found.dropped]


@pytest.mark.parametrize(
    ("change", "gone", "came"),
    [
        (
            (("spec", "groups", 0, "limits", "cpu"), "set", 5),
            ["        limits: {cpu: 1, nvidia.com/gpu: 2}"],
            ["        limits: {cpu: 5, nvidia.com/gpu: 2}"],
        ),
        ((("spec", "groups", 1, "quota"), "set", "on"), ['        quota: "8"'], ['        quota: "on"']),
        ((("spec", "groups", 1, "name"), "set", "it's"), ["    -   name: 'b'"], ["    -   name: 'it''s'"]),
        ((("spec", "groups", 1, "quota"), "set", 8), ['        quota: "8"'], ["        quota: 8"]),
        ((("spec", "none"), "set", "x"), ["    none:"], ["    none: x"]),
        ((("spec", "other"), "rename", "another"), ["    other: 1"], ["    another: 1"]),
        ((("spec", "other"), "remove"), ["    other: 1"], []),
        ((("spec", "groups", 1, "quota"), "remove"), ['        quota: "8"'], []),
        ((("spec", "groups", 0, "borrow"), "set", 4), [], ["        borrow: 4"]),
        ((("spec", "empty", "k"), "set", "v"), ["    empty: {}"], ["    empty: {k: v}"]),
    ],
)
def test_a_change_touches_its_own_lines_alone(change, gone, came):
    assert lines_changed(TEXT, change) == (gone, came, [])


def test_other_documents_stay():
    assert lines_changed(TEXT, (("a",), "set", "10"), document=1) == (
        ["a: 1   # last"],
        ['a: "10"   # last'],
        [],
    )


def test_what_is_missing_on_the_way_is_made():
    found = edit("a: 1\n", [Change(DocumentId("q"), ("b", "c"), "set", 2)])
    assert (found.text, len(found.done)) == ("a: 1\nb:\n  c: 2\n", 1)


def test_changes_build_on_each_other():
    a = DocumentId("q")
    found = edit(
        "a: [1]\n",
        [Change(a, ("a", 1), "set", 2), Change(a, ("a", 0), "remove"), Change(a, ("a", 0), "set", 3)],
    )
    assert (found.text, found.dropped) == ("a: [3]\n", ())


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("a: &x 1\nb: *x\n", (("a",), "set", 2)),
        ("a: &x {k: 1}\nb: *x\n", (("b", "k"), "set", 2)),
        ("x: &x {k: 1}\nb: {<<: *x}\n", (("b", "k"), "remove")),
        ("a: 1\nb: 2\n", (("a",), "rename", "b")),
        ("a: 1\n", (("b",), "remove")),
        ("a: 1\n", (("a", "b", "c"), "remove")),
        ("a: 1\n", ((), "remove")),
        ("a: [1]\n", (("a", 5), "set", 1)),
        ("a: 1\na: 2\nb: 3\n", (("a",), "remove")),
        ("a: b: c\n", (("a",), "set", 1)),
        ('{"a": {}}', (("a", "b"), "set", 1)),
    ],
)
def test_a_change_that_can_not_be_verified_is_dropped_and_the_text_stays(text, change):
    found = edit(text, [Change(DocumentId("q"), *change)])
    assert (found.text, found.done, len(found.dropped)) == (text, (), 1)
    assert found.dropped[0].why


def test_a_document_that_is_gone():
    assert edit("a: 1\n", [Change(DocumentId("q", 3), ("a",), "set", 1)]).dropped[0].why


def test_json_stays_json():
    text = '{"kind": "List", "items": [{"a": "x"}, {"a": "y"}]}\n'
    found = edit(text, [Change(DocumentId("q", 0, ("items", 1)), ("a",), "set", "z")])
    assert found.text == text.replace('"y"', '"z"')


def test_true_and_one_are_not_the_same():
    assert edit("a: 1\n", [Change(DocumentId("q"), ("a",), "set", True)]).text == "a: true\n"


def test_line_ends_are_kept():
    found = edit("a: 1\r\nb: 2\r\n", [Change(DocumentId("q"), ("a",), "set", 3)])
    assert found.text == "a: 3\r\nb: 2\r\n"


def test_edits_are_made_together_and_never_overlap():
    assert apply("abcdef", [Edit(4, 5, "X"), Edit(0, 2, ""), Edit(3, 3, "Y")]) == "cYdXf"
    with pytest.raises(ValueError, match="overlap"):
        apply("abc", [Edit(0, 2, ""), Edit(1, 3, "")])


def test_a_scalar_is_written_over_a_span():
    text = "\U0001f600: 'a'\nb: c\n"
    assert apply(
        text, [replace_scalar(text, Span(1, 4, 1, 7), "d"), replace_scalar(text, Span(2, 4, 2, 5), 7)]
    ) == ("\U0001f600: 'd'\nb: 7\n")


@pytest.mark.parametrize(
    "value", ["on", "1e3", "", "~", "a: b", "- x", "#", "a #b", "{", "8", "-", "é", "\n", "'"]
)
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_text_is_read_back_as_text(value, quote):
    from policycheck.source.yamldoc import load_values

    written = scalar_text(value, quote)
    assert load_values("q", f"[{written}]\n---\na: {written}\n".encode()) == [(1, [value]), (3, {"a": value})]


def test_plain_words_stay_plain():
    for word in ("nvidia.com/gpu", "1Gi", "team-a", "v1"):
        assert scalar_text(word) == word == read_plain(word)


def test_data_is_changed_on_a_copy():
    old = {"a": [1, {"b": 2}]}
    assert changed(old, Change(DocumentId("q"), ("a", 1, "b"), "set", 3)) == {"a": [1, {"b": 3}]}
    assert old == {"a": [1, {"b": 2}]}
