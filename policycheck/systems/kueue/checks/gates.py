"""Feature gates: names that Kueue does not know, and gates that switch off what the manifests use.

Source: the table of feature gates on Kueue's "Installation" page.
"""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.lint.hit import Hit, Related
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.kueue import CONFIG_GROUP, target
from policycheck.systems.kueue.checks.common import Found, Params, configured, core, documents, near, state
from policycheck.systems.kueue.fields import tables
from policycheck.systems.kueue.jobs import is_elastic, queue_of
from policycheck.systems.kueue.model import ClusterQueue, ResourceFlavor

# Gates that nothing here depends on and that exist in some supported version.
_OTHERS = frozenset(
    {
        "AdmissionGatedBy",
        "CustomMetricLabels",
        "DisableWaitForPodsReady",
        "DynamicResourceAllocation",
        "FlavorFungibilityImplicitPreferenceDefault",
        "HierarchicalCohorts",
        "KueueDRAIntegrationConsumableCapacity",
        "KueueDRAIntegrationExtendedResource",
        "KueueDRAIntegrationPartitionableDevices",
        "KueueDRARejectWorkloadsWhenDRADisabled",
        "LWSImmutableGroupSize",
        "LocalQueueDefaulting",
        "LocalQueueMetrics",
        "ManagedJobsNamespaceSelector",
        "ManagedJobsNamespaceSelectorAlwaysRespected",
        "MetricsForCohorts",
        "MultiKueue",
        "MultiKueueAdaptersForCustomJobs",
        "ObjectRetentionPolicies",
        "RejectUpdatesToCQWithInvalidOnFlavors",
        "SparkApplicationIntegration",
        "TASProfileLeastFreeCapacity",
        "TASProfileMostFreeCapacity",
        "TASValidateWorkloadSliceSize",
        "VisibilityOnDemand",
        "WorkloadPriorityClassDefaulting",
        "WorkloadResourceRequestsSummary",
        "WorkloadValidateResourcesAreNonNegative",
        "ConfigurableResourceTransformations",
    }
)
# Fields that only the v1beta1 Configuration has.
_GONE = {"queueVisibility": "v1beta2 has none; the visibility API takes its place"}
_REMOVED = ("TASProfileLeastFreeCapacity", "FlavorFungibilityImplicitPreferenceDefault")


def known_gates() -> frozenset[str]:
    """Every gate that is known here."""
    return _OTHERS | frozenset(target.gates(target.Target()))


def gate_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A gate that is one letter or two from one that exists: Kueue does not start with it."""
    where = configured(cluster)
    if where is None:
        return
    known = known_gates()
    for name in where.typed.feature_gates:
        other = near(name, known, 0.88) if name not in known else ""
        if other:
            yield Hit(where.id, ("featureGates", name), {"gate": name, "meant": other}, on_key=True)


def gate_removed(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A gate that went away with 0.17: Kueue does not start with it."""
    where = configured(cluster)
    if where is not None:
        for name in _REMOVED:
            if name in where.typed.feature_gates:
                yield Hit(where.id, ("featureGates", name), {"gate": name}, on_key=True)


def configuration_field(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A field at the top of the Configuration that is nearly one that exists, or is gone since v1beta2."""
    where = configured(cluster)
    if where is None:
        return
    known = tables()[CONFIG_GROUP, "Configuration"].root().fields
    for name in cluster.entries[where.id].facts.value:
        if name in known and name not in _GONE:
            continue
        other = _GONE.get(name, "") if where.typed.api_version.endswith("/v1beta2") else ""
        found = near(name, known, 0.85)
        hint = other or (f"did you mean {found}" if found and name not in known else "")
        if hint:
            right = "" if other else found
            yield Hit(where.id, (name,), {"field": name, "hint": hint, "right": right}, on_key=True)


def _set(cluster: Cluster, gate: str) -> bool | None:
    """What the Configuration says of a gate; None when it says nothing, or is not in sight."""
    where = configured(cluster)
    return where.typed.feature_gates.get(gate) if where is not None else None


def _placed(cluster: Cluster) -> Iterator[DocumentId]:
    for identity, facts in documents(cluster, "ResourceFlavor"):
        if isinstance(facts.typed, ResourceFlavor) and facts.typed.topology:
            yield identity


def _named(places: list[DocumentId]) -> str:
    return "1 flavor names a topology" if len(places) == 1 else f"{len(places)} flavors name a topology"


def topology_gate_off(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Flavors name a topology, and topology-aware scheduling is switched off."""
    where = configured(cluster)
    if where is not None and _set(cluster, "TopologyAwareScheduling") is False:
        places = list(_placed(cluster))
        if places:
            rest = tuple(Related(i, ("spec", "topologyName"), "names a topology") for i in places[:4])
            yield Hit(
                where.id, ("featureGates", "TopologyAwareScheduling"), {"flavors": _named(places)}, rest
            )


def topology_not_yet(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The same up to 0.13, where the gate is off unless it is set."""
    places = list(_placed(cluster))
    if places and _set(cluster, "TopologyAwareScheduling") is None:
        rest = tuple(Related(i, ("spec", "topologyName"), "this one too") for i in places[1:4])
        yield Hit(places[0], ("spec", "topologyName"), {"flavors": _named(places)}, rest)


def undeclared_gate_off(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """IgnoreUndeclared with its gate switched off: undeclared resources block as ever."""
    where = configured(cluster)
    if where is None or where.typed.quota_check_strategy != "IgnoreUndeclared":
        return
    if _set(cluster, "QuotaCheckStrategy") is False:
        yield Hit(where.id, ("resources", "quotaCheckStrategy"))


def undeclared_not_yet(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The same up to 0.18, where the gate is off unless it is set."""
    where = configured(cluster)
    if where is None or where.typed.quota_check_strategy != "IgnoreUndeclared":
        return
    if _set(cluster, "QuotaCheckStrategy") is None:
        yield Hit(where.id, ("resources", "quotaCheckStrategy"))


def sharing_not_yet(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """AdmissionFairSharing up to 0.14, where its gate is off unless it is set."""
    where = configured(cluster)
    is_set = where is not None and where.typed.admission_fair_sharing is not None
    if where is not None and is_set and _set(cluster, "AdmissionFairSharing") is not True:
        yield Hit(where.id, ("admissionFairSharing",))


def concurrent_gate_off(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A policy of concurrent admission, and the gate that reads it is off."""
    if configured(cluster) is None or _set(cluster, "ConcurrentAdmission") is True:
        return
    for identity, facts in documents(cluster, "ClusterQueue"):
        if isinstance(facts.typed, ClusterQueue) and facts.typed.concurrent is not None:
            values = {"queue": facts.typed.name}
            yield Hit(identity, ("spec", "concurrentAdmissionPolicy"), values)


def elastic_not_yet(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Elastic jobs up to 0.17, where their gate is off unless it is set."""
    if _set(cluster, "ElasticJobsViaWorkloadSlices") is True:
        return
    for key, workload in core(cluster).workloads.items():
        if is_elastic(workload) and queue_of(workload):
            for identity in cluster.index.ids(key):
                at: Path = ("metadata", "annotations", "kueue.x-k8s.io/elastic-job")
                yield Hit(identity, at, {"workload": str(key)})


def sorting_off(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Borrowing that preempts while priorities do not sort the cohort: victim and taker take turns."""
    where = configured(cluster)
    if where is None or _set(cluster, "PrioritySortingWithinCohort") is not False:
        return
    for name, queue in state(cluster).objects.cluster_queues.items():
        if queue.preemption.borrow_within_cohort.policy == "Never":
            continue
        at: Path = ("spec", "preemption", "borrowWithinCohort")
        rest = tuple(
            Related(identity, at, f"ClusterQueue {name} preempts to borrow")
            for identity, facts in documents(cluster, "ClusterQueue")
            if facts.key.name == name
        )[:1]
        yield Hit(where.id, ("featureGates", "PrioritySortingWithinCohort"), {"queue": name}, rest)
        return


def within_nominal_before(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Fair sharing before 0.17: borrowing in one flavor forfeits nominal quota in another (#9406)."""
    where = configured(cluster)
    if where is None or where.typed.fair_sharing is None:
        return
    for name, queue in state(cluster).objects.cluster_queues.items():
        flavors = [f.name for group in queue.groups for f in group.flavors]
        if queue.cohort and len(flavors) > 1:
            values = {"queue": name, "flavors": len(flavors)}
            yield Hit(where.id, ("fairSharing",), values)
            return


def excludes_before(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Before 0.16 excluded resources were left out of placement as well (#8838)."""
    where = configured(cluster)
    if where is not None and where.typed.exclude_prefixes and any(_placed(cluster)):
        values = {"prefixes": ", ".join(where.typed.exclude_prefixes)}
        yield Hit(where.id, ("resources", "excludeResourcePrefixes"), values)


def hot_swap_before(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """In 0.17 a taint that the flavor tolerates still counted as a failed node (#11152)."""
    found = state(cluster).objects
    if _set(cluster, "TASReplaceNodeOnNodeTaints") is False:
        return
    for identity, facts in documents(cluster, "ResourceFlavor"):
        flavor = facts.typed
        if not isinstance(flavor, ResourceFlavor) or not flavor.tolerations:
            continue
        topology = found.topologies.get(flavor.topology)
        if topology is not None and topology.levels[-1:] == ("kubernetes.io/hostname",):
            yield Hit(identity, ("spec", "tolerations"), {"flavor": flavor.name})
