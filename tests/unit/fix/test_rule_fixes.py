"""The fixes of the catalogue: enough of them, each shown in an example, and true to what the list says."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from policycheck import app
from policycheck.adapters.cli import main
from policycheck.app import Sources
from policycheck.app.fix import Options, fix
from policycheck.lint.examples import _settings_for, pages
from policycheck.lint.finding import Finding
from policycheck.lint.rulebook import built_in
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

PAGES, _ = pages(built_in(None), app.systems())
FIXING = [page for page in PAGES if page.rule.fix in ("safe", "unsafe")]
SHOWN = [(page, example) for page in FIXING for example in page.model.examples.bad if example.fixed]
# What decides who gets how much, and from whom: promises are tested before such a change counts as safe.
QUOTA = re.compile(
    r"nominalQuota|borrowingLimit|lendingLimit|preemption|fairSharing|admissionScope|cohortName|parentName"
    r"|flavorFungibility|queueingStrategy"
)


def test_there_are_enough_of_them():
    by_safety = Counter(page.rule.fix for page in PAGES)
    assert by_safety["safe"] >= 25
    assert by_safety["unsafe"] >= 25
    assert by_safety["manual"] >= 5


def test_each_is_shown_in_an_example():
    assert [page.rule.id for page in FIXING if not any(e.fixed for e in page.model.examples.bad)] == []


def test_the_list_says_the_same(capsys):
    assert main(["rules", "list", "--format", "json"]) == 0
    told = {rule["id"]: rule["fix"] for rule in json.loads(capsys.readouterr().out)}
    assert {identity for identity, safety in told.items() if safety in ("safe", "unsafe")} == {
        page.rule.id for page in FIXING
    }


def texts_of(example):
    held = {
        "inventory.yaml": example.inventory,
        "context.yaml": example.context,
        "crds.yaml": example.crds,
    }
    return {name: text for name, text in held.items() if text}


@pytest.mark.parametrize(
    ("page", "example"), SHOWN, ids=[f"{p.rule.id}-{n}" for n, (p, _) in enumerate(SHOWN)]
)
def test_every_example_comes_out_through_the_whole_of_fixing(page, example):
    """As ``lint --fix --unsafe-fixes`` makes it: in rounds, verified; comments and other lines untouched."""
    held = {"example.yaml": example.manifest, **texts_of(example)}
    settings = _settings_for(page.rule, example, Settings())
    sources = Sources(
        paths=("example.yaml",),
        read=lambda name: held[name].encode(),
        context=("context.yaml",) if example.context else (),
        inventory=("inventory.yaml",) if example.inventory else (),
        crds=("crds.yaml",) if example.crds else (),
        targets=settings.target,
        today=app.TODAY_IN_TEXTS,
        tree=Listing(held),
        in_memory=True,
    )

    def lint(these):
        result = app.lint(these, settings)
        mine = [one for one in result.findings if one.rule == page.rule.id]
        return result._replace(findings=tuple(mine))

    outcome = fix(sources, Options(unsafe=True), lint, app.rulebook())
    assert outcome.new["example.yaml"].decode().strip() == example.fixed.strip()
    assert [one.why for one in outcome.left] == []
    stayed, now = example.manifest.splitlines(), example.fixed.splitlines()
    assert [
        n for n in stayed if n.lstrip().startswith("#") and n not in now and "policycheck:" not in n
    ] == []


def changes_of(finding: Finding) -> list[str]:
    return [".".join(str(step) for step in change.path) for change in finding.changes]


@pytest.mark.parametrize("page", FIXING, ids=lambda page: page.rule.id)
def test_what_touches_quota_or_policy_asks_for_claims(page):
    for example in page.model.examples.bad:
        result = app.lint_texts(
            {"example.yaml": example.manifest},
            _settings_for(page.rule, example, Settings()),
            inventory={"inventory.yaml": example.inventory} if example.inventory else None,
            context={"context.yaml": example.context} if example.context else None,
        )
        paths = [p for one in result.findings if one.rule == page.rule.id for p in changes_of(one)]
        if any(QUOTA.search(path) for path in paths) and page.rule.system == "kueue":
            # The same in other words; and what was misspelt: promises are tested there too, and it is safe without.
            is_wording = page.rule.id in {"KQ001", "KQ003"}
            assert page.rule.fix_claims or is_wording, paths


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.rule.fix_claims], ids=lambda page: page.rule.id
)
def test_without_an_inventory_such_a_fix_is_unsafe(page):
    for example in page.model.examples.bad:
        if example.inventory or "kind: Node" in example.manifest or "pools:" in example.manifest:
            continue
        result = app.lint_texts(
            {"example.yaml": example.manifest}, _settings_for(page.rule, example, Settings())
        )
        assert {one.fix for one in result.findings if one.rule == page.rule.id} <= {"unsafe", "manual", None}


def test_a_finding_without_changes_is_never_called_fixable():
    for page in FIXING:
        for example in page.model.examples.bad:
            result = app.lint_texts(
                {"example.yaml": example.manifest}, _settings_for(page.rule, example, Settings())
            )
            wrong = [f for f in result.findings if f.fix in ("safe", "unsafe") and not f.changes]
            assert wrong == []
