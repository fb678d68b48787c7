"""Faults in the topology, and in what workloads ask of it."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    GPU,
    Operator,
    always,
    drop,
    each,
    edit,
    found,
    get,
    many,
    named,
    pods,
    put,
    reach,
    remove,
    swap,
    wants,
)
from mutate.flavors import BLOCK, FLAVOR, HOST, RACK
from mutate.sharing import typo

REQUIRED = "kueue.x-k8s.io/podset-required-topology"


PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"


SLICE = "kueue.x-k8s.io/podset-slice-required-topology"


SIZE = "kueue.x-k8s.io/podset-slice-size"


def _annotate(**changes: Any) -> Any:
    """Topology annotations of a pod template: required, preferred, slice, size; None takes one away."""
    keys = {"required": REQUIRED, "preferred": PREFERRED, "slice": SLICE, "size": SIZE}

    def change(template: Object) -> None:
        held = template.setdefault("metadata", {}).setdefault("annotations", {})
        for word, value in changes.items():
            held.pop(keys[word], None)
            if value is not None:
                held[keys[word]] = value

    return change


def _placed(it: Object) -> bool:
    return "-topology" in str(it["spec"])


def _templated(change: Any, key: str) -> Any:
    """Pod templates that have the annotation."""

    def make(world: Any) -> Any:
        for ref, it in world.objects("Job", "RayJob"):
            for at in (("spec", "template"), ("spec", "rayClusterSpec", "workerGroupSpecs", 0, "template")):
                if found(it, " ".join(map(str, (*at, "metadata", "annotations")))) and key in str(
                    reach(it, at)
                ):
                    yield edit(ref, it, lambda o, at=at: change(reach(o, at)))

    return make


def _renamed(key: str, new: str) -> Any:
    def change(template: Object) -> None:
        held = template["metadata"]["annotations"]
        held[new] = held.pop(key)

    return _templated(change, key)


def _full_nodes(it: Object) -> bool:
    return wants(get(it, "spec template", {})).get(GPU) == "8"


OPERATORS = (
    Operator(
        "topology-dropped-from-flavor",
        "kueue Part 2 #62",
        "one flavor of a queue, or of jobs that ask for a rack, has no topology",
        ("topology-mixed", "topology-asked-without"),
        drop(
            FLAVOR,
            "spec topologyName",
            named("h100-train", "h100-serve", "l4-serve", "l4-spot", "a100-full", "l4-batch"),
        ),
    ),
    Operator(
        "topology-misspelt",
        "kueue Part 2 #65",
        "a flavor names a Topology that is not there",
        ("topology-missing",),
        swap(FLAVOR, "spec topologyName", typo),
    ),
    Operator(
        "topology-gone",
        "kueue Part 2 #65",
        "the Topology is removed",
        ("topology-missing",),
        remove("Topology"),
    ),
    Operator(
        "topology-level-misspelt",
        "kueue Part 2 #61",
        "a level that no node has",
        ("level-missing",),
        swap("Topology", "spec levels * nodeLabel", lambda old: f"{old}s" if "example" in old else None),
    ),
    Operator(
        "topology-without-hostname",
        "kueue Part 2 #64",
        "the lowest level is not the hostname",
        ("lowest-level",),
        drop("Topology", "spec levels 2"),
    ),
    Operator(
        "topology-hostname-first",
        "kueue 1a Topology",
        "the hostname above other levels",
        ("refused",),
        each("Topology", always, lambda it: it["spec"]["levels"].reverse()),
    ),
    Operator(
        "topology-order",
        "systems 2.1",
        "racks above blocks: a level does not nest in the one before",
        ("levels-nest",),
        each(
            "Topology",
            always,
            lambda it: it["spec"].update(levels=[it["spec"]["levels"][n] for n in (1, 0, 2)]),
        ),
    ),
    Operator(
        "topology-level-twice",
        "kueue 1a Topology",
        "a level that is there twice",
        ("refused",),
        many(
            put("Topology", "spec levels 1 nodeLabel", BLOCK),
            put("Topology", "spec levels 0 nodeLabel", RACK),
        ),
    ),
    Operator(
        "topology-empty",
        "kueue 1a Topology",
        "a Topology without levels",
        ("refused",),
        put("Topology", "spec levels", []),
    ),
    Operator(
        "required-within-host",
        "kueue Part 2 #63",
        "pods of a whole node each, required on one node",
        ("domain-too-small",),
        pods(
            _annotate(preferred=None, required=HOST),
            lambda it: (
                it["kind"] == "Job"
                and it["spec"]["parallelism"] > 1
                and it["metadata"]["name"] != "expert-parallel"
                and _full_nodes(it)
            ),
        ),
    ),
    Operator(
        "required-within-rack",
        "kueue Part 2 #63",
        "8 nodes required within a rack of 4",
        ("domain-too-small",),
        pods(_annotate(required=RACK), named("pretrain-32b")),
    ),
    Operator(
        "more-pods-than-rack",
        "kueue Part 2 #63",
        "more pods than the required rack holds",
        ("domain-too-small",),
        each("Job", named("detector"), lambda it: it["spec"].update(parallelism=6, completions=6)),
    ),
    Operator(
        "level-unknown",
        "kueue Part 2 #61",
        "a level that the Topology does not have",
        ("level-unknown",),
        many(
            _templated(_annotate(required="topology.example.com/pod"), REQUIRED),
            _templated(_annotate(preferred="topology.kubernetes.io/zone"), PREFERRED),
        ),
    ),
    Operator(
        "required-and-preferred",
        "kueue 1b",
        "required and preferred at once",
        ("refused",),
        many(
            _templated(_annotate(preferred=RACK), REQUIRED), _templated(_annotate(required=BLOCK), PREFERRED)
        ),
    ),
    Operator(
        "topology-annotation-misspelt",
        "kueue 1b",
        "an annotation of Kueue that does not exist",
        ("unknown-label",),
        many(
            _renamed(REQUIRED, "kueue.x-k8s.io/podset-require-topology"),
            _renamed(PREFERRED, "kueue.x-k8s.io/podset-topology-preferred"),
        ),
    ),
    Operator(
        "topology-annotation-on-job",
        "kueue 1b",
        "the annotation on the Job instead of its pods",
        ("annotation-misplaced", "unknown-label"),
        each(
            "Job",
            lambda it: _placed(it) and it["metadata"]["name"] != "expert-parallel",
            lambda it: it["metadata"].update(
                annotations=it["spec"]["template"]["metadata"].pop("annotations")
            ),
        ),
    ),
    Operator(
        "slices-left-over",
        "kueue Part 2 #66",
        "8 pods in slices of 3",
        ("slices-left-over",),
        pods(_annotate(size="3"), named("expert-parallel")),
    ),
    Operator(
        "slice-larger-than-rack",
        "kueue Part 2 #63, #66",
        "a slice of 8 within a rack of 4",
        ("domain-too-small",),
        pods(_annotate(size="8"), named("expert-parallel")),
    ),
    Operator(
        "slice-half-said",
        "kueue 1b",
        "a slice's size without its level, or the other way round",
        ("refused",),
        many(
            pods(_annotate(size=None), named("expert-parallel")),
            pods(_annotate(slice=None), named("expert-parallel")),
        ),
    ),
    Operator(
        "slice-size-invalid",
        "kueue 1b",
        "a slice of no pods, or of more than there are",
        ("refused",),
        many(
            pods(_annotate(size="0"), named("expert-parallel")),
            pods(_annotate(size="16"), named("expert-parallel")),
            pods(_annotate(size="four"), named("expert-parallel")),
        ),
    ),
    Operator(
        "slice-constraints-keys",
        "kueue Part 2 #67",
        "constraints with the keys of the documentation, which are not read",
        ("refused",),
        pods(
            lambda t: t["metadata"].update(
                annotations={
                    f"{SLICE}-constraints": '[{"topologyLevel": "topology.example.com/rack", "sliceSize": 4}]'
                }
            ),
            named("expert-parallel"),
        ),
    ),
    Operator(
        "spot-without-check",
        "kueue Part 2 #69, #52",
        "a pool without nodes, and no check that brings them",
        ("matches-no-node",),
        drop("ClusterQueue", "spec admissionChecksStrategy"),
    ),
    Operator(
        "check-on-foreign-flavor",
        "kueue Part 2 #77",
        "a check for a flavor that the queue does not have",
        ("refused", "check-on-foreign-flavor"),
        put(
            "ClusterQueue",
            "spec admissionChecksStrategy admissionChecks 0 onFlavors 0",
            "l4-sopt",
            named("recsys-batch"),
        ),
    ),
)
