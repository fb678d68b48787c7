"""What is proposed has been tried: it lets the workload in, and one step less does not."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policycheck.model.placement import Selector
from policycheck.model.workload import PodSet
from policycheck.simulate import why
from policycheck.systems.kueue.model import (
    ClusterQueue,
    FlavorQuotas,
    KueueObjects,
    KueueWorkload,
    LocalQueue,
    Preemption,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    WorkloadPriorityClass,
)
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.target import Target
from policycheck.systems.kueue.why.ask import ask, lets_in, remedies
from policycheck.systems.kueue.why.trial import blocked, settle

GPU = "nvidia.com/gpu"
CLASSES = {n: WorkloadPriorityClass(n, v) for n, v in (("high", 100), ("middle", 10), ("low", 1))}


def opening(queues, workloads, **more):
    objects = KueueObjects(
        cluster_queues={q.name: q for q in queues},
        local_queues={("ns", q.name): LocalQueue("ns", q.name, q.name) for q in queues},
        flavors={"a": ResourceFlavor("a"), "b": ResourceFlavor("b")},
        priority_classes=CLASSES,
        workloads={(w.namespace, w.name): w for w in workloads},
    )
    return Opening(objects._replace(**more), {"ns": {}}, (), Target(), 1)


def queue(name, *quotas, **more):
    flavors = tuple(FlavorQuotas(f, {GPU: q}) for f, q in zip("ab", quotas, strict=False))
    made = ClusterQueue(name, "all", (ResourceGroup((GPU,), flavors),), Selector())
    return made._replace(**more)


def job(name, to, pods, gpus, priority=1, created="2026-01-01T00:00:00Z"):
    return KueueWorkload(
        "ns", name, to, (PodSet("main", pods, {GPU: gpus}),), priority, created=created, uid=name
    )


@st.composite
def worlds(draw):
    limit = st.one_of(st.none(), st.integers(0, 6))
    queues = [
        queue(
            name,
            *(
                Quota(draw(st.integers(0, 8)), draw(limit), draw(limit))
                for _ in range(draw(st.integers(1, 2)))
            ),
            preemption=Preemption(
                draw(st.sampled_from(["Never", "LowerPriority"])),
                draw(st.sampled_from(["Never", "LowerPriority", "Any"])),
            ),
            queueing_strategy=draw(st.sampled_from(["BestEffortFIFO", "StrictFIFO"])),
        )
        for name in ("x", "y", "z")[: draw(st.integers(1, 3))]
    ]
    jobs = [
        job(
            f"j{n}",
            draw(st.sampled_from(queues)).name,
            draw(st.integers(1, 4)),
            draw(st.integers(1, 4)),
            draw(st.sampled_from([1, 10, 100])),
            f"2026-01-01T00:00:0{draw(st.integers(0, 9))}Z",
        )
        for n in range(draw(st.integers(2, 6)))
    ]
    return opening(queues, jobs)


@given(worlds())
@settings(max_examples=60)
def test_every_change_works_and_one_step_less_does_not(world):
    answers = [(w.id, ask(world, w.id, search=False)) for w in world.objects.workloads.values()]
    out = [(name, a) for name, a in answers if a.outcome in (why.WAITS, why.NEVER)]
    assume(out)
    name, answer = out[0]
    trial = settle(world, name)
    assert not lets_in(name)(world)
    short = [s.resource for one in answer.looked for s in one.shorts][:1]
    found, kinds, cut = remedies(world, answer, trial, short)
    assert not cut
    assert {r.option.kind for r in found} <= set(kinds)
    for remedy in found:
        works = lets_in(name)
        assert works(remedy.state), remedy.changes
        for dial, at in enumerate(remedy.turn):
            less = (*remedy.turn[:dial], at - 1, *remedy.turn[dial + 1 :])
            if at and any(less):
                assert not works(remedy.option.apply(less)), (remedy.changes, less)


@given(worlds())
@settings(max_examples=40)
def test_the_verdict_is_that_of_the_decision(world):
    """All of one tree together, as ``why`` decides it, and every workload's own answer."""
    session = settle(world, next(iter(world.objects.workloads.values())).id).session
    for workload in world.objects.workloads.values():
        answer = ask(world, workload.id, search=False)
        holds = workload.id in session.holding()
        if settle(world, workload.id).run.loop is None:
            assert (answer.outcome in (why.ADMITTED, why.HOLDS)) == holds


def said(answer):
    return [f"{c.where}: {c.field} {c.before} -> {c.after}" for s in answer.suggestions for c in s.changes]


def test_forty_of_thirty_two():
    world = opening([queue("x", Quota(24, 8)), queue("y", Quota(40))], [job("big", "x", 5, 8)])
    answer = ask(world, "ns/big")
    assert (answer.outcome, answer.reason) == (why.NEVER, "ExceedsMaxQuota")
    short = answer.looked[0].shorts[0]
    assert (short.asked, short.limit, short.made_of) == (40, 32, "24 nominal + 8 borrowingLimit")
    assert said(answer) == [
        "Workload big: pods 5 -> 4, 32 nvidia.com/gpu in all",
        "Workload big: nvidia.com/gpu per pod 8 -> 6",
        "ClusterQueue x: borrowingLimit of nvidia.com/gpu in a 8 -> 16",
        "ClusterQueue x: nominalQuota of nvidia.com/gpu in a 24 -> 32",
    ]


def test_the_lowest_class_that_suffices_and_who_pays_for_it():
    policy = Preemption("LowerPriority", "Never")
    world = opening(
        [queue("x", Quota(8), cohort="", preemption=policy)],
        [job("old", "x", 1, 8, 5, "2026-01-01T00:00:00Z"), job("new", "x", 1, 8, 1, "2026-01-02T00:00:00Z")],
    )
    answer = ask(world, "ns/new")
    assert answer.outcome == why.WAITS
    raised = next(s for s in answer.suggestions if s.changes[0].kind == "priority")
    assert raised.changes[0].after == "middle (10)"
    assert [(loss.workload, loss.amounts) for loss in raised.losses] == [("ns/old", {GPU: 8})]


def test_ending_takes_the_smallest_that_suffices():
    world = opening(
        [queue("x", Quota(12), cohort="")],
        [
            job("small", "x", 1, 4, created="2026-01-01T00:00:00Z"),
            job("large", "x", 1, 8, created="2026-01-01T00:00:01Z"),
            job("late", "x", 1, 6, created="2026-01-01T00:00:02Z"),
        ],
    )
    ends = [s.changes for s in ask(world, "ns/late").suggestions if s.changes[0].kind == "end"]
    assert [[c.where for c in changes] for changes in ends] == [["ns/large"]]


def test_nothing_helps_is_said():
    world = opening([queue("x", Quota(0), cohort="")], [job("one", "x", 1, 1)], priority_classes={})
    taken = world._replace(
        objects=world.objects._replace(
            cluster_queues={"x": queue("x", cohort="")._replace(groups=())}  # nothing is covered at all
        )
    )
    answer = ask(taken, "ns/one")
    assert (answer.outcome, answer.reason) == (why.NEVER, "NoMatchingFlavor")
    assert answer.suggestions == ()
    assert answer.searched


def test_what_blocks_is_told_apart():
    world = opening([queue("x", Quota(8))], [job("one", "x", 1, 1)])
    one = world.objects.workloads["ns", "one"]
    assert blocked(world, one) is None
    cases = {
        "no LocalQueue nowhere": one._replace(queue="nowhere"),
        "it names no LocalQueue": one._replace(queue=""),
        "spec.active is false": one._replace(active=False),
        "it has finished": one._replace(finished=True),
    }
    for text, workload in cases.items():
        assert text in blocked(world, workload).text
    stopped = world._replace(
        objects=world.objects._replace(cluster_queues={"x": queue("x", Quota(8), stop_policy="Hold")})
    )
    assert blocked(stopped, one).reason == "Stopped"
    answer = ask(stopped, "ns/one")
    assert said(answer) == ["ClusterQueue x: stopPolicy Hold -> None"]
