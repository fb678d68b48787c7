"""Quota math on small trees whose numbers were worked out by hand from the formulas of KEP-79."""

import pytest

from policycheck.model.amount import UNLIMITED
from policycheck.systems.kueue.model import ClusterQueue, Cohort, FlavorQuotas, Quota, ResourceGroup
from policycheck.systems.kueue.quota import Tree, build, minus, pair_quotas, plus

F = ("f", "cpu")


def quota(*limits, flavor="f", resource="cpu"):
    return (ResourceGroup((resource,), (FlavorQuotas(flavor, {resource: Quota(*limits)}),)),)


def queue(name, cohort, *limits):
    return ClusterQueue(name, cohort, quota(*limits))


class Small:
    """The one tree of some queues and cohorts, by name."""

    def __init__(self, queues, cohorts=()):
        forest = build(queues, cohorts)
        (self.tree,) = forest.trees
        places = {**forest.place, **forest.cohorts}
        self.cell = {name: self.tree.cell(node, F) for name, (_, node) in places.items()}

    def use(self, name, amount):
        self.tree.add(self.cell[name], amount)

    def of(self, what, *names):
        values = getattr(self.tree, what)
        return tuple(values[self.cell[n]] for n in names)

    def available(self, *names):
        return tuple(self.tree.available(self.cell[n]) for n in names)


def v3():
    cohorts = [Cohort("root"), Cohort("team1", "root", quota(4, 2, 1))]
    return Small([queue("c1", "team1", 2), queue("c2", "team1", 2), queue("shared", "root", 10)], cohorts)


def test_lending_and_borrowing_limits_of_queues():
    t = Small([queue("a", "c", 8), queue("b", "c", 8, 2, 3)])
    assert t.of("ceiling", "a", "b") == (11, 10)
    t.use("a", 10)
    assert t.available("a", "b") == (1, 6)


def test_a_borrowing_limit_of_zero_protects_nobody():
    t = Small([queue("a", "c", 4, 0), queue("b", "c", 4)])
    t.use("b", 6)
    assert t.available("a") == (2,)
    lends_nothing = Small([queue("a", "c", 4, None, 0), queue("b", "c", 4)])
    lends_nothing.use("b", 6)  # more than there is, as after a quota was cut
    assert lends_nothing.available("a") == (2,)
    assert lends_nothing.of("ceiling", "a", "b") == (8, 4)


def test_cohorts_with_limits_of_their_own():
    t = v3()
    assert t.of("subtree", "team1", "root") == (8, 11)
    assert t.of("local", "team1", "root") == (7, 0)
    assert t.of("ceiling", "c1", "shared") == (10, 11)
    t.use("c1", 9)
    assert t.of("usage", "c1", "team1", "root") == (9, 9, 2)
    assert t.available("c2", "shared") == (1, 9)
    assert t.tree.reach(t.cell["c1"], 1) == (2, False)


def test_a_cohorts_nominal_is_on_top_of_its_childrens():
    t = Small([queue("a", "c", 2), queue("b", "c", 2)], [Cohort("c", "", quota(4))])
    assert t.of("subtree", "c") == (8,)
    assert t.of("ceiling", "a") == (8,)
    assert t.of("nominal", "a", "c") == (2, 4)


def test_the_height_is_that_of_the_first_node_that_holds_the_rest():
    """usage + rest <= subtree, rest losing at each node what is free of the part never lent."""
    cohorts = [Cohort("root"), Cohort("mid", "root", quota(3, None, 2)), Cohort("low", "mid")]
    queues = [queue("a", "low", 2, None, 1), queue("b", "low", 2), queue("z", "root", 5)]
    t = Small(queues, cohorts)
    assert t.of("subtree", "a", "low", "mid", "root") == (2, 3, 6, 7)
    assert t.of("local", "a", "low", "mid") == (1, 0, 4)
    for amount, want in [(2, (0, True)), (3, (1, True)), (4, (1, True)), (5, (2, True)), (7, (2, True))]:
        assert t.tree.reach(t.cell["a"], amount) == want, amount
    assert t.tree.reach(t.cell["a"], 8) == (3, False)
    t.use("z", 7)
    assert t.tree.reach(t.cell["a"], 8) == (3, False)  # nobody holds it: the height of the root
    t.use("b", 2)
    assert t.tree.reach(t.cell["a"], 3) == (2, True)  # low: 2 + 2 > 3; mid: 2 + 2 <= 6


def test_a_queue_has_height_0_and_a_cohort_one_more_than_what_is_below():
    t = v3()
    assert {n.name: t.tree.height[number] for number, n in enumerate(t.tree.nodes)} == {
        "root": 2, "team1": 1, "shared": 0, "c1": 0, "c2": 0,
    }  # fmt: skip


def test_nodes_know_what_they_are():
    lone = ClusterQueue("a", "", quota(4, None, 1), fair_weight=500)
    nodes = [build([lone], [], lending=lending).trees[0].nodes[0] for lending in (True, False)]
    assert nodes[0] == ("a", True, -1, {F: Quota(4, None, 1)}, 0.5)
    assert nodes[1] == ("a", True, -1, {F: Quota(4, None, None)}, 0.5)
    cohort, member = build([queue("b", "c", 3)], []).trees[0].nodes
    assert cohort == ("c", False, -1, {}, 1)
    assert member == ("b", True, 0, {F: Quota(3)}, 1)


def test_what_nobody_wrote_a_quota_for_has_a_nominal_of_0():
    t = Small([queue("a", "c", 2), ClusterQueue("b", "c", quota(3, flavor="g"))])
    assert t.of("nominal", "a", "b", "c") == (2, 0, 0)


def test_what_is_kept_and_in_use_already_takes_nothing_off_the_rest():
    cohorts = [Cohort("root"), Cohort("mid", "root"), Cohort("low", "mid", quota(2, None, 1))]
    queues = [
        queue("a", "low", 2, None, 1),
        queue("b", "low", 2),
        queue("z", "mid", 1),
        queue("y", "root", 9),
    ]
    t = Small(queues, cohorts)
    assert t.of("subtree", "a", "low", "mid", "root") == (2, 5, 2, 11)
    assert t.of("local", "a", "low", "mid") == (1, 4, 0)
    t.use("a", 1)  # all that a keeps
    t.use("b", 3)  # of 4 that low keeps
    assert t.of("usage", "a", "low", "mid") == (1, 3, 0)
    assert t.tree.reach(t.cell["a"], 1) == (0, True)
    assert t.tree.reach(t.cell["a"], 2) == (1, True)  # low: 3 + 2 <= 5
    assert t.tree.reach(t.cell["a"], 3) == (2, True)  # low: 3 + 3 > 5, which keeps 1 of 3; mid: 0 + 2 <= 2
    assert t.tree.reach(t.cell["a"], 4) == (3, False)  # low: 3 + 4 > 5; mid: 0 + 3 > 2


def test_a_queue_alone_never_borrows_whatever_it_asks():
    t = Small([queue("a", "", 2)])
    assert t.tree.reach(t.cell["a"], 2) == t.tree.reach(t.cell["a"], 3) == (0, False)


def test_usage_bubbles_past_what_is_kept_and_returns():
    t = Small([queue("a", "c", 5, None, 2), queue("b", "c", 5)])  # a keeps 3
    for amount, used in [(2, 0), (1, 0), (1, 1), (0, 1), (4, 5)]:
        t.use("a", amount)
        assert t.of("usage", "c") == (used,)
    for amount, used in [(3, 2), (2, 0), (1, 0)]:
        t.tree.remove(t.cell["a"], amount)
        assert t.of("usage", "c") == (used,)
    assert t.of("usage", "a") == (2,)


def test_what_a_queue_may_use_is_never_negative():
    t = Small([queue("a", "c", 1), queue("b", "c", 1)])
    t.use("b", 5)
    assert t.available("a") == (-3,)
    assert t.tree.free(t.cell["a"]) == 0
    assert t.tree.fits([(t.cell["a"], 0)])
    assert not t.tree.fits([(t.cell["a"], 1)])


@pytest.mark.parametrize(
    ("a", "b", "total", "rest"),
    [
        (1, 2, 3, -1),
        (UNLIMITED, 2, UNLIMITED, UNLIMITED),
        (2, UNLIMITED, UNLIMITED, -UNLIMITED),
        (UNLIMITED, UNLIMITED, UNLIMITED, 0),
        (UNLIMITED - 1, 1, UNLIMITED - 1, UNLIMITED - 2),  # a sum of numbers is no "unlimited"
        (1 - UNLIMITED, 2, 3 - UNLIMITED, -UNLIMITED),
        (-UNLIMITED, -5, -UNLIMITED, 5 - UNLIMITED),
    ],
)
def test_amounts_saturate(a, b, total, rest):
    assert plus(a, b) == total
    assert minus(a, b) == rest


def test_quotas_are_by_flavor_and_resource_and_may_ignore_lending_limits():
    groups = (*quota(4, 2, 1), *quota(3, None, 0, flavor="g", resource="gpu"))
    assert pair_quotas(groups) == {F: Quota(4, 2, 1), ("g", "gpu"): Quota(3, None, 0)}
    assert pair_quotas(groups, lending=False) == {F: Quota(4, 2, None), ("g", "gpu"): Quota(3, None, None)}
    t = build([queue("a", "c", 4, None, 0), queue("b", "c", 4)], [], lending=False)
    assert t.trees[0].ceiling[t.trees[0].cell(t.place["b"][1], F)] == 8


@pytest.mark.parametrize(("lending", "potential"), [(True, 4), (False, 9)])
def test_lending_limits_of_cohorts_may_be_ignored_as_well(*, lending, potential):
    forest = build(
        [queue("a", "top", 4), queue("b", "c", 5)], [Cohort("c", "top", quota(0, None, 0))], lending=lending
    )
    tree = forest.trees[0]
    assert tree.ceiling[tree.cell(forest.place["a"][1], F)] == potential


def test_a_copy_that_shares_all_but_usage_may_meet_a_pair_first():
    tree = Small([queue("a", "c", 2), queue("b", "c", 2)]).tree
    other = Tree.__new__(Tree)
    for name in Tree.__slots__:
        setattr(other, name, getattr(tree, name))
    other.usage = tree.usage.copy()
    cell = other.cell(1, ("g", "gpu"))
    other.add(cell, 2)
    assert tree.cell(1, ("g", "gpu")) == cell
    assert (tree.available(cell), other.available(cell)) == (0, -2)
    assert tree.cell(0, F) == other.cell(0, F) == 0
    assert len(tree.usage) == len(other.usage) == len(tree.up) == 6


def test_queues_below_a_cycle_of_cohorts_stand_alone():
    queues = [queue("a", "x", 2), queue("b", "y", 3), queue("c", "below", 4), queue("d", "fine", 5)]
    cohorts = [
        Cohort("x", "y"),
        Cohort("y", "x"),
        Cohort("below", "x"),
        Cohort("fine", "over"),
        Cohort("me", "me"),
    ]
    forest = build([*queues, queue("e", "me", 6)], cohorts)
    assert forest.cyclic == {"a", "b", "c", "e"}
    assert set(forest.cohorts) == {"fine", "over"}
    for name, nominal in (("a", 2), ("b", 3), ("c", 4), ("e", 6)):
        tree, node = forest.place[name]
        assert node == 0
        assert forest.trees[tree].size == 1
        assert forest.trees[tree].ceiling == [nominal]
    assert forest.trees[forest.place["d"][0]].size == 3


def test_a_pair_that_nobody_has_quota_for_has_nothing_to_give():
    t = Small([queue("a", "c", 2), queue("b", "c", 2)])
    cell = t.tree.cell(2, ("g", "gpu"))
    assert (t.tree.pairs, cell) == ([F, ("g", "gpu")], 5)
    assert t.tree.available(cell) == 0
    assert not any(t.tree.defined[3:])
    t.tree.add(cell, 3)
    assert t.tree.available(cell) == -3
    assert t.available("a", "b") == (4, 4)  # other columns are their own


def test_a_weight_is_given_in_thousandths():
    forest = build(
        [ClusterQueue("a", "c", fair_weight=1500), ClusterQueue("b", "c")], [Cohort("c", fair_weight=0)]
    )
    assert [n.weight for n in forest.trees[0].nodes] == [0, 1.5, 1]
