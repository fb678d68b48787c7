"""What simulated time costs, counted: an event costs its own tree only, and most heads are not nominated."""

import sys
from pathlib import Path

import pytest

from policycheck.simulate.draw import stream
from policycheck.simulate.events import Delays
from policycheck.simulate.timeline import PENDING
from policycheck.systems.kueue.drive import admitter
from policycheck.systems.kueue.model import Configuration, WaitForPodsReady
from policycheck.systems.kueue.scheduler.cycle import Cycle

sys.path.insert(0, str(Path(__file__).parent))

from engine_world import job, life, play, queue


@pytest.fixture
def looked(monkeypatch):
    """(time in ms, trees decided together, their heads) of every cycle."""
    found = []
    together = Cycle._together

    def count(self, numbers, heads):
        at = (self._session.now - 10**9) // 1_000_000
        found.append((at, tuple(numbers), sum(len(heads[n]) for n in numbers)))
        return together(self, numbers, heads)

    monkeypatch.setattr(Cycle, "_together", count)
    return found


def stuck(cohorts):
    """In every cohort a strict queue whose head waits for long, and in the first one a queue with traffic."""
    queues, jobs = [queue("busy", 1, "co0")], []
    for n in range(cohorts):
        queues.append(queue(f"strict{n}", 4, f"co{n}", strict=True))
        jobs += [job(f"holds{n}", f"strict{n}", 0, 50_000, 4), job(f"waits{n}", f"strict{n}", 1, 1_000, 4)]
    jobs += [job(f"passes{n}", "busy", 1_000 + 100 * n, 150) for n in range(20)]
    return queues, jobs


@pytest.mark.parametrize("batch", [0, 300])
def test_an_event_looks_at_its_own_tree_only(looked, batch):
    made = play(*stuck(6), delays=Delays(batch=batch))
    assert all(one.state == "finished" for one in made.lives)
    between = [trees for at, trees, _ in looked if 1_000 <= at < 50_000]
    assert len(between) >= 20
    assert len(set(between)) == 1


def test_batches_return_tree_by_tree(looked):
    queues = [queue(f"q{n}", 4, f"co{n}") for n in range(5)]
    jobs = [job(f"holds{n}", f"q{n}", 0, 1_000 + 50 * n, 4) for n in range(5)]
    jobs += [job(f"waits{n}", f"q{n}", 1, 1_000, 4) for n in range(5)]
    play(queues, jobs, delays=Delays(batch=500))
    returned = [trees for at, trees, _ in looked if 1_500 <= at < 1_750]
    assert [n for trees in returned for n in trees] == [0, 1, 2, 3, 4]


def crowd(cohorts):
    """Preempting queues in cohorts of five, out of step, that want more than there is."""
    queues = [
        queue(f"q{n:02d}", 4, f"co{n // 5}", within="LowerPriority", reclaim="Any")
        for n in range(5 * cohorts)
    ]
    jobs = []
    for n in range(25 * len(queues)):
        draw = stream(1, "crowd", n)
        submit = n // len(queues) * 6_000 + draw.below(6_000)
        gpus = (1, 1, 2, 4)[draw.below(4)]
        jobs.append(
            job(
                f"j{n:04d}",
                f"q{n % len(queues):02d}",
                submit,
                6_000 + draw.below(40_000),
                gpus,
                priority=draw.below(3),
            )
        )
    return queues, jobs


def per_admission(made, looked):
    admissions = sum(len(one.stays) for one in made.lives)
    return made.nominations / admissions, sum(heads for _, _, heads in looked) / admissions


def test_most_heads_are_not_nominated(looked):
    made = play(*crowd(2))
    nominated, heads = per_admission(made, looked)
    assert any(stay.ended_by == "Preempted" for one in made.lives for stay in one.stays)
    assert nominated < 5
    assert heads > 2 * nominated


def test_ten_times_the_queues_cost_ten_times_as_much(looked):
    few = per_admission(play(*crowd(1)), looked)
    looked.clear()
    many = per_admission(play(*crowd(10)), looked)
    assert many == pytest.approx(few, rel=0.2)


def test_why_is_worked_out_once_for_all_that_are_alike(monkeypatch):
    said = []
    sentence = admitter.sentence
    monkeypatch.setattr(admitter, "sentence", lambda *a: said.append(a) or sentence(*a))
    jobs = [job("holds", "a", 0, 10_000, 4), *(job(f"w{n}", "a", 1, 1_000, 2) for n in range(30))]
    made = play([queue("a", 4)], jobs, horizon=5_000)
    waiting = [one for one in made.lives if one.state == PENDING]
    assert len(waiting) == 30
    assert {one.why for one in waiting} == {waiting[0].why}
    assert waiting[0].why
    assert len(said) == 1


def test_who_was_held_up_goes_on_when_the_last_one_without_pods_is_gone():
    """blockAdmission couples all trees: what happens in one of them lets the others go on."""
    waits = WaitForPodsReady(timeout=1, recovery_timeout=1, block_admission=True, backoff_limit=0)
    jobs = [
        job("never", "a", 0, 1_000, 4, startup=90_000),
        job("nor", "a", 0, 1_000, 4, startup=90_000),
        job("held", "b", 0, 1_000, 4),
    ]
    configuration = Configuration(wait_for_pods_ready=waits, found=True)
    made = play([queue("a", 4), queue("b", 4, strict=True)], jobs, configuration=configuration)
    assert life(made, "held").state == "finished"
    assert life(made, "held").stays[0].reserved == life(made, "nor").stays[0].ended
