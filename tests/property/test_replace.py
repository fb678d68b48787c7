"""Replacing documents one after another gives the Cluster that linking the result at once gives."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.model.cluster import Entry, link, replace
from policycheck.model.origin import DocumentId, Origin
from policycheck.source.yamldoc import digest
from policycheck.systems import registry

KUEUE = "kueue.x-k8s.io/v1beta2"
NAMES = ("a", "b", "c", "d")


def groups(rng):
    flavors = rng.sample(NAMES, rng.randint(1, 2))
    return [
        {
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [
                {"name": f, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": rng.randint(0, 9)}]}
                for f in flavors
            ],
        }
    ]


def some_object(rng):
    """One random object; few names, so that keys collide, move between trees, and form cycles."""
    kind = rng.choice(
        ("ClusterQueue",) * 4
        + ("Cohort",) * 3
        + (
            "ResourceFlavor",
            "LocalQueue",
            "Configuration",
            "Job",
            "Pod",
            "WorkloadPriorityClass",
            "Namespace",
            "Node",
            "Workload",
        )
    )
    name = rng.choice(NAMES)
    meta = {"name": name}
    match kind:
        case "ClusterQueue":
            spec = {"resourceGroups": groups(rng)} | (
                {"cohortName": rng.choice(NAMES)} if rng.random() < 0.7 else {}
            )
            return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}
        case "Cohort":
            spec = {"parentName": rng.choice(NAMES)} if rng.random() < 0.6 else {}
            if rng.random() < 0.3:
                spec["resourceGroups"] = groups(rng)
            return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}
        case "ResourceFlavor":
            return {
                "apiVersion": KUEUE,
                "kind": kind,
                "metadata": meta,
                "spec": {"nodeLabels": {"x": rng.choice(NAMES)}},
            }
        case "LocalQueue" | "Workload":
            key = "clusterQueue" if kind == "LocalQueue" else "queueName"
            return {
                "apiVersion": KUEUE,
                "kind": kind,
                "metadata": {**meta, "namespace": "n"},
                "spec": {key: rng.choice(NAMES)},
            }
        case "WorkloadPriorityClass":
            return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "value": rng.randint(0, 3)}
        case "Configuration":
            return {
                "apiVersion": "config.kueue.x-k8s.io/v1beta2",
                "kind": kind,
                "manageJobsWithoutQueueName": rng.random() < 0.5,
            }
        case "Namespace":
            return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "n", "labels": {"team": name}}}
        case "Node":
            return {
                "apiVersion": "v1",
                "kind": kind,
                "metadata": {"name": name, "labels": {"x": name}},
                "status": {"allocatable": {"nvidia.com/gpu": rng.randint(1, 8)}},
            }
    labels = {"kueue.x-k8s.io/queue-name": name} if rng.random() < 0.6 else {}
    owner = (
        [{"apiVersion": "batch/v1", "kind": "Job", "name": rng.choice(NAMES), "controller": True}]
        if rng.random() < 0.4
        else []
    )
    meta = {"name": name, "namespace": "n", "labels": labels, "ownerReferences": owner}
    pod = {
        "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}],
        "nodeName": rng.choice(NAMES),
    }
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": pod}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": {"spec": pod}}}


def entry(rng, identity):
    value = some_object(rng)
    return Entry(registry.read(value), Origin(identity, 1, digest(value)))


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_replace_equals_link_over_random_edits(seed):
    rng = random.Random(seed)
    ids = [DocumentId(f"{n}.yaml") for n in range(rng.randint(1, 12))]
    entries = {i: entry(rng, i) for i in ids if rng.random() < 0.7}
    linkers = registry.linkers()
    cluster = link("s", entries.values(), linkers)
    for _ in range(rng.randint(1, 6)):
        touched = rng.sample(ids, min(len(ids), rng.randint(1, 3)))
        changes = {i: (None if rng.random() < 0.3 else entry(rng, i)) for i in touched}
        cluster = replace(cluster, changes)
        for identity, made in changes.items():
            entries.pop(identity, None)
            if made is not None:
                entries[identity] = made
        whole = link("s", entries.values(), linkers)
        assert cluster == whole
        assert list(cluster.systems["kueue"].trees) == list(whole.systems["kueue"].trees)
        assert cluster.view == whole.view
        assert cluster.ambiguous == whole.ambiguous


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_the_order_of_documents_changes_nothing(seed):
    rng = random.Random(seed)
    entries = [entry(rng, DocumentId(f"{n}.yaml")) for n in range(10)]
    once = link("s", entries, registry.linkers())
    rng.shuffle(entries)
    assert link("s", entries, registry.linkers()) == once


@pytest.mark.parametrize("changed", ["q0", "q7"])
def test_trees_that_a_change_cannot_reach_are_the_same_objects(changed):
    rng = random.Random(1)

    def queue(name, nominal):
        value = {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {"cohortName": f"c{int(name[1:]) // 2}", "resourceGroups": groups(rng)},
        }
        value["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = nominal
        return Entry(registry.read(value), Origin(DocumentId(f"{name}.yaml"), 1, digest(value)))

    before = link("s", [queue(f"q{n}", 1) for n in range(10)], registry.linkers()).systems["kueue"]
    cluster = link("s", [queue(f"q{n}", 1) for n in range(10)], registry.linkers())
    before = cluster.systems["kueue"]
    after = replace(cluster, {DocumentId(f"{changed}.yaml"): queue(changed, 5)}).systems["kueue"]
    mine = before.tree_of[changed]
    assert [t for t in before.trees if before.trees[t] is not after.trees[t]] == [mine]
