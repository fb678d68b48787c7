"""Faults in names, types and required fields."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    CELL,
    Operator,
    always,
    drop,
    each,
    found,
    many,
    named,
    put,
    remove,
    swap,
    twice,
)
from mutate.schema import KUEUE, _spread


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
