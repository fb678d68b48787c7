import json
import pickle

import pytest

from policycheck.source.document import FileReport, Span
from policycheck.source.text import TextError
from policycheck.source.yamldoc import digest, load_values, parse

A = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
B = "apiVersion: v1\nkind: B\nmetadata: {name: b}\n"


def names(parsed):
    return [(d.value["kind"], d.id.document, d.id.prefix, d.line) for d in parsed.documents]


def test_documents_come_in_order_with_number_and_line(read):
    parsed = read(f"# head\n---\n{A}---\n# only a comment\n---\n{B}")
    assert names(parsed) == [("A", 0, (), 3), ("B", 2, (), 9)]
    assert parsed.report == FileReport("q.yaml", "checked", documents=2)


@pytest.mark.parametrize("text", ["", "# words\n", "---\n", "---\n...\n---\n", "\n\n", "~\n"])
def test_files_without_content_are_checked_and_hold_nothing(read, text):
    assert read(text) == ((), FileReport("q.yaml", "checked"), (), ())


def test_equal_values_have_equal_digests_however_written(read):
    (block,) = read("kind: A\napiVersion: v1\nspec:\n  x: [1, 'é']\n").documents
    (flow,) = read('{"apiVersion": "v1", "spec": {"x": [1, "\\u00e9"]}, "kind": "A"}', "q.json").documents
    assert block.digest == flow.digest == digest(block.value)
    assert block.digest != digest({**block.value, "spec": {"x": [True, "é"]}})


def test_results_can_be_sent_to_another_process(read):
    parsed = read(A)
    assert pickle.loads(pickle.dumps(parsed)) == parsed  # noqa: S301 - made here


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_line_ends_and_encodings_change_nothing(newline, encoding):
    text = f"{A}---\n{B}".replace("\n", newline)
    assert names(parse("q.yaml", text.encode(encoding))) == [("A", 0, (), 1), ("B", 1, (), 5)]


class TestValues:
    def test_block_scalars_keep_their_lines(self, value):
        assert value("a: |\n  x\n   y\n\nb: >-\n  x\n  y\nc: |+\n  x\n\n") == {
            "a": "x\n y\n",
            "b": "x y",
            "c": "x\n\n",
        }

    def test_quoted_scalars_are_text(self, value):
        assert value("a: '8'\nb: \"on\"\nc: 'it''s'\n") == {"a": "8", "b": "on", "c": "it's"}

    def test_keys_are_text(self, value):
        assert value("1: a\n1.5: b\n0x10: c\n'on': d\n") == {"1": "a", "1.5": "b", "16": "c", "on": "d"}

    def test_empty_values_are_null(self, value):
        assert value("a:\nb: {c: }\nd: [~]\ne:\n-\n") == {
            "a": None,
            "b": {"c": None},
            "d": [None],
            "e": [None],
        }

    def test_quantities_stay_as_written(self, value):
        assert value("a: 8\nb: '8'\nc: 500m\nd: 0.5\n") == {"a": 8, "b": "8", "c": "500m", "d": 0.5}

    def test_aliases_are_expanded(self, value):
        found = value("a: &x {k: [1]}\nb: *x\nc: &y 5\nd: [*y, *y]\n")
        assert found == {"a": {"k": [1]}, "b": {"k": [1]}, "c": 5, "d": [5, 5]}

    def test_an_anchor_may_be_set_again(self, value):
        assert value("a: &x 1\nb: &x 2\nc: *x\n") == {"a": 1, "b": 2, "c": 2}

    def test_an_alias_may_be_a_key(self, value):
        assert value("a: &x b\n*x : c\n") == {"a": "b", "b": "c"}

    def test_merge_keys(self, value):
        text = "x: &x {a: 1}\nw: &w {a: 2, b: 3}\nm: {<<: *x, c: 4}\np: {<<: [*x, *w]}\no: {<<: *w, a: 9}\n"
        found = value(text)
        assert (found["m"], found["p"], found["o"]) == ({"a": 1, "c": 4}, {"a": 1, "b": 3}, {"a": 9, "b": 3})

    def test_quoted_merge_key_is_a_key(self, value):
        assert value("'<<': {a: 1}\n") == {"<<": {"a": 1}}

    def test_surrogate_pairs_in_json_and_halves_of_them(self, read):
        text = '{"apiVersion": "v1", "kind": "A", "a": "\\ud83d\\ude00", "b": "\\ud83d"}'
        (document,) = read(text, "q.json").documents
        assert (document.value["a"], document.value["b"]) == ("\U0001f600", "\ufffd")

    def test_numbers_in_json_are_as_in_yaml(self, read):
        (document,) = read(
            '{"apiVersion": "v1", "kind": "A", "a": 1e3, "b": 1.0, "c": 1.5}', "q.json"
        ).documents
        assert json.dumps([document.value[k] for k in "abc"]) == "[1000, 1, 1.5]"


class TestLists:
    ITEMS = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n-\n  apiVersion: v1\n  kind: B\n"
    )

    def test_items_are_objects_with_their_own_line_and_digest(self, read):
        parsed = read(self.ITEMS)
        assert names(parsed) == [("A", 0, ("items", 0), 4), ("B", 0, ("items", 1), 7)]
        assert parsed.documents[0].digest == digest({"apiVersion": "v1", "kind": "A"})

    def test_lists_in_lists(self, read):
        inner = {"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "B"}], "kind": "List"}
        outer = {"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "A"}, inner], "kind": "List"}
        expected = [("A", 0, ("items", 0), 4), ("B", 0, ("items", 1, "items", 0), 11)]
        text = json.dumps(outer, indent=1)
        assert names(read(text, "q.json")) == expected
        assert names(read("# not JSON\n" + text)) == [(k, d, p, line + 1) for k, d, p, line in expected]

    def test_items_of_typed_lists_get_their_kind(self, read):
        parsed = read("apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: m}\n")
        assert parsed.documents[0].value == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "m"}}

    def test_an_empty_list_is_checked(self, read):
        assert read('{"kind": "List", "apiVersion": "v1", "items": []}').report.state == "checked"

    def test_a_kind_that_only_ends_like_a_list_is_an_object(self, read):
        assert names(read("apiVersion: x/v1\nkind: AllowList\nspec: {}\n")) == [("AllowList", 0, (), 1)]

    def test_an_item_that_is_none_is_told_with_its_line(self, read):
        parsed = read("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n- 5\n- {x: 1}\n")
        assert (len(parsed.documents), parsed.report.state, parsed.report.failed) == (1, "partly", False)
        assert [(u.line, u.why[:20]) for u in parsed.unchecked] == [
            (1, "a single value, no K"),
            (7, "no Kubernetes object"),
        ]


class TestJson:
    def test_values_one_after_another_are_documents(self, read):
        text = '{"apiVersion": "v1", "kind": "A"}\n{"apiVersion": "v1", "kind": "B"}\n'
        assert names(read(text, "q.json")) == [("A", 0, (), 1), ("B", 1, (), 2)]

    def test_json_between_yaml(self, read):
        text = f'{A}---\n{{"apiVersion": "v1",\n "kind": "J"}}\n---\n{B}'
        assert names(read(text)) == [("A", 0, (), 1), ("J", 1, (), 5), ("B", 2, (), 8)]

    def test_flow_yaml_with_comments_is_read_all_the_same(self, read):
        assert names(read("{apiVersion: v1, # here\n kind: A}\n")) == [("A", 0, (), 1)]

    def test_a_key_written_twice_is_told_with_its_place(self, read):
        (document,) = read(
            '{"apiVersion": "v1", "kind": "A",\n "spec": {"a": 1, "a": 2}}', "q.json"
        ).documents
        assert document.value["spec"] == {"a": 2}
        (trouble,) = document.troubles
        assert (trouble.code, trouble.span, trouble.path) == (
            "duplicate-key",
            Span(2, 19, 2, 22),
            ("spec", "a"),
        )

    def test_nan_is_no_json(self, read):
        parsed = read('{"apiVersion": "v1", "kind": "A", "a": NaN}', "q.json")
        assert parsed.documents[0].value["a"] == "NaN"


class TestTroubles:
    def test_duplicate_keys_keep_the_last(self, read):
        (document,) = read(A + "spec:\n  a: 1\n  b: 2\n  a: 3\n").documents
        assert document.value["spec"] == {"a": 3, "b": 2}
        (trouble,) = document.troubles
        assert (trouble.code, trouble.span, trouble.path) == (
            "duplicate-key",
            Span(7, 3, 7, 4),
            ("spec", "a"),
        )
        assert "delete one" in trouble.message

    def test_keys_that_become_the_same_are_duplicates(self, troubles):
        assert [t[0] for t in troubles("a: {1: x, '1': z}\n")] == ["duplicate-key"]

    def test_a_merged_key_may_be_written_over(self, troubles):
        assert troubles("x: &x {a: 1}\nm: {<<: *x, a: 2}\n") == []

    def test_a_merge_that_overrides_what_stands_before_it(self, value, troubles):
        text = "x: &x {a: 1}\nm:\n  a: 2\n  <<: *x\n"
        assert value(text)["m"] == {"a": 1}
        assert [t[0] for t in troubles(text)] == ["merge-override"]

    @pytest.mark.parametrize("text", ["1e3", "010", "on", "yes", "off", "no", "1_000", "0x10", "y"])
    def test_ambiguous_scalars(self, troubles, text):
        expected = [("ambiguous-scalar", ("spec", "q", 0), Span(5, 5, 5, 5 + len(text)))]
        assert troubles(f"spec:\n  q:\n  - {text}\n") == expected

    @pytest.mark.parametrize(
        "text", ["true", "8", "0.5", "'on'", "12:30:45", "2024-01-31", "null", "~", "08"]
    )
    def test_ordinary_scalars(self, troubles, text):
        assert troubles(f"spec: {{q: {text}}}\n") == []

    def test_ambiguous_keys(self, troubles):
        assert [(t[0], t[1]) for t in troubles("spec: {on: 1}\n")] == [("ambiguous-scalar", ("spec", "true"))]

    def test_file_modes_are_octal_on_purpose(self, troubles):
        assert troubles("spec: {defaultMode: 0644, items: [{mode: 0400}]}\n") == []

    @pytest.mark.parametrize(
        ("text", "path"),
        [
            ("metadata: {labels: {v: 1}}", ("metadata", "labels", "v")),
            ("metadata: {annotations: {a: true}}", ("metadata", "annotations", "a")),
            ("spec: {nodeLabels: {v: 1.10}}", ("spec", "nodeLabels", "v")),
            ("spec: {env: [{name: X, value: 5}]}", ("spec", "env", 0, "value")),
            ("spec: {args: [--port, 80]}", ("spec", "args", 1)),
        ],
    )
    def test_numbers_where_the_api_takes_text(self, troubles, text, path):
        assert [(t[0], t[1]) for t in troubles(text)] == [("not-text", path)]

    def test_text_and_null_are_fine_there(self, troubles):
        assert troubles("metadata: {labels: {a: x, b: '1', c: }}\nspec: {labels: 5, value: 3}\n") == []

    def test_infinity_can_not_be_sent(self, troubles):
        assert [(t[0], t[1]) for t in troubles("spec: {q: .inf}\n")] == [("unsendable-number", ("spec", "q"))]

    def test_troubles_of_items_count_from_the_item(self, read):
        text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: B, x: 010}\n"
        first, second = read(text).documents
        assert first.troubles == ()
        assert [t.path for t in second.troubles] == [("x",)]

    def test_places_count_code_points_after_wide_characters(self, troubles):
        assert troubles("a: {'\U0001f600': 010}\n")[0][2] == Span(3, 10, 3, 13)


class TestBroken:
    BAD = "apiVersion: v1\nkind: X\n  y: 1\n"

    def test_the_others_are_read_all_the_same(self, read):
        parsed = read(f"{A}---\n{self.BAD}---\n{B}")
        assert names(parsed) == [("A", 0, (), 1), ("B", 2, (), 9)]
        report = parsed.report
        assert (report.state, report.line, report.failed, report.documents) == ("partly", 7, True, 2)
        assert report.why.startswith("column 4: a `: ` where none can be")

    @pytest.mark.parametrize(
        ("text", "line", "says"),
        [
            ("spec:\n\ta: 1\n", 4, "a tab where YAML takes spaces only"),
            ("a: 'x\n", 4, "a quote is not closed"),
            ("a: [1, 2\n", 4, "a flow mapping or list is not closed"),
            ("a: b: c\n", 3, "a `: ` where none can be"),
            ("a: @x\n", 3, "`@` can not begin a value"),
            ("a: *x\n", 3, "alias *x has no anchor before it"),
            ("a: &x [*x]\n", 3, "anchor &x contains itself"),
            ("a: &x {b: *x}\n", 3, "anchor &x contains itself"),
            ("a: {~: 1}\n", 3, "a key is empty or null"),
            ("a: {[1]: 1}\n", 3, "a mapping or list stands where a key belongs"),
            ("a: {<<: 5}\n", 3, "`<<` takes a mapping"),
            ("a: !!int x\n", 3, "take the tag off"),
            ("a: x\x07y\n", 3, "control character #x07"),
            ("a: x\x00y\n", 3, "control character #x00"),
            ('a: "\\q"\n', 3, "a backslash"),
        ],
    )
    def test_what_is_wrong_is_said_with_its_place(self, read, text, line, says):
        parsed = read("apiVersion: v1\nkind: X\n" + text)
        report = parsed.report
        assert (report.state, report.line, report.failed) == ("notChecked", line, True)
        assert says in report.why

    def test_bytes_that_are_no_text(self, read):
        report = read(A.encode() + b"\xff").report
        assert (report.state, report.line, report.failed) == ("notChecked", 4, True)
        assert "0xff is not UTF-8" in report.why

    def test_objects_that_lack_a_part_are_handed_on(self, read):
        text = "kind: X\nspec: {}\n---\nmetadata: {name: a}\nspec: {}\n---\napiVersion: v1\nmetadata: {}\n"
        assert len(read(text).documents) == 3


class TestPlainValues:
    def test_values_with_their_lines(self):
        assert load_values("p", b"# c\npools: [1]\n---\nx: z\n") == [(2, {"pools": [1]}), (4, {"x": "z"})]

    def test_errors_have_file_line_and_column(self):
        with pytest.raises(TextError, match=r"^p\.yaml:3:5: "):
            load_values("p.yaml", b"a: 1\n---\nb: c: d\n")
