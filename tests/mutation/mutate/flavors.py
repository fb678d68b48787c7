"""Faults in flavors, in the topology, and in what workloads ask of both."""

from __future__ import annotations

from typing import Any

from mutate.base import Edit, Object
from mutate.edits import (
    GPU,
    Operator,
    drop,
    each,
    many,
    named,
    put,
    remove,
    rename,
    swap,
    twice,
)
from mutate.sharing import typo

FLAVOR = "ResourceFlavor"
PRODUCT = f"spec nodeLabels {GPU}.product"
POOL = "spec nodeLabels gpu.example.com/pool"
RACK, BLOCK, HOST = "topology.example.com/rack", "topology.example.com/block", "kubernetes.io/hostname"
WITH_NODES = named("h100-train", "h100-serve", "a100-mig", "a100-full", "l4-serve", "l4-batch")


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
        ("flavors-overlap", "guarantees-beyond-hardware"),
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
)
