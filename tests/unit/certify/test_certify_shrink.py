"""Shrinking: what is left still breaks it, and nothing of it can go."""

from __future__ import annotations

from policycheck.certify.arena import FINISH, STOP, SUBMIT, Ask, Move, Scenario
from policycheck.certify.promise import Shape
from policycheck.certify.shrink import shrink
from policycheck.model.workload import PodSet

GPU = "nvidia.com/gpu"


def ask(name: str, queue: str, pods: int = 4, gpus: int = 8) -> Ask:
    return Ask(name, queue, Shape(name, (PodSet("main", pods, {GPU: gpus, "cpu": 64_000}),)))


def asked(scenario: Scenario, queue: str) -> int:
    return sum(
        a.shape.pod_sets[0].pods * a.shape.pod_sets[0].requests.get(GPU, 0)
        for a in scenario.asks
        if a.queue == queue
    )


MANY = Scenario(
    (
        Move(1, SUBMIT, tuple(ask(f"a{n}", "a") for n in range(12))),
        Move(2, STOP, names=("c",)),
        Move(7, SUBMIT, tuple(ask(f"b{n}", "b") for n in range(9))),
        Move(9, FINISH, names=("a3", "b2")),
    ),
    lost=("n1", "n2", "n3"),
)


def test_what_does_not_matter_goes():
    """It breaks when ``a`` asks for 5 or more and ``b`` for 3 or more, and node n2 is lost."""

    def breaks(scenario: Scenario) -> bool:
        return "n2" in scenario.lost and asked(scenario, "a") >= 5 and asked(scenario, "b") >= 3

    found = shrink(MANY, breaks, 1000)
    assert found.complete
    small = found.scenario
    assert breaks(small)
    assert (asked(small, "a"), asked(small, "b")) == (5, 3)
    assert [a.queue for a in small.asks] == ["a", "b"]
    assert small.lost == ("n2",)
    assert [m.what for m in small.moves] == [SUBMIT, SUBMIT]
    assert [m.cycle for m in small.moves] == [1, 1]
    assert all("cpu" not in a.shape.pod_sets[0].requests for a in small.asks)


def test_moves_that_matter_stay():
    def breaks(scenario: Scenario) -> bool:
        whats = [(m.what, m.names) for m in scenario.moves if m.what != SUBMIT]
        return ("stop", ("c",)) in whats and any("a3" in names for _, names in whats)

    small = shrink(MANY, breaks, 1000).scenario
    assert [a.name for a in small.asks] == ["a3"]
    assert {m.what for m in small.moves} == {SUBMIT, STOP, FINISH}


def test_an_end_of_what_never_came_is_no_move():
    small = shrink(MANY, lambda s: any(a.name == "b0" for a in s.asks), 1000).scenario
    assert [m.what for m in small.moves] == [SUBMIT]


def test_the_budget_bounds_it_and_the_best_so_far_is_kept():
    found = shrink(MANY, lambda s: len(s.asks) >= 2, 5)
    assert not found.complete
    assert found.played == 5
    assert 2 <= len(found.scenario.asks) < len(MANY.asks)


def test_nothing_is_played_twice_in_vain():
    seen: list[Scenario] = []

    def breaks(scenario: Scenario) -> bool:
        seen.append(scenario)
        return asked(scenario, "a") >= 8

    shrink(MANY, breaks, 1000)
    assert len(seen) == len({repr(s) for s in seen})


def test_gaps_of_cycles_close_with_all_that_comes_after():
    """What comes third has to come 4 cycles after the second, whenever that is."""
    moves = (
        Move(1, SUBMIT, (ask("x", "a"),)),
        Move(30, SUBMIT, (ask("y", "a"),)),
        Move(90, FINISH, names=("x",)),
    )

    def breaks(scenario: Scenario) -> bool:
        cycles = [move.cycle for move in scenario.moves]
        return len(cycles) == 3 and cycles[1] >= 3 and cycles[2] - cycles[1] >= 4

    found = shrink(Scenario(moves), breaks, 1000)
    assert [m.cycle for m in found.scenario.moves] == [1, 3, 7]
    assert found.played < 60


# -- several become one ---------------------------------------------------------------------------


def test_many_small_workloads_become_one():
    """It breaks while ``a`` holds 40 or more, which no single one of its workloads of 4 does."""
    many = Scenario((Move(1, SUBMIT, tuple(ask(f"a{n}", "a", 1, 4) for n in range(12))),))
    found = shrink(many, lambda s: asked(s, "a") >= 40, 1000)
    assert found.complete
    (one,) = found.scenario.asks
    assert asked(found.scenario, "a") == 40
    assert one.shape.pod_sets[0].requests == {GPU: 4}


def test_pods_of_different_sizes_become_pods_of_what_divides_them():
    mixed = Scenario((Move(1, SUBMIT, (ask("x", "a", 2, 6), ask("y", "a", 3, 4))),))
    (one,) = shrink(mixed, lambda s: asked(s, "a") == 24, 1000).scenario.asks
    assert (one.shape.pod_sets[0].pods, one.shape.pod_sets[0].requests[GPU]) == (12, 2)


def test_workloads_of_other_queues_and_priorities_stay_apart():
    def breaks(scenario: Scenario) -> bool:
        low = [a for a in scenario.asks if a.priority == 0]
        return asked(scenario, "b") >= 8 and len(low) < len(scenario.asks) and bool(low)

    asks = (ask("a0", "a"), ask("b0", "b", 1), ask("b1", "b", 1)._replace(priority=9), ask("b2", "b", 1))
    small = shrink(Scenario((Move(1, SUBMIT, asks),)), breaks, 1000).scenario
    assert len(small.asks) == 2
    assert {a.priority for a in small.asks} == {0, 9}


def test_those_that_are_apart_never_become_one_and_those_that_stay_only_as_they_are():
    asks = (ask("m1", "a", 1), ask("m2", "a", 1), ask("m3", "a", 1, 4))
    whole = Scenario((Move(1, SUBMIT, asks),))

    def names(**more: object) -> list[tuple[str, int]]:
        small = shrink(whole, lambda s: asked(s, "a") >= 20, 1000, **more).scenario
        return [(a.name, a.shape.pod_sets[0].pods) for a in small.asks]

    assert names(keeps=lambda _: True, apart=lambda _: True) == [("m1", 1), ("m2", 1), ("m3", 1)]
    assert names(keeps=lambda _: True) == [("m1", 2), ("m3", 1)]
    assert len(names()) == 1


ENDS = (
    Move(1, SUBMIT, (ask("x", "a", 1), ask("y", "a", 1))),
    Move(3, FINISH, names=("x",)),
    Move(5, FINISH, names=("y",)),
)


def test_what_ends_at_different_times_ends_with_the_last():
    def breaks(scenario: Scenario) -> bool:
        ended = {name for move in scenario.moves if move.what == FINISH for name in move.names}
        return asked(scenario, "a") >= 16 and ended == {a.name for a in scenario.asks}

    small = shrink(Scenario(ENDS), breaks, 1000).scenario
    (one,) = small.asks
    assert [(m.what, m.names) for m in small.moves] == [(SUBMIT, ()), (FINISH, (one.name,))]


def test_what_goes_on_does_not_become_one_with_what_ends():
    def breaks(scenario: Scenario) -> bool:
        return asked(scenario, "a") >= 16 and any(m.names == ("x",) for m in scenario.moves)

    assert [a.name for a in shrink(Scenario(ENDS[:2]), breaks, 1000).scenario.asks] == ["x", "y"]
