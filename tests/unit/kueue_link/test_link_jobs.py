import random

from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.model.cluster import Entry, link, replace
from policycheck.model.origin import DocumentId, Origin
from policycheck.source.yamldoc import digest
from policycheck.systems import registry

QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
KUEUE = "kueue.x-k8s.io/v1beta2"


def some_object(rng):
    """An object that shapes jobs, or a job; names collide on purpose."""
    name = rng.choice("ab")
    meta = {"name": name, "namespace": "n", "labels": QUEUE if rng.random() < 0.6 else {}}
    pod = {
        "runtimeClassName": "a",
        "containers": [{"name": "c", "resources": {"limits": {"cpu": rng.randint(1, 4)}}}],
        "resourceClaims": [{"name": "r", "resourceClaimTemplateName": "a"}],
    }
    kind = rng.choice(
        [
            "LimitRange",
            "RuntimeClass",
            "ResourceClaimTemplate",
            "LocalQueue",
            "Job",
            "Pod",
            "Deployment",
            "TrainJob",
            "ClusterTrainingRuntime",
        ]
    )
    spec = {"replicas": rng.randint(0, 3), "template": {"spec": pod}}
    match kind:
        case "LimitRange":
            spec = {"limits": [{"type": "Container", "defaultRequest": {"cpu": rng.randint(1, 9)}}]}
            return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec}
        case "RuntimeClass":
            overhead = {"podFixed": {"cpu": rng.randint(1, 9)}}
            return {"apiVersion": "node.k8s.io/v1", "kind": kind, "metadata": meta, "overhead": overhead}
        case "ResourceClaimTemplate":
            exactly = {"deviceClassName": "gpu", "count": rng.randint(1, 3)}
            spec = {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
            return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": meta, "spec": spec}
        case "LocalQueue":
            meta["name"] = rng.choice(["q", "default"])
            return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": {"clusterQueue": "cq"}}
        case "Pod":
            meta["labels"] = {**meta["labels"], "kueue.x-k8s.io/pod-group-name": "g"}
            meta["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": str(rng.randint(1, 2))}
            return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": pod}
        case "TrainJob":
            spec = {"runtimeRef": {"name": "a"}, "trainer": {"numNodes": rng.randint(1, 3)}}
        case "ClusterTrainingRuntime":
            jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
            spec = {"template": {"spec": {"replicatedJobs": jobs}}}
    api = {"Job": "batch/v1", "Deployment": "apps/v1"}.get(kind, "trainer.kubeflow.org/v1alpha1")
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec}


def entry(rng, identity):
    value = some_object(rng)
    return Entry(registry.read(value), Origin(identity, 1, digest(value)))


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_replace_equals_link_for_what_shapes_jobs(seed):
    rng = random.Random(seed)
    ids = [DocumentId(f"{n}.yaml") for n in range(8)]
    entries = {i: entry(rng, i) for i in ids}
    cluster = link("s", entries.values(), registry.linkers())
    for _ in range(4):
        touched = rng.sample(ids, 2)
        changes = {i: (None if rng.random() < 0.3 else entry(rng, i)) for i in touched}
        cluster = replace(cluster, changes)
        for identity, made in changes.items():
            entries.pop(identity, None)
            if made is not None:
                entries[identity] = made
        assert cluster == link("s", entries.values(), registry.linkers())


def linked(*values):
    entries = [
        Entry(registry.read(v), Origin(DocumentId(f"{n}.yaml"), 1, digest(v))) for n, v in enumerate(values)
    ]
    return link("s", entries, registry.linkers()).systems["kueue"].objects.workloads


def test_the_linked_cluster_charges_what_the_namespace_adds():
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "n"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}}]},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "labels": QUEUE},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}},
    }
    (workload,) = linked(limits, job).values()
    assert workload.pod_sets[0].requests == {"cpu": 2000}
