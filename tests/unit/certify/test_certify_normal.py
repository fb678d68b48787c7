"""The normal form of an object: equal for equal objects, whatever they look like."""

from __future__ import annotations

import json

import pytest

from policycheck.certify.normal import digest_of, name_of, normal
from policycheck.systems import registry

TABLES = registry.tables()


def queue(quota: object = 8, **more: object) -> dict[str, object]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "vision", **more},
        "spec": {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu", "cpu"],
                    "flavors": [
                        {
                            "name": "h100",
                            "resources": [
                                {"name": "nvidia.com/gpu", "nominalQuota": quota},
                                {"name": "cpu", "nominalQuota": "1500m"},
                            ],
                        }
                    ],
                }
            ],
        },
    }


def digest(value: object) -> str:
    facts = registry.read(json.loads(json.dumps(value)))
    return digest_of(facts, TABLES.get((facts.key.group, facts.key.kind)))


def test_a_name_says_group_kind_and_where():
    assert name_of(registry.read(queue())) == "kueue.x-k8s.io/ClusterQueue/vision"


@pytest.mark.parametrize("quota", ["8", "8000m", 8, "8e0"])
def test_one_amount_is_one_text(quota):
    assert digest(queue(quota)) == digest(queue())


def test_what_a_server_adds_is_not_looked_at():
    added = queue(uid="1", resourceVersion="7", generation=3, managedFields=[{"manager": "kubectl"}])
    added["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    added["status"] = {"pendingWorkloads": 3}
    assert digest(added) == digest(queue())


def test_defaults_that_are_written_change_nothing():
    written = queue()
    written["spec"]["queueingStrategy"] = "BestEffortFIFO"
    assert digest(written) == digest(queue())


def test_an_older_version_is_the_same_object():
    older = queue()
    older["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    older["spec"]["cohort"] = older["spec"].pop("cohortName")
    assert digest(older) == digest(queue())


@pytest.mark.parametrize(
    "change",
    [
        lambda q: q["metadata"].update(labels={"a": "b"}),
        lambda q: q["spec"].update(cohortName="other"),
        lambda q: q["spec"].update(stopPolicy="Hold"),
        lambda q: q["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0].update(nominalQuota=9),
        lambda q: q["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1].update(nominalQuota="1501m"),
    ],
)
def test_a_change_that_means_something_changes_the_digest(change):
    other = queue()
    change(other)
    assert digest(other) != digest(queue())


def test_amounts_in_pod_templates_have_one_text_too():
    def job(memory: object) -> dict[str, object]:
        container = {"name": "m", "resources": {"limits": {"memory": memory, "nvidia.com/gpu": 1}}}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "namespace": "n"},
            "spec": {"template": {"spec": {"containers": [container]}}},
        }

    assert digest(job("1Gi")) == digest(job("1024Mi")) == digest(job(1 << 30))
    assert digest(job("1Gi")) != digest(job("1G"))


def test_fractions_and_depth_do_no_harm():
    deep: dict[str, object] = {}
    for _ in range(40):
        deep = {"a": deep}
    facts = registry.read(
        {"apiVersion": "x/v1", "kind": "Y", "metadata": {"name": "z"}, "spec": {"f": 0.5, "d": deep}}
    )
    assert normal(facts, None)["spec"]["f"] == "number 0.5"
    assert len(digest_of(facts, None)) == 64
