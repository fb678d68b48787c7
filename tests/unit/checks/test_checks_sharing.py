"""Cohorts, limits and preemption policies."""

from __future__ import annotations

import pytest
from check_help import gpu, job, local_queue, make_cluster, queue, quota, run

from policycheck.systems.kueue import checks, sums
from policycheck.systems.kueue.checks import common

PAIR = ("h100", "nvidia.com/gpu")


def cohort(name, parent=""):
    spec = f"\nspec: {{parentName: {parent}}}" if parent else ""
    return f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {{name: {name}}}{spec}\n"


def priority(name, value):
    return f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n"


def test_ceilings_are_those_of_the_quota_algebra():
    # facts 1c, vector V1: potential a = 11, b = 10.
    text = queue("a", {"h100": gpu(8)}, "x") + queue("b", {"h100": gpu(8, 2, 3)}, "x")
    ceilings = sums.Ceilings(make_cluster(text).systems["kueue"])
    assert (ceilings.most("a", PAIR), ceilings.most("b", PAIR)) == (11, 10)
    assert (ceilings.lent_by_others("a", PAIR), ceilings.lent_by_others("b", PAIR)) == (3, 8)
    assert ceilings.most("a", ("h100", "cpu")) == 0
    assert ceilings.most("nobody", PAIR) == 0


def test_a_borrowing_limit_is_idle_only_above_what_is_lent():
    def text(limit):
        return queue("a", {"h100": gpu(8, limit)}, "x") + queue("b", {"h100": gpu(24, None, 16)}, "x")

    assert [h.values["lent"] for h in run(checks.borrowing_limit_idle, text(17))[0]] == ["16"]
    assert run(checks.borrowing_limit_idle, text(16))[0] == []
    # Alone in its cohort another rule speaks: there is nothing to borrow at all.
    assert run(checks.borrowing_limit_idle, queue("a", {"h100": gpu(8, 17)}, "x"))[0] == []


def test_a_queue_alone_is_said_only_beside_others_who_share_its_flavor():
    shared = queue("a", {"h100": gpu(8)}, "x") + queue("b", {"h100": gpu(8)}, "x")
    hits, _ = run(checks.isolated_queue, shared + queue("c", {"h100": gpu(8)}))
    assert [(h.values["queue"], h.values["others"], h.values["cohort"]) for h in hits] == [
        ("c", "a and b", "x")
    ]
    assert run(checks.isolated_queue, shared + queue("c", {"a100": gpu(8)}))[0] == []
    assert run(checks.isolated_queue, queue("a", {"h100": gpu(8)}) + queue("c", {"h100": gpu(8)}))[0] == []


def test_a_lone_cohort_and_the_name_that_was_meant():
    three = queue("a", {}, "training") + queue("b", {}, "training") + queue("c", {}, "trainig")
    assert [h.values["hint"] for h in run(checks.lone_cohort, three)[0]] == ["; did you mean 'training'?"]
    numbered = queue("a", {}, "team-1") + queue("b", {}, "team-1") + queue("c", {}, "team-2")
    assert [h.values["hint"] for h in run(checks.lone_cohort, numbered)[0]] == [""]
    below = cohort("x", "root") + queue("a", {}, "x") + queue("b", {}, "root")
    assert run(checks.lone_cohort, below)[0] == []


def test_a_queue_without_a_flavor_in_common_is_cut_off():
    text = (
        queue("a", {"h100": gpu(8)}, "x")
        + queue("b", {"h100": gpu(8)}, "x")
        + queue("c", {"l4": gpu(8)}, "x")
    )
    assert [h.values["queue"] for h in run(checks.nothing_shared, text)[0]] == ["c"]


def test_a_cycle_is_one_finding_that_shows_the_way_round():
    text = cohort("c", "a") + cohort("a", "b") + cohort("b", "c") + queue("q", {}, "b")
    hits, _ = run(checks.cohort_cycle, text)
    assert [h.values["chain"] for h in hits] == ["a -> b -> c -> a"]
    assert hits[0].values["queues"] == "q"
    assert len(hits[0].related) == 2


def test_a_deep_chain_of_cohorts_is_walked_without_recursion():
    deep = "".join(cohort(f"c{n}", f"c{n + 1}") for n in range(1500)) + queue("q", {"h100": gpu(8)}, "c0")
    assert run(checks.cohort_cycle, deep)[0] == []
    assert len(run(checks.lone_cohort, deep)[0]) == 1
    round_trip = deep + cohort("c1500", "c0")
    assert len(run(checks.cohort_cycle, round_trip)[0]) == 1


def test_a_covered_resource_with_nothing_anywhere():
    held = {"h100": {**gpu(8), "rdma/hca": quota(0)}}
    assert [h.values["resource"] for h in run(checks.nothing_ever, queue("a", held))[0]] == ["rdma/hca"]
    lender = queue("b", {"h100": {**gpu(0), "rdma/hca": quota(8)}}, "x")
    assert run(checks.nothing_ever, queue("a", held, "x") + lender)[0] == []
    unlent = queue("b", {"h100": {**gpu(0), "rdma/hca": quota(8, None, 0)}}, "x")
    assert len(run(checks.nothing_ever, queue("a", held, "x") + unlent)[0]) == 1


def test_what_is_lent_and_never_reclaimed():
    taker = queue("b", {"h100": gpu(0)}, "x")
    hits, _ = run(checks.guarantee_not_reclaimable, queue("a", {"h100": gpu(16, None, 12)}, "x") + taker)
    assert [(h.values["queue"], h.values["kept"], h.values["takers"]) for h in hits] == [
        ("a", "only 4 are", "b")
    ]
    kept = queue("a", {"h100": gpu(16, None, 0)}, "x")
    assert run(checks.guarantee_not_reclaimable, kept + taker)[0] == []
    forbidden = queue("b", {"h100": gpu(0, 0)}, "x")
    assert run(checks.guarantee_not_reclaimable, queue("a", {"h100": gpu(16)}, "x") + forbidden)[0] == []
    cpu = queue("a", {"h": {"cpu": quota(8)}}, "x") + queue("b", {"h": {"cpu": quota(0)}}, "x")
    assert run(checks.guarantee_not_reclaimable, cpu)[0] == []


def test_priorities_are_inert_where_a_queue_has_both_and_never_preempts():
    classes = priority("prod", 1000) + priority("low", 10)
    jobs = "".join(
        job(
            "team",
            f"j-{c}",
            {"nvidia.com/gpu": 1},
            labels=f"kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/priority-class: {c}",
        )
        for c in ("prod", "low")
    )
    text = (
        classes
        + queue("a", {"h100": gpu(8)})
        + queue("b", {"h100": gpu(8)}, extra="preemption: {withinClusterQueue: LowerPriority}")
    )
    assert run(checks.priorities_without_preemption, text)[0] == []
    hits, _ = run(checks.priorities_without_preemption, text + local_queue("team", "lq", "a") + jobs)
    assert [h.values["what"] for h in hits] == [
        "Job team/j-prod of a has priority 1,000 and Job team/j-low 10, and the queue never preempts"
    ]
    assert run(checks.priorities_without_preemption, text + local_queue("team", "lq", "b") + jobs)[0] == []


def test_fair_sharing_rules_wait_for_one_configuration():
    weighted = queue("a", {"h100": gpu(8)}, "x", extra="fairSharing: {weight: 3}")
    plain = queue("a", {"h100": gpu(8)}, "x", extra="fairSharing: {weight: 1}")
    off = "---\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmanageJobsWithoutQueueName: true\n"
    on = "---\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {}\n"
    assert run(checks.weight_without_fair_sharing, weighted)[1] == [
        "no Configuration of Kueue is in sight; add the ConfigMap kueue-manager-config to the input"
    ]
    assert run(checks.weight_without_fair_sharing, weighted + off + on)[1] == [
        "2 different Configurations of Kueue are in sight; which one holds is not known"
    ]
    assert len(run(checks.weight_without_fair_sharing, weighted + off)[0]) == 1
    assert run(checks.weight_without_fair_sharing, weighted + on) == ([], [])
    assert run(checks.weight_without_fair_sharing, plain + off) == ([], [])


def test_words():
    assert common.join(["a"]) == "a"
    assert common.join(["a", "b"]) == "a and b"
    assert common.join("abcde") == "a, b, c, d and e"
    assert common.join("abcdef") == "a, b, c, d and 2 more"
    assert common.join([]) == ""
    assert common.misspelt("H100", ["h100", "a100"]) == "h100"
    assert common.misspelt("gpu-2", ["gpu-1"]) == ""
    assert common.misspelt("vision-l4", ["vision", "vision-batch"]) == ""


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("research-a", "research-b"),
        ("h100-spot", "a100-spot"),
        ("queue-night", "queue-adhoc"),
        ("us-east-queue", "us-west-queue"),
        ("training-cpu", "training-gpu"),
        ("training-queue-b", "training-queue"),
    ],
)
def test_a_name_with_one_word_exchanged_or_added_is_another_name(name, other):
    assert common.misspelt(name, [other]) == ""
    assert common.misspelt(other, [name]) == ""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("team-vison", "team-vision"),
        ("team_vision", "team-vision"),
        ("userqueue", "user-queue"),
        ("research-traning", "research-training"),
    ],
)
def test_a_letter_or_two_in_a_word_of_some_length_is_a_misspelling(name, meant):
    assert common.misspelt(name, [meant]) == meant


@pytest.mark.parametrize("resource", ["gpu", "GPUs", "nvidia.gpu", "nvidia-gpu", "nvidiagpu", "tpu"])
def test_quota_of_an_accelerator_without_a_domain(resource):
    hits = run(
        checks.bare_accelerator, queue("a", {"h100": {resource: quota(8)}, "a100": {resource: quota(8)}})
    )[0]
    assert [(h.values["name"], h.values["resource"]) for h in hits] == [("a", resource)]


@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "cpu", "gpu-memory", "arm64-small", "pods", "credits"]
)
def test_other_names_without_a_domain_are_left_alone(resource):
    assert run(checks.bare_accelerator, queue("a", {"h100": {resource: quota(8)}}))[0] == []
