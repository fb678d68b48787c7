"""Affinity, anti-affinity and its symmetry, and topology spread: filters and scores."""

from __future__ import annotations

from policycheck.model.placement import (
    PodAffinity,
    PodTerm,
    Requirement,
    Selector,
    Spread,
    Taint,
    WeightedPodTerm,
)

ZONE, HOST = "zone", "kubernetes.io/hostname"


def app(name):
    return Selector((Requirement("app", "In", (name,)),))


def term(name, key=HOST, **more):
    return PodTerm(key, app(name), **more)


def zones(node, *names, **more):
    return [node(f"n{i}", labels={ZONE: name} if name else {}, **more) for i, name in enumerate(names)]


def test_anti_affinity_keeps_pods_of_one_job_apart(placer, node, pods, where):
    one = placer(*zones(node, "a", "a", "b"))
    apart = PodAffinity(away=(term("x", ZONE),))
    placed = one.place("t/job", [pods(3, labels={"app": "x"}, neighbours=apart)], 0)
    assert sorted({"n0": "a", "n1": "a", "n2": "b"}[n] for n in where(placed)) == ["a", "b"]
    assert placed.sets[0].waiting == 1
    assert placed.sets[0].why == "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules"


def test_nodes_that_may_still_come_are_no_nodes(placer, node, pods):
    pool = node("pool")._replace(machines=2, most=5)
    apart = PodAffinity(away=(term("x"),))
    placed = placer(pool).place("t/job", [pods(3, labels={"app": "x"}, neighbours=apart)], 0)
    assert placed.sets[0].why == "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules"


def test_anti_affinity_is_symmetric(placer, node, pods, where):
    one = placer(*zones(node, "a", "b"))
    shy = pods(labels={"app": "shy"}, neighbours=PodAffinity(away=(term("loud", ZONE),)))
    first = next(iter(where(one.place("t/shy", [shy], 0))))
    loud = pods(2, labels={"app": "loud"})
    placed = one.place("t/loud", [loud], 0)
    assert first not in where(placed)
    assert sum(where(placed).values()) == 2
    one.down(next(iter(where(placed))))
    again = one.place("t/more", [pods(labels={"app": "loud"})], 0)
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in again.sets[0].why
    one.free("t/shy")
    assert one.crowd.social == {}
    assert one.fill("t/more").whole


def test_symmetry_is_within_the_namespaces_that_the_term_means(placer, node, pods):
    one = placer(node("a"))
    shy = pods(labels={"app": "shy"}, neighbours=PodAffinity(away=(term("loud"),)))
    one.place("t/shy", [shy], 0)
    assert one.place("other/loud", [pods(labels={"app": "loud"})], 0).whole
    assert not one.place("t/loud", [pods(labels={"app": "loud"})], 0).whole


def test_namespaces_by_name_and_by_label(placer, node, pods):
    labels = {"other": {"team": "x"}, "third": {"team": "y"}}
    by_name = PodAffinity(away=(term("x", namespaces=("other",)),))
    by_label = PodAffinity(
        away=(term("x", namespace_selector=Selector((Requirement("team", "In", ("x",)),))),)
    )
    everywhere = PodAffinity(away=(term("x", namespace_selector=Selector()),))
    nowhere = PodAffinity(away=(PodTerm(HOST, None),))
    for rule, kept_away_by in (
        (by_name, {"other"}),
        (by_label, {"other"}),
        (everywhere, {"other", "third", "t"}),
        (nowhere, set()),
    ):
        for namespace in ("other", "third", "t"):
            one = placer(node("a"), namespaces=labels)
            one.place(f"{namespace}/x", [pods(labels={"app": "x"})], 0)
            placed = one.place("t/job", [pods(neighbours=rule)], 0)
            assert placed.whole == (namespace not in kept_away_by), (rule, namespace)


def test_affinity_follows_and_the_first_of_its_kind_may_start(placer, node, pods, where):
    one = placer(*zones(node, "a", "b", ""))
    near = PodAffinity(near=(term("x", ZONE),))
    alone = one.place("t/alone", [pods(labels={"app": "other"}, neighbours=near)], 0)
    assert alone.sets[0].why == "0/3 nodes are available: 3 node(s) didn't match pod affinity rules"
    placed = one.place("t/gang", [pods(5, cpu=2, memory=2, labels={"app": "x"}, neighbours=near)], 0)
    assert len(where(placed)) == 1
    assert "n2" not in where(placed)  # it has no zone
    assert placed.sets[0].waiting == 1  # the other zone has room, and does not count
    assert one.fill("t/alone") is None
    one.free("t/gang")
    assert one.fill("t/alone") is None


def test_a_pod_must_meet_all_terms_at_once(placer, node, pods, where):
    nodes = [node("a", labels={ZONE: "1"}), node("b", labels={ZONE: "2"})]
    one = placer(*nodes)
    one.place("t/x", [pods(labels={"app": "x"}, node_selector={ZONE: "1"})], 0)
    one.place("t/y", [pods(labels={"app": "y"}, node_selector={ZONE: "1"})], 0)
    both = PodAffinity(near=(term("x", ZONE), term("y", ZONE)))
    assert not one.place("t/job", [pods(neighbours=both)], 0).whole  # no single pod is x and y
    only = PodAffinity(near=(term("x", ZONE), term("x", HOST)))
    assert where(one.place("t/next", [pods(neighbours=only)], 0)) == {"a": 1}


def test_hard_spread_holds_the_skew(placer, node, pods, where):
    one = placer(*zones(node, "a", "a", "b"))
    even = Spread(ZONE, 1, True, app("x"))
    placed = one.place("t/job", [pods(5, labels={"app": "x"}, spread=(even,))], 0)
    found = where(placed)
    assert found["n2"] in (2, 3)
    assert found["n0"] + found["n1"] == 5 - found["n2"]
    one.down("n2")
    more = one.place("t/more", [pods(3, labels={"app": "x"}, spread=(even,))], 0)
    assert more.sets[0].waiting >= 2  # zone b is lost, and still counts
    assert "2 node(s) didn't match pod topology spread constraints" in more.sets[0].why


def test_pods_that_the_constraint_does_not_count_do_not_add_to_the_skew(placer, node, pods, where):
    one = placer(*zones(node, "a", "b"))
    even = Spread(ZONE, 1, True, app("x"))
    one.place("t/x", [pods(labels={"app": "x"}, node_selector={ZONE: "a"})], 0)
    one.place("other/x", [pods(3, labels={"app": "x"}, node_selector={ZONE: "b"})], 0)  # another namespace
    placed = one.place("t/y", [pods(4, labels={"app": "y"}, spread=(even,))], 0)
    assert placed.whole
    # y is not x: it may go where there is one x more than elsewhere.
    anywhere = even._replace(heeds_affinity=False)
    assert one.place(
        "t/z", [pods(labels={"app": "y"}, spread=(anywhere,), node_selector={ZONE: "a"})], 0
    ).whole
    assert not one.place(
        "t/w", [pods(labels={"app": "x"}, spread=(anywhere,), node_selector={ZONE: "a"})], 0
    ).whole


def test_nodes_without_the_label_are_no_place(placer, node, pods):
    one = placer(*zones(node, "", ""))
    placed = one.place("t/job", [pods(spread=(Spread(ZONE, 1, True, app("x")),))], 0)
    assert placed.sets[0].why == (
        "0/2 nodes are available: "
        "2 node(s) didn't match pod topology spread constraints (missing required label)"
    )


def test_min_domains_counts_what_is_missing_as_empty(placer, node, pods):
    def placed(least):
        rule = Spread(ZONE, 1, True, app("x"), min_domains=least)
        one = placer(*zones(node, "a", "b"))
        return 4 - one.place("t/job", [pods(4, labels={"app": "x"}, spread=(rule,))], 0).sets[0].waiting

    assert placed(2) == 4
    assert placed(3) == 2


def test_which_nodes_count_for_the_spread(placer, node, pods):
    tainted = [Taint("k", "v", "NoSchedule")]
    nodes = [
        node("a", labels={ZONE: "a", "pool": "gpu"}),
        node("b", labels={ZONE: "b", "pool": "cpu"}),
        node("c", labels={ZONE: "c", "pool": "gpu"}, taints=tainted),
    ]

    def placed(**policies):
        rule = Spread(ZONE, 1, True, app("x"), **policies)
        spec = pods(3, labels={"app": "x"}, spread=(rule,), node_selector={"pool": "gpu"})
        return 3 - placer(*nodes).place("t/job", [spec], 0).sets[0].waiting

    assert placed() == 1  # zone c counts, and stays empty; zone b does not
    assert placed(heeds_taints=True) == 3  # zone a alone
    assert placed(heeds_affinity=False, heeds_taints=True) == 1  # zone b counts as well


def test_soft_spread_prefers_the_emptier_domain(placer, node, pods, where):
    nodes = [node("a", cpu=64, memory=256, labels={ZONE: "a"}), node("b", labels={ZONE: "b"})]
    soft = Spread(ZONE, 1, False, app("x"))
    one = placer(*nodes)
    placed = one.place("t/job", [pods(4, labels={"app": "x"}, spread=(soft,))], 0)
    assert where(placed) == {"a": 2, "b": 2}
    plain = placer(*nodes).place("t/job", [pods(4, labels={"app": "x"})], 0)
    assert where(plain) == {"a": 4}


def test_preferred_neighbours_draw_and_repel(placer, node, pods, where):
    nodes = [node("a"), node("b")]
    for weight, expected in ((50, "a"), (-50, "b")):
        one = placer(*nodes)
        one.place("t/x", [pods(cpu=4, memory=4, labels={"app": "x"}, node_selector={HOST: "a"})], 0)
        wish = PodAffinity(preferred=(WeightedPodTerm(weight, term("x")),))
        assert where(one.place("t/job", [pods(neighbours=wish)], 0)) == {expected: 1}


def test_wishes_of_pods_that_are_there_count_too(placer, node, pods, where):
    one = placer(node("a"), node("b"))
    wish = PodAffinity(preferred=(WeightedPodTerm(100, term("x")),))
    lonely = pods(cpu=4, memory=4, neighbours=wish, node_selector={HOST: "a"})
    one.place("t/lonely", [lonely], 0)
    assert where(one.place("t/x", [pods(labels={"app": "x"})], 0)) == {"a": 1}


def test_tallies_begun_late_equal_those_kept_from_the_start(placer, node, pods):
    one = placer(*zones(node, "a", "b", "b"))
    rule = PodAffinity(away=(term("x", ZONE),))
    one.place("t/x1", [pods(2, labels={"app": "x"})], 0)
    early = one.crowd.selected(rule.away, ZONE, "t")
    one.place("t/x2", [pods(3, labels={"app": "x"})], 1)
    one.place("t/y", [pods(1, labels={"app": "y"}, neighbours=rule)], 1)
    one.free("t/x1")
    late = one.fork().crowd
    fresh = placer(*zones(node, "a", "b", "b")).crowd
    for kind, there in one.crowd.kinds.items():
        for n, number in there.items():
            fresh.count(kind, n, number)
    assert (
        early.found == late.selected(rule.away, ZONE, "t").found == fresh.selected(rule.away, ZONE, "t").found
    )
    one.free("t/x2")
    assert early.found == {}
    assert early.total == 0
