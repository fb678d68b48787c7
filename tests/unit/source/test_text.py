import pytest

from policycheck.source.document import Span
from policycheck.source.text import Lines, TextError, decode, pieces


def cut(text):
    return [text[p.start : p.end] for p in pieces(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n", ["a: 1\n"]),
        ("", []),
        ("# only words\n\n", []),
        ("a: 1\n---\nb: 2\n", ["a: 1\n", "---\nb: 2\n"]),
        ("---\na: 1\n---\nb: 2", ["---\na: 1\n", "---\nb: 2"]),
        ("# head\n---\na: 1\n", ["---\na: 1\n"]),
        ("---\n---\na: 1\n", ["---\n", "---\na: 1\n"]),
        ("a: 1\r\n---\r\nb: 2\r\n", ["a: 1\r\n", "---\r\nb: 2\r\n"]),
        ("a: 1\r---\rb: 2", ["a: 1\r", "---\rb: 2"]),
        ("a: 1\n...\n", ["a: 1\n..."]),
        ("a: 1\n...\nb: 2\n", ["a: 1\n...", "\nb: 2\n"]),
        ("--- # words\na: 1\n", ["--- # words\na: 1\n"]),
        ("--- {a: 1}\n", ["--- {a: 1}\n"]),
        ("---a: 1\n", ["---a: 1\n"]),
        ("a: |\n  ---\n  b\n", ["a: |\n  ---\n  b\n"]),
        ("a: x---\n", ["a: x---\n"]),
        ("%YAML 1.1\n---\na: 1\n", ["%YAML 1.1\n---\na: 1\n"]),
        ("a: 1\n...\n%YAML 1.1\n---\nb: 2\n", ["a: 1\n...", "%YAML 1.1\n---\nb: 2\n"]),
    ],
)
def test_files_are_cut_at_document_boundaries(text, expected):
    assert cut(text) == expected


def test_comments_that_look_like_a_wall_do_not_take_forever():
    wall = "#" * 3000 + "\n" + "# -" * 3000 + "\n"
    assert cut(wall + "---\n" + wall + "a: 1") == ["---\n" + wall + "a: 1"]


def test_lines_and_columns_count_code_points():
    lines = Lines("a\r\n\U0001f600b\nc\rd")
    assert len(lines) == 4
    assert lines.place(4) == (2, 2)
    assert lines.line(2) == "\U0001f600b"
    assert lines.line(4) == "d"
    assert lines.line(9) == ""
    assert lines.span(3, 5) == Span(2, 1, 2, 3)


@pytest.mark.parametrize(
    "data",
    [
        "é: 1".encode(),
        b"\xef\xbb\xbf" + "é: 1".encode(),
        "é: 1".encode("utf-16"),
        b"\xfe\xff" + "é: 1".encode("utf-16-be"),
    ],
)
def test_encodings_that_the_api_tools_read(data):
    assert decode(data) == "é: 1"


@pytest.mark.parametrize(
    ("data", "offset", "says"),
    [
        (b"ab\n\xffc", 3, "0xff is not UTF-8"),
        ("ü: caf\xe9".encode("latin-1"), 0, "0xfc is not UTF-8"),
        (b"\xef\xbb\xbfab\xff", 2, "0xff is not UTF-8"),
        (b"\xff\xfe\x00\x00a\x00\x00\x00", 0, "UTF-32"),
        (b"\xff\xfea", 0, "UTF-16"),
        (b"\x7fELF\x00\x00\xff", 0, "binary"),
    ],
)
def test_other_bytes_are_refused_with_their_place(data, offset, says):
    with pytest.raises(TextError, match=says) as caught:
        decode(data)
    assert caught.value.offset == offset
    assert caught.value.code == "not-utf8"
