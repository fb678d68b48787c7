"""Text that others wrote stays text."""

import json
import string

from hypothesis import given
from hypothesis import strategies as st

from policycheck.report.page.html import Column, Markup, bullets, element, join, key, script, table, text
from policycheck.report.page.view import labels, middle

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


def test_names_are_no_markup():
    made = text(HOSTILE)
    assert not set(made) & set("<>\"'")
    assert element("p", HOSTILE, title=HOSTILE).count("<") == 2
    assert table(HOSTILE, [Column(HOSTILE)], [[HOSTILE]]).count("<img") == 0


def test_direction_overrides_and_control_characters_do_not_pass():
    assert "\u202e" not in text("a\u202eb")
    assert "\x00" not in text("a\x00b")


def test_markup_is_not_escaped_twice():
    assert join((Markup("<b>x</b>"), "<")) == "<b>x</b>&lt;"
    assert element("p", element("b", "x")) == "<p><b>x</b></p>"


def test_what_has_nothing_in_it_is_left_out():
    assert bullets([]) == ""
    assert element("i", class_="", title="t") == '<i title="t"></i>'


@given(
    st.recursive(
        st.text() | st.integers() | st.booleans() | st.none(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_data_in_a_script_element_can_not_end_it_and_means_the_same(value):
    made = script(value)
    assert not set(made) & set("<>&\u2028\u2029")
    assert json.loads(made) == value


def test_colours_of_a_key_come_as_classes():
    made = key([("var(--q3)", "var(--line)", "<team>")])
    assert 'class="swatch f-q3 s-line"' in made
    assert "&lt;team&gt;" in made
    assert "style=" not in made


@given(
    st.lists(st.text(alphabet=string.ascii_letters, min_size=1, max_size=40), unique=True), st.integers(8, 30)
)
def test_cut_names_fit_and_differ(names, most):
    made = labels(names, most)
    assert set(made) == set(names)
    assert len(set(made.values())) == len(names)
    assert all(len(short) <= most for short in made.values())


def test_names_are_cut_in_the_middle():
    assert middle("short", 10) == "short"
    assert middle("a-very-long-name-01", 11) == "a-ver…me-01"
