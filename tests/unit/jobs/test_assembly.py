from policycheck.model.cluster import Entry, _index, link
from policycheck.model.origin import DocumentId, Origin
from policycheck.source.yamldoc import digest
from policycheck.systems import registry
from policycheck.systems.kueue import assembly
from policycheck.systems.kueue.jobs import MAX_COPIES

GPU = "nvidia.com/gpu"
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}


def template(requests=None, limits=None, **spec):
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"spec": {"containers": [{"name": "c", "resources": resources}], **spec}}


def thing(api, kind, spec=None, *, name="x", labels=None, annotations=None, namespace="n", **more):
    meta = {"name": name, "namespace": namespace, "labels": labels or {}, "annotations": annotations or {}}
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec or {}, **more}


def job(requests=None, limits=None, *, labels=QUEUE, annotations=None, parallelism=1, **spec):
    given = {"parallelism": parallelism, "template": template(requests, limits, **spec)}
    return thing("batch/v1", "Job", given, labels=labels, annotations=annotations)


def assembled(*values):
    entries = [
        Entry(registry.read(v), Origin(DocumentId(f"{n}.yaml"), 1, digest(v))) for n, v in enumerate(values)
    ]
    cluster = link("s", entries, registry.linkers())
    around = assembly.surroundings(_index(entries))
    return assembly.workloads(cluster.systems["core"], cluster.systems["kueue"].objects, around)


def podsets(workload):
    return [(p.name, p.pods, dict(p.requests)) for p in workload.pod_sets]


LIMITS = thing(
    "v1",
    "LimitRange",
    {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}, "default": {"memory": "4Gi"}}]},
)


def test_kueue_charges_the_namespaces_default_where_the_pods_request_their_limit():
    made, _ = assembled(LIMITS, job(limits={"cpu": "8"}))
    (workload,) = made.values()
    assert podsets(workload) == [("main", 1, {"cpu": 2000, "memory": 4 * 2**30})]
    from policycheck.systems.core.defaults import admitted, collect

    facts = registry.read(job(limits={"cpu": "8"}))
    known = collect([registry.read(LIMITS).typed])
    real = admitted(facts.typed.pod_sets[0], "n", known)
    assert real.requests == {"cpu": 8000, "memory": 4 * 2**30}


def test_limit_ranges_fill_in_their_own_gaps_and_hold_in_their_namespace_only():
    only_max = thing("v1", "LimitRange", {"limits": [{"type": "Container", "max": {"cpu": "3"}}]})
    made, _ = assembled(only_max, job())
    assert podsets(made["n", "job-x"]) == [("main", 1, {"cpu": 3000})]
    elsewhere = {**only_max, "metadata": {"name": "x", "namespace": "m"}}
    made, _ = assembled(elsewhere, job())
    assert podsets(made["n", "job-x"]) == [("main", 1, {})]


def test_defaults_go_through_the_pod_formula():
    spec = {
        "initContainers": [
            {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
            {"name": "init", "resources": {"requests": {"cpu": "9"}}},
        ]
    }
    made, _ = assembled(LIMITS, job({"cpu": "3"}, **spec))
    # sidecar 1 + init 9 exceeds sidecar 1 + container 3; memory: three containers at 4Gi, of which
    # the init container has ended by then
    assert podsets(made["n", "job-x"]) == [("main", 1, {"cpu": 10000, "memory": 8 * 2**30})]


def test_a_runtime_class_adds_its_overhead_unless_the_pod_states_one():
    runtime = thing("node.k8s.io/v1", "RuntimeClass", name="kata")
    runtime["overhead"] = {"podFixed": {"cpu": "250m"}}
    made, _ = assembled(runtime, job({"cpu": "1"}, runtimeClassName="kata"))
    assert podsets(made["n", "job-x"]) == [("main", 1, {"cpu": 1250})]
    made, _ = assembled(runtime, job({"cpu": "1"}, runtimeClassName="kata", overhead={"cpu": "1"}))
    assert podsets(made["n", "job-x"]) == [("main", 1, {"cpu": 2000})]


def test_services_are_admitted_pod_by_pod_replica_by_replica_or_whole():
    def service(api, kind, spec):
        return assembled(thing(api, kind, spec, labels=QUEUE))[0]

    one = template({"cpu": "1"})
    made = service("apps/v1", "Deployment", {"replicas": 3, "template": one})
    assert [podsets(w) for w in made.values()] == [[("main", 1, {"cpu": 1000})]] * 3
    assert sorted(name for _, name in made) == ["deployment-x-0", "deployment-x-1", "deployment-x-2"]
    made = service("apps/v1", "StatefulSet", {"replicas": 3, "template": one})
    assert [podsets(w) for w in made.values()] == [[("main", 3, {"cpu": 1000})]]
    lws = {"replicas": 2, "leaderWorkerTemplate": {"size": 5, "leaderTemplate": one, "workerTemplate": one}}
    made = service("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", lws)
    assert [podsets(w) for w in made.values()] == [
        [("leader", 1, {"cpu": 1000}), ("worker", 4, {"cpu": 1000})]
    ] * 2
    assert service("apps/v1", "Deployment", {"replicas": 0, "template": one}) == {}
    assert len(service("apps/v1", "Deployment", {"replicas": 2**40, "template": one})) == MAX_COPIES


def pod(name, total, *, gpu=1, fast=False, **more):
    annotations = {"kueue.x-k8s.io/pod-group-total-count": str(total)}
    if fast:
        annotations["kueue.x-k8s.io/pod-group-fast-admission"] = "true"
    labels = {**QUEUE, "kueue.x-k8s.io/pod-group-name": "g"}
    spec = template(limits={GPU: gpu})["spec"]
    return thing("v1", "Pod", spec, name=name, labels=labels, annotations=annotations, **more)


def test_plain_pods_of_a_group_are_one_workload_with_a_podset_a_shape():
    made, claimed = assembled(pod("a", 3), pod("b", 3), pod("c", 3, gpu=8))
    assert list(made) == [("n", "g")]
    assert [(p, r) for _, p, r in podsets(made["n", "g"])] == [(2, {GPU: 1}), (1, {GPU: 8})]
    assert len({p.name for p in made["n", "g"].pod_sets}) == 2
    assert {key.name for key in claimed} == {"a", "b", "c"}


def test_a_group_waits_for_its_pods_unless_it_is_admitted_fast():
    assert assembled(pod("a", 3))[0] == {}
    assert assembled(pod("a", 2), pod("b", 3))[0] == {}  # they do not agree
    made, _ = assembled(pod("a", 3, fast=True))
    assert [(p, r) for _, p, r in podsets(made["n", "g"])] == [(3, {GPU: 1})]


def test_a_queue_called_default_takes_jobs_that_name_none():
    queue = thing("kueue.x-k8s.io/v1beta2", "LocalQueue", {"clusterQueue": "cq"}, name="default")
    made, _ = assembled(queue, job(labels={}))
    assert made["n", "job-x"].queue == "default"
    assert assembled(job(labels={}))[0] == {}
    elsewhere = {**queue, "metadata": {"name": "default", "namespace": "m"}}
    assert assembled(elsewhere, job(labels={}))[0] == {}
    made, _ = assembled(queue, job())
    assert made["n", "job-x"].queue == "q"


def test_prebuilt_elastic_and_limited_jobs():
    assert assembled(job(annotations={"kueue.x-k8s.io/prebuilt-workload-name": "w"}))[0] == {}
    partial = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    made, _ = assembled(job(parallelism=4, annotations=partial))
    assert made["n", "job-x"].pod_sets[0].min_count == 2
    elastic = {**partial, "kueue.x-k8s.io/elastic-job": "true"}
    made, _ = assembled(job(parallelism=4, annotations=elastic))
    assert made["n", "job-x"].pod_sets[0].min_count is None
    made, _ = assembled(job(labels={**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": "60"}))
    assert made["n", "job-x"].max_execution_seconds == 60


def test_a_kind_without_integration_is_not_managed():
    replicas = thing("apps/v1", "ReplicaSet", {"replicas": 1, "template": template()}, labels=QUEUE)
    assert assembled(replicas) == ({}, frozenset())
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": ["batch/job"]},
    }
    spec = {"tfReplicaSpecs": {"Worker": {"template": template()}}}
    tf = thing("kubeflow.org/v1", "TFJob", spec, labels=QUEUE)
    assert assembled(config, tf)[0] == {}
    config["integrations"]["frameworks"].append("kubeflow.org/tfjob")
    assert list(assembled(config, tf)[0]) == [("n", "tfjob-x")]


def test_a_train_job_takes_the_podsets_of_its_runtime():
    jobs = [
        {"name": "data", "template": {"spec": {"template": template({"cpu": "1"})}}},
        {
            "name": "node",
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"template": template({"cpu": "4"})},
            },
        },
    ]
    runtime = thing(
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntime",
        {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": jobs}}},
        name="torch",
    )
    trainer = {"numNodes": 3, "resourcesPerNode": {"limits": {GPU: 8}}}
    train = thing(
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        {"runtimeRef": {"name": "torch"}, "trainer": trainer},
        labels=QUEUE,
    )
    made, _ = assembled(runtime, train)
    assert podsets(made["n", "trainjob-x"]) == [("data", 1, {"cpu": 1000}), ("node", 3, {GPU: 8})]
    del train["spec"]["trainer"]
    made, _ = assembled(runtime, train)
    assert podsets(made["n", "trainjob-x"]) == [("data", 1, {"cpu": 1000}), ("node", 2, {"cpu": 4000})]


def test_claims_are_counted_from_their_templates():
    devices = {
        "requests": [
            {"name": "a", "exactly": {"deviceClassName": "gpu.example.com", "count": 4}},
            {"name": "b", "exactly": {"deviceClassName": "nic.example.com", "adminAccess": True}},
        ]
    }
    claim = thing("resource.k8s.io/v1", "ResourceClaimTemplate", {"spec": {"devices": devices}}, name="four")
    made, _ = assembled(claim, job(resourceClaims=[{"name": "r", "resourceClaimTemplateName": "four"}]))
    (found,) = made["n", "job-x"].pod_sets[0].claims
    assert (found.device_class, found.devices, found.template) == ("gpu.example.com", 4, "four")
