"""Every restated situation is decided as recorded, and is what the record says."""

import json
import os
from pathlib import Path

import pytest
import yaml

from conformance.compact import expand
from conformance.expectations import EXPECT, Same
from conformance.restate import MOST_LINES, documents
from conformance.write_fixtures import TARGET, recorded
from policycheck.systems.kueue.case import run

SHARED = Path(
    os.environ.get("POLICYCHECK_RECORDED", Path(__file__).parents[3] / "shared" / "conformance" / "kueue")
)
TEXTS = [text for f in sorted(TARGET.glob("*.yaml")) for text in f.read_text().split("---\n")]
DOCS = [yaml.safe_load(text) for text in TEXTS]


@pytest.mark.parametrize("doc", DOCS, ids=[d["name"] for d in DOCS])
def test_decided_as_recorded(doc):
    got = run(expand(doc))
    assert "unsupported" not in got
    assert EXPECT(Same, doc["area"], got) == doc["expect"]


def test_at_least_150_of_at_most_25_lines_in_every_area():
    assert len(TEXTS) >= 150
    assert max(text.count("\n") for text in TEXTS) <= MOST_LINES
    areas = {d["area"] for d in DOCS}
    assert areas >= {
        "clusterqueue-usage", "dominant-resource-share", "entry-ordering", "flavorassigner",
        "flavorassigner-hierarchical", "podset-reducer", "preemption", "preemption-candidates-ordering",
        "preemption-fair", "preemption-hierarchical", "quota-available", "resources-to-reserve",
        "schedule", "schedule-admission-fair-sharing", "schedule-fair-sharing",
        "schedule-recompute-preemption-targets", "schedule-two-cycles",
        "random-events", "random-fair", "random-flat", "random-flavors", "random-topology", "random-tree",
        "schedule-tas", "schedule-tas-cohorts", "schedule-tas-preemption",
        "tas-find-topology-assignments", "tas-multi-layer-replacement",
    }  # fmt: skip


def test_names_and_sources_are_there_and_unique():
    assert len({d["name"] for d in DOCS}) == len(DOCS)
    assert len({d["source"] for d in DOCS}) == len(DOCS)


@pytest.mark.parametrize("path", sorted(TARGET.glob("*.yaml")), ids=lambda p: p.stem)
def test_a_wrong_expectation_would_be_seen(path):
    doc = yaml.safe_load(path.read_text().split("---\n")[0])
    spoiled = json.loads(json.dumps(doc["expect"]))
    spoiled["never"] = "so"
    assert EXPECT(Same, doc["area"], run(expand(doc))) != spoiled


@pytest.mark.shared
def test_fixtures_are_what_the_record_says():
    if not SHARED.is_dir():
        pytest.skip("no recorded cases beside the checkout")
    want = documents(recorded(SHARED))
    have = {f.stem: f.read_text() for f in TARGET.glob("*.yaml")}
    assert have == {area: "---\n".join(texts) for area, texts in want.items()}
