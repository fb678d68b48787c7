"""What holds of every run over time, whatever the cluster and the jobs."""

import re
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from policycheck.simulate.scheduler import WAITING
from policycheck.simulate.timeline import FINISHED, PENDING, REFUSED, RUNNING
from policycheck.systems.kueue.drive.admitter import KueueAdmitter
from policycheck.systems.kueue.drive.rest import Rest
from policycheck.systems.kueue.model import (
    ClusterQueue,
    FlavorQuotas,
    Quota,
    ResourceGroup,
)

sys.path.insert(0, str(Path(__file__).parent))

from time_worlds import GPU, scenes

HORIZON = 30_000


def told(timeline):
    return repr(timeline)


def stays(timeline):
    return [(one, stay) for one in timeline.lives for stay in one.stays]


@given(scenes())
def test_the_same_scenario_gives_the_same_bytes(scene):
    assert told(scene.play(horizon=HORIZON, happenings=True)) == told(
        scene.play(horizon=HORIZON, happenings=True)
    )


@given(scenes())
def test_run_time_is_the_duration_and_what_was_lost(scene):
    for one in scene.play(horizon=HORIZON).lives:
        ran = sum(s.ended - s.ready - s.idle for s in one.stays if s.ready >= 0 and s.ended >= 0)
        lost = sum(s.lost for s in one.stays)
        if one.state == FINISHED:
            assert ran == one.job.duration + lost
        else:
            assert ran - lost < one.job.duration
        assert all(0 <= s.lost <= max(0, (s.ended if s.ended >= 0 else HORIZON) - s.ready) for s in one.stays)


@given(scenes())
def test_times_follow_one_another(scene):
    made = scene.play(horizon=HORIZON)
    for one in made.lives:
        at = one.job.submit
        for stay in one.stays:
            known = [t for t in (stay.reserved, stay.admitted, stay.ready, stay.ended) if t >= 0]
            assert known == sorted(known)
            assert at <= stay.reserved
            at = stay.ended if stay.ended >= 0 else made.end
            assert at <= made.end
        closed = [s for s in one.stays if s.ended >= 0]
        assert len(one.stays) - len(closed) == (one.state == RUNNING)
        assert one.requeues == sum(s.ended_by != "Finished" for s in closed)
        assert (
            (one.state == FINISHED) == (one.finished >= 0) == any(s.ended_by == "Finished" for s in one.stays)
        )
        assert one.state in (PENDING, RUNNING, FINISHED, REFUSED)


@given(scenes())
def test_lines_say_what_lives_say(scene):
    made = scene.play(horizon=HORIZON)
    for line in made.queues:
        assert [s.at for s in line.steps] == sorted({s.at for s in line.steps})
        mine = [one for one in made.lives if one.queue == line.name]
        for step in line.steps:
            held = [
                one
                for one in mine
                for s in one.stays
                if s.reserved <= step.at and (s.ended < 0 or step.at < s.ended)
            ]
            assert step.used == sum(one.amount for one in held)
            assert step.running == len(held)
            assert 0 <= step.fitting <= step.waiting
            assert step.fitting <= max(0, line.nominal - step.used)


@given(scenes())
def test_usage_is_within_limits_at_every_step(scene):
    made = scene.play(horizon=HORIZON)
    cohort = [line for line in made.queues if line.cohort]
    for line in made.queues:
        assert all(0 <= s.used <= line.limit for s in line.steps)
    for at in {s.at for line in cohort for s in line.steps}:
        used = sum(max((s for s in line.steps if s.at <= at), key=lambda s: s.at).used for line in cohort)
        assert used <= sum(line.nominal for line in cohort)


@given(scenes())
def test_who_takes_may_take_and_who_is_within_nominal_keeps(scene):
    made = scene.play(horizon=HORIZON)
    policies = {q.name: q.preemption for q in scene.queues}
    lines = {line.name: line for line in made.queues}
    lives = {one.job.id: one for one in made.lives}
    for one, stay in stays(made):
        if stay.ended_by != "Preempted":
            continue
        taker = lives[stay.by]
        policy = policies[taker.queue]
        if stay.cause == "InClusterQueue":
            assert taker.queue == one.queue
            assert policy.within_cluster_queue != "Never"
            assert one.job.priority <= taker.job.priority
        else:
            assert taker.queue != one.queue
            assert policy.reclaim_within_cohort != "Never"
            line = lines[one.queue]
            before = max((s for s in line.steps if s.at < stay.ended), key=lambda s: s.at)
            assert before.used > line.nominal


@given(scenes(policies=False))
def test_nobody_is_preempted_where_no_policy_allows_it(scene):
    made = scene.play(horizon=HORIZON)
    assert all(s.ended_by != "Preempted" for _, s in stays(made))
    assert made.loops == ()


@given(scenes(), st.sampled_from(["a-first", "q1x", "z-last"]))
def test_an_idle_queue_of_its_own_changes_nothing_for_others(scene, name):
    before, after = scene.play(horizon=HORIZON), with_idle(scene, name, "").play(horizon=HORIZON)
    assert before.lives == after.lives
    assert before.loops == after.loops
    assert before.queues == tuple(line for line in after.queues if line.name != name)


@given(scenes(borrowing=False))
def test_an_idle_queue_in_the_cohort_changes_nothing_where_nobody_borrows(scene):
    before, after = scene.play(horizon=HORIZON), with_idle(scene, "z-last", "co").play(horizon=HORIZON)
    assert [(one.job.id, one.state, one.stays) for one in before.lives] == [
        (one.job.id, one.state, one.stays) for one in after.lives
    ]


def with_idle(scene, name, cohort):
    groups = (ResourceGroup((GPU,), (FlavorQuotas("f", {GPU: Quota(5)}),)),)
    idle = ClusterQueue(name, cohort, groups, scene.queues[0].namespace_selector)
    return scene._replace(queues=(*scene.queues, idle))


@given(scenes())
def test_renaming_that_keeps_the_order_changes_names_only(scene):
    before = told(scene.play(horizon=HORIZON))
    queues = tuple(q._replace(name=f"called-{q.name}") for q in scene.queues)
    jobs = tuple(j._replace(id=f"ns/called-{j.id[3:]}", queue=f"called-{j.queue}") for j in scene.jobs)
    after = told(scene._replace(queues=queues, jobs=jobs).play(horizon=HORIZON))
    assert re.sub("called-", "", after) == before


@given(scenes(), st.integers(1, 12_000))
def test_a_shorter_horizon_shows_the_beginning_of_the_same(scene, cut):
    whole, part = scene.play(horizon=HORIZON), scene.play(horizon=cut)
    for long, short in zip(whole.lives, part.lives, strict=True):
        begun = [s for s in long.stays if s.reserved < cut]
        assert len(begun) == len(short.stays)
        for a, b in zip(begun, short.stays, strict=True):
            if 0 <= a.ended < cut:
                assert a == b
            else:
                assert (a.reserved, b.ended) == (b.reserved, -1)


@given(scenes(nodes=True))
def test_nobody_works_while_pods_of_it_have_no_node(scene):
    made = scene.play(horizon=HORIZON)
    for one, stay in stays(made):
        if stay.ended_by == "Finished":
            assert stay.unplaced == 0
            assert sum(pods for _, pods in stay.nodes) == one.job.pods
    for supply in made.supply:
        assert 0 <= supply.free <= supply.total


@given(scenes(blocking=True))
def test_queues_that_rest_would_have_been_looked_at_in_vain(scene):
    """Who is looked at again writes nothing down, so that only what changes may cost service time."""
    cycle, after_cycle = KueueAdmitter.cycle, Rest.after_cycle
    KueueAdmitter.cycle = lambda self, now: [d for d in cycle(self, now) if d.outcome != WAITING]
    try:
        before = scene.play(horizon=HORIZON)
        Rest.after_cycle = lambda self, trees: None  # noqa: ARG005 - as the method is called
        after = scene.play(horizon=HORIZON)
    finally:
        KueueAdmitter.cycle, Rest.after_cycle = cycle, after_cycle
    assert before.lives == after.lives
    assert before.queues == after.queues
    assert before.cycles <= after.cycles


@given(scenes())
def test_a_run_without_horizon_ends(scene):
    made = scene.play()
    assert made.cycles < 20_000
    assert all(one.reason for one in made.lives if one.state == PENDING)
