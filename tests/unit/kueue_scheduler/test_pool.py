"""Victims looked for among those that all heads of a cohort share are those of a search by itself."""

import sys
from pathlib import Path

import pytest

from policycheck.simulate.draw import stream
from policycheck.simulate.events import Delays
from policycheck.systems.kueue.model import BorrowWithinCohort, LocalQueue
from policycheck.systems.kueue.scheduler import nominate

sys.path.insert(0, str(Path(__file__).parents[1] / "simulate"))

from engine_world import job, opening, play, queue


def crowd(within, borrow, seed):
    """Two cohorts of queues that take from one another, in two flavors; two LocalQueues lead to each queue."""
    queues = []
    for n in range(8):
        one = queue(f"q{n}", 3, f"co{n // 4}", within=within, reclaim="Any", flavors={"f": 3, "g": (1, 1)})
        policy = one.preemption._replace(borrow_within_cohort=borrow)
        queues.append(one._replace(preemption=policy))
    jobs = []
    for n in range(160):
        draw = stream(seed, "pool", n)
        submit, length = 100 * n + draw.below(2_000), 2_000 + draw.below(9_000)
        name, gpus = f"q{draw.below(8)}", (1, 1, 2, 3)[draw.below(4)]
        name += ("", "-b")[draw.below(2)]
        jobs.append(job(f"j{n:03d}", name, submit, length, gpus, priority=draw.below(4)))
    start = opening(queues)
    others = {("ns", f"{q.name}-b"): LocalQueue("ns", f"{q.name}-b", q.name) for q in queues}
    objects = start.objects._replace(local_queues={**start.objects.local_queues, **others})
    return queues, jobs, start._replace(objects=objects)


@pytest.mark.parametrize("within", ["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
@pytest.mark.parametrize(
    "borrow",
    [BorrowWithinCohort(), BorrowWithinCohort("LowerPriority"), BorrowWithinCohort("LowerPriority", 1)],
    ids=str,
)
def test_shared_candidates_give_the_same_victims(monkeypatch, within, borrow):
    searched = nominate.classical.targets
    seen = []

    def use(item):
        return float(sum(map(ord, item.id)) % 7)

    def both(contest, local_use, trace=None):
        alone = searched(contest._replace(pool=None), local_use, trace)
        # What LocalQueues have used, and why who was spared, is for the search by itself, and is not lost.
        fair, told, told_alone = searched(contest, use), [], []
        assert fair == searched(contest._replace(pool=None), use)
        searched(contest, None, told)
        searched(contest._replace(pool=None), None, told_alone)
        assert told == told_alone
        shared = searched(contest, local_use, trace)
        seen.append((contest.pool is not None, [(v.id, why) for v, why in shared]))
        assert seen[-1][1] == [(v.id, why) for v, why in alone]
        return shared

    monkeypatch.setattr(nominate.classical, "targets", both)
    for seed in range(3):
        queues, jobs, start = crowd(within, borrow, seed)
        play(queues, jobs, opened=start, delays=Delays(grace=300 * seed))  # some are still being evicted
    assert sum(pooled and len(victims) > 0 for pooled, victims in seen) > 20
    whys = {why for _, victims in seen for _, why in victims}
    assert "InCohortReclamation" in whys
    assert ("InClusterQueue" in whys) == (within != "Never")
    assert ("InCohortReclaimWhileBorrowing" in whys) == (borrow.policy != "Never")
