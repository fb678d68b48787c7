"""Faults in what workloads ask of quotas, and in quotas that are refused."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    GPU,
    Operator,
    always,
    both,
    but,
    drop,
    each,
    many,
    named,
    put,
    resources,
    swap,
)
from mutate.quota import QUOTA, cell, set_to


def _starved(c: Object) -> None:
    c.update(nominalQuota=1, borrowingLimit=0)
    c.pop("lendingLimit", None)


def _extra_resource(amount: str) -> Any:
    def change(it: Object) -> None:
        for group in it["spec"]["resourceGroups"]:
            group["coveredResources"].append("rdma/hca")
            for flavor in group["flavors"]:
                flavor["resources"].append({"name": "rdma/hca", "nominalQuota": amount})

    return change


def _uncover(resource: str) -> Any:
    def change(it: Object) -> None:
        for group in it["spec"]["resourceGroups"]:
            group["coveredResources"] = [r for r in group["coveredResources"] if not r.startswith(resource)]
            for flavor in group["flavors"]:
                flavor["resources"] = [r for r in flavor["resources"] if not r["name"].startswith(resource)]

    return change


def _ask(resource: str, amount: str) -> Any:
    def change(found_: Object) -> None:
        for part in ("requests", "limits"):
            found_[part][resource] = amount

    return change


def _crowd(group: Object) -> Object:
    return {**group, "replicas": group["replicas"] * 20, "maxReplicas": group["maxReplicas"] * 20}


def _whole(it: Object) -> bool:
    """Asks for whole GPUs, on H100s or A100s that are not sliced."""
    return "nvidia.com/mig-" not in str(it["spec"])


def _only_gpus(it: Object) -> None:
    group = it["spec"]["resourceGroups"][0]
    group["coveredResources"] = ["cpu", "memory", GPU]
    group["flavors"][0]["resources"] = [
        *group["flavors"][0]["resources"][:2],
        {"name": GPU, "nominalQuota": 8},
    ]


OPERATORS = (
    Operator(
        "queue-below-its-jobs",
        "kueue Part 2 #8",
        "1 GPU, nothing borrowed, and larger jobs in the queue",
        ("exceeds-limits",),
        # What finds no place in recsys-batch goes to its spot flavor.
        but(cell(GPU, _starved, ("h100-train", "l4-batch", "a100-full")), "recsys-batch"),
    ),
    Operator(
        "slices-none",
        "kueue Part 2 #8, #38, #80",
        "a slice that a workload asks for has quota 0 and borrows nothing",
        ("exceeds-limits", "covered-but-zero"),
        cell("nvidia.com/mig-", lambda c: c.update(nominalQuota=0, borrowingLimit=0)),
    ),
    Operator(
        "job-forty-times",
        "kueue Part 2 #8",
        "forty times the pods",
        ("exceeds-limits",),
        each(
            "Job",
            always,
            lambda it: it["spec"].update(
                parallelism=it["spec"]["parallelism"] * 40, completions=it["spec"]["completions"] * 40
            ),
        ),
    ),
    Operator(
        "replicas-beyond-limits",
        "kueue Part 2 #8",
        "more replicas than the queue can ever hold",
        ("exceeds-limits",),
        many(
            put("Deployment", "spec replicas", 40, named("playground", "reranker")),
            put("StatefulSet", "spec replicas", 600),
            swap("RayService RayJob", "spec * workerGroupSpecs *", _crowd),
        ),
    ),
    Operator(
        "pod-asks-16-gpus",
        "kueue Part 2 #2",
        "more GPUs in a pod than a node has",
        ("larger-than-node",),
        resources(_ask(GPU, "16"), _whole),
    ),
    Operator(
        "pod-asks-too-much-cpu",
        "kueue Part 2 #2, #5",
        "as much cpu as the node has in capacity: more than allocatable",
        ("larger-than-node",),
        resources(lambda r: r["requests"].update(cpu="192"), _whole),
    ),
    Operator(
        "pod-asks-too-much-memory",
        "kueue Part 2 #2, #6",
        "memory in Ti instead of Gi",
        ("larger-than-node", "exceeds-limits"),
        resources(
            lambda r: [r[k].update(memory=r[k]["memory"].replace("Gi", "Ti")) for k in ("requests", "limits")]
        ),
    ),
    Operator(
        "pod-memory-in-bytes",
        "kueue Part 2 #6",
        "memory of a pod without its unit",
        ("unit-slip-request",),
        resources(
            lambda r: [r[k].update(memory=r[k]["memory"].removesuffix("Gi")) for k in ("requests", "limits")]
        ),
    ),
    Operator(
        "pod-asks-rdma",
        "kueue Part 2 #37",
        "a resource that no queue covers",
        ("uncovered-resource",),
        resources(_ask("rdma/hca", "1")),
    ),
    Operator(
        "pod-asks-ephemeral-storage",
        "kueue Part 2 #37",
        "ephemeral storage, which no queue covers",
        ("uncovered-resource",),
        resources(_ask("ephemeral-storage", "100Gi")),
    ),
    Operator(
        "queue-covers-no-memory",
        "kueue Part 2 #37",
        "memory (or cpu) is no longer covered",
        ("uncovered-resource",),
        many(
            each(
                "ClusterQueue",
                named("foundation", "vision", "recsys-batch", "research-dev"),
                _uncover("memory"),
            ),
            each("ClusterQueue", named("speech", "vision-batch", "vision-dev"), _uncover("cpu")),
        ),
        7,
    ),
    Operator(
        "queue-covers-no-gpu",
        "kueue Part 2 #37, #80",
        "the accelerators are no longer covered",
        ("uncovered-resource",),
        each(
            "ClusterQueue",
            named("foundation", "vision", "speech", "vision-dev", "recsys-batch"),
            _uncover("nvidia.com/"),
        ),
    ),
    Operator(
        "covered-with-zero",
        "kueue Part 2 #38",
        "a resource is covered with 0 in every queue of the cohort",
        ("covered-but-zero",),
        each("ClusterQueue", named("foundation", "vision", "vision-batch"), _extra_resource("0")),
    ),
    Operator(
        "covered-with-zero-and-asked",
        "kueue Part 2 #38",
        "the same, and a job asks for it",
        ("covered-but-zero", "exceeds-limits"),
        many(
            both(
                each("ClusterQueue", named("foundation"), _extra_resource("0")),
                resources(_ask("rdma/hca", "1"), named("pretrain-32b")),
            ),
            both(
                each("ClusterQueue", named("vision"), _extra_resource("0")),
                resources(_ask("rdma/hca", "1"), named("detector")),
            ),
        ),
    ),
    Operator(
        "gpu-where-slices-are",
        "kueue Part 2 #80",
        "the queue counts GPUs of a pool that offers slices only",
        ("uncovered-resource", "guarantees-beyond-hardware"),
        each("ClusterQueue", named("vision-dev", "speech-dev", "research-dev"), _only_gpus),
    ),
    Operator(
        "nominal-negative",
        "kueue 1a ClusterQueue",
        "a negative quota",
        ("refused",),
        many(cell(GPU, set_to(-1)), cell("cpu", set_to("-8"))),
    ),
    Operator(
        "nominal-no-quantity",
        "kueue 1a ClusterQueue",
        "a quota that is no quantity",
        ("refused",),
        many(cell(GPU, set_to("eight")), cell("memory", set_to("64 Gi")), cell("memory", set_to("64GB"))),
    ),
    Operator(
        "nominal-missing",
        "kueue 1a ClusterQueue",
        "a quota is left out",
        ("refused",),
        drop("ClusterQueue Cohort", QUOTA),
    ),
)
