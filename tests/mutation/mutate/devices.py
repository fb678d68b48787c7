"""Faults in MIG, in sharing, and in how pods ask for accelerators."""

from __future__ import annotations

from typing import Any

from mutate.base import Edit, Object
from mutate.edits import (
    GPU,
    LABELS,
    Operator,
    both,
    drop,
    embedded,
    many,
    named,
    put,
    remove,
    rename,
    swap,
)
from mutate.hardware import BEYOND, allocates, labels, node, pool
from mutate.sharing import typo


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


def _all(*changes: Any) -> Any:
    def run(it: Object) -> None:
        for change in changes:
            change(it)

    return run


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


OPERATORS = (
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
)
