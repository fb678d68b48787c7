"""Scores, worked out by hand; and which node they choose."""

from __future__ import annotations

import pytest

from policycheck.model.placement import NodeTerm, PreferredTerm, Requirement, Taint
from policycheck.systems.core.scheduler.placer import NodePlacer
from policycheck.systems.core.scheduler.score import (
    LEAST,
    MOST,
    RATIO,
    Profile,
    Scorer,
    Weights,
    balanced_score,
    fit_score,
)

ONLY_FIT = Weights(fit=1, balanced=0, affinity=0, taints=0, spread=0, neighbours=0)


@pytest.mark.parametrize(
    ("strategy", "rows", "score"),
    [
        (LEAST, [(2000, 8000, 1), (8, 32, 1)], 75),
        (LEAST, [(2000, 8000, 1), (16, 32, 1)], 62),  # (75 + 50) // 2
        (LEAST, [(2000, 8000, 3), (16, 32, 1)], 68),  # (3 * 75 + 50) // 4
        (LEAST, [(9000, 8000, 1)], 0),
        (LEAST, [(1, 3, 1)], 66),
        (LEAST, [], 0),
        (MOST, [(2000, 8000, 1), (16, 32, 1)], 37),  # (25 + 50) // 2
        (MOST, [(9000, 8000, 1)], 100),
    ],
)
def test_what_is_free_or_used(strategy, rows, score):
    assert fit_score(Profile(strategy), rows) == score


def test_requested_to_capacity_goes_along_the_points():
    # Kubernetes' documentation, "Resource Bin Packing": 3 of 8 foo, 1 of 2 memory, 5 of 8 cpu, foo 5, cpu 3.
    packing = Profile(RATIO, points=((0, 0), (100, 10)))
    assert fit_score(packing, [(4, 8, 1)]) == 50
    rows = [(4, 4, 5), (512, 1024, 1), (3, 8, 3)]
    assert fit_score(packing, rows) == round((5 * 100 + 50 + 3 * 37) / 9)
    falling = Profile(RATIO, points=((20, 10), (80, 0)))
    assert [fit_score(falling, [(n, 100, 1)]) for n in (10, 50, 90)] == [100, 50, 0]
    assert fit_score(packing, [(9, 8, 1)]) == 100  # more than there is counts as all of it


def test_a_strategy_that_is_none_is_refused(placer, node):
    with pytest.raises(ValueError, match="'Tightest' is no scoring strategy; write one of LeastAllocated"):
        placer(node("a"), profile=Profile("Tightest"))


def test_balance():
    assert balanced_score([(2, 8), (16, 32)]) == 87  # shares 0.25 and 0.5: deviation 0.125
    assert balanced_score([(1, 1), (0, 1)]) == 50
    assert balanced_score([(3, 4)]) == 100
    assert balanced_score([(0, 1), (1, 2), (1, 1)]) == 59  # deviation 0.408


def test_balance_by_what_changes(node, devices):
    placed = NodePlacer([node("a", cpu=10, memory=10)], devices_of=devices)
    ground = placed.ground
    load = ground.load({"cpu": 5000, "memory": 0})
    old, new = (
        Scorer(ground, Profile(weights=ONLY_FIT._replace(fit=0, balanced=1), by_change=change))
        for change in (False, True)
    )
    assert old(ground.state[0], load) == 75  # shares 0.5 and 0
    assert new(ground.state[0], load) == 62  # 75 + 50 * (0 - 0.25)
    nothing = ground.load({"pods": 1})
    assert old(ground.state[0], nothing) == new(ground.state[0], nothing) == 0


def test_least_allocated_spreads_and_most_allocated_packs(placer, node, pods, where):
    nodes = [node("a"), node("b")]
    spread = placer(*nodes).place("team/job", [pods(2)], 0)
    assert where(spread) == {"a": 1, "b": 1}
    packed = placer(*nodes, profile=Profile(MOST, weights=ONLY_FIT)).place("team/job", [pods(2)], 0)
    assert sorted(where(packed).values()) == [2]


def test_accelerators_count_when_they_are_among_the_resources(placer, node, pods, where):
    profile = Profile(MOST, (("nvidia.com/gpu", 1),), weights=ONLY_FIT)
    one = placer(node("a", gpus=8), node("b", gpus=8), profile=profile)
    one.place("team/first", [pods(gpus=2)], 3)
    first = one.placed("team/first").sets[0].where[0][0]
    assert where(one.place("team/second", [pods(3, gpus=1)], 5)) == {first: 3}


def test_pods_without_requests_count_as_a_little(placer, node, pods, where):
    one = placer(node("a", cpu=2, memory=2), node("b", cpu=2, memory=2))
    assert where(one.place("team/job", [pods(4, cpu=0, memory=0)], 0)) == {"a": 2, "b": 2}


def test_preferred_affinity_beats_what_is_free(placer, node, pods, where):
    wanted = PreferredTerm(10, NodeTerm((Requirement("disk", "In", ("fast",)),)))
    nodes = [node("a", cpu=64, memory=256), node("b", labels={"disk": "fast"})]
    assert where(placer(*nodes).place("team/job", [pods(preferred=(wanted,))], 0)) == {"b": 1}
    careless = Profile(weights=Weights(affinity=0))
    assert where(placer(*nodes, profile=careless).place("team/job", [pods(preferred=(wanted,))], 0)) == {
        "a": 1
    }


def test_heavier_preferences_win(placer, node, pods, where):
    def term(weight, value):
        return PreferredTerm(weight, NodeTerm((Requirement("disk", "In", (value,)),)))

    nodes = [node("a", labels={"disk": "fast"}), node("b", labels={"disk": "slow"})]
    one = placer(*nodes).place("team/job", [pods(preferred=(term(1, "fast"), term(2, "slow")))], 0)
    assert where(one) == {"b": 1}


def test_soft_taints_are_avoided(placer, node, pods, where):
    soft = Taint("busy", "", "PreferNoSchedule")
    one = placer(node("a", cpu=64, memory=256, taints=[soft]), node("b"))
    assert where(one.place("team/job", [pods()], 0)) == {"b": 1}


def test_scores_of_a_node_follow_its_state(node, devices):
    ground = NodePlacer([node("a", cpu=8, memory=32)], devices_of=devices).ground
    scorer = Scorer(ground, Profile(weights=Weights(fit=1, balanced=1)))
    load = ground.load(
        {"cpu": 2000, "memory": 8 * 2**30}, beside={"cpu (score)": 2000, "memory (score)": 2**33}
    )
    assert scorer(ground.state[0], load) == 75 + 100
    ground.put(0, load)
    assert scorer(ground.state[0], load) == 50 + 100
