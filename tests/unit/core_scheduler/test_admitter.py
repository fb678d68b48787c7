"""First come, first served driven by the event engine."""

from __future__ import annotations

import pytest

from policycheck.simulate.events import Admitter, World
from policycheck.simulate.job import Arrivals, Job, NodeChange
from policycheck.simulate.run import run
from policycheck.systems.core.scheduler.admitter import FirstComeAdmitter

GPU = "nvidia.com/gpu"


@pytest.fixture
def job(pods):
    def make(name, gpus, number=1, submit=0, duration=1000, priority=0, **more):
        return Job(f"t/{name}", "line", submit, duration, (pods(number, gpus=gpus).spec,), priority, **more)

    return make


@pytest.fixture
def simulate(placer):
    def make(nodes, jobs, changes=(), horizon=100_000, **options):
        one = placer(*nodes)
        admitter = FirstComeAdmitter(one, GPU, queues=("line",), **options)
        ordered = tuple(sorted(jobs, key=lambda j: (j.submit, j.id)))
        return run(World(admitter, one), Arrivals(ordered, tuple(changes)), horizon=horizon, happenings=True)

    return make


def lives(timeline):
    return {life.job.id.removeprefix("t/"): life for life in timeline.lives}


def test_it_is_an_admitter(placer, node):
    def takes(one: Admitter) -> Admitter:
        return one

    one = takes(FirstComeAdmitter(placer(node("a", gpus=1)), GPU, queues=("b", "a")))
    assert [q.name for q in one.queues()] == ["a", "b"]


def test_jobs_start_as_soon_as_a_pod_finds_a_node(simulate, node, job):
    found = lives(
        simulate([node("a", gpus=4)], [job("x", 4), job("y", 4, submit=10), job("z", 2, submit=20)])
    )
    assert found["x"].finished == 1000
    assert found["y"].stays[0].admitted >= 1000
    assert {life.state for life in found.values()} == {"finished"}
    assert len(found["z"].stays) == 1


def test_a_gang_in_part_burns_what_it_holds(simulate, node, job):
    timeline = simulate([node("a", gpus=4)], [job("x", 2, duration=5000), job("gang", 1, 4, submit=1)])
    found = lives(timeline)
    gang = found["gang"].stays[0]
    assert gang.admitted < 10
    assert gang.ready >= 5000
    assert timeline.gangs["partial"] == 1
    assert found["gang"].finished >= 6000


def test_two_gangs_in_part_wait_for_each_other_for_ever(simulate, node, job):
    # Between them they hold every GPU, and neither goes on: what gang admission is for.
    jobs = [job("first", 1, duration=50), job("one", 2, 2, submit=1), job("two", 1, 3, submit=2)]
    timeline = simulate([node("a", gpus=2), node("b", gpus=2)], jobs, horizon=10_000)
    found = lives(timeline)
    for name in ("one", "two"):
        (stay,) = found[name].stays
        assert (found[name].state, stay.ready, stay.unplaced) == ("running", -1, 1)
    assert timeline.supply[-1].free == 0


def test_who_waits_says_why(simulate, node, job):
    found = lives(simulate([node("a", gpus=4)], [job("huge", 8)], horizon=500))
    life = found["huge"]
    assert (life.state, life.stays, life.reason) == ("pending", (), "Unschedulable")
    assert life.why == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu"


def test_preemption_stops_the_job_that_loses_a_pod(simulate, node, job):
    jobs = [job("low", 1, 4, duration=5000), job("high", 4, submit=1000, priority=9, duration=500)]
    found = lives(simulate([node("a", gpus=4)], jobs, preempting=True))
    stays = found["low"].stays
    assert len(stays) == 2
    assert (stays[0].ended_by, stays[0].cause, stays[0].by) == (
        "PreemptionByScheduler",
        "PreemptionByScheduler",
        "t/high",
    )
    assert 1000 <= stays[0].ended <= 1010
    assert found["high"].finished < 1600
    assert found["low"].state == "finished"
    peaceful = lives(simulate([node("a", gpus=4)], jobs))
    assert len(peaceful["low"].stays) == 1
    assert peaceful["high"].finished > 5000


def test_room_goes_to_who_preempted_for_it(simulate, node, job):
    jobs = [
        job("low", 4, duration=9000),
        job("low2", 4, submit=1, duration=9000),
        job("high", 4, submit=100, priority=9, duration=500),
    ]
    found = lives(simulate([node("a", gpus=4)], jobs, preempting=True))
    assert found["high"].finished < 700
    assert len(found["high"].stays) == 1


def test_and_not_to_a_gang_that_waits_for_the_rest_of_its_pods(simulate, node, job):
    jobs = [
        job("low", 3, duration=9000),
        job("gang", 1, 2, submit=1, duration=9000),
        job("high", 3, submit=100, priority=9, duration=500),
    ]
    found = lives(simulate([node("a", gpus=4)], jobs, preempting=True))
    assert found["low"].stays[0].by == "t/high"
    assert found["high"].finished < 700
    assert found["gang"].stays[0].ready > found["high"].finished - 1


def test_a_lost_node(simulate, node, job):
    changes = [NodeChange(500, "a", False), NodeChange(900, "b", True)]
    nodes = [node("a", gpus=4), node("b", gpus=4)]
    found = lives(simulate(nodes, [job("x", 4, 2, duration=2000)], changes, horizon=1_000_000))
    (stay,) = found["x"].stays
    assert (stay.ready, stay.lost, stay.restarts) == (0, 500, 1)
    waits = found["x"].why
    assert found["x"].state == "running"
    assert "1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }" in waits


def test_the_same_input_gives_the_same_timeline(simulate, node, job):
    nodes = [node(f"n{i}", gpus=4) for i in range(4)]
    jobs = [job(f"j{i}", 1 + i % 4, 1 + i % 3, submit=37 * i, duration=400 + 90 * i) for i in range(30)]
    assert simulate(nodes, jobs, preempting=True) == simulate(nodes, jobs, preempting=True)
