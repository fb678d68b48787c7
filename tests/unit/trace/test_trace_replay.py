"""Recorded jobs on the queues in sight: names, spreading, priorities, order, and what is said of it."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest

from policycheck.simulate.mix import Door, Site, Topology
from policycheck.simulate.replay import class_of, replay
from policycheck.simulate.trace import BY_ARRIVAL, SPREAD, SPREAD_JOBS, Replaying, Row, Size, Trace
from policycheck.simulate.trouble import ArrivalsError

GPU = "nvidia.com/gpu"
SITE = Site(
    (
        Door("team-a", "train", "queue-a", 48, ("rack", "host")),
        Door("team-b", "train", "queue-b", 16, ("rack", "host")),
        Door("team-c", "slices", "queue-c", 0, (), serves=False),
    ),
    64,
    priorities={"high": 1000},
)

ONE = Size(1, 1, 1000, 4000, 2**30)


def row(
    name,
    *,
    submit=0,
    duration=60_000,
    queue="q",
    priority="",
    size=ONE,
    line=2,
    models=(),
):
    return Row(line, name, submit, duration, size, queue, priority, models, "")


def trace(*rows):
    return Trace("t.csv", tuple(rows), "0" * 64, ("as read",))


def made(*rows, site=SITE, seed=1, **how):
    return replay(trace(*rows), site, GPU, seed, Replaying(**how))


def refused(*rows, site=SITE, **how):
    with pytest.raises(ArrivalsError) as error:
        made(*rows, site=site, **how)
    return "\n".join(error.value.problems)


def test_a_row_is_a_job():
    found = made(
        row(
            "a",
            submit=5,
            queue="queue-b",
            priority="high",
            size=Size(2, 8, 1000, 4000, 2**30),
            models=("H100",),
            line=7,
        )
    )
    (job,) = found.jobs
    assert (job.id, job.queue, job.submit, job.duration) == ("team-b/a", "train", 5, 60_000)
    assert (job.priority, job.priority_class, job.klass, job.models) == (1000, "high", "9-63 GPUs", ("H100",))
    assert (job.pods, job.pod_sets[0].requests) == (2, {"cpu": 4000, "memory": 2**30, GPU: 8})
    assert (job.origin, job.milli, job.nature) == ("t.csv:7", 1000, "batch")
    assert (found.source, found.digest, found.notes) == ("trace t.csv", "0" * 64, ("as read",))


def test_a_share_is_one_accelerator_in_thousandths():
    (job,) = made(row("a", queue="queue-a", size=Size(1, 1, 250, 0, 0))).jobs
    assert (job.milli, job.pod_sets[0].requests) == (250, {GPU: 1})


def test_one_size_is_one_object():
    found = made(*(row(f"r{n}", queue="queue-a") for n in range(10)))
    assert len({id(j.pod_sets) for j in found.jobs}) == 1


@pytest.mark.parametrize("name", ["team-b/train", "queue-b"])
def test_queues_by_name(name):
    found = made(row("a", queue=name), row("b", queue="queue-a"))
    assert [(j.id, j.queue) for j in found.jobs] == [("team-a/b", "train"), ("team-b/a", "train")]
    assert found.notes == ("as read",)


def test_queues_that_are_mapped():
    found = made(
        row("a", queue="x"),
        row("b", queue="y"),
        row("c", queue="z"),
        queues={"x": "team-b/train", "*": "queue-a"},
    )
    assert {j.id: j.namespace for j in found.jobs} == {
        "team-b/a": "team-b",
        "team-a/b": "team-a",
        "team-a/c": "team-a",
    }
    assert (
        "t.csv: jobs of recorded queues go to x -> team-b/train, y -> team-a/train, z -> team-a/train"
        in found.notes
    )


def test_unknown_queues_are_spread_whole_by_what_is_guaranteed():
    rows = [row(f"r{n}", queue=f"vc-{n % 8}") for n in range(80)]
    found = made(*rows)
    by_queue = {}
    for job, recorded in zip(sorted(found.jobs, key=lambda j: int(j.id[8:])), rows, strict=True):
        by_queue.setdefault(recorded.queue, set()).add(job.namespace)
    assert all(len(where) == 1 for where in by_queue.values())
    assert Counter(j.namespace for j in found.jobs) == {"team-a": 60, "team-b": 20}
    assert found.notes[1].startswith("t.csv: jobs of recorded queues go to vc-0 -> team-a/train")


def test_one_unknown_queue_is_spread_job_by_job():
    found = made(*(row(f"r{n}", queue="") for n in range(4000)))
    assert Counter(j.namespace for j in found.jobs)["team-a"] / 4000 == pytest.approx(0.75, abs=0.02)
    assert (
        "t.csv: jobs of no queue are spread one by one over 2 queues, by what these are guaranteed"
        in found.notes
    )
    asked = made(row("a", queue="x"), row("b", queue="y"), queues={"*": SPREAD_JOBS})
    assert len(asked.jobs) == 2
    assert "jobs of x, y are spread one by one" in asked.notes[1]


def test_spreading_may_be_asked_for():
    found = made(row("a", queue="queue-a"), row("b", queue="queue-b"), queues={"*": SPREAD})
    assert found.notes[1].startswith("t.csv: jobs of recorded queues go to queue-a -> ")


def test_a_queue_that_is_not_there_is_told():
    assert refused(row("a", queue="x"), queues={"*": "nowhere"}) == (
        "t.csv: no queue 'nowhere' is in sight; there are team-a/train, team-b/train, team-c/slices. Map the recorded "
        "ones (queues: {nowhere: team-a/train}), or spread them (queues: {'*': spread})"
    )
    assert "no queue 'x'" in refused(row("a", queue="x"), queues={"*": "name"})
    assert "no queue in sight has quota for what the trace asks for" in refused(row("a"), site=Site())


def test_priorities_by_number_class_and_map():
    rows = [row("a", queue="queue-a", priority=p) for p in ("", "7", "-3", "high", "LS")]
    found = made(*(r._replace(id=f"r{n}") for n, r in enumerate(rows)), priorities={"LS": 200})
    assert [j.priority for j in found.jobs] == [0, 7, -3, 1000, 200]


def test_a_priority_without_a_value_is_told_with_its_line():
    assert refused(
        row("a", queue="queue-a", priority="LS", line=9), row("b", queue="queue-a", priority="BE", line=12)
    ) == (
        "t.csv:9: priority 'LS' is neither a whole number nor a priority class in sight (there are: high); map it "
        "(priorities: {LS: 100})\n"
        "t.csv:12: priority 'BE' is neither a whole number nor a priority class in sight (there are: high); map it "
        "(priorities: {BE: 100})"
    )


def test_time_may_be_compressed():
    found = made(row("a", submit=1000, queue="queue-a"), row("b", submit=5001, queue="queue-a"), compress=10)
    assert [(j.submit, j.duration) for j in found.jobs] == [(100, 60_000), (500, 60_000)]
    assert "t.csv: arrivals are 10 times as dense as recorded" in found.notes


def test_in_order_of_arrival_jobs_are_drawn_until_enough_is_asked_for():
    rows = [row(f"r{n}", submit=n * 1000, queue="queue-a", size=Size(1, 2, 1000, 0, 0)) for n in range(20)]
    found = made(*rows, order=BY_ARRIVAL, seed=3)
    assert len(found.jobs) == 42  # 84 of 64, the first number past 130 %
    assert [j.submit for j in found.jobs] == [n * 1000 for n in range(42)]
    assert {j.duration for j in found.jobs} == {0}
    first = [j.id for j in found.jobs[:20]]
    assert sorted(first) == sorted(f"team-a/r{n}" for n in range(20))
    assert first != [f"team-a/r{n}" for n in range(20)]  # shuffled
    assert len({j.id for j in found.jobs}) == 42
    assert all("." in j.id for j in found.jobs[20:])
    assert (
        "t.csv: 42 jobs in random order, 22 of them drawn again, until 84 of 64 (130%) were asked for; none of them ends"
        in found.notes
    )
    assert [j.id for j in made(*rows, order=BY_ARRIVAL, seed=4).jobs[:20]] != first
    assert len(made(*rows, order=BY_ARRIVAL, until=0.25, step=500).jobs) == 8


def test_order_of_arrival_needs_a_capacity_and_jobs_that_fill_it():
    assert "nobody knows that" in refused(
        row("a", queue="queue-a"), order=BY_ARRIVAL, site=SITE._replace(capacity=0)
    )
    nothing = row("a", queue="queue-a", size=Size(1, 0, 1000, 0, 0))
    assert "no job asks for an accelerator" in refused(nothing, order=BY_ARRIVAL)


def test_draws_with_replacement_are_even():
    rows = [row(f"r{n}", queue="queue-a") for n in range(10)]
    found = made(*rows, order=BY_ARRIVAL, until=100, site=SITE)
    counts = Counter(j.id.split("/")[1].split(".")[0] for j in found.jobs)
    assert statistics.pstdev(counts.values()) / statistics.fmean(counts.values()) < 0.06


def test_gangs_may_ask_for_a_topology_that_traces_do_not_tell():
    rows = [row("a", queue="queue-a", size=Size(2, 8, 1000, 0, 0)), row("b", queue="queue-a")]
    found = made(*rows, topology=Topology("preferred", -2, pods=2), checkpoint=5, startup=7)
    asked = {j.id: j.pod_sets[0].topology and j.pod_sets[0].topology.level for j in found.jobs}
    assert asked == {"team-a/a": "rack", "team-a/b": None}
    assert {(j.checkpoint, j.startup) for j in found.jobs} == {(5, 7)}


def test_jobs_are_grouped_by_what_they_have():
    sizes = [(1, 0, 1000), (1, 1, 500), (1, 1, 1000), (2, 1, 1000), (1, 8, 1000), (2, 8, 1000), (8, 8, 1000)]
    assert [class_of(Size(*s, 0, 0)) for s in sizes] == [
        "no GPU",
        "part of a GPU",
        "1 GPU",
        "2-7 GPUs",
        "8 GPUs",
        "9-63 GPUs",
        "64 GPUs or more",
    ]
