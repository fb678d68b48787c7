"""Kubernetes itself: nodes, pods, jobs, deployments, namespaces, priority classes."""

KINDS = frozenset(
    {
        ("", "Node"),
        ("", "Pod"),
        ("", "Namespace"),
        ("", "LimitRange"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("node.k8s.io", "RuntimeClass"),
        ("resource.k8s.io", "ResourceSlice"),
        ("resource.k8s.io", "ResourceClaim"),
        ("resource.k8s.io", "ResourceClaimTemplate"),
    }
)
