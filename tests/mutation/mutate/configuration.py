"""Faults in Kueue's Configuration."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import Operator, add, both, configured, each, many, named

CLAIM = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: whole.gpu.example.com}
spec:
  selectors:
    - cel: {expression: device.driver == "gpu.nvidia.com"}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: whole, namespace: team-recsys}
spec:
  spec:
    devices:
      requests:
        - name: gpu
          exactly: {deviceClassName: whole.gpu.example.com, count: 1}
"""


def _claims(it: Object) -> None:
    spec = it["spec"]["template"]["spec"]
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "whole"}]
    spec["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]


def _job(change: Any) -> Any:
    return each("Job", named("feature-ablation"), change)


def wait(**changes: Any) -> Any:
    return lambda c: c["waitForPodsReady"].update(changes)


def requeue(**changes: Any) -> Any:
    return lambda c: c["waitForPodsReady"]["requeuingStrategy"].update(changes)


def transform(strategy: str, output: str) -> Any:
    return lambda c: c.update(
        resources={
            "transformations": [
                {"input": "nvidia.com/mig-1g.10gb", "strategy": strategy, "outputs": {output: "10Gi"}}
            ]
        }
    )


def mappings(*names: str) -> Any:
    return lambda c: c.update(
        resources={
            "deviceClassMappings": [
                {"name": name, "deviceClassNames": ["whole.gpu.example.com"]} for name in names
            ]
        }
    )


OPERATORS = (
    Operator(
        "metrics-off",
        "kueue Part 2 #82",
        "no quota and usage series",
        ("metrics-off",),
        many(
            configured(
                "metrics.enableClusterQueueResources false",
                lambda c: c["metrics"].update(enableClusterQueueResources=False),
            ),
            configured(
                "metrics.enableClusterQueueResources dropped",
                lambda c: c["metrics"].pop("enableClusterQueueResources"),
            ),
            configured("metrics dropped", lambda c: c.pop("metrics")),
        ),
    ),
    Operator(
        "wait-dropped",
        "kueue Part 2 #71",
        "0.19 waits by default, and requeues without end",
        ("wait-for-pods",),
        configured("waitForPodsReady dropped", lambda c: c.pop("waitForPodsReady")),
    ),
    Operator(
        "wait-without-end",
        "kueue Part 2 #71",
        "requeuing without a limit",
        ("wait-for-pods",),
        configured(
            "requeuingStrategy.backoffLimitCount dropped",
            lambda c: c["waitForPodsReady"]["requeuingStrategy"].pop("backoffLimitCount"),
        ),
    ),
    Operator(
        "wait-too-short",
        "kueue Part 2 #72",
        "a timeout shorter than a node takes to come",
        ("wait-for-pods",),
        many(configured("timeout 1m", wait(timeout="1m")), configured("timeout 5m", wait(timeout="5m"))),
    ),
    Operator(
        "wait-blocks",
        "kueue Part 2 #73",
        "one workload that is not ready blocks every queue",
        ("wait-blocks",),
        configured("blockAdmission true", wait(blockAdmission=True)),
    ),
    Operator(
        "wait-invalid",
        "kueue 1a Configuration",
        "durations and counts that are refused",
        ("refused",),
        many(
            configured("timeout -1m", wait(timeout="-1m")),
            configured("timeout 30", wait(timeout="30 minutes")),
            configured("backoffLimitCount -1", requeue(backoffLimitCount=-1)),
            configured("backoffBaseSeconds -1", requeue(backoffBaseSeconds=-1)),
            configured("timestamp Created", requeue(timestamp="Created")),
        ),
    ),
    Operator(
        "transformation-output-uncovered",
        "kueue Part 2 #81",
        "a transformation into a resource that no queue covers",
        ("transformation",),
        many(
            configured("Retain", transform("Retain", "example.com/gpu-memory")),
            configured("Replace", transform("Replace", "example.com/gpu-memory")),
        ),
    ),
    Operator(
        "transformation-invalid",
        "kueue 1a Configuration",
        "a strategy that does not exist",
        ("refused",),
        configured("Keep", transform("Keep", "memory")),
    ),
    Operator(
        "transformation-replaces-covered",
        "kueue Part 2 #80, #81",
        "the slices are replaced by memory: their own quota is never charged",
        ("transformation",),
        configured("Replace by memory", transform("Replace", "memory")),
    ),
    Operator(
        "prefix-excludes-gpus",
        "kueue 1a Configuration",
        "a prefix that takes every GPU out of the quota",
        ("excluded-resource",),
        many(
            configured(
                "excludeResourcePrefixes nvidia.com",
                lambda c: c.update(resources={"excludeResourcePrefixes": ["nvidia.com"]}),
            ),
            configured(
                "excludeResourcePrefixes memory",
                lambda c: c.update(resources={"excludeResourcePrefixes": ["mem"]}),
            ),
        ),
    ),
    Operator(
        "prefix-and-ignore",
        "kueue 1a Configuration",
        "prefixes beside IgnoreUndeclared",
        ("refused",),
        configured(
            "both",
            lambda c: c.update(
                resources={"excludeResourcePrefixes": ["rdma/"], "quotaCheckStrategy": "IgnoreUndeclared"}
            ),
        ),
    ),
    Operator(
        "claim-unmapped",
        "kueue Part 2 #78",
        "a claim for a device class that the Configuration does not map",
        ("claims",),
        both(add("ResourceClaimTemplate/whole", ("Job", "feature-ablation"), CLAIM), _job(_claims)),
    ),
    Operator(
        "mapping-uncovered",
        "kueue Part 2 #79",
        "a mapped device class that no queue covers",
        ("claims",),
        many(
            configured("deviceClassMappings", mappings("example.com/whole-gpus")),
            both(
                configured("deviceClassMappings", mappings("example.com/whole-gpus")),
                add("ResourceClaimTemplate/whole", ("Job", "feature-ablation"), CLAIM),
                _job(_claims),
            ),
        ),
    ),
    Operator(
        "mapping-twice",
        "kueue 1a Configuration",
        "a mapping or a device class that is there twice",
        ("refused",),
        many(
            configured("same name", mappings("a.example.com/gpu", "a.example.com/gpu")),
            configured("same class", mappings("a.example.com/gpu", "b.example.com/gpu")),
        ),
    ),
    Operator(
        "configuration-old-fields",
        "kueue 1a changes",
        "fields of v1beta1 in a v1beta2 Configuration",
        ("schema",),
        many(
            configured("waitForPodsReady.enable", wait(enable=True)),
            configured("fairSharing.enable", lambda c: c.update(fairSharing={"enable": False})),
            configured(
                "integrations.podOptions",
                lambda c: c["integrations"].update(podOptions={"namespaceSelector": {}}),
            ),
            configured("queueVisibility", lambda c: c.update(queueVisibility={"updateIntervalSeconds": 5})),
        ),
    ),
    Operator(
        "configuration-old-version",
        "kueue 1a changes, Part 2 #73",
        "v1beta1: waitForPodsReady is off unless enabled, and blocks",
        ("configuration-version", "wait-for-pods", "deprecated-version"),
        configured("apiVersion v1beta1", lambda c: c.update(apiVersion="config.kueue.x-k8s.io/v1beta1")),
    ),
    Operator(
        "configuration-misspelt",
        "generic",
        "a field of the Configuration is misspelt",
        ("schema",),
        many(
            configured(
                "manageJobsWithoutQueueNames",
                lambda c: c.update(manageJobsWithoutQueueNames=c.pop("manageJobsWithoutQueueName")),
            ),
            configured("waitForPodReady", lambda c: c.update(waitForPodReady=c.pop("waitForPodsReady"))),
            configured(
                "metrics.enableClusterQueueResource",
                lambda c: c["metrics"].update(
                    enableClusterQueueResource=c["metrics"].pop("enableClusterQueueResources")
                ),
            ),
            configured(
                "integrations.framework",
                lambda c: c["integrations"].update(framework=c["integrations"].pop("frameworks")),
            ),
        ),
    ),
    Operator(
        "configuration-type",
        "generic",
        "a value of another type",
        ("schema", "refused"),
        many(
            configured(
                "manageJobsWithoutQueueName 'yes'", lambda c: c.update(manageJobsWithoutQueueName="yes")
            ),
            configured("frameworks a word", lambda c: c["integrations"].update(frameworks="batch/job")),
            configured("clientConnection.qps 'fast'", lambda c: c["clientConnection"].update(qps="fast")),
        ),
    ),
    Operator(
        "gate-unknown",
        "kueue 1a gates",
        "a feature gate that does not exist in 0.19",
        ("gate-unknown",),
        many(
            configured(
                "TopologyAwareSheduling", lambda c: c.update(featureGates={"TopologyAwareSheduling": True})
            ),
            configured(
                "TASProfileLeastFreeCapacity",
                lambda c: c.update(featureGates={"TASProfileLeastFreeCapacity": True}),
            ),
        ),
    ),
    Operator(
        "topology-gate-off",
        "kueue 1a gates; Part 2 #62",
        "topology is asked for and its gate is off",
        ("gate-combination",),
        configured(
            "TopologyAwareScheduling false",
            lambda c: c.update(featureGates={"TopologyAwareScheduling": False}),
        ),
    ),
    Operator(
        "pod-selector-missing",
        "kueue Part 2 #43",
        "the pod integration, and jobs without a queue managed everywhere",
        ("manages-everything",),
        configured("managedJobsNamespaceSelector {}", lambda c: c.update(managedJobsNamespaceSelector={})),
    ),
    Operator(
        "only-default-framework",
        "kueue Part 2 #42",
        "no frameworks listed: only batch/job is on",
        ("framework-off",),
        configured("frameworks []", lambda c: c["integrations"].update(frameworks=[])),
    ),
    Operator(
        "local-queue-default",
        "kueue 1a LocalQueue",
        "a LocalQueue named default that leads nowhere: jobs without a label go there",
        ("cluster-queue-missing",),
        add(
            "LocalQueue/default",
            ("LocalQueue", "train"),
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: default, namespace: team-speech}\n"
            "spec: {clusterQueue: shared}\n",
        ),
    ),
    Operator(
        "pods-that-ask-gpus-excluded",
        "kueue Part 2 #37",
        "an admission that ignores what is not declared, under an old target",
        ("gate-combination", "refused"),
        configured(
            "IgnoreUndeclared without its gate",
            lambda c: c.update(
                resources={"quotaCheckStrategy": "IgnoreUndeclared"},
                featureGates={"QuotaCheckStrategy": False},
            ),
        ),
    ),
)
