from __future__ import annotations

import pytest

from policycheck.lint.select import choose, complaints, ignored_in, params_of
from policycheck.lint.settings import PathOverride, Settings, parse_target


@pytest.fixture
def book(world, rule):
    params = {"most": {"type": "int", "default": 8, "description": "d"}}
    return world.book(
        rule(params=params),
        rule(id="EX102", name="early", phase="observe"),
        rule(id="EX201", name="fresh", status="preview", phase="topology"),
        rule(id="EX202", name="gone", status="deprecated", replaced_by="EX101"),
    )


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, ["EX101", "EX102"]),
        ({"select": ("EX101",)}, ["EX101"]),
        ({"select": ("early",)}, ["EX102"]),
        ({"select": ("EX1",)}, ["EX101", "EX102"]),
        ({"select": ("ex",)}, ["EX101", "EX102"]),
        ({"select": ("all",), "ignore": ("EX101",)}, ["EX102"]),
        ({"ignore": ("EX",)}, []),
        ({"preview": True}, ["EX101", "EX102", "EX201"]),
        ({"select": ("EX201",)}, ["EX201"]),
        ({"select": ("EX2",)}, []),
        ({"select": ("EX202",)}, ["EX202"]),
        ({"phase": "observe"}, ["EX102"]),
        ({"phase": "queues"}, ["EX101", "EX102"]),
        ({"phase": "observe", "select": ("EX201",)}, ["EX201"]),
    ],
)
def test_which_rules_run(book, settings, wanted):
    assert [rule.id for rule in choose(book, Settings(**settings)).rules] == wanted


def test_what_does_not_run_for_its_phase_is_counted(book):
    notes = choose(book, Settings(phase="pilot", preview=True)).notes
    assert notes == ("phase pilot: 2 rules of later phases did not run",)


def test_rules_in_preview_that_wait_are_named(book):
    (note,) = choose(book, Settings()).notes
    assert note.startswith("a rule in preview did not run: EX201")


def test_a_deprecated_rule_names_its_heir(book):
    assert choose(book, Settings(select=("gone",))).notes == ("EX202 is deprecated; use EX101",)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"select": ("EX1O1",)}, "select: no rule 'EX1O1'; did you mean"),
        ({"ignore": ("erly",)}, "ignore: no rule 'erly'; did you mean 'early'?"),
        ({"severity": {"EX9": "info"}}, "severity: no rule 'EX9'"),
        ({"severity": {"EX1": "info"}}, "severity: no rule 'EX1'"),
        ({"severity": {"EX101": "fatal"}}, "allowed are error, warning, info"),
        ({"params": {"EX101": {"mots": 1}}}, "params of EX101: no parameter 'mots'; did you mean 'most'?"),
        ({"params": {"EX101": {"most": "x"}}}, "parameter 'most' is 'x'; it has to be of type int"),
        ({"params": {"EX101": {"most": True}}}, "has to be of type int"),
        ({"per_path": (PathOverride(("*",), ("nope",)),)}, "per-path: no rule 'nope'"),
        ({"phase": "later"}, "phase is 'later'; allowed are observe, pilot, queues, topology"),
    ],
)
def test_settings_that_fit_no_rule_are_told(book, settings, words):
    found = complaints(book, Settings(**settings))
    assert len(found) == 1
    assert words in found[0]


def test_settings_in_order_are_not_told(book):
    settings = Settings(
        select=("all", "EX1", "ex"), severity={"early": "info"}, params={"EX101": {"most": 3}}, phase="pilot"
    )
    assert complaints(book, settings) == []


def test_parameters_come_from_the_rule_and_then_from_the_user(book):
    rule = book.find("EX101")
    assert params_of(rule, Settings()) == {"most": 8}
    assert params_of(rule, Settings(params={"limit-outside-cohort": {"most": 2}})) == {"most": 2}


def test_globs_of_files_go_through_folders(book):
    settings = Settings(per_path=(PathOverride(("old/*.yaml",), ("EX101",), "why"),))
    rule = book.find("EX101")
    assert ignored_in(rule, "old/a/b.yaml", settings) == settings.per_path[0]
    assert ignored_in(rule, "new/b.yaml", settings) is None
    assert ignored_in(book.find("EX102"), "old/b.yaml", settings) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ex=0.19", ("ex", "0.19", {})),
        ("ex=v0.19.2,A=true,B=false", ("ex", "0.19.2", {"A": True, "B": False})),
    ],
)
def test_a_target_has_version_and_gates(text, wanted):
    assert parse_target(text)[:3] == wanted


@pytest.mark.parametrize("text", ["ex", "ex=", "ex=latest", "ex=0.19,A", "ex=0.19,A=yes", "=1", "ex=1.2.3.4"])
def test_a_target_that_is_none_says_how_to_write_one(text):
    with pytest.raises(ValueError, match="write system=version"):
        parse_target(text)
