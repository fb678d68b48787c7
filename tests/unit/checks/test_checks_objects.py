"""Objects as such, labels, units and pod groups: what is told, and how often."""

from __future__ import annotations

import pytest
from check_help import flavor, gpu, job, local_queue, make_cluster, queue, quota, run

from policycheck.lint.hit import Skip
from policycheck.systems.kueue import checks
from policycheck.systems.kueue.checks.common import derived
from policycheck.systems.kueue.checks.refused import told

LABEL = "kueue.x-k8s.io/queue-name: lq"


def test_old_versions_are_counted_once():
    text = (flavor("h100", pool="a") + flavor("a100", pool="b")).replace("v1beta2", "v1beta1")
    hits, _ = run(checks.deprecated_versions, text + local_queue("team", "lq", "a"))
    assert [h.values["objects"] for h in hits] == ["2 objects (2 ResourceFlavor) are"]
    assert len(hits[0].related) == 1


def test_a_dead_version_is_all_that_is_said_of_an_object():
    dead = (
        "---\napiVersion: kueue.x-k8s.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\n"
        "spec: {levels: [{nodeLabel: kubernetes.io/hostname}, {nodeLabel: rack}], lvels: 1}\n"
    )
    cluster = make_cluster(dead)
    entry = next(iter(cluster.entries.values()))
    assert [t.code for t in entry.facts.troubles] == ["dead-version"]
    assert told(cluster) == ()


def test_what_is_derived_is_worked_out_once():
    made = []

    def count(cluster):
        made.append(cluster)
        return len(cluster.entries)

    cluster = make_cluster(flavor("h100", pool="a"))
    assert [derived(cluster, count), derived(cluster, count)] == [1, 1]
    assert len(made) == 1
    assert derived(cluster.with_inventory(cluster.inventory), count) == 1
    assert len(made) == 2  # another cluster has its own


@pytest.mark.parametrize(
    ("group", "kind", "found"),
    [
        ("kueue.x-k8s.io", "ClusterQueues", True),
        ("kueue.x-k8s.io", "Report", False),
        ("visibility.kueue.x-k8s.io", "PendingWorkloadsSummary", False),
        ("kueue.sigs.k8s.io", "ClusterQueue", True),
        ("scheduling.x-k8s.io", "ClusterQueue", False),
    ],
)
def test_kinds_of_others_are_left_alone(group, kind, found):
    text = f"---\napiVersion: {group}/v1beta2\nkind: {kind}\nmetadata: {{name: a}}\n"
    assert bool(run(checks.unknown_kind, text)[0]) is found


def test_labels_of_kueue_are_known_or_told():
    base = local_queue("team", "lq", "a")
    fine = job("team", "j", {"cpu": 1}, labels=f"{LABEL}, kueue.x-k8s.io/max-exec-time-seconds: '60'")
    assert run(checks.unknown_label, base + fine)[0] == []
    provided = job("team", "j", {"cpu": 1}, labels=LABEL, annotations="provreq.kueue.x-k8s.io/a: b")
    assert run(checks.unknown_label, base + provided)[0] == []
    wrong = job("team", "j", {"cpu": 1}, labels="kueue.x-k8s.io/prority-class: high")
    hits, _ = run(checks.unknown_label, base + wrong)
    assert [h.values["hint"] for h in hits] == ["; did you mean kueue.x-k8s.io/priority-class?"]


def test_the_same_label_in_the_right_place_makes_the_other_harmless():
    both = job("team", "j", {"cpu": 1}, labels=LABEL, annotations="kueue.x-k8s.io/queue-name: lq")
    assert run(checks.misplaced, local_queue("team", "lq", "a") + both)[0] == []


def test_units_of_one_tree_are_compared_and_no_others():
    def two(one, other, cohort="ml"):
        return queue("a", {"f": {"memory": quota(one)}}, "ml") + queue(
            "b", {"f": {"memory": quota(other)}}, cohort
        )

    assert len(run(checks.units_mixed, two("64G", "64Gi"))[0]) == 1
    assert run(checks.units_mixed, two("64G", "64Gi", "other"))[0] == []
    assert run(checks.units_mixed, two("64Gi", "1Ti"))[0] == []
    assert run(checks.units_mixed, two("64", "64Gi"))[0] == []  # bytes are another slip


def test_a_group_that_is_admitted_before_its_pods_exist_may_be_short():
    def pod(name, total, notes=""):
        return (
            f"---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  namespace: team\n"
            f"  labels: {{{LABEL}, kueue.x-k8s.io/pod-group-name: g}}\n"
            f"  annotations: {{kueue.x-k8s.io/pod-group-total-count: '{total}'{notes}}}\n"
            "spec: {containers: [{name: m, resources: {limits: {nvidia.com/gpu: 1}}}]}\n"
        )

    fast = ", kueue.x-k8s.io/pod-group-fast-admission: 'true'"
    assert len(run(checks.pod_group, pod("a", 3) + pod("b", 3))[0]) == 1
    assert run(checks.pod_group, pod("a", 3, fast) + pod("b", 3, fast))[0] == []
    assert run(checks.pod_group, pod("a", 2) + pod("b", 2))[0] == []
    hits, _ = run(checks.pod_group, pod("a", 2) + pod("b", 2) + pod("c", 3))
    assert hits[0].id.document == 2  # the one that differs


def test_a_threshold_and_a_class_are_compared():
    def with_(threshold):
        return (
            queue(
                "a",
                {"f": gpu(8)},
                "ml",
                extra="preemption: {reclaimWithinCohort: Any, borrowWithinCohort: "
                f"{{policy: LowerPriority, maxPriorityThreshold: {threshold}}}}}",
            )
            + "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: p}\nvalue: 100\n"
            + "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: b}\nvalue: 1\n"
        )

    assert run(checks.threshold_for_nobody, with_(99))[0] == []
    assert len(run(checks.threshold_for_nobody, with_(100))[0]) == 1


def test_no_check_raises_on_nothing_and_on_odd_things():
    odd = (
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: a}\nspec: 3\n"
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: []\nspec: {clusterQueue: [a]}\n"
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: 1}\nspec: {resourceGroups: {a: b}}\n"
        "---\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources: [1]\nwaitForPodsReady: 3\n"
        "featureGates: [a]\n"
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j, labels: {kueue.x-k8s.io/queue-name: lq}}\nspec: []\n"
        "---\napiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r, labels: {kueue.x-k8s.io/queue-name: lq}}\n"
        "spec: {rayClusterSpec: {workerGroupSpecs: [1, {groupName: [a]}]}}\n"
    )
    cluster = make_cluster(odd)
    for name in checks.__all__:
        for one in getattr(checks, name)(cluster, {"share": 0.5, "minutes": 10}):
            assert isinstance(one, Skip) or one.id in cluster.entries, name
