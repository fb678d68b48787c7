"""The example clusters: every planted fault is found where it was planted, the repaired twin is clean."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from policycheck import app
from policycheck.lint.settings import Settings

ROOT = Path(__file__).parents[3]
CLUSTERS = ROOT / "fixtures" / "clusters"
FAULTS = yaml.safe_load((ROOT / "tests/unit/fixtures/demo_bad_expected.yaml").read_text(encoding="utf-8"))[
    "faults"
]
# Which rules speak of a failure mode.
RULES = {
    "guarantees-beyond-hardware": {"KQ110"},
    "companion-strands-gpus": {"KQ113"},
    "nothing-to-borrow": {"KQ203"},
    "limit-forbids": {"KQ204"},
    "limit-does-nothing": {"KQ205"},
    "preemption-takes-everyone": {"KQ301", "KQ302"},
    "preemption-inert": {"KQ304", "KQ305"},
    "topology-level-missing": {"KQ401"},
    "request-larger-than-any-domain": {"KQ633"},
    "request-larger-than-any-limit": {"KQ630"},
    "flavor-matches-no-node": {"KQ501"},
    "flavors-overlap": {"KQ502"},
    "gpu-workload-outside-queue": {"KQ620"},
    "queue-label-on-pod-template": {"KQ621"},
    "broken-reference": {"KQ640"},
    "namespace-selector-absent": {"KQ610"},
    "v1beta1-field-in-v1beta2": {"KQ001"},
    "queue-metrics-off": {"KQ701"},
    "owner-and-explanation-missing": {"KQ801"},
}
# What follows from the planted faults (docs/demo.md): speech-dev is alone without its cohort, and the
# priority class of the job whose labels are on the pod template is not read either.
CONSEQUENCES = {"KQ201", "KQ013"}


def lint(name):
    files = sorted((CLUSTERS / name).rglob("*.yaml"))
    texts = {str(f.relative_to(CLUSTERS / name)): f.read_text(encoding="utf-8") for f in files}
    return app.lint_texts(texts, Settings())


@pytest.fixture(scope="module")
def bad():
    return lint("demo-bad")


# A place inside a text that a ConfigMap carries is, for now, the key of that text.
KEY_OF_TEXT = {"kueue/configuration.yaml": 10}


def covers(place, spot):
    if spot["file"] in KEY_OF_TEXT:
        spot = {"file": spot["file"], "line": KEY_OF_TEXT[spot["file"]], "until": spot["line"]}
    first, last = spot["line"], spot.get("until", spot["line"])
    return place.file == spot["file"] and place.span.line <= last and first <= place.span.end_line


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault['mode']}-{fault['line']}")
def test_a_planted_fault_is_found_at_its_place(bad, fault):
    rules = RULES[fault["mode"]]
    places = [
        place
        for finding in bad.findings
        if finding.rule in rules
        for place in (finding.place, *finding.related)
    ]
    assert any(covers(place, fault) for place in places)


def test_nothing_else_is_found(bad):
    planted = set().union(*RULES.values()) | CONSEQUENCES
    assert {finding.rule for finding in bad.findings} == planted
    assert bad.errors == ()


def test_the_repaired_twin_is_clean_at_every_severity():
    good = lint("demo-good")
    assert good.findings == ()
    assert good.errors == ()
    assert good.skipped == ()
