"""Promised amounts against what mixtures of shapes can use."""

from itertools import product

from worlds import CPU, GPU

from policycheck.model.inventory import Node
from policycheck.simulate.draw import stream
from policycheck.simulate.hold import FAILS, HOLDS, Demand, Machines, Part, hold
from policycheck.simulate.hold.fill import Filling, largest, mixtures, wasted
from policycheck.simulate.hold.nodes import UNBOUNDED, kinds
from policycheck.simulate.hold.usable import usable

EIGHT = Machines("h100", {GPU: 8, CPU: 184_000}, 8)


def filling(name, amount, *sizes, allowed=(0,), cores=0):
    within = {GPU: amount, CPU: cores} if cores else {GPU: amount}
    each = {CPU: 10_000} if cores else {}
    return Filling(
        name, GPU, within, tuple(Demand(name, (Part({GPU: s, **each}, 1),), 1, (allowed,)) for s in sizes)
    )


def test_shapes_that_leave_a_rest_of_every_node_waste_the_guarantee():
    (found,) = wasted([EIGHT], [filling("vision", 64, 5)])
    assert (found.fillings, found.need, found.room) == ((0,), 60, 40)
    assert found.why.endswith("8 nodes of 8 nvidia.com/gpu take 5 each")
    assert wasted([EIGHT], [filling("vision", 44, 5)]) == ()
    assert wasted([EIGHT], [filling("vision", 64, 5, 3)]) == ()  # five and three fill a node
    assert wasted([EIGHT], [filling("vision", 64, 5, 1)]) == ()


def test_other_amounts_bound_what_is_asked_for():
    assert largest(filling("vision", 64, 5, cores=80_000)) == 40
    assert wasted([EIGHT], [filling("vision", 64, 5, cores=80_000)]) == ()
    assert largest(filling("vision", 64, 5, cores=90_000)) == 45
    assert len(wasted([EIGHT], [filling("vision", 64, 5, cores=90_000)])) == 1


def test_guarantees_that_fit_by_themselves_and_not_together():
    (found,) = wasted([EIGHT], [filling("a", 20, 5), filling("b", 40, 8), filling("c", 4, 1)])
    assert found.fillings == (0, 1)
    assert (found.need, found.room) == (60, -1)
    assert "together they take 9 nodes of 8, and there are 8" in found.why


def test_only_those_that_share_nodes_are_held_together():
    classes = [EIGHT._replace(machines=4), EIGHT._replace(machines=4)]
    parts = [filling("a", 32, 8), filling("b", 32, 8, allowed=(1,))]
    assert wasted(classes, parts) == ()
    (found,) = wasted(classes, [filling("a", 15, 5), filling("b", 16, 8)])
    assert found.fillings == (0, 1)


def test_gangs_for_one_domain_count_as_such():
    racks = [EIGHT._replace(machines=3, path=("a",)), EIGHT._replace(machines=3, path=("b",))]
    pair = Demand("pair", (Part({GPU: 8}, 2),), 1, ((0, 1),), 1)
    assert wasted(racks, [Filling("t", GPU, {GPU: 32}, (pair,))]) == ()
    (found,) = wasted(racks, [Filling("t", GPU, {GPU: 48}, (pair,))])
    assert found.why == "3 gangs need a domain each that holds one, and the domains hold 2"


def test_mixtures_are_full():
    assert sorted(mixtures(filling("t", 8, 5, 3))) == [(0, 2), (1, 1)]
    assert mixtures(filling("t", 2, 5)) == [(0,)]
    assert mixtures(filling("t", 10**9, 1, 2)) is None
    assert largest(filling("t", 10**9, 1, 2)) == 10**9


def test_a_bound_that_is_broken_leaves_no_mixture_that_holds():
    found = 0
    for n in range(600):
        draw = stream(n, "fill")
        classes = [
            Machines(f"c{c}", {GPU: 2 + draw.below(7)}, 1 + draw.below(3)) for c in range(1 + draw.below(2))
        ]
        parts = []
        for name in "ab"[: 1 + draw.below(2)]:
            sizes = [1 + draw.below(6) for _ in range(1 + draw.below(2))]
            allowed = tuple(c for c in range(len(classes)) if draw.below(3)) or (0,)
            parts.append(filling(name, draw.below(20), *sizes, allowed=allowed))
        for one in wasted(classes, parts):
            found += 1
            some = [parts[i] for i in one.fillings]
            assert all(hold(classes, demands).outcome == FAILS for demands in _full(some)), (n, one)
    assert found > 50


def _full(parts):
    """Every way to fill all amounts as far as gangs go."""
    ways = []
    for part in parts:
        sizes = [kind.parts[0].each[GPU] for kind in part.kinds]
        within, best = part.within[GPU], {}
        for numbers in product(*(range(within // size + 1) for size in sizes)):
            total = sum(n * s for n, s in zip(numbers, sizes, strict=True))
            if total <= within:
                best.setdefault(total, []).append(numbers)
        ways.append([(part, numbers) for numbers in best[max(best)]])
    for choice in product(*ways):
        yield [
            kind._replace(gangs=n)
            for part, numbers in choice
            for kind, n in zip(part.kinds, numbers, strict=True)
            if n
        ]


def test_what_of_a_machine_can_be_used():
    assert usable((8,), [((5,), 5)], 0) == 5
    assert usable((8,), [((5,), 5), ((3,), 3)], 0) == 8
    assert usable((8, 10), [((1, 4), 1)], 0) == 2
    assert usable((8, 10), [((1, 4), 1), ((1, 1), 1)], 0) == 8
    many = [((size,), size) for size in range(501, 560, 2)]
    assert usable((10_000,), many, 0) <= 10_000


def test_nodes_are_grouped_by_what_is_free_their_domain_and_their_mark():
    def node(name, gpus, rack, **more):
        labels = {"rack": rack} if rack else {}
        return Node(name, labels, allocatable={GPU: gpus}, **more)

    nodes = [
        node("a", 8, "r1"),
        node("b", 8, "r1"),
        node("c", 8, "r2", committed={GPU: 2}),
        node("d", 8, ""),
        node("e", 8, "r1", unschedulable=True),
        node("pool", 8, "r2", machines=1, most=None, source="elastic"),
        node("f", 8, "r1"),
    ]
    marks = {n.name: frozenset({"x"}) for n in nodes if n.name != "f"}
    upper = kinds(nodes, [GPU, CPU, "pods"], marks, ["rack"])
    assert [(m.free[GPU], m.machines, m.path) for m in upper.classes] == [
        (8, 2, ("r1",)),
        (6, 1, ("r2",)),
        (8, 1, ()),
        (8, UNBOUNDED, ("r2",)),
    ]
    assert all("pods" not in m.free for m in upper.classes)  # nobody says how many
    lower = kinds(nodes, [GPU, CPU], marks, ["rack"], most=False)
    assert lower.classes[-1].machines == 1
    assert lower.classes[0].free == {GPU: 8, CPU: 0}
    assert upper.marked("x") == (0, 1, 2, 3)
    demand = Demand("g", (Part({GPU: 8, CPU: 500}, 2),), 1, (upper.marked("x"),), 1)
    assert hold(upper.classes, [demand]).outcome == HOLDS
    assert hold(lower.classes, [demand]).outcome == FAILS
