"""Every rule in the catalogue: its file is in order, its examples come out, its page is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from policycheck import app
from policycheck.lint.examples import check_page, pages
from policycheck.lint.page import documents
from policycheck.lint.rulebook import built_in
from policycheck.lint.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "rules").rglob("*.yaml"))
PAGES, PROBLEMS = pages(built_in(None), app.systems())
NONE_YET = pytest.mark.skipif(not FILES, reason="the catalogue is empty")


def test_every_file_is_in_order():
    assert PROBLEMS == []
    assert len(PAGES) == len(FILES)


def test_ids_and_names_are_unique():
    words = [word for page in PAGES for word in (page.rule.id, page.rule.name)]
    assert len(words) == len(set(words))


@NONE_YET
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.rule.id)
def test_examples_come_out_as_the_rule_says(page):
    failures = check_page(page, app.lint_texts, Settings())
    assert [(failure.example, *failure.lines) for failure in failures] == []


@NONE_YET
def test_every_trouble_has_one_rule_for_anything():
    codes = [code for page in PAGES if page.rule.subject == "any" for code in page.rule.troubles]
    assert len(codes) == len(set(codes))


@NONE_YET
def test_every_heir_exists():
    ids = {page.rule.id for page in PAGES}
    assert {page.rule.replaced_by for page in PAGES if page.rule.replaced_by} <= ids


@NONE_YET
def test_pages_are_up_to_date():
    folder = ROOT / "docs" / "rules"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    made = documents(PAGES)
    assert sorted(written) == sorted(made)
    stale = [name for name, text in made.items() if written[name] != text]
    assert stale == [], "run `policycheck rules docs`"
