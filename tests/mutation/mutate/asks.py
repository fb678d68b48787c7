"""Faults in how pods ask for accelerators."""

from __future__ import annotations

from typing import Any

from mutate.base import Object
from mutate.edits import (
    GPU,
    LABELS,
    Operator,
    many,
    named,
    pods,
    put,
    resources,
    twice,
)
from mutate.hardware import allocates, node, pool


def ask(**amounts: Any) -> Any:
    """Requests and limits of accelerators; None takes one away."""

    def change(found: Object) -> None:
        for word, amount in amounts.items():
            name = f"nvidia.com/{word.replace('__', '.').replace('_', '-')}"
            for part in ("requests", "limits"):
                found[part].pop(name, None)
                if amount is not None:
                    found[part][name] = amount

    return change


def _replace(old: str, new: str) -> Any:
    def change(found: Object) -> None:
        for part in ("requests", "limits"):
            if old in found[part]:
                found[part][new] = found[part].pop(old)

    return change


def _asks(resource: str) -> Any:
    return lambda it: resource in str(it["spec"])


def _unequal(found: Object) -> None:
    for name in found["limits"]:
        if name.startswith("nvidia.com/"):
            found["requests"][name] = "1" if found["limits"][name] != "1" else "2"


def _unlimited(found: Object) -> None:
    found["limits"] = {k: v for k, v in found["limits"].items() if not k.startswith("nvidia.com/")}


def _half(found: Object) -> None:
    for part in ("requests", "limits"):
        for name in found[part]:
            if name.startswith("nvidia.com/"):
                found[part][name] = "500m"


OPERATORS = (
    Operator(
        "gpu-request-differs",
        "systems M45",
        "a request that is not the limit",
        ("request-limit",),
        resources(_unequal),
    ),
    Operator(
        "gpu-without-limit",
        "systems M45, 2.2",
        "a request without limit",
        ("request-limit",),
        resources(_unlimited),
    ),
    Operator("gpu-fraction", "systems 2.2", "half a GPU", ("gpu-fraction",), resources(_half)),
    Operator(
        "memory-request-above-limit",
        "generic",
        "more memory requested than the limit",
        ("request-limit", "request-above-limit"),
        resources(lambda r: r["limits"].update(memory="1Gi")),
    ),
    Operator(
        "slice-two-types",
        "systems M26",
        "two types of slices in one container",
        ("mig-several",),
        resources(
            ask(mig_1g__10gb="1", mig_2g__20gb="1"), named("notebook-jun", "notebook-ana", "adapter-dialects")
        ),
    ),
    Operator(
        "slice-several",
        "systems M26",
        "three slices in one container, which sees one",
        ("mig-several",),
        resources(
            lambda r: [r[k].update({n: "3" for n in r[k] if "mig-" in n}) for k in ("requests", "limits")],
            _asks("nvidia.com/mig-"),
        ),
    ),
    Operator(
        "slice-and-gpu",
        "systems M26",
        "a slice and a whole GPU in one container",
        ("mig-several", "uncovered-resource"),
        resources(ask(gpu="1"), _asks("nvidia.com/mig-")),
    ),
    Operator(
        "slice-of-no-product",
        "systems M33; kueue Part 2 #80",
        "a profile that no GPU here has",
        ("mig-product", "uncovered-resource"),
        many(
            resources(
                _replace("nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.5gb"), named("notebook-jun", "probe-0")
            ),
            resources(
                _replace("nvidia.com/mig-3g.40gb", "nvidia.com/mig-3g.20gb"), named("adapter-dialects")
            ),
        ),
    ),
    Operator(
        "slice-with-plus",
        "systems 2.2",
        "a resource name with +, which is none",
        ("resource-name", "uncovered-resource"),
        resources(
            _replace("nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb+me"),
            named("notebook-jun", "probe-0", "embedding-cache"),
        ),
    ),
    Operator(
        "gpu-on-sliced-nodes",
        "systems M23; kueue Part 2 #80",
        "a whole GPU from a pool of slices",
        ("uncovered-resource", "selects-no-node"),
        resources(
            lambda r: [_replace(n, GPU)(r) for n in list(r["limits"]) if "mig-" in n],
            _asks("nvidia.com/mig-"),
        ),
    ),
    Operator(
        "gpu-resource-misspelt",
        "generic; systems 2.2",
        "a resource that no node has",
        ("uncovered-resource", "unknown-resource"),
        resources(_replace(GPU, "nvidia.com/gpus"), _asks("'nvidia.com/gpu'")),
    ),
    Operator(
        "selector-product-misspelt",
        "systems 2.1",
        "a nodeSelector with a product that no node has",
        ("selects-no-node",),
        pods(lambda t: t["spec"].setdefault("nodeSelector", {}).update({f"{GPU}.product": "H100-80GB-HBM3"})),
    ),
    Operator(
        "selector-product-of-other",
        "systems 2.1, M33",
        "a product that this pool does not have",
        ("selects-no-node", "no-matching-flavor"),
        pods(
            lambda t: t["spec"].setdefault("nodeSelector", {}).update({f"{GPU}.product": "NVIDIA-L4"}),
            lambda it: it["metadata"]["namespace"] in ("team-foundation", "team-research"),
        ),
    ),
    Operator(
        "selector-key-unpublished",
        "systems 2.1",
        "a key under nvidia.com/ that nobody publishes",
        ("selects-no-node",),
        pods(lambda t: t["spec"].setdefault("nodeSelector", {}).update({"nvidia.com/gpu.model": "H100"})),
    ),
    Operator(
        "instance-type-contradicts",
        "systems 2.4",
        "an instance type that has other GPUs",
        ("node-contradicts",),
        many(
            put("Node", f"{LABELS} node.kubernetes.io/instance-type", "p4d.24xlarge", pool("h100-train")),
            put("Node", f"{LABELS} node.kubernetes.io/instance-type", "g6.12xlarge", pool("a100-full")),
        ),
        4,
    ),
    Operator(
        "allocatable-above-capacity",
        "generic",
        "a node that allocates more than it has",
        ("node-contradicts",),
        node(pool("h100-train", "l4-serve"), lambda it: it["status"]["allocatable"].update({GPU: "16"})),
    ),
    Operator(
        "node-twice",
        "generic",
        "a node is there twice, with other GPUs",
        ("ambiguous",),
        twice("Node", allocates(gpu="2"), named("h100-01", "l4-07")),
    ),
)
