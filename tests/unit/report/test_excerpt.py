import random

import pytest

from policycheck.lint.finding import Place
from policycheck.report.dump import plain, render
from policycheck.report.excerpt import excerpt
from policycheck.report.screen import Style, clean, paragraphs, width, wrap
from policycheck.source.document import DocumentId, Span

ALPHABET = "ab: \t東\u0301é\u200d🎉x\x1b"


def rows(line, start, end, **style):
    place = Place("f.yaml", Span(1, start, 1, end), "")
    return excerpt(place, (), "error", lambda _: [line], Style(**style))


@pytest.mark.parametrize("seed", range(200))
def test_carets_stand_beneath_their_text_whatever_is_around_it(seed):
    draw = random.Random(seed)
    before = "".join(draw.choices(ALPHABET, k=draw.randrange(0, 150)))
    after = "".join(draw.choices(ALPHABET, k=draw.randrange(0, 150)))
    # A combining character after the mark would belong to its last letter.
    line = before + "MARK" + "|" + after
    shown, carets = rows(line, len(before) + 1, len(before) + 5, width=80)[2:4]
    at = carets.index("^")
    assert carets[at:] == "^^^^"
    left = shown[: shown.index("MARK")]
    assert width(left) == at
    assert width(shown) <= 80


@pytest.mark.parametrize(("start", "end"), [(1, 1), (3, 500), (400, 420), (7, 7), (9, 2)])
def test_spans_that_do_not_fit_the_line_still_give_a_caret(start, end):
    shown = rows("key: v", start, end)
    assert shown[2].endswith("key: v")
    assert shown[3].count("^") >= 1
    assert len(shown[3]) <= 4 + len("key: v") + 1


def test_a_span_wider_than_the_screen_fills_it():
    shown, carets = rows("k: " + "v" * 300, 4, 304, width=60)[2:4]
    assert width(shown) <= 60
    assert 40 < len(carets) <= 60


def test_without_text_the_place_and_its_label_remain():
    place = Place("gone.yaml", Span(7, 3, 7, 9), "what it says")
    shown = excerpt(place, (), "error", lambda _: [], Style())
    assert shown == [" --> gone.yaml:7:3", "  |", "  | what it says"]


def test_file_names_can_not_drive_a_terminal():
    place = Place("a\x1b[2J\n.yaml", Span(1, 1, 1, 2))
    assert "\x1b" not in "".join(excerpt(place, (), "error", lambda _: ["x"], Style()))


@pytest.mark.parametrize(
    "char", ["\x00", "\x07", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u2028", "\ud800", "\ufeff"]
)
def test_clean_shows_what_it_does_not_send(char):
    assert clean(f"a{char}b") == "a\ufffdb"
    assert clean(f"a{char}b", ascii_only=True) == "a?b"


def test_wrap_breaks_at_spaces_and_keeps_long_words_whole():
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("a spec.resourceGroups[0].flavors b", 10) == ["a", "spec.resourceGroups[0].flavors", "b"]
    assert wrap("", 10) == [""]
    assert wrap("東京 東京", 5) == ["東京", "東京"]


def test_examples_in_help_keep_their_indentation():
    assert paragraphs("Write:\n\n  spec:\n    cohortName: a\n", 60) == [
        "Write:",
        "",
        "  spec:",
        "    cohortName: a",
    ]


def test_dump_is_the_same_whatever_the_order_of_building():
    one = {("b", 1): {"z", "a"}, "a": DocumentId("f", 1, ("items", 2))}
    other = dict(reversed(one.items()))
    assert render(one) == render(other)
    assert plain(one) == {"a": {"file": "f", "document": 1, "prefix": ["items", 2]}, "b/1": ["a", "z"]}


def test_dump_of_something_bottomless_ends():
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert '"..."' in render(deep)
