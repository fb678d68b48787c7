"""The checks of Kueue's rules, by area; ``check: kueue.NAME`` in a rule file means one of these."""

from policycheck.systems.kueue.checks.admission import (
    check_parameters,
    checks_exclude,
    clusters_missing,
    controller_misspelt,
    holds_quota,
    provisions_nothing,
)
from policycheck.systems.kueue.checks.companions import (
    cohort_repeats_members,
    companions_not_borrowable,
    gpus_scattered,
)
from policycheck.systems.kueue.checks.configuration import (
    queue_metrics_off,
)
from policycheck.systems.kueue.checks.domains import (
    required_domain_too_small,
)
from policycheck.systems.kueue.checks.filled import (
    guarantee_not_usable,
)
from policycheck.systems.kueue.checks.flavors import (
    flavor_unused,
    flavors_overlap,
    labels_contradict,
    matches_no_node,
)
from policycheck.systems.kueue.checks.fragile import (
    level_needs_growth,
    sometimes_held,
)
from policycheck.systems.kueue.checks.gates import (
    concurrent_gate_off,
    configuration_field,
    elastic_not_yet,
    excludes_before,
    gate_misspelt,
    gate_removed,
    hot_swap_before,
    sharing_not_yet,
    sorting_off,
    topology_gate_off,
    topology_not_yet,
    undeclared_gate_off,
    undeclared_not_yet,
    within_nominal_before,
)
from policycheck.systems.kueue.checks.growth import (
    needs_growth,
    waits_for_growth,
)
from policycheck.systems.kueue.checks.hardware import (
    companions_beyond_hardware,
    companions_strand,
    companions_zero,
    guarantees_beyond_hardware,
    placeholder_quota,
)
from policycheck.systems.kueue.checks.labels import (
    misplaced,
    unknown_label,
)
from policycheck.systems.kueue.checks.levels import (
    asked_without,
    level_unknown,
    levels_do_not_nest,
    mixed,
    scaled_to_zero,
)
from policycheck.systems.kueue.checks.managed import (
    in_no_queue,
    manages_everything,
    manages_nobody,
    queue_where_nothing_is_managed,
)
from policycheck.systems.kueue.checks.mapped import (
    class_unmapped,
    excluded_and_quota,
    mapping_uncovered,
    output_uncovered,
    replaced_and_quota,
    retained_uncovered,
)
from policycheck.systems.kueue.checks.matching import (
    foreign_gate,
    no_matching_flavor,
    podsets_split,
    selector_unheeded,
    selects_no_node,
    taint_untolerated,
)
from policycheck.systems.kueue.checks.namespaces import (
    local_queue_outside_selector,
    selector_matches_none,
)
from policycheck.systems.kueue.checks.objects import (
    bad_name,
    deprecated_versions,
    unknown_kind,
    version_unknown,
)
from policycheck.systems.kueue.checks.outside import (
    framework_off,
    label_on_template,
    outside_queue,
    service_outside_queue,
)
from policycheck.systems.kueue.checks.ownership import (
    owner_missing,
)
from policycheck.systems.kueue.checks.pods import (
    charged_less,
    no_requests,
    pod_group,
    priority_preempts,
    replicas_beyond_limits,
    rollout_without_room,
)
from policycheck.systems.kueue.checks.preemption import (
    borrow_policy_under_fair_sharing,
    borrow_without_threshold,
    classes_of_one_value,
    guarantee_not_reclaimable,
    priorities_without_preemption,
    production_borrows,
    threshold_for_nobody,
    weight_without_fair_sharing,
)
from policycheck.systems.kueue.checks.promised import (
    declared_not_held,
)
from policycheck.systems.kueue.checks.rayquota import (
    max_replicas_over_quota,
    upgrade_without_room,
)
from policycheck.systems.kueue.checks.references import (
    check_misspelt,
    cluster_queue_misspelt,
    flavor_misspelt,
    leads_nowhere,
    local_queue_misspelt,
    priority_class_misspelt,
    reference_not_in_sight,
    topology_misspelt,
)
from policycheck.systems.kueue.checks.refused import (
    check_on_foreign_flavor,
    group_mismatch,
    limit_on_root_cohort,
    ray_autoscales,
    ray_keeps_cluster,
    ray_selects_cluster,
    refused,
)
from policycheck.systems.kueue.checks.requests import (
    exceeds_limits,
    larger_than_node,
    slices_left_over,
    starving_gang,
    strict_over_flavors,
    uncovered_resource,
)
from policycheck.systems.kueue.checks.sharing import (
    borrowing_limit_idle,
    cohort_cycle,
    cohort_parent_misspelt,
    cohort_without_members,
    isolated_queue,
    lone_cohort,
    nothing_ever,
    nothing_shared,
    queue_stopped,
    queue_without_quota,
)
from policycheck.systems.kueue.checks.sharing_out import (
    scope_without_sharing,
    usage_in_bytes,
    usage_never_decays,
    weight_zero,
)
from policycheck.systems.kueue.checks.stranding import (
    strands_accelerators,
)
from policycheck.systems.kueue.checks.topology import (
    level_missing,
    no_level_anywhere,
    topology_unused,
)
from policycheck.systems.kueue.checks.units import (
    bare_accelerator,
    cpu_below_one,
    fraction_of_accelerator,
    units_mixed,
)
from policycheck.systems.kueue.checks.unplaceable import (
    fits_no_flavor,
)
from policycheck.systems.kueue.checks.waiting import (
    blocks_admission,
    endless_requeues,
    no_duration,
    on_by_default,
    too_short,
    written_and_off,
)

__all__ = [
    "asked_without",
    "bad_name",
    "bare_accelerator",
    "blocks_admission",
    "borrow_policy_under_fair_sharing",
    "borrow_without_threshold",
    "borrowing_limit_idle",
    "charged_less",
    "check_misspelt",
    "check_on_foreign_flavor",
    "check_parameters",
    "checks_exclude",
    "class_unmapped",
    "classes_of_one_value",
    "cluster_queue_misspelt",
    "clusters_missing",
    "cohort_cycle",
    "cohort_parent_misspelt",
    "cohort_repeats_members",
    "cohort_without_members",
    "companions_beyond_hardware",
    "companions_not_borrowable",
    "companions_strand",
    "companions_zero",
    "concurrent_gate_off",
    "configuration_field",
    "controller_misspelt",
    "cpu_below_one",
    "declared_not_held",
    "deprecated_versions",
    "elastic_not_yet",
    "endless_requeues",
    "exceeds_limits",
    "excluded_and_quota",
    "excludes_before",
    "fits_no_flavor",
    "flavor_misspelt",
    "flavor_unused",
    "flavors_overlap",
    "foreign_gate",
    "fraction_of_accelerator",
    "framework_off",
    "gate_misspelt",
    "gate_removed",
    "gpus_scattered",
    "group_mismatch",
    "guarantee_not_reclaimable",
    "guarantee_not_usable",
    "guarantees_beyond_hardware",
    "holds_quota",
    "hot_swap_before",
    "in_no_queue",
    "isolated_queue",
    "label_on_template",
    "labels_contradict",
    "larger_than_node",
    "leads_nowhere",
    "level_missing",
    "level_needs_growth",
    "level_unknown",
    "levels_do_not_nest",
    "limit_on_root_cohort",
    "local_queue_misspelt",
    "local_queue_outside_selector",
    "lone_cohort",
    "manages_everything",
    "manages_nobody",
    "mapping_uncovered",
    "matches_no_node",
    "max_replicas_over_quota",
    "misplaced",
    "mixed",
    "needs_growth",
    "no_duration",
    "no_level_anywhere",
    "no_matching_flavor",
    "no_requests",
    "nothing_ever",
    "nothing_shared",
    "on_by_default",
    "output_uncovered",
    "outside_queue",
    "owner_missing",
    "placeholder_quota",
    "pod_group",
    "podsets_split",
    "priorities_without_preemption",
    "priority_class_misspelt",
    "priority_preempts",
    "production_borrows",
    "provisions_nothing",
    "queue_metrics_off",
    "queue_stopped",
    "queue_where_nothing_is_managed",
    "queue_without_quota",
    "ray_autoscales",
    "ray_keeps_cluster",
    "ray_selects_cluster",
    "reference_not_in_sight",
    "refused",
    "replaced_and_quota",
    "replicas_beyond_limits",
    "required_domain_too_small",
    "retained_uncovered",
    "rollout_without_room",
    "scaled_to_zero",
    "scope_without_sharing",
    "selector_matches_none",
    "selector_unheeded",
    "selects_no_node",
    "service_outside_queue",
    "sharing_not_yet",
    "slices_left_over",
    "sometimes_held",
    "sorting_off",
    "starving_gang",
    "strands_accelerators",
    "strict_over_flavors",
    "taint_untolerated",
    "threshold_for_nobody",
    "too_short",
    "topology_gate_off",
    "topology_misspelt",
    "topology_not_yet",
    "topology_unused",
    "uncovered_resource",
    "undeclared_gate_off",
    "undeclared_not_yet",
    "units_mixed",
    "unknown_kind",
    "unknown_label",
    "upgrade_without_room",
    "usage_in_bytes",
    "usage_never_decays",
    "version_unknown",
    "waits_for_growth",
    "weight_without_fair_sharing",
    "weight_zero",
    "within_nominal_before",
    "written_and_off",
]
