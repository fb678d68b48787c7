"""Faults in admission checks and in Kueue's Configuration."""

from __future__ import annotations

from mutate.edits import Operator, add, both, drop, many, named, put, remove, swap
from mutate.sharing import typo

CHECK = "AdmissionCheck"
REQUEST = "ProvisioningRequestConfig"
LIST = "spec admissionChecksStrategy admissionChecks"

MULTI = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: elsewhere}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: elsewhere}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: elsewhere}
spec: {clusters: [south]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: south}
spec: {clusterSource: {kubeConfig: {location: south, locationType: Secret}}}
"""


OPERATORS = (
    Operator(
        "check-misspelt",
        "kueue Part 2 #76",
        "a queue names a check that is not there",
        ("check-missing",),
        put("ClusterQueue", f"{LIST} 0 name", "spot-node", named("recsys-batch")),
    ),
    Operator(
        "check-gone",
        "kueue Part 2 #76",
        "a check that a queue names is removed",
        ("check-missing",),
        remove(CHECK),
    ),
    Operator(
        "check-controller",
        "kueue Part 2 #76",
        "a controller that nobody runs under that name",
        ("check-controller", "matches-no-node"),
        many(
            put(CHECK, "spec controllerName", "kueue.x-k8s.io/provisioning-requests"),
            put(CHECK, "spec controllerName", "kueue.x-k8s.io/provisioningrequest"),
        ),
    ),
    Operator(
        "check-parameters-misspelt",
        "kueue Part 2 #76",
        "parameters that are not there",
        ("check-parameters",),
        swap(CHECK, "spec parameters name", typo),
    ),
    Operator(
        "check-parameters-gone",
        "kueue Part 2 #76",
        "the parameters of a check are removed",
        ("check-parameters",),
        remove(REQUEST),
    ),
    Operator(
        "check-parameters-kind",
        "kueue Part 2 #76",
        "parameters of a kind that the controller does not read",
        ("check-parameters",),
        many(
            put(CHECK, "spec parameters kind", "MultiKueueConfig"),
            put(CHECK, "spec parameters apiGroup", "autoscaling.x-k8s.io"),
        ),
    ),
    Operator(
        "check-without-parameters",
        "kueue Part 2 #76",
        "a provisioning check without parameters",
        ("check-parameters",),
        drop(CHECK, "spec parameters"),
    ),
    Operator(
        "check-without-controller",
        "kueue 1a AdmissionCheck",
        "a check without controller",
        ("refused",),
        drop(CHECK, "spec controllerName"),
    ),
    Operator(
        "two-kinds-of-checks",
        "kueue Part 2 #75",
        "provisioning and MultiKueue on one queue",
        ("check-combination",),
        both(
            add("AdmissionCheck/elsewhere", (CHECK, "spot-nodes"), MULTI),
            put(
                "ClusterQueue",
                f"{LIST}",
                [{"name": "spot-nodes", "onFlavors": ["l4-spot"]}, {"name": "elsewhere"}],
                named("recsys-batch"),
            ),
        ),
    ),
    Operator(
        "multikueue-on-a-flavor",
        "kueue Part 2 #75",
        "MultiKueue for one flavor only",
        ("check-combination",),
        both(
            add("AdmissionCheck/elsewhere", (CHECK, "spot-nodes"), MULTI),
            put(
                "ClusterQueue",
                f"{LIST}",
                [{"name": "elsewhere", "onFlavors": ["l4-spot"]}],
                named("recsys-batch"),
            ),
        ),
    ),
    Operator(
        "provisioning-queued",
        "kueue Part 2 #74",
        "queued provisioning: quota is held for as long as it takes",
        ("provisioning-holds-quota",),
        put(REQUEST, "spec provisioningClassName", "queued-provisioning.gke.io"),
    ),
    Operator(
        "provisioning-other-resource",
        "kueue Part 2 #69",
        "the check provisions for a resource that nobody asks for",
        ("provisioning-resource",),
        put(REQUEST, "spec managedResources 0", "nvidia.com/gpus"),
    ),
    Operator(
        "provisioning-class-missing",
        "kueue 1a ProvisioningRequestConfig",
        "no class",
        ("refused",),
        drop(REQUEST, "spec provisioningClassName"),
    ),
)
