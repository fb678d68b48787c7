import pytest

from policycheck.systems import registry
from policycheck.systems.kueue.validate import problems

PREFIX = "kueue.x-k8s.io/podset-"
RACK = "example.com/rack"


def job(*, labels=None, annotations=None, pods=None, parallelism=4, suspend=None, **spec):
    template = {"metadata": {"annotations": {PREFIX + k: v for k, v in (pods or {}).items()}}, "spec": {}}
    given = {"parallelism": parallelism, "template": template, **spec}
    if suspend is not None:
        given["suspend"] = suspend
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "x",
            "namespace": "n",
            "labels": {f"kueue.x-k8s.io/{k}": v for k, v in (labels or {}).items()},
            "annotations": {f"kueue.x-k8s.io/{k}": v for k, v in (annotations or {}).items()},
        },
        "spec": given,
    }


def told(value, old=None):
    before = None if old is None else registry.read(old)
    return [(t.code, t.path[-1].rpartition("/")[2]) for t in problems(registry.read(value), before)]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"labels": {"queue-name": "team-a"}}, []),
        ({"labels": {"queue-name": "Team_A"}}, [("bad-name", "queue-name")]),
        ({"labels": {"priority-class": "High"}}, [("bad-name", "priority-class")]),
        ({"labels": {"max-exec-time-seconds": "60"}}, []),
        ({"labels": {"max-exec-time-seconds": "0"}}, [("bad-label-value", "max-exec-time-seconds")]),
        ({"labels": {"max-exec-time-seconds": "1h"}}, [("bad-label-value", "max-exec-time-seconds")]),
        ({"annotations": {"job-min-parallelism": "3"}}, []),
        ({"annotations": {"job-min-parallelism": "4"}}, [("min-parallelism", "job-min-parallelism")]),
        ({"annotations": {"job-min-parallelism": "0"}}, [("min-parallelism", "job-min-parallelism")]),
        (
            {"annotations": {"job-completions-equal-parallelism": "true"}},
            [("completions-mode", "job-completions-equal-parallelism")],
        ),
        (
            {
                "annotations": {"job-completions-equal-parallelism": "true"},
                "completionMode": "Indexed",
                "completions": 4,
            },
            [],
        ),
        (
            {"annotations": {"elastic-job": "true", "job-min-parallelism": "2"}},
            [("elastic-partial", "elastic-job")],
        ),
        ({"pods": {"required-topology": RACK}}, []),
        (
            {"pods": {"required-topology": RACK, "preferred-topology": RACK}},
            [("topology-modes", "podset-preferred-topology")],
        ),
        ({"pods": {"required-topology": "a rack"}}, [("bad-label", "podset-required-topology")]),
        ({"pods": {"slice-size": "2"}}, [("slice-pair", "podset-slice-size")]),
        ({"pods": {"slice-required-topology": RACK, "slice-size": "2"}}, []),
        (
            {"pods": {"slice-required-topology": RACK, "slice-size": "8"}},
            [("slice-size", "podset-slice-size")],
        ),
        (
            {"pods": {"slice-required-topology": RACK, "slice-size": "0"}},
            [("slice-size", "podset-slice-size")],
        ),
        (
            {"pods": {"group-name": "7", "required-topology": RACK}, "parallelism": 1},
            [("podset-group", "podset-group-name")] * 2,
        ),
    ],
)
def test_labels_and_annotations_of_jobs(given, wanted):
    assert told(job(**given)) == wanted


@pytest.mark.parametrize(
    ("raw", "is_fine"),
    [
        ('[{"topology": "a", "size": 8}, {"topology": "b", "size": 4}]', True),
        ('[{"topology": "a", "size": 8}, {"topology": "b", "size": 3}]', False),
        ('[{"topology": "a", "size": 8}, {"topology": "a", "size": 4}]', False),
        ('[{"topology": "a", "size": 0}]', False),
        ('[{"topologyLevel": "a", "sliceSize": 8}]', False),
        ("[]", False),
        ("[" + ", ".join(['{"topology": "a", "size": 1}'] * 4) + "]", False),
        ("[" * 5000, True),  # the reader speaks of it
    ],
)
def test_layers_of_slices(raw, is_fine):
    found = told(job(pods={"slice-required-topology-constraints": raw}))
    assert (found == []) is is_fine
    assert set(found) <= {("slice-layers", "podset-slice-required-topology-constraints")}


def grouped(leader, worker, **more):
    def part(name, replicas, annotations):
        template = {"metadata": {"annotations": {PREFIX + k: v for k, v in annotations.items()}}, "spec": {}}
        return {
            "name": name,
            "replicas": replicas,
            "template": {"spec": {"parallelism": 1, "template": template}},
        }

    parts = [part("leader", 1, leader), part("worker", more.get("workers", 4), worker)]
    if more.get("leaders", 1) != 1:
        parts[0]["replicas"] = more["leaders"]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "x"},
        "spec": {"replicatedJobs": parts},
    }


def test_podset_groups_are_a_leader_and_workers_that_ask_for_the_same():
    same = {"group-name": "g", "required-topology": RACK}
    assert told(grouped(same, same)) == []
    assert told(grouped(same, same, leaders=2)) == [("podset-group", "podset-group-name")]
    assert told(grouped(same, {})) == [("podset-group", "podset-group-name")]
    other = {"group-name": "g", "preferred-topology": RACK}
    assert told(grouped(same, other)) == [("podset-group", "podset-group-name")]


def test_a_group_in_a_leader_worker_set_counts_one_replica():
    notes = {PREFIX + "group-name": "g", PREFIX + "required-topology": RACK}
    part = {"metadata": {"annotations": notes}, "spec": {}}
    template = {"size": 4, "leaderTemplate": part, "workerTemplate": part}
    value = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "x"},
        "spec": {"replicas": 3, "leaderWorkerTemplate": template},
    }
    assert told(value) == []


def pod(labels=None, annotations=None):
    meta = {
        "name": "p",
        "labels": {f"kueue.x-k8s.io/{k}": v for k, v in (labels or {}).items()},
        "annotations": {f"kueue.x-k8s.io/{k}": v for k, v in (annotations or {}).items()},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": []}}


def test_pod_groups_need_name_and_number():
    name, total = {"pod-group-name": "g"}, {"pod-group-total-count": "2"}
    assert told(pod(name, total)) == []
    assert told(pod(name)) == [("pod-group", "pod-group-name")]
    assert told(pod(annotations=total)) == [("pod-group", "pod-group-total-count")]
    assert told(pod(name, {"pod-group-total-count": "two"})) == [("pod-group", "pod-group-total-count")]


def test_what_of_a_job_may_not_change():
    running = job(labels={"queue-name": "a", "priority-class": "p"}, suspend=False)
    moved = job(labels={"queue-name": "b", "priority-class": "p"}, suspend=False)
    assert told(moved, running) == [("immutable", "queue-name")]
    held = job(labels={"queue-name": "b", "priority-class": "p"}, suspend=True)
    assert told(held, running) == []
    bare = job(labels={"queue-name": "a"}, suspend=False)
    assert told(bare, running) == [("immutable", "priority-class")]
    elastic = job(labels={"queue-name": "a"}, annotations={"elastic-job": "true"}, suspend=False)
    assert told(elastic, bare) == [("immutable", "elastic-job")]


def test_other_objects_are_left_alone():
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": {}}
    daemon["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "NOT A NAME"}
    assert told(daemon) == []


def ray_job(*, queue=True, elastic=False, **spec):
    labels = {"kueue.x-k8s.io/queue-name": "q"} if queue else {}
    notes = {"kueue.x-k8s.io/elastic-job": "true"} if elastic else {}
    meta = {"name": "r", "labels": labels, "annotations": notes}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta, "spec": spec}


def test_ray_in_a_queue():
    head = {"headGroupSpec": {"template": {}}}
    scaled = {**head, "enableInTreeAutoscaling": True}
    assert told(ray_job(shutdownAfterJobFinishes=True, rayClusterSpec=head)) == []
    assert told(ray_job(rayClusterSpec=head)) == [("ray-shutdown", "shutdownAfterJobFinishes")]
    assert told(ray_job(queue=False, rayClusterSpec=head)) == []
    assert told(ray_job(clusterSelector={"a": "b"})) == [("ray-selector", "clusterSelector")]
    assert told(ray_job(shutdownAfterJobFinishes=True, rayClusterSpec=scaled)) == [
        ("ray-autoscaling", "enableInTreeAutoscaling")
    ]
    assert told(ray_job(shutdownAfterJobFinishes=True, rayClusterSpec=scaled, elastic=True)) == []
    named = {**head, "workerGroupSpecs": [{"groupName": "head", "template": {}}]}
    assert told(ray_job(shutdownAfterJobFinishes=True, rayClusterSpec=named)) == [
        ("ray-head-name", "groupName")
    ]
