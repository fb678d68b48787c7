"""What settings ask of suppressions, in comments and in the settings themselves; and what ends soon."""

from __future__ import annotations

import pytest

from policycheck.lint.finding import Place
from policycheck.lint.settings import Acceptance, PathOverride, Settings
from policycheck.lint.suppression import Suppression
from policycheck.source.document import Span

TODAY = "2026-01-15"
PLACE = Place("q.yaml", Span(9, 60, 9, 70))
CODES = {
    "suppression-malformed": "EX910",
    "suppression-expired": "EX911",
    "suppression-unused": "EX912",
    "suppression-refused": "EX913",
}


@pytest.fixture
def book(world, rule):
    words = {
        "message": "{message}",
        "remediation": "r",
        "subject": None,
        "expression": None,
        "each": None,
        "at": None,
    }
    own = [rule(id=identity, name=code, trouble=code, **words) for code, identity in CODES.items()]
    return world.book(rule(), rule(id="EX102", name="quiet", expression="true"), *own)


@pytest.fixture
def lint(world, book, queue):
    def run(*suppressions, today=TODAY, per_path=(), **asked):
        settings = Settings(suppressions=Acceptance(**asked), per_path=per_path, file=".policycheck.yaml")
        return world.run(book, {"q.yaml": queue}, settings, suppressions=suppressions, today=today)

    return run


def codes(result):
    return sorted(finding.rule for finding in result.findings)


WHOLE = Suppression(("EX101",), PLACE, reason="moving", owner="@a", until="2026-02-01")


@pytest.mark.parametrize(
    ("asked", "lacking", "words"),
    [
        ({"require": ("reason",)}, {"reason": ""}, "it has no reason; the settings ask for reason"),
        ({"require": ("owner",)}, {"owner": ""}, "it has no owner"),
        ({"require": ("until",)}, {"until": ""}, "it has no until"),
        ({"require": ("owner", "reason")}, {"owner": "", "reason": ""}, "it has no owner and no reason"),
        ({"max_days": 30}, {"until": ""}, "it has no end; at most 30 days are allowed, until=2026-02-14"),
        ({"max_days": 16}, {}, "it holds until 2026-02-01; at most 16 days are allowed, until=2026-01-31"),
        ({"never": ("EX101",)}, {}, "EX101 can not be suppressed, the settings say so"),
        ({"never": ("EX1",)}, {}, "EX101 can not be suppressed"),
        ({"never": ("all",)}, {}, "EX101 can not be suppressed"),
        ({"never": ("limit-outside-cohort",)}, {}, "EX101 can not be suppressed"),
    ],
)
def test_what_does_not_fit_covers_nothing_and_is_told(lint, asked, lacking, words):
    assert codes(lint(WHOLE)) == []
    result = lint(WHOLE._replace(**lacking), **asked)
    assert codes(result) == ["EX101", "EX913"]
    (refused,) = [f for f in result.findings if f.rule == "EX913"]
    assert words in refused.message
    assert refused.place == PLACE
    assert result.suppressed == ()


@pytest.mark.parametrize(
    "asked",
    [{"require": ("reason", "owner", "until")}, {"max_days": 17}, {"never": ("EX102",)}, {"never": ()}],
)
def test_what_fits_counts(lint, asked):
    result = lint(WHOLE, **asked)
    assert (codes(result), len(result.suppressed)) == ([], 1)


def test_without_a_date_no_end_is_too_far_away(lint):
    assert codes(lint(WHOLE, max_days=1, today="")) == []


def test_what_is_about_suppressions_is_not_suppressed(lint):
    hidden = Suppression(("EX912",), PLACE)
    (finding,) = [f for f in lint(hidden).findings if f.rule == "EX913"]
    assert "EX912 is about suppressions and can not be suppressed itself" in finding.message


def test_one_that_can_not_be_read_is_not_also_refused(lint):
    broken = WHOLE._replace(rules=("EX1O1",), reason="")
    assert codes(lint(broken, require=("reason",))) == ["EX101", "EX910"]


def test_paths_keep_to_an_end_and_to_its_bound(lint):
    def one(until, **asked):
        return lint(per_path=(PathOverride(("*",), ("EX101",), owner="@b", until=until),), **asked)

    assert codes(one("2026-01-15")) == []
    (ignored,) = one("2026-01-15").suppressed
    assert (ignored.owner, ignored.until) == ("@b", "2026-01-15")
    over = one("2026-01-14")
    assert codes(over) == ["EX101", "EX911"]
    (ended,) = [f for f in over.findings if f.rule == "EX911"]
    assert ended.place.file == ".policycheck.yaml"
    assert ended.message == "in * it held until 2026-01-14 and ignores nothing any more; its owner is @b"
    assert codes(one("2026-03-01", max_days=7)) == ["EX101", "EX913"]
    assert codes(one("", max_days=7)) == ["EX101", "EX913"]
    assert codes(one("2026-01-22", max_days=7)) == []


def test_an_override_that_is_over_leaves_another_its_turn(lint):
    over = PathOverride(("*",), ("EX101",), until="2020-01-01")
    result = lint(per_path=(over, PathOverride(("q.yaml",), ("EX",), "stays")))
    assert codes(result) == ["EX911"]
    assert [one.reason for one in result.suppressed] == ["stays"]


def test_a_rule_that_nothing_may_suppress_is_reported_in_every_path(lint):
    wide = PathOverride(("*",), ("all",), "too wide")
    assert codes(lint(per_path=(wide,), never=("EX101",))) == ["EX101"]
    only = PathOverride(("*",), select=("EX102",))
    assert codes(lint(per_path=(only,))) == []
    assert codes(lint(per_path=(only,), never=("EX101",))) == ["EX101"]


@pytest.mark.parametrize(
    ("until", "when"),
    [
        ("2026-01-15", "after today"),
        ("2026-01-16", "in 1 day"),
        ("2026-01-29", "in 14 days"),
        ("2026-01-30", None),
    ],
)
def test_what_ends_soon_is_said(lint, until, when):
    result = lint(WHOLE._replace(until=until))
    if when is None:
        assert (result.ending, result.notes) == ((), ())
        return
    assert [one.until for one in result.ending] == [until]
    assert result.notes == (f"a suppression ends soon: q.yaml:9 {when} (EX101, until {until}, owner @a)",)


def test_how_soon_is_a_setting(lint):
    assert lint(WHOLE, remind_days=3).notes == ()
    assert lint(WHOLE, remind_days=17).notes != ()


def test_one_that_ignores_nothing_ends_without_a_word(lint):
    assert lint(Suppression(("EX102",), PLACE, until="2026-01-16")).ending == ()


def test_paths_that_end_soon_are_said_too(lint):
    result = lint(per_path=(PathOverride(("*",), ("EX",), owner="@b", until="2026-01-20"),))
    (note,) = result.notes
    assert (
        note == "a suppression ends soon: .policycheck.yaml:1 in 5 days (EX101, until 2026-01-20, owner @b)"
    )
