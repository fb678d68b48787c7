"""Waiting workloads: one that is written anew, copies of a queue, and reasons that are kept."""

import sys
from pathlib import Path

import pytest

from policycheck.systems.kueue.cases.world import read_world
from policycheck.systems.kueue.scheduler.compile import compile_session
from policycheck.systems.kueue.scheduler.moment import NANOS

sys.path[:0] = [str(Path(__file__).parents[2])]

from conformance.compact import expand  # noqa: E402 - tests are no package

NAMES = "abcdefgh"
DOC = {
    "name": "n",
    "area": "schedule",
    "configuration": {"cycles": 1},
    "queues": {"q1": "| f1 cpu=4"},
    "work": {name: f"q1 t={-20 + n} uid={name} ; main 1x cpu=4" for n, name in enumerate(NAMES)},
}


def opened():
    world = read_world(expand(DOC))
    session = compile_session(world.objects, world.namespaces, world.target, now=world.now)
    return session, world


def order(session, now):
    """Who is admitted, one cycle after the other, each finishing before the next."""
    found = []
    for number in range(len(NAMES)):
        for decision in session.cycle(now + number * NANOS):
            if decision.outcome == "reserved":
                found.append(decision.workload)
                session.release([decision.workload])
    return found


def test_a_workload_that_is_written_anew_keeps_its_place():
    session, world = opened()
    for name in ("b", "b", "a", "b"):
        session.offer([world.objects.workloads["ns", name]])
    assert order(session, world.now) == [f"ns/{name}" for name in NAMES]


@pytest.mark.parametrize("came", ["abcdefgh", "facgdebh", "aedcbhfg"])
@pytest.mark.parametrize("went", ["acd", "b", "bd"])
def test_a_copy_of_a_queue_from_which_some_are_gone_goes_on_in_order(came, went):
    session, world = opened()
    session.release([f"ns/{name}" for name in NAMES])
    session.offer([world.objects.workloads["ns", name] for name in came])
    session.release([f"ns/{name}" for name in went])
    left = [f"ns/{name}" for name in NAMES if name not in went]
    assert order(session.fork(), world.now) == left
    assert order(session.fork().fork(), world.now) == left
    assert order(session, world.now) == left


def test_the_tree_of_a_workload_is_known_after_it_is_gone():
    session, _ = opened()
    tree = session.queues["q1"].tree
    assert session.home_of("ns/a", session.items["ns/a"]) == tree
    session.release(["ns/a"])
    assert "ns/a" not in session.items
    assert session.home_of("ns/a", None) == tree
    assert session.home_of("ns/nobody", None) == -1
    assert session.fork().home_of("ns/a", None) == tree


def test_reasons_are_those_of_their_cycle_although_what_was_seen_is_kept():
    session, world = opened()
    first, second = session.cycle(world.now), session.cycle(world.now + NANOS)
    assert [d.outcome for d in first] == ["reserved"]
    assert second[0].reason == "WaitingForQuota"
    third = session.cycle(world.now + 2 * NANOS)
    before = second[0].explain()
    (tried,) = before.tried
    assert [(short.asked, short.limit) for short in tried.shortfalls] == [(4000, 0)]
    session.release(["ns/a"])
    (taken,) = session.cycle(world.now + 3 * NANOS)
    assert taken.outcome == "reserved"
    assert second[0].explain() == before
    assert all(d.explain() == before for d in third)
