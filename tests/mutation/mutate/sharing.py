"""Faults in cohorts, limits, preemption and fair sharing."""

from __future__ import annotations

from typing import Any

from mutate.base import Edit, Object
from mutate.edits import (
    CELL,
    GPU,
    Operator,
    add,
    always,
    both,
    configured,
    drop,
    each,
    get,
    many,
    named,
    put,
    swap,
    twice,
)
from mutate.quota import cell

COHORT = "spec cohortName"
PREEMPTION = "spec preemption"
TRAINING = named("foundation", "vision", "speech", "recsys", "research")


def typo(word: Any) -> Any:
    """Two letters change places, as in trianing."""
    middle = len(word) // 2
    return (
        word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
        if len(word) > 2
        else word + "x"
    )


def _limited(it: Object) -> bool:
    return "borrowingLimit" in str(it["spec"])


def _free(it: Object) -> bool:
    return not _limited(it)


def _cycle(world: Any) -> Any:
    one, _ = world.one("Cohort", "training")
    other, _ = world.one("Cohort", "interactive")
    yield Edit(
        "Cohort/training <-> Cohort/interactive",
        (
            (one, lambda c, n: c[n].setdefault("spec", {}).update(parentName="interactive")),
            (other, lambda c, n: c[n].setdefault("spec", {}).update(parentName="training")),
        ),
    )


def _limit_on_root(field: str) -> Any:
    return put("Cohort", f"{CELL} {field}", lambda old: 4 if old is None else None, named("serving"))


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


TAKER = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: scavenger
  annotations: {policycheck.dev/owner: research@example.com, policycheck.dev/explanation: What is left over.}
spec:
  cohortName: training
  namespaceSelector: {matchLabels: {gpu.example.com/tenant: research}}
  preemption: {reclaimWithinCohort: Never, withinClusterQueue: Never}
  resourceGroups:
    - coveredResources: ["cpu", "memory", "nvidia.com/gpu"]
      flavors:
        - name: h100-train
          resources:
            - {name: cpu, nominalQuota: 0}
            - {name: memory, nominalQuota: 0}
            - {name: nvidia.com/gpu, nominalQuota: 0}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: scavenger, namespace: team-research}
spec: {clusterQueue: scavenger}
"""

OPERATORS = (
    Operator(
        "cohort-dropped-with-limits",
        "kueue Part 2 #10, #12",
        "no cohort, but limits that need one",
        ("refused",),
        drop("ClusterQueue", COHORT, _limited),
    ),
    Operator(
        "cohort-dropped",
        "kueue Part 2 #10",
        "no cohort: nothing is borrowed or lent any more",
        ("isolated",),
        drop("ClusterQueue", COHORT, _free),
        2,
    ),
    Operator(
        "cohort-misspelt",
        "kueue Part 2 #14",
        "a cohort of its own that differs by two letters",
        ("lone-cohort",),
        swap("ClusterQueue", COHORT, typo),
        8,
    ),
    Operator(
        "cohort-case",
        "kueue Part 2 #14",
        "the cohort's name in capitals",
        ("lone-cohort", "refused"),
        swap("ClusterQueue", COHORT, str.capitalize),
    ),
    Operator(
        "cohort-object-misspelt",
        "kueue Part 2 #14",
        "the Cohort object is misspelt: its queues use an implicit one",
        ("lone-cohort", "cohort-without-queues"),
        swap("Cohort", "metadata name", typo),
    ),
    Operator(
        "cohort-swapped",
        "kueue Part 2 #16",
        "a cohort in which nobody holds the same flavor",
        ("nothing-to-borrow",),
        many(
            put("ClusterQueue", COHORT, "interactive", named("vision", "foundation", "recsys")),
            put("ClusterQueue", COHORT, "training", named("vision-dev", "vision-batch", "serving-ray")),
        ),
    ),
    Operator(
        "flavors-differ",
        "kueue Part 2 #16",
        "the flavor that the cohort shares is another one here",
        ("nothing-to-borrow", "no-matching-flavor"),
        put(
            "ClusterQueue",
            "spec resourceGroups 0 flavors 0 name",
            "h100-train",
            named("vision-batch", "research-dev"),
        ),
    ),
    Operator(
        "borrowing-zero",
        "kueue Part 2 #11",
        "borrowingLimit 0, meant to protect, forbids borrowing",
        ("limit-forbids",),
        cell(GPU, lambda c: c.update(borrowingLimit=0), (), lambda c: "borrowingLimit" in c),
        4,
    ),
    Operator(
        "borrowing-zero-added",
        "kueue Part 2 #11",
        "the same where there was no limit",
        ("limit-forbids",),
        cell(GPU, lambda c: c.update(borrowingLimit=0), (), lambda c: "borrowingLimit" not in c),
        2,
    ),
    Operator(
        "companion-borrowing-zero",
        "kueue Part 2 #11, #4",
        "GPUs may be borrowed, cpu or memory not",
        ("companions-strand-limits", "limit-forbids"),
        many(
            cell("cpu", lambda c: c.update(borrowingLimit=0), (), lambda c: "borrowingLimit" in c),
            cell("memory", lambda c: c.update(borrowingLimit="0Gi"), (), lambda c: "borrowingLimit" in c),
        ),
    ),
    Operator(
        "lending-is-nominal",
        "kueue Part 2 #11",
        "a lending limit as large as the quota limits nothing",
        ("limit-idle",),
        cell(
            "",
            lambda c: c.update(lendingLimit=c["nominalQuota"]),
            ("h100-train",),
            lambda c: "lendingLimit" in c,
        ),
    ),
    Operator(
        "lending-above-nominal",
        "kueue 1a ClusterQueue",
        "more is lent than there is",
        ("refused",),
        cell(GPU, lambda c: c.update(lendingLimit=c["nominalQuota"] + 8)),
    ),
    Operator(
        "borrowing-beyond-cohort",
        "kueue Part 2 #8",
        "a borrowing limit beyond all that others lend",
        ("limit-idle",),
        cell(
            GPU,
            lambda c: c.update(borrowingLimit=500),
            ("h100-train", "h100-serve"),
            lambda c: "borrowingLimit" in c,
        ),
        2,
    ),
    Operator(
        "limit-on-root",
        "kueue Part 2 #12",
        "a limit on a Cohort without parent",
        ("refused",),
        many(_limit_on_root("borrowingLimit"), _limit_on_root("lendingLimit")),
    ),
    Operator(
        "best-effort-takes-all",
        "kueue Part 2 #13",
        "an unlimited queue without quota, and an owner that does not reclaim",
        ("guarantee-not-reclaimable",),
        both(
            put("ClusterQueue", f"{PREEMPTION} reclaimWithinCohort", "Never", named("vision")),
            add("ClusterQueue/scavenger", ("ClusterQueue", "vision"), TAKER),
        ),
    ),
    Operator(
        "cohort-its-own-parent",
        "kueue Part 2 #15",
        "a Cohort that is its own parent",
        ("cohort-cycle",),
        each(
            "Cohort", always, lambda it: it.setdefault("spec", {}).update(parentName=it["metadata"]["name"])
        ),
    ),
    Operator(
        "cohort-cycle",
        "kueue Part 2 #15",
        "two Cohorts that are each other's parent",
        ("cohort-cycle",),
        _cycle,
    ),
    Operator(
        "cohort-parent-misspelt",
        "kueue Part 2 #14",
        "a parent that no Cohort defines",
        ("cohort-parent-missing",),
        each(
            "Cohort",
            named("batch", "interactive"),
            lambda it: it.setdefault("spec", {}).update(parentName="trianing"),
        ),
    ),
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
