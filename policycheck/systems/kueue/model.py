"""The complete typed state of Kueue: what its scheduler and its checks work on.

Types mirror the newest served API (v1beta2); field names are Kueue's in snake case. Amounts are
integers in base units (model.amount). What is absent in the manifest and has a default at the API
server holds the default here. Source: kueue.x-k8s.io/v1beta2 API reference.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.origin import ObjectKey
from policycheck.model.placement import Selector, Taint, Toleration
from policycheck.model.workload import PodSet
from policycheck.record import NamedTuple

GROUP = "kueue.x-k8s.io"


class Quota(NamedTuple):
    """Quota of one (flavor, resource). None means no limit is set."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class FlavorQuotas(NamedTuple):
    """One flavor of a resource group, with its quotas in the order written."""

    name: str
    resources: Mapping[str, Quota]


class ResourceGroup(NamedTuple):
    """Resources that take their flavor together; flavors in the order they are tried."""

    covered: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class BorrowWithinCohort(NamedTuple):
    """Whether borrowing preempts: policy Never or LowerPriority, up to a threshold."""

    policy: str = "Never"
    max_priority_threshold: int | None = None


class Preemption(NamedTuple):
    """Policies of the preempting queue. Defaults as the API server's."""

    within_cluster_queue: str = "Never"  # Never | LowerPriority | LowerOrNewerEqualPriority
    reclaim_within_cohort: str = "Never"  # Never | LowerPriority | Any
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


class FlavorFungibility(NamedTuple):
    """Whether to try the next flavor before borrowing or preempting in this one."""

    when_can_borrow: str = "MayStopSearch"  # MayStopSearch | TryNextFlavor
    when_can_preempt: str = "TryNextFlavor"
    preference: str = ""  # BorrowingOverPreemption | PreemptionOverBorrowing; "" unset


class CheckRule(NamedTuple):
    """An admission check of a queue; empty ``on_flavors`` means on all."""

    name: str
    on_flavors: tuple[str, ...] = ()


class ConcurrentAdmission(NamedTuple):
    """concurrentAdmissionPolicy (alpha)."""

    mode: str = ""
    last_acceptable_flavor: str = ""


class ClusterQueue(NamedTuple):
    """kueue.x-k8s.io ClusterQueue."""

    name: str
    cohort: str = ""  # cohortName; "" is none
    groups: tuple[ResourceGroup, ...] = ()
    namespace_selector: Selector | None = None  # None matches no namespace
    queueing_strategy: str = "BestEffortFIFO"
    preemption: Preemption = Preemption()
    fungibility: FlavorFungibility = FlavorFungibility()
    checks: tuple[CheckRule, ...] = ()
    stop_policy: str = "None"  # None | Hold | HoldAndDrain
    fair_weight: int | None = None  # fairSharing.weight in thousandths; None when unset (1000)
    admission_mode: str = ""  # admissionScope.admissionMode
    concurrent: ConcurrentAdmission | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    generation: int = 0
    deleting: bool = False


class Cohort(NamedTuple):
    """kueue.x-k8s.io Cohort. Its nominal quota is extra, on top of its children's."""

    name: str
    parent: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    fair_weight: int | None = None  # in thousandths


class LocalQueue(NamedTuple):
    """kueue.x-k8s.io LocalQueue."""

    namespace: str
    name: str
    cluster_queue: str
    stop_policy: str = "None"
    fair_weight: int | None = None  # in thousandths
    labels: Mapping[str, str] = {}
    deleting: bool = False


class ResourceFlavor(NamedTuple):
    """kueue.x-k8s.io ResourceFlavor."""

    name: str
    node_labels: Mapping[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""  # topologyName


class Topology(NamedTuple):
    """kueue.x-k8s.io Topology: node label keys from widest to tightest."""

    name: str
    levels: tuple[str, ...] = ()


class AdmissionCheck(NamedTuple):
    """kueue.x-k8s.io AdmissionCheck. ``active`` is None when no status is in sight."""

    name: str
    controller: str = ""
    parameters: ObjectKey | None = None
    active: bool | None = None


class ProvisioningRequestConfig(NamedTuple):
    """kueue.x-k8s.io ProvisioningRequestConfig. Empty ``managed_resources`` means all."""

    name: str
    provisioning_class: str = ""
    managed_resources: tuple[str, ...] = ()


class WorkloadPriorityClass(NamedTuple):
    """kueue.x-k8s.io WorkloadPriorityClass."""

    name: str
    value: int


class Condition(NamedTuple):
    """A status condition; ``since`` is lastTransitionTime, RFC 3339."""

    type: str
    status: bool
    reason: str = ""
    since: str = ""
    message: str = ""


class TopologyAssignment(NamedTuple):
    """Pods per topology domain: (level values, count)."""

    levels: tuple[str, ...]
    domains: tuple[tuple[tuple[str, ...], int], ...]


class PodSetAssignment(NamedTuple):
    """What a podset was given: flavor by resource and usage in base units."""

    name: str
    pods: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]
    topology: TopologyAssignment | None = None
    delayed_topology: str = ""  # delayedTopologyRequest: Pending | Ready


class Admission(NamedTuple):
    """status.admission."""

    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]


class CheckState(NamedTuple):
    """status.admissionChecks entry."""

    name: str
    state: str  # Pending | Retry | Rejected | Ready
    since: str = ""
    pod_set_updates: tuple[Mapping[str, object], ...] = ()
    retry_count: int = 0


class KueueWorkload(NamedTuple):
    """A Workload, written as such or made out of a job. ``priority`` is the effective one."""

    namespace: str
    name: str
    queue: str  # LocalQueue name
    pod_sets: tuple[PodSet, ...]
    priority: int = 0
    priority_class: str = ""
    created: str = ""  # RFC 3339; "" is the zero time
    uid: str = ""
    active: bool = True
    conditions: Mapping[str, Condition] = {}
    admission: Admission | None = None
    check_states: tuple[CheckState, ...] = ()
    reclaimable: Mapping[str, int] = {}
    requeue_at: str = ""
    requeue_count: int = 0
    unhealthy_nodes: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owners: tuple[tuple[str, str], ...] = ()  # (kind, name)
    preemption_gates: tuple[str, ...] = ()
    max_execution_seconds: int | None = None
    finished: bool = False
    source: ObjectKey | None = None  # the job it was made from
    nominated: Mapping[str, object] | None = None  # status fields of concurrent admission, as read
    status: Mapping[str, object] = {}
    deleting: bool = False

    @property
    def id(self) -> str:
        """Namespace + "/" + name."""
        return f"{self.namespace}/{self.name}"

    def has(self, condition: str) -> bool:
        """Whether the condition is True."""
        found = self.conditions.get(condition)
        return found is not None and found.status


class Transformation(NamedTuple):
    """resources.transformations entry. Output factors are exact quantities (Fraction as text)."""

    input: str
    strategy: str  # Retain | Replace
    outputs: Mapping[str, str]  # resource -> quantity text
    multiply_by: str = ""


class DeviceClassMapping(NamedTuple):
    """resources.deviceClassMappings entry."""

    name: str
    device_classes: tuple[str, ...]


class FairSharing(NamedTuple):
    """fairSharing of the Configuration: presence enables it."""

    preemption_strategies: tuple[str, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


class AdmissionFairSharing(NamedTuple):
    """admissionFairSharing of the Configuration; durations in seconds."""

    half_life: float = 0.0
    sampling: float = 300.0
    weights: Mapping[str, float] = {}


class WaitForPodsReady(NamedTuple):
    """waitForPodsReady; durations in seconds."""

    enabled: bool = True
    timeout: float = 1800.0
    recovery_timeout: float = 1800.0
    block_admission: bool = False
    requeuing_timestamp: str = "Eviction"  # Eviction | Creation
    backoff_limit: int | None = None
    backoff_base: float = 60.0
    backoff_max: float = 3600.0


class Configuration(NamedTuple):
    """config.kueue.x-k8s.io Configuration with its defaults (0.19)."""

    api_version: str = ""
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: Selector | None = None  # None: the default exemption
    frameworks: tuple[str, ...] | None = None  # None: not in sight
    exclude_prefixes: tuple[str, ...] = ()
    quota_check_strategy: str = "BlockUndeclared"  # | IgnoreUndeclared
    transformations: tuple[Transformation, ...] = ()
    device_classes: tuple[DeviceClassMapping, ...] = ()
    enable_cluster_queue_resources: bool = False
    feature_gates: Mapping[str, bool] = {}
    found: bool = False  # False: no Configuration in sight; every value above is a default


class KueueObjects(NamedTuple):
    """Every Kueue object of a scope, by name. What several documents define differently is in
    the Cluster's ``ambiguous``; here stands the first in document order.
    """

    cluster_queues: Mapping[str, ClusterQueue] = {}
    cohorts: Mapping[str, Cohort] = {}
    local_queues: Mapping[tuple[str, str], LocalQueue] = {}
    flavors: Mapping[str, ResourceFlavor] = {}
    topologies: Mapping[str, Topology] = {}
    checks: Mapping[str, AdmissionCheck] = {}
    provisioning: Mapping[str, ProvisioningRequestConfig] = {}
    priority_classes: Mapping[str, WorkloadPriorityClass] = {}
    workloads: Mapping[tuple[str, str], KueueWorkload] = {}
    configuration: Configuration = Configuration()
