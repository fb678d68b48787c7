"""Kueue: quota, queues, cohorts, and the decision that its scheduler takes."""

GROUP = "kueue.x-k8s.io"
CONFIG_GROUP = "config.kueue.x-k8s.io"

OBJECTS = tuple(
    (GROUP, kind)
    for kind in (
        "ClusterQueue",
        "Cohort",
        "LocalQueue",
        "ResourceFlavor",
        "Topology",
        "AdmissionCheck",
        "ProvisioningRequestConfig",
        "MultiKueueConfig",
        "MultiKueueCluster",
        "WorkloadPriorityClass",
        "Workload",
    )
)
KINDS = frozenset(
    {
        *OBJECTS,
        (CONFIG_GROUP, "Configuration"),
        ("", "ConfigMap"),  # may carry the Configuration
    }
)
