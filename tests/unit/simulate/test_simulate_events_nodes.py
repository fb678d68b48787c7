"""The event engine on nodes: gangs in part, rooms that open, nodes that fail and come, pools that grow."""

import sys
from pathlib import Path

import pytest

from policycheck.simulate.events import Delays
from policycheck.simulate.job import NodeChange
from policycheck.simulate.timeline import FINISHED, PENDING, REFUSED
from policycheck.systems.kueue.model import Configuration, ResourceFlavor, WaitForPodsReady

sys.path.insert(0, str(Path(__file__).parent))

from engine_world import job, life, node, play, queue

SHORT = WaitForPodsReady(timeout=60, recovery_timeout=30, backoff_base=10, backoff_max=25, backoff_limit=1)
WAITING = Configuration(wait_for_pods_ready=SHORT, found=True)
HOST, RACK = "kubernetes.io/hostname", "rack"


def test_quota_is_no_place_to_run():
    jobs = [job("x", "a", 0, 10_000, 6), job("y", "a", 1_000, 2_000, 4)]
    made = play([queue("a", 16)], jobs, nodes=[node("n1", 8)])
    (stay,) = life(made, "y").stays
    assert (stay.reserved, stay.admitted, stay.ready, stay.ended) == (1_000, 1_000, 10_000, 12_000)
    assert stay.nodes == (("n1", 1),)
    assert stay.unplaced == 0


def test_with_placing_off_quota_alone_decides():
    jobs = [job("x", "a", 0, 10_000, 6), job("y", "a", 1_000, 2_000, 4)]
    made = play([queue("a", 16)], jobs, nodes=[node("n1", 8)], placing=False)
    assert life(made, "y").stays[0].ready == 1_000
    assert any("as asked" in note for note in made.notes)


def test_a_gang_that_starts_in_part_holds_its_nodes_and_waits_for_the_rest():
    jobs = [job("x", "a", 0, 10_000, 8), job("gang", "a", 1_000, 5_000, 8, pods=2)]
    made = play([queue("a", 64)], jobs, nodes=[node("n1"), node("n2")], horizon=5_000)
    (stay,) = life(made, "gang").stays
    assert (stay.ready, stay.unplaced, len(stay.nodes)) == (-1, 1, 1)
    assert "Insufficient nvidia.com/gpu" in life(made, "gang").why
    assert made.gangs == {"partial": 1, "unplaced": 1}
    later = play([queue("a", 64)], jobs, nodes=[node("n1"), node("n2")])
    assert life(later, "gang").stays[0].ready == 10_000
    assert sorted(life(later, "gang").stays[0].nodes) == [("n1", 1), ("n2", 1)]


def test_two_gangs_that_hold_half_each_are_parted_by_the_timeout():
    """The classic deadlock: each has three of four nodes' worth, nobody can go on."""
    jobs = [job("one", "a", 0, 5_000, 8, pods=3), job("two", "a", 0, 5_000, 8, pods=3)]
    nodes = [node(f"n{n}") for n in range(4)]
    made = play([queue("a", 64)], jobs, nodes=nodes, configuration=WAITING)
    assert life(made, "one").stays[0].ready == 0
    assert life(made, "two").stays[0].ready == 5_000
    stuck = play(
        [queue("a", 64)],
        [*jobs, job("x", "a", 0, 10**9, 8, pods=2)],
        nodes=nodes,
        configuration=WAITING,
        horizon=10**6,
    )
    assert {s.ended_by for s in life(stuck, "two").stays} <= {"PodsReadyTimeout", "Finished", "Deactivated"}


def test_a_gang_without_room_times_out_and_gives_its_nodes_back():
    jobs = [job("gang", "a", 0, 5_000, 8, pods=3), job("x", "a", 1_000, 1_000, 8)]
    made = play([queue("a", 64)], jobs, nodes=[node("n1"), node("n2")], configuration=WAITING)
    first, second = life(made, "gang").stays
    assert (first.ended_by, first.ended, first.unplaced) == ("PodsReadyTimeout", 60_001, 1)
    assert second.reserved == 60_000 + 10_000
    assert life(made, "gang").state == REFUSED
    assert life(made, "x").stays[0].ready == 60_001


def test_flavors_send_pods_to_their_own_nodes():
    flavor = ResourceFlavor("f", {"pool": "h100"})
    nodes = [node("n1", 8, pool="a100"), node("n2", 8, pool="h100")]
    made = play(
        [queue("a", 64)], [job("x", "a"), job("y", "a", gpus=8)], nodes=nodes, flavor=flavor, horizon=9_000
    )
    assert life(made, "x").stays[0].nodes == (("n2", 1),)
    assert life(made, "y").stays[0].unplaced == 1


def test_a_lost_node_interrupts_and_pods_are_made_anew_in_time():
    nodes = [node("n1"), node("n2")]
    delays = Delays(unreachable=20_000)
    changes = [NodeChange(4_000, "n1", False), NodeChange(4_000, "n2", False), NodeChange(60_000, "n2", True)]
    made = play([queue("a", 64)], [job("x", "a", 0, 10_000, 8)], nodes=nodes, changes=changes, delays=delays)
    (stay,) = life(made, "x").stays
    assert (stay.lost, stay.restarts, stay.nodes) == (4_000, 1, (("n2", 1),))
    assert (stay.ready, stay.idle, stay.ended) == (0, 56_000, 70_000)
    assert stay.ended - stay.ready - stay.idle == 10_000 + stay.lost


def test_a_node_that_comes_back_soon_keeps_its_pods():
    changes = [NodeChange(4_000, "n1", False), NodeChange(9_000, "n1", True)]
    made = play([queue("a", 64)], [job("x", "a", 0, 10_000, 8)], nodes=[node("n1")], changes=changes)
    (stay,) = life(made, "x").stays
    assert (stay.lost, stay.idle, stay.ended) == (4_000, 5_000, 19_000)
    assert [(s.at, s.total) for s in made.supply if s.at in (0, 4_000, 9_000)] == [
        (0, 8),
        (4_000, 0),
        (9_000, 8),
    ]


def test_what_a_lost_node_interrupts_for_too_long_is_evicted():
    changes = [NodeChange(4_000, "n1", False), NodeChange(100_000, "n1", True)]
    made = play(
        [queue("a", 64)],
        [job("x", "a", 0, 10_000, 8)],
        nodes=[node("n1")],
        changes=changes,
        configuration=Configuration(wait_for_pods_ready=SHORT._replace(backoff_limit=None), found=True),
    )
    first = life(made, "x").stays[0]
    assert (first.ended_by, first.ended, first.restarts) == ("PodsReadyTimeout", 34_001, 1)
    assert life(made, "x").state == FINISHED


def test_a_pool_grows_for_pods_that_wait_up_to_its_most_and_shrinks_when_idle():
    pool = node("pool", 8)._replace(machines=1, most=3)
    jobs = [job(f"x{n}", "a", 0, 1_000_000, 8) for n in range(4)]
    made = play([queue("a", 64)], jobs, nodes=[pool], happenings=True)
    starts = sorted(one.stays[0].ready for one in made.lives)
    assert starts == [0, 120_001, 120_002, 1_000_000]
    ups = [h for h in made.happenings if h.what == "node-up"]
    assert [h.who for h in ups] == ["pool-2", "pool-3"]
    assert [h.detail for h in made.happenings if h.what == "node-down"] == ["idle", "idle"]
    assert max(s.total for s in made.supply) == 24
    assert made.supply[-1].total == 8


def test_a_pool_does_not_grow_for_pods_that_none_of_its_nodes_would_hold():
    pool = node("pool", 8)._replace(machines=1, most=3)
    made = play([queue("a", 64)], [job("x", "a", 0, 1_000, 16)], nodes=[pool], horizon=10**6)
    assert life(made, "x").stays[0].unplaced == 1
    assert {s.total for s in made.supply} == {8}


@pytest.fixture
def racks():
    return [node(f"n{r}{n}", 8, rack=f"r{r}") for r in range(2) for n in range(2)]


def test_kueues_own_placement_is_written_down_with_its_spread(racks):
    jobs = [job("x", "a", 0, 10_000, 8, pods=2, level=RACK), job("y", "a", 1, 1_000, 8, pods=2, level=RACK)]
    made = play([queue("a", 64)], jobs, nodes=racks, topology=(RACK, HOST))
    assert life(made, "x").stays[0].nodes == (("n00", 1), ("n01", 1))
    assert life(made, "x").stays[0].domains == ((RACK, 1, 1),)
    assert life(made, "y").stays[0].nodes == (("n10", 1), ("n11", 1))
    assert made.supply[0].total == 32


def test_a_gang_over_two_racks_knows_that_one_was_not_to_be_had(racks):
    jobs = [job(f"x{n}", "a", n, 10_000, 8, level=HOST) for n in range(2)]
    wide = job("wide", "a", 5, 1_000, 8, pods=2, level="")
    made = play([queue("a", 64)], [*jobs, wide], nodes=racks[:3], topology=(RACK, HOST), horizon=9_000)
    assert life(made, "wide").state == PENDING
    three = job("three", "a", 5, 1_000, 8, pods=3)
    made = play([queue("a", 64)], [jobs[0], three], nodes=racks, topology=(RACK, HOST))
    assert life(made, "three").stays[0].domains == ((RACK, 2, 2),)


def test_a_lost_node_under_a_topology_is_replaced_after_the_pods_are_given_up(racks):
    changes = [NodeChange(4_000, "n00", False)]
    jobs = [job("x", "a", 0, 10_000, 8, pods=2)]
    made = play([queue("a", 64)], jobs, nodes=racks, topology=(RACK, HOST), changes=changes)
    (stay,) = life(made, "x").stays
    assert dict(stay.nodes).keys() & {"n00"} == set()
    assert (stay.lost, stay.restarts) == (4_000, 1)
    assert stay.idle == 300_000
    assert stay.ended - stay.ready - stay.idle == 14_000


def test_pods_of_a_topology_above_the_hostname_go_to_a_node_of_their_domain(racks):
    jobs = [job("x", "a", 0, 10_000, 8, pods=2, level=RACK), job("y", "a", 1, 1_000, 8, pods=1, level=RACK)]
    made = play([queue("a", 64)], jobs, nodes=racks, topology=(RACK,))
    assert life(made, "x").stays[0].nodes == (("n00", 1), ("n01", 1))
    assert life(made, "y").stays[0].nodes[0][0].startswith("n1")


def test_how_broken_up_free_nodes_are_is_measured_against_the_jobs(racks):
    jobs = [
        job("x", "a", 0, 10_000, 5),
        job("y", "a", 10, 1_000, 8, pods=2),
        job("z", "a", 100_000, 10, 8, pods=3),
    ]
    made = play([queue("a", 64)], jobs, nodes=racks, delays=Delays(sample=1))
    assert (made.supply[0].total, made.supply[0].free) == (32, 27)
    assert made.supply[0].largest == 24
    assert all(s.allowed >= s.largest for s in made.supply)


def test_a_gang_that_is_being_evicted_takes_no_more_nodes():
    jobs = [
        job("x", "a", 0, 4_000, 8),
        job("low", "b", 1_000, 5_000, 8, pods=1),
        job("high", "b", 3_990, 1_000, 16, priority=5),
    ]
    queues = [queue("a", 8), queue("b", 16, within="LowerPriority")]
    made = play(queues, jobs, nodes=[node("n1")], delays=Delays(grace=500), horizon=9_000)
    (stay,) = life(made, "low").stays
    assert (stay.ended_by, stay.ready, stay.lost, stay.ended) == ("Preempted", -1, 0, 4_490)
