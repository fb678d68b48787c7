import pytest

from policycheck.systems import registry

GPU = "nvidia.com/gpu"


def template(gpu=0, cpu="1", **spec):
    limits = {GPU: gpu} if gpu else {}
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}, "limits": limits}}
    return {"spec": {"containers": [container], **spec}}


def read(api, kind, spec, **meta):
    return registry.read(
        {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "n", **meta}, "spec": spec}
    )


def counted(facts, resource=GPU):
    return [(p.name, p.pods, p.requests.get(resource, 0)) for p in facts.typed.pod_sets]


def test_a_job_set_runs_parallel_pods_of_every_replica():
    spec = {
        "replicatedJobs": [
            {"name": "driver", "template": {"spec": {"template": template()}}},
            {
                "name": "workers",
                "replicas": 3,
                "template": {"spec": {"parallelism": 4, "completions": 2, "template": template(8)}},
            },
        ]
    }
    facts = read("jobset.x-k8s.io/v1alpha2", "JobSet", spec)
    assert counted(facts) == [("driver", 1, 0), ("workers", 6, 8)]
    assert facts.typed.pod_sets[1].path == ("spec", "replicatedJobs", 1, "template", "spec", "template")


@pytest.mark.parametrize(
    ("kind", "field", "given", "wanted"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs", ("Worker", "Master"), ["master", "worker"]),
        ("TFJob", "tfReplicaSpecs", ("Worker", "PS", "Chief"), ["chief", "ps", "worker"]),
        ("XGBoostJob", "xgbReplicaSpecs", ("Worker", "Master"), ["master", "worker"]),
        ("PaddleJob", "paddleReplicaSpecs", ("worker",), ["worker"]),
        ("JAXJob", "jaxReplicaSpecs", ("Worker",), ["worker"]),
        ("MPIJob", "mpiReplicaSpecs", ("Worker", "Launcher"), ["launcher", "worker"]),
    ],
)
def test_kubeflow_jobs_have_a_podset_a_replica_type_in_fixed_order(kind, field, given, wanted):
    spec = {field: {name: {"replicas": 2, "template": template(1)} for name in given}}
    spec["runPolicy"] = {"suspend": True, "schedulingPolicy": {"priorityClass": "high"}}
    version = "v2beta1" if kind == "MPIJob" else "v1"
    facts = read(f"kubeflow.org/{version}", kind, spec)
    assert counted(facts) == [(name, 2, 1) for name in wanted]
    assert (facts.typed.suspended, facts.typed.priority_class) == (True, "high")
    assert facts.typed.pod_sets[0].path[:2] == ("spec", field)
    assert facts.typed.pod_sets[0].path[2] in given


def test_a_leader_worker_set_is_as_many_gangs_as_replicas():
    spec = {
        "replicas": 3,
        "leaderWorkerTemplate": {"size": 4, "leaderTemplate": template(), "workerTemplate": template(8)},
    }
    facts = read("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)
    assert counted(facts) == [("leader", 3, 0), ("worker", 9, 8)]
    assert facts.typed.copies == 3
    del spec["leaderWorkerTemplate"]["leaderTemplate"]
    assert counted(read("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)) == [("main", 12, 8)]


def test_an_app_wrapper_counts_what_it_wraps():
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"parallelism": 5, "template": template(2)},
    }
    other = {"apiVersion": "a.b/v1", "kind": "Thing", "spec": {"parts": [{"template": template(1)}]}}
    spec = {
        "components": [
            {"template": job},
            {
                "template": other,
                "podSets": [{"path": "template.spec.parts[0].template", "replicas": 2}],
            },
            {"template": {"kind": "AppWrapper", "apiVersion": "workload.codeflare.dev/v1beta2"}},
        ]
    }
    facts = read("workload.codeflare.dev/v1beta2", "AppWrapper", spec)
    assert counted(facts) == [("x-0", 5, 2), ("x-1", 2, 1)]
    inner = ("spec", "components", 0, "template", "spec", "template")
    assert facts.typed.pod_sets[0].path == inner
    assert facts.typed.pod_sets[0].containers[0].path == (*inner, "spec", "containers", 0)
    assert facts.typed.pod_sets[1].path == (
        "spec",
        "components",
        1,
        "template",
        "spec",
        "parts",
        0,
        "template",
    )


def test_spark_adds_overhead_to_memory():
    spec = {
        "type": "Python",
        "driver": {"cores": 2, "memory": "4g"},
        "executor": {
            "instances": 3,
            "coreRequest": "1500m",
            "memory": "512m",
            "gpu": {"name": GPU, "quantity": 1},
        },
        "sparkConf": {"spark.executor.pyspark.memory": "1g"},
    }
    facts = read("sparkoperator.k8s.io/v1beta2", "SparkApplication", spec)
    assert counted(facts, "cpu") == [("driver", 1, 2000), ("executor", 3, 1500)]
    # 40 % for Python, rounded down to MiB; at least 384 MiB; Python's own memory on executors
    assert counted(facts, "memory") == [
        ("driver", 1, (4096 + 1638) * 2**20),
        ("executor", 3, (512 + 384 + 1024) * 2**20),
    ]
    assert counted(facts) == [("driver", 1, 0), ("executor", 3, 1)]
    spec["driver"]["memory"] = "4 gigs"
    wrong = read("sparkoperator.k8s.io/v1beta2", "SparkApplication", spec)
    assert [(t.code, t.path) for t in wrong.troubles] == [("bad-quantity", ("spec", "driver", "memory"))]


def test_ray_worker_groups_are_clamped_and_hosts_multiply():
    groups = [
        {"groupName": "A", "replicas": 1, "minReplicas": 2, "numOfHosts": 4, "template": template(8)},
        {"groupName": "b", "replicas": 9, "maxReplicas": 3, "template": template(1)},
        {"groupName": "c", "template": template(1)},
        {"groupName": "d", "replicas": 2, "suspend": True, "template": template(1)},
    ]
    cluster = {"headGroupSpec": {"template": template()}, "workerGroupSpecs": groups}
    facts = read("ray.io/v1", "RayCluster", cluster)
    assert counted(facts) == [("head", 1, 0), ("a", 8, 8), ("b", 3, 1), ("c", 0, 1), ("d", 0, 1)]


def test_ray_charges_what_kuberay_adds():
    def job(mode=None, **cluster):
        spec = {"rayClusterSpec": {"headGroupSpec": {"template": template()}, **cluster}}
        return read("ray.io/v1", "RayJob", spec | ({"submissionMode": mode} if mode else {}))

    mib = 2**20
    assert counted(job(), "memory") == [("head", 1, 0), ("submitter", 1, 200 * mib)]
    assert counted(job("HTTPMode"), "cpu") == [("head", 1, 1000)]
    assert counted(job("SidecarMode"), "cpu") == [("head", 1, 1500)]
    scaled = job("HTTPMode", enableInTreeAutoscaling=True)
    assert counted(scaled, "memory") == [("head", 1, 512 * mib)]
    assert counted(scaled, "cpu") == [("head", 1, 1500)]
    own = {"resources": {"requests": {"cpu": "2"}}}
    tuned = job("HTTPMode", enableInTreeAutoscaling=True, autoscalerOptions=own)
    assert counted(tuned, "cpu") == [("head", 1, 3000)]


def test_a_cron_job_carries_the_labels_of_its_job_template():
    spec = {
        "jobTemplate": {
            "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
            "spec": {"parallelism": 2, "template": template(1)},
        }
    }
    facts = read("batch/v1", "CronJob", spec, labels={"kueue.x-k8s.io/queue-name": "other"})
    assert facts.typed.labels == {"kueue.x-k8s.io/queue-name": "q"}


def test_hostile_shapes_are_read_without_complaint_from_python():
    kinds = [
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        ("kubeflow.org/v1", "TFJob"),
        ("kubeflow.org/v2beta1", "MPIJob"),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
        ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("workload.codeflare.dev/v1beta2", "AppWrapper"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
        ("ray.io/v1", "RayCluster"),
    ]
    specs = (
        None,
        [],
        5,
        {"replicatedJobs": [None, {"replicas": "x"}], "components": [5, {"podSets": [5]}]},
        {"tfReplicaSpecs": {"Worker": 5}, "executor": 5, "driver": {"template": {"spec": {"containers": 5}}}},
        {
            "replicas": 2**70,
            "leaderWorkerTemplate": {"size": 2**70},
            "workerGroupSpecs": [{"replicas": 2**70}],
        },
        {"template": {"spec": {"replicatedJobs": [None]}}, "trainer": 7, "mlPolicy": []},
    )
    for api, kind in kinds:
        for spec in specs:
            assert read(api, kind, spec).typed is not None
