"""The checks of Kueue's rules, by area; ``check: kueue.NAME`` in a rule file means one of these."""

from policycheck.systems.kueue.checks.configuration import queue_metrics_off
from policycheck.systems.kueue.checks.flavors import (
    flavor_unused,
    flavors_overlap,
    labels_contradict,
    matches_no_node,
)
from policycheck.systems.kueue.checks.hardware import (
    companions_beyond_hardware,
    companions_strand,
    companions_zero,
    guarantees_beyond_hardware,
    placeholder_quota,
)
from policycheck.systems.kueue.checks.namespaces import (
    local_queue_outside_selector,
    selector_matches_none,
)
from policycheck.systems.kueue.checks.outside import (
    framework_off,
    label_on_template,
    outside_queue,
    service_outside_queue,
)
from policycheck.systems.kueue.checks.ownership import owner_missing
from policycheck.systems.kueue.checks.preemption import (
    borrow_policy_under_fair_sharing,
    borrow_without_threshold,
    guarantee_not_reclaimable,
    priorities_without_preemption,
    weight_without_fair_sharing,
)
from policycheck.systems.kueue.checks.references import (
    check_misspelt,
    cluster_queue_misspelt,
    flavor_misspelt,
    local_queue_misspelt,
    priority_class_misspelt,
    reference_not_in_sight,
    topology_misspelt,
)
from policycheck.systems.kueue.checks.refused import (
    check_on_foreign_flavor,
    group_mismatch,
    limit_on_root_cohort,
    refused,
)
from policycheck.systems.kueue.checks.requests import (
    exceeds_limits,
    larger_than_node,
    required_domain_too_small,
    slices_left_over,
    uncovered_resource,
)
from policycheck.systems.kueue.checks.sharing import (
    borrowing_limit_idle,
    cohort_cycle,
    isolated_queue,
    lone_cohort,
    nothing_ever,
    nothing_shared,
)
from policycheck.systems.kueue.checks.topology import (
    level_missing,
    no_level_anywhere,
    topology_unused,
)

__all__ = [
    "borrow_policy_under_fair_sharing",
    "borrow_without_threshold",
    "borrowing_limit_idle",
    "check_misspelt",
    "check_on_foreign_flavor",
    "cluster_queue_misspelt",
    "cohort_cycle",
    "companions_beyond_hardware",
    "companions_strand",
    "companions_zero",
    "exceeds_limits",
    "flavor_misspelt",
    "flavor_unused",
    "flavors_overlap",
    "framework_off",
    "group_mismatch",
    "guarantee_not_reclaimable",
    "guarantees_beyond_hardware",
    "isolated_queue",
    "label_on_template",
    "labels_contradict",
    "larger_than_node",
    "level_missing",
    "limit_on_root_cohort",
    "local_queue_misspelt",
    "local_queue_outside_selector",
    "lone_cohort",
    "matches_no_node",
    "no_level_anywhere",
    "nothing_ever",
    "nothing_shared",
    "outside_queue",
    "owner_missing",
    "placeholder_quota",
    "priorities_without_preemption",
    "priority_class_misspelt",
    "queue_metrics_off",
    "reference_not_in_sight",
    "refused",
    "required_domain_too_small",
    "selector_matches_none",
    "service_outside_queue",
    "slices_left_over",
    "topology_misspelt",
    "topology_unused",
    "uncovered_resource",
    "weight_without_fair_sharing",
]
