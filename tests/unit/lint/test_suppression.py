from __future__ import annotations

import pytest

from policycheck.lint.finding import Place
from policycheck.lint.settings import Settings
from policycheck.lint.suppression import Suppression
from policycheck.model.origin import ObjectKey
from policycheck.source.document import Span

PLACE = Place("q.yaml", Span(9, 60, 9, 70))
CODES = {"suppression-malformed": "EX910", "suppression-expired": "EX911", "suppression-unused": "EX912"}


@pytest.fixture
def book(world, rule):
    own = [
        rule(
            id=identity,
            name=code,
            trouble=code,
            message="{message}",
            remediation="r",
            subject=None,
            expression=None,
            each=None,
            at=None,
        )
        for code, identity in CODES.items()
    ]
    return world.book(rule(), rule(id="EX102", name="quiet", expression="true"), *own)


@pytest.fixture
def lint(world, book, queue):
    def run(*suppressions, settings=None, today="2026-01-15", **more):
        return world.run(
            book, {"q.yaml": queue}, settings or Settings(), suppressions=suppressions, today=today, **more
        )

    return run


def test_what_is_suppressed_is_kept_with_its_reason(lint):
    result = lint(Suppression(("EX101",), PLACE, (9, 9), reason="known", owner="@a", until="2026-02-01"))
    assert result.findings == ()
    (one,) = result.suppressed
    assert (one.finding.rule, one.reason, one.owner, one.until) == ("EX101", "known", "@a", "2026-02-01")


def test_a_name_does_as_well_as_an_id(lint):
    assert len(lint(Suppression(("limit-outside-cohort",), PLACE)).suppressed) == 1


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"lines": (1, 8)},
        {"lines": (10, 12)},
        {"object": ObjectKey("ex.org", "Queue", "", "b")},
        {"place": PLACE._replace(file="other.yaml")},
    ],
)
def test_what_stands_elsewhere_is_not_covered_and_the_suppression_is_idle(lint, elsewhere):
    result = lint(Suppression(**{"rules": ("EX101",), "place": PLACE, **elsewhere}))
    assert sorted(f.rule for f in result.findings) == ["EX101", "EX912"]
    assert result.suppressed == ()


def test_an_idle_suppression_is_a_finding_at_its_place(lint):
    result = lint(Suppression(("EX102",), PLACE, scope="s"))
    (idle,) = [f for f in result.findings if f.rule == "EX912"]
    assert idle.place == PLACE
    assert "EX102" in idle.message


def test_one_of_a_rule_that_did_not_run_is_not_called_idle(lint):
    idle = Suppression(("EX102",), PLACE)
    assert [f.rule for f in lint(idle, settings=Settings(select=("EX101", "EX912"))).findings] == ["EX101"]
    assert "EX912" in [f.rule for f in lint(idle, settings=Settings(select=("EX102", "EX912"))).findings]


@pytest.mark.parametrize(("until", "holds"), [("2026-01-14", False), ("2026-01-15", True), ("", True)])
def test_one_at_its_end_covers_nothing_and_is_a_finding(lint, until, holds):
    result = lint(Suppression(("EX101",), PLACE, until=until))
    assert [f.rule for f in result.findings] == ([] if holds else ["EX101", "EX911"])


def test_without_a_date_nothing_is_at_an_end(lint):
    assert lint(Suppression(("EX101",), PLACE, until="2001-01-01"), today="").findings == ()


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"rules": ("EX1O1",)}, "there is no rule 'EX1O1'; did you mean 'EX101'?"),
        ({"rules": ()}, "it names no rule"),
        ({"wrong": "until=tomorrow is no date"}, "until=tomorrow is no date"),
    ],
)
def test_one_that_can_not_be_read_covers_nothing_and_is_a_finding(lint, broken, words):
    result = lint(Suppression(**{"rules": ("EX101",), "place": PLACE, **broken}))
    (finding,) = [f for f in result.findings if f.rule == "EX910"]
    assert words in finding.message
    assert "EX101" in [f.rule for f in result.findings]


def test_findings_about_suppressions_can_be_ignored_in_the_settings_only(lint):
    idle = Suppression(("EX102",), PLACE)
    hidden = Suppression(("EX912",), PLACE)
    assert "EX912" in [f.rule for f in lint(idle, hidden).findings]
    assert "EX912" not in [f.rule for f in lint(idle, settings=Settings(ignore=("EX912",))).findings]


def test_only_so_many_misspelt_names_are_guessed(lint, monkeypatch):
    """Looking for the rule that may be meant is slow, and a hostile file can ask for it without end."""
    asked = []
    monkeypatch.setattr("policycheck.lint.suppression.suggest", lambda *args: asked.append(args) or "?")
    result = lint(
        *(Suppression((f"EX{n}",), PLACE) for n in range(2000, 2200)), Suppression(("x" * 10**6,), PLACE)
    )
    told = [f.message for f in result.findings if f.rule == "EX910"]
    assert len(told) == 201
    assert len(asked) == 50
    assert max(map(len, told)) < 200
