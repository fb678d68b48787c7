"""Fixes of quota and policy held against promises, on small clusters, by the scheduler's own decisions."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, configuration, nodes, queue

from policycheck import app
from policycheck.app import Sources
from policycheck.app.fix import Options, fix
from policycheck.app.fixclaims import claim_runner
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

NEVER = "{reclaimWithinCohort: Never, withinClusterQueue: LowerPriority}"


def fixed(*rules, unsafe=True, **texts):
    held = {f"{name}.yaml": text for name, text in texts.items()}
    sources = Sources(
        tuple(held),
        read=lambda name: held[name].encode(),
        tree=Listing(held),
        in_memory=True,
        today="2026-01-01",
    )
    settings = Settings(select=rules)

    def lint(these):
        return app.lint(these, settings)

    return fix(sources, Options(unsafe=unsafe), lint, app.rulebook(), claim_runner(sources, settings))


def test_a_queue_that_never_takes_back_stays_out_of_the_cohort():
    """a never takes back what it would lend there: with others who may borrow it, its guarantee is gone."""
    a = queue("a", 8, cohort="", preemption=NEVER)
    outcome = fixed("KQ201", all=FLAVOR + a + queue("b", 8) + queue("c", 8) + nodes(3))
    assert outcome.new == {}
    assert [(one.finding.rule, one.why) for one in outcome.left] == [
        ("KQ201", "a claim that holds would fail: guarantee-honoured (a)")
    ]


def test_one_that_does_joins():
    a = queue("a", 8, cohort="")
    outcome = fixed("KQ201", all=FLAVOR + a + queue("b", 8) + queue("c", 8) + nodes(3))
    assert [one.rule for one in outcome.fixed] == ["KQ201"]
    assert b"cohortName: all" in outcome.new["all.yaml"].partition(b"kind: LocalQueue")[0]


def test_what_is_in_another_scope_is_not_tested():
    """Only the scopes that hold a changed file are."""
    tested = []
    text = FLAVOR + queue("a", 8) + queue("b", 8) + nodes(2)
    held = {"one.yaml": text}
    sources = Sources(tuple(held), read=lambda name: held[name].encode(), tree=Listing(held), in_memory=True)
    test = claim_runner(sources, Settings(), tested.append)
    assert test({}, {"other.yaml": b"a: 1"}).idle == "no queue is in sight"
    assert tested == []
    assert test({}, {"one.yaml": text.encode()}).broken == ()
    assert len(tested) == 2
    assert test({}, {"one.yaml": text.encode()}).broken == ()
    assert len(tested) == 2  # each state once


def test_a_safe_fix_of_quota_is_safe_where_promises_can_be_tested():
    b = queue("b", 8, limits=", lendingLimit: 8")
    outcome = fixed("KQ205", unsafe=False, all=FLAVOR + queue("a", 8) + b + nodes(2))
    assert [one.rule for one in outcome.fixed] == ["KQ205"]
    outcome = fixed("KQ205", unsafe=False, all=FLAVOR + queue("a", 8) + b)
    assert (outcome.fixed, outcome.left) == ((), ())
    assert {one.fix for one in outcome.after.findings} == {"unsafe"}
    outcome = fixed("KQ205", unsafe=True, all=FLAVOR + queue("a", 8) + b)
    assert [one.rule for one in outcome.fixed] == ["KQ205"]
    assert outcome.notes == ("claims not run: no inventory is in sight",)


def test_promises_that_can_not_be_read_are_no_promises_that_hold():
    b = queue("b", 8, limits=", lendingLimit: 8")
    promises = "apiVersion: policycheck.dev/v1\nkind: Promises\nmetadata: {name: p}\nteams: 8\n"
    outcome = fixed("KQ205", unsafe=False, all=FLAVOR + queue("a", 8) + b + nodes(2), promises=promises)
    assert outcome.new == {}
    assert all(one.why.startswith("claims not run: ") for one in outcome.left)
    assert outcome.left


def test_a_configuration_without_queues_has_no_promises():
    text = configuration("featureGates: {TopologyAwareSheduling: true}")
    outcome = fixed("KQ741", unsafe=False, all=text)
    assert [one.rule for one in outcome.fixed] == ["KQ741"]
    assert outcome.notes == ()
