"""Which workloads Kueue manages, and the Workloads that it makes out of jobs.

Sources: the documentation pages "Run jobs", "Workload Priority Class", "Run plain pods", "Run
Deployments", "Run StatefulSets", "Run LeaderWorkerSet", "Elastic workloads"; facts 1b. What one job
becomes is here; what a whole cluster's jobs become is in ``assembly``.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.workload import Namespace, PodSet, PriorityClass, Workload
from policycheck.systems.core.podspec import plain_number
from policycheck.systems.kueue.model import Configuration, KueueWorkload, WorkloadPriorityClass

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MANAGED_LABEL = "kueue.x-k8s.io/managed"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"  # a label, or an annotation
ELASTIC = "kueue.x-k8s.io/elastic-job"
MAX_EXECUTION = "kueue.x-k8s.io/max-exec-time-seconds"
DEFAULT_QUEUE = "default"  # a LocalQueue of this name takes the jobs that name none
MAX_POD_SETS = 18
MAX_COPIES = 10_000  # Workloads that one object is turned into; a forged count stays harmless
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
    ("batch", "CronJob"): "batch/job",  # through the Jobs that it makes
    **{
        ("kubeflow.org", kind): f"kubeflow.org/{kind.lower()}"
        for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob")
    },
    ("trainer.kubeflow.org", "TrainJob"): "trainer.kubeflow.org/trainjob",
    ("workload.codeflare.dev", "AppWrapper"): "workload.codeflare.dev/appwrapper",
    ("sparkoperator.k8s.io", "SparkApplication"): "sparkoperator.k8s.io/sparkapplication",
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
    if not framework or (enabled is not None and framework not in enabled):
        return False  # no integration reads it: a queue name on it means nothing
    if queue_of(workload) or workload.labels.get(MANAGED_LABEL) == "true":
        return True
    return configuration.manage_jobs_without_queue_name


def prebuilt_of(workload: Workload) -> str:
    """The Workload that stands ready for this job; "" when Kueue makes one."""
    return workload.labels.get(PREBUILT, "") or workload.annotations.get(PREBUILT, "")


def is_elastic(workload: Workload) -> bool:
    """Whether the job may change its size while it runs (workload slices)."""
    return workload.annotations.get(ELASTIC) == "true"


def priority_of(
    workload: Workload,
    classes: Mapping[str, WorkloadPriorityClass],
    pod_classes: Mapping[str, PriorityClass],
) -> tuple[int, str]:
    """The effective priority and the class that gives it: label, job's class, pod's class, default."""
    name = workload.labels.get(PRIORITY_LABEL, "")
    if name:
        found = classes.get(name)
        return (found.value if found else 0), name
    named = workload.priority_class or next(
        (p.priority_class for p in workload.pod_sets if p.priority_class), ""
    )
    if named:
        pod_class = pod_classes.get(named)
        return (pod_class.value if pod_class else 0), named
    default = min((c.value for c in pod_classes.values() if c.is_default), default=0)
    return default, ""


def _pod_sets(workload: Workload) -> tuple[PodSet, ...]:
    least = plain_number(workload.annotations.get(MIN_PARALLELISM, ""))
    if not workload.pod_sets or least is None or is_elastic(workload):
        return workload.pod_sets
    first, *rest = workload.pod_sets
    return (first._replace(min_count=least), *rest)


def make(
    workload: Workload,
    priority: tuple[int, str],
    *,
    queue: str = "",
    name: str = "",
    pod_sets: tuple[PodSet, ...] | None = None,
) -> KueueWorkload:
    """The Workload that Kueue would create for a job that it manages.

    ``queue`` is for a job that names none; ``name`` and ``pod_sets`` for one that becomes several.
    """
    return KueueWorkload(
        namespace=workload.key.namespace,
        name=name or f"{workload.key.kind.lower()}-{workload.key.name}",
        queue=queue_of(workload) or queue,
        pod_sets=_pod_sets(workload) if pod_sets is None else pod_sets,
        priority=priority[0],
        priority_class=priority[1],
        created=workload.created,
        uid=workload.uid,
        labels=workload.labels,
        annotations=workload.annotations,
        owners=((workload.key.kind, workload.key.name),),
        max_execution_seconds=plain_number(workload.labels.get(MAX_EXECUTION, "")),
        source=workload.key,
    )


def make_all(workload: Workload, priority: tuple[int, str], *, queue: str = "") -> tuple[KueueWorkload, ...]:
    """Every Workload that one object becomes: as many as it has gangs that start independently.

    Each pod of a Deployment and each replica of a LeaderWorkerSet is admitted by itself, a
    StatefulSet as a whole. Nothing runs of an object with no replicas. At most MAX_COPIES.
    """
    if workload.nature == "service" and not any(p.pods for p in workload.pod_sets):
        return ()
    copies = min(workload.copies, MAX_COPIES)
    if copies <= 1:
        return (make(workload, priority, queue=queue),)
    each = tuple(p._replace(pods=p.pods // workload.copies) for p in workload.pod_sets)
    base = f"{workload.key.kind.lower()}-{workload.key.name}"
    return tuple(
        make(workload, priority, queue=queue, name=f"{base}-{n}", pod_sets=each) for n in range(copies)
    )
