"""Reasons that a decision carries: flavors tried, what was short by how much, victims weighed."""

import sys
from pathlib import Path

from policycheck.systems.kueue.cases.world import open_session, read_world

sys.path.insert(0, str(Path(__file__).parents[2]))

from conformance.compact import expand

DOC = {
    "name": "n",
    "area": "random-n",
    "cohorts": {"c1": ""},
    "flavors": {"f1": "label pool a", "f2": "label pool b"},
    "queues": {
        "q1": "in=c1 within=LowerPriority reclaim=LowerPriority canPreempt=MayStopSearch | f1 gpu=4; f2 gpu=2+0",
        "q2": "in=c1 | f1 gpu=4",
    },
    "work": {
        "mine": "q1 p=5 held=-9 ; main 2x gpu=1 -> gpu:f1:2",
        "lower": "q2 p=0 held=-8 ; main 5x gpu=1 -> gpu:f1:5",
        "higher": "q2 p=9 held=-7 ; main 1x gpu=1 -> gpu:f1:1",
        "ask": "q1 p=3 t=-5 uid=a ; main 2x gpu=1 select pool a",
        "big": "q2 p=0 t=-4 uid=b ; main 9x gpu=1",
    },
}


def decisions(doc):
    world = read_world(expand(doc))
    session = open_session(world)
    return {d.workload: d for d in session.cycle(world.now)}, session


def test_a_preemptor_says_who_was_weighed_and_why_taken_or_spared():
    made, session = decisions(DOC)
    ask = made["ns/ask"]
    assert (ask.outcome, ask.reason) == ("preempting", "WaitingForPreemptedWorkloads")
    assert [(v.workload, v.queue, v.reason) for v in ask.victims] == [
        ("ns/lower", "q2", "InCohortReclamation")
    ]
    session.settle()  # reasons are of what held when it was decided
    session.release(list(session.items))
    reasons = ask.explain()
    assert [(t.flavor, t.mode) for t in reasons.tried] == [("f1", "Reclaim")]
    short = reasons.tried[0].shortfalls[0]
    assert (short.resource, short.reason, short.asked, short.limit, short.missing) == (
        "gpu",
        "WaitingForQuota",
        2,
        0,
        2,
    )
    weighed = {w.workload: (w.taken, w.why) for w in reasons.weighed}
    assert weighed["ns/lower"] == (True, "InCohortReclamation")
    assert weighed["ns/higher"] == (
        False,
        "reclaimWithinCohort of q1 is LowerPriority: its priority 9 is not below 3",
    )
    assert weighed["ns/mine"] == (
        False,
        "withinClusterQueue of q1 is LowerPriority: its priority 5 is not below 3",
    )


def test_one_that_exceeds_what_there_can_ever_be_says_by_how_much():
    made, _ = decisions(DOC)
    big = made["ns/big"]
    assert (big.outcome, big.reason) == ("waiting", "ExceedsMaxQuota")
    short = big.explain().tried[0].shortfalls[0]
    assert (short.reason, short.limit, short.missing) == ("ExceedsMaxQuota", 8, 1)


def test_a_flavor_that_is_not_for_the_pods_says_why():
    work = {"w": "q1 t=-5 uid=a ; main 1x gpu=1 select pool b"}
    made, _ = decisions({**DOC, "work": work})
    tried = made["ns/w"].explain().tried
    assert [(t.flavor, t.mode, bool(t.refusal)) for t in tried] == [
        ("f1", "NoFit", True),
        ("f2", "Fit", False),
    ]
    assert "node affinity" in tried[0].refusal


def test_later_entries_of_a_cycle_say_who_was_before_them():
    work = {
        "a": "q1 p=1 t=-5 uid=a ; main 5x gpu=1",
        "b": "q2 p=0 t=-4 uid=b ; main 5x gpu=1",
    }
    made, _ = decisions({**DOC, "work": work})
    late = made["ns/b"]
    assert late.message == "Workload no longer fits after processing another workload"
    assert any("ns/a" in note for note in late.explain().notes)


def test_nobody_is_a_candidate_says_so_for_each():
    queues = {"q1": "in=c1 | f1 gpu=4", "q2": "in=c1 | f1 gpu=4"}
    work = {k: DOC["work"][k] for k in ("lower", "higher")} | {"ask": "q1 p=30 t=-5 uid=a ; main 4x gpu=1"}
    made, _ = decisions({**DOC, "queues": queues, "work": work, "flavors": {}})
    reasons = made["ns/ask"].explain()
    assert made["ns/ask"].reason == "WaitingForQuota"
    assert {w.why for w in reasons.weighed} == {"reclaimWithinCohort of q1 is Never"}
    assert any("holds back" in note for note in reasons.notes)
