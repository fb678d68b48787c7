"""``guarantees-fit`` on pairs of minimal clusters, stories replayed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, GPU, TOPOLOGY, arena, classes, job, node, nodes, queue, shape

from policycheck.certify.claim import Effort
from policycheck.certify.claims import find
from policycheck.certify.claims.fit import LOSSES
from policycheck.certify.derive import derive
from policycheck.certify.promise import Losses, Promises, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, NOT_APPLICABLE, PROOF, UNKNOWN, Verdict
from policycheck.model.workload import TopologyRequest
from policycheck.systems.kueue.case import run

PAIR = FLAVOR + queue("a", 8) + queue("b", 8)


def verdicts(text: str, promises: Promises | None = None, losses: Losses | None = None) -> dict[str, Verdict]:
    stage = arena(text)
    promised = promises or derive(stage)
    found = find("guarantees-fit").test(stage, promised._replace(losses=losses or promised.losses), Effort())
    for verdict in found:
        if verdict.counterexample is not None:
            replay(verdict)
    return {v.subject: v for v in found}


def replay(verdict: Verdict) -> None:
    story = verdict.counterexample
    assert len(story.timeline) <= 10
    final = run(json.loads(json.dumps(story.case)))["final"]
    assert sorted(n.partition("/")[2] for n in final["reserved"]) == story.end["reserved"]


def team(name: str, gpus: int, **more: object) -> TeamPromise:
    return TeamPromise(name, (name,), {GPU: gpus}, **more)


FITS = [
    ("quota that is there", PAIR + nodes(2), None, HOLDS),
    ("quota that is not there", PAIR + nodes(1), None, FAILS),
    ("no inventory", PAIR, None, UNKNOWN),
    ("more promised than there are, whatever quota says", PAIR + nodes(2), Promises((team("a", 17),)), FAILS),
    (
        "a promise below quota leaves the rest unpromised",
        FLAVOR + queue("a", 16) + nodes(1),
        Promises((team("a", 8),)),
        HOLDS,
    ),
    (
        "quota of queues that are nobody's counts",
        PAIR + nodes(1),
        Promises((team("a", 8),)),
        FAILS,
    ),
    (
        "a stopped queue counts",
        FLAVOR + queue("a", 8) + queue("b", 8, stopPolicy="Hold") + nodes(1),
        None,
        FAILS,
    ),
    (
        "a cohort's own quota counts",
        FLAVOR
        + queue("a", 8)
        + nodes(1)
        + f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {{name: all}}
spec:
  resourceGroups:
  - coveredResources: ["{GPU}"]
    flavors:
    - name: h100
      resources: [{{name: "{GPU}", nominalQuota: 1}}]
---""",
        None,
        FAILS,
    ),
    (
        "jobs of five on nodes of eight",
        FLAVOR + queue("a", 16) + nodes(2),
        Promises((team("a", 16, shapes=(shape("five", 5)._replace(jobs=3),)),)),
        FAILS,
    ),
    (
        "as many of them as there are nodes",
        FLAVOR + queue("a", 16) + nodes(2),
        Promises((team("a", 16, shapes=(shape("five", 5)._replace(jobs=2),)),)),
        HOLDS,
    ),
    (
        "a gang in one rack where racks are too small",
        TOPOLOGY + queue("a", 32) + nodes(4, racks=2),
        Promises((team("a", 32, shapes=(shape("g", 8, 3, topology=TopologyRequest("required", "rack")),)),)),
        FAILS,
    ),
    (
        "a gang in one rack",
        TOPOLOGY + queue("a", 32) + nodes(4, racks=2),
        Promises((team("a", 32, shapes=(shape("g", 8, 2, topology=TopologyRequest("required", "rack")),)),)),
        HOLDS,
    ),
]


@pytest.mark.parametrize(("row", "text", "promises", "expected"), FITS, ids=[r[0] for r in FITS])
def test_guarantees_fit_or_not(row, text, promises, expected):
    found = verdicts(text, promises)[""]
    assert found.outcome == expected, found
    if expected == FAILS:
        assert found.basis == PROOF


def test_the_arithmetic_is_told_and_the_story_is_small():
    found = verdicts(FLAVOR + queue("a", 8) + queue("b", 12) + nodes(2))[""]
    assert "20 nvidia.com/gpu" in found.headline
    assert "4 nvidia.com/gpu are missing" in found.headline
    assert found.counterexample.workloads == 2
    assert "has quota and no nodes" in found.counterexample.timeline[-1]


def test_what_daemons_hold_is_not_there():
    daemon = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: monitor, namespace: kube-system}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]
---"""
    assert verdicts(PAIR + nodes(2) + daemon)[""].outcome == FAILS


def test_services_outside_queues_have_to_be_somewhere():
    service = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm, namespace: serving}
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]
---"""
    assert verdicts(PAIR + nodes(2) + service)[""].outcome == FAILS
    assert verdicts(PAIR + nodes(3) + service)[""].outcome == HOLDS


def test_taints_that_nobody_is_known_to_tolerate_are_unknown():
    bare = FLAVOR.replace("  tolerations: [{key: gpu, operator: Exists}]\n", "")
    text = bare + queue("a", 8) + queue("b", 8) + nodes(2)
    assert verdicts(text)[""].outcome == UNKNOWN


def test_flavors_that_share_nodes_are_counted_once():
    """Two flavors with the same label promise the same eight GPUs twice."""
    twin = FLAVOR.replace("name: h100", "name: twin")
    groups = f"""
  - coveredResources: ["{GPU}"]
    flavors:
    - name: twin
      resources: [{{name: "{GPU}", nominalQuota: 8}}]"""
    text = FLAVOR + twin + queue("a", 8) + queue("b", 8, resourceGroups=groups)
    assert verdicts(text + nodes(1))[""].outcome == FAILS
    assert verdicts(text + nodes(2))[""].outcome == HOLDS


def test_a_declared_job_that_fits_no_node_is_found():
    text = FLAVOR + queue("a", 32) + nodes(4) + job("wide", "a", 1, 16)
    assert verdicts(text)[""].outcome == FAILS
    assert verdicts(FLAVOR + queue("a", 32) + nodes(4) + job("wide", "a", 2, 8))[""].outcome == HOLDS


@pytest.mark.parametrize(
    ("text", "losses", "expected"),
    [
        (PAIR + nodes(3), Losses(1), HOLDS),
        (PAIR + nodes(2), Losses(1), FAILS),
        (PAIR + nodes(3), Losses(2), FAILS),
        (PAIR + nodes(4, racks=2), Losses(0, "rack"), HOLDS),
        (PAIR + nodes(3, racks=2), Losses(0, "rack"), FAILS),
        (PAIR + nodes(2), Losses(0, "row"), UNKNOWN),
        (PAIR + node(0) + node(1) + node(2, 1), Losses(1), FAILS),  # the worst one is lost
    ],
)
def test_losses_are_the_worst_ones(text, losses, expected):
    found = verdicts(text, losses=losses)
    assert found[""].outcome == HOLDS
    assert found[LOSSES].outcome == expected, found[LOSSES]
    if expected == FAILS:
        assert found[LOSSES].counterexample.timeline[0].startswith("lost from the start")


def test_nobody_promised_anything():
    text = classes(low=1) + nodes(1)
    stage = arena(FLAVOR + queue("a", 0) + text)
    (found,) = find("guarantees-fit").test(stage, derive(stage), Effort())
    assert found.outcome == NOT_APPLICABLE


CHECKED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: more-nodes}
spec: {controllerName: kueue.x-k8s.io/provisioning-request}
---"""


@pytest.mark.parametrize(("checks", "expected"), [(True, HOLDS), (False, FAILS)])
def test_pools_grow_only_where_something_makes_them(checks, expected):
    """One node that may become two: the maximum is an assumption, and only with a check that provisions."""
    of = {"admissionChecksStrategy": "{admissionChecks: [{name: more-nodes}]}"} if checks else {}
    stage = arena(FLAVOR + CHECKED + queue("a", 16, **of) + nodes(1))
    grown = tuple(n._replace(most=2) for n in stage.inventory.nodes)
    stage.inventory = stage.inventory._replace(nodes=grown)
    (found,) = find("guarantees-fit").test(stage, derive(stage), Effort())
    assert found.outcome == expected
    assert any("more-nodes" in one for one in found.assumptions) == checks


def test_a_flavor_that_leads_nowhere_is_named():
    text = FLAVOR.replace("gpu: h100", "gpu: h1OO") + queue("a", 8) + nodes(1)
    found = verdicts(text)[""]
    assert found.outcome == FAILS
    assert "no node is open to team a (nvidia.com/gpu) through h100" in found.headline


def test_companions_that_are_promised_count():
    """64 cores a node: 8 GPUs and 100 cpu are more than one node has."""
    groups = f"""
  - coveredResources: ["{GPU}", cpu]
    flavors:
    - name: h100
      resources: [{{name: "{GPU}", nominalQuota: 8}}, {{name: cpu, nominalQuota: 200}}]"""
    text = FLAVOR + queue("a", 8, resourceGroups=groups)
    promises = Promises((TeamPromise("a", ("a",), {GPU: 8, "cpu": 100_000}),))
    assert verdicts(text + nodes(1), promises)[""].outcome == FAILS
    assert verdicts(text + nodes(2), promises)[""].outcome == HOLDS


def test_it_is_soon_known_of_a_large_cluster():
    """Two hundred nodes in five racks, twenty teams: one node may be lost, or a rack."""
    names = [f"t{n}" for n in range(20)]
    text = FLAVOR + "".join(queue(name, 64) for name in names) + nodes(200, racks=5)
    gang = shape("train", 8, 4)._replace(jobs=2)
    teams = tuple(team(name, 64, shapes=(gang,)) for name in names)
    found = verdicts(text, Promises(teams, losses=Losses(1, "rack")))
    assert (found[""].outcome, found[LOSSES].outcome) == (HOLDS, HOLDS)
    assert found[LOSSES].evidence["losses"] == 6
    more = tuple(team(name, 64, shapes=(gang._replace(jobs=2),)) for name in [*names, "t20", "t21"])
    wide = text + queue("t20", 64) + queue("t21", 128)
    assert verdicts(wide, Promises(more, losses=Losses(0, "rack")))[LOSSES].outcome == FAILS


def test_what_goes_to_other_clusters_needs_no_room_here():
    away = CHECKED.replace("provisioning-request", "multikueue")
    text = FLAVOR + away + nodes(1)
    sent = {"admissionChecksStrategy": "{admissionChecks: [{name: more-nodes}]}"}
    assert verdicts(text + queue("a", 16, **sent))[""].outcome == NOT_APPLICABLE
    both = text + queue("a", 16, **sent) + queue("b", 8, cohort="")
    assert verdicts(both)[""].outcome == HOLDS


def test_what_is_defined_twice_leaves_the_sum_open():
    text = FLAVOR + queue("a", 8) + queue("b", 4, cohort="") + queue("b", 2, cohort="") + nodes(1)
    assert verdicts(text, Promises((team("a", 8),)))[""].outcome == UNKNOWN
