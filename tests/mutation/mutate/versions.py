"""Faults that are none in 0.19.2: the version in sight is an older one."""

from __future__ import annotations

from typing import Any

from mutate.edits import Operator, add, both, configured, named, put

VERSION = "metadata labels app.kubernetes.io/version"
DEFAULT_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: default, namespace: monitoring}
spec: {clusterQueue: research}
"""
STRAY_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: report, namespace: monitoring}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: report
          image: images.example.com/platform/report:1
          resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 1Gi}}
"""


def at(version: str) -> Any:
    return put("ConfigMap", VERSION, version, named("kueue-manager-config"))


def _usage(inner: dict[str, Any]) -> None:
    weights = {"nvidia.com/gpu": 1, "cpu": 0, "memory": 0}
    inner["admissionFairSharing"] = {"usageHalfLifeTime": "168h", "resourceWeights": weights}


OPERATORS = (
    Operator(
        "target-without-topology",
        "kueue 1a gates; Part 2 #62, #68",
        "0.13: placement by topology is off unless its gate is set, and v1beta2 is not served",
        ("target",),
        at("v0.13.4"),
    ),
    Operator(
        "target-unknown",
        "kueue 1a versions",
        "a version that nobody has released",
        ("target",),
        at("v0.91.0"),
    ),
    Operator(
        "local-weight-zero-before-fix",
        "kueue Part 2 #33",
        "0.19.0: a LocalQueue of weight 0 is first instead of last",
        ("target", "weight-zero"),
        both(
            at("v0.19.0"),
            configured("admissionFairSharing", _usage),
            put("LocalQueue", "spec fairSharing", {"weight": "0"}, named("batch")),
            put(
                "ClusterQueue",
                "spec admissionScope",
                {"admissionMode": "UsageBasedAdmissionFairSharing"},
                named("vision-batch"),
            ),
        ),
    ),
    Operator(
        "default-queue-in-excluded-namespace",
        "kueue Part 2 #44",
        "0.19.0: a LocalQueue named default where nothing is managed suspends jobs for ever",
        ("target", "namespace-exempt"),
        both(
            at("v0.19.0"),
            add("LocalQueue/default", ("Namespace", "monitoring"), DEFAULT_QUEUE),
            add("Job/report", ("Namespace", "monitoring"), STRAY_JOB),
        ),
    ),
    Operator(
        "preference-before-fix",
        "kueue Part 2 #59",
        "0.19.0: preferring preemption outranks a flavor that fits",
        ("target",),
        both(
            at("v0.19.0"),
            put(
                "ClusterQueue",
                "spec flavorFungibility",
                {
                    "whenCanBorrow": "TryNextFlavor",
                    "whenCanPreempt": "TryNextFlavor",
                    "preference": "PreemptionOverBorrowing",
                },
                named("research"),
            ),
        ),
    ),
)
