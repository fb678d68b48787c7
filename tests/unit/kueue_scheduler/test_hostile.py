"""Objects that would not pass validation, or are huge, get a decision: never a crash, never a hang."""

import json

import pytest

from policycheck.model.amount import UNLIMITED
from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.cases.world import open_session, read_world

API = "kueue.x-k8s.io/v1beta2"


def thing(kind, name, spec, **meta):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}


def quotas(flavors, resource="cpu", nominal="10", **limits):
    made = [
        {"name": f, "resources": [{"name": resource, "nominalQuota": nominal, **limits}]} for f in flavors
    ]
    return [{"coveredResources": [resource], "flavors": made}]


def queue(name, groups, **spec):
    return thing("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def local(name):
    return thing("LocalQueue", name, {"clusterQueue": name}, namespace="ns")


def flavor(name):
    return thing("ResourceFlavor", name, {})


def work(name, lq, sets, **meta):
    pods = [
        {
            "name": f"p{n}",
            "count": count,
            "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": r}}]}},
        }
        for n, (count, r) in enumerate(sets)
    ]
    return thing("Workload", name, {"queueName": lq, "podSets": pods}, namespace="ns", **meta)


def case(objects, **more):
    return {
        "suite": "random-hostile",
        "name": "n",
        "now": "2026-01-01T12:00:00Z",
        "objects": objects,
        "configuration": {"maxCycles": 5},
        **more,
    }


def test_cohorts_in_a_cycle_stop_their_queues_and_no_others():
    objects = [
        flavor("f"),
        thing("Cohort", "a", {"parentName": "b"}),
        thing("Cohort", "b", {"parentName": "a"}),
        thing("Cohort", "below", {"parentName": "a"}),
        queue("q1", quotas(["f"]), cohortName="below"),
        queue("q2", quotas(["f"]), cohortName="other"),
        local("q1"),
        local("q2"),
        work("w1", "q1", [(1, {"cpu": "1"})]),
        work("w2", "q2", [(1, {"cpu": "1"})]),
    ]
    session = open_session(read_world(case(objects)))
    assert session.queues["q1"].inactive == "CohortCycleDetected"
    answer = run(case(objects))
    assert list(answer["final"]["reserved"]) == ["ns/w2"]


def test_a_cohort_that_is_its_own_parent():
    objects = [
        flavor("f"),
        thing("Cohort", "a", {"parentName": "a"}),
        queue("q", quotas(["f"]), cohortName="a"),
        local("q"),
        work("w", "q", [(1, {"cpu": "1"})]),
    ]
    assert run(case(objects))["final"]["reserved"] == {}


def test_flavors_that_do_not_exist_make_the_queue_inactive():
    objects = [queue("q", quotas(["gone"])), local("q"), work("w", "q", [(1, {"cpu": "1"})])]
    session = open_session(read_world(case(objects)))
    assert session.queues["q"].inactive == "FlavorNotFound"
    assert run(case(objects))["final"]["reserved"] == {}


def is_unlimited(text):
    return text in (str(UNLIMITED), "1e40")


@pytest.mark.parametrize("nominal", [str(UNLIMITED), str(2**62), "9E", "1e40", "0"])
@pytest.mark.parametrize("asked", [str(UNLIMITED), str(2**62), "1", "1e40"])
def test_amounts_near_the_edge_of_64_bits(nominal, asked):
    objects = [
        flavor("f"),
        queue("q1", quotas(["f"], "gpu", nominal), cohortName="c", preemption={"reclaimWithinCohort": "Any"}),
        queue("q2", quotas(["f"], "gpu", nominal), cohortName="c"),
        local("q1"),
        local("q2"),
        *(
            work(f"w{n}", f"q{1 + n % 2}", [(3, {"gpu": asked})], creationTimestamp=f"2026-01-01T11:00:0{n}Z")
            for n in range(4)
        ),
    ]
    for fair in (False, True):
        asking = case(objects, configuration={"maxCycles": 6, "fairSharing": fair})
        answer = run(asking)
        assert json.loads(json.dumps(answer)) == answer
        fits = nominal != "0" and asked == "1"
        assert len(answer["final"]["reserved"]) == (4 if fits or is_unlimited(nominal) else 0)


def test_a_cohort_tree_a_thousand_deep():
    objects = [flavor("f")]
    objects += [thing("Cohort", f"c{n}", {"parentName": f"c{n - 1}"} if n else {}) for n in range(1000)]
    objects += [queue("top", quotas(["f"], nominal="100"), cohortName="c0"), local("top")]
    policy = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    objects += [queue("q", quotas(["f"], nominal="1"), cohortName="c999", preemption=policy), local("q")]
    objects += [
        work(f"w{n}", "q", [(1, {"cpu": "30"})], creationTimestamp=f"2026-01-01T11:00:0{n}Z")
        for n in range(3)
    ]
    objects += [work("t", "top", [(1, {"cpu": "10"})], creationTimestamp="2026-01-01T11:30:00Z")]
    answer = run(case(objects))
    assert len(answer["final"]["reserved"]) == 4
    session = open_session(read_world(case(objects)))
    assert session.digest() == session.fork().digest()


def test_a_hundred_flavors_and_eighteen_podsets():
    names = [f"f{n:03d}" for n in range(100)]
    objects = [flavor(n) for n in names]
    objects += [
        queue(
            "q",
            quotas(names, nominal="1"),
            cohortName="c",
            preemption={"withinClusterQueue": "LowerPriority"},
        ),
        local("q"),
    ]
    objects += [work("w", "q", [(1, {"cpu": "1"})] * 18), work("big", "q", [(1, {"cpu": "2"})] * 18)]
    answer = run(case(objects))
    given = answer["final"]["reserved"]["ns/w"]["podSetAssignments"]
    assert [s["flavors"]["cpu"] for s in given] == names[:18]
    assert answer["final"]["pending"] == {"ns/big": "ExceedsMaxQuota"}


def test_objects_with_nothing_in_them():
    objects = [
        thing("ClusterQueue", "q", {}),
        thing("ClusterQueue", "q2", {"resourceGroups": [{}, {"flavors": [{"name": "f"}]}]}),
        thing("Cohort", "c", {}),
        local("q"),
        thing("Workload", "w", {"queueName": "q", "podSets": None}, namespace="ns"),
        thing("Workload", "w2", {}, namespace="ns"),
        thing(
            "Workload", "w3", {"queueName": "q", "podSets": [{"count": -3, "template": {}}]}, namespace="ns"
        ),
    ]
    answer = run(case(objects))
    assert "ns/w2" not in answer["final"]["reserved"]


def test_a_workload_admitted_to_what_its_queue_no_longer_has():
    admission = {
        "clusterQueue": "q",
        "podSetAssignments": [
            {"name": "p0", "count": 1, "flavors": {"cpu": "old"}, "resourceUsage": {"cpu": "5"}}
        ],
    }
    held = work("w", "q", [(1, {"cpu": "5"})])
    held["status"] = {
        "admission": admission,
        "conditions": [
            {"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-01-01T11:00:00Z"}
        ],
    }
    objects = [
        flavor("f"),
        queue("q", quotas(["f"]), cohortName="c"),
        local("q"),
        held,
        work("v", "q", [(1, {"cpu": "10"})]),
    ]
    for fair in (False, True):
        answer = run(case(objects, configuration={"maxCycles": 5, "fairSharing": fair}))
        assert sorted(answer["final"]["reserved"]) == ["ns/v", "ns/w"]


def test_a_case_that_is_nothing():
    why = "suite is missing; it has to be text"
    assert run({}) == {"suite": "", "name": "", "unsupported": why}


@pytest.mark.parametrize(
    ("boost", "first"),
    [
        ("5", "b"),
        ("+5", "b"),
        ("-5", "a"),
        ("", "a"),
        ("+-5", "a"),
        ("--5", "a"),
        ("²", "a"),
        ("9" * 30, "a"),
    ],
)
def test_a_boost_that_is_no_number_boosts_nothing(boost, first):
    sets = [(1, {"cpu": "1"})]
    boosted = work("b", "q", sets, uid="2", annotations={"kueue.x-k8s.io/priority-boost": boost})
    plain = work("a", "q", sets, uid="1")
    objects = [flavor("f"), queue("q", quotas(["f"], nominal="1")), local("q"), plain, boosted]
    found = run(case(objects, featureGates={"PriorityBoost": True}))
    assert [one["workload"] for one in found["cycles"][0]["reserved"]] == [f"ns/{first}"]
