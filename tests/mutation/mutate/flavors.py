"""Faults in flavors, in the topology, and in what workloads ask of both."""

from __future__ import annotations

from typing import Any

from mutate.base import Edit, Object
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
    rename,
    swap,
    twice,
    wants,
)
from mutate.sharing import typo

FLAVOR = "ResourceFlavor"
PRODUCT = f"spec nodeLabels {GPU}.product"
POOL = "spec nodeLabels gpu.example.com/pool"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
SLICE = "kueue.x-k8s.io/podset-slice-required-topology"
SIZE = "kueue.x-k8s.io/podset-slice-size"
RACK, BLOCK, HOST = "topology.example.com/rack", "topology.example.com/block", "kubernetes.io/hostname"
WITH_NODES = named("h100-train", "h100-serve", "a100-mig", "a100-full", "l4-serve", "l4-batch")


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


def _split_group(other: str) -> Any:
    """cpu and memory get a group of their own, whose flavor contradicts that of the GPUs."""

    def change(it: Object) -> None:
        group = it["spec"]["resourceGroups"][0]
        first = group["flavors"][0]
        rest = [r for r in first["resources"] if r["name"] not in ("cpu", "memory")]
        mine = [r for r in first["resources"] if r["name"] in ("cpu", "memory")]
        it["spec"]["resourceGroups"] = [
            {"coveredResources": ["cpu", "memory"], "flavors": [{"name": other, "resources": mine}]},
            {
                "coveredResources": [r["name"] for r in rest],
                "flavors": [{"name": first["name"], "resources": rest}],
            },
        ]

    return change


def _swapped(one: str, other: str) -> Any:
    """The node labels of two flavors change places."""

    def make(world: Any) -> Any:
        (a, it), (b, its) = world.one(FLAVOR, one), world.one(FLAVOR, other)
        mine, others = dict(it["spec"]["nodeLabels"]), dict(its["spec"]["nodeLabels"])
        yield Edit(
            f"{one} <-> {other}",
            (
                (a, lambda c, n: c[n]["spec"].update(nodeLabels=others)),
                (b, lambda c, n: c[n]["spec"].update(nodeLabels=mine)),
            ),
        )

    return make


def _full_nodes(it: Object) -> bool:
    return wants(get(it, "spec template", {})).get(GPU) == "8"


TAINT = {"key": "example.com/dedicated", "value": "ml", "effect": "NoSchedule"}
NO_NODE = ("matches-no-node",)
OPERATORS = (
    Operator(
        "flavor-product-misspelt",
        "kueue Part 2 #52; systems 2.1",
        "a product as no node has it",
        NO_NODE,
        swap(FLAVOR, PRODUCT, typo, WITH_NODES),
    ),
    Operator(
        "flavor-product-without-vendor",
        "kueue Part 2 #52; systems 2.1",
        "the product without NVIDIA-",
        NO_NODE,
        swap(FLAVOR, PRODUCT, lambda old: old.removeprefix("NVIDIA-"), WITH_NODES),
    ),
    Operator(
        "flavor-product-shared",
        "systems 2.1, M39",
        "the product of shared GPUs, which nobody shares",
        NO_NODE,
        swap(FLAVOR, PRODUCT, lambda old: f"{old}-SHARED", WITH_NODES),
    ),
    Operator(
        "flavor-product-mig",
        "systems 2.1, M23",
        "the product as under MIG single, and nodes are mixed",
        NO_NODE,
        swap(FLAVOR, PRODUCT, lambda old: f"{old}-MIG-1g.10gb", named("a100-mig", "a100-full", "h100-train")),
    ),
    Operator(
        "flavor-label-key",
        "kueue Part 2 #52; systems 2.1",
        "a key under nvidia.com/ that nobody publishes",
        NO_NODE,
        rename(FLAVOR, PRODUCT, "nvidia.com/gpu.prodcut", WITH_NODES),
    ),
    Operator(
        "flavor-pool-misspelt",
        "kueue Part 2 #52",
        "a pool that no node is in",
        NO_NODE,
        swap(FLAVOR, POOL, typo, WITH_NODES),
    ),
    Operator(
        "flavor-labels-contradict-nodes",
        "kueue Part 2 #52",
        "product and pool that never occur together",
        NO_NODE,
        many(
            put(FLAVOR, PRODUCT, "NVIDIA-L4", named("h100-train", "a100-full")),
            put(FLAVOR, PRODUCT, "NVIDIA-A100-SXM4-80GB", named("l4-serve", "h100-serve")),
        ),
    ),
    Operator(
        "flavor-pool-dropped",
        "kueue Part 2 #53",
        "a flavor that also selects the nodes of another",
        ("flavors-overlap",),
        drop(FLAVOR, POOL, WITH_NODES),
    ),
    Operator(
        "flavor-labels-dropped",
        "kueue Part 2 #53, #65",
        "a flavor without node labels, which a topology needs",
        ("refused", "flavors-overlap"),
        drop(FLAVOR, "spec nodeLabels", WITH_NODES),
        3,
    ),
    Operator(
        "flavors-of-one-pool",
        "kueue Part 2 #53",
        "two flavors select one pool, the other pool has none",
        ("flavors-overlap",),
        many(
            put(FLAVOR, POOL, "l4-serve", named("l4-batch")),
            put(FLAVOR, POOL, "a100-mig", named("a100-full")),
            put(FLAVOR, POOL, "h100-train", named("h100-serve")),
        ),
    ),
    Operator(
        "flavors-swapped",
        "kueue Part 2 #52, #1",
        "the labels of two flavors change places",
        ("guarantees-beyond-hardware", "flavor-without-resource"),
        many(
            _swapped("h100-train", "h100-serve"),
            _swapped("a100-mig", "a100-full"),
            _swapped("l4-serve", "l4-batch"),
            _swapped("h100-serve", "l4-serve"),
        ),
    ),
    Operator(
        "flavors-contradict",
        "kueue Part 2 #54",
        "cpu and GPUs from flavors whose labels exclude each other",
        ("labels-contradict",),
        many(
            each("ClusterQueue", named("foundation", "vision"), _split_group("l4-batch")),
            each("ClusterQueue", named("vision-batch"), _split_group("a100-full")),
        ),
    ),
    Operator(
        "flavor-taint-added",
        "kueue Part 2 #55",
        "a taint that no workload and no flavor tolerates",
        ("untolerated-taint",),
        put(FLAVOR, "spec nodeTaints", [TAINT], WITH_NODES),
    ),
    Operator(
        "flavor-toleration-dropped",
        "kueue Part 2 #55; systems M41",
        "nodes are tainted and nothing tolerates it any more",
        ("untolerated-taint",),
        drop(FLAVOR, "spec tolerations", WITH_NODES),
    ),
    Operator(
        "flavor-toleration-key",
        "kueue Part 2 #55; systems M41",
        "a toleration of another key",
        ("untolerated-taint",),
        swap(FLAVOR, "spec tolerations 0 key", typo, WITH_NODES),
    ),
    Operator(
        "flavor-toleration-effect",
        "kueue Part 2 #55",
        "a toleration of another effect",
        ("untolerated-taint",),
        swap(FLAVOR, "spec tolerations 0 effect", lambda _: "NoExecute", WITH_NODES),
    ),
    Operator(
        "flavor-toleration-invalid",
        "kueue 1a ResourceFlavor",
        "Exists with a value; an operator that does not exist",
        ("refused", "schema"),
        many(
            put(FLAVOR, "spec tolerations 0 value", "present", WITH_NODES),
            put(FLAVOR, "spec tolerations 0 operator", "exists", WITH_NODES),
            put(FLAVOR, "spec tolerations 0 effect", "NoSchedul", WITH_NODES),
        ),
        9,
    ),
    Operator(
        "flavor-taints-twice",
        "kueue 1a ResourceFlavor",
        "two taints with one key and effect",
        ("refused",),
        put(FLAVOR, "spec nodeTaints", [TAINT, {**TAINT, "value": "infer"}], WITH_NODES),
        3,
    ),
    Operator(
        "flavor-missing",
        "kueue 1a Active=False",
        "a ClusterQueue names a flavor that is not there",
        ("flavor-missing",),
        swap("ClusterQueue", "spec resourceGroups * flavors * name", typo),
        8,
    ),
    Operator(
        "flavor-gone",
        "kueue 1a Active=False",
        "a flavor that queues name is removed",
        ("flavor-missing",),
        remove(FLAVOR),
        7,
    ),
    Operator(
        "flavor-twice-in-queue",
        "kueue 1a ClusterQueue",
        "one flavor twice in a queue",
        ("refused",),
        put(
            "ClusterQueue", "spec resourceGroups 0 flavors 1 name", "h100-train", named("research", "speech")
        ),
    ),
    Operator(
        "flavor-defined-twice",
        "generic",
        "a flavor a second time, with other labels",
        ("ambiguous",),
        twice(FLAVOR, lambda it: it["spec"]["nodeLabels"].update({"gpu.example.com/pool": "spare"})),
        3,
    ),
    Operator(
        "preference-without-scan",
        "kueue Part 2 #58",
        "a preference, and the search stops before it matters",
        ("refused",),
        put(
            "ClusterQueue",
            "spec flavorFungibility",
            {
                "whenCanBorrow": "MayStopSearch",
                "whenCanPreempt": "TryNextFlavor",
                "preference": "PreemptionOverBorrowing",
            },
            named("research", "speech"),
        ),
    ),
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
