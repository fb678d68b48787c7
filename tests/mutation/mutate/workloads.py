"""Faults in what workloads say of themselves, and in which of them Kueue manages."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    LABELS,
    Operator,
    add,
    both,
    configured,
    drop,
    each,
    many,
    named,
    pods,
    put,
    resources,
    twice,
)
from mutate.matching import PRIORITY, QUEUE


def _unask(template: Object) -> None:
    del template["spec"]["containers"][0]["resources"]


def _gate(template: Object) -> None:
    template["spec"]["schedulingGates"] = [{"name": "example.com/quota-approved"}]


def _limits_only(found: Object) -> None:
    found["requests"] = {k: v for k, v in found["requests"].items() if k.startswith("nvidia.com/")}
    found["limits"]["cpu"] = "20"


def _selector(template: Object, key: str, value: str) -> None:
    template["spec"].setdefault("nodeSelector", {})[key] = value


def _lost_framework(name: str) -> Any:
    return configured(
        f"integrations.frameworks without {name}", lambda c: c["integrations"]["frameworks"].remove(name)
    )


LIMIT_RANGE = """
apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: NAMESPACE}
spec:
  limits:
    - type: Container
      defaultRequest: REQUEST
"""


def _limit_range(namespace: str, request: str) -> Any:
    text = LIMIT_RANGE.replace("NAMESPACE", namespace).replace("REQUEST", request)
    return add(f"LimitRange/{namespace}", ("Namespace", namespace), text)


STRAY_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: gpu-operator}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: migrate
          image: images.example.com/platform/migrate:1
          resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 1Gi}}
"""


FOREIGN_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: ranking
  namespace: team-recsys
  labels: {kueue.x-k8s.io/queue-name: train, kueue.x-k8s.io/priority-class: training}
spec:
  runPolicy: {suspend: true}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          priorityClassName: batch
          containers:
            - name: pytorch
              image: images.example.com/recsys/ranker:88
              resources:
                requests: {cpu: "160", memory: 1600Gi, nvidia.com/gpu: "8"}
                limits: {memory: 1600Gi, nvidia.com/gpu: "8"}
"""


def _group_member(change: Any) -> Any:
    return each("Pod", named("probe-1"), change)


TOTAL = "metadata annotations kueue.x-k8s.io/pod-group-total-count"


OPERATORS = (
    Operator(
        "framework-off",
        "kueue Part 2 #42",
        "a kind of job whose integration is off",
        ("framework-off",),
        many(
            *(
                _lost_framework(n)
                for n in (
                    "batch/job",
                    "ray.io/rayjob",
                    "pod",
                    "deployment",
                    "ray.io/rayservice",
                    "statefulset",
                )
            )
        ),
        6,
    ),
    Operator(
        "framework-never-on",
        "kueue Part 2 #42",
        "a PyTorchJob with a queue, integration not enabled",
        ("framework-off",),
        add("PyTorchJob/ranking", ("Job", "retrain-nightly"), FOREIGN_JOB),
    ),
    Operator(
        "framework-unknown",
        "kueue 1a Configuration",
        "a framework that does not exist",
        ("refused",),
        many(
            configured(
                "frameworks: batch/jobs", lambda c: c["integrations"]["frameworks"].append("batch/jobs")
            ),
            configured("frameworks: rayjob", lambda c: c["integrations"]["frameworks"].append("rayjob")),
        ),
    ),
    Operator(
        "manages-everything",
        "kueue Part 2 #43",
        "every Job of the cluster is managed: those of operators hang",
        ("manages-everything",),
        configured("managedJobsNamespaceSelector dropped", lambda c: c.pop("managedJobsNamespaceSelector")),
    ),
    Operator(
        "manages-everything-and-a-job",
        "kueue Part 2 #43",
        "the same, with an operator's Job in sight",
        ("manages-everything",),
        both(
            configured(
                "managedJobsNamespaceSelector dropped", lambda c: c.pop("managedJobsNamespaceSelector")
            ),
            add("Job/migrate", ("Namespace", "gpu-operator"), STRAY_JOB),
        ),
    ),
    Operator(
        "manages-kube-system",
        "kueue 1a Configuration",
        "a selector that matches Kueue's own namespace",
        ("refused",),
        configured(
            "managedJobsNamespaceSelector matches all",
            lambda c: c.update(
                managedJobsNamespaceSelector={
                    "matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["monitoring"]}
                    ]
                }
            ),
        ),
    ),
    Operator(
        "manages-nobody",
        "kueue Part 2 #43",
        "a selector that matches no namespace: nothing is managed",
        ("namespace-exempt",),
        configured(
            "managedJobsNamespaceSelector: key misspelt",
            lambda c: c["managedJobsNamespaceSelector"]["matchExpressions"][0].update(
                key="gpu.example.com/tenants"
            ),
        ),
    ),
    Operator(
        "no-requests",
        "kueue Part 2 #45",
        "a container without resources: admitted without quota",
        ("no-requests",),
        pods(_unask),
    ),
    Operator(
        "limits-only-under-limit-range",
        "kueue Part 2 #46",
        "limits without requests where a LimitRange sets small defaults",
        ("limit-range",),
        both(
            resources(_limits_only, named("detector")),
            _limit_range("team-vision", "{cpu: 500m, memory: 1Gi}"),
        ),
    ),
    Operator(
        "limit-range-adds-uncovered",
        "kueue Part 2 #37",
        "a LimitRange adds a resource that no queue covers",
        ("uncovered-resource", "limit-range"),
        many(
            _limit_range("team-vision", "{ephemeral-storage: 10Gi}"),
            _limit_range("team-recsys", "{ephemeral-storage: 1Gi}"),
        ),
    ),
    Operator(
        "queue-stopped",
        "kueue Part 2 #17, #47",
        "stopPolicy left on",
        ("stopped",),
        many(
            put("ClusterQueue", "spec stopPolicy", "Hold", named("vision", "recsys-batch")),
            put("ClusterQueue", "spec stopPolicy", "HoldAndDrain", named("speech", "vision-dev")),
        ),
    ),
    Operator(
        "local-queue-stopped",
        "kueue Part 2 #47",
        "stopPolicy left on a LocalQueue",
        ("stopped",),
        many(
            put("LocalQueue", "spec stopPolicy", "Hold"), put("LocalQueue", "spec stopPolicy", "HoldAndDrain")
        ),
        4,
    ),
    Operator(
        "strict-fifo",
        "kueue Part 2 #48",
        "a head that waits for one flavor blocks jobs of another",
        ("strict-head",),
        put(
            "ClusterQueue", "spec queueingStrategy", "StrictFIFO", named("research", "speech", "recsys-batch")
        ),
    ),
    Operator(
        "foreign-gate",
        "kueue Part 2 #50",
        "a scheduling gate that Kueue does not open",
        ("foreign-gate",),
        pods(_gate),
    ),
    Operator(
        "selector-unknown-key",
        "kueue Part 2 #51",
        "a nodeSelector key that no node has",
        ("selects-no-node",),
        pods(lambda t: _selector(t, "accelerator", "h100")),
    ),
    Operator(
        "selector-of-other-pool",
        "kueue Part 2 #51",
        "a nodeSelector for a pool that the queue does not have",
        ("no-matching-flavor",),
        pods(
            lambda t: _selector(t, "gpu.example.com/pool", "h100-serve"),
            lambda it: not it["metadata"]["namespace"].startswith("serving-"),
        ),
    ),
    Operator(
        "selector-of-no-pool",
        "kueue Part 2 #51, #52",
        "a nodeSelector for a pool that does not exist",
        ("no-matching-flavor", "selects-no-node"),
        pods(lambda t: _selector(t, "gpu.example.com/pool", "h100")),
    ),
    Operator(
        "group-count-high",
        "kueue Part 2 #86",
        "a pod group that waits for a pod that never comes",
        ("pod-group",),
        each(
            "Pod",
            named("probe-0", "probe-1"),
            lambda it: it["metadata"]["annotations"].update({"kueue.x-k8s.io/pod-group-total-count": "3"}),
        ),
    ),
    Operator(
        "group-count-dropped",
        "kueue 1b; Part 2 #86",
        "a group without its count, or a count without its group",
        ("pod-group", "refused"),
        many(drop("Pod", TOTAL), drop("Pod", f"{LABELS} kueue.x-k8s.io/pod-group-name")),
    ),
    Operator(
        "group-count-of-both",
        "kueue Part 2 #86",
        "both pods wait for a third",
        ("pod-group",),
        both(*(put("Pod", TOTAL, "3", named(n)) for n in ("probe-0", "probe-1"))),
    ),
    Operator(
        "group-in-two-queues",
        "kueue Part 2 #86",
        "the pods of a group name different queues",
        ("pod-group",),
        _group_member(lambda it: it["metadata"]["labels"].update({QUEUE: "batch"})),
    ),
    Operator(
        "group-priorities-differ",
        "kueue Part 2 #86",
        "the pods of a group name different classes",
        ("pod-group",),
        _group_member(lambda it: it["metadata"]["labels"].update({PRIORITY: "production"})),
    ),
    Operator(
        "exec-time-invalid",
        "kueue 1b",
        "a maximum execution time that is no positive number",
        ("refused",),
        many(
            *(
                put("Pod", f"{LABELS} kueue.x-k8s.io/max-exec-time-seconds", v, named("notebook-ana"))
                for v in ("0", "12h", "-5")
            )
        ),
    ),
    Operator(
        "partial-admission-invalid",
        "kueue 1b",
        "a minimal parallelism above the parallelism",
        ("refused",),
        put("Job", "metadata annotations", {"kueue.x-k8s.io/job-min-parallelism": "64"}),
    ),
    Operator(
        "local-queue-twice",
        "generic",
        "a LocalQueue a second time, to another ClusterQueue",
        ("ambiguous",),
        twice(
            "LocalQueue",
            lambda it: it["spec"].update(clusterQueue="speech"),
            lambda it: it["metadata"]["namespace"] != "team-speech",
        ),
        4,
    ),
)
