"""Which Kueue is assumed: version and feature gates, read here once and turned into strategy values.

No decision reads a gate. Defaults per version: Kueue's "Installation" page, table of feature gates;
a gate that is set to false turns off those that depend on it, set to true it turns on those it needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from policycheck.record import NamedTuple

LATEST = (0, 20)
OLDEST = (0, 13)  # the first and the last version whose behaviour is known here are this and LATEST
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:[.\-+].*)?\Z", re.ASCII)

# From which minor version of 0.x the default is what; before the first entry the gate does not exist.
_GATES: Mapping[str, tuple[tuple[int, bool], ...]] = {
    "AdmissionFairSharing": ((12, False), (15, True)),
    "AdmissionGatedBy": ((17, False), (19, True)),
    "ConcurrentAdmission": ((18, False),),
    "ElasticJobsViaWorkloadSlices": ((13, False), (18, True)),
    "ElasticJobsViaWorkloadSlicesWithTAS": ((14, False),),
    "FairSharingPreemptWithinNominal": ((17, True),),
    "FairSharingPrioritizeNonBorrowing": ((17, True),),
    "FlavorFungibility": ((5, True),),
    "FlavorFungibilityPreserveScanProgress": ((20, True),),
    "KueueDRAIntegration": ((18, True),),
    "KueueDRAIntegrationConsumableCapacity": ((19, False),),
    "KueueDRAIntegrationExtendedResource": ((18, False), (19, True)),
    "KueueDRAIntegrationPartitionableDevices": ((18, False), (19, True)),
    "LendingLimit": ((9, True),),
    "MultiKueueOrchestratedPreemption": ((17, False),),
    "PartialAdmission": ((5, True),),
    "PrioritizePreemptorWorkloads": ((19, False),),
    "PriorityBoost": ((17, False),),
    "PrioritySortingWithinCohort": ((6, True),),
    "QuotaCheckStrategy": ((18, False), (19, True)),
    "ReclaimablePods": ((15, True),),
    "RecomputeAssignmentUponPreemptionTargetsOverlap": ((20, True),),
    "SchedulingEquivalenceHashing": ((17, False), (18, True)),
    "SkipReassignmentForPodOwnedWorkloads": ((19, True),),
    "TASBalancedPlacement": ((15, False),),
    "TASFailedNodeReplacement": ((12, False), (14, True)),
    "TASFailedNodeReplacementFailFast": ((12, False), (14, True)),
    "TASHandleOverlappingFlavors": ((18, True),),
    "TASMultiLayerTopology": ((17, False), (19, True)),
    "TASProfileMixed": ((10, False), (15, True)),
    "TASRecomputeAssignmentWithinSchedulingCycle": ((19, True),),
    "TASReplaceNodeDueToNotReadyOverFixedTime": ((17, True), (19, False)),
    "TASReplaceNodeOnNodeTaints": ((17, True),),
    "TASReplaceNodeOnPodTermination": ((13, False), (14, True)),
    "TASRespectNodeAffinityPreferred": ((18, False),),
    "TopologyAwareScheduling": ((9, False), (14, True)),
    "UnadmittedWorkloadsExplicitStatus": ((19, False),),
    "UnadmittedWorkloadsObservability": ((19, True),),
    "WaitForPodsReadyDefault": ((19, True),),  # not a gate of Kueue's: waitForPodsReady is on unconfigured
}
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "ElasticJobsViaWorkloadSlicesWithTAS": ("ElasticJobsViaWorkloadSlices", "TopologyAwareScheduling"),
    "FlavorFungibilityPreserveScanProgress": ("FlavorFungibility",),
    "KueueDRAIntegrationConsumableCapacity": ("KueueDRAIntegration",),
    "KueueDRAIntegrationExtendedResource": ("KueueDRAIntegration",),
    "KueueDRAIntegrationPartitionableDevices": ("KueueDRAIntegration",),
    "TASBalancedPlacement": ("TopologyAwareScheduling",),
    "TASFailedNodeReplacement": ("TopologyAwareScheduling",),
    "TASFailedNodeReplacementFailFast": ("TASFailedNodeReplacement", "TopologyAwareScheduling"),
    "TASHandleOverlappingFlavors": ("TopologyAwareScheduling",),
    "TASMultiLayerTopology": ("TopologyAwareScheduling",),
    "TASProfileMixed": ("TopologyAwareScheduling",),
    "TASRecomputeAssignmentWithinSchedulingCycle": ("TopologyAwareScheduling",),
    "TASReplaceNodeDueToNotReadyOverFixedTime": ("TASFailedNodeReplacement", "TopologyAwareScheduling"),
    "TASReplaceNodeOnNodeTaints": ("TopologyAwareScheduling",),
    "TASReplaceNodeOnPodTermination": ("TopologyAwareScheduling",),
    "TASRespectNodeAffinityPreferred": ("TopologyAwareScheduling",),
    "UnadmittedWorkloadsExplicitStatus": ("UnadmittedWorkloadsObservability",),
}


class TargetError(ValueError):
    """The version or a gate cannot be understood; the message says what is allowed."""


class Target(NamedTuple):
    """The Kueue that is assumed. ``version`` is (major, minor); ``gates`` are those set by hand."""

    version: tuple[int, int] = LATEST
    gates: Mapping[str, bool] = {}
    assumed: bool = True  # nothing in sight said it


class Strategy(NamedTuple):
    """What version and gates mean for decisions; every field is one way of deciding."""

    partial_admission: bool
    fungibility: bool  # False: first flavor that fits, whatever whenCanBorrow and whenCanPreempt say
    keeps_scan: bool  # the flavor scan survives a release of quota
    priority_within_cohort: bool
    equivalence: bool  # workloads of one shape are parked together
    recomputes_overlap: bool
    reclaimable_pods: bool
    lending: bool
    within_nominal: bool  # fair sharing: a queue within nominal takes what it is owed, shares aside
    nominal_first: bool  # fair sharing: who does not borrow goes first
    admission_fair_sharing: bool
    ignores_undeclared: bool  # quotaCheckStrategy is heeded
    priority_boost: bool
    preemptors_first: bool
    preemption_gates: bool
    concurrent: bool
    elastic: bool
    dra: bool
    observes: bool  # the reasons of 0.19 (WaitingForQuota, ...) rather than "Pending"
    topology: bool
    topology_mixed: bool
    topology_recomputes: bool
    topology_multi_layer: bool
    topology_overlapping: bool
    topology_balanced: bool
    topology_prefers_affinity: bool
    topology_replaces: bool
    topology_fail_fast: bool
    topology_keeps_pod_owned: bool  # a workload of a single pod keeps its node, even a failed one
    topology_elastic: bool
    own_label_keys: bool  # affinity is held against the flavor's own labels, not the group's (#12446)


def parse_version(text: str) -> tuple[int, int]:
    """``0.19``, ``v0.19.2`` or ``0.20.0-devel`` as (major, minor). Raises TargetError."""
    match = _VERSION.match(text.strip())
    if not match:
        raise TargetError(f"{text!r} is not a version of Kueue; write it as in 0.19")
    return int(match.group(1)), int(match.group(2))


def default(gate: str, version: tuple[int, int]) -> bool | None:
    """The gate's default in ``version``; None when nothing here depends on it."""
    table = _GATES.get(gate)
    if table is None:
        return None
    reached = [on for since, on in table if (0, since) <= version]
    return reached[-1] if reached else False


def gates(target: Target) -> dict[str, bool]:
    """Every known gate's state: defaults of the version, what is set, and what follows from it."""
    state = {gate: bool(default(gate, target.version)) for gate in _GATES}
    state.update({k: v for k, v in target.gates.items() if k in _GATES})
    needed = {need for gate, on in target.gates.items() if on for need in _NEEDS.get(gate, ())}
    state.update({need: True for need in needed if target.gates.get(need) is not False})
    for gate, needs in _NEEDS.items():
        if not all(state[need] for need in needs):
            state[gate] = False
    return state


def strategy(target: Target) -> Strategy:
    """The strategy values of ``target``."""
    on = gates(target)
    return Strategy(
        partial_admission=on["PartialAdmission"],
        fungibility=on["FlavorFungibility"],
        keeps_scan=on["FlavorFungibilityPreserveScanProgress"],
        priority_within_cohort=on["PrioritySortingWithinCohort"],
        equivalence=on["SchedulingEquivalenceHashing"],
        recomputes_overlap=on["RecomputeAssignmentUponPreemptionTargetsOverlap"],
        reclaimable_pods=on["ReclaimablePods"] or target.version < (0, 15),
        lending=on["LendingLimit"],
        within_nominal=on["FairSharingPreemptWithinNominal"],
        nominal_first=on["FairSharingPrioritizeNonBorrowing"],
        admission_fair_sharing=on["AdmissionFairSharing"],
        ignores_undeclared=on["QuotaCheckStrategy"],
        priority_boost=on["PriorityBoost"],
        preemptors_first=on["PrioritizePreemptorWorkloads"],
        preemption_gates=on["ConcurrentAdmission"] or on["MultiKueueOrchestratedPreemption"],
        concurrent=on["ConcurrentAdmission"],
        elastic=on["ElasticJobsViaWorkloadSlices"],
        dra=on["KueueDRAIntegration"],
        observes=on["UnadmittedWorkloadsObservability"],
        topology=on["TopologyAwareScheduling"],
        topology_mixed=on["TASProfileMixed"],
        topology_recomputes=on["TASRecomputeAssignmentWithinSchedulingCycle"],
        topology_multi_layer=on["TASMultiLayerTopology"],
        topology_overlapping=on["TASHandleOverlappingFlavors"],
        topology_balanced=on["TASBalancedPlacement"],
        topology_prefers_affinity=on["TASRespectNodeAffinityPreferred"],
        topology_replaces=on["TASFailedNodeReplacement"],
        topology_fail_fast=on["TASFailedNodeReplacementFailFast"],
        topology_keeps_pod_owned=on["SkipReassignmentForPodOwnedWorkloads"],
        topology_elastic=on["ElasticJobsViaWorkloadSlicesWithTAS"],
        own_label_keys=target.version >= (0, 19),
    )
