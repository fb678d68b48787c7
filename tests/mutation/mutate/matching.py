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
    configured,
    drop,
    each,
    given,
    many,
    named,
    on,
    pods,
    put,
    reach,
    remove,
    rename,
    swap,
    templates,
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


def _foreign_namespace(world: Any) -> Any:
    """A workload that was copied to a namespace without that LocalQueue."""
    for ref, it in world.objects(*WORKLOADS):
        if (
            _queued(it)
            and it["metadata"]["namespace"] != "team-foundation"
            and it["metadata"]["labels"][QUEUE] != "train"
        ):
            yield Edit(label(it), ((ref, on(lambda o: o["metadata"].update(namespace="team-foundation"))),))


UNMANAGED = configured(
    "manageJobsWithoutQueueName false", lambda c: c.update(manageJobsWithoutQueueName=False)
)
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
        "queue-label-dropped-unmanaged",
        "kueue Part 2 #41; systems M68",
        "no queue label, where such workloads are left alone: they run beside the quota",
        OUTSIDE,
        given(UNMANAGED, drop(KINDS, QUEUE_LABEL)),
    ),
    Operator(
        "queue-label-on-template-unmanaged",
        "kueue Part 2 #41",
        "the label on the pod template alone, where workloads without one are left alone",
        ("label-on-template",),
        given(UNMANAGED, each(KINDS, _has_template, _to_template)),
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
)
