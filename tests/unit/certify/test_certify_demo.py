"""The example: what teams were told holds in the repaired configuration, and does not in the one that looks fine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policycheck.app import Sources
from policycheck.app.apart import processors
from policycheck.app.certify import Options, certify
from policycheck.lint.settings import Settings
from policycheck.source.files import Reader
from policycheck.systems.kueue.case import run as replay

CLUSTERS = Path(__file__).parents[3] / "fixtures/clusters"


@pytest.fixture(scope="module")
def found():
    """The verdicts of both, with few random scenarios."""
    options = Options(scenarios=4, accepted=frozenset({"search"}), processes=processors())

    def one(name):
        (done,), _ = certify(Sources((str(CLUSTERS / name),), Reader()), Settings(), options)
        return done

    return {name: one(name) for name in ("demo-good", "demo-bad")}


def failed(done):
    return [v for v in done.verdicts if v.outcome == "FAILS" and v.required]


def test_both_are_held_against_the_same_promises(found):
    texts = [(CLUSTERS / name / "promises.yaml").read_text() for name in found]
    assert texts[0] == texts[1]
    assert {done.promises.digest for done in found.values()} == {found["demo-good"].promises.digest}


def test_the_repaired_one_is_certified_and_nothing_in_it_is_derived(found):
    done = found["demo-good"]
    assert [
        (v.claim, v.subject, v.headline) for v in done.verdicts if v.outcome in ("FAILS", "UNKNOWN")
    ] == []
    assert done.result.outcome == "CERTIFIED"
    assert done.promises.derived == ()
    assert [team.name for team in done.promises.teams if team.derived] == []


def test_the_other_breaks_many_of_them_in_small_stories(found):
    done = found["demo-bad"]
    assert done.result.outcome == "REFUSED"
    broken = failed(done)
    assert [(v.claim, v.subject) for v in broken if v.counterexample is None] == []
    assert {v.claim for v in broken} == {
        "guarantees-fit",
        "guarantee-honoured",
        "burst-usable",
        "production-protected",
        "inference-protected",
        "topology-honoured",
        "no-starvation",
    }
    assert {v.subject for v in broken} >= {"foundation", "vision", "speech", "recsys", "research", "training"}
    large = [v for v in broken if v.counterexample.workloads > 5]
    assert [(v.claim, v.subject) for v in large] == []


def test_a_fault_that_was_planted_is_behind_what_fails(found):
    """What the headline says, and the number in docs/demo.md."""
    headlines = {(v.claim, v.subject): v.headline for v in failed(found["demo-bad"])}
    for (claim, subject), said in {
        ("guarantees-fit", ""): "no node is open to team speech (nvidia.com/gpu) through a100-full",  # 11
        ("guarantee-honoured", "vision"): "ClusterQueue vision-dev selects no namespace",  # 17
        ("guarantee-honoured", "recsys"): "reclaimWithinCohort is Never",  # 7
        ("burst-usable", "vision"): "detector gets 16 of 152",  # 2
        ("burst-usable", "speech"): "recognition gets 24 of 152",  # 4
        ("burst-usable", "research"): "sweep gets 8 of 152",  # 3
        (
            "production-protected",
            "training",
        ): "is evicted for taker-1 of foundation (training): InClusterQueue",  # 6
        ("inference-protected", "Deployment serving-kserve/reranker"): "beside the other services",  # 12
        ("topology-honoured", "foundation"): "requires one topology.example.com/rack for 64",  # 9
        ("no-starvation", "speech"): "synthesis is within the guarantee of speech and never runs",  # 11
    }.items():
        assert said in headlines[claim, subject], (claim, subject)


def test_every_story_is_short_and_replays_to_the_same_end(found):
    broken = failed(found["demo-bad"])
    assert len(broken) >= 14
    for verdict, story in ((v, v.counterexample) for v in broken):
        what = verdict.claim, verdict.subject
        assert 1 < len(story.timeline) <= 10, what
        assert len(story.drawn.lives) == story.workloads, what
        answer = replay(json.loads(json.dumps(story.case)))
        final = answer["final"]
        assert sorted(name.partition("/")[2] for name in final["reserved"]) == story.end["reserved"], what
        pending = {n.partition("/")[2]: r for n, r in final["pending"].items()}
        assert {n: pending[n] for n in story.end["pending"]} == story.end["pending"], what
        evictions = {n.partition("/")[2]: times for n, times in final["evictions"].items() if times}
        assert {n: times for n, times in story.end["evictions"].items() if times} == evictions, what
