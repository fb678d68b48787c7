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
    drop,
    each,
    many,
    named,
    put,
    swap,
)
from mutate.quota import cell

COHORT = "spec cohortName"
PREEMPTION = "spec preemption"


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
        ("isolated", "lone-cohort"),
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
)
