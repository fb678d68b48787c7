"""Putting layers together, as properties that hold whatever stands in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policycheck.adapters.settings_merge import joined, merge

WORDS = st.sampled_from(["KQ101", "KQ102", "GP", "a-name"])
LISTS = st.lists(WORDS, max_size=3, unique=True)
MAPS = st.dictionaries(WORDS, st.sampled_from(["info", "error"]), max_size=3)
LAYER = st.fixed_dictionaries(
    {},
    optional={
        "select": LISTS,
        "ignore": LISTS,
        "inventory": LISTS,
        "severity": MAPS,
        "params": st.dictionaries(
            WORDS, st.dictionaries(st.sampled_from("ab"), st.integers(0, 3), min_size=1), max_size=2
        ),
        "fail_on": st.sampled_from(["error", "never"]),
        "preview": st.booleans(),
        "suppressions": st.fixed_dictionaries(
            {},
            optional={
                "require": LISTS,
                "never": LISTS,
                "max_days": st.none() | st.integers(1, 9),
                "remind_days": st.integers(0, 9),
            },
        ),
    },
)


def together(*layers):
    return joined(merge(layers))


def full(plain):
    """Without what says nothing: an empty list or map."""
    if isinstance(plain, dict):
        made = {key: full(value) for key, value in plain.items()}
        return {key: value for key, value in made.items() if value not in ([], {}, None)}
    return plain


@given(LAYER)
def test_one_layer_is_what_it_says(layer):
    assert full(together(layer)) == full(layer)


@given(LAYER, LAYER, LAYER)
def test_it_does_not_matter_which_are_put_together_first(a, b, c):
    # An empty select replaces another, and is not there any more once it has.
    kept = {name: value for name, value in b.items() if value != []}
    assert full(together(a, kept, c)) == full(together(together(a, kept), c))


@given(LAYER, LAYER)
def test_what_both_say_is_said_once(a, b):
    both = together(a, b, a, b)
    for key in ("ignore",):
        assert len(both.get(key, [])) == len(set(both.get(key, [])))
    asked = both.get("suppressions", {})
    for key in ("require", "never"):
        assert sorted(asked.get(key, [])) == sorted(
            {*a.get("suppressions", {}).get(key, []), *b.get("suppressions", {}).get(key, [])}
        )


@given(LAYER, LAYER)
def test_nothing_loosens_what_is_asked_of_suppressions(a, b):
    bounds = [
        one["suppressions"]["max_days"] for one in (a, b) if one.get("suppressions", {}).get("max_days")
    ]
    assert together(a, b).get("suppressions", {}).get("max_days") == min(bounds, default=None)


@given(LAYER, LAYER)
def test_the_nearer_says_what_both_say(a, b):
    both = together(a, b)
    for key in ("fail_on", "preview", "select", "inventory"):
        if b.get(key):
            assert both[key] == b[key]
    for key in ("severity", "params"):
        for name, value in b.get(key, {}).items():
            got = both[key][name]
            assert got == value if key == "severity" else got.items() >= value.items()


@given(LAYER, LAYER)
def test_every_value_comes_from_the_layer_that_is_named(a, b):
    for leaf in merge([a, b]):
        at = (a, b)[leaf.layer]
        for step in leaf.path:
            at = at[step]
        assert at == leaf.value
