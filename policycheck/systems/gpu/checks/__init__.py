"""The checks about accelerators, by area; ``check: gpu.NAME`` in a rule file means one of these.

Numbers of rules, each area with a module of its own: GP1xx what pods ask for and where (requests,
selectors), GP2xx nodes that contradict themselves, GP3xx MIG, GP4xx sharing (time slices, MPS),
GP5xx the operator, the device plugin and layouts of MIG, GP6xx kubelets, GP7xx device classes and
ResourceSlices. Beside them stand CR1xx in ``systems/core``: priority classes of pods, quotas of
namespaces, claims.
"""

from policycheck.systems.gpu.checks.layouts import (
    config_not_in_sight,
    layout_empty,
    layout_impossible,
    layout_mixed_under_single,
    layout_partial,
    layout_unknown,
    layouts_incomplete,
    strategy_mismatch,
)
from policycheck.systems.gpu.checks.limits import (
    advertised_twice,
    device_class_missing,
    limit_range_gives_gpus,
    limit_range_refuses,
    numa_impossible,
)
from policycheck.systems.gpu.checks.nodes import (
    allocatable_above_capacity,
    beta_labels_only,
    described_twice,
    gpus_not_offered,
    hostname_twice,
    label_value_illegal,
    labels_contradict,
    layout_invalid,
    layout_not_applied,
    slices_beyond_cards,
    slices_under_single,
    stale_gpus,
    type_contradicts_product,
)
from policycheck.systems.gpu.checks.placing import (
    daemon_untolerating,
    fits_no_node,
    operator_untolerating,
    pool_untainted,
    unpublished_label,
)
from policycheck.systems.gpu.checks.plugin import (
    config_unknown,
    config_unreferenced,
    plugin_oversells,
    rename_ignored,
    sharing_refused,
)
from policycheck.systems.gpu.checks.requests import (
    fraction_of_gpu,
    init_container_holds_gpus,
    nobody_offers,
    request_differs_from_limit,
    two_vendors,
)
from policycheck.systems.gpu.checks.sharing import (
    quota_counts_shares,
    service_on_shares,
    several_shares,
    shares_among_gpus,
)
from policycheck.systems.gpu.checks.slices import (
    gang_over_slices,
    name_with_plus,
    profile_of_other_product,
    profile_unknown,
    several_kinds,
    several_slices,
)

__all__ = [
    "advertised_twice",
    "allocatable_above_capacity",
    "beta_labels_only",
    "config_not_in_sight",
    "config_unknown",
    "config_unreferenced",
    "daemon_untolerating",
    "described_twice",
    "device_class_missing",
    "fits_no_node",
    "fraction_of_gpu",
    "gang_over_slices",
    "gpus_not_offered",
    "hostname_twice",
    "init_container_holds_gpus",
    "label_value_illegal",
    "labels_contradict",
    "layout_empty",
    "layout_impossible",
    "layout_invalid",
    "layout_mixed_under_single",
    "layout_not_applied",
    "layout_partial",
    "layout_unknown",
    "layouts_incomplete",
    "limit_range_gives_gpus",
    "limit_range_refuses",
    "name_with_plus",
    "nobody_offers",
    "numa_impossible",
    "operator_untolerating",
    "plugin_oversells",
    "pool_untainted",
    "profile_of_other_product",
    "profile_unknown",
    "quota_counts_shares",
    "rename_ignored",
    "request_differs_from_limit",
    "service_on_shares",
    "several_kinds",
    "several_shares",
    "several_slices",
    "shares_among_gpus",
    "sharing_refused",
    "slices_beyond_cards",
    "slices_under_single",
    "stale_gpus",
    "strategy_mismatch",
    "two_vendors",
    "type_contradicts_product",
    "unpublished_label",
]
