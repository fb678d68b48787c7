"""The table of what is covered: complete on both sides, and no line without a word."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
RULE = re.compile(r"\b(?:KQ|GP|CR|RY)\d{3}\b")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and line.count("|") == 5
]


def rules():
    return {path.name.partition("-")[0] for path in (ROOT / "rules").rglob("*.yaml")}


def test_every_rule_that_is_named_exists():
    assert set(RULE.findall(TEXT)) - rules() == set()


def test_every_rule_is_named():
    assert rules() - set(RULE.findall(TEXT)) == set()


def test_every_item_has_a_row():
    first = [row[0] for row in ROWS]
    assert [n for n in first if n.isdigit()] == [str(n) for n in range(1, 91)]
    assert [n for n in first if re.fullmatch(r"M\d+", n)] == [f"M{n}" for n in range(23, 47)]


def test_a_row_without_rule_says_why():
    silent = [row[:2] for row in ROWS if row[0] != "#" and not RULE.search(row[2]) and not row[3]]
    assert silent == []


def test_rules_stand_in_their_column():
    assert [row[0] for row in ROWS if RULE.search(row[1]) or RULE.search(row[3])] == []
