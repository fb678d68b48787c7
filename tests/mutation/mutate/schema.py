"""Faults that have nothing to do with scheduling: fields, types, names, versions."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    CELL,
    Operator,
    always,
    drop,
    each,
    edit,
    found,
    many,
    named,
    put,
    reach,
    remove,
    rename,
    show,
    swap,
    twice,
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


def _of_another_type(old: Any) -> Any:
    if isinstance(old, (list, dict)):
        return "all"
    return [old] if isinstance(old, str) else {"value": old}


def _lists_as_text(old: Any) -> Any:
    return ", ".join(old) if isinstance(old, list) and old and isinstance(old[0], str) else None


def _swap_two(it: Object) -> None:
    it["spec"]["resourceGroups"][0]["flavors"][0]["resources"].reverse()


def _covered_twice(it: Object) -> None:
    it["spec"]["resourceGroups"].append(it["spec"]["resourceGroups"][0])


def _rename_gpu(it: Object) -> None:
    for group in it["spec"]["resourceGroups"]:
        group["coveredResources"] = [
            r.replace("nvidia.com/gpu", "nvidia.com/gpus") for r in group["coveredResources"]
        ]
        for flavor in group["flavors"]:
            for cell in flavor["resources"]:
                cell["name"] = cell["name"].replace("nvidia.com/gpu", "nvidia.com/gpus")


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
    Operator(
        "name-gone", "generic", "no name", ("refused", "schema"), _spread(drop(KUEUE, "metadata name")), 8
    ),
    Operator(
        "name-invalid",
        "generic",
        "a name that is no DNS name",
        ("refused", "schema"),
        _spread(swap(KUEUE, "metadata name", lambda old: f"{old}_Main")),
        8,
    ),
    Operator(
        "name-with-space",
        "generic",
        "a flavor's name in a queue with a blank",
        ("refused", "flavor-missing"),
        swap("ClusterQueue", "spec resourceGroups * flavors * name", lambda old: f"{old} "),
        3,
    ),
    Operator(
        "spec-gone",
        "generic",
        "no spec",
        ("refused", "schema"),
        _spread(drop("ClusterQueue LocalQueue Topology AdmissionCheck", "spec")),
    ),
    Operator(
        "required-gone",
        "generic",
        "a required field is left out",
        ("refused", "schema"),
        many(
            drop("LocalQueue", "spec clusterQueue", lambda it: it["metadata"]["name"] == "dev"),
            drop("WorkloadPriorityClass", "value", named("production")),
            drop("Topology", "spec levels"),
            drop("ClusterQueue", "spec resourceGroups 0 coveredResources", named("vision")),
            drop("ClusterQueue", "spec resourceGroups 0 flavors", named("speech")),
            drop("ClusterQueue", "spec resourceGroups 0 flavors 0 name", named("recsys")),
            drop("ClusterQueue", "spec resourceGroups 0 flavors 0 resources 0 name", named("foundation")),
            drop("ClusterQueue", "spec resourceGroups 0 flavors 0 resources", named("research")),
        ),
        12,
    ),
    Operator(
        "groups-gone",
        "generic",
        "a ClusterQueue without resource groups",
        ("covers-nothing", "uncovered-resource"),
        drop("ClusterQueue", "spec resourceGroups"),
        3,
    ),
    Operator(
        "type-wrong",
        "generic",
        "a value of another type",
        ("refused", "schema"),
        many(
            swap("ClusterQueue", "spec namespaceSelector", _of_another_type, named("vision")),
            swap("ClusterQueue", "spec cohortName", _of_another_type, named("vision")),
            swap("ClusterQueue", "spec resourceGroups", _of_another_type, named("vision")),
            swap("ClusterQueue", "spec preemption", _of_another_type, named("vision")),
            swap("ClusterQueue", "spec queueingStrategy", _of_another_type, named("vision")),
            swap("ClusterQueue", f"{CELL} nominalQuota", _of_another_type, named("vision-batch")),
            swap(
                "LocalQueue",
                "spec clusterQueue",
                _of_another_type,
                lambda it: it["metadata"]["name"] == "batch",
            ),
            swap("WorkloadPriorityClass", "value", str, named("training")),
            swap("ResourceFlavor", "spec nodeLabels", _of_another_type, named("l4-batch")),
            put("ResourceFlavor", "spec nodeLabels gpu.example.com/pool", True, named("l4-batch")),
            swap("ResourceFlavor", "spec tolerations", _of_another_type, named("l4-batch")),
            swap("Topology", "spec levels", _of_another_type),
        ),
        20,
    ),
    Operator(
        "covered-as-text",
        "generic",
        "a list written as one text",
        ("refused", "schema"),
        swap("ClusterQueue", "spec resourceGroups * coveredResources", _lists_as_text),
        3,
    ),
    Operator(
        "selector-labels-flat",
        "generic",
        "the selector's labels without matchLabels",
        ("refused", "schema"),
        each(
            "ClusterQueue",
            named("vision", "speech", "vision-dev"),
            lambda it: it["spec"].update(namespaceSelector=it["spec"]["namespaceSelector"]["matchLabels"]),
        ),
    ),
    Operator(
        "strategy-enum",
        "generic",
        "a queueing strategy that does not exist",
        ("refused", "schema"),
        many(
            put("ClusterQueue", "spec queueingStrategy", "FIFO", named("vision", "speech")),
            put("ClusterQueue", "spec queueingStrategy", "bestEffortFIFO", named("recsys")),
        ),
    ),
    Operator(
        "stop-enum",
        "generic",
        "a stop policy that does not exist",
        ("refused", "schema"),
        many(
            put("ClusterQueue", "spec stopPolicy", "Stop", named("vision")),
            put("LocalQueue", "spec stopPolicy", "Drain"),
        ),
        3,
    ),
    Operator(
        "resources-in-other-order",
        "kueue 1a ClusterQueue",
        "resources in another order than covered",
        ("refused", "group-mismatch"),
        each("ClusterQueue Cohort", lambda it: found(it, CELL) != [], _swap_two),
    ),
    Operator(
        "resource-left-out",
        "kueue 1a ClusterQueue",
        "a covered resource without quota in a flavor",
        ("refused", "group-mismatch"),
        drop("ClusterQueue", f"{CELL}"),
    ),
    Operator(
        "resource-not-covered",
        "kueue 1a ClusterQueue",
        "a quota for a resource that is not covered",
        ("refused", "group-mismatch"),
        drop("ClusterQueue", "spec resourceGroups * coveredResources *"),
    ),
    Operator(
        "resource-in-two-groups",
        "kueue 1a ClusterQueue",
        "a resource group that is there twice",
        ("refused",),
        each("ClusterQueue", named("vision", "research-dev"), _covered_twice),
    ),
    Operator(
        "resource-misspelt",
        "generic",
        "a resource that nothing has, in group and quota alike",
        ("unknown-resource", "uncovered-resource"),
        each("ClusterQueue", named("foundation", "vision", "vision-batch", "serving-ray"), _rename_gpu),
        4,
    ),
    Operator(
        "priority-value",
        "kueue 1a WorkloadPriorityClass",
        "a value beyond int32",
        ("refused",),
        put("WorkloadPriorityClass", "value", 10_000_000_000),
    ),
    Operator(
        "priorities-equal",
        "generic",
        "two classes of one value: nothing is before anything",
        ("priorities-equal",),
        put("WorkloadPriorityClass", "value", 100, named("training", "production")),
    ),
    Operator(
        "class-defined-twice",
        "generic",
        "a priority class a second time, with another value",
        ("ambiguous",),
        twice("WorkloadPriorityClass", lambda it: it.update(value=5)),
        2,
    ),
    Operator(
        "owner-dropped",
        "demo #20",
        "nobody to ask",
        ("owner-missing",),
        drop("ClusterQueue", "metadata annotations policycheck.dev/owner"),
        2,
    ),
    Operator(
        "annotations-dropped",
        "demo #20",
        "no owner, no explanation",
        ("owner-missing",),
        drop("ClusterQueue", "metadata annotations"),
        2,
    ),
    Operator(
        "level-object-as-text",
        "generic",
        "levels as a list of texts",
        ("refused", "schema"),
        each(
            "Topology",
            always,
            lambda it: it["spec"].update(levels=[lv["nodeLabel"] for lv in it["spec"]["levels"]]),
        ),
    ),
    Operator(
        "retry-negative",
        "kueue 1a ProvisioningRequestConfig",
        "negative retries",
        ("refused", "schema"),
        put("ProvisioningRequestConfig", "spec retryStrategy backoffLimitCount", -1),
    ),
    Operator(
        "cohort-object-gone",
        "generic",
        "a Cohort that holds quota is removed: its queues use an implicit one without",
        ("borrowing-limit-idle", "nothing-to-borrow"),
        remove("Cohort", named("serving")),
    ),
)
