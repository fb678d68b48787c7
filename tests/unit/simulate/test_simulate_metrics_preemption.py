"""Preemption, thrash, waste and who waits, each number worked out by hand."""

from timeline_help import life, line, stay, timeline

from policycheck.simulate.metrics import measure
from policycheck.simulate.preemption import HEALTHY
from policycheck.simulate.stuck import by_reason
from policycheck.simulate.timeline import PENDING, REFUSED, RUNNING, Loop


def test_the_rate_is_over_jobs_and_not_over_evictions():
    found = measure(
        timeline(
            1000,
            [
                # preempted twice, and once it did not get ready: one job of three
                life(
                    "a",
                    0,
                    100,
                    stay(0, 10, by="team/x"),
                    stay(20, 30, by="team/y", cause="InClusterQueue"),
                    stay(40, 50, ended_by="PodsReadyTimeout", ready=-1),
                    stay(60, 160),
                    priority=10,
                ),
                life("b", 0, 100, stay(0, 100), queue="b"),
                life("c", 0, 100, stay(0), state=RUNNING),
                life("d", 0, 100, state=PENDING),
            ],
            [line("a"), line("b"), line("idle")],
        )
    )
    taken = found.preemption
    assert (taken.share.part, taken.share.whole, taken.healthy) == (1, 3, False)
    assert taken.by_queue["a"].value == 0.5  # a and c started in it
    assert [q.preempted.value for q in found.queues] == [0.5, 0.0, None]
    assert taken.by_priority == {0: (0, 2, "no job was started"), 10: (1, 1, "no job was started")}
    assert {name: ratio.part for name, ratio in taken.by_reason.items()} == {
        "InClusterQueue": 1,
        "InCohortReclamation": 1,
    }
    # Six admissions: four of a, one each of b and c.
    assert taken.starts == 6
    assert [(e.reason, e.times, e.jobs, e.per_start.value) for e in taken.evictions] == [
        ("Preempted", 2, 1, 2 / 6),
        ("PodsReadyTimeout", 1, 1, 1 / 6),
    ]


def test_the_line_is_at_five_in_a_hundred():
    def healthy(preempted, of):
        lives = [life(f"p{n}", 0, 9, stay(0, 4, by="team/x"), stay(5, 14)) for n in range(preempted)]
        lives += [life(f"q{n}", 0, 9, stay(0, 9)) for n in range(of - preempted)]
        return measure(timeline(20, lives)).preemption.healthy

    assert HEALTHY.value == 0.05
    assert healthy(0, 20)
    assert not healthy(1, 20)  # exactly 5 %
    assert healthy(1, 21)


def test_thrash():
    ab = "team/a", "team/b"
    found = measure(
        timeline(
            9000,
            [
                life("a", 0, 9, *(stay(n * 20, n * 20 + 5, by=ab[1]) for n in range(3)), stay(80, 89)),
                life("b", 0, 9, *(stay(n * 20 + 5, n * 20 + 15, by=ab[0]) for n in range(2)), stay(60, 69)),
                life("c", 0, 9, stay(0, 9, by="team/d"), stay(10, 19)),
                # d is taken from by c, but more than an hour after it took from c
                life("d", 0, 9, stay(20, 4000, by="team/c"), stay(4100, 4109)),
            ],
            loops=(Loop(7000, ab, 4),),
        )
    ).preemption.thrash
    assert found.often == (("team/a", 3),)
    # b took from a at 5, a from b at 15 (1), b from a at 25 (2), a from b at 35 (3), b from a at 45 (4)
    assert found.exchanges == (("team/a", "team/b", 4),)
    assert [loop.times for loop in found.loops] == [4]
    assert found.found


def test_no_thrash():
    found = measure(timeline(9, [life("a", 0, 9, stay(0, 3, by="team/b"), stay(4, 9))])).preemption.thrash
    assert not found.found


def test_work_that_was_thrown_away():
    found = measure(
        timeline(
            100,
            [
                # 8 units: admitted 0-10, all ran from 2, and 6 s of the 8 that ran are lost; then 20-40.
                life("a", 0, 12, stay(0, 10, by="team/b", ready=2, lost=6), stay(20, 40, ready=22)),
                # 4 units serve from 50 to the end
                life("s", 50, 99, stay(50), state=RUNNING, amount=4, nature="service"),
            ],
        )
    ).work
    # held 8*(10+20) + 4*50 = 440; ran 8*(8+18) + 200 = 408; lost 48
    assert (found.held, found.run, found.lost) == (440_000, 408_000, 48_000)
    assert found.wasted.value == 48 / 408
    assert found.goodput.value == 360 / 440
    assert found.service.value == 200 / 440


def test_time_in_which_pods_were_missing_is_no_work():
    found = measure(timeline(100, [life("a", 0, 10, stay(0, 20, idle=4))])).work
    assert (found.held, found.run, found.goodput.value) == (160_000, 128_000, 0.8)


def test_nothing_ran():
    found = measure(timeline(100, [life("a", 0, 10, state=PENDING)])).work
    assert (found.wasted.value, found.goodput.value, found.service.why) == (None, None, "nothing ran")


def test_who_waits_at_the_end():
    big = {"reason": "ExceedsMaxQuota", "why": "64 asked, 32 are the most"}
    found = measure(
        timeline(
            1000,
            [
                life("late", 990, 10, state=PENDING, reason="WaitingForQuota"),
                life("huge", 100, 10, state=PENDING, amount=64, **big),
                life("huge2", 200, 10, state=PENDING, amount=64, **big),
                # evicted at 400: has waited since then
                life("again", 0, 500, stay(0, 400, by="team/x"), state=PENDING, requeues=1),
                life("no", 5, 10, state=REFUSED, queue="", reason="NoQueue"),
            ],
        )
    ).held
    assert [(one.job, one.waited) for one in found.stuck] == [
        ("team/huge", 900_000),
        ("team/huge2", 800_000),
        ("team/again", 600_000),
        ("team/late", 10_000),
    ]
    assert [(g.reason, g.jobs, g.amount, g.example.job) for g in by_reason(found.stuck)] == [
        ("ExceedsMaxQuota", 2, 128, "team/huge"),
        ("", 1, 8, "team/again"),
        ("WaitingForQuota", 1, 8, "team/late"),
    ]
    assert [one.job for one in found.refused] == ["team/no"]
    assert found.starved == ()


def test_who_has_quota_that_is_of_no_use_is_stuck_as_well():
    held_up = life("a", 100, 10, stay(150, admitted=-1, ready=-1), state=RUNNING)
    again = life(
        "b",
        0,
        10,
        stay(0, 5, ended_by="AdmissionCheck", admitted=-1, ready=-1),
        stay(20, admitted=-1, ready=-1),
        state=RUNNING,
        requeues=1,
    )
    found = measure(timeline(1000, [held_up, again, life("c", 0, 2000, stay(0), state=RUNNING)]))
    assert (found.jobs.running, found.jobs.holding) == (1, 3)
    assert [(one.job, one.waited, one.holds, one.evicted_by) for one in found.held.stuck] == [
        ("team/b", 995_000, True, "AdmissionCheck"),
        ("team/a", 900_000, True, ""),
    ]
    assert by_reason(found.held.stuck)[0][:4] == ("", True, 2, 16)


def starved(*others, priority=5, submit=0):
    waits = life("waits", submit, 20, state=PENDING, priority=priority)
    found = measure(timeline(1000, [waits, *others])).held
    assert bool(found.starved) == found.stuck[0].starved
    return found.starved[0].overtaken if found.starved else ""


def test_starved_is_who_waits_while_those_without_a_better_right_start():
    equal_and_later = life("later", 10, 5, stay(50, 55), priority=5)
    assert starved(equal_and_later) == "team/later"
    assert starved(life("lower", 0, 5, stay(50, 55), priority=4), submit=10) == "team/lower"
    assert starved(life("higher", 10, 5, stay(50, 55), priority=6)) == ""
    assert starved(life("equal", 0, 5, stay(50, 55), priority=5), submit=10) == ""  # it was first
    assert starved(life("before", 0, 5, stay(5, 9), priority=0), submit=10) == ""  # had started already
    assert starved(life("elsewhere", 10, 5, stay(50, 55), queue="b")) == ""
    assert starved(equal_and_later, submit=960) == ""  # 40 s are not five times 20 s


def test_starved_and_started_in_the_end():
    found = measure(
        timeline(
            1000,
            [life("waits", 0, 20, stay(500, 520)), life("later", 10, 5, stay(50, 55))],
        )
    ).held
    assert found.stuck == ()
    assert [(one.job, one.waited, one.overtaken, one.waits) for one in found.starved] == [
        ("team/waits", 500_000, "team/later", False)
    ]


def test_starved_agrees_with_comparing_every_two():
    import random

    draw = random.Random(7)
    lives = []
    for n in range(120):
        submit = draw.randrange(500)
        start = submit + draw.randrange(400)
        how = (stay(start, start + 5),) if draw.random() < 0.7 else ()
        lives.append(
            life(
                f"j{n:03}",
                submit,
                5,
                *how,
                state="finished" if how else PENDING,
                queue=draw.choice("ab"),
                priority=draw.randrange(4),
            )
        )
    starts = [(one.stays[0].admitted, one) for one in lives if one.stays]
    expected = set()
    for one in lives:
        until = one.stays[0].admitted if one.stays else 1_000_000
        if until - one.job.submit > 50_000 and any(
            one.job.submit < when < until
            and other.queue == one.queue
            and (
                other.job.priority < one.job.priority
                or (other.job.priority == one.job.priority and other.job.submit > one.job.submit)
            )
            for when, other in starts
        ):
            expected.add(one.job.id)
    assert 10 < len(expected) < 110
    assert {one.job for one in measure(timeline(1000, lives)).held.starved} == expected
