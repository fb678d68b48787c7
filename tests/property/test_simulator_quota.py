"""Quota algebra: exact undo, and agreement with the definitions written down directly."""

import random

from hypothesis import given
from hypothesis import strategies as st

from policycheck.model.amount import UNLIMITED
from policycheck.systems.kueue.model import ClusterQueue, Cohort, FlavorQuotas, Quota, ResourceGroup
from policycheck.systems.kueue.quota import Tree, build

PAIR = ("f", "cpu")


def group(quota):
    return (ResourceGroup(("cpu",), (FlavorQuotas("f", {"cpu": quota}),)),)


limit = st.none() | st.integers(0, 20)
quota = st.builds(Quota, st.integers(0, 20), limit, limit)


@st.composite
def trees(draw):
    cohorts = [
        Cohort(f"c{n}", f"c{draw(st.integers(0, n - 1))}" if n else "", group(draw(quota)))
        for n in range(draw(st.integers(1, 5)))
    ]
    queues = [
        ClusterQueue(f"q{n}", draw(st.sampled_from(cohorts)).name, group(draw(quota)))
        for n in range(draw(st.integers(1, 6)))
    ]
    forest = build(queues, cohorts)
    assert len(forest.trees) == 1
    return forest.trees[0], [forest.place[q.name][1] for q in queues]


def directly(tree: Tree, usage):
    """Usage, availability and potential of every node by the definitions, recursively."""
    nodes, cells = tree.nodes, range(tree.size)
    kids = [[k for k in cells if nodes[k].parent == n] for n in cells]
    quotas = [n.quotas.get(PAIR, Quota(0)) for n in nodes]
    subtree, kept, used = {}, {}, {}

    def up(n):
        for k in kids[n]:
            up(k)
        subtree[n] = quotas[n].nominal + sum(subtree[k] - kept[k] for k in kids[n])
        lend = quotas[n].lending_limit
        kept[n] = 0 if lend is None else max(0, subtree[n] - lend)
        used[n] = usage.get(n, 0) if nodes[n].is_queue else sum(max(0, used[k] - kept[k]) for k in kids[n])

    up(0)

    def available(n):
        if nodes[n].parent < 0:
            return subtree[n] - used[n]
        above = available(nodes[n].parent)
        if quotas[n].borrowing_limit is not None:
            room = subtree[n] - kept[n] - max(0, used[n] - kept[n]) + quotas[n].borrowing_limit
            above = min(above, room)
        return max(0, kept[n] - used[n]) + above

    def potential(n):
        if nodes[n].parent < 0:
            return subtree[n]
        best = kept[n] + potential(nodes[n].parent)
        borrow = quotas[n].borrowing_limit
        return best if borrow is None else min(best, subtree[n] + borrow)

    return used, {n: available(n) for n in cells}, {n: potential(n) for n in cells}


@given(trees(), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 15)), max_size=12))
def test_cells_are_what_the_definitions_say(drawn, operations):
    tree, queues = drawn
    usage = {}
    for which, amount in operations:
        node = queues[which % len(queues)]
        tree.add(tree.cell(node, PAIR), amount)
        usage[node] = usage.get(node, 0) + amount
    used, available, potential = directly(tree, usage)
    assert [tree.usage[tree.cell(n, PAIR)] for n in range(tree.size)] == [used[n] for n in range(tree.size)]
    for n in range(tree.size):
        assert tree.available(tree.cell(n, PAIR)) == available[n]
        assert tree.ceiling[tree.cell(n, PAIR)] == potential[n]


@given(trees(), st.integers(0, 30))
def test_reach_is_the_lowest_subtree_that_holds_the_request(drawn, amount):
    tree, queues = drawn
    for node in queues:
        height, less_than_all = tree.reach(tree.cell(node, PAIR), amount)
        alone = tree.nodes[node].parent < 0
        fits_alone = amount <= tree.nominal[tree.cell(node, PAIR)]
        assert (height == 0) == (alone or fits_alone)
        assert height <= tree.height[0]
        if fits_alone:
            assert less_than_all == (not alone)


@given(trees(), st.data())
def test_removing_in_any_order_leaves_no_trace(drawn, data):
    tree, queues = drawn
    before = tree.usage.copy()
    amounts = data.draw(st.lists(st.tuples(st.sampled_from(queues), st.integers(0, 12)), max_size=10))
    for node, amount in amounts:
        tree.add(tree.cell(node, PAIR), amount)
    for node, amount in data.draw(st.permutations(amounts)):
        tree.remove(tree.cell(node, PAIR), amount)
    assert tree.usage == before


def test_ten_thousand_operations_undone_leave_every_cell_as_it_was():
    draw = random.Random(20)  # the walk is the same in every run
    cohorts = [
        Cohort(f"c{n}", f"c{draw.randrange(n)}" if n else "", group(Quota(draw.randrange(9))))
        for n in range(12)
    ]
    queues = [
        ClusterQueue(
            f"q{n}",
            f"c{draw.randrange(12)}",
            group(Quota(draw.randrange(30), draw.choice([None, 5]), draw.choice([None, 3]))),
        )
        for n in range(30)
    ]
    forest = build(queues, cohorts)
    tree = forest.trees[0]
    cells = [tree.cell(forest.place[q.name][1], PAIR) for q in queues]
    held = []
    for _ in range(500):
        cell, amount = draw.choice(cells), draw.randrange(6)
        tree.add(cell, amount)
        held.append((cell, amount))
    before = tree.usage.copy()
    undo = []
    for _ in range(10_000):
        if held and draw.random() < 0.5:
            cell, amount = held.pop(draw.randrange(len(held)))
            tree.remove(cell, amount)
            undo.append((cell, amount, False))
        else:
            cell, amount = draw.choice(cells), draw.randrange(6)
            tree.add(cell, amount)
            held.append((cell, amount))
            undo.append((cell, amount, True))
    assert tree.usage != before
    for cell, amount, added in reversed(undo):
        (tree.remove if added else tree.add)(cell, amount)
    assert tree.usage == before


@given(st.integers(0, UNLIMITED), st.integers(0, UNLIMITED), st.integers(0, UNLIMITED))
def test_unlimited_quota_stays_unlimited_whatever_is_used(a, b, amount):
    queues = [
        ClusterQueue("q1", "c", group(Quota(UNLIMITED))),
        ClusterQueue("q2", "c", group(Quota(a, None, b))),
    ]
    forest = build(queues, [])
    tree = forest.trees[0]
    cell = tree.cell(forest.place["q1"][1], PAIR)
    tree.add(cell, amount)
    tree.add(cell, amount)
    assert tree.fits([(cell, UNLIMITED - 1)])
    tree.remove(cell, amount)
    tree.remove(cell, amount)
    assert not any(tree.usage)
