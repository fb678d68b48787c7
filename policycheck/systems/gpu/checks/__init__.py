"""The checks about accelerators, by area; ``check: gpu.NAME`` in a rule file means one of these.

Numbers of rules, each area with a module of its own: GP1xx what pods ask for and where (requests,
selectors), GP2xx nodes that contradict themselves, GP3xx MIG, GP4xx sharing (time slices, MPS),
GP5xx the operator, the device plugin and layouts of MIG, GP6xx kubelets, GP7xx device classes and
ResourceSlices. Beside them stand CR1xx in ``systems/core``: priority classes of pods, quotas of
namespaces, claims.

An area is loaded when the first of its checks is needed: most runs see no node, no operator, no
claim, and a module takes a millisecond or two of every commit's hook.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_AREAS: Mapping[str, tuple[str, ...]] = {
    "layouts": (
        "config_not_in_sight",
        "layout_empty",
        "layout_impossible",
        "layout_mixed_under_single",
        "layout_partial",
        "layout_unknown",
        "layouts_incomplete",
        "strategy_mismatch",
    ),
    "limits": (
        "advertised_twice",
        "device_class_missing",
        "limit_range_gives_gpus",
        "limit_range_refuses",
        "numa_impossible",
    ),
    "nodes": (
        "allocatable_above_capacity",
        "beta_labels_only",
        "described_twice",
        "gpus_not_offered",
        "hostname_twice",
        "inventory_old",
        "label_value_illegal",
        "labels_contradict",
        "layout_invalid",
        "layout_not_applied",
        "slices_beyond_cards",
        "slices_under_single",
        "stale_gpus",
        "type_contradicts_product",
    ),
    "placing": (
        "daemon_untolerating",
        "fits_no_node",
        "operator_untolerating",
        "pool_untainted",
        "unpublished_label",
    ),
    "plugin": (
        "config_unknown",
        "config_unreferenced",
        "plugin_oversells",
        "rename_ignored",
        "sharing_refused",
    ),
    "requests": (
        "fraction_of_gpu",
        "init_container_holds_gpus",
        "nobody_offers",
        "request_differs_from_limit",
        "two_vendors",
    ),
    "sharing": (
        "quota_counts_shares",
        "service_on_shares",
        "several_shares",
        "shares_among_gpus",
    ),
    "slices": (
        "gang_over_slices",
        "name_with_plus",
        "profile_of_other_product",
        "profile_unknown",
        "several_kinds",
        "several_slices",
    ),
}


def __getattr__(name: str) -> Any:
    area = next((area for area, names in _AREAS.items() if name in names), None)
    if area is None:
        raise AttributeError(f"there is no check gpu.{name}")
    return getattr(import_module(f"policycheck.systems.gpu.checks.{area}"), name)
