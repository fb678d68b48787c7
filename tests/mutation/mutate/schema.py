"""Faults that have nothing to do with scheduling: fields, types, names, versions."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    CELL,
    Operator,
    drop,
    each,
    edit,
    found,
    many,
    named,
    put,
    reach,
    rename,
    show,
    swap,
)

KUEUE = "ClusterQueue LocalQueue ResourceFlavor Cohort Topology WorkloadPriorityClass AdmissionCheck ProvisioningRequestConfig"
UNKNOWN = ("schema",)


def _version(new: str) -> Any:
    return put(KUEUE, "apiVersion", new)


def _spread(make: Any) -> Any:
    """At most two places an object kind: a fault that is the same everywhere."""

    def few(world: Any) -> Any:
        seen: dict[str, int] = {}
        for each_edit in make(world):
            kind = each_edit.place.split("/")[0]
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] <= 2:
                yield each_edit

    return few


def _fields(it: Object) -> list[tuple[Any, ...]]:
    paths = (
        "spec",
        "spec *",
        "spec preemption *",
        "spec resourceGroups *",
        "spec resourceGroups * *",
        f"{CELL}",
        "spec parameters *",
        "spec retryStrategy *",
        "spec levels * *",
        "spec tolerations * *",
        "value",
    )
    places = [at for path in paths for at, _ in found(it, path)]
    return [at for at in places if isinstance(at[-1], str)]


def _misspelt_fields(world: Any) -> Any:
    """Each field that occurs, once: its last letter is lost."""
    seen = set()
    for ref, it in world.objects(*KUEUE.split()):
        for at in _fields(it):
            sort = (it["kind"], at[-1])
            if sort in seen:
                continue
            seen.add(sort)
            yield edit(ref, it, lambda o, at=at: _lose_letter(o, at), show(it, at))


def _lose_letter(it: Object, at: tuple[Any, ...]) -> None:
    holder = reach(it, at[:-1])
    pairs = [(key[:-1] if key == at[-1] else key, value) for key, value in holder.items()]
    holder.clear()
    holder.update(pairs)


OPERATORS = (
    Operator(
        "field-misspelt",
        "generic; kueue Part 2 #83",
        "a field loses its last letter",
        UNKNOWN,
        _misspelt_fields,
        40,
    ),
    Operator(
        "field-of-v1beta1",
        "kueue Part 2 #83",
        "v1beta2 with cohort instead of cohortName",
        UNKNOWN,
        rename("ClusterQueue", "spec cohortName", "cohort"),
    ),
    Operator(
        "checks-of-v1beta1",
        "kueue Part 2 #83",
        "v1beta2 with a list of admissionChecks",
        UNKNOWN,
        each(
            "ClusterQueue",
            named("recsys-batch", "vision-batch"),
            lambda it: (
                it["spec"].pop("admissionChecksStrategy", None),
                it["spec"].update(admissionChecks=["spot-nodes"]),
            ),
        ),
    ),
    Operator(
        "fungibility-of-v1beta1",
        "kueue Part 2 #84",
        "Borrow and Preempt, which v1beta2 does not know",
        ("schema", "refused"),
        many(
            put(
                "ClusterQueue", "spec flavorFungibility whenCanBorrow", "Borrow", named("research", "speech")
            ),
            put(
                "ClusterQueue",
                "spec flavorFungibility whenCanPreempt",
                "Preempt",
                named("research", "speech"),
            ),
        ),
    ),
    Operator(
        "fungibility-deprecated",
        "kueue Part 2 #84",
        "v1beta1 with the deprecated Borrow",
        ("deprecated-value", "schema"),
        each(
            "ClusterQueue",
            named("vision-batch", "speech-dev"),
            lambda it: (
                it.update(apiVersion="kueue.x-k8s.io/v1beta1"),
                it["spec"].update(
                    cohort=it["spec"].pop("cohortName"), flavorFungibility={"whenCanBorrow": "Borrow"}
                ),
            ),
        ),
        2,
    ),
    Operator(
        "version-back",
        "generic; kueue 1a changes",
        "v1beta1 with fields that only v1beta2 has",
        ("schema",),
        put("ClusterQueue", "apiVersion", "kueue.x-k8s.io/v1beta1"),
    ),
    Operator(
        "version-deprecated",
        "kueue 1a versions",
        "v1beta1, deprecated, the content fits both",
        ("deprecated-version",),
        put(
            "LocalQueue ResourceFlavor Topology WorkloadPriorityClass", "apiVersion", "kueue.x-k8s.io/v1beta1"
        ),
        2,
    ),
    Operator(
        "version-dead",
        "kueue 1a versions",
        "v1alpha1, which is served no more",
        ("dead-version", "schema"),
        _spread(_version("kueue.x-k8s.io/v1alpha1")),
        8,
    ),
    Operator(
        "version-unknown",
        "generic",
        "a version that never was",
        ("dead-version", "schema"),
        _spread(_version("kueue.x-k8s.io/v1beta3")),
        8,
    ),
    Operator(
        "version-v1",
        "generic",
        "kueue.x-k8s.io/v1, which is not there yet",
        ("dead-version", "schema"),
        _spread(_version("kueue.x-k8s.io/v1")),
        8,
    ),
    Operator(
        "group-wrong",
        "generic",
        "another API group",
        ("unknown-kind",),
        _spread(_version("kueue.sigs.k8s.io/v1beta2")),
        8,
    ),
    Operator(
        "kind-misspelt",
        "generic",
        "a kind that does not exist",
        ("unknown-kind",),
        _spread(swap(KUEUE, "kind", lambda old: f"{old}s")),
        8,
    ),
    Operator(
        "kind-gone",
        "generic",
        "no kind",
        ("unknown-kind",),
        _spread(drop("ClusterQueue LocalQueue", "kind")),
        4,
    ),
    Operator(
        "api-version-gone",
        "generic",
        "no apiVersion",
        ("unknown-kind", "schema"),
        _spread(drop("ClusterQueue LocalQueue Job", "apiVersion")),
        6,
    ),
)
