"""Sums over all trees against the nodes behind the flavors."""

from __future__ import annotations

from check_help import flavor, gpu, make_cluster, make_node, queue, quota, run

from policycheck.systems.kueue import checks, sums
from policycheck.systems.kueue.checks import hardware

H100 = flavor("h100", pool="h100")


def nodes(count, pool="h100", **more):
    return [make_node(f"{pool}-{n}", pool=pool, **more) for n in range(count)]


def test_the_sum_is_over_all_trees_and_counts_cohorts_on_top():
    text = (
        H100
        + queue("a", {"h100": gpu(24)}, "x")
        + queue("b", {"h100": gpu(24)})
        + queue("c", {"h100": gpu(16)})
    )
    cohort = (
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: x}\nspec:\n  resourceGroups:\n"
        "  - coveredResources: [nvidia.com/gpu]\n    flavors:\n    - name: h100\n      resources:\n"
        "      - {name: nvidia.com/gpu, nominalQuota: 8}\n"
    )
    hits, _ = run(checks.guarantees_beyond_hardware, text, nodes(8))
    assert hits == []
    hits, _ = run(checks.guarantees_beyond_hardware, text + cohort, nodes(8))
    assert [h.values["sum"] for h in hits] == ["72 = 2 queues x 24 + 16 (queue c) + 8 (cohort x)"]
    assert [h.values["offer"] for h in hits] == ["64 = 8 nodes x 8"]
    assert [r.label for r in hits[0].related] == [
        "Cohort x: 8",
        "ClusterQueue a: 24",
        "ClusterQueue c: 16",
        "flavor h100 selects 8 nodes",
    ]


def test_exactly_what_is_there_is_fine():
    hits, skips = run(checks.guarantees_beyond_hardware, H100 + queue("a", {"h100": gpu(64)}), nodes(8))
    assert (hits, skips) == ([], [])


def test_flavors_on_the_same_nodes_are_summed_once_and_said_once():
    text = H100 + flavor("burst", pool="h100") + queue("a", {"h100": gpu(70)}) + queue("b", {"burst": gpu(4)})
    hits, _ = run(checks.guarantees_beyond_hardware, text, nodes(8))
    assert len(hits) == 1
    assert hits[0].values["flavors"] == "flavors burst and h100, which share nodes,"
    assert hits[0].values["sum"].startswith("74 = ")


def test_a_flavor_within_another_is_judged_alone_and_together():
    wide = flavor("any")
    inner = queue("a", {"h100": gpu(16)}) + queue("b", {"any": gpu(8)})
    cluster = make_cluster(H100 + wide + inner, nodes(2) + nodes(1, "l4"))
    state = cluster.systems["kueue"]
    base = sums.ground(state, cluster.inventory)
    assert sums.shortfalls(state, base, "nvidia.com/gpu", lambda *_: True) == []
    more = make_cluster(H100 + wide + inner + queue("c", {"any": gpu(1)}), nodes(2) + nodes(1, "l4"))
    state = more.systems["kueue"]
    found = sums.shortfalls(state, sums.ground(state, more.inventory), "nvidia.com/gpu", lambda *_: True)
    assert [(s.flavors, s.total, s.offer.high) for s in found] == [(("any", "h100"), 25, 24)]


def test_flavors_that_meet_on_some_nodes_are_summed_together():
    text = flavor("l4", kind="l4") + flavor("zone-a", zone="a")
    text += queue("a", {"l4": gpu(16)}) + queue("b", {"zone-a": gpu(16)})
    some = [make_node("n1", kind="l4", zone="a"), make_node("n2", kind="l4"), make_node("n3", zone="a")]
    hits, _ = run(checks.guarantees_beyond_hardware, text, some)
    assert [h.values["sum"] for h in hits] == ["32 = 2 queues x 16"]
    assert hits[0].values["offer"] == "24 = 3 nodes x 8"


def test_connected_flavors_reach_through_others():
    behind = {"a": frozenset("12"), "b": frozenset("23"), "c": frozenset("34"), "d": frozenset("9")}
    assert sums.connected("a", behind) == {"a", "b", "c"}
    assert sums.connected("d", behind) == {"d"}


def test_the_uncertain_part_of_an_elastic_pool_is_no_error():
    pool = [make_node("pool", pool="h100", machines=2, most=10, source="elastic")]
    hits, skips = run(checks.guarantees_beyond_hardware, H100 + queue("a", {"h100": gpu(64)}), pool)
    assert hits == []
    assert len(skips) == 1
    assert skips[0].startswith("flavor h100 has 16 to 80 nvidia.com/gpu, quotas promise 64")
    hits, _ = run(checks.guarantees_beyond_hardware, H100 + queue("a", {"h100": gpu(88)}), pool)
    assert [h.values["offer"] for h in hits] == ["at most 80"]


def test_a_node_that_is_not_ready_is_left_out_and_said():
    some = [*nodes(1), make_node("broken", pool="h100", ready=False)]
    hits, _ = run(checks.guarantees_beyond_hardware, H100 + queue("a", {"h100": gpu(16)}), some)
    assert [h.values["offer"] for h in hits] == ["8 = 1 node x 8 (1 node cordoned or not ready left out)"]


def test_what_is_not_known_is_skipped_not_passed():
    hits, skips = run(checks.guarantees_beyond_hardware, queue("a", {"h100": gpu(640)}), nodes(1))
    assert hits == []
    assert skips == ["ResourceFlavor h100 is not in sight, so its nodes are not known"]
    table = [make_node("row", source="table")]
    hits, skips = run(checks.guarantees_beyond_hardware, H100 + queue("a", {"h100": gpu(640)}), table)
    assert hits == []
    assert skips == ["the inventory has no node labels, so the nodes of flavor h100 are not known"]


def test_an_ambiguous_tree_is_not_summed():
    text = H100 + queue("a", {"h100": gpu(640)}) + queue("a", {"h100": gpu(8)}) + queue("b", {"h100": gpu(8)})
    hits, skips = run(checks.guarantees_beyond_hardware, text, nodes(8))
    assert hits == []
    assert skips == ["ClusterQueue a is defined differently in several documents"]


def test_a_stopped_queue_promises_nothing_unless_its_cohort_can_lend_it():
    alone = queue("a", {"h100": gpu(72)}, extra="stopPolicy: Hold")
    assert run(checks.guarantees_beyond_hardware, H100 + alone, nodes(8))[0] == []
    shared = queue("a", {"h100": gpu(72)}, "x", extra="stopPolicy: Hold")
    assert len(run(checks.guarantees_beyond_hardware, H100 + shared, nodes(8))[0]) == 1


def test_a_placeholder_is_not_a_promise_of_a_billion():
    text = H100 + queue("a", {"h100": gpu(10**9)}) + queue("b", {"h100": gpu(8)})
    assert run(checks.guarantees_beyond_hardware, text, nodes(8))[0] == []
    hits, _ = run(checks.placeholder_quota, text)
    assert [h.values["amount"] for h in hits] == ["1,000,000,000"]
    assert not hardware.is_placeholder(4096)


def test_cpu_far_beyond_the_nodes_means_no_limit():
    def cpu(amount):
        return H100 + queue("a", {"h100": {"cpu": quota(amount), **gpu(8)}})

    some = nodes(1, cpu=100)
    assert [h.values["sum"] for h in run(checks.companions_beyond_hardware, cpu(101), some)[0]] == [
        "101 (queue a)"
    ]
    assert run(checks.companions_beyond_hardware, cpu(100), some)[0] == []
    assert run(checks.companions_beyond_hardware, cpu(100000), some)[0] == []


def test_companions_are_weighed_against_the_ratio_of_the_nodes():
    def cpu(amount):
        return H100 + queue("a", {"h100": {"cpu": quota(amount), **gpu(8)}})

    some = nodes(1, cpu=160)
    hits, _ = run(checks.companions_strand, cpu(40), some, share=0.5)
    assert [(h.values["each"], h.values["node"], h.values["usable"], h.values["wanted"]) for h in hits] == [
        ("5", "20", 2, "160")
    ]
    assert len(run(checks.companions_strand, cpu(80), some, share=0.5)[0]) == 1
    assert run(checks.companions_strand, cpu(81), some, share=0.5)[0] == []
    assert len(run(checks.companions_strand, cpu(80), some, share=0.6)[0]) == 1


def test_zero_companions_matter_when_they_stop_reclaiming_or_everything():
    def a(extra):
        return queue("a", {"h100": {"cpu": quota(0), **gpu(8)}}, "x", extra=extra)

    lender = queue("b", {"h100": {"cpu": quota(100), **gpu(0)}}, "x")
    reclaims = "preemption: {reclaimWithinCohort: Any}"
    hits, _ = run(checks.companions_zero, a(reclaims) + lender)
    assert ["never reclaimed" in h.values["effect"] for h in hits] == [True]
    # Without reclaiming there is nothing to lose; while borrowing may preempt, nothing is lost.
    assert run(checks.companions_zero, a("") + lender)[0] == []
    both = "preemption: {reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority}}"
    assert run(checks.companions_zero, a(both) + lender)[0] == []
    hits, _ = run(checks.companions_zero, a(reclaims))
    assert ["can ever start" in h.values["effect"] for h in hits] == [True]


def test_a_resource_that_no_node_offers_names_those_that_they_do():
    sliced = [make_node("n1", pool="h100")._replace(allocatable={"nvidia.com/mig-1g.10gb": 7, "cpu": 8000})]
    hits, _ = run(checks.guarantees_beyond_hardware, H100 + queue("a", {"h100": gpu(8)}), sliced)
    assert [h.values["offer"] for h in hits] == ["0 (they have nvidia.com/mig-1g.10gb)"]
