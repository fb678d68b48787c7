"""Variants of concurrent admission and slices of elastic jobs."""

import sys
from pathlib import Path

from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.cases.world import open_session, read_world

sys.path.insert(0, str(Path(__file__).parents[2]))

from conformance.compact import expand

QUEUES = {"q1": "| best cpu=10; good cpu=10; rest cpu=10"}


def case(work, annotations, *, gate, owner=True, last=None):
    doc = {
        "name": "n",
        "area": "schedule",
        "queues": QUEUES,
        "work": work,
        "gates": {gate: True},
        "configuration": {"cycles": 1},
    }
    made = expand(doc)
    for value in made["objects"]:
        name = value["metadata"]["name"]
        if value["kind"] == "Workload" and name in annotations:
            value["metadata"]["annotations"] = annotations[name]
            if owner:
                value["metadata"]["ownerReferences"] = [{"kind": "Workload", "name": "parent"}]
        if value["kind"] == "ClusterQueue" and last:
            value["spec"]["concurrentAdmissionPolicy"] = {
                "migration": {
                    "mode": "TryPreferredFlavors",
                    "constraints": {"lastAcceptableFlavorName": last},
                }
            }
    return made


def confined(**flavors):
    return {name: {"kueue.x-k8s.io/workload-allowed-resource-flavors": f} for name, f in flavors.items()}


HELD = "q1 held=-5 admitted=-5 uid=h ; main 1x cpu=10 -> cpu:{0}:10"
NEW = "q1 t=-3 uid=n ; main 1x cpu=10"


def test_a_variant_is_confined_to_its_flavor():
    answer = run(case({"new": NEW}, confined(new="good"), gate="ConcurrentAdmission"))
    assert answer["reserved"][0]["admission"]["podSetAssignments"][0]["flavors"] == {"cpu": "good"}


def test_a_more_favorable_variant_makes_the_other_go_first():
    work = {"old": HELD.format("rest"), "new": NEW}
    answer = run(case(work, confined(old="rest", new="best"), gate="ConcurrentAdmission"))
    assert answer["evicted"] == [{"workload": "ns/old", "evictedReason": "FlavorMigration"}]
    assert answer["pending"] == [
        {
            "workload": "ns/new",
            "clusterQueue": "q1",
            "state": "active",
            "reason": "WaitingForPreemptedWorkloads",
        }
    ]


def test_a_less_favorable_variant_waits():
    work = {"old": HELD.format("best"), "new": NEW}
    made = case(work, confined(old="best", new="rest"), gate="ConcurrentAdmission")
    answer = run(made)
    assert (answer["reserved"], answer["evicted"]) == ([], [])
    assert answer["pending"][0]["reason"] == "PendingEvaluation"


def test_nobody_migrates_below_the_last_acceptable_flavor():
    work = {"old": HELD.format("rest"), "new": NEW}
    answer = run(case(work, confined(old="rest", new="good"), gate="ConcurrentAdmission", last="best"))
    assert (answer["reserved"], answer["evicted"]) == ([], [])


def test_a_slice_pays_for_the_difference_and_keeps_its_flavor():
    work = {
        "old": "q1 held=-5 admitted=-5 uid=h ; main 6x cpu=1 -> cpu:good:6",
        "new": "q1 t=-3 uid=n ; main 9x cpu=1",
    }
    replaces = {"new": {"kueue.x-k8s.io/workload-slice-replacement-for": "ns/old"}}
    made = case(work, replaces, gate="ElasticJobsViaWorkloadSlices", owner=False)
    world = read_world(made)
    session = open_session(world)
    (decision,) = session.cycle(world.now)
    assert decision.outcome == "reserved"
    assert decision.grant.sets[0].flavors == {"cpu": "good"}
    assert sorted(session.holding()) == ["ns/new"]
    assert sum(session.trees[0].usage) == 9000
