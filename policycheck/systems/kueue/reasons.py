"""What each of Kueue's reason names means: one short page, for ``policycheck explain``.

Reasons as of 0.19 (API reference, conditions of Workload and ClusterQueue).
"""

from __future__ import annotations

from policycheck.record import NamedTuple


class Reason(NamedTuple):
    """One reason: where Kueue writes it, what it means, when it is said, what to do, which rules speak of it."""

    name: str
    where: str
    means: str
    when: str
    do: str
    rules: tuple[str, ...] = ()


WAITING = "a Workload's condition QuotaReserved=False"
PREEMPTED = "a Workload's condition Preempted=True"
EVICTED = "a Workload's condition Evicted=True"
INACTIVE = "a ClusterQueue's condition Active=False"

REASONS = (
    Reason(
        "NoMatchingFlavor",
        WAITING,
        "No flavor of the queue suits the pods.",
        "Every flavor is turned away by its taints or by the pods' node selector or affinity, or the queue"
        " covers a resource that is asked for with no flavor at all. More quota does not help.",
        "Tolerate the flavor's taints, loosen the node selector, or add the resource to the ClusterQueue.",
        ("KQ642", "KQ631"),
    ),
    Reason(
        "ExceedsMaxQuota",
        WAITING,
        "The workload asks for more than the queue can ever have, even if everything else were idle.",
        "The request is above nominal quota plus all that can be borrowed (borrowingLimit, lending limits).",
        "Ask for less, allow partial admission, or raise nominalQuota or borrowingLimit.",
        ("KQ630",),
    ),
    Reason(
        "WaitingForQuota",
        WAITING,
        "The workload would fit, but not now: others hold the quota.",
        "A flavor suits and could be large enough, what is free is too little, and nobody may be preempted"
        " for it; or an earlier head of the same cycle took what was free.",
        "Wait, or see `policycheck why` for who holds it; look at preemption and borrowing if it never ends.",
        ("KQ304", "KQ305", "KQ639"),
    ),
    Reason(
        "TopologyPlacementFailed",
        WAITING,
        "There is quota, but no place in the topology for all the pods.",
        "No domain of the required level, or no set of nodes, holds the pods with what is free on them.",
        "Ask for a higher level or prefer instead of require it, or free whole domains.",
        ("KQ401", "KQ633", "KQ635"),
    ),
    Reason(
        "WaitingForPreemptedWorkloads",
        WAITING,
        "Victims were chosen and have been evicted; the workload waits until they are gone.",
        "The cycle preempted others for it. Their quota is free only when their pods have stopped.",
        "Nothing, unless it lasts: then look at the victims' pods that do not terminate.",
        ("KQ301", "KQ302"),
    ),
    Reason(
        "Misconfigured",
        WAITING,
        "Something about the workload or its queue is wrong, so that it is not weighed at all.",
        "Its namespace does not match the namespaceSelector, it breaks a LimitRange, requests are above"
        " limits, or its LocalQueue or ClusterQueue is not there.",
        "Read the condition's message and mend what it names.",
        ("KQ610", "KQ612", "KQ601", "KQ602", "KQ615"),
    ),
    Reason(
        "Suspended",
        WAITING,
        "The workload is deactivated: spec.active is false.",
        "Somebody set it, or Kueue did after too many requeues or a rejected admission check.",
        "Find out why, then set spec.active to true.",
        ("KQ711",),
    ),
    Reason(
        "PendingEvaluation",
        WAITING,
        "No cycle has decided about the workload yet, or it has to wait before the next one.",
        "It has just come, an admission check said Retry or Rejected, or it is held back until requeueAt.",
        "Wait for the next cycle; see the states of its admission checks if it stays.",
    ),
    Reason(
        "WaitingForPodsReady",
        WAITING,
        "Admission is blocked until the pods of the workloads admitted before are ready.",
        "waitForPodsReady.blockAdmission is on. It holds for the whole cluster, not for one queue.",
        "Look at the admitted workload that does not get ready, or turn blockAdmission off.",
        ("KQ714", "KQ713"),
    ),
    Reason(
        "AdmissionGated",
        WAITING,
        "The workload is held back by a gate of its own.",
        "It has the annotation kueue.x-k8s.io/admission-gated-by, or a preemption is being orchestrated.",
        "Whoever set the gate has to remove it.",
    ),
    Reason(
        "InClusterQueue",
        PREEMPTED,
        "It was preempted by a workload of its own ClusterQueue.",
        "preemption.withinClusterQueue allows it: lower priority, or equal and newer.",
        "Raise its priority, or set withinClusterQueue to Never or LowerPriority.",
        ("KQ301",),
    ),
    Reason(
        "InCohortReclamation",
        PREEMPTED,
        "Another queue of the cohort took back its own nominal quota, which this queue had borrowed.",
        "preemption.reclaimWithinCohort of the other queue allows it.",
        "Run what must not stop within nominal quota; a lower borrowingLimit bounds what can be lost.",
        ("KQ305", "KQ311"),
    ),
    Reason(
        "InCohortFairSharing",
        PREEMPTED,
        "Another queue has a smaller share of what is borrowed, and fair sharing evened it out.",
        "Fair sharing is on and this queue's share, by weight, is larger than that of the preemptor.",
        "Run what must not stop within nominal quota, or give the queue a larger weight.",
        ("KQ306", "KQ314"),
    ),
    Reason(
        "InCohortReclaimWhileBorrowing",
        PREEMPTED,
        "A workload of another queue preempted it while that queue borrowed itself.",
        "The other queue has borrowWithinCohort, and this workload has a lower priority, at or below"
        " maxPriorityThreshold.",
        "Raise its priority above the threshold, or lower maxPriorityThreshold.",
        ("KQ302", "KQ313"),
    ),
    Reason(
        "Preempted",
        EVICTED,
        "It was evicted to make room for another workload.",
        "A cycle chose it as a victim; the condition Preempted says by which right.",
        "Look at the reason of Preempted: InClusterQueue, InCohortReclamation, InCohortFairSharing or"
        " InCohortReclaimWhileBorrowing. `policycheck matrix` shows who can take from whom.",
        ("KQ301", "KQ302"),
    ),
    Reason(
        "PodsReadyTimeout",
        EVICTED,
        "Its pods were not all ready in time.",
        "waitForPodsReady.timeout ran out after admission, or recoveryTimeout after readiness was lost."
        " Since 0.19 this is on unless configured otherwise, with 30 minutes.",
        "Look at images, nodes and volumes that come late; set a longer timeout and a backoffLimitCount.",
        ("KQ711", "KQ712", "KQ713"),
    ),
    Reason(
        "AdmissionCheck",
        EVICTED,
        "An admission check said Retry or Rejected after quota was reserved.",
        "For example a ProvisioningRequest that failed, or a MultiKueue worker that was lost.",
        "See the message of the check's state in status.admissionChecks.",
        ("KQ721", "KQ725"),
    ),
    Reason(
        "ClusterQueueStopped",
        EVICTED,
        "Its ClusterQueue was stopped and drained.",
        "stopPolicy of the ClusterQueue is HoldAndDrain.",
        "Set stopPolicy back to None.",
        ("KQ613",),
    ),
    Reason(
        "LocalQueueStopped",
        EVICTED,
        "Its LocalQueue was stopped and drained.",
        "stopPolicy of the LocalQueue is HoldAndDrain.",
        "Set stopPolicy back to None.",
        ("KQ614",),
    ),
    Reason(
        "Deactivated",
        EVICTED,
        "It was deactivated while it ran.",
        "spec.active became false: by hand, after too many requeues, or by a rejected check.",
        "Find out why, then set spec.active to true.",
        ("KQ711",),
    ),
    Reason(
        "NodeFailures",
        EVICTED,
        "Nodes it was placed on failed, and no replacement was found.",
        "Topology-aware scheduling could not put the lost pods elsewhere.",
        "Mend or replace the nodes; a preferred level leaves more room than a required one.",
    ),
    Reason(
        "FlavorMigration",
        EVICTED,
        "It moves to a flavor that is preferred and has become free.",
        "Concurrent admission is on, and a variant in a better flavor was admitted.",
        "Nothing; set the migration policy of the queue if it must stay where it is.",
        ("KQ746",),
    ),
    Reason(
        "Terminating",
        INACTIVE,
        "The ClusterQueue is being deleted.",
        "It has a deletionTimestamp and waits for the workloads that it holds.",
        "Let them finish, or create the queue again under another name.",
    ),
    Reason(
        "Stopped",
        INACTIVE,
        "The queue is stopped and admits nothing.",
        "stopPolicy is Hold or HoldAndDrain; `policycheck why` says it of a LocalQueue too.",
        "Set stopPolicy to None.",
        ("KQ613", "KQ614"),
    ),
    Reason(
        "FlavorNotFound",
        INACTIVE,
        "A ResourceFlavor that the queue names is not there.",
        "One missing flavor stops the whole queue, not only that flavor.",
        "Create it, or correct the name.",
        ("KQ603",),
    ),
    Reason(
        "AdmissionCheckNotFound",
        INACTIVE,
        "An AdmissionCheck that the queue names is not there.",
        "One missing check stops the whole queue.",
        "Create it, or correct the name.",
        ("KQ604",),
    ),
    Reason(
        "AdmissionCheckInactive",
        INACTIVE,
        "An AdmissionCheck of the queue is there and does not work.",
        "Its own condition Active is False: wrong parameters, or no controller looks after it.",
        "See the check's condition, its parameters and its controllerName.",
        ("KQ723", "KQ724"),
    ),
    Reason(
        "MultipleMultiKueueAdmissionChecks",
        INACTIVE,
        "The queue has more than one MultiKueue check.",
        "A queue can be sent to worker clusters by one check only.",
        "Leave one; it can name several clusters.",
        ("KQ722",),
    ),
    Reason(
        "MultiKueueAdmissionCheckAppliedPerFlavor",
        INACTIVE,
        "A MultiKueue check is bound to some flavors only.",
        "onFlavors is set for it, and MultiKueue holds for a whole queue.",
        "Leave onFlavors out.",
        ("KQ722",),
    ),
    Reason(
        "MultiKueueWithProvisioningRequest",
        INACTIVE,
        "The queue has a MultiKueue check and a ProvisioningRequest check.",
        "Nodes are provisioned where the pods run, which is on the worker cluster.",
        "Put the ProvisioningRequest check on the worker's queue.",
        ("KQ722",),
    ),
    Reason(
        "TopologyNotFound",
        INACTIVE,
        "A flavor of the queue names a Topology that is not there.",
        "One flavor with a missing topology stops the whole queue.",
        "Create it, or correct topologyName.",
        ("KQ403",),
    ),
    Reason(
        "CohortCycleDetected",
        INACTIVE,
        "The cohorts above the queue are each other's parents.",
        "Quota of a tree that goes round cannot be worked out. Releases up to 0.19 stop without saying so.",
        "Correct parentName of one of the cohorts.",
        ("KQ210",),
    ),
)


def named(word: str) -> Reason | None:
    """The reason of that name, whatever its capitals."""
    return next((reason for reason in REASONS if reason.name.lower() == word.lower()), None)
