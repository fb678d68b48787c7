"""Which workloads Kueue manages, and the Workload that it makes out of a job.

Sources: the documentation pages "Run jobs", "Workload Priority Class", "Run plain pods"; facts 1b.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.workload import Namespace, PodSet, PriorityClass, Workload
from policycheck.systems.kueue.model import Configuration, KueueWorkload, WorkloadPriorityClass

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MANAGED_LABEL = "kueue.x-k8s.io/managed"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
KUEUE_NAMESPACE = "kueue-system"
EXEMPT = ("kube-system", KUEUE_NAMESPACE)

# The framework name that has to be enabled for a kind (Configuration: integrations.frameworks).
FRAMEWORKS: Mapping[tuple[str, str], str] = {
    ("batch", "Job"): "batch/job",
    ("", "Pod"): "pod",
    ("apps", "Deployment"): "deployment",
    ("apps", "StatefulSet"): "statefulset",
    ("ray.io", "RayJob"): "ray.io/rayjob",
    ("ray.io", "RayCluster"): "ray.io/raycluster",
    ("ray.io", "RayService"): "ray.io/rayservice",
    ("jobset.x-k8s.io", "JobSet"): "jobset.x-k8s.io/jobset",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "leaderworkerset.x-k8s.io/leaderworkerset",
    ("kubeflow.org", "PyTorchJob"): "kubeflow.org/pytorchjob",
    ("kubeflow.org", "MPIJob"): "kubeflow.org/mpijob",
}


def queue_of(workload: Workload) -> str:
    """The LocalQueue that the object itself names; a label on its pod template does not count."""
    return workload.labels.get(QUEUE_LABEL, "")


def is_exempt(namespace: str, labels: Mapping[str, str], configuration: Configuration) -> bool:
    """Whether Kueue leaves a namespace alone (managedJobsNamespaceSelector, or its default)."""
    selector = configuration.managed_jobs_namespace_selector
    if selector is None:
        return namespace in EXEMPT
    return not selector.matches({**labels, "kubernetes.io/metadata.name": namespace})


def is_managed(workload: Workload, configuration: Configuration, namespaces: Mapping[str, Namespace]) -> bool:
    """Whether Kueue holds this workload back until it is admitted."""
    known = namespaces.get(workload.key.namespace)
    if is_exempt(workload.key.namespace, known.labels if known else {}, configuration):
        return False
    if workload.nature == "daemon":
        return False
    framework = FRAMEWORKS.get((workload.key.group, workload.key.kind), "")
    enabled = configuration.frameworks
    if enabled is not None and framework and framework not in enabled:
        return False
    if queue_of(workload) or workload.labels.get(MANAGED_LABEL) == "true":
        return True
    return configuration.manage_jobs_without_queue_name and workload.nature in ("batch", "pod")


def priority_of(
    workload: Workload,
    classes: Mapping[str, WorkloadPriorityClass],
    pod_classes: Mapping[str, PriorityClass],
) -> tuple[int, str]:
    """The effective priority and the class that gives it: label, then pod class, then default."""
    name = workload.labels.get(PRIORITY_LABEL, "")
    if name:
        found = classes.get(name)
        return (found.value if found else 0), name
    named = next((p.priority_class for p in workload.pod_sets if p.priority_class), "")
    if named:
        pod_class = pod_classes.get(named)
        return (pod_class.value if pod_class else 0), named
    default = min((c.value for c in pod_classes.values() if c.is_default), default=0)
    return default, ""


def _pod_sets(workload: Workload) -> tuple[PodSet, ...]:
    least = workload.annotations.get(MIN_PARALLELISM, "")
    if not (workload.pod_sets and least.isascii() and least.isdigit() and len(least) < 10):
        return workload.pod_sets
    first, *rest = workload.pod_sets
    return (first._replace(min_count=int(least)), *rest)


def make(workload: Workload, priority: tuple[int, str]) -> KueueWorkload:
    """The Workload that Kueue would create for a job that it manages."""
    return KueueWorkload(
        namespace=workload.key.namespace,
        name=f"{workload.key.kind.lower()}-{workload.key.name}",
        queue=queue_of(workload),
        pod_sets=_pod_sets(workload),
        priority=priority[0],
        priority_class=priority[1],
        created=workload.created,
        uid=workload.uid,
        labels=workload.labels,
        annotations=workload.annotations,
        owners=((workload.key.kind, workload.key.name),),
        source=workload.key,
    )
