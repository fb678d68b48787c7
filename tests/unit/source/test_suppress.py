import pytest

from policycheck.source.document import DocumentId
from policycheck.source.suppress import annotated, comments, is_date
from policycheck.source.text import Lines
from policycheck.source.yamldoc import parse

HEAD = "apiVersion: v1\nkind: A\n"


def found(text):
    return comments("q", text, parse("q", text.encode()).documents)


def covered(text):
    return [(s.rules, s.lines, s.document and s.document[1:]) for s in found(text)]


def test_all_that_can_be_said():
    (one,) = found(
        HEAD + "a: 1  # policycheck: ignore[KQ101, some-name] until=2027-01-31 owner=@org/team: why: so\n"
    )
    assert (one.rules, one.until, one.owner, one.reason, one.wrong) == (
        ("KQ101", "some-name"),
        "2027-01-31",
        "@org/team",
        "why: so",
        "",
    )
    assert (one.span.line, one.span.column, one.lines) == (3, 7, (3, 3))


def test_a_comment_above_covers_the_next_line_with_content():
    assert covered(HEAD + "spec:\n  # policycheck: ignore[R1]\n  # more words\n\n  a: 1\n") == [
        (("R1",), (7, 7), None)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# policycheck: ignore[R1]\n" + HEAD,
        "# words\n#policycheck:ignore[R1]\n# words\n---\n" + HEAD,
        "--- # policycheck: ignore[R1]\n" + HEAD,
        "---\n# policycheck: ignore[R1]\n" + HEAD,
    ],
)
def test_at_the_head_it_covers_the_object(text):
    assert covered(text) == [(("R1",), None, (0, ()))]


def test_the_head_of_a_later_document():
    assert covered(f"{HEAD}---\n# policycheck: ignore[R1]\n{HEAD}") == [(("R1",), None, (1, ()))]


def test_behind_the_first_line_it_covers_that_line_alone():
    assert covered("apiVersion: v1 # policycheck: ignore[R1]\nkind: A\n") == [(("R1",), (1, 1), None)]


def test_lists():
    text = (
        "# policycheck: ignore[ALL]\napiVersion: v1\nkind: List\nitems:\n"
        "# policycheck: ignore[ONE]\n- apiVersion: v1\n  kind: A\n  # policycheck: ignore[LINE]\n  a: 1\n"
        "- apiVersion: v1\n  kind: B\n"
    )
    assert covered(text) == [
        (("ALL",), (1, 11), None),
        (("ONE",), None, (0, ("items", 0))),
        (("LINE",), (9, 9), None),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: '# policycheck: ignore[R1]'\n",
        'a: "x\n  # policycheck: ignore[R1]\n  y"\n',
        "a: |\n  x\n  # policycheck: ignore[R1]\n",
        "a: >\n  # policycheck: ignore[R1]\n",
        "a: x# policycheck: ignore[R1]\n",
        "# see policycheck: ignore[R1]\n",
    ],
)
def test_text_is_no_comment(text):
    assert found(HEAD + text) == ()


def test_behind_the_sign_of_a_block_scalar_it_is_one():
    assert covered(HEAD + "a: | # policycheck: ignore[R1]\n  x\n") == [(("R1",), (3, 3), None)]
    assert covered(HEAD + "a: |\n  x\n# policycheck: ignore[R1]\nb: 1\n") == [(("R1",), (6, 6), None)]


def test_a_document_that_does_not_parse_has_no_comments_and_spares_the_others():
    text = f"{HEAD}a: b: c # policycheck: ignore[R1]\n---\n{HEAD}a: 1 # policycheck: ignore[R2]\n"
    assert covered(text) == [(("R2",), (7, 7), None)]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("ignore", "names no rule"),
        ("ignore[]: all", "names no rule"),
        ("ignore: all", "names no rule"),
        ("ignore[R1] until=2027-02-30: x", "`until=2027-02-30` is no date"),
        ("ignore[R1] until=soon", "no date"),
        ("ignore[R1] til=2027-01-01", "`til=` is not known"),
        ("ignore[R1] because", "a `:` is missing"),
        ("ignore[*]", "`*` can not be a rule"),
        ("ignore[R1, what ever]", "`what ever` can not be"),
        ("disable[R1]", "no request that is known"),
        ("", "no request that is known"),
    ],
)
def test_what_can_not_be_honoured_says_why(said, wrong):
    (one,) = found(HEAD + f"a: 1 # policycheck: {said}\n")
    assert wrong in one.wrong


def notes(text):
    (document,) = parse("q", (HEAD + "metadata:\n  annotations:\n" + text).encode()).documents
    return annotated(document)


def test_annotations():
    (one,) = notes(
        '    policycheck.dev/ignore.KQ101: "until=2027-01-31; owner=@a; known; and fine"\n    other: x\n'
    )
    assert one.rules == ("KQ101",)
    assert (one.until, one.owner, one.reason, one.wrong) == ("2027-01-31", "@a", "known; and fine", "")
    assert one.document == DocumentId("q")
    assert one.path == ("metadata", "annotations", "policycheck.dev/ignore.KQ101")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('    policycheck.dev/ignore.KQ101: "until=x"\n', "no date"),
        ("    policycheck.dev/ignore.KQ101: true\n", "no text"),
        ('    policycheck.dev/ignore.: "x"\n', "names no rule"),
    ],
)
def test_annotations_that_can_not_be_honoured(text, wrong):
    (one,) = notes(text)
    assert wrong in one.wrong


def test_objects_without_annotations():
    for text in ("metadata: 5\n", "metadata: {annotations: [x]}\n", ""):
        (document,) = parse("q", (HEAD + text).encode()).documents
        assert annotated(document) == ()


def test_days_of_the_calendar():
    assert all(is_date(day) for day in ("2024-02-29", "2000-02-29", "2027-12-31"))
    assert not any(
        is_date(day)
        for day in ("2023-02-29", "1900-02-29", "2027-04-31", "2027-13-01", "27-01-01", "2027-1-1")
    )


def test_many_comments_in_many_documents_find_their_own():
    text = "".join(f"---\napiVersion: v1\nkind: A # policycheck: ignore[R{n}]\n" for n in range(3000))
    assert [(s.rules, s.lines) for s in found(text)] == [((f"R{n}",), (3 * n + 3,) * 2) for n in range(3000)]


def test_many_comments_are_read_in_the_time_of_few(monkeypatch):
    """Each comment looks for its line by bisection; lines are looked at once, however many comments there are."""
    looked = []
    line = Lines.line
    monkeypatch.setattr(Lines, "line", lambda self, number: looked.append(number) or line(self, number))
    text = "kind: X\n" + "# policycheck: ignore[KQ101]: x\n" * 2000 + "a: 1\n"
    found = comments("q.yaml", text, parse("q.yaml", text.encode()).documents)
    assert len(found) == 2000
    assert {one.lines for one in found} == {(2002, 2002)}
    assert len(looked) < 3 * 2003
