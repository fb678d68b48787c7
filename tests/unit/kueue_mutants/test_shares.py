"""Dominant resource share: 1000 x borrowed / what the parent could lend, largest resource, over weight."""

import pytest

from policycheck.model.amount import UNLIMITED
from policycheck.systems.kueue.model import ClusterQueue, Cohort, FlavorQuotas, Quota, ResourceGroup
from policycheck.systems.kueue.quota import build
from policycheck.systems.kueue.scheduler.share import Share, Shares


def group(**nominal):
    return (ResourceGroup(tuple(nominal), (FlavorQuotas("f", {r: Quota(v) for r, v in nominal.items()}),)),)


def opened(queues, cohorts=(), **usage):
    """Shares of the one tree, and its nodes by name; usage by queue."""
    forest = build(queues, cohorts)
    (tree,) = forest.trees
    nodes = {n.name: number for number, n in enumerate(tree.nodes)}
    for name, uses in usage.items():
        for resource, amount in uses.items():
            tree.add(tree.cell(nodes[name], ("f", resource)), amount)
    return Shares(tree), nodes


def pair(weight, **usage):
    """Queue a (nominal 4) and b (6): the cohort lends 10."""
    queues = [ClusterQueue("a", "c", group(cpu=4), fair_weight=weight), ClusterQueue("b", "c", group(cpu=6))]
    shares, nodes = opened(queues, a=usage)
    return shares, nodes["a"]


@pytest.mark.parametrize(
    ("weight", "used", "rank", "share"),
    [
        (None, 7, (0, 300.0), Share(300, "cpu", True)),  # 1000 x 3 / 10
        (2000, 7, (0, 150.0), Share(150, "cpu", True)),
        (7000, 7, (0, 300 / 7), Share(43, "cpu", True)),  # rounded up where it is printed
        (2000, 4, (0, 0.0), Share(0, "", False)),
        (0, 7, (1, 300.0), Share(UNLIMITED, "cpu", True)),  # weight 0 and borrowing: infinite
        (0, 4, (0, 0.0), Share(0, "", False)),
    ],
)
def test_a_share_is_what_is_borrowed_of_what_could_be_over_the_weight(weight, used, rank, share):
    shares, a = pair(weight, cpu=used)
    assert shares.rank(a) == rank
    assert shares.standing(a) == (rank, share.value == 0)
    assert shares.is_zero(a) == (not share.borrowing)
    assert shares.share(a) == share


def test_infinite_shares_compare_by_what_is_borrowed():
    less, a = pair(0, cpu=5)
    more, _ = pair(0, cpu=6)
    finite, _ = pair(1, cpu=9)
    assert finite.rank(a) < less.rank(a) < more.rank(a)
    assert less.standing(a)[0] < more.standing(a)[0]


def test_a_thousandth_is_not_nothing():
    shares, nodes = opened(
        [ClusterQueue("a", "c", group(cpu=0)), ClusterQueue("b", "c", group(cpu=1000))], a={"cpu": 1}
    )
    assert shares.standing(nodes["a"]) == ((0, 1.0), False)
    assert not shares.is_zero(nodes["a"])


def test_a_single_unit_can_be_lent():
    shares, nodes = opened(
        [ClusterQueue("a", "c", group(cpu=0)), ClusterQueue("b", "c", group(cpu=1))], a={"cpu": 1}
    )
    assert shares.rank(nodes["a"]) == (0, 1000.0)


@pytest.mark.parametrize("names", [("cpu", "gpu"), ("gpu", "cpu"), ("b", "a")])
def test_the_largest_resource_dominates_wherever_it_stands(names):
    small, large = names
    queues = [
        ClusterQueue("a", "c", group(**{small: 0, large: 0})),
        ClusterQueue("b", "c", group(**{small: 10, large: 10})),
    ]
    for order in (queues, queues[::-1]):
        shares, nodes = opened(order, a={small: 2, large: 5})
        assert shares.share(nodes["a"]) == Share(500, large, True)
    turned = [
        q._replace(
            groups=group(
                **{large: q.groups[0].flavors[0].resources[large].nominal, small: 10 * (q.name == "b")}
            )
        )
        for q in queues
    ]
    shares, nodes = opened(turned, a={small: 2, large: 5})
    assert shares.share(nodes["a"]) == Share(500, large, True)


def test_of_equal_resources_the_name_decides_not_the_order_written():
    for names in (("x", "y"), ("y", "x")):
        queues = [
            ClusterQueue("a", "c", group(**dict.fromkeys(names, 0))),
            ClusterQueue("b", "c", group(**dict.fromkeys(names, 10))),
        ]
        shares, nodes = opened(queues, a={"x": 3, "y": 3})
        assert shares.share(nodes["a"]) == Share(300, "x", True)


def test_what_the_parent_can_lend_counts_not_what_the_root_can():
    cohorts = [Cohort("root"), Cohort("mid", "root", group(cpu=1))]
    mid = cohorts[1]._replace(groups=(ResourceGroup(("cpu",), (FlavorQuotas("f", {"cpu": Quota(1, 0)}),)),))
    queues = [
        ClusterQueue("a", "mid", group(cpu=0)),
        ClusterQueue("b", "mid", group(cpu=3)),
        ClusterQueue("c", "root", group(cpu=96)),
    ]
    shares, nodes = opened(queues, [cohorts[0], mid], a={"cpu": 2})
    assert shares.rank(nodes["a"]) == (0, 500.0)  # of 4: mid may not borrow
    assert shares.rank(nodes["mid"]) == (0, 0.0)
    freely, nodes = opened(queues, cohorts, a={"cpu": 10})
    assert freely.rank(nodes["a"]) == (0, 100.0)  # of 100
    assert freely.rank(nodes["mid"]) == (0, 60.0)  # 10 - 4 of 100


def test_what_the_parent_can_lend_is_its_own_and_no_other_nodes():
    root, mid = Cohort("root", "", group(cpu=96)), Cohort("mid", "root")
    tight = ResourceGroup(("cpu",), (FlavorQuotas("f", {"cpu": Quota(4, 0)}),))
    queues = [ClusterQueue("a", "mid", group(cpu=0)), ClusterQueue("b", "mid", (tight,))]
    shares, nodes = opened(queues, [root, mid], a={"cpu": 10})
    assert shares.rank(nodes["a"]) == (0, 100.0)  # of 96 + 4


def test_flavors_of_a_resource_add_up():
    def two(f, g):
        return (
            ResourceGroup(
                ("cpu",), (FlavorQuotas("f", {"cpu": Quota(f)}), FlavorQuotas("g", {"cpu": Quota(g)}))
            ),
        )

    forest = build([ClusterQueue("a", "c", two(1, 1)), ClusterQueue("b", "c", two(9, 29))], [])
    tree, node = forest.trees[0], forest.place["a"][1]
    tree.add(tree.cell(node, ("f", "cpu")), 3)
    tree.add(tree.cell(node, ("g", "cpu")), 7)
    assert Shares(tree).rank(node) == (0, 200.0)  # 1000 x (2 + 6) / (10 + 30)


def test_only_what_exceeds_a_quota_that_is_there_is_borrowed():
    shares, nodes = opened(
        [
            ClusterQueue("a", "c", group(cpu=4)),
            ClusterQueue("b", "c", group(gpu=2)),
            ClusterQueue("d", "c", group(gpu=0)),
        ],
        a={"cpu": 4},
        b={"gpu": 2},
        d={"gpu": 1},
    )
    cpu, gpu = frozenset({0}), frozenset({1})
    assert not shares.borrows_any(nodes["a"], cpu)  # at its quota, not above
    assert shares.borrows_any(nodes["d"], gpu)
    assert shares.borrows_any(nodes["d"], cpu | gpu)
    assert not shares.borrows_any(nodes["d"], cpu)


def test_a_queue_alone_borrows_from_nobody():
    shares, nodes = opened([ClusterQueue("a", "", group(cpu=1))], a={"cpu": 5})
    assert not shares.borrows_any(nodes["a"], frozenset({0}))
    assert shares.share(nodes["a"]) == Share(0, "", False)
