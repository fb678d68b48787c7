import json

import pytest

from policycheck.source.document import DocumentId, Span
from policycheck.source.spans import Spans, dotted, excerpt, locate
from policycheck.source.text import Lines
from policycheck.source.yamldoc import parse

TEXT = """\
# about
apiVersion: v1
kind: Queue
spec:
  groups:        # words
  - covered: ["cpu", 'memory']
    flavors:
    - name: h100
      resources:
      - {name: gpu, quota: 8, limit: 4}
  text: |
    one
    two
  empty:
  quoted: "a b"   # words
"""


def marked(text, path, *, on_key=False, document=0, prefix=()):
    """The text that is underlined, and whether the path is written."""
    found = locate(text.encode(), DocumentId("q", document, prefix), path, on_key=on_key)
    line, column, end_line, end_column = found.span
    assert line == end_line, "underlined is one line"
    return Lines(text).line(line)[column - 1 : end_column - 1], found.exact


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("kind",), "kind: Queue"),
        (("spec",), "spec"),
        (("spec", "groups"), "groups"),
        (("spec", "groups", 0), "covered: [\"cpu\", 'memory']"),
        (("spec", "groups", 0, "covered"), "covered: [\"cpu\", 'memory']"),
        (("spec", "groups", 0, "covered", 1), "'memory'"),
        (("spec", "groups", 0, "flavors", 0), "name: h100"),
        (("spec", "groups", 0, "flavors", 0, "name"), "name: h100"),
        (("spec", "groups", 0, "flavors", 0, "resources", 0), "{name: gpu, quota: 8, limit: 4}"),
        (("spec", "groups", 0, "flavors", 0, "resources", 0, "limit"), "limit: 4"),
        (("spec", "text"), "text"),
        (("spec", "empty"), "empty:"),
        (("spec", "quoted"), 'quoted: "a b"'),
        ((), "apiVersion: v1"),
    ],
)
def test_entries_are_marked_from_key_to_value(path, expected):
    assert marked(TEXT, path) == (expected, True)


def test_the_key_alone():
    assert marked(TEXT, ("kind",), on_key=True) == ("kind", True)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("spec", "cohort"), "spec"),
        (("spec", "groups", 0, "flavors", 1, "name"), "flavors"),
        (("spec", "groups", 0, "flavors", 0, "resources", 0, "borrow"), "{name: gpu, quota: 8, limit: 4}"),
        (("spec", "quoted", "deeper"), "quoted"),
        (("spec", "empty", 0), "empty"),
        (("nothing", "here"), "apiVersion"),
        ((0,), "apiVersion"),
    ],
)
def test_a_path_that_is_not_written_gives_the_nearest_parent(path, expected):
    text, exact = marked(TEXT, path)
    assert not exact
    assert text.startswith(expected)


def test_what_is_written_of_a_path_is_told():
    found = locate(TEXT.encode(), DocumentId("q"), ("spec", "groups", 7, "x"))
    assert (found.written, found.exact) == (("spec", "groups"), False)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_places_do_not_depend_on_encoding(newline, encoding):
    text = "k: 1\n---\n'\U0001f600é': {a: 5}\n".replace("\n", newline)
    found = locate(text.encode(encoding), DocumentId("q", 1), ("\U0001f600é", "a"))
    assert found.span == Span(3, 8, 3, 12)


def test_aliases_lead_to_where_the_value_is_written():
    text = "a: &x\n  k: 1\nb: *x\n"
    assert marked(text, ("b", "k")) == ("k: 1", True)
    assert marked(text, ("b",))[0].startswith("b")


def test_merged_keys_lead_to_where_they_are_written():
    text = "x: &x\n  k: 1\n  l: 2\nw: &w\n  m: 3\nb:\n  <<: [*x, *w]\n  l: 4\n"
    assert marked(text, ("b", "k")) == ("k: 1", True)
    assert marked(text, ("b", "m")) == ("m: 3", True)
    assert marked(text, ("b", "l")) == ("l: 4", True)


def test_keys_that_are_read_as_something_else_are_found():
    assert marked("on: 1\n", ("true",)) == ("on: 1", True)
    assert marked("010: 1\n", ("8",)) == ("010: 1", True)


def test_the_last_of_two_equal_keys_is_the_one():
    assert locate(b"a: 1\na: 2\n", DocumentId("q"), ("a",)).span.line == 2


def test_documents_are_numbered_as_parse_does():
    text = "# x\n---\na: 1\n---\nb: c: d\n---\n---\na: 2\n"
    assert locate(text.encode(), DocumentId("q", 3), ("a",)).span.line == 8


def test_a_stretch_of_odd_blanks_has_a_number_as_well():
    text = "\u0085\n---\napiVersion: v1\nkind: A\n"
    (document,) = parse("q", text.encode()).documents
    assert locate(text.encode(), document.id, ("kind",)).span.line == 4


def test_items_of_lists():
    text = "kind: List\nitems:\n- kind: A\n- kind: B\n  x: 1\n"
    assert marked(text, ("x",), prefix=("items", 1)) == ("x: 1", True)
    assert marked(text, ("y",), prefix=("items", 1)) == ("kind: B", False)
    assert Spans(lambda _: text.encode()).extent(DocumentId("q", 0, ("items", 1))) == (4, 5)


@pytest.mark.parametrize("indent", [None, 2])
def test_json_with_and_without_lines(indent):
    value = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"kind": "A", "s": "\U0001f600", "b": {"c": [1, 2]}}] * 2,
    }
    text = json.dumps(value, indent=indent)
    assert marked(text, ("b", "c", 1), prefix=("items", 1)) == ("2", True)
    assert marked(text, ("kind",), prefix=("items", 0)) == ('"kind": "A"', True)
    assert marked(text + "\n" + text, ("kind",), document=1) == ('"kind": "List"', True)


@pytest.mark.parametrize("data", [b"", b"\xff", b"a: b: c", b"{", b"a: *x"])
@pytest.mark.parametrize("document", [0, 7])
def test_files_that_changed_in_between_give_some_place(data, document):
    assert locate(data, DocumentId("q", document, ("items", 3)), ("a", 0)).span.line == 1


def test_a_file_that_is_gone_gives_some_place():
    def gone(_):
        raise FileNotFoundError

    spans = Spans(gone)
    assert spans.locate(DocumentId("q"), ("a",)).span == Span(1, 1, 1, 1)
    assert spans.lines("q").line(1) == ""


def test_a_file_is_read_once():
    reads = []

    def read(file):
        reads.append(file)
        return TEXT.encode()

    spans = Spans(read)
    for path in ((), ("kind",), ("spec", "text")):
        spans.locate(DocumentId("q"), path)
    assert reads == ["q"]


def test_excerpts():
    lines = Lines("a\nb\r\nc\n")
    assert excerpt(lines, Span(2, 1, 2, 2)) == [(2, "b")]
    assert excerpt(lines, Span(1, 1, 1, 2), around=1) == [(1, "a"), (2, "b")]


def test_dotted_paths_name_list_items():
    value = parse("q", TEXT.encode()).documents[0].value
    path = ("spec", "groups", 0, "flavors", 0, "resources", 0, "limit")
    assert dotted(path, value) == "spec.groups[0].flavors[name=h100].resources[name=gpu].limit"
    assert dotted(("spec", "groups", 5, "x"), value) == "spec.groups[5].x"
    assert dotted(("metadata", "labels", "a.b/c"), {}) == 'metadata.labels["a.b/c"]'
    assert dotted((), value) == ""


EMBEDDED = """\
kind: ConfigMap
data:
  other.txt: a
  config.yaml: |
    # about
    kind: Other
    ---
    kind: Inner
    metrics:

      is: true   # words
      names: [a, "b"]
    text: |-
      deeper:
        - name: x
          size: 3
  quoted.yaml: "a: {b: 1}"
  folded.yaml: >
    a: {b: 1}
  explicit.yaml: |2
      a: 1
  broken.yaml: |
    a: [
  crlf.yaml: |\r
    a:\r
      b: 1\r
"""
AT = ("data", "config.yaml")


@pytest.mark.parametrize(
    ("path", "expected", "exact"),
    [
        ((*AT, "metrics"), "metrics", True),
        ((*AT, "metrics", "is"), "is: true", True),
        ((*AT, "metrics", "names", 1), '"b"', True),
        ((*AT, "metrics", "off"), "metrics", False),
        ((*AT, "nothing"), "config.yaml", False),
        ((*AT, "text", "deeper", 0, "size"), "size: 3", True),
        ((*AT, "text", "deeper", 0), "name: x", True),
        ((*AT, "kind"), "kind: Other", True),
        (("data", "quoted.yaml", "a", "b"), "quoted.yaml", False),
        (("data", "folded.yaml", "a", "b"), "folded.yaml", False),
        (("data", "explicit.yaml", "a"), "explicit.yaml", False),
        (("data", "broken.yaml", "a"), "broken.yaml", False),
        (("data", "other.txt", "a"), "other.txt", False),
        (("data", "crlf.yaml", "a", "b"), "b: 1", True),
        (AT, "config.yaml", True),
    ],
)
def test_yaml_in_a_literal_block_has_places_of_its_own(path, expected, exact):
    assert marked(EMBEDDED, path) == (expected, exact)


def test_the_caret_stands_on_the_line_within():
    found = locate(EMBEDDED.encode(), DocumentId("q"), (*AT, "metrics", "is"))
    assert found.span == Span(11, 7, 11, 15)
    assert found.written == (*AT, "metrics", "is")
