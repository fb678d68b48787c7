"""A rule is in preview for one minor version, so that nobody's pull requests fail on a rule that nobody has tried."""

from __future__ import annotations

import re

from policycheck import __version__, app

RULES = app.rulebook().rules
CURRENT = tuple(int(part) for part in __version__.split(".")[:2])


def minor(text):
    return tuple(int(part) for part in text.split(".")[:2])


def overdue(rules, current):
    """Rules whose preview is over."""
    return [rule.id for rule in rules if rule.status == "preview" and minor(rule.since) < current]


def test_every_rule_says_which_version_brought_it():
    wrong = [rule.id for rule in RULES if not re.fullmatch(r"\d+\.\d+", rule.since)]
    assert wrong == []
    assert [rule.id for rule in RULES if minor(rule.since) > CURRENT] == []


def test_no_preview_outlives_its_minor_version():
    assert overdue(RULES, CURRENT) == [], "make them stable, or take them back"


def test_that_would_be_noticed():
    one = RULES[0]._replace(status="preview", since="0.1")
    assert overdue([one], (0, 1)) == []
    assert overdue([one], (0, 2)) == [one.id]
    assert overdue([one._replace(status="stable")], (0, 2)) == []
