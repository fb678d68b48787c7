"""Input that is meant to take the machine, or that is no manifest at all. Everything ends in an account."""

import json

import pytest

from policycheck.source.spans import locate

HEAD = "apiVersion: v1\nkind: X\n"


def laughs(levels, width=9):
    lines = ["a0: &a0 [x]"]
    for level in range(1, levels):
        uses = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} [{uses}]")
    return "\n".join(lines)


@pytest.mark.parametrize("width", [2, 9, 40])
def test_a_billion_laughs_are_refused(read, width):
    report = read(HEAD + laughs(60, width)).report
    assert (report.state, report.failed) == ("notChecked", True)
    assert "aliases make more than" in report.why


def test_laughs_through_merges_stay_small(read):
    lines = ["a0: &a0 {k: x}"] + [
        f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: y}}" for n in range(1, 60)
    ]
    report = read(HEAD + "\n".join(lines)).report
    assert report.failed
    assert "aliases make more than" in report.why


def test_modest_reuse_is_fine(read):
    assert len(read(HEAD + laughs(4)).documents) == 1


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 100_000,
        "a: " + "{a: " * 100_000,
        "- " * 100_000,
        "a: " + "[" * 300 + "]" * 300,
        '{"apiVersion": "v1", "kind": "X", "a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"apiVersion": "v1", "kind": "X", "a": ' + "[" * 250 + "]" * 250 + "}",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_depth_is_refused(read, text):
    report = read(HEAD + text if text.startswith("a") else text).report
    assert (report.state, report.failed) == ("notChecked", True)
    assert "deeper" in report.why


def test_depth_through_aliases_is_refused(read):
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 400)]
    report = read(HEAD + "\n".join(lines)).report
    assert report.failed
    assert "deeper than 200 levels" in report.why


def test_deep_but_allowed(read):
    document = read(HEAD + "a: " + "[" * 150 + "]" * 150).documents[0]
    assert locate((HEAD + "a: " + "[" * 150 + "]" * 150).encode(), document.id, ("a", *[0] * 149)).exact


def test_lists_in_lists_in_lists(read):
    value = {"apiVersion": "v1", "kind": "X"}
    for _ in range(60):
        value = {"apiVersion": "v1", "items": [value], "kind": "List"}
    (document,) = read(json.dumps(value), "q.json").documents
    assert document.id.prefix == ("items", 0) * 60


@pytest.mark.parametrize(
    "text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "&a {kind: *a, apiVersion: v1}"]
)
def test_anchors_that_contain_themselves(read, text):
    report = read(HEAD + text if text[0] != "&" else text).report
    assert report.failed
    assert "contains itself" in report.why


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"\0" * 1000,
        b"\x7fELF\x02\x01\x01" + bytes(range(256)),
        b"\x1f\x8b\x08\x00" + bytes(range(255, 0, -1)),
        b"\xff\xfe",
        b"\xfe\xff\x00",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbfa: 1",
        b"\xed\xa0\x80",
        b"%",
        b"%YAML 9.9\n---\n",
        b"--- ---\n",
        b"&",
        b"*",
        b"!",
        b"!!",
        b"? ?",
        b"? " * 100_000,
        b": :",
        b"|",
        b">9",
        b"[,]",
        b"{,}",
        b"'",
        b'"\\x',
        b"---\n" * 5000,
        b"...\n" * 5000,
        b"a: 1\n..." * 100,
        b"\r" * 100,
        b"{" * 50,
        b"}" * 50,
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b"a: " + b"9" * 5000,
        "a\u2028b: 1\u0085c: 2".encode(),
        b"!!binary x",
        b"a: !!binary '%'",
        b"a: !!python/object/apply:os.system [ls]",
        b"<<: {a: 1}",
        b"<<: [[]]",
        b"<<: *x",
        b"{? , : }",
        b"- - - -",
        b"kind: {}\napiVersion: []",
        b"kind: List\nitems: {}",
        b"kind: List\nitems:",
        b"kind: List\nitems: [[], null, 5, {}]",
        b"metadata: 5\nspec: 6",
    ],
)
def test_whatever_comes_is_accounted_for(read, data):
    for prefix in (b"", HEAD.encode()):
        parsed = read(prefix + data)
        report = parsed.report
        assert report.documents == len(parsed.documents)
        assert (report.state == "checked") == (not parsed.unchecked)
        assert report.state == "checked" or report.why
        for document in parsed.documents:
            json.dumps(document.value).encode()
            assert locate(prefix + data, document.id, ()).span.line >= 1


def test_a_huge_scalar(read):
    text = f"{HEAD}a: {'x' * 1_000_000}\nb: |\n" + "  y\n" * 100_000
    (document,) = read(text).documents
    assert (len(document.value["a"]), len(document.value["b"])) == (1_000_000, 200_000)


def test_size_is_bounded(read):
    assert "longer than the 100 bytes" in read(HEAD + "# " + "x" * 100, size=100).report.why
    assert read('{"apiVersion": "v1", "kind": "X"}' + " " * 100, size=100).report.state == "checked"
    assert read('{"apiVersion": "v1"}' + " " * 100, json_size=100).report.failed


def test_the_number_of_objects_is_bounded(read):
    parsed = read(f"---\n{HEAD}" * 20, documents=10)
    assert (parsed.report.state, parsed.report.failed) == ("partly", True)
    assert len(parsed.documents) <= 11


def test_the_number_of_values_is_bounded(read):
    assert "more than 50 values" in read(HEAD + "a:\n" + "- []\n" * 100, nodes=50).report.why


def test_many_documents_have_their_lines(read):
    parsed = read(f"---\n{HEAD}" * 3000)
    assert [d.line for d in parsed.documents] == list(range(2, 9002, 3))
