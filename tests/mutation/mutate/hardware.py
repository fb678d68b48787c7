"""Faults in nodes, in MIG and sharing, and in how pods ask for accelerators."""

from __future__ import annotations

from typing import Any

from mutate.base import Edit, Object
from mutate.edits import (
    GPU,
    LABELS,
    Operator,
    both,
    drop,
    each,
    embedded,
    many,
    named,
    pods,
    put,
    remove,
    rename,
    resources,
    swap,
    twice,
)
from mutate.flavors import BLOCK, HOST, RACK
from mutate.sharing import typo

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


def slices(**amounts: Any) -> Any:
    """MIG devices of a node, its labels and its resources alike: g2 is 2g.20gb."""
    profiles = {"g1": "1g.10gb", "g2": "2g.20gb", "g3": "3g.40gb", "small": "1g.5gb"}

    def change(it: Object) -> None:
        for word, amount in amounts.items():
            name = f"nvidia.com/mig-{profiles[word]}"
            it["metadata"]["labels"][f"{name}.count"] = amount
            it["metadata"]["labels"][f"{name}.replicas"] = "1"
            for part in ("capacity", "allocatable"):
                it["status"][part][name] = amount

    return change


def node(when: Any, change: Any) -> Any:
    return each("Node", when, change)


def _all(*changes: Any) -> Any:
    def run(it: Object) -> None:
        for change in changes:
            change(it)

    return run


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


def layouts(change: Any, place: str) -> Any:
    def make(world: Any) -> Any:
        ref, _ = world.one("ConfigMap", "mig-layouts")
        yield Edit(f"mig-layouts:{place}", ((ref, embedded("config.yaml", change)),))

    return make


def devices(change: Any, layout: str = "dev-3g-2g") -> Any:
    return layouts(lambda c: change(c["mig-configs"][layout][0]), layout)


def plugin(sharing: Object, place: str) -> Any:
    def make(world: Any) -> Any:
        ref, _ = world.one("ConfigMap", "device-plugin-config")
        yield Edit(
            f"device-plugin-config:{place}", ((ref, embedded("whole", lambda c: c.update(sharing=sharing))),)
        )

    return make


def share(kind: str = "timeSlicing", **more: Any) -> Object:
    return {
        kind: {
            **{k: v for k, v in more.items() if k != "resource"},
            "resources": [{"name": GPU, "replicas": 4, **more.get("resource", {})}],
        }
    }


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
        ("sharing-oversells",),
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
    Operator(
        "slices-beyond-gpu",
        "systems 2.3 / M31",
        "more slices than the GPUs have",
        ("mig-geometry",),
        many(node(named("a100-03"), slices(g1="64")), node(named("a100-01", "a100-02"), slices(g3="17"))),
    ),
    Operator(
        "slices-do-not-fit",
        "systems 2.3 / M31",
        "a mix that needs 9 of 8 memory slices",
        ("mig-geometry",),
        many(
            node(named("a100-01"), slices(g3="16", g2="0", g1="8")),
            node(named("a100-02"), slices(g3="8", g2="24")),
        ),
    ),
    Operator(
        "slices-of-other-product",
        "systems 2.3 / M33",
        "a profile that the product does not have",
        ("mig-geometry", "mig-product"),
        many(
            node(named("a100-03"), slices(small="7")),
            node(
                pool("l4-serve", "l4-batch"),
                _all(allocates(**{"mig-1g.10gb": "7"}), labels(mig__strategy="mixed")),
            ),
        ),
    ),
    Operator(
        "slices-label-contradicts",
        "systems 2.1",
        "the count of slices is not the resource",
        ("node-contradicts", "mig-geometry"),
        many(
            put("Node", f"{LABELS} nvidia.com/mig-1g.10gb.count", "28", named("a100-03")),
            put("Node", f"{LABELS} nvidia.com/mig-3g.40gb.count", "4", named("a100-01", "a100-02")),
        ),
    ),
    Operator(
        "slices-gone",
        "kueue Part 2 #1, #80",
        "fewer slices than are promised",
        BEYOND,
        many(node(named("a100-03"), slices(g1="42")), node(named("a100-01", "a100-02"), slices(g2="8"))),
    ),
    Operator(
        "mig-single-with-slices",
        "systems M23, M24",
        "strategy single, and the node offers mig-* resources",
        ("mig-strategy", "node-contradicts"),
        put("Node", f"{LABELS} nvidia.com/mig.strategy", "single", named("a100-01", "a100-02", "a100-03")),
    ),
    Operator(
        "mig-stale-gpus",
        "systems M24",
        "all GPUs sliced, and whole ones are offered too",
        ("mig-stale", "node-contradicts"),
        node(named("a100-01", "a100-02", "a100-03"), allocates(gpu="8")),
    ),
    Operator(
        "mig-state-failed",
        "systems 2.1, M30",
        "the layout was not applied",
        ("mig-state",),
        many(
            put("Node", f"{LABELS} nvidia.com/mig.config.state", "failed", named("a100-01", "a100-03")),
            put("Node", f"{LABELS} nvidia.com/mig.config.state", "pending", named("a100-02")),
        ),
    ),
    Operator(
        "mig-invalid",
        "systems 2.3",
        "single with a mix of profiles: the product says INVALID",
        (*BEYOND, "mig-strategy"),
        node(
            named("a100-01", "a100-03"),
            lambda it: (
                it["metadata"]["labels"].update(
                    {
                        f"{GPU}.product": "NVIDIA-A100-SXM4-80GB-MIG-INVALID",
                        f"{GPU}.count": "0",
                        "nvidia.com/mig.strategy": "single",
                    }
                ),
                allocates(gpu="0", **{"mig-1g.10gb": None, "mig-2g.20gb": None, "mig-3g.40gb": None})(it),
            ),
        ),
    ),
    Operator(
        "mig-layout-unknown",
        "systems M28",
        "a node names a layout that is not configured",
        ("mig-layout",),
        swap("Node", f"{LABELS} nvidia.com/mig.config", typo, pool("a100-mig")),
    ),
    Operator(
        "mig-layouts-key",
        "systems M28",
        "the ConfigMap has no key config.yaml",
        ("mig-layout",),
        rename("ConfigMap", "data config.yaml", "config.yml", named("mig-layouts")),
    ),
    Operator(
        "mig-layouts-gone",
        "systems M28",
        "the layouts that the operator is told are not there",
        ("mig-layout",),
        remove("ConfigMap", named("mig-layouts")),
    ),
    Operator(
        "mig-layout-default",
        "systems 2.3",
        "the default layout is not among the layouts",
        ("mig-layout",),
        layouts(lambda c: c["mig-configs"].pop("all-disabled"), "all-disabled dropped"),
    ),
    Operator(
        "mig-layout-geometry",
        "systems 2.3 / M31",
        "a layout that no GPU can have",
        ("mig-layout", "mig-geometry"),
        many(
            devices(lambda d: d.update({"mig-devices": {"3g.40gb": 2, "1g.10gb": 1}})),
            devices(lambda d: d.update({"mig-devices": {"4g.40gb": 2}})),
            devices(lambda d: d.update({"mig-devices": {"1g.10gb": 8}}), "all-1g.10gb"),
        ),
    ),
    Operator(
        "mig-layout-profile",
        "systems M33",
        "a layout with a profile of another product",
        ("mig-layout", "mig-product"),
        many(
            devices(lambda d: d.update({"mig-devices": {"3g.20gb": 2}})),
            devices(lambda d: d.update({"mig-devices": {"1g.10gb.me": 1}})),
        ),
    ),
    Operator(
        "mig-layout-coverage",
        "systems M27",
        "a layout that names some of the GPUs",
        ("mig-layout",),
        devices(lambda d: d.update(devices=[0, 1])),
    ),
    Operator(
        "mig-layout-enabled-empty",
        "systems 2.3",
        "MIG on, without devices: the node offers nothing",
        ("mig-layout",),
        devices(lambda d: d.update({"mig-devices": {}})),
    ),
    Operator(
        "mig-strategy-single",
        "systems M23",
        "the operator is told single, workloads ask for mig-*",
        ("mig-strategy",),
        put("ClusterPolicy", "spec mig strategy", "single"),
    ),
    Operator(
        "mig-strategy-none",
        "systems 2.2",
        "the operator is told none: slices are not offered",
        ("mig-strategy",),
        put("ClusterPolicy", "spec mig strategy", "none"),
    ),
    Operator(
        "plugin-config-unknown",
        "systems M36",
        "the operator names a plugin configuration that is not there",
        ("plugin-config",),
        many(
            put("ClusterPolicy", "spec devicePlugin config default", "hole"),
            put("ClusterPolicy", "spec devicePlugin config name", "device-plugin-configs"),
        ),
    ),
    Operator(
        "plugin-config-unreferenced",
        "systems M36",
        "a sharing configuration that nothing refers to",
        ("plugin-config",),
        both(drop("ClusterPolicy", "spec devicePlugin config"), plugin(share(), "sharing")),
    ),
    Operator(
        "plugin-rename",
        "systems M38",
        "a rename of one resource: ignored",
        ("plugin-sharing",),
        plugin(share(resource={"rename": "nvidia.com/h100-slice"}), "rename"),
    ),
    Operator(
        "plugin-oversells",
        "systems M35",
        "the plugin shares every GPU by 4, quotas count GPUs",
        ("plugin-sharing", "sharing-oversells"),
        plugin(share(), "timeSlicing"),
    ),
    Operator(
        "plugin-both",
        "systems 2.2",
        "time slicing and MPS at once",
        ("plugin-sharing",),
        plugin({**share(), **share("mps")}, "timeSlicing and mps"),
    ),
    Operator(
        "plugin-one-replica",
        "systems 2.2",
        "sharing with one replica",
        ("plugin-sharing",),
        plugin(share(resource={"replicas": 1}), "replicas 1"),
    ),
    Operator(
        "plugin-mps-mixed",
        "systems 2.2",
        "MPS beside MIG mixed",
        ("plugin-sharing",),
        plugin(share("mps"), "mps"),
    ),
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
        twice("Node", allocates(gpu="4"), named("h100-01", "l4-07")),
    ),
)
