"""What stories have in common is played once, and they end as if each had been played from the start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, GPU, TOPOLOGY, arena, ask, classes, nodes, queue

from policycheck.certify.arena import FINISH, RESUME, STOP, SUBMIT, Move, Scenario
from policycheck.certify.attack import attack, drawn, plain, rivals, with_restart
from policycheck.simulate.draw import stream

TEAMS = "".join(queue(name, nominal) for name, nominal in (("a", 8), ("b", 16), ("c", 4)))
BASE = TEAMS + classes(high=1000, low=10) + nodes(4)


def scenarios(stage, many: int) -> list[Scenario]:
    """Families of attacks with the same beginning, in a drawn order."""
    who = rivals(stage, ["a"], {})
    found = []
    for number in range(many):
        mine = [ask(f"mine-{n}", "a", 1 + n, age=n) for n in range(2)]
        one = drawn(stage, who, mine, 7, "theatre", number)
        *before, last = one.moves
        found += [one, one._replace(moves=(*before, last._replace(asks=last.asks[:1])))]
        found.append(one._replace(moves=tuple(before), cycles=one.cycles - 1))
        if before:
            gone = tuple(a.name for a in before[0].asks[:2])
            found.append(one._replace(moves=(*before, Move(last.cycle, FINISH, names=gone), last)))
            found.append(with_restart(attack(list(before[0].asks), list(last.asks)), ["b"]))
    stream(3, "order").shuffle(found)
    return found


@pytest.mark.parametrize("flavor", [FLAVOR, TOPOLOGY])
def test_stories_end_as_they_do_when_each_is_played_from_the_start(flavor):
    shared = arena(flavor + BASE)
    for scenario in scenarios(shared, 6) * 2:
        fresh = arena(flavor + BASE)
        story, alone = shared.play(scenario), fresh.play(scenario)
        assert story._replace(unplaced={}) == alone._replace(unplaced={})
        assert dict(story.unplaced) == dict(alone.unplaced)


def cycles(stage, some: list[Scenario]) -> int:
    before = stage._theatre.cycles
    for one in some:
        stage.play(one)
    return stage._theatre.cycles - before


def test_of_stories_that_part_late_the_beginning_is_played_twice():
    fill = [ask(f"b-{n}", "b", 1, age=n) for n in range(12)]
    family = [attack(fill, [ask("mine-1", "a", gpus)]) for gpus in range(1, 9)]
    one = cycles(arena(FLAVOR + BASE), family[:1])
    ends = one - cycles(
        arena(FLAVOR + BASE), [Scenario(family[0].moves[:1], cycles=family[0].moves[1].cycle)]
    )
    # The first marks where others may part from it, the second leaves what it has there.
    assert cycles(arena(FLAVOR + BASE), family) <= 2 * one + 6 * (ends + 2)


def test_moves_out_of_order_are_played_as_they_are():
    moves = (Move(4, SUBMIT, (ask("late", "a", 8),)), Move(1, SUBMIT, (ask("first", "b", 16),)))
    story = arena(FLAVOR + BASE).play(Scenario(moves))
    assert [(h.cycle, h.name) for h in story.happened] == [(1, "first"), (4, "late")]


def test_queues_that_are_held_are_so_in_what_is_gone_on_with():
    stage = arena(FLAVOR + BASE)
    start = (Move(1, SUBMIT, (ask("b-1", "b", 16),)), Move(3, STOP, names=("b",)))
    ends = [Move(6, RESUME, names=("b",)), Move(6, SUBMIT, (ask("mine", "a", 8),))]
    held = [
        [story.holding.keys(), story.evictions("b-1")]
        for story in (stage.play(Scenario((*start, end))) for end in ends * 2)
    ]
    assert held[0] == [{"b-1"}, 1]
    assert held[1] == [{"mine"}, 1]
    assert held[2:] == held[:2]


def test_whether_a_shape_runs_alone_is_asked_once():
    stage = arena(FLAVOR + BASE)
    shape = plain(GPU, 2, {}, "two")
    assert [stage.fits("a", shape) for _ in range(3)] == [""] * 3
    assert stage.fits("a", plain(GPU, 64, {}, "many"))
    assert stage.plays == 2
