"""Severity and selection by path, rules that nothing may suppress, and the pin of the rulebook."""

from __future__ import annotations

import pytest

from policycheck import __version__
from policycheck.lint.select import choose, complaints, covers, faults, ignored_in, params_of, severity_of
from policycheck.lint.settings import Acceptance, Admission, PathOverride, Settings


@pytest.fixture
def book(world, rule):
    params = {"most": {"type": "int", "default": 8, "description": "d"}}
    return world.book(
        rule(params=params),
        rule(id="EX102", name="early", since="0.1"),
        rule(id="EX203", name="late", since="0.2"),
    )


def over(*severities, paths="old/*"):
    return Settings(per_path=tuple(PathOverride((paths,), severity=one) for one in severities))


@pytest.mark.parametrize(
    ("severities", "wanted"),
    [
        ([{"EX101": "info"}], "info"),
        ([{"limit-outside-cohort": "info"}], "info"),
        ([{"EX102": "info"}], "error"),
        ([{"all": "info"}], "info"),
        ([{"all": "info", "EX1": "warning"}], "warning"),
        ([{"ex": "info", "EX": "warning"}], "warning"),
        ([{"EX1": "warning", "EX101": "info"}], "info"),
        ([{"EX": "info"}, {"EX": "warning"}], "warning"),
        ([{"EX101": "info"}, {"EX2": "warning"}], "info"),
    ],
)
def test_the_closest_selector_of_the_last_path_gives_the_severity(book, severities, wanted):
    rule = book.find("EX101")
    assert severity_of(rule, over(*severities), "old/a/b.yaml") == wanted
    assert severity_of(rule, over(*severities), "new/b.yaml") == "error"
    assert severity_of(rule, over(*severities)) == "error"


def test_a_path_goes_before_what_counts_everywhere(book):
    settings = over({"EX101": "info"})._replace(severity={"EX101": "warning"})
    assert severity_of(book.find("EX101"), settings, "old/b.yaml") == "info"
    assert severity_of(book.find("EX101"), settings, "new/b.yaml") == "warning"


def test_of_an_id_and_a_name_the_last_counts(book):
    rule = book.find("EX101")
    for given, wanted in (
        ({"EX101": "info", "limit-outside-cohort": "warning"}, "warning"),
        ({"limit-outside-cohort": "warning", "EX101": "info"}, "info"),
    ):
        assert severity_of(rule, Settings(severity=given)) == wanted
    given = {"EX101": {"most": 1}, "limit-outside-cohort": {"most": 2}}
    assert params_of(rule, Settings(params=given)) == {"most": 2}


def test_the_runner_uses_the_severity_of_the_file(world, rule, queue):
    settings = over({"EX101": "info"})
    found = world.lint([rule()], {"old/q.yaml": queue, "new/q.yaml": queue}, settings).findings
    assert {f.place.file: f.severity for f in found} == {"old/q.yaml": "info", "new/q.yaml": "error"}


def test_select_in_a_path_leaves_all_others_out(book):
    settings = Settings(per_path=(PathOverride(("old/*",), select=("EX1",), reason="old"),))
    assert ignored_in(book.find("EX203"), "old/b.yaml", settings) == settings.per_path[0]
    assert ignored_in(book.find("EX101"), "old/b.yaml", settings) is None
    assert ignored_in(book.find("EX203"), "new/b.yaml", settings) is None


def test_globs_count_from_the_folder_of_the_settings_too(monkeypatch, tmp_path):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    settings = Settings(file="../.policycheck.yaml")
    override = PathOverride(("old/*",))
    assert covers(override, "../old/b.yaml", settings)
    assert covers(override, "old/b.yaml", settings), "as it was named"
    assert not covers(override, "../new/b.yaml", settings)
    assert covers(override, f"{tmp_path}/old/b.yaml", settings)
    monkeypatch.chdir(tmp_path)
    here = Settings(file=".policycheck.yaml")
    assert covers(override, f"{tmp_path}/old/b.yaml", here)
    assert not covers(override, f"{tmp_path}/new/b.yaml", here)


def test_a_rule_that_nothing_may_suppress_runs_under_a_wider_ignore(book):
    firm = Acceptance(never=("EX101",))
    settings = Settings(ignore=("EX1",), suppressions=firm)
    assert [rule.id for rule in choose(book, settings).rules] == ["EX101", "EX203"]
    assert complaints(book, settings) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"ignore": ("EX101",)},
        {"ignore": ("limit-outside-cohort",)},
        {"per_path": (PathOverride(("*",), ("EX101",)),)},
    ],
)
def test_ignoring_it_by_name_is_an_error(book, settings):
    (what,) = complaints(book, Settings(**settings, suppressions=Acceptance(never=("EX1",))))
    assert "can not be ignored, suppressions.never names it" in what
    assert complaints(book, Settings(**settings)) == []


@pytest.mark.parametrize(
    ("settings", "option", "word"),
    [
        ({"per_path": (PathOverride(("*",), select=("EX9",)),)}, "per-path", "EX9"),
        ({"per_path": (PathOverride(("*",), severity={"EX9": "info"}),)}, "per-path", "EX9"),
        ({"per_path": (PathOverride(("*",), severity={"EX1": "fatal"}),)}, "per-path", "EX1"),
        ({"suppressions": Acceptance(never=("EX9",))}, "suppressions.never", "EX9"),
        ({"webhook": Admission(rules={"EX9": "deny", "EX1": "off", "all": "warn"})}, "webhook", "EX9"),
        (
            {"webhook": Admission(namespaces={"a": {"rules": {"EX9": "deny"}}, "b": {"mode": "off"}})},
            "webhook",
            "EX9",
        ),
        (
            {
                "suppressions": Acceptance(require=("owner",)),
                "per_path": (PathOverride(("a", "b"), ("EX1",)),),
            },
            "per-path",
            "a",
        ),
    ],
)
def test_each_complaint_says_which_setting_it_is_about(book, settings, option, word):
    (fault,) = faults(book, Settings(**settings))
    assert (fault.setting, fault.word) == (option, word)
    assert complaints(book, Settings(**settings)) == [fault.message]


def test_severity_in_a_path_needs_no_owner(book):
    settings = over({"EX101": "info"})._replace(suppressions=Acceptance(require=("owner", "until")))
    assert complaints(book, settings) == []


@pytest.mark.parametrize(
    ("pin", "wanted", "newer"),
    [("", 3, 0), ("0.2", 3, 0), ("0.1", 2, 1), ("0.1.7", 2, 1), ("0.0", 1, 2), ("1", 3, 0)],
)
def test_rules_newer_than_the_pin_do_not_run_and_are_counted(book, pin, wanted, newer):
    chosen = choose(book, Settings(rulebook=pin))
    assert len(chosen.rules) == wanted
    told = [note for note in chosen.notes if "pin" in note]
    assert len(told) == (1 if newer else 0)
    if newer:
        assert f"to {pin}: {newer} rule" in told[0]


def test_a_rule_that_is_named_runs_whatever_the_pin(book):
    assert [r.id for r in choose(book, Settings(rulebook="0.1", select=("EX203",))).rules] == ["EX203"]


def test_own_rules_are_not_pinned(world, rule):
    book = world.book(rule(id="ACME100", since="7.0"), own=True)
    assert [r.id for r in choose(book, Settings(rulebook="0.1")).rules] == ["ACME100"]


def test_a_pin_of_a_version_to_come_is_an_error(book):
    major, minor, _ = __version__.split(".")
    assert complaints(book, Settings(rulebook=f"{major}.{minor}")) == []
    (what,) = complaints(book, Settings(rulebook=f"{major}.{int(minor) + 1}"))
    assert "install that version, or lower the pin" in what


def test_a_digest_that_does_not_match_is_an_error(book):
    assert complaints(book, Settings(rulebook=f"sha256:{book.digest}")) == []
    assert complaints(book, Settings(rulebook=f"sha256:{book.digest[:12]}")) == []
    (what,) = complaints(book, Settings(rulebook="sha256:000000000000"))
    assert f"the rules here are sha256:{book.digest}" in what
