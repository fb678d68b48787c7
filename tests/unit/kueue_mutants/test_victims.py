"""Who may be taken, in which order, and what is told of those who were weighed."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path[:0] = [str(Path(__file__).parents[2])]

from conformance.compact import expand, work  # noqa: E402 - tests are no package

from policycheck.systems.kueue import read  # noqa: E402
from policycheck.systems.kueue.cases.world import open_session, read_world  # noqa: E402
from policycheck.systems.kueue.scheduler import classical, fair  # noqa: E402
from policycheck.systems.kueue.scheduler.victims import Contest, Weighed, allowed, sort  # noqa: E402

BOTH = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


def contest(queues, held, asks, cohorts=None):
    """The contest of ``asks`` ("q1 p=1 ; main 1x cpu=2") for flavor f1, and the shares of its tree."""
    doc = {"area": "preemption", "name": "", "queues": queues, "work": held, "cohorts": cohorts or {}}
    session = open_session(read_world(expand(doc)))
    item = session.make(read.workload(work("new", asks, {}), []))
    queue = item.queue = session.queues[asks.split()[0]]
    tree = session.trees[queue.tree]
    wants = item.shape.sets[0].total(1)
    amounts = tuple((tree.cell(queue.node, ("f1", r)), v) for r, v in wants.items())
    columns = frozenset(cell // tree.size for cell, _ in amounts)
    return (
        Contest(item, queue, tree, session.members[queue.tree], amounts, columns, session.now),
        session.world.shares[queue.tree],
    )


def names(targets):
    return {victim.id.split("/")[-1]: reason for victim, reason in targets}


def told(trace):
    return [w._replace(victim=w.victim.split("/")[-1]) for w in trace]


def who(priority, time):
    return SimpleNamespace(priority=priority, time=time)


@pytest.mark.parametrize(
    ("policy", "lower", "newer", "same_age", "older", "higher"),
    [
        ("Never", False, False, False, False, False),
        ("LowerPriority", True, False, False, False, False),
        ("LowerOrNewerEqualPriority", True, True, False, False, False),
        ("Any", True, True, True, True, True),
    ],
)
def test_policies_allow_by_priority_and_age(policy, lower, newer, same_age, older, higher):
    item = who(5, 100)
    got = [allowed(policy, item, who(*v)) for v in ((4, 1), (5, 101), (5, 100), (5, 99), (6, 101))]
    assert got == [lower, newer, same_age, older, higher]


QUEUE = object()


def candidate(name, *, priority=0, at=1, reserved=True, queue=QUEUE, local="ns/a"):
    return SimpleNamespace(
        id=name, uid=name, priority=priority, reserved_at=at, reserved=reserved, queue=queue, local=local
    )


def order(*candidates, use=None, standing=None):
    rows = [((standing or {}).get(c.id, 0), c, None) for c in candidates]
    forwards = [c.id for _, c, _ in sort(rows, 50, use)]
    assert [c.id for _, c, _ in sort(rows[::-1], 50, use)] == forwards
    return forwards


@pytest.mark.parametrize("use", [None, lambda _: None, lambda _: 1.0], ids=["none", "unknown", "equal"])
def test_standing_then_lower_priority_then_reserved_last_then_uid(use):
    rows = [
        candidate("e", priority=-1),
        candidate("c", priority=0, at=7),
        candidate("b", priority=0, at=9),
        candidate("g", priority=1, at=3, local="ns/b"),
        candidate("f", priority=1, at=3),
        candidate("a", priority=2),
    ]
    assert order(*rows, use=use) == ["e", "b", "c", "f", "g", "a"]
    assert order(*rows, use=use, standing={"e": 1, "b": 2, "a": -1}) == ["a", "c", "f", "g", "e", "b"]


@pytest.mark.parametrize("use", [None, lambda _: None], ids=["none", "unknown"])
def test_what_was_never_marked_as_reserved_counts_as_reserved_now(use):
    assert order(candidate("a", at=49), candidate("b", at=0, reserved=False), use=use) == ["b", "a"]


def test_the_local_queue_that_used_more_loses_first_within_a_cluster_queue():
    used = {"ns/a": 1.0, "ns/b": 9.0, "ns/c": None}
    rows = [
        candidate("low", priority=0, local="ns/a"),
        candidate("high", priority=9, local="ns/b"),
        candidate("higher", priority=10, local="ns/b"),
    ]

    def use(item):
        return used[item.local]

    assert order(*rows, use=use) == ["high", "higher", "low"]
    assert order(*rows, use=use, standing={"low": -1}) == ["low", "high", "higher"]
    elsewhere = candidate("other", priority=8, local="ns/b", queue=object())
    assert order(rows[0], elsewhere, use=use) == ["low", "other"]  # not between ClusterQueues
    unknown = candidate("unknown", priority=1, local="ns/c")
    assert order(rows[1], unknown, use=use) == ["unknown", "high"]  # nothing known: priority


TWO = {
    "q1": "in=c1 within=LowerPriority reclaim=Any | f1 cpu=4",
    "q2": "in=c1 | f1 cpu=4",
}


def test_classical_preemption_heeds_what_local_queues_have_used():
    held = {
        "w1": "q1 p=0 uid=w1 held=-9 ; main 1x cpu=4 -> cpu:f1:4",
        "w2": "q1 p=1 uid=w2 held=-9 ; main 1x cpu=4 -> cpu:f1:4",
    }
    c, _ = contest(TWO, held, "q1 p=5 ; main 1x cpu=4")
    for item in c.queue.holders.values():
        item.local = item.id  # each in a LocalQueue of its own
    assert names(classical.targets(c, None)) == {"w1": "InClusterQueue"}
    assert names(classical.targets(c, lambda v: 9.0 if "w2" in v.id else 1.0)) == {"w2": "InClusterQueue"}


def test_fair_preemption_heeds_what_local_queues_have_used():
    held = {
        "w1": "q2 p=0 uid=w1 held=-9 ; main 1x cpu=4 -> cpu:f1:4",
        "w2": "q2 p=1 uid=w2 held=-9 ; main 1x cpu=4 -> cpu:f1:4",
    }
    c, shares = contest(TWO, held, "q1 p=5 ; main 1x cpu=4")
    for queue in c.members:
        for item in queue.holders.values() if queue else ():
            item.local = item.id

    def taken(use):
        return names(fair.targets(c, shares, BOTH, use, within_nominal=True))

    assert taken(None) == {"w1": "InCohortReclamation"}
    assert taken(lambda v: 9.0 if "w2" in v.id else 1.0) == {"w2": "InCohortReclamation"}


def test_classical_tells_why_each_was_taken_or_spared():
    held = {
        "w1": "q2 p=0 uid=w1 held=-9 ; main 1x cpu=4 -> cpu:f1:4",
        "w2": "q2 p=1 uid=w2 held=-9 ; main 1x cpu=2 -> cpu:f1:2",
    }
    c, _ = contest(TWO, held, "q1 p=5 ; main 1x cpu=2")
    before, trace = c.tree.usage.copy(), []
    assert names(classical.targets(c, None, trace)) == {"w1": "InCohortReclamation"}
    assert told(trace) == [
        Weighed("w1", "q2", True, "InCohortReclamation"),
        Weighed("w2", "q2", False, "the workload fits without it"),
    ]
    assert c.tree.usage == before


def test_classical_tells_when_all_of_them_are_not_enough():
    held = {
        "w1": "q1 p=0 uid=w1 held=-9 ; main 1x cpu=1 -> cpu:f1:1",
        "w2": "q1 p=9 uid=w2 held=-9 ; main 1x cpu=3 -> cpu:f1:3",
        "w3": "q2 p=0 uid=w3 held=-9 ; main 1x cpu=4 -> cpu:f1:4",
    }
    c, _ = contest(TWO, held, "q1 p=5 ; main 1x cpu=4")
    before, trace = c.tree.usage.copy(), [Weighed("old", "", False, "")]
    assert classical.targets(c, None, trace) == []
    assert told(trace) == [Weighed("w1", "q1", False, "not enough even with it")]
    assert c.tree.usage == before


FAIR = {
    "q1": "in=c1 within=LowerPriority reclaim=Any | f1 cpu=0",
    "q2": "in=c1 | f1 cpu=0",
    "q3": "in=c1 | f1 cpu=12",
}


def test_fair_sharing_tells_which_rule_spared_whom():
    """Of 12, q1 asks for 6 (500); q2 holds 3 + 9 (1000): without w2 that is 250."""
    held = {
        "w1": "q2 p=1 uid=w1 held=-9 ; main 1x cpu=3 -> cpu:f1:3",
        "w2": "q2 p=0 uid=w2 held=-9 ; main 1x cpu=9 -> cpu:f1:9",
    }
    c, shares = contest(FAIR, held, "q1 p=2 ; main 1x cpu=6")
    before, trace = c.tree.usage.copy(), []
    assert names(fair.targets(c, shares, BOTH, None, within_nominal=True, trace=trace)) == {
        "w2": "InCohortFairSharing"
    }
    # final share: 500 > 250, w2 is spared, 500 <= 750, w1 goes; initial share: 500 < 750, w2 goes; w1 is put back
    assert told(trace) == [
        Weighed("w2", "q2", False, "LessThanOrEqualToFinalShare does not hold"),
        Weighed("w1", "q2", True, "InCohortFairSharing"),
        Weighed("w2", "q2", True, "InCohortFairSharing"),
    ]
    assert c.tree.usage == before


def test_fair_sharing_tells_that_the_second_rule_spared_it_too():
    """Of 12, q1 holds 6 and asks for 6 (1000); q2 holds 6 (500)."""
    held = {
        "w1": "q2 p=1 uid=w1 held=-9 ; main 1x cpu=6 -> cpu:f1:6",
        "w2": "q1 p=9 uid=w2 held=-9 ; main 1x cpu=6 -> cpu:f1:6",
    }
    c, shares = contest(FAIR, held, "q1 p=2 ; main 1x cpu=6")
    before, trace = c.tree.usage.copy(), []
    assert fair.targets(c, shares, BOTH, None, within_nominal=True, trace=trace) == []
    assert told(trace) == [
        Weighed("w1", "q2", False, "LessThanOrEqualToFinalShare does not hold"),
        Weighed("w1", "q2", False, "LessThanInitialShare does not hold"),
    ]
    assert c.tree.usage == before


class Nodes:
    """Notes what is freed and taken again."""

    def __init__(self):
        self.gone = set()

    def remove(self, placed):
        assert placed not in self.gone
        self.gone.add(placed)

    def add(self, placed):
        self.gone.remove(placed)


@pytest.mark.parametrize("sharing", [False, True], ids=["classical", "fair"])
def test_victims_free_their_nodes_while_they_are_weighed_and_no_longer(sharing):
    """Quota would be there after any of them, a place only on the node of w2; w0 is on no node."""
    held = {
        "w0": "q2 p=-1 uid=w0 held=-9 ; main 1x cpu=2 -> cpu:f1:2",
        "w1": "q2 p=0 uid=w1 held=-9 ; main 1x cpu=3 -> cpu:f1:3",
        "w2": "q2 p=1 uid=w2 held=-9 ; main 1x cpu=3 -> cpu:f1:3",
    }
    queues = {"q1": "in=c1 reclaim=Any | f1 cpu=7", "q2": "in=c1 | f1 cpu=1"}
    c, shares = contest(queues, held, "q1 p=5 ; main 1x cpu=2")
    nodes = Nodes()
    for item in c.members[2].holders.values():
        item.placed = {"w1": "node 1", "w2": "node 2"}.get(item.id.split("/")[-1], ())
    c = c._replace(land=nodes, place=lambda: "node 2" in nodes.gone)
    before = c.tree.usage.copy()

    def targets(contest):
        if sharing:
            return names(fair.targets(contest, shares, BOTH, None, within_nominal=True))
        return names(classical.targets(contest, None))

    assert targets(c) == {"w2": "InCohortReclamation"}
    assert targets(c._replace(place=lambda: False)) == {}
    assert targets(c._replace(place=None)) == {"w0": "InCohortReclamation"}
    assert targets(c._replace(land=None, place=None)) == {"w0": "InCohortReclamation"}
    assert nodes.gone == set()
    assert c.tree.usage == before
