"""Pools that grow on demand: every verdict says which end it rests on, and the larger one needs a check that brings nodes."""

from __future__ import annotations

import pytest

GROWN = "pools grow to their maximum when asked (admission check more-nodes)"
LEAST = "pools that grow on demand have their least nodes: gpus"
POOL = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
managedNodeGroups:
- {{name: gpus, instanceType: p5.48xlarge, minSize: {0}, maxSize: {1}, labels: {{gpu: h100}}}}
"""
CHECK = """apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: more-nodes}
spec: {controllerName: kueue.x-k8s.io/provisioning-request}
---
"""
PROMISES = """apiVersion: policycheck.dev/v1
kind: Promises
teams:
  - {name: a, queues: a, guarantee: {nvidia.com/gpu: 8}, burst: 50%, within: 10m, shapes: [{name: train, pods: 2, gpus: 1}]}
  - {name: b, queues: b, guarantee: {nvidia.com/gpu: 8}, shapes: [{name: train, gpus: 1}]}
checks: {more-nodes: 5m}
"""


@pytest.fixture
def elastic(cluster):
    """The cluster with a pool in place of its nodes."""

    def make(least: int, most: int, *, checked: bool) -> None:
        (cluster.root / "nodes.yaml").unlink()
        cluster.write("pool.yaml", POOL.format(least, most))
        cluster.write("promises.yaml", PROMISES)
        if checked:
            cluster.write("check.yaml", CHECK)
            for name in "ab":
                cluster.replace(
                    f"queues/{name}.yaml",
                    "  cohortName: all\n",
                    "  cohortName: all\n  admissionChecksStrategy: {admissionChecks: [{name: more-nodes}]}\n",
                )

    return make


def certified(run):
    done = run("certify", "cluster", "--inventory", "cluster/pool.yaml", "--budget", "3", "--format", "json")
    assert done.code in (0, 1, 4), done.err
    return done.json["verdicts"]


@pytest.mark.parametrize("checked", [True, False])
def test_every_verdict_says_which_end_of_the_pools_it_rests_on(elastic, run, checked):
    elastic(2, 4, checked=checked)
    found = certified(run)
    assert {v["claim"] for v in found if v["outcome"] == "HOLDS"} >= {"guarantees-fit", "burst-usable"}
    assert [v["claim"] for v in found if LEAST not in v["assumptions"] and v["outcome"] != "UNKNOWN"] == []


def test_what_fits_the_larger_end_alone_is_an_assumption_and_needs_the_check(elastic, run):
    elastic(1, 2, checked=True)
    found = {(v["claim"], v["subject"]): v for v in certified(run)}
    fit = found["guarantees-fit", ""]
    assert fit["outcome"] == "HOLDS"
    for verdict in (fit, found["guarantee-honoured", "a"], found["guarantee-honoured", "b"]):
        assert verdict["outcome"] == "HOLDS"
        (said,) = (one for one in verdict["assumptions"] if GROWN in one)
        assert "at their minimum" in said


def test_without_a_check_that_brings_nodes_the_larger_end_does_not_count(elastic, run):
    elastic(1, 2, checked=False)
    found = {(v["claim"], v["subject"]): v for v in certified(run)}
    for key in (("guarantees-fit", ""), ("guarantee-honoured", "a"), ("guarantee-honoured", "b")):
        assert found[key]["outcome"] == "FAILS"


def test_a_check_of_another_queue_brings_nothing(elastic, run, cluster):
    elastic(1, 2, checked=True)
    cluster.replace(
        "queues/b.yaml", "  admissionChecksStrategy: {admissionChecks: [{name: more-nodes}]}\n", ""
    )
    found = {(v["claim"], v["subject"]): v for v in certified(run)}
    assert found["guarantee-honoured", "a"]["outcome"] == "HOLDS"
    assert found["guarantee-honoured", "b"]["outcome"] == "FAILS"
