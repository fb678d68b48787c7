"""How far a change reaches in what a rule finds: which rules have to be asked again, and about what.

A rule that is in none of these tables is asked about the trees that a change touches, whatever changed. That
this finds what linting everything before and after would find is held by a property test; a new rule whose
answer about an object depends on other trees makes that test fail, and belongs into ``WHOLE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from policycheck.model.cluster import Cluster, GroupKind, Index
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.model.workload import Workload
from policycheck.systems.kueue import GROUP, focus
from policycheck.systems.kueue.checks.common import inherit
from policycheck.systems.kueue.model import ClusterQueue, Cohort, KueueWorkload, LocalQueue

Aspect = Literal["names", "sums", "settings", "spaces", "marks", "versions"]

# Rules about all trees at once, by what of an object they read: names and references to them, quota summed over
# flavors, namespaces that have queues, labels and annotations of queues, old versions, or what the scheduler's Configuration and the like are held against.
WHOLE: Mapping[str, Aspect] = {
    **dict.fromkeys(
        (
            "kueue.cluster_queue_misspelt",
            "kueue.local_queue_misspelt",
            "kueue.flavor_misspelt",
            "kueue.check_misspelt",
            "kueue.topology_misspelt",
            "kueue.priority_class_misspelt",
            "kueue.reference_not_in_sight",
            "kueue.cohort_without_members",
            "kueue.cohort_parent_misspelt",
            "kueue.flavor_unused",
            "kueue.topology_unused",
            "kueue.lone_cohort",
            "gpu.inventory_old",
            "core.ambiguous_definition",
        ),
        "names",
    ),
    "kueue.owner_missing": "marks",
    "kueue.deprecated_versions": "versions",
    **dict.fromkeys(
        (
            "kueue.guarantees_beyond_hardware",
            "kueue.companions_beyond_hardware",
            "kueue.cohort_repeats_members",
            "kueue.declared_not_held",
            "kueue.guarantee_not_usable",
            "kueue.strands_accelerators",
            "kueue.needs_growth",
            "kueue.waits_for_growth",
            "kueue.isolated_queue",
            "kueue.flavors_overlap",
            "kueue.levels_do_not_nest",
            "kueue.sometimes_held",
            "kueue.taint_untolerated",
            "gpu.quota_counts_shares",
            "gpu.shares_among_gpus",
            "gpu.strategy_mismatch",
            "gpu.plugin_oversells",
        ),
        "sums",
    ),
    **dict.fromkeys(
        (
            "kueue.priorities_without_preemption",
            "kueue.usage_in_bytes",
            "kueue.provisions_nothing",
            "kueue.holds_quota",
            "kueue.excluded_and_quota",
            "kueue.output_uncovered",
            "kueue.retained_uncovered",
            "kueue.replaced_and_quota",
            "kueue.mapping_uncovered",
            "kueue.within_nominal_before",
            "kueue.sorting_off",
            "kueue.topology_gate_off",
            "kueue.topology_not_yet",
            "kueue.excludes_before",
        ),
        "settings",
    ),
    **dict.fromkeys(
        ("kueue.manages_everything", "kueue.manages_nobody", "kueue.queue_where_nothing_is_managed"), "spaces"
    ),
}
# Rules about workloads that look at all trees for it.
WORK_AND_WHOLE = frozenset({"kueue.sometimes_held", "gpu.strategy_mismatch"})
# Rules about what all declared work comes to: of a cluster, where work comes and goes, they are asked when the
# configuration changes, about what waits then, and not of every single workload.
TOGETHER = frozenset({"kueue.declared_not_held", "kueue.guarantee_not_usable"})
# Rules that look at no workload: nothing that they find changes with one.
WITHOUT_WORK = frozenset(
    {
        *(
            check
            for check, aspect in WHOLE.items()
            if check.startswith("kueue.")
            and aspect in ("settings", "spaces")
            # Which priorities there are in a queue is what work has.
            and check != "kueue.priorities_without_preemption"
        ),
        "kueue.cluster_queue_misspelt",
        "kueue.flavor_misspelt",
        "kueue.check_misspelt",
        "kueue.topology_misspelt",
        "kueue.cohort_without_members",
        "kueue.cohort_parent_misspelt",
        "kueue.flavor_unused",
        "kueue.topology_unused",
        "kueue.lone_cohort",
        "kueue.guarantees_beyond_hardware",
        "kueue.companions_beyond_hardware",
        "kueue.cohort_repeats_members",
        "kueue.needs_growth",
        "kueue.waits_for_growth",
        "kueue.isolated_queue",
        "kueue.flavors_overlap",
        "kueue.levels_do_not_nest",
        "gpu.quota_counts_shares",
        "gpu.shares_among_gpus",
        "kueue.bare_accelerator",
        "kueue.blocks_admission",
        "kueue.borrow_policy_under_fair_sharing",
        "kueue.borrow_without_threshold",
        "kueue.borrowing_limit_idle",
        "kueue.check_on_foreign_flavor",
        "kueue.check_parameters",
        "kueue.checks_exclude",
        "kueue.classes_of_one_value",
        "kueue.clusters_missing",
        "kueue.cohort_cycle",
        "kueue.companions_not_borrowable",
        "kueue.companions_strand",
        "kueue.companions_zero",
        "kueue.concurrent_gate_off",
        "kueue.configuration_field",
        "kueue.controller_misspelt",
        "kueue.cpu_below_one",
        "kueue.endless_requeues",
        "kueue.fraction_of_accelerator",
        "kueue.gate_misspelt",
        "kueue.gate_removed",
        "kueue.group_mismatch",
        "kueue.guarantee_not_reclaimable",
        "kueue.hot_swap_before",
        "kueue.labels_contradict",
        "kueue.owner_missing",
        "kueue.deprecated_versions",  # asked apart, where a version is old
        "kueue.leads_nowhere",
        "kueue.level_missing",
        "kueue.limit_on_root_cohort",
        "kueue.local_queue_outside_selector",
        "kueue.matches_no_node",
        "kueue.mixed",
        "kueue.no_duration",
        "kueue.no_level_anywhere",
        "kueue.nothing_ever",
        "kueue.nothing_shared",
        "kueue.on_by_default",
        "kueue.placeholder_quota",
        "kueue.queue_metrics_off",
        "kueue.queue_stopped",
        "kueue.queue_without_quota",
        "kueue.scaled_to_zero",
        "kueue.scope_without_sharing",
        "kueue.selector_matches_none",
        "kueue.strict_over_flavors",
        "kueue.threshold_for_nobody",
        "kueue.too_short",
        "kueue.undeclared_gate_off",
        "kueue.undeclared_not_yet",
        "kueue.units_mixed",
        "kueue.usage_never_decays",
        "kueue.weight_without_fair_sharing",
        "kueue.weight_zero",
        "kueue.written_and_off",
        "core.several_defaults",
        "core.reserved_value",
        "core.high_default",
        "core.key_without_prefix",
        "gpu.allocatable_above_capacity",
        "gpu.beta_labels_only",
        "gpu.described_twice",
        "gpu.gpus_not_offered",
        "gpu.hostname_twice",
        "gpu.label_value_illegal",
        "gpu.labels_contradict",
        "gpu.layout_invalid",
        "gpu.layout_not_applied",
        "gpu.slices_beyond_cards",
        "gpu.slices_under_single",
        "gpu.stale_gpus",
        "gpu.type_contradicts_product",
    }
)
_NEWEST = "/v1beta2"  # what the API server hands over, as a rule
# Kinds of which there may be thousands; of all others every object stays in sight.
MANY = frozenset(
    {
        ("kueue.x-k8s.io", "ClusterQueue"),
        ("kueue.x-k8s.io", "Cohort"),
        ("kueue.x-k8s.io", "LocalQueue"),
        ("kueue.x-k8s.io", "ResourceFlavor"),
        ("", "Namespace"),
        ("", "LimitRange"),
        ("", "ResourceQuota"),
        ("resource.k8s.io", "ResourceClaim"),
        ("resource.k8s.io", "ResourceClaimTemplate"),
    }
)


def _marks(queue: ClusterQueue, params: Mapping[str, object]) -> dict[str, str]:
    """The labels and annotations that a rule's parameters name."""
    named = {str(key) for value in params.values() if isinstance(value, (list, tuple)) for key in value}
    return {key: held for key, held in {**queue.labels, **queue.annotations}.items() if key in named}


def is_work(facts: Facts) -> bool:
    """Whether an object is work for queues, or other pods."""
    return isinstance(facts.typed, (Workload, KueueWorkload))


def aspect(facts: Facts | None, which: Aspect, params: Mapping[str, object]) -> object:
    """What rules of that aspect read of an object: equal values, equal findings about everything else."""
    if facts is None:
        return "" if which == "versions" else None
    if which == "versions":
        is_old = facts.system == "kueue" and not facts.api_version.endswith(_NEWEST)
        return facts.api_version if is_old else ""
    if which == "marks":
        queue = facts.typed
        return _marks(queue, params) if isinstance(queue, ClusterQueue) else None
    match facts.typed:
        case Workload() as work if which == "names":
            return work.labels, work.annotations, work.owner, tuple(p.priority_class for p in work.pod_sets)
        case ClusterQueue() as queue if which == "spaces":
            return queue.namespace_selector
        case Cohort() if which == "spaces":
            return ()
        case ClusterQueue() as queue:
            names = (
                queue.cohort,
                tuple(f.name for g in queue.groups for f in g.flavors),
                tuple(c.name for c in queue.checks),
            )
            if which == "names":
                return names
            common = (queue.cohort, queue.groups, queue.checks, queue.stop_policy)
            return common if which == "sums" else (common, queue.preemption)
        case Cohort() as cohort:
            flavors = tuple(f.name for g in cohort.groups for f in g.flavors)
            if which == "names":
                return cohort.parent, flavors
            return cohort.parent, cohort.groups
        case LocalQueue() as local:
            # Without workloads in it, it holds and asks for nothing.
            return None if which in ("sums", "settings") else (local.cluster_queue,)
    return facts.value


def in_sight(
    full: Index,
    scene: focus.Scene,
    shown: Mapping[str, tuple[ObjectKey, ...]],
    within: Callable[[Index, GroupKind, frozenset[str]], Iterable[ObjectKey]],
    many: frozenset[GroupKind] = MANY,
) -> Index:
    """``full`` for lookups; of the kinds in ``many`` only the scene for whoever goes through them: what is
    ``shown`` of Kueue's, and what is ``within`` the scene's namespaces of others.
    """
    kinds: dict[GroupKind, Mapping[ObjectKey, tuple[DocumentId, ...]]] = {}
    ids: list[DocumentId] = []
    for group_kind, keys in full.kinds.items():
        if group_kind not in many:
            kinds[group_kind] = keys
            ids.extend(i for held in keys.values() for i in held)
            continue
        some = set(shown.get(group_kind[1], ())) | {k for k in scene.keys if k[:2] == group_kind}
        if group_kind == ("", "Namespace"):
            some |= {ObjectKey("", "Namespace", "", space) for space in scene.spaces}
        elif group_kind[0] != GROUP:
            some |= set(within(full, group_kind, scene.spaces))
        kinds[group_kind] = seen = focus.Focus(keys, sorted(some))
        ids.extend(i for held in seen.values() for i in held)
    return Index(focus.Focus(full.entries, ids), kinds)


def focused(cluster: Cluster, index: Index, systems: Mapping[str, object], *, same_queues: bool) -> Cluster:
    """The cluster with something in focus; what is worked out for it is had from the whole (``inherit``)."""
    made = cluster.seen(index, systems)
    made.__dict__["reading"] = cluster.reading  # of all that is in sight
    inherit(made, cluster, same_queues=same_queues)
    return made
