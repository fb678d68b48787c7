"""Pod preemption: one node, lower priorities only, as few as it takes."""

from __future__ import annotations

import pytest

from policycheck.model.placement import PodAffinity, PodTerm, Requirement, Selector, Taint
from policycheck.simulate.draw import stream
from policycheck.systems.core.scheduler.preempt import Preemptor, evict, preempt

HOST = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"


def shape_of(placer, one, namespace="t"):
    return placer.shapes.of(one.spec, namespace, one.models, one.milli)


def priority_of(job, spec):
    """The number behind the dash: t/job-5 has 5."""
    return int(job.rpartition("-")[2])


def on(name):
    return {"node_selector": {HOST: name}}


def test_as_few_as_it_takes_and_the_more_important_stay(placer, node, pods):
    one = placer(node("a", gpus=8))
    for job, gpus in (("t/x-1", 2), ("t/y-3", 2), ("t/z-2", 2), ("t/w-1", 2)):
        one.place(job, [pods(gpus=gpus)], 0)
    found = preempt(one, shape_of(one, pods(gpus=4)), 5, priority_of)
    assert found.node == "a"
    assert found.jobs == ("t/w-1", "t/x-1")
    # Of equal ones the one that runs longer stays.
    assert preempt(one, shape_of(one, pods(gpus=2)), 5, priority_of).jobs == ("t/w-1",)
    assert preempt(one, shape_of(one, pods(gpus=8)), 5, priority_of).jobs == (
        "t/w-1",
        "t/x-1",
        "t/y-3",
        "t/z-2",
    )


def test_equal_and_higher_priorities_are_never_taken_from(placer, node, pods):
    one = placer(node("a", gpus=4), node("b", gpus=4))
    one.place("t/x-5", [pods(gpus=4, **on("a"))], 0)
    one.place("t/y-7", [pods(gpus=4, **on("b"))], 0)
    assert preempt(one, shape_of(one, pods(gpus=1)), 5, priority_of) is None
    assert preempt(one, shape_of(one, pods(gpus=1)), 6, priority_of).jobs == ("t/x-5",)


@pytest.mark.parametrize(
    ("on_a", "on_b", "expected"),
    [
        ([("p-4", 4)], [("q-3", 4)], "b"),  # the least important of the most important
        ([("p-4", 4)], [("q-3", 2), ("r-3", 2)], "b"),  # however many these are
        ([("p-3", 2), ("q-3", 2)], [("r-3", 2), ("s-1", 2)], "b"),  # then the least sum
        ([("p-3", 2), ("q-3", 2)], [("r-3", 4)], "b"),  # then the fewest (a sum of fewer is less)
        ([("p-3", 4)], [("q-3", 4)], "b"),  # then the one that started last
    ],
)
def test_which_node(placer, node, pods, on_a, on_b, expected):
    one = placer(node("a", gpus=4), node("b", gpus=4))
    for name, jobs in (("a", on_a), ("b", on_b)):
        for job, gpus in jobs:
            one.place(f"t/{job}", [pods(gpus=gpus, **on(name))], 0)
    assert preempt(one, shape_of(one, pods(gpus=4)), 9, priority_of).node == expected


def test_nodes_that_no_eviction_opens_are_no_candidates(placer, node, pods):
    nodes = [node("a", gpus=2, taints=[Taint("k", "v", "NoSchedule")]), node("b", gpus=2), node("c", gpus=1)]
    one = placer(*nodes)
    from policycheck.model.placement import Toleration

    one.place("t/x-1", [pods(gpus=2, tolerations=(Toleration("k", "Exists"),), **on("a"))], 0)
    one.place("t/y-2", [pods(gpus=2, **on("b"))], 0)
    one.place("t/z-1", [pods(gpus=1, **on("c"))], 0)
    assert preempt(one, shape_of(one, pods(gpus=2)), 5, priority_of).node == "b"
    one.down("b")
    assert preempt(one, shape_of(one, pods(gpus=2)), 5, priority_of) is None


def test_those_spared_stay(placer, node, pods):
    one = placer(node("a", gpus=2))
    one.place("t/x-1", [pods(gpus=2)], 0)
    assert preempt(one, shape_of(one, pods(gpus=1)), 5, priority_of, frozenset({"t/x-1"})) is None


def test_anti_affinity_of_a_lower_pod_can_be_preempted_away(placer, node, pods):
    one = placer(node("a"))
    shy = PodAffinity(away=(PodTerm(HOST, Selector((Requirement("app", "In", ("loud",)),))),))
    one.place("t/shy-1", [pods(neighbours=shy)], 0)
    one.place("t/plain-1", [pods()], 0)
    loud = pods(labels={"app": "loud"})
    assert one.choose.candidates(shape_of(one, loud)) == ()
    before = {k: dict(v) for k, v in one.crowd.kinds.items()}
    found = preempt(one, shape_of(one, loud), 5, priority_of)
    assert found.jobs == ("t/shy-1",)
    assert {k: dict(v) for k, v in one.crowd.kinds.items()} == before


def test_nothing_changes_until_the_victims_go(placer, node, pods):
    one = placer(node("a", gpus=4))
    one.place("t/gang-1", [pods(4, gpus=1)], 0)
    row, steps = one.ground.row(0), len(one.ground.log)
    found = preempt(one, shape_of(one, pods(gpus=2)), 5, priority_of)
    assert (one.ground.row(0), len(one.ground.log)) == (row, steps)
    assert len(found.victims) == 2
    evict(one, found.victims)
    assert one.unused(GPU) == 2
    assert one.held["t/gang-1"].waiting == 2
    evict(one, found.victims)  # they are gone already
    assert one.unused(GPU) == 2
    one.free("t/gang-1")
    evict(one, found.victims)
    assert one.unused(GPU) == 4


def test_nodes_are_looked_at_again_only_when_they_changed(placer, node, pods, monkeypatch):
    from policycheck.systems.core.scheduler import preempt as module

    one = placer(*(node(f"n{i}", gpus=2) for i in range(6)))
    for n in range(6):
        one.place(f"t/x{n}-{n % 3}", [pods(2, gpus=1, **on(f"n{n}"))], 0)
    looked = []
    plain = module._lower
    monkeypatch.setattr(module, "_lower", lambda *a: looked.append(a[1]) or plain(*a))
    asked = Preemptor(one, priority_of)
    shape = shape_of(one, pods(gpus=2))
    first = asked.find(shape, 2)
    assert looked == list(range(6))
    assert asked.find(shape, 2) == first
    assert len(looked) == 6
    evict(one, first.victims)
    one.place("t/y-9", [pods(gpus=2, **on(first.node))], 0)
    second = asked.find(shape, 2)
    assert len(looked) == 7
    assert second == preempt(one, shape, 2, priority_of)
    assert second.node != first.node
    one.down(second.node)
    assert asked.find(shape, 2) == preempt(one, shape, 2, priority_of)


def test_the_kept_answers_equal_those_worked_out_anew(placer, node, pods, monkeypatch):
    monkeypatch.setattr("policycheck.simulate.placement._MOST_STATES", 30)
    one = placer(*(node(f"n{i}", gpus=4) for i in range(5)))
    asked = Preemptor(one, priority_of)
    draw = stream(5, "preempt")
    kinds = [pods(gpus=1), pods(2, gpus=2), pods(gpus=3), pods(gpus=1, milli=400)]
    found = 0
    for n in range(120):
        if n % 5 == 4 and one.held:
            one.free(sorted(one.held)[draw.below(len(one.held))])
        one.place(f"t/{n}-{draw.below(4)}", [kinds[draw.below(4)]], n)
        shape, priority = shape_of(one, kinds[draw.below(4)]), draw.below(5)
        kept = asked.find(shape, priority)
        assert kept == preempt(one, shape, priority, priority_of)
        found += kept is not None
        if kept is not None and n % 3 == 0:
            evict(one, kept.victims)
    assert found > 20
    assert one.ground.epoch > 0
