"""What happens to workloads between cycles, worked out by hand from Kueue's documentation."""

import sys
from pathlib import Path

import pytest

from policycheck.model.placement import Taint
from policycheck.systems.kueue.cases.world import read_world
from policycheck.systems.kueue.model import WaitForPodsReady
from policycheck.systems.kueue.scheduler.compile import compile_session
from policycheck.systems.kueue.scheduler.life import Turn, backoff
from policycheck.systems.kueue.scheduler.moment import NANOS
from policycheck.systems.kueue.target import Target

sys.path[:0] = [str(Path(__file__).parents[2])]

from conformance.compact import expand  # noqa: E402 - tests are no package

DOC = {
    "name": "n",
    "area": "schedule",
    "configuration": {"cycles": 1},
    "queues": {"q1": "| f1 cpu=4"},
    "work": {"a": "q1 t=-20 uid=a ; main 1x cpu=4", "b": "q1 t=-10 uid=b ; main 1x cpu=4"},
}


def opened(doc, version=(0, 20), **waits):
    world = read_world(expand(doc))
    configuration = world.objects.configuration._replace(wait_for_pods_ready=WaitForPodsReady(**waits))
    session = compile_session(
        world.objects._replace(configuration=configuration),
        world.namespaces,
        Target(version, world.target.gates),
        nodes=world.nodes or None,
        now=world.now,
    )
    return session, world.now


def step(session, now):
    """One cycle with what controllers do after it: {workload: outcome}."""
    made = {d.workload: d.outcome for d in session.cycle(now)}
    session.settle()
    return made


def states(session):
    return {w.workload: w.state for w in session.waiting()}


# -- readiness --------------------------------------------------------------------------------------


def test_a_timeout_of_readiness_backs_off_and_lets_others_go_first():
    session, now = opened(DOC)
    assert step(session, now) == {"ns/a": "reserved"}
    late = now + 1800 * NANOS
    assert session.not_ready("ns/a", late) == [
        Turn("ns/a", "evicted", "PodsReadyTimeout", "", late + 60 * NANOS)
    ]
    assert set(session.holding()) == {"ns/a"}  # its pods still run
    session.settle()
    assert states(session) == {"ns/a": "inadmissible", "ns/b": "active"}
    assert step(session, late) == {"ns/b": "reserved"}
    assert session.next_due() == late + 60 * NANOS
    session.wake(late + 59 * NANOS)
    assert states(session)["ns/a"] == "inadmissible"
    assert session.wake(late + 60 * NANOS) == []
    assert states(session)["ns/a"] == "active"
    assert session.next_due() is None


def test_a_release_of_quota_does_not_end_the_back_off():
    session, now = opened(DOC)
    step(session, now)
    session.not_ready("ns/a", now)
    session.settle()
    step(session, now)
    session.release(["ns/b"])
    assert states(session) == {"ns/a": "inadmissible"}
    assert not session.has_work()


@pytest.mark.parametrize(("timestamp", "first"), [("Eviction", "ns/b"), ("Creation", "ns/a")])
def test_the_requeuing_timestamp_decides_who_is_first_after_it(timestamp, first):
    session, now = opened(DOC, requeuing_timestamp=timestamp, backoff_base=0.0)
    step(session, now)
    session.not_ready("ns/a", now + NANOS)
    session.settle()
    assert first in step(session, now + 2 * NANOS)


def test_back_off_doubles_up_to_the_most():
    assert [backoff(n, 60, 3600) // NANOS for n in (1, 2, 3, 6, 7, 2000)] == [60, 120, 240, 1920, 3600, 3600]


def test_after_the_limit_of_requeues_it_is_deactivated():
    session, now = opened(DOC, backoff_limit=1)
    step(session, now)
    (first,) = session.not_ready("ns/a", now)
    assert (first.what, first.until) == ("evicted", now + 60 * NANOS)
    session.settle()
    session.release(["ns/b"])
    session.wake(now + 60 * NANOS)
    step(session, now + 60 * NANOS)
    assert session.not_ready("ns/a", now + 61 * NANOS) == [
        Turn("ns/a", "deactivated", "Deactivated", "RequeuingLimitExceeded")
    ]
    session.settle()
    assert states(session) == {"ns/a": "notQueued"}
    session.activate("ns/a", now + 62 * NANOS)
    assert step(session, now + 62 * NANOS) == {"ns/a": "reserved"}
    assert session.not_ready("ns/a", now + 63 * NANOS)[0].what == "evicted"  # counted anew


def test_without_wait_for_pods_ready_nothing_happens():
    session, now = opened(DOC, enabled=False)
    step(session, now)
    assert session.not_ready("ns/a", now) == []
    session, now = opened(DOC, version=(0, 18))  # on by default since 0.19
    step(session, now)
    assert session.not_ready("ns/a", now) == []


def test_block_admission_lets_one_workload_start_at_a_time():
    doc = {**DOC, "queues": {"q1": "| f1 cpu=4", "q2": "| f1 cpu=4"}}
    doc["work"] = {"a": "q1 t=-20 uid=a ; main 1x cpu=4", "b": "q2 t=-10 uid=b ; main 1x cpu=4"}
    session, now = opened(doc, block_admission=True)
    assert step(session, now) == {"ns/a": "reserved", "ns/b": "waiting"}
    (waiting,) = session.waiting()
    assert (waiting.state, waiting.reason) == ("active", "WaitingForPodsReady")
    assert session.blocked
    assert not session.has_work()
    assert session.cycle(now + NANOS) == []
    session.ready("ns/a", now + 2 * NANOS)
    assert session.has_work()
    assert step(session, now + 2 * NANOS) == {"ns/b": "reserved"}


def test_who_blocks_and_never_becomes_ready_makes_way_by_its_eviction():
    doc = {**DOC, "queues": {"q1": "| f1 cpu=4", "q2": "| f1 cpu=4"}}
    doc["work"] = {"a": "q1 t=-20 uid=a ; main 1x cpu=4", "b": "q2 t=-10 uid=b ; main 1x cpu=4"}
    session, now = opened(doc, block_admission=True)
    step(session, now)
    session.not_ready("ns/a", now + NANOS)
    assert session.blocked
    session.settle()
    assert step(session, now + NANOS) == {"ns/b": "reserved"}


# -- leaving ----------------------------------------------------------------------------------------


def test_maximum_execution_time_deactivates_and_frees_the_quota():
    session, now = opened(DOC)
    step(session, now)
    turn = session.deactivate("ns/a", "MaximumExecutionTimeExceeded", now)
    assert turn == [Turn("ns/a", "deactivated", "Deactivated", "MaximumExecutionTimeExceeded")]
    assert session.deactivate("ns/a", "again", now) == []
    session.settle()
    assert step(session, now) == {"ns/b": "reserved"}
    assert states(session) == {"ns/a": "notQueued"}


def test_a_waiting_workload_that_is_deactivated_leaves_its_queue():
    session, now = opened(DOC)
    step(session, now)
    session.deactivate("ns/b", "by hand", now)
    assert not session.has_work()
    session.activate("ns/b", now)
    assert states(session) == {"ns/b": "active"}


def test_hold_keeps_what_is_admitted_and_drain_does_not():
    session, now = opened(DOC)
    step(session, now)
    assert session.stop("q1", "Hold", now) == []
    assert not session.has_work()
    assert session.stop("q1", "HoldAndDrain", now) == [Turn("ns/a", "evicted", "ClusterQueueStopped")]
    session.settle()
    assert session.holding() == {}
    assert step(session, now) == {}
    session.stop("q1", "None", now)
    assert step(session, now) == {"ns/a": "reserved"}


def test_hold_takes_back_quota_of_what_is_not_admitted_yet():
    doc = {**DOC, "queues": {"q1": "check=c1 | f1 cpu=4"}, "checks": {"c1": "example.com/x"}}
    session, now = opened(doc)
    step(session, now)
    assert session.stop("q1", "Hold", now) == [Turn("ns/a", "evicted", "ClusterQueueStopped")]


# -- checks -----------------------------------------------------------------------------------------

CHECKED = {
    **DOC,
    "queues": {"q1": "check=c1 check=c2:f9 | f1 cpu=4; f9 cpu=0"},
    "checks": {"c1": "example.com/x", "c2": "example.com/y"},
}


def test_checks_that_apply_are_pending_until_they_are_ready():
    session, now = opened(CHECKED)
    (made,) = session.cycle(now)
    assert (made.outcome, made.admitted) == ("reserved", False)
    assert session.pending_checks("ns/a") == ("c1",)  # c2 is for another flavor
    assert session.check("ns/a", "c1", "Pending", now) == []
    assert session.check("ns/a", "c1", "Ready", now) == [Turn("ns/a", "admitted")]
    assert session.pending_checks("ns/a") == ()
    assert session.check("ns/a", "c1", "Ready", now) == []


def test_retry_gives_quota_back_and_queues_from_the_eviction_on():
    session, now = opened(CHECKED)
    step(session, now)
    turn = session.check("ns/a", "c1", "Retry", now + NANOS, retry_after=30 * NANOS)
    assert turn == [Turn("ns/a", "evicted", "AdmissionCheck", "", now + 31 * NANOS)]
    session.settle()
    assert step(session, now + NANOS) == {"ns/b": "reserved"}
    session.release(["ns/b"])
    assert states(session) == {"ns/a": "inadmissible"}
    session.wake(session.next_due())
    assert step(session, session.now) == {"ns/a": "reserved"}
    assert session.pending_checks("ns/a") == ("c1",)  # all anew


def test_rejected_is_for_good():
    session, now = opened(CHECKED)
    step(session, now)
    assert session.check("ns/a", "c1", "Rejected", now) == [
        Turn("ns/a", "deactivated", "Deactivated", "AdmissionCheck")
    ]
    session.settle()
    assert states(session)["ns/a"] == "notQueued"


# -- nodes ------------------------------------------------------------------------------------------

HOST = "kubernetes.io/hostname"
PLACED = {
    "name": "n",
    "area": "schedule-tas",
    "configuration": {"cycles": 1},
    "topologies": {"t1": f"rack {HOST}"},
    "nodes": {f"n{k}": f"@rack=r{k // 2} cpu=4 pods=8" for k in range(4)},
    "flavors": {"f1": "topology t1"},
    "queues": {"q1": "| f1 cpu=100"},
}


def where(session, name):
    return dict(session.holding()[name].sets[0].placement[1])


def test_pods_of_a_node_that_is_gone_move_and_the_rest_stays():
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 2x cpu=3 preferred rack"}})
    step(session, now)
    assert where(session, "ns/w") == {("n0",): 1, ("n1",): 1}
    assert session.node_down("n1", now) == [Turn("ns/w", "marked", "NodeFailures", "n1")]
    assert session.has_work()
    assert step(session, now) == {"ns/w": "reserved"}
    assert where(session, "ns/w") == {("n0",): 1, ("n2",): 1}
    assert not session.has_work()


def test_without_another_node_it_is_evicted_and_waits_for_a_node():
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 2x cpu=3 required rack"}})
    step(session, now)
    session.node_down("n1", now)
    session.node_down("n3", now)
    assert step(session, now) == {"ns/w": "evicted"}
    assert step(session, now) == {"ns/w": "waiting"}
    assert session.waiting()[0].reason == "TopologyPlacementFailed"
    assert not session.has_work()
    session.node_up("n3", now)
    assert step(session, now) == {"ns/w": "reserved"}
    assert where(session, "ns/w") == {("n2",): 1, ("n3",): 1}


def test_two_failed_nodes_evict():
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 2x cpu=3 preferred rack"}})
    step(session, now)
    session.node_down("n0", now)
    assert session.node_down("n1", now) == [Turn("ns/w", "evicted", "NodeFailures")]
    session.settle()
    assert step(session, now) == {"ns/w": "reserved"}
    assert where(session, "ns/w") == {("n2",): 1, ("n3",): 1}


@pytest.mark.parametrize(("version", "after"), [((0, 20), 300), ((0, 18), 30), ((0, 16), 300)])
def test_a_node_that_is_not_ready_counts_as_failed_after_a_while(version, after):
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 2x cpu=3 preferred rack"}}, version)
    step(session, now)
    assert session.node_down("n1", now, gone=False) == []
    assert session.next_due() == now + after * NANOS
    assert not session.has_work()
    assert session.wake(now + after * NANOS)[0].what == "marked"
    assert step(session, session.now) == {"ns/w": "reserved"}
    assert where(session, "ns/w") == {("n0",): 1, ("n2",): 1}


def test_a_node_that_is_back_in_time_has_lost_nothing():
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 2x cpu=3 preferred rack"}})
    step(session, now)
    session.node_down("n1", now, gone=False)
    session.node_up("n1", now + NANOS)
    assert session.next_due() is None
    assert session.wake(now + 900 * NANOS) == []
    assert where(session, "ns/w") == {("n0",): 1, ("n1",): 1}
    session.node_down("n1", now)
    session.node_up("n1", now)  # marked, and healthy again before a cycle looked
    assert not session.has_work()


def test_before_replacement_existed_pods_are_stranded():
    session, now = opened(
        {**PLACED, "gates": {"TASFailedNodeReplacement": False}}
        | {"work": {"w": "q1 ; main 2x cpu=3 preferred rack"}}
    )
    step(session, now)
    assert session.node_down("n1", now) == [Turn("ns/w", "stranded", "NodeFailures", "n1")]
    assert not session.has_work()


def test_nodes_that_are_not_there_yet_join_a_pool():
    nodes = {**PLACED["nodes"], "n4": "@rack=r2 cpu=4 pods=8 unready", "n5": "@rack=r2 cpu=4 pods=8 unready"}
    session, now = opened({**PLACED, "nodes": nodes, "work": {"w": "q1 ; main 5x cpu=3 preferred rack"}})
    assert step(session, now) == {"ns/w": "waiting"}
    session.node_up("n4", now)
    assert step(session, now) == {"ns/w": "reserved"}
    assert sum(where(session, "ns/w").values()) == 5


def test_nodes_never_seen_before_are_laid_out_with_what_is_placed():
    from policycheck.model.inventory import Node

    session, now = opened({**PLACED, "work": {"a": "q1 t=-9 uid=a ; main 4x cpu=3 preferred rack"}})
    step(session, now)
    session.node_down("n0", now, gone=False)
    node = Node("n01", {"rack": "r0", HOST: "n01"}, (), {"cpu": 8000, "pods": 8})
    session.nodes_added([node], now)
    domains = session.land.fields["f1"]
    assert [n[0] for n in domains.names] == ["n0", "n01", "n1", "n2", "n3"]
    assert list(domains.live) == [0, 1, 1, 1, 1]
    assert session.land.used("f1", "cpu") == [3000, 0, 3000, 3000, 3000]
    assert session.wake(now + 300 * NANOS)[0].what == "marked"
    assert step(session, session.now) == {"ns/a": "reserved"}
    assert where(session, "ns/a") == {("n01",): 1, ("n1",): 1, ("n2",): 1, ("n3",): 1}


@pytest.mark.parametrize(
    ("effect", "tolerates", "version", "turns"),
    [
        ("NoExecute", "", (0, 20), [Turn("ns/w", "marked", "NodeFailures", "n1")]),
        ("NoExecute", "tolerates hot Exists", (0, 20), []),
        ("NoSchedule", "", (0, 20), []),
        ("NoExecute", "", (0, 16), []),
    ],
    ids=["drives away", "tolerated", "keeps away", "before 0.17"],
)
def test_a_taint_that_drives_pods_away_moves_them(effect, tolerates, version, turns):
    work = {"w": f"q1 ; main 2x cpu=3 preferred rack {tolerates}"}
    session, now = opened({**PLACED, "work": work}, version)
    step(session, now)
    assert session.node_tainted("n1", (Taint("hot", "", effect),), now) == turns
    if turns:
        assert step(session, now) == {"ns/w": "reserved"}
        assert where(session, "ns/w") == {("n0",): 1, ("n2",): 1}
    assert session.node_tainted("never heard of", (), now) == []


def test_a_tainted_node_takes_no_more_pods_until_it_is_clean():
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 4x cpu=3 preferred rack"}})
    session.node_tainted("n1", (Taint("hot", "", "NoSchedule"),), now)
    assert step(session, now) == {"ns/w": "waiting"}
    session.node_tainted("n1", (), now)
    assert step(session, now) == {"ns/w": "reserved"}


@pytest.mark.parametrize(
    ("version", "gates", "mode", "nodes"),
    [
        # 1 pod of 1 cpu; n0 has 4 left, n1 has 2. The tightest of all, or (mixed, unconstrained) the fullest.
        ((0, 16), {}, "preferred rack", {("n1",): 1}),
        ((0, 16), {"TASProfileLeastFreeCapacity": True}, "preferred rack", {("n1",): 1}),
        ((0, 14), {}, "unconstrained", {("n1",): 1}),
    ],
)
def test_one_pod_goes_where_it_leaves_least(version, gates, mode, nodes):
    given = {"n0": "@rack=r0 cpu=4 pods=8", "n1": "@rack=r0 cpu=2 pods=8"}
    session, now = opened(
        {**PLACED, "gates": gates, "nodes": given, "work": {"w": f"q1 ; main 1x cpu=1 {mode}"}}, version
    )
    step(session, now)
    assert where(session, "ns/w") == nodes


@pytest.mark.parametrize(
    ("version", "gates", "mode", "nodes"),
    [
        # 5 pods, and room for 4, 2 and 1: as few nodes as possible, or those with least room first.
        ((0, 14), {}, "unconstrained", {("n0",): 4, ("n2",): 1}),
        ((0, 15), {}, "unconstrained", {("n0",): 2, ("n1",): 2, ("n2",): 1}),
        ((0, 15), {}, "preferred rack", {("n0",): 4, ("n2",): 1}),
        ((0, 15), {"TASProfileMixed": False}, "unconstrained", {("n0",): 4, ("n2",): 1}),
        (
            (0, 16),
            {"TASProfileLeastFreeCapacity": True},
            "preferred rack",
            {("n0",): 2, ("n1",): 2, ("n2",): 1},
        ),
        ((0, 17), {"TASProfileLeastFreeCapacity": True}, "preferred rack", {("n0",): 4, ("n2",): 1}),
    ],
)
def test_the_profile_of_a_version_says_which_nodes_are_filled(version, gates, mode, nodes):
    given = {"n0": "@rack=r0 cpu=4 pods=8", "n1": "@rack=r0 cpu=2 pods=8", "n2": "@rack=r0 cpu=1 pods=8"}
    session, now = opened(
        {**PLACED, "gates": gates, "nodes": given, "work": {"w": f"q1 ; main 5x cpu=1 {mode}"}}, version
    )
    step(session, now)
    assert where(session, "ns/w") == nodes


def test_a_fork_has_nodes_of_its_own():
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 2x cpu=3 preferred rack"}})
    other = session.fork()
    assert other.digest() == session.digest()
    other.node_down("n0", now)
    assert other.digest() != session.digest()
    assert step(other, now) == step(session, now) == {"ns/w": "reserved"}
    assert where(other, "ns/w") == {("n2",): 1, ("n3",): 1}
    assert where(session, "ns/w") == {("n0",): 1, ("n1",): 1}


def test_reasons_asked_later_see_the_nodes_as_they_were():
    session, now = opened({**PLACED, "work": {"w": "q1 ; main 3x cpu=3 required rack"}})
    session.node_down("n3", now)
    (decision,) = session.cycle(now)
    session.node_up("n3", now)
    (note,) = (n for n in decision.explain().notes if n.startswith("no place on nodes"))
    assert "allows to fit only 2 out of 3" in note


def test_a_check_that_adds_nodes_places_in_a_second_pass():
    doc = {
        **PLACED,
        "queues": {"q1": "check=c1 | f1 cpu=100"},
        "checks": {"c1": "kueue.x-k8s.io/provisioning-request"},
        "work": {"w": "q1 ; main 2x cpu=3 required rack"},
    }
    session, now = opened(doc)
    (made,) = session.cycle(now)
    assert (made.admitted, made.grant.sets[0].placement) == (False, None)
    assert not session.has_work()
    assert session.check("ns/w", "c1", "Ready", now) == []  # the place is still to be found
    assert session.has_work()
    (made,) = session.cycle(now)
    assert made.admitted
    assert where(session, "ns/w") == {("n0",): 1, ("n1",): 1}


def test_nominations_are_counted():
    session, now = opened(DOC)
    step(session, now)
    step(session, now)
    assert session.nominations == 2


def test_a_run_may_do_without_reasons_and_decides_the_same():
    doc = {**PLACED, "work": {"w": "q1 ; main 3x cpu=3 required rack"}}
    told, now = opened(doc)
    terse, _ = opened(doc)
    terse.explaining = False
    (one,), (other,) = told.cycle(now), terse.cycle(now)
    assert one[:8] == other[:8]
    assert one.explain().tried
    assert not other.explain().tried
    assert other.explain().notes == (other.message,)
    assert not terse.fork().explaining
