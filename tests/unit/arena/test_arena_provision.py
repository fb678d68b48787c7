"""Grants whose nodes a check brings are not said to have no place; where nodes or pools are in sight, those count."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, GPU, arena, ask, classes, node, nodes, queue, shape

from policycheck.certify.arena import SUBMIT, Move, Scenario
from policycheck.certify.claim import Effort
from policycheck.certify.claims import find
from policycheck.certify.promise import Promises, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, UNKNOWN

SPOT = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {nodeLabels: {gpu: spot}}
---"""
CHECK = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: more}
spec: {controllerName: %s}
---"""
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
GROUPS = f"""
  - coveredResources: ["{GPU}"]
    flavors:
    - {{name: h100, resources: [{{name: "{GPU}", nominalQuota: 8}}]}}
    - {{name: spot, resources: [{{name: "{GPU}", nominalQuota: 16}}]}}"""


def text(
    on: str = "[spot]", controller: str = PROVISIONING, *, checked: bool = True, limits: str = ""
) -> str:
    checks = {"admissionChecksStrategy": f"{{admissionChecks: [{{name: more, onFlavors: {on}}}]}}"}
    found = queue("a", 0, resourceGroups=GROUPS, **(checks if checked else {}))
    return (
        found
        + queue("b", 8, limits=f", lendingLimit: 0{limits}")
        + FLAVOR
        + SPOT
        + CHECK % controller
        + classes(high=9)
        + nodes(2)
    )


def placed(stage) -> tuple[set[str], frozenset[str]]:
    one = Move(1, SUBMIT, (ask("one", "a", 8), ask("two", "a", 8, age=1)))
    story = stage.play(Scenario((one,)))
    assert set(story.holding) == {"one", "two"}
    return set(story.unplaced), story.coming


def test_what_a_check_brings_is_coming():
    assert placed(arena(text())) == (set(), frozenset({"two"}))


@pytest.mark.parametrize(
    "made",
    [
        text(checked=False),
        text(on="[h100]"),  # for the nodes that are there
        text(controller="example.com/budget"),
    ],
)
def test_without_a_check_that_brings_it_there_is_no_place(made):
    assert placed(arena(made)) == ({"two"}, frozenset())


def test_where_nodes_are_in_sight_they_count():
    one = node(9, gpus=4).replace("gpu: h100", "gpu: spot")
    assert "gpu: spot" in one
    assert placed(arena(text() + one)) == ({"two"}, frozenset())


def honoured(made: str, **delays: int):
    team = TeamPromise("a", ("a",), {GPU: 24}, shapes=(shape("job", 1, pods=8),))
    stage = arena(made, **delays)
    (found,) = find("guarantee-honoured").test(stage, Promises((team,)), Effort(scenarios=5))
    return found


def test_a_guarantee_rests_on_the_check_and_says_so():
    found = honoured(text(), more=60_000)
    assert found.outcome == HOLDS
    assert any("admission check more brings as many as quota lets in" in a for a in found.assumptions)
    assert honoured(text()).outcome == UNKNOWN  # nothing bounds how long it takes
    assert honoured(text(checked=False)).outcome in (FAILS, UNKNOWN)
    assert honoured(text(checked=False)).outcome != HOLDS


def test_what_is_idle_is_counted_on_nodes_that_are_there():
    promises = Promises((TeamPromise("a", ("a",), {}, burst=1000, shapes=(shape("job", 1),)),))
    made = text(limits=", borrowingLimit: 0")
    (found,) = find("burst-usable").test(arena(made), promises, Effort())
    # Half of the 16 that are there; 16 more on nodes that are not would make it 1,500.
    assert (found.outcome, found.evidence["reachedShare"]) == (FAILS, 500)
