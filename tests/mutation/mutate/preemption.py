"""Faults in preemption and fair sharing."""

from __future__ import annotations

from mutate.base import Object
from mutate.edits import (
    CELL,
    GPU,
    Operator,
    both,
    configured,
    drop,
    each,
    get,
    many,
    named,
    put,
    twice,
)
from mutate.quota import cell
from mutate.sharing import PREEMPTION

TRAINING = named("foundation", "vision", "speech", "recsys", "research")


def _never(it: Object) -> None:
    it["spec"]["preemption"] = {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}


def _greedy(it: Object) -> None:
    it["spec"]["preemption"]["borrowWithinCohort"] = {"policy": "LowerPriority"}


def _storm(it: Object) -> None:
    it["spec"]["preemption"].update(
        withinClusterQueue="LowerOrNewerEqualPriority", borrowWithinCohort={"policy": "LowerPriority"}
    )


def _fair(inner: Object) -> None:
    inner["fairSharing"] = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}


OPERATORS = (
    Operator(
        "reclaim-never",
        "kueue Part 2 #13, #31",
        "what was lent is not taken back",
        ("guarantee-not-reclaimable",),
        put(
            "ClusterQueue",
            f"{PREEMPTION} reclaimWithinCohort",
            "Never",
            # Serving lends nothing, so it has nothing to reclaim.
            lambda it: "borrowWithinCohort" not in str(it["spec"]) and it["spec"]["cohortName"] != "serving",
        ),
    ),
    Operator(
        "reclaim-never-borrow-set",
        "kueue 1a ClusterQueue",
        "reclaim Never beside borrowWithinCohort",
        ("refused",),
        put(
            "ClusterQueue",
            f"{PREEMPTION} reclaimWithinCohort",
            "Never",
            lambda it: "borrowWithinCohort" in str(it["spec"]),
        ),
    ),
    Operator(
        "strict-and-never",
        "kueue Part 2 #31",
        "StrictFIFO and reclaim Never: a head that waits blocks borrowers for nothing",
        ("guarantee-not-reclaimable", "strict-head"),
        each(
            "ClusterQueue",
            named("vision", "speech", "recsys"),
            lambda it: (
                it["spec"].update(queueingStrategy="StrictFIFO"),
                it["spec"]["preemption"].update(reclaimWithinCohort="Never"),
            ),
        ),
    ),
    Operator(
        "preemption-dropped",
        "kueue Part 2 #19",
        "priorities, and no policy that acts on them",
        ("preemption-inert",),
        drop("ClusterQueue", PREEMPTION, TRAINING),
    ),
    Operator(
        "preemption-never",
        "kueue Part 2 #19",
        "the same, written out",
        ("preemption-inert",),
        each("ClusterQueue", TRAINING, _never),
    ),
    Operator(
        "within-queue-never",
        "kueue Part 2 #19",
        "classes that differ within a queue where priority displaces nobody",
        ("preemption-inert",),
        put("ClusterQueue", f"{PREEMPTION} withinClusterQueue", "Never", named("foundation", "recsys")),
    ),
    Operator(
        "threshold-dropped",
        "kueue Part 2 #20",
        "borrowing displaces without a threshold",
        ("borrow-without-threshold",),
        drop("ClusterQueue", f"{PREEMPTION} borrowWithinCohort maxPriorityThreshold"),
    ),
    Operator(
        "threshold-of-everyone",
        "kueue Part 2 #20",
        "a threshold above every class",
        ("borrow-without-threshold",),
        put(
            "ClusterQueue",
            f"{PREEMPTION} borrowWithinCohort maxPriorityThreshold",
            1000000,
            named("foundation"),
        ),
    ),
    Operator(
        "borrow-added",
        "kueue Part 2 #20",
        "borrowing displaces others without a threshold",
        ("borrow-without-threshold",),
        each("ClusterQueue", named("vision", "speech", "recsys", "vision-dev"), _greedy),
    ),
    Operator(
        "storm",
        "kueue Part 2 #20",
        "equal and newer ones within the queue, and others while borrowing",
        ("borrow-without-threshold", "preempts-equals"),
        each("ClusterQueue", TRAINING, _storm),
    ),
    Operator(
        "preempts-equals",
        "kueue Part 2 #20",
        "equal priority, newer submission: evicted",
        ("preempts-equals",),
        put(
            "ClusterQueue",
            f"{PREEMPTION} withinClusterQueue",
            "LowerOrNewerEqualPriority",
            named("foundation", "research"),
        ),
    ),
    Operator(
        "sorting-off-and-borrow",
        "kueue Part 2 #22",
        "PrioritySortingWithinCohort off beside borrowWithinCohort",
        ("gate-combination",),
        configured("featureGates", lambda c: c.update(featureGates={"PrioritySortingWithinCohort": False})),
    ),
    Operator(
        "fair-sharing-makes-borrow-idle",
        "kueue Part 2 #24",
        "fair sharing: borrowWithinCohort has no effect",
        ("borrow-under-fair-sharing",),
        configured("fairSharing", _fair),
    ),
    Operator(
        "production-borrows",
        "kueue Part 2 #26",
        "a production job larger than the guarantee: what it borrows is reclaimed by any",
        ("production-borrows",),
        cell(
            GPU,
            lambda c: c.update(nominalQuota=8, lendingLimit=0),
            ("h100-train",),
            lambda c: c.get("lendingLimit") == 8,
        ),
    ),
    Operator(
        "class-preempts-pods",
        "kueue Part 2 #29",
        "the pods' class preempts behind the queues' back",
        ("pod-priority-preempts",),
        many(
            put("PriorityClass", "preemptionPolicy", "PreemptLowerPriority", named("batch")),
            drop("PriorityClass", "preemptionPolicy", named("batch")),
        ),
    ),
    Operator(
        "weight-without-fair-sharing",
        "kueue Part 2 #34",
        "a weight, and fair sharing is off",
        ("weight-idle",),
        many(
            put("ClusterQueue", "spec fairSharing", {"weight": "2"}, named("vision", "research")),
            put("Cohort", "spec fairSharing", {"weight": "2"}, named("training")),
        ),
    ),
    Operator(
        "local-weight-idle",
        "kueue Part 2 #34",
        "a LocalQueue's weight without admission fair sharing",
        ("weight-idle",),
        put("LocalQueue", "spec fairSharing", {"weight": "2"}),
        3,
    ),
    Operator(
        "scope-without-afs",
        "kueue Part 2 #34",
        "usage based admission, which the Configuration does not switch on",
        ("weight-idle",),
        put(
            "ClusterQueue",
            "spec admissionScope",
            {"admissionMode": "UsageBasedAdmissionFairSharing"},
            named("vision", "speech"),
        ),
    ),
    Operator(
        "weight-zero",
        "kueue Part 2 #32",
        "weight 0 under fair sharing: always last, first victim",
        ("weight-zero",),
        both(
            put("ClusterQueue", "spec fairSharing", {"weight": "0"}, named("research")),
            configured("fairSharing", _fair),
            drop("ClusterQueue", f"{PREEMPTION} borrowWithinCohort"),
        ),
    ),
    Operator(
        "afs-counts-bytes",
        "kueue Part 2 #35",
        "admission fair sharing without weights: memory bytes decide",
        ("afs-weights",),
        both(
            configured(
                "admissionFairSharing",
                lambda c: c.update(
                    admissionFairSharing={"usageHalfLifeTime": "168h", "usageSamplingInterval": "5m"}
                ),
            ),
            put(
                "ClusterQueue",
                "spec admissionScope",
                {"admissionMode": "UsageBasedAdmissionFairSharing"},
                named("vision"),
            ),
        ),
    ),
    Operator(
        "afs-without-half-life",
        "kueue 1a Configuration",
        "admission fair sharing that never decays: no effect",
        ("afs-weights",),
        both(
            configured(
                "admissionFairSharing",
                lambda c: c.update(admissionFairSharing={"resourceWeights": {GPU: 1, "cpu": 0, "memory": 0}}),
            ),
            put(
                "ClusterQueue",
                "spec admissionScope",
                {"admissionMode": "UsageBasedAdmissionFairSharing"},
                named("vision"),
            ),
        ),
    ),
    Operator(
        "weight-negative",
        "kueue 1a ClusterQueue",
        "a negative weight",
        ("refused",),
        put("ClusterQueue", "spec fairSharing", {"weight": "-1"}, named("vision", "speech")),
    ),
    Operator(
        "fair-sharing-strategies",
        "kueue 1a Configuration",
        "a list of strategies that is none of the three",
        ("refused",),
        configured(
            "fairSharing.preemptionStrategies",
            lambda c: c.update(
                fairSharing={"preemptionStrategies": ["LessThanInitialShare", "LessThanOrEqualToFinalShare"]}
            ),
        ),
    ),
    Operator(
        "queue-defined-twice",
        "generic",
        "a ClusterQueue a second time, with another quota",
        ("ambiguous",),
        twice("ClusterQueue", lambda it: get(it, CELL).update(nominalQuota=1)),
        4,
    ),
    Operator(
        "preemption-enum",
        "generic",
        "a policy that does not exist",
        ("refused", "schema"),
        many(
            put("ClusterQueue", f"{PREEMPTION} reclaimWithinCohort", "Always", TRAINING),
            put("ClusterQueue", f"{PREEMPTION} withinClusterQueue", "lowerPriority", TRAINING),
        ),
    ),
)
