"""Alike pods are put onto alike nodes at once, and come to what placing them one by one comes to."""

from __future__ import annotations

import pytest

from policycheck.model.inventory import Node
from policycheck.model.placement import Taint, Toleration
from policycheck.model.workload import PodSet
from policycheck.simulate.draw import stream
from policycheck.simulate.placer import Set
from policycheck.systems.core.scheduler.placer import NodePlacer
from policycheck.systems.kueue.arena.alike import Alike, is_plain

GPU = "nvidia.com/gpu"
KINDS = {
    "a": {GPU: 8, "cpu": 96_000, "memory": 1 << 40, "pods": 110},
    "b": {GPU: 4, "cpu": 32_000, "memory": 1 << 38, "pods": 110},
    "c": {GPU: 8, "cpu": 64_000, "memory": 1 << 39, "pods": 8},
}


def nodes(each: int, **more: object) -> list[Node]:
    return [
        Node(f"{kind}{n}", {"kind": kind, "kubernetes.io/hostname": f"{kind}{n}"}, allocatable=have, **more)
        for n in range(each)
        for kind, have in KINDS.items()
    ]


def pods(gpus: int, cpu: int, memory: int, **more: object) -> PodSet:
    return PodSet("main", 1, {GPU: gpus, "cpu": cpu, "memory": memory << 30}, **more)


def both(
    where: list[Node], jobs: list[tuple[str, PodSet, int]]
) -> tuple[dict[str, str], dict[str, str], Alike]:
    one_by_one = NodePlacer(where)
    slow = {}
    for name, spec, many in jobs:
        (one,) = one_by_one.place(name, [Set(spec, many)], 0).sets
        if one.waiting:
            slow[name] = f"{one.waiting} of {many} pods wait: {one.why}"
    alike = Alike(NodePlacer(where))
    shaped = [(name, [(alike.shape(spec, name), many)]) for name, spec, many in jobs]
    assert all(is_plain(shape) for _, batches in shaped for shape, _ in batches)
    fast = {name: words() for name, words in alike.refused(shaped).items()}
    return slow, fast, alike


@pytest.mark.parametrize("seed", range(25))
def test_who_waits_is_who_waits_when_pods_are_placed_one_by_one(seed):
    draw = stream(seed, "alike")
    where = nodes(6)
    jobs = []
    for n in range(10):
        kind = ("a", "b", "c")[draw.below(3)]
        spec = pods(
            1 << draw.below(4), 1000 * (1 + draw.below(16)), 1 + draw.below(120), node_selector={"kind": kind}
        )
        jobs.append((f"job{n}", spec, 1 + draw.below(30)))
    slow, fast, _ = both(where, jobs)
    # With selectors no two kinds score alike, so that chance has no say, and even the words are the same.
    assert fast == slow
    assert fast


def test_some_wait_and_some_do_not():
    slow, fast, _ = both(nodes(2), [("fits", pods(1, 1000, 1), 10), ("waits", pods(8, 1000, 1), 5)])
    assert set(fast) == set(slow) == {"waits"}


def test_thousands_of_pods_take_a_few_steps():
    where = nodes(400)
    jobs = [("small", pods(1, 4000, 8), 6000), ("large", pods(4, 8000, 64), 300), ("last", pods(8, 1, 1), 1)]
    _, fast, alike = both(where, jobs)
    assert "last" in fast
    assert alike.steps < 100


def test_nodes_that_pods_may_not_go_to_say_so():
    where = [
        *nodes(2, taints=(Taint("gpu", "", "NoSchedule"),)),
        *[one._replace(name=f"off-{one.name}", ready=False) for one in nodes(1)],
        *[one._replace(name=f"cordoned-{one.name}", unschedulable=True) for one in nodes(1)],
    ]
    tolerates = pods(8, 1000, 1, tolerations=(Toleration("gpu", "Exists"),))
    slow, fast, _ = both(where, [("kept out", pods(8, 1000, 1), 2), ("let in", tolerates, 9)])
    assert fast == slow
    assert fast["kept out"].startswith("2 of 2 pods wait: 0/12 nodes are available: ")
    assert fast["let in"].startswith("5 of 9 pods wait")


def test_a_story_ends_alike_whatever_was_asked_before():
    where = nodes(6)
    jobs = [("one", pods(2, 2000, 8), 30), ("two", pods(4, 4000, 40), 20), ("three", pods(8, 1000, 1), 4)]
    alike = Alike(NodePlacer(where))

    def ask(some: list[tuple[str, PodSet, int]]) -> dict[str, str]:
        shaped = [(name, [(alike.shape(spec, name), many)]) for name, spec, many in some]
        return {name: words() for name, words in alike.refused(shaped).items()}

    ask([("other", pods(1, 3000, 2, node_selector={"kind": "b"}), 12), ("more", pods(3, 500, 9), 40)])
    late = ask(jobs)
    assert late == ask(jobs) == both(where, jobs)[1]


def test_those_that_look_at_others_or_prefer_nodes_are_not_plain():
    from policycheck.model.placement import NodeTerm, PreferredTerm, Requirement

    wish = PreferredTerm(1, NodeTerm((Requirement("kind", "In", ("a",)),)))
    alike = Alike(NodePlacer(nodes(2)))
    assert is_plain(alike.shape(pods(1, 1, 1), "plain"))
    assert not is_plain(alike.shape(pods(1, 1, 1, preferred=(wish,)), "wishes"))
