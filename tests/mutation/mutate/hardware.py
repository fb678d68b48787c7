"""Faults in nodes, in MIG and sharing, and in how pods ask for accelerators."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    GPU,
    LABELS,
    Operator,
    drop,
    each,
    many,
    named,
    put,
    remove,
    rename,
)
from mutate.flavors import BLOCK, HOST, RACK

POOL = "gpu.example.com/pool"
TIGHT = ("h100-serve", "l4-serve", "l4-batch", "a100-full", "a100-mig")


def pool(*names: str) -> Any:
    return lambda it: it["metadata"]["labels"].get(POOL) in names


def labels(**held: str) -> Any:
    """Labels under nvidia.com/ of a node; __ stands for a dot."""
    return lambda it: it["metadata"]["labels"].update(
        {f"nvidia.com/{k.replace('__', '.')}": v for k, v in held.items()}
    )


def allocates(**amounts: Any) -> Any:
    def change(it: Object) -> None:
        for resource, amount in amounts.items():
            name = f"nvidia.com/{resource}"
            for part in ("capacity", "allocatable"):
                if amount is None:
                    it["status"][part].pop(name, None)
                else:
                    it["status"][part][name] = amount

    return change


def node(when: Any, change: Any) -> Any:
    return each("Node", when, change)


def _shared(it: Object) -> None:
    """Time slicing by 4, as labels and resources show it."""
    count = int(it["status"]["allocatable"][GPU])
    labels(gpu__replicas="4", gpu__sharing_strategy="time-slicing")(it)
    it["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] = "time-slicing"
    it["metadata"]["labels"]["nvidia.com/gpu.product"] += "-SHARED"
    allocates(gpu=str(count * 4))(it)


def _renamed_share(it: Object) -> None:
    count = int(it["status"]["allocatable"][GPU])
    it["metadata"]["labels"].update({f"{GPU}.replicas": "4", f"{GPU}.sharing-strategy": "time-slicing"})
    for part in ("capacity", "allocatable"):
        it["status"][part][GPU] = "0"
        it["status"][part][f"{GPU}.shared"] = str(count * 4)


def _unlabel(it: Object) -> None:
    held = it["metadata"]["labels"]
    it["metadata"]["labels"] = {k: v for k, v in held.items() if not k.startswith("nvidia.com/")}


def _not_ready(it: Object) -> None:
    it["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]


def taint(key: str, effect: str = "NoSchedule") -> Any:
    return lambda it: (
        it["spec"].setdefault("taints", []).append({"key": key, "value": "ml", "effect": effect})
    )


BEYOND = ("guarantees-beyond-hardware",)
LEVEL = ("level-missing",)
OPERATORS = (
    Operator(
        "node-gone",
        "kueue Part 2 #1",
        "a node of a pool that is promised to the last GPU is gone",
        BEYOND,
        remove("Node", pool(*TIGHT)),
        8,
    ),
    Operator(
        "node-cordoned",
        "kueue Part 2 #1",
        "such a node is cordoned",
        BEYOND,
        node(pool(*TIGHT), lambda it: it["spec"].update(unschedulable=True)),
        8,
    ),
    Operator(
        "node-not-ready",
        "kueue Part 2 #1",
        "such a node is not ready",
        BEYOND,
        node(pool(*TIGHT), _not_ready),
        6,
    ),
    Operator(
        "node-without-gpus",
        "systems M42",
        "labels say GPUs, allocatable has none",
        (*BEYOND, "node-contradicts"),
        node(pool("h100-train", "h100-serve", "l4-serve"), allocates(gpu="0")),
    ),
    Operator(
        "node-lost-a-gpu",
        "kueue Part 2 #1; systems 2.2",
        "one GPU of a node is gone",
        (*BEYOND, "node-contradicts"),
        node(
            pool("h100-serve", "l4-serve", "a100-full", "l4-batch"),
            lambda it: it["status"]["allocatable"].update(
                {GPU: str(int(it["status"]["allocatable"][GPU]) - 1)}
            ),
        ),
    ),
    Operator(
        "node-count-label",
        "systems 2.1",
        "gpu.count is not what the node has",
        ("node-contradicts",),
        node(pool("h100-train", "l4-serve", "a100-full"), labels(gpu__count="16")),
    ),
    Operator(
        "node-unlabelled",
        "systems M40; kueue Part 2 #52",
        "a node that nobody has labelled with its GPUs",
        BEYOND,
        node(pool(*TIGHT), _unlabel),
    ),
    Operator(
        "node-level-block",
        "kueue Part 2 #61",
        "a node without its block",
        LEVEL,
        drop("Node", f"{LABELS} {BLOCK}"),
    ),
    Operator(
        "node-level-rack",
        "kueue Part 2 #61",
        "a node without its rack",
        LEVEL,
        drop("Node", f"{LABELS} {RACK}"),
    ),
    Operator(
        "node-level-host",
        "kueue Part 2 #61",
        "a node without hostname",
        LEVEL,
        drop("Node", f"{LABELS} {HOST}"),
    ),
    Operator(
        "node-level-misspelt",
        "kueue Part 2 #61",
        "the label of a level is misspelt on a node",
        LEVEL,
        rename("Node", f"{LABELS} {RACK}", "topology.example.com/rak"),
    ),
    Operator(
        "node-rack-in-two-blocks",
        "systems 2.1",
        "a rack that lies in two blocks",
        ("levels-nest",),
        put("Node", f"{LABELS} {BLOCK}", "z", pool("h100-train", "h100-serve")),
    ),
    Operator(
        "node-hostname-twice",
        "systems 2.1",
        "two nodes of one hostname",
        ("levels-nest", "hostname-twice"),
        put("Node", f"{LABELS} {HOST}", "h100-01", pool("h100-train")),
        3,
    ),
    Operator(
        "node-pool-dropped",
        "kueue Part 2 #52, #1",
        "a node is in no pool any more",
        BEYOND,
        drop("Node", f"{LABELS} {POOL}", pool(*TIGHT)),
    ),
    Operator(
        "node-pool-swapped",
        "kueue Part 2 #1, #53",
        "a node is in another pool",
        BEYOND,
        many(
            put("Node", f"{LABELS} {POOL}", "h100-train", pool("h100-serve")),
            put("Node", f"{LABELS} {POOL}", "l4-serve", pool("l4-batch")),
            put("Node", f"{LABELS} {POOL}", "a100-mig", pool("a100-full")),
        ),
    ),
    Operator(
        "node-product-swapped",
        "kueue Part 2 #52; systems 2.1",
        "a node says another product",
        (*BEYOND, "node-contradicts"),
        many(
            put("Node", f"{LABELS} {GPU}.product", "NVIDIA-H100-PCIe", pool("h100-serve")),
            put("Node", f"{LABELS} {GPU}.product", "NVIDIA-A10G", pool("l4-serve", "l4-batch")),
        ),
    ),
    Operator(
        "node-tainted",
        "kueue Part 2 #55",
        "a taint that nothing tolerates",
        ("untolerated-taint", *BEYOND),
        node(pool(*TIGHT), taint("example.com/maintenance")),
    ),
    Operator(
        "node-taint-key",
        "systems 2.2 operator taint; Part 2 #55",
        "GPU nodes with a taint that neither operator nor flavor tolerates",
        ("untolerated-taint", *BEYOND),
        put("Node", "spec taints 0 key", "team", pool("h100-serve", "l4-serve", "a100-full")),
    ),
    Operator(
        "plugin-untolerating",
        "systems 2.2 operator taint",
        "the device plugin does not tolerate the GPU taint: no GPUs",
        ("daemon-untolerating",),
        drop(
            "DaemonSet",
            "spec template spec tolerations",
            named("nvidia-device-plugin", "nvidia-dcgm-exporter"),
        ),
    ),
    Operator(
        "daemon-grows",
        "kueue Part 2 #5",
        "a DaemonSet takes 8 cores more of every node",
        ("companions-beyond-hardware",),
        put("DaemonSet", "spec template spec containers 0 resources requests cpu", "8"),
    ),
    Operator(
        "sharing-oversells",
        "systems M35",
        "time slicing by 4: what counts as GPUs is a quarter of one",
        ("sharing-oversells", *BEYOND),
        node(pool("h100-serve", "l4-serve", "a100-full"), _shared),
    ),
    Operator(
        "sharing-under-serving",
        "systems M39",
        "serving on shared GPUs",
        ("sharing-latency", "sharing-oversells", "flavor-without-resource"),
        node(
            pool("l4-serve", "h100-serve"),
            lambda it: (
                _shared(it),
                it["metadata"]["labels"].update(
                    {f"{GPU}.product": it["metadata"]["labels"][f"{GPU}.product"].removesuffix("-SHARED")}
                ),
            ),
        ),
    ),
    Operator(
        "sharing-renamed",
        "systems 2.2",
        "shared GPUs under nvidia.com/gpu.shared, quotas say nvidia.com/gpu",
        (*BEYOND, "sharing-oversells"),
        node(pool("h100-serve", "l4-batch", "a100-full"), _renamed_share),
    ),
    Operator(
        "replicas-contradict",
        "systems 2.1",
        "a replicas label that the resources contradict",
        ("node-contradicts",),
        node(pool("h100-train", "l4-serve", "a100-full"), labels(gpu__replicas="4")),
    ),
    Operator(
        "strategy-contradicts",
        "systems 2.1",
        "time slicing as strategy, one replica",
        ("node-contradicts",),
        put("Node", f"{LABELS} {GPU}.sharing-strategy", "time-slicing", pool("h100-train", "l4-serve")),
    ),
)
