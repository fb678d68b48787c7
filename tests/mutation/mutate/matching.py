"""Faults in how workloads, LocalQueues, namespaces and ClusterQueues find each other."""

from __future__ import annotations

from typing import Any

from mutate.base import Edit, Object, label
from mutate.edits import (
    LABELS,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    WORKLOADS,
    Operator,
    add,
    both,
    configured,
    drop,
    each,
    many,
    named,
    on,
    pods,
    put,
    reach,
    remove,
    rename,
    resources,
    swap,
    templates,
    twice,
)
from mutate.sharing import typo

KINDS = " ".join(WORKLOADS)
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
SELECTOR = "spec namespaceSelector"
TENANT = "gpu.example.com/tenant"


def _queued(it: Object) -> bool:
    return QUEUE in it["metadata"].get("labels", {})


def _to_template(it: Object) -> None:
    name = it["metadata"]["labels"].pop(QUEUE)
    for at in templates(it):
        reach(it, at).setdefault("metadata", {}).setdefault("labels", {})[QUEUE] = name


def _has_template(it: Object) -> bool:
    return _queued(it) and it["kind"] in ("Job", "Deployment", "RayJob", "StatefulSet")


def _into(key: str) -> Any:
    def change(it: Object) -> None:
        value = it["metadata"]["labels"].pop(key)
        it["metadata"].setdefault("annotations", {})[key] = value

    return change


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


def _foreign_namespace(world: Any) -> Any:
    """A workload that was copied to a namespace without that LocalQueue."""
    for ref, it in world.objects(*WORKLOADS):
        if (
            _queued(it)
            and it["metadata"]["namespace"] != "team-foundation"
            and it["metadata"]["labels"][QUEUE] != "train"
        ):
            yield Edit(label(it), ((ref, on(lambda o: o["metadata"].update(namespace="team-foundation"))),))


def _group_member(change: Any) -> Any:
    return each("Pod", named("probe-1"), change)


TOTAL = "metadata annotations kueue.x-k8s.io/pod-group-total-count"
OUTSIDE = ("outside-queue",)
OPERATORS = (
    Operator(
        "selector-dropped",
        "kueue Part 2 #39",
        "no namespaceSelector: no namespace at all",
        ("selector-none",),
        drop("ClusterQueue", SELECTOR),
        8,
    ),
    Operator(
        "selector-null",
        "kueue Part 2 #39",
        "a namespaceSelector of null",
        ("selector-none",),
        many(
            each(
                "ClusterQueue",
                named("vision", "speech"),
                lambda it: it["spec"].update(namespaceSelector=None),
            )
        ),
    ),
    Operator(
        "selector-value",
        "kueue Part 2 #39, #40",
        "a selector that matches no namespace",
        ("selector-mismatch",),
        swap("ClusterQueue", f"{SELECTOR} matchLabels {TENANT}", typo),
        8,
    ),
    Operator(
        "selector-key",
        "kueue Part 2 #39, #40",
        "a selector with a key that no namespace has",
        ("selector-mismatch",),
        rename("ClusterQueue", f"{SELECTOR} matchLabels {TENANT}", "gpu.example.com/team"),
    ),
    Operator(
        "selector-of-neighbour",
        "kueue Part 2 #40",
        "a selector for another team",
        ("selector-mismatch",),
        put(
            "ClusterQueue",
            f"{SELECTOR} matchLabels {TENANT}",
            "speech",
            named("vision", "recsys", "research-dev"),
        ),
    ),
    Operator(
        "namespace-label-dropped",
        "kueue Part 2 #39, #43",
        "a namespace lost the tenant's label",
        ("selector-mismatch", "namespace-exempt"),
        drop("Namespace", f"{LABELS} {TENANT}"),
        7,
    ),
    Operator(
        "namespace-label-swapped",
        "kueue Part 2 #39",
        "a namespace has the label of another tenant",
        ("selector-mismatch",),
        put("Namespace", f"{LABELS} {TENANT}", "vision", named("team-speech", "team-recsys", "serving-ray")),
    ),
    Operator(
        "cluster-queue-misspelt",
        "kueue Part 2 #40",
        "a LocalQueue names a ClusterQueue that is not there",
        ("cluster-queue-missing",),
        swap("LocalQueue", "spec clusterQueue", typo),
    ),
    Operator(
        "cluster-queue-gone",
        "kueue Part 2 #40",
        "a ClusterQueue is removed, its LocalQueues stay",
        ("cluster-queue-missing",),
        remove("ClusterQueue"),
        8,
    ),
    Operator(
        "cluster-queue-renamed",
        "kueue Part 2 #40",
        "a ClusterQueue is renamed, its LocalQueues are not",
        ("cluster-queue-missing",),
        swap("ClusterQueue", "metadata name", lambda old: f"{old}-gpu"),
    ),
    Operator(
        "local-queue-gone",
        "kueue Part 2 #40",
        "a LocalQueue that workloads name is removed",
        ("local-queue-missing",),
        remove("LocalQueue"),
        8,
    ),
    Operator(
        "local-queue-elsewhere",
        "kueue Part 2 #40",
        "a LocalQueue in the wrong namespace",
        ("local-queue-missing", "selector-mismatch"),
        put("LocalQueue", "metadata namespace", "monitoring", named("train", "dev", "serving")),
    ),
    Operator(
        "queue-name-misspelt",
        "kueue Part 2 #40",
        "a workload names a LocalQueue that is not there",
        ("local-queue-missing",),
        swap(KINDS, QUEUE_LABEL, typo),
        8,
    ),
    Operator(
        "queue-name-of-cluster-queue",
        "kueue Part 2 #40",
        "a workload names the ClusterQueue instead of the LocalQueue",
        ("local-queue-missing",),
        put(KINDS, QUEUE_LABEL, "foundation", lambda it: it["metadata"]["namespace"] == "team-foundation"),
    ),
    Operator(
        "queue-in-other-namespace",
        "kueue Part 2 #40",
        "a workload in a namespace without that LocalQueue",
        ("local-queue-missing",),
        _foreign_namespace,
    ),
    Operator(
        "queue-label-on-template",
        "kueue Part 2 #41",
        "the label on the pod template alone",
        ("label-on-template",),
        each(KINDS, _has_template, _to_template),
        8,
    ),
    Operator(
        "queue-label-dropped",
        "kueue Part 2 #41, #43; systems M68",
        "no queue label",
        OUTSIDE,
        drop(KINDS, QUEUE_LABEL),
        10,
    ),
    Operator(
        "queue-label-misspelt",
        "kueue Part 2 #41",
        "the key of the queue label is misspelt",
        (*OUTSIDE, "unknown-label"),
        rename(KINDS, QUEUE_LABEL, "kueue.x-k8s.io/queuename"),
    ),
    Operator(
        "queue-label-as-annotation",
        "kueue 1b",
        "the queue's name as an annotation",
        (*OUTSIDE, "unknown-label"),
        each(KINDS, _queued, _into(QUEUE)),
    ),
    Operator(
        "queue-label-empty",
        "kueue 1b",
        "an empty queue label",
        ("refused", *OUTSIDE),
        put(KINDS, QUEUE_LABEL, "", _queued),
    ),
    Operator(
        "queue-label-invalid",
        "kueue 1b",
        "a queue label that is no DNS name",
        ("refused", "local-queue-missing"),
        put(KINDS, QUEUE_LABEL, "Train_Queue", _queued),
    ),
    Operator(
        "priority-misspelt",
        "kueue Part 2 #30",
        "a priority class that is not there",
        ("priority-class-missing",),
        swap(KINDS, PRIORITY_LABEL, typo),
        8,
    ),
    Operator(
        "priority-of-pods",
        "kueue Part 2 #30",
        "the label names a PriorityClass",
        ("priority-class-missing",),
        put(KINDS, PRIORITY_LABEL, "batch", _queued),
    ),
    Operator(
        "priority-class-gone",
        "kueue Part 2 #30",
        "a WorkloadPriorityClass that workloads name is removed",
        ("priority-class-missing",),
        remove("WorkloadPriorityClass"),
    ),
    Operator(
        "priority-label-as-annotation",
        "kueue 1b",
        "the class as an annotation: not read",
        ("unknown-label",),
        each(KINDS, _queued, _into(PRIORITY)),
        3,
    ),
    Operator(
        "pod-priority-missing",
        "kueue Part 2 #29; systems 4.1",
        "pods name a PriorityClass that is not there: refused at creation",
        ("pod-priority-missing",),
        pods(lambda t: t["spec"].update(priorityClassName="bacth")),
    ),
    Operator(
        "pod-priority-class-gone",
        "kueue Part 2 #29; systems 4.1",
        "a PriorityClass that pods name is removed",
        ("pod-priority-missing",),
        remove("PriorityClass"),
    ),
    Operator(
        "pod-priority-of-serving",
        "kueue Part 2 #29",
        "training pods with the preempting class of serving",
        ("pod-priority-preempts",),
        pods(
            lambda t: t["spec"].update(priorityClassName="serving-critical"),
            lambda it: it["metadata"]["namespace"].startswith("team-"),
        ),
    ),
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
