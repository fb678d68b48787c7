"""Both answers are sound: against trying everything, and against placements replayed step by step."""

from collections import Counter

import pytest
from worlds import CPU, GPU, PODS, brute, world

from policycheck.simulate.draw import stream
from policycheck.simulate.hold import (
    ALONE,
    FAILS,
    HOLDS,
    STEPS,
    UNKNOWN,
    BrokenError,
    Demand,
    Machines,
    Part,
    bounded,
    check,
    hold,
)

ONE = ((0,),)
EIGHT = Machines("h100", {GPU: 8, CPU: 184_000}, 8)


def gang(name, pods, gangs=1, allowed=ONE, level=0, **each):
    amounts = {{"gpu": GPU, "cpu": CPU}[r]: a for r, a in each.items()}
    return Demand(name, (Part(amounts, pods, name),), gangs, allowed, level)


@pytest.mark.parametrize("block", range(6))
def test_what_is_said_is_so(block):
    outcomes = Counter()
    for n in range(1000 * block, 1000 * (block + 1)):
        classes, demands = world(stream(n, "hold"))
        answer = hold(classes, demands)
        truth = brute(classes, demands)
        outcomes[answer.outcome] += 1
        if answer.outcome == HOLDS:
            check(classes, demands, answer)
        assert (answer.outcome == HOLDS) == truth, (n, classes, demands, answer)
        if answer.bound is not None:
            alone = [demands[d] for d in answer.bound.demands]
            assert not brute(classes, alone), (n, answer)
            assert answer.why
    assert outcomes[HOLDS] > 300
    assert outcomes[FAILS] > 300
    assert outcomes[UNKNOWN] == 0  # so small a world is searched through


def test_bounds_alone_never_deny_what_can_be_held():
    found = 0
    for n in range(20_000, 23_000):
        classes, demands = world(stream(n, "hold"))
        if bounded(classes, demands) is not None:
            found += 1
            assert not brute(classes, demands), n
    assert found > 500


def test_the_smallest_set_that_fails_is_named():
    for n in range(30_000, 32_000):
        classes, demands = world(stream(n, "hold"))
        answer = hold(classes, demands)
        if answer.bound is None or len(answer.bound.demands) == 1:
            continue
        which = answer.bound.demands
        for gone in which:
            less = hold(classes, [demands[d] for d in which if d != gone])
            assert less.outcome != FAILS or answer.basis == "bound", n


@pytest.mark.parametrize(
    ("demands", "why"),
    [
        (
            [gang("five", 9, gpu=5)],
            "9 pods of 5 nvidia.com/gpu, and 8 nodes of 8 nvidia.com/gpu take 1 each: 8",
        ),
        (
            [gang("cores", 33, gpu=1, cpu=40_000)],
            "33 pods of 1 nvidia.com/gpu and 40 cpu, and 8 nodes of 184 cpu take 4 each: 32",
        ),
        ([gang("ten", 1, gpu=10)], "a pod takes 10 nvidia.com/gpu, and the largest node has 8"),
        (
            [gang("five", 1, 6, gpu=5), gang("four", 1, 5, gpu=4)],
            (
                "the large pods leave too little nvidia.com/gpu on a node for any other of these: together "
                "they take 8.5 nodes of 8, and there are 8"
            ),
        ),
        (
            [gang("five", 5, gpu=5), gang("six", 4, gpu=6), gang("one", 9, gpu=1)],
            (
                "together they take 49 nvidia.com/gpu, and such pods can use 48 of the nodes open to them: "
                "8 nodes of 8 nvidia.com/gpu take 6 each"
            ),
        ),
    ],
)
def test_reasons_show_their_numbers(demands, why):
    answer = hold([EIGHT], demands)
    assert (answer.outcome, answer.basis, answer.why) == (FAILS, "bound", why)


def test_a_pod_for_which_no_node_has_all_at_once():
    classes = [Machines("gpus", {GPU: 8, CPU: 8_000}, 2), Machines("cores", {GPU: 1, CPU: 184_000}, 2)]
    answer = hold(classes, [gang("both", 1, allowed=((0, 1),), gpu=4, cpu=16_000)])
    assert answer.why == "a pod takes 4 nvidia.com/gpu and 16 cpu, and no node has all of it at once"


def racks(*sizes):
    return [Machines(f"r{n}", {GPU: 8}, size, (f"r{n}",)) for n, size in enumerate(sizes)]


def test_a_gang_for_one_domain_is_held_against_each():
    classes = racks(4, 3)
    everywhere = ((0, 1),)
    assert hold(classes, [gang("a", 4, 1, everywhere, 1, gpu=8)]).outcome == HOLDS
    too_large = hold(classes, [gang("a", 5, 1, everywhere, 1, gpu=8)])
    assert too_large.why == "5 pods of 8 nvidia.com/gpu, and 4 nodes of 8 nvidia.com/gpu take 1 each: 4"
    too_many = hold(classes, [gang("a", 3, 3, everywhere, 1, gpu=8)])
    assert too_many.why == "3 gangs need a domain each that holds one, and the domains hold 2"


def test_pods_that_share_one_machine_are_one_large_pod():
    pair = gang("pair", 2, 8, level=ALONE, gpu=4)
    assert hold([EIGHT], [pair]).outcome == HOLDS
    assert hold([EIGHT], [pair._replace(gangs=9)]).outcome == FAILS
    assert hold([EIGHT], [gang("three", 3, level=ALONE, gpu=3)]).outcome == FAILS


def test_slices_stay_together_and_the_gang_does_not_have_to():
    classes = racks(3, 3)
    whole = gang("g", 6, allowed=((0, 1),), gpu=8)
    assert hold(classes, [whole]).outcome == HOLDS
    assert hold(classes, [whole._replace(slice_pods=3, slice_level=1)]).outcome == HOLDS
    answer = hold(classes, [whole._replace(slice_pods=2, slice_level=1)])
    assert answer.outcome == FAILS
    assert answer.why == "6 pods of 8 nvidia.com/gpu in slices of 2 pods, and the domains take 4 so"


def test_all_pods_of_a_gang_go_to_one_alternative():
    classes = [Machines("a", {GPU: 8}, 2), Machines("b", {GPU: 8}, 2)]
    assert hold(classes, [gang("g", 3, allowed=((0, 1),), gpu=8)]).outcome == HOLDS
    assert hold(classes, [gang("g", 3, allowed=((0,), (1,)), gpu=8)]).outcome == FAILS


def test_pod_slots_count_where_they_are_told():
    slots = Machines("n", {GPU: 8, PODS: 3}, 1)
    assert hold([slots], [gang("g", 3, gpu=1)]).outcome == HOLDS
    assert hold([slots], [gang("g", 4, gpu=1)]).outcome == FAILS


def test_nothing_asked_is_held_by_nothing():
    assert hold([], []).outcome == HOLDS
    assert hold([EIGHT], [gang("none", 3, 0, gpu=9)]).outcome == HOLDS
    assert hold([], [gang("g", 1, allowed=(), gpu=1)]).outcome == FAILS
    assert hold([EIGHT], [Demand("idle", (Part({}, 5),), 2, ONE)]).outcome == HOLDS


def test_what_takes_too_many_steps_is_not_known_and_says_so():
    draw, every = stream(1, "tight"), (tuple(range(6)),)
    classes = [Machines(f"n{n}", {GPU: 100, CPU: 100}, 1) for n in range(6)]
    sizes = [(10 + draw.below(40), 10 + draw.below(40)) for _ in range(19)]
    demands = [Demand(f"d{n}", (Part({GPU: a, CPU: b}, 1),), 1, every) for n, (a, b) in enumerate(sizes)]
    answer = hold(classes, demands, steps=200)
    assert answer.outcome == UNKNOWN
    assert 0 < answer.tried.steps <= 200
    assert answer.why == f"no placement was found in {answer.tried.steps} steps, and no bound rules one out"


def test_numbers_that_nobody_has_are_answered_at_once():
    huge = 1 << 60
    assert hold([EIGHT], [gang("g", huge, huge, gpu=1)]).outcome == FAILS
    many = [Machines("n", {GPU: huge}, huge, ("a",)), Machines("m", {GPU: huge}, huge, ("b",))]
    assert hold(many, [gang("g", huge, 5, ((0, 1),), 1, gpu=3)]).outcome == HOLDS
    apart = hold(many, [gang("g", 7, huge, ((0, 1),), 1, gpu=3)])
    assert (apart.outcome, apart.tried.steps) == (UNKNOWN, 0)  # one step a gang: more than there are


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="at least 0"):
        hold([EIGHT], [gang("g", -1, gpu=1)])
    with pytest.raises(ValueError, match="not there"):
        hold([EIGHT], [gang("g", 1, allowed=((1,),), gpu=1)])


def test_a_placement_that_was_changed_is_found_out():
    demands = [gang("g", 3, 2, ((0, 1),), 1, gpu=8)]
    classes = racks(3, 3)
    answer = hold(classes, demands)
    check(classes, demands, answer)
    first = answer.placed[0]
    for broken in (
        answer._replace(placed=answer.placed[1:]),
        answer._replace(placed=(first._replace(machines=first.machines + 1), *answer.placed[1:])),
        answer._replace(placed=(first._replace(where=1 - first.where), *answer.placed[1:])),
        answer._replace(placed=(*answer.placed, first)),
        answer._replace(order=("cpu",)),
    ):
        with pytest.raises(BrokenError):
            check(classes, demands, broken)


def test_ten_thousand_nodes_and_their_gangs_take_few_steps():
    classes = [Machines(f"r{n}", {GPU: 8, CPU: 184_000}, 20, (f"b{n // 25}", f"r{n}")) for n in range(500)]
    every = (tuple(range(500)),)
    draw = stream(1, "gangs")
    sizes = [1 << draw.below(6) for _ in range(160)]
    demands = [
        gang(f"d{n}", pods, 5, every, 1 if pods > 16 else 2, gpu=8, cpu=160_000)
        for n, pods in enumerate(sizes)
    ]
    answer = hold(classes, demands)
    assert (answer.outcome, answer.tried.orders) == (HOLDS, 1)
    assert answer.tried.steps <= 2 * 5 * len(sizes) < STEPS
    assert sum(p.machines for p in check(classes, demands, answer)) == 5 * sum(sizes)
