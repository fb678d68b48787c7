"""What is Kueue's own over time: batches of parked workloads, sampled use, labels, checks that provision."""

import sys
from pathlib import Path

from policycheck.simulate.events import Delays
from policycheck.systems.kueue.model import (
    AdmissionFairSharing,
    Configuration,
    LocalQueue,
    WaitForPodsReady,
)

sys.path.insert(0, str(Path(__file__).parent))

from engine_world import job, life, node, opening, play, queue

PROVISIONING = "kueue.x-k8s.io/provisioning-request"


def test_parked_workloads_return_in_batches_when_asked_for():
    jobs = [job("x", "a", 0, 1_000, 6), job("y", "a", 0, 1_500, 2), job("z", "a", 10, 1_000, 5)]
    at_once, batched = (play([queue("a", 8)], jobs, delays=Delays(batch=b)) for b in (0, 1_000))
    assert life(at_once, "z").stays[0].reserved == 1_000
    assert life(batched, "z").stays[0].reserved == 2_000
    assert batched.cycles <= at_once.cycles


def test_who_is_not_parked_does_not_wait_for_a_batch():
    jobs = [job("x", "a", 0, 1_000, 6), job("late", "a", 1_500, 1_000, 8)]
    made = play([queue("a", 8)], jobs, delays=Delays(batch=1_000))
    assert life(made, "late").stays[0].reserved == 1_500


def test_who_used_less_goes_first_once_use_was_sampled():
    fair = AdmissionFairSharing(half_life=600.0, sampling=60.0, weights={})
    configuration = Configuration(
        admission_fair_sharing=fair, wait_for_pods_ready=WaitForPodsReady(enabled=False), found=True
    )
    shared = queue("a", 8)._replace(admission_mode="UsageBasedAdmissionFairSharing")
    start = opening([shared], configuration=configuration)
    locals_ = {("ns", n): LocalQueue("ns", n, "a") for n in ("busy", "calm")}
    start = start._replace(objects=start.objects._replace(local_queues=locals_))
    jobs = [
        job("first", "busy", 0, 400_000, 8),
        job("again", "busy", 100_000, 1_000, 8),
        job("other", "calm", 300_000, 1_000, 8),
    ]
    made = play([shared], jobs, opened=start)
    assert life(made, "other").stays[0].reserved == 400_000
    assert life(made, "again").stays[0].reserved == 401_000


def test_the_label_for_the_maximum_execution_time_is_heeded():
    labels = {"kueue.x-k8s.io/max-exec-time-seconds": "4"}
    made = play([queue("a", 8)], [job("x", "a", 0, 10_000, labels=labels)])
    (stay,) = life(made, "x").stays
    assert (stay.ended_by, stay.cause, stay.ended) == ("Deactivated", "MaximumExecutionTimeExceeded", 4_001)
    assert stay.lost == 4_000


def test_a_check_that_provisions_takes_two_minutes_unless_said_and_brings_its_nodes():
    queues, checks = [queue("a", 64, checks=("nodes",))], (("nodes", PROVISIONING),)
    pool = node("pool", 8)._replace(machines=0, most=3)
    made = play(queues, [job("x", "a", 0, 1_000, 8)], checks=checks, nodes=[pool])
    (stay,) = life(made, "x").stays
    assert (stay.reserved, stay.admitted, stay.ready) == (0, 120_000, 120_000)
    assert "admission check nodes is taken to agree after 2m" in made.notes
    quick = play(queues, [job("x", "a", 0, 1_000, 8)], checks=checks, delays=Delays(checks={"nodes": 5_000}))
    assert life(quick, "x").stays[0].admitted == 5_000
    assert "admission check nodes is taken to agree after 5s" in quick.notes


def test_a_timeout_sends_to_the_end_of_the_line_and_a_preemption_does_not():
    waits = WaitForPodsReady(timeout=10, recovery_timeout=10, backoff_base=0, backoff_max=0)
    jobs = [job("slow", "a", 0, 1_000, 8, startup=20_000), job("next", "a", 1, 5_000, 8)]
    made = play(
        [queue("a", 8)],
        jobs,
        configuration=Configuration(wait_for_pods_ready=waits, found=True),
        horizon=14_000,
    )
    assert life(made, "next").stays[0].reserved == 10_001
    taken = [
        job("low", "a", 0, 9_000, 8),
        job("equal", "a", 1, 9_000, 8),
        job("high", "a", 2, 1_000, 8, priority=1),
    ]
    made = play([queue("a", 8, within="LowerPriority")], taken)
    assert life(made, "low").stays[1].reserved < life(made, "equal").stays[0].reserved
