"""Placement: what reasons say, and odd or hostile topologies that get a decision all the same."""

import json
import sys
from pathlib import Path

import pytest

from policycheck.model.inventory import Node
from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.cases.world import open_session, read_world
from policycheck.systems.kueue.model import KueueObjects, ResourceFlavor, Topology
from policycheck.systems.kueue.scheduler.land import survey
from policycheck.systems.kueue.target import Target, strategy

sys.path[:0] = [str(Path(__file__).parents[2])]

from conformance.compact import expand  # noqa: E402 - tests are no package

HOST = "kubernetes.io/hostname"
DOC = {
    "name": "n",
    "area": "random-hostile",
    "configuration": {"maxCycles": 5},
    "topologies": {"t1": f"rack {HOST}"},
    "nodes": {f"n{k}": f"@rack=r{k // 2} cpu=4 pods=8" for k in range(4)},
    "flavors": {"f1": "topology t1"},
    "queues": {"q1": "| f1 cpu=100"},
}


def first(doc):
    session = open_session(read_world(expand(doc)))
    return {d.workload: d for d in session.cycle(session.now)}, session


def pending(**more):
    return run(expand({**DOC, **more}))["final"]


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (f"3x cpu=3 required {HOST}", f"allows to fit only 1 out of 3 pod(s) at level {HOST}"),
        ("5x cpu=3 required rack", "allows to fit only 2 out of 5 pod(s) at level rack"),
        ("5x cpu=3 preferred rack", "allows to fit only 4 out of 5 pod(s) at level rack"),
        (f"6x cpu=4 required rack slice {HOST} 2", "doesn't allow to fit any of 3 slice(s) at level rack"),
        ("1x cpu=5 unconstrained", f"doesn't allow to fit any of 1 pod(s) at level {HOST}"),
        (
            f"8x cpu=1 required rack layers rack:4,{HOST}:3",
            "additional slice layer size 3 must evenly divide parent layer size 4",
        ),
        ("8x cpu=3 required rack layers rack:2", "allows to fit only 1 out of 4 slice(s) at level rack"),
    ],
)
def test_a_reason_names_the_level_and_how_much_fits(ask, text):
    made, _ = first({**DOC, "work": {"w": f"q1 ; main {ask}"}})
    decision = made["ns/w"]
    assert decision.reason == "TopologyPlacementFailed"
    assert text in decision.message
    assert any(text in note for note in decision.explain().notes)


def test_reasons_asked_later_count_the_nodes_left_out():
    nodes = {**DOC["nodes"], "n4": "@rack=r3 cpu=4 pods=8 taint maint true NoSchedule"}
    asks = f"q1 ; main 2x cpu=5 select disk ssd required {HOST}"
    made, _ = first({**DOC, "nodes": nodes, "work": {"w": asks}})
    (note,) = (n for n in made["ns/w"].explain().notes if n.startswith("no place on nodes"))
    assert note.endswith('Total nodes: 5; excluded: nodeSelector: 4, taint "maint=true:NoSchedule": 1')


def test_multi_layer_reasons_tell_every_level():
    nodes = {f"n{k}": "@rack=r1 cpu=3 pods=8" for k in range(2)}
    asks = f"q1 ; main 4x cpu=1 required rack layers rack:4,{HOST}:2"
    made, _ = first({**DOC, "nodes": {"n0": nodes["n0"]}, "work": {"w": asks}})
    assert f"0/1 slice(s) fit on level rack; 1/2 slice(s) fit on level {HOST}" in made["ns/w"].message
    made, _ = first({**DOC, "nodes": nodes, "work": {"w": asks}})
    assert made["ns/w"].grant.sets[0].placement[1] == ((("n0",), 2), (("n1",), 2))


def test_without_nodes_in_sight_quota_alone_decides():
    from policycheck.systems.kueue.scheduler.compile import compile_session

    world = read_world(expand({**DOC, "nodes": {}, "work": {"w": "q1 ; main 3x cpu=3 required rack"}}))
    session = compile_session(world.objects, world.namespaces, world.target)
    assert session.land is None
    (decision,) = session.cycle(world.now)
    assert decision.outcome == "reserved"
    assert decision.grant.sets[0].placement is None


def test_with_the_gate_off_nothing_is_placed():
    doc = {**DOC, "gates": {"TopologyAwareScheduling": False}, "work": {"w": "q1 ; main 90x cpu=1"}}
    made, session = first(doc)
    assert session.land is None
    assert made["ns/w"].grant.sets[0].placement is None


def test_trees_that_share_nodes_are_decided_together_by_priority():
    queues = {"q1": "| f1 cpu=100", "q2": "| f1 cpu=100"}
    work = {"a": f"q1 p=1 t=-9 uid=a ; main 1x cpu=4 required {HOST}"}
    work["b"] = f"q2 p=5 t=-5 uid=b ; main 1x cpu=4 required {HOST}"
    made, _ = first({**DOC, "nodes": {"n0": "@rack=r cpu=4 pods=9"}, "queues": queues, "work": work})
    assert made["ns/b"].outcome == "reserved"
    assert made["ns/a"].reason == "WaitingForQuota"
    assert "its place was taken" in " ".join(made["ns/a"].explain().notes)


def test_one_failed_node_is_replaced_and_the_rest_stays():
    held = "q1 held=-5 admitted=-5 lost=n1 ; main 2x cpu=4 preferred rack -> cpu:f1:8 at n0*1,n1*1"
    nodes = {**DOC["nodes"], "n1": "@rack=r0 cpu=4 pods=8 unready"}
    made, session = first({**DOC, "nodes": nodes, "work": {"w": held}})
    assert made["ns/w"].outcome == "reserved"
    assert session.holding()["ns/w"].sets[0].placement[1] == ((("n0",), 1), (("n2",), 1))
    assert not session.second


def test_no_replacement_evicts_at_once_and_it_queues_again():
    held = "q1 held=-5 admitted=-5 lost=n1 ; main 2x cpu=4 required rack -> cpu:f1:8 at n0*1,n1*1"
    nodes = {**DOC["nodes"], "n1": "@rack=r0 cpu=4 pods=8 unready"}
    made, session = first({**DOC, "nodes": nodes, "work": {"w": held}})
    assert made["ns/w"].outcome == "evicted"
    assert made["ns/w"].victims[0].reason == "NodeFailures"
    session.settle()
    assert not any(session.land.usage)
    again = {d.workload: d for d in session.cycle(session.now)}
    assert again["ns/w"].grant.sets[0].placement[1] == ((("n2",), 1), (("n3",), 1))


def test_a_pool_of_machines_is_as_many_hosts():
    objects = KueueObjects(
        flavors={"f": ResourceFlavor("f", {}, (), (), "t")}, topologies={"t": Topology("t", (HOST,))}
    )
    pool = Node("pool", {}, allocatable={"cpu": 4000}, machines=3, most=5)
    land = survey(objects, [pool], strategy(Target()))
    assert land.fields["f"].leaves == 3
    assert land.fields["f"].free["cpu"] == [4000] * 3


HOSTILE = {
    "no levels": {"topologies": {"t1": ""}},
    "no nodes": {"nodes": {}},
    "one level that no node has": {"topologies": {"t1": "nowhere"}},
    "the same level twice": {"topologies": {"t1": f"rack rack {HOST}"}},
    "a topology that is not there": {"flavors": {"f1": "topology t9"}},
    "300 levels": {
        "topologies": {"t1": " ".join(["rack", *(f"l{n}" for n in range(298)), HOST])},
        "nodes": {"n0": "@rack=r " + " ".join(f"@l{n}=v" for n in range(298)) + " cpu=9 pods=9"},
    },
    "two nodes with one hostname": {
        "nodes": {"a": f"@{HOST}=x @rack=r1 cpu=4 pods=4", "b": f"@{HOST}=x @rack=r2 cpu=4 pods=4"}
    },
    "nothing allocatable": {"nodes": {"n0": "@rack=r1", "n1": "@rack=r1 cpu=0 pods=0"}},
    "amounts near the end": {"nodes": {"n0": "@rack=r1 cpu=9223372036854775 pods=9223372036854775807"}},
}
ASKS = [
    f"2147483647x cpu=1 required {HOST}",
    "3x cpu=0 required rack",
    "3x required rack",
    "0x cpu=1 required rack",
    f"3x cpu=1 required rack slice {HOST} 0",
    f"3x cpu=1 required rack slice {HOST} -2",
    f"3x cpu=1 sliceLevel {HOST}",
    f"3x cpu=1 required {HOST} slice rack 2",
    "3x cpu=1 required rack slice rack 4",
    f"4x cpu=1 required rack layers rack:4,{HOST}:0",
    f"4x cpu=1 required rack layers {HOST}:4,rack:2",
    "4x cpu=1 required rack layers nowhere:4,else:2",
    "3x cpu=1 preferred nowhere",
    "3x cpu=9223372036854775807 unconstrained",
    "2x cpu=1 required rack group g",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("balanced", [False, True])
def test_hostile_topologies_get_a_decision(name, balanced):
    work = {f"w{n:02d}": f"q1 t=-{n} uid=u{n:02d} ; main {ask}" for n, ask in enumerate(ASKS)}
    work["w99"] = "q1 ; main 2x cpu=1 required rack group g ; lead 1x required rack group g"
    gates = {"TASBalancedPlacement": balanced, "TASRespectNodeAffinityPreferred": balanced}
    final = pending(**HOSTILE[name], gates=gates, work=work)
    assert set(final["reserved"]) | set(final["pending"]) <= {f"ns/{n}" for n in work}
    assert json.dumps(final) == json.dumps(pending(**HOSTILE[name], gates=gates, work=work))


@pytest.mark.parametrize(
    "held",
    [
        "cpu:f1:8 at gone*1,n1*1",
        "cpu:f9:8 at n0*1,n1*1",
        "cpu:f1:8 levels a,b at r0/n0*1",
        "cpu:f1:8 at -",
        "cpu:f1:8 at n0*99",
        "cpu:f1:8 delayed Pending",
        "cpu:f1:8",
    ],
)
@pytest.mark.parametrize("lost", ["", "lost=n0", "lost=never", "lost=n0 lost=n1"])
def test_hostile_placements_get_a_decision(held, lost):
    text = f"q1 held=-5 {lost} check=c:Ready ; main 2x cpu=4 required rack -> {held}"
    other = "q1 uid=b ; main 3x cpu=4 unconstrained"
    final = pending(work={"w": text, "x": other})
    assert {*final["reserved"], *final["pending"]} == {"ns/w", "ns/x"}


def test_500_nodes_and_a_podset_of_thousands_are_quick():
    nodes = {f"n{k:03d}": f"@rack=r{k % 20} cpu=64 pods=110" for k in range(500)}
    work = {f"w{n}": f"q1 uid=u{n} t=-{n} ; main {1000 + n}x cpu=2 preferred rack" for n in range(8)}
    final = pending(
        nodes=nodes, queues={"q1": "| f1 cpu=20000"}, work=work, gates={"TASBalancedPlacement": True}
    )
    placed = {n: sum(d["count"] for d in a["podSetAssignments"][0]["topologyAssignment"]["domains"])
              for n, a in final["reserved"].items()}  # fmt: skip
    assert placed
    assert all(pods == final["reserved"][n]["podSetAssignments"][0]["count"] for n, pods in placed.items())


def test_a_node_that_does_not_say_what_it_has_leaves_its_flavor_to_quota():
    objects = KueueObjects(
        flavors={n: ResourceFlavor(n, {"pool": n}, (), (), "t") for n in ("f", "g")},
        topologies={"t": Topology("t", (HOST,))},
    )
    nodes = [
        Node("a", {HOST: "a", "pool": "f"}, allocatable={"cpu": 1000}),
        Node("b", {HOST: "b", "pool": "f"}),
        Node("c", {HOST: "c", "pool": "g"}, allocatable={"cpu": 1000}),
    ]
    assert set(survey(objects, nodes, strategy(Target())).fields) == {"g"}


def test_without_replacement_a_failed_node_is_not_looked_at():
    held = "q1 held=-5 admitted=-5 lost=n1 ; main 2x cpu=4 preferred rack -> cpu:f1:8 at n0*1,n1*1"
    made, session = first({**DOC, "gates": {"TASFailedNodeReplacement": False}, "work": {"w": held}})
    assert not made
    assert not session.has_work()


def test_a_second_pass_that_found_no_place_waits_for_a_change():
    waits = "q1 held=-5 check=c:Ready ; main 1x cpu=4 required rack -> cpu:f1:4 delayed Pending"
    fills = "q1 held=-5 admitted=-5 ; main 4x cpu=4 unconstrained -> cpu:f1:16 at n0*1,n1*1,n2*1,n3*1"
    made, session = first({**DOC, "work": {"w": waits, "x": fills}})
    assert made["ns/w"].outcome == "waiting"
    assert not session.has_work()
    session.release(["ns/x"])
    assert session.has_work()
    (decision,) = session.cycle(session.now)
    assert decision.outcome == "reserved"
    assert decision.admitted
    assert decision.grant.sets[0].placement[1] == ((("n0",), 1),)
