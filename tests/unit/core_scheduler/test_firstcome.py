"""First come, first served as a scheduler of its own."""

from __future__ import annotations

import pytest

from policycheck.model.workload import PriorityClass
from policycheck.simulate.job import Job
from policycheck.simulate.scheduler import PREEMPTING, RESERVED, WAITING, Scheduler
from policycheck.systems.core.scheduler.firstcome import FirstCome
from policycheck.systems.core.scheduler.order import PREEMPTED, UNSCHEDULABLE, Priorities

GPU = "nvidia.com/gpu"


@pytest.fixture
def job(pods):
    def make(name, gpus, number=1, submit=0, priority=0, klass=""):
        spec = pods(number, gpus=gpus, priority_class=klass).spec
        return Job(f"t/{name}", "line", submit, 1000, (spec,), priority)

    return make


def outcomes(decisions):
    return [(d.workload.removeprefix("t/"), d.outcome) for d in decisions]


def running(scheduler):
    return {
        name.removeprefix("t/"): sum(s.pods for s in grant.sets)
        for name, grant in scheduler.holding().items()
    }


def test_it_is_a_scheduler(placer, node):
    def takes(one: Scheduler[Job]) -> Scheduler[Job]:
        return one

    assert not takes(FirstCome(placer(node("a")))).has_work()


def test_earlier_jobs_first_and_nobody_is_held_up(placer, node, job):
    one = FirstCome(placer(node("a", gpus=4)))
    one.offer([job("late", 4, submit=20), job("huge", 8, submit=5), job("early", 2, submit=10)])
    assert outcomes(one.cycle(0)) == [("huge", WAITING), ("early", RESERVED), ("late", WAITING)]
    assert running(one) == {"early": 2 // 2}
    assert not one.has_work()
    waiting = {w.workload: w for w in one.waiting()}
    assert set(waiting) == {"t/huge", "t/late"}
    assert waiting["t/huge"].state == "inadmissible"
    assert waiting["t/huge"].reason == UNSCHEDULABLE
    one.release(["t/early"])
    assert one.has_work()
    assert outcomes(one.cycle(0)) == [("huge", WAITING), ("late", RESERVED)]


def test_higher_priority_first(placer, node, job):
    one = FirstCome(placer(node("a", gpus=4)))
    one.offer([job("low", 4, submit=0), job("high", 4, submit=9, priority=5)])
    assert outcomes(one.cycle(0)) == [("high", RESERVED), ("low", WAITING)]


def test_a_gang_starts_in_part_and_grows(placer, node, job):
    one = FirstCome(placer(node("a", gpus=4)))
    one.offer([job("first", 2), job("gang", 1, number=4)])
    decisions = {d.workload: d for d in one.cycle(0)}
    gang = decisions["t/gang"]
    assert (gang.outcome, gang.admitted) == (RESERVED, False)
    assert gang.message == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu"
    assert gang.grant.sets[0].pods == 2
    assert gang.grant.sets[0].usage[GPU] == 2
    assert gang.grant.sets[0].placement == (("kubernetes.io/hostname",), ((("a",), 2),))
    assert one.waiting() == []
    one.release(["t/first"])
    (grown,) = one.cycle(0)
    assert (grown.workload, grown.outcome, grown.admitted) == ("t/gang", RESERVED, True)
    assert running(one) == {"gang": 4}
    assert not one.has_work()


def test_preemption_takes_single_pods_and_the_rest_holds_on(placer, node, job):
    one = FirstCome(placer(node("a", gpus=4)), preempting=True)
    one.offer([job("gang", 1, number=4)])
    one.cycle(0)
    one.offer([job("urgent", 2, submit=5, priority=10)])
    (decision,) = one.cycle(1)
    assert (decision.workload, decision.outcome) == ("t/urgent", PREEMPTING)
    assert [(v.workload, v.reason) for v in decision.victims] == [("t/gang", PREEMPTED)]
    assert running(one) == {"gang": 4}  # until settle
    assert outcomes(one.cycle(2)) == [("urgent", WAITING)]
    one.settle()
    assert running(one) == {"gang": 2}
    assert outcomes(one.cycle(3)) == [("urgent", RESERVED), ("gang", WAITING)]
    assert running(one) == {"gang": 2, "urgent": 1}


def test_without_preempting_and_with_never_nobody_is_taken_from(placer, node, job):
    classes = (
        PriorityClass("polite", 10, preempts=False),
        PriorityClass("rude", 10),
        PriorityClass("base", 1, is_default=True),
    )

    def victims(klass, *, preempting=True):
        one = FirstCome(placer(node("a", gpus=1)), priorities=Priorities(classes), preempting=preempting)
        one.offer([job("low", 1)])
        one.cycle(0)
        one.offer([job("high", 1, submit=1, klass=klass)])
        return [v.workload for d in one.cycle(1) for v in d.victims]

    assert victims("rude") == ["t/low"]
    assert victims("polite") == []
    assert victims("rude", preempting=False) == []
    assert victims("base") == []


def test_priorities_come_from_classes_then_from_the_default_then_from_the_job(job):
    classes = (
        PriorityClass("a", 7),
        PriorityClass("d", 3, is_default=True),
        PriorityClass("e", 2, is_default=True),
    )
    known = Priorities(classes)
    for klass, expected in (("a", 7), ("", 2), ("gone", 50)):  # of two defaults the smaller one holds
        one = job("x", 1, priority=50, klass=klass)
        assert known.of(one, one.pod_sets[0]) == expected
    assert Priorities().highest(job("x", 1, priority=50)) == 50


def test_requeued_jobs_lose_all_their_pods(placer, node, job):
    one = FirstCome(placer(node("a", gpus=4)))
    one.offer([job("gang", 1, number=4)])
    one.cycle(0)
    one.release(["t/gang"], requeue=True)
    assert running(one) == {}
    assert one.has_work()
    assert outcomes(one.cycle(0)) == [("gang", RESERVED)]


def test_bad_input_is_refused(placer, node, job):
    one = FirstCome(placer(node("a")))
    one.offer([job("x", 1)])
    with pytest.raises(ValueError, match="t/x was offered before"):
        one.offer([job("x", 1)])
    with pytest.raises(ValueError, match="t/y was never offered"):
        one.release(["t/y"])


def test_copies_and_digests(placer, node, job):
    one = FirstCome(placer(node("a", gpus=4), node("b", gpus=4)), preempting=True, seed=4)
    one.offer([job("x", 2), job("y", 3, number=3)])
    one.cycle(0)
    twin = one.fork()
    assert twin.digest() == one.digest()
    assert twin.has_work() == one.has_work()
    for each in (one, twin):
        each.offer([job("z", 4, submit=3, priority=9)])
        each.cycle(1)
        each.settle()
        each.cycle(2)
    assert twin.digest() == one.digest()
    assert running(twin) == running(one)
    before = one.digest()
    twin.release(["t/x"])
    twin.cycle(3)
    assert one.digest() == before != twin.digest()
