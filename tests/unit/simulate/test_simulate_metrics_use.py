"""Utilisation, guarantees, fragmentation, topology and fairness, each number worked out by hand."""

import pytest
from timeline_help import life, line, stay, step, supply, timeline

from policycheck.model.amount import UNLIMITED
from policycheck.simulate.breakup import fragmentation
from policycheck.simulate.metrics import measure
from policycheck.simulate.series import cluster_use, queue_use
from policycheck.simulate.timeline import PENDING

# Nominal 8. Until 100 it uses 4; until 200 it uses 12; until 300 nothing, though 8 wait and fit; then 8.
BUSY = line("a", step(0, 4), step(100, 12), step(200, 0, 8, 8), step(300, 8), nominal=8)


def test_one_queue_over_time():
    found = queue_use(BUSY, 400_000)
    # used: 4*100 + 12*100 + 0 + 8*100 = 2400 unit-seconds; of 8*400 = 3200
    assert (found.used, found.utilisation.value) == (2_400_000, 0.75)
    assert (found.borrowed, found.peak) == (400_000, 12)
    # It asks for its guarantee all 400 s (4, 8, 8, 8 = 2800 unit-seconds) and lacks 8 for 100 s.
    assert found.honoured.value == 0.75
    assert found.honoured_amount == (2_000_000, 2_800_000, "it never asked for any of its nominal quota")
    assert (found.reclaims.size, found.reclaims.most, found.reclaims.censored) == (1, 100_000, 0)
    # used while entitled to anything: all 2400; entitled 4, 8, 8, 8
    assert found.share.value == 2400 / 2800
    assert found.waiting.value == 0.25


def test_a_queue_that_never_asks_has_no_guarantee_to_honour():
    found = queue_use(line("a", step(0, 0)), 100_000)
    assert (found.honoured.value, found.honoured.why) == (
        None,
        "it never asked for any of its nominal quota",
    )
    assert found.utilisation.value == 0.0  # of quota that is there: idle is a fact, not a lack of one
    assert found.reclaims.why == "nothing that fits into its nominal quota ever waited"


def test_a_queue_without_quota_of_its_own_only_borrows():
    found = queue_use(line("a", step(0, 5, 10), nominal=0), 10_000)
    assert (found.utilisation.value, found.utilisation.why) == (None, "it has no nominal quota")
    assert (found.borrowed, found.honoured.value, found.share.value) == (50_000, None, None)


def test_unlimited_quota_has_no_utilisation():
    found = queue_use(line("a", step(0, 5), nominal=UNLIMITED), 10_000)
    assert (found.utilisation.value, found.utilisation.why) == (None, "its nominal quota has no limit")
    assert found.honoured.value == 1.0


def test_a_reclaim_that_does_not_end_is_a_bound():
    found = queue_use(
        line("a", step(0, 0), step(10, 0, 4, 4), step(15, 4), step(20, 4, 4, 4)), 100_000
    ).reclaims
    assert (found.size, found.censored, found.p50, found.most) == (2, 1, 5_000, 80_000)
    assert found.bounds == ("p90", "p99", "max")


def test_more_demand_in_the_same_shortage_is_one_shortage():
    found = queue_use(line("a", step(0, 0, 2, 2), step(5, 0, 4, 4), step(9, 4)), 10_000).reclaims
    assert (found.size, found.most) == (1, 9_000)


def test_the_cluster_by_its_nodes():
    # 16 units; free 8 until 50, 0 until 80, then a node is lost: 8 in all, 2 free, while 8 wait.
    found = cluster_use(
        timeline(
            100,
            queues=[line("a", step(0, 8), step(50, 16), step(80, 6, 8))],
            supplies=[supply(0, 16, 8), supply(50, 16, 0), supply(80, 8, 2)],
        )
    )
    # allocated 8*50 + 16*30 + 6*20 = 1000 of 16*80 + 8*20 = 1440
    assert (found.basis, found.capacity) == ("nodes", 16)
    assert found.allocated.value == 1000 / 1440
    # 8 wait and 2 are free: saturated the last 20 s, with 6 of 8 allocated
    assert (found.saturated.value, found.at_saturation.value, found.waiting.value) == (0.2, 0.75, 0.2)


def test_what_waits_beside_enough_free_nodes_is_no_saturation():
    # 8 wait for some other reason while 12 are free: it waits, and demand is below capacity.
    found = cluster_use(timeline(10, queues=[line("a", step(0, 4, 8))], supplies=[supply(0, 16, 12)]))
    assert (found.waiting.value, found.saturated.value) == (1.0, 0.0)
    assert found.at_saturation.why == "demand never reached what was free"


def test_demand_beyond_the_limit_of_a_queue_does_not_saturate():
    # 100 wait, the queue may use 10 and uses 8: 2 are wanted, 8 are free.
    found = cluster_use(
        timeline(10, queues=[line("a", step(0, 8, 100), limit=10)], supplies=[supply(0, 16, 8)])
    )
    assert (found.waiting.value, found.saturated.value) == (1.0, 0.0)


def test_what_can_never_run_is_no_demand():
    lives = [life("huge", 4, 10, state=PENDING, amount=64)]
    queue = line("a", step(0, 8), step(4, 8, 64), limit=32)
    found = cluster_use(timeline(10, lives, [queue], [supply(0, 8, 0)]))
    assert (found.waiting.value, found.saturated.value) == (0.0, 0.0)
    # The same beside one that could run: from 6 on, 8 of 72 are wanted.
    lives.append(life("fits", 6, 10, state=PENDING))
    queue = line("a", step(0, 8), step(4, 8, 64), step(6, 8, 72), limit=32)
    found = cluster_use(timeline(10, lives, [queue], [supply(0, 8, 0)]))
    assert found.saturated.value == 0.4


def test_without_nodes_capacity_is_the_nominal_quota():
    found = cluster_use(
        timeline(10, queues=[line("a", step(0, 6)), line("b", step(0, 2), step(5, 10, 4), nominal=8)])
    )
    # 16 of quota: 8 for 5 s, 16 for 5 s; 4 wait when nothing is free
    assert (found.basis, found.capacity, found.allocated.value) == ("quota", 16, 0.75)
    assert (found.saturated.value, found.at_saturation.value) == (0.5, 1.0)


def test_no_capacity_at_all():
    found = cluster_use(
        timeline(10, queues=[line("a", step(0, 0, 8), nominal=0)], supplies=[supply(0, 0, 0)])
    )
    assert found.allocated.why == "there was no capacity at any time"


def test_fragmentation_over_time():
    # Free 10 for 40 s: 4 of it fragments, a gang of 4 fits where 8 would; then free 5, whole.
    found = fragmentation(
        timeline(100, supplies=[supply(0, 16, 10, 4, 8, 4), supply(40, 16, 5, 4, 4, 0)]), points=2
    )
    assert found.fragment.value == 160 / (400 + 300)
    assert found.gang.value == (4 * 40 + 4 * 60) / (8 * 40 + 4 * 60)
    assert found.broken.value == 0.4
    assert found.worst == supply(0, 16, 10, 4, 8, 4)
    # Two stretches of 50 s: 160 of 10*40 + 5*10, then nothing of 250.
    assert [(one.at, one.fragment.value) for one in found.series] == [(0, 160 / 450), (50_000, 0.0)]


def test_nodes_that_were_not_simulated_have_no_fragments():
    found = fragmentation(timeline(100, supplies=[supply(0, 16, 8)]))
    assert (found.fragment.value, found.why, found.series) == (None, "nodes were not simulated", ())


def test_full_nodes_have_no_fragments_and_say_so():
    found = fragmentation(timeline(10, supplies=[supply(0, 8, 0, 0, 0, 0)]))
    assert (found.fragment.value, found.fragment.why, found.broken.value) == (None, "nothing was free", 0.0)


def test_topology_by_level():
    gangs = [
        life("one", 0, 9, stay(0, 9, domains=(("block", 1, 1), ("rack", 1, 1))), pods=4),
        life(
            "two",
            0,
            9,
            stay(0, 3, by="team/x", domains=(("block", 2, 1), ("rack", 7, 2))),  # where it was before
            stay(4, 13, domains=(("block", 1, 1), ("rack", 4, 2))),
            pods=4,
        ),
        life("pod", 0, 9, stay(0, 9, domains=(("rack", 1, 1),))),  # no gang
        life("torn", 0, 9, stay(0, 9, ready=-1, unplaced=3), pods=4),
    ]
    found = measure(timeline(10, gangs)).topology
    assert [level.level for level in found.levels] == ["block", "rack"]
    rack = found.levels[1]
    # Two gangs: one within a rack, one over 4 where 2 would have done; 5 domains in all where 3 would.
    assert (rack.gangs, rack.one.value, rack.best.value) == (2, 0.5, 0.5)
    assert (rack.stretch.value, rack.most) == (5 / 3, 4)
    assert (found.unplaced_jobs, found.unplaced_pods) == (1, 3)


def test_no_gang_no_quality():
    assert (
        measure(timeline(10, [life("a", 0, 1, stay(0, 1))])).topology.why == "no gang was placed by topology"
    )


def test_fairness_of_queues_is_over_those_that_ask():
    # a uses 8 of the 8 it is entitled to, b 4 of 8 while 8 wait, c asks for nothing.
    found = measure(
        timeline(10, queues=[line("a", step(0, 8)), line("b", step(0, 4, 8, 4)), line("c", step(0, 0))])
    ).fairness
    # shares 1 and 0.5: 1.5^2 / (2 * 1.25) = 0.9
    assert (found.queues, found.jain) == (2, 0.9)


def test_finish_time_fairness():
    found = measure(
        timeline(
            1000,
            [
                life("small", 0, 100, stay(100, 200), amount=4),  # fits into 8: 200 / 100
                # Of 16 with a quota of 8 it would take 200 s alone, and took 100: half of that.
                life("large", 0, 100, stay(0, 100), amount=16),
                life("none", 0, 100, stay(0, 100), queue="gone"),
            ],
            [line("a", nominal=8)],
        )
    ).fairness.finish
    assert (found.size, found.p50, found.most) == (2, 0.5, 2.0)


def test_finish_time_fairness_with_unlimited_quota_is_the_stretch():
    found = measure(timeline(99, [life("a", 0, 10, stay(20, 30))], [line("a", nominal=UNLIMITED)])).fairness
    assert found.finish.most == pytest.approx(3.0)
