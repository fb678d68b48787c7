"""A mix made into jobs: how many, how large, where they go, and what they have to do with each other."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest

from policycheck.simulate.generate import generate
from policycheck.simulate.mix import Door, Site
from policycheck.simulate.mixfile import read
from policycheck.simulate.period import DAY, HOUR, WEEK
from policycheck.simulate.trouble import ArrivalsError

GPU = "nvidia.com/gpu"
LEVELS = ("block", "rack", "host")
DOORS = (
    Door("team-a", "train", "a", 48, LEVELS),
    Door("team-b", "train", "b", 16, LEVELS),
    Door("team-c", "slices", "c", 0, (), serves=False),
)
SITE = Site(DOORS, 64)


def mix(text, head="mix: x\nresource: nvidia.com/gpu\nhorizon: 2d\n"):
    return read("m.yaml", (head + text).encode())


def jobs(text, *, site=SITE, seed=1, **more):
    return generate(mix(text), site, seed, **more).jobs


ONE = "classes:\n  - {name: one, rate: 60/h, gpus: 1, duration: 1h}\n"
RATE = "  - {name: b, rate: 1/h, gpus: 1, duration: 1h}\n"
TWO = ONE + "  - {name: two, rate: 30/h, gpus: 2, duration: {mean: 2h, median: 1h}}\n"


def units(job):
    return sum(s.pods * s.requests.get(GPU, 0) for s in job.pod_sets) * job.milli / 1000


def test_the_same_input_gives_the_same_jobs():
    assert generate(mix(TWO), SITE, 5) == generate(mix(TWO), SITE, 5)
    assert jobs(TWO, seed=5) != jobs(TWO, seed=6)


def test_jobs_come_in_order_and_have_names_of_their_own():
    found = jobs(TWO)
    assert [(j.submit, j.id) for j in found] == sorted((j.submit, j.id) for j in found)
    assert len({j.id for j in found}) == len(found)
    assert all(isinstance(n, int) for j in found for n in (j.submit, j.duration, j.startup))


def test_a_class_that_is_added_leaves_the_others_alone():
    alone = jobs(ONE)
    beside = [j for j in jobs(TWO) if j.klass == "one"]
    assert [j._replace(origin="") for j in beside] == [j._replace(origin="") for j in alone]


def test_a_queue_that_is_added_leaves_the_draws_of_others_alone():
    text = "classes:\n  - {name: one, rate: 60/h, per: queue, gpus: 1, duration: {mean: 2h, median: 1h}}\n"
    more = Site((*DOORS, Door("team-d", "train", "d", 100, LEVELS)), 164)
    assert [j for j in jobs(text, site=more) if j.namespace != "team-d"] == list(jobs(text))


def test_more_jobs_begin_as_fewer_do():
    """The n-th job of a class has the n-th draw of each kind, however many follow."""
    text = "classes:\n  - {{name: a, jobs: {n}, arrival: start, gpus: {{1: 1, 2: 1}}, duration: {{mean: 2h, median: 1h}}}}\n"
    few, many = jobs(text.format(n=40)), jobs(text.format(n=80))
    known = {j.id: j for j in many}
    assert all(known[j.id] == j for j in few)


def test_jobs_go_to_queues_by_what_these_are_guaranteed():
    share = Counter(j.namespace for j in jobs(ONE.replace("60/h", "600/h")))
    assert share["team-a"] / share.total() == pytest.approx(0.75, abs=0.01)
    assert share["team-c"] == 0


@pytest.mark.parametrize(
    ("queues", "spread", "wanted"),
    [
        ("'*'", "evenly", {"team-a": 0.5, "team-b": 0.5}),
        ("[team-b/train]", "guarantee", {"team-b": 1}),
        ("train", "evenly", {"team-a": 0.5, "team-b": 0.5}),
        ("{team-a/train: 1, team-b/train: 3}", "guarantee", {"team-a": 0.25, "team-b": 0.75}),
        ("{team-b/train: 1, '*': 1}", "guarantee", {"team-a": 0.5, "team-b": 0.5}),
        ("['team-?/slices', slices]", "guarantee", None),
        ("{slices: 1}", "guarantee", {"team-c": 1}),
    ],
)
def test_queues_by_name_pattern_and_weight(queues, spread, wanted):
    text = f"queues: {queues}\nspread: {spread}\n" + ONE.replace("60/h", "600/h")
    if wanted is None:  # a pattern that only fits a queue without quota for the resource
        with pytest.raises(ArrivalsError, match="no queue 'team-"):
            jobs(text)
        return
    share = Counter(j.namespace for j in jobs(text))
    for name, part in wanted.items():
        assert share[name] / share.total() == pytest.approx(part, abs=0.02)
    assert set(share) == set(wanted)


def test_a_namespace_narrows_the_queues():
    text = "classes:\n  - {name: one, rate: 60/h, gpus: 1, duration: 1h, namespace: team-b}\n"
    assert {j.namespace for j in jobs(text)} == {"team-b"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "queues: [team-x/train]\n" + ONE,
            "m.yaml:6: class one: no queue 'team-x/train' is in sight; there are team-a/train, team-b/train",
        ),
        (
            ONE.replace("gpus: 1", "gpus: 1, namespace: nobody"),
            "class one: no queue in namespace nobody is in sight",
        ),
        ("queues: {train: 0}\n" + ONE, "class one: all weights of its queues are 0"),
        (
            ONE.replace("gpus: 1", "gpus: 1, priority: high"),
            "class one: no priority class 'high' is in sight (there are: none)",
        ),
        (
            "load: 1\n" + ONE.replace("gpus: 1", "requests: {cpu: 1}"),
            "no class with a rate or a share asks for",
        ),
    ],
)
def test_what_does_not_fit_here_is_told(text, why):
    with pytest.raises(ArrivalsError) as error:
        jobs(text)
    assert why in str(error.value)


def test_without_any_queue_it_says_what_to_give():
    with pytest.raises(
        ArrivalsError, match="no queue at all: give manifests with queues, or a mix that brings its own"
    ):
        jobs(ONE, site=Site())


def test_without_an_end_nothing_begins():
    with pytest.raises(ArrivalsError, match="class one: it arrives without end; write 'horizon: 7d'"):
        generate(mix(ONE, "mix: x\nresource: nvidia.com/gpu\n"), SITE, 1)
    assert generate(mix(ONE, "mix: x\nresource: nvidia.com/gpu\n"), SITE, 1, horizon=HOUR).horizon == HOUR


def test_too_many_jobs_are_refused_before_they_are_made():
    with pytest.raises(
        ArrivalsError, match="up to 2,000,000 jobs can be simulated, and about 2,880,000 would arrive"
    ):
        jobs(ONE.replace("60/h", "1000/m"))


def test_a_load_is_a_share_of_the_capacity():
    text = (
        "load: 0.5\nclasses:\n  - {name: a, share: 0.9, gpus: {1: 1, 2: 1}, duration: {exponential: 30m}}\n"
        "  - {name: b, share: 0.1, gpus: 8, duration: 1h}\n"
    )
    found = jobs(text, horizon=WEEK)
    asked = sum(units(j) * j.duration for j in found)
    assert asked / (64 * WEEK) == pytest.approx(0.5, rel=0.05)
    assert Counter(j.klass for j in found)["b"] / len(found) == pytest.approx(0.1, abs=0.01)
    twice = jobs(text, horizon=WEEK, load=1.0)
    assert len(twice) / len(found) == pytest.approx(2, rel=0.06)


def test_a_load_fills_what_rates_and_services_leave():
    text = (
        "load: 1.0\nclasses:\n  - {name: steady, rate: 16/h, gpus: 1, duration: 1h}\n"
        "  - {name: web, nature: service, gpus: 2, replicas: {share: 0.25}}\n"
        "  - {name: rest, share: 1, gpus: 1, duration: 1h}\n"
    )
    found = jobs(text, horizon=WEEK)
    by = Counter()
    for job in found:
        by[job.klass] += units(job) * (job.duration or WEEK - job.submit) / (64 * WEEK)
    assert by["steady"] == pytest.approx(0.25, rel=0.05)
    assert by["web"] == pytest.approx(0.25)
    assert by["rest"] == pytest.approx(0.5, rel=0.05)


def test_a_load_scales_rates_when_nothing_has_a_share():
    found = jobs("load: 0.5\n" + ONE, horizon=WEEK)
    assert sum(j.duration for j in found) / (64 * WEEK) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("text", "site", "why"),
    [
        (
            "load: 1\n" + ONE,
            Site(DOORS),
            "'load' is a share of the capacity in nvidia.com/gpu, and nobody knows that",
        ),
        (
            "load: 0.1\nclasses:\n  - {name: a, rate: 60/h, gpus: 1, duration: 1h}\n  - {name: b, share: 1, gpus: 1, duration: 1h}\n",
            SITE,
            "a load of 0.1 of 64 nvidia.com/gpu is 6, and what has its own size takes 60 already",
        ),
        (
            "load: 0.1\nclasses:\n  - {name: a, nature: service, gpus: 1, replicas: {share: 0.2}}\n" + RATE,
            SITE,
            "what has its own size takes 13 already",
        ),
        (
            "classes:\n  - {name: a, nature: service, gpus: 1, replicas: {share: 0.2}}\n",
            Site(DOORS),
            "its replicas are a share of the capacity in nvidia.com/gpu, and nobody knows that",
        ),
    ],
)
def test_a_load_that_can_not_be_is_told(text, site, why):
    with pytest.raises(ArrivalsError) as error:
        jobs(text, site=site)
    assert why in str(error.value)


def test_what_was_drawn_is_told_beside_the_load():
    notes = generate(mix("load: 0.5\n" + ONE), SITE, 1, horizon=WEEK).notes
    assert any("% of the capacity over 7d" in note for note in notes)


def test_a_given_number_is_shared_out_to_the_last_job():
    text = "classes:\n  - {name: a, jobs: 11, arrival: start, gpus: 1, duration: 1h}\n"
    assert Counter(j.namespace for j in jobs(text)) == {"team-a": 8, "team-b": 3}
    each = Counter(j.namespace for j in jobs(text.replace("jobs: 11", "jobs: 11, per: queue")))
    assert each == {"team-a": 11, "team-b": 11}


def test_a_number_of_jobs_for_the_whole_mix():
    text = (
        "jobs: 1000\nclasses:\n  - {name: a, share: 0.75, gpus: 1, duration: 1h}\n"
        "  - {name: b, share: 0.25, gpus: 1, duration: 1h}\n"
    )
    assert Counter(j.klass for j in jobs(text)) == {"a": 750, "b": 250}


def test_a_rate_for_the_whole_mix():
    text = "rate: 100/h\nclasses:\n  - {name: a, share: 0.75, gpus: 1, duration: 1h}\n  - {name: b, share: 0.25, gpus: 1, duration: 1h}\n"
    found = Counter(j.klass for j in jobs(text, horizon=WEEK))
    assert found["a"] == pytest.approx(75 * 168, rel=0.03)
    assert found["b"] == pytest.approx(25 * 168, rel=0.05)


def test_shapes_companions_and_shares():
    text = (
        "classes:\n  - {name: a, jobs: 4000, arrival: start, gpus: {0.25: 1, 1: 1, 2: 2}, pods: {1: 3, 4: 1}, "
        "requests: {cpu: 500m}, requests-per-gpu: {cpu: 4, memory: 1Gi}, duration: 1h}\n"
    )
    found = jobs(text)
    seen = Counter((j.pods, j.pod_sets[0].requests[GPU], j.milli) for j in found)
    assert seen[1, 2, 1000] / 4000 == pytest.approx(0.375, abs=0.03)
    assert seen[4, 1, 250] / 4000 == pytest.approx(0.0625, abs=0.02)
    for job in found:
        part = job.pod_sets[0].requests[GPU] * job.milli / 1000
        assert job.pod_sets[0].requests["cpu"] == 500 + 4000 * part
        assert job.pod_sets[0].requests["memory"] == 2**30 * part


def test_one_shape_is_one_object():
    found = jobs(TWO.replace("gpus: 2", "gpus: 1"))
    assert len({id(j.pod_sets) for j in found}) == 1
    assert len(found) > 1000


def test_whole_jobs_are_cut_into_pods():
    text = "classes:\n  - {name: a, jobs: 400, arrival: start, job-gpus: {4: 1, 8: 1, 12: 1, 32: 1}, duration: 1h}\n"
    found = {(j.pods, j.pod_sets[0].requests[GPU]) for j in jobs(text)}
    assert found == {(1, 4), (1, 8), (2, 6), (4, 8)}
    small = Site((DOORS[0]._replace(per_host=4), DOORS[1]._replace(per_host=16)), 64)
    made = generate(mix(text), small, 1)
    found = {(j.namespace[-1], j.pods, j.pod_sets[0].requests[GPU]) for j in made.jobs}
    assert {one[1:] for one in found if one[0] == "a"} == {(1, 4), (2, 4), (3, 4), (8, 4)}
    assert {one[1:] for one in found if one[0] == "b"} == {(1, 4), (1, 8), (2, 6), (4, 8)}
    assert made.notes == (
        "class a: pods have at most 4 of nvidia.com/gpu, as the largest node of their queue",
    )


def test_a_topology_level_by_label_or_by_place():
    base = "classes:\n  - {name: a, jobs: 40, arrival: start, job-gpus: {8: 1, 16: 1}, duration: 1h, topology: %s}\n"
    for written, level in (("rack", "rack"), ("-2", "rack"), ("0", "block")):
        found = jobs(base % f"{{mode: required, level: {written}, pods: 2}}")
        asked = {(j.pods, j.pod_sets[0].topology and j.pod_sets[0].topology.level) for j in found}
        assert asked == {(1, None), (2, level)}
    sliced = jobs(base % "{slice-level: rack, slice-size: 1}")[0].pod_sets[0].topology
    assert (sliced.mode, sliced.slice_level, sliced.slice_size) == ("", "rack", 1)


def test_a_topology_level_that_is_not_there_is_left_out_and_told():
    text = "queues: [slices]\nclasses:\n  - {name: a, jobs: 2, arrival: start, gpus: 1, duration: 1h, topology: {mode: preferred, level: -2}}\n"
    made = generate(mix(text), SITE, 1)
    assert {j.pod_sets[0].topology for j in made.jobs} == {None}
    assert (
        "class a: asks for a topology level that its queues have not; that is left out of its jobs"
        in made.notes
    )


def test_priorities_by_number_class_and_odds():
    text = "classes:\n  - {name: a, jobs: 2000, arrival: start, gpus: 1, duration: 1h, priority: [{class: high, share: 1}, {value: 7, share: 3}]}\n"
    found = Counter(
        (j.priority, j.priority_class) for j in jobs(text, site=SITE._replace(priorities={"high": 1000}))
    )
    assert set(found) == {(1000, "high"), (7, "")}
    assert found[1000, "high"] / 2000 == pytest.approx(0.25, abs=0.03)


def test_what_a_class_says_is_in_its_jobs():
    text = (
        "classes:\n  - {name: a, jobs: 1, arrival: {process: start, first: 1h}, gpus: 1, duration: 2h, checkpoint: 30m, "
        "startup: 90s, limit: 1d, models: [H100], labels: {k: v}, annotations: {note: w}, node-selector: {pool: x}, "
        "tolerations: [{key: gpu, operator: Exists}], queues: [team-b/train]}\n"
    )
    (job,) = jobs(text)
    assert job.id == "team-b/train.a.000000"
    assert (job.submit, job.duration, job.checkpoint) == (HOUR, 2 * HOUR, HOUR // 2)
    assert (job.startup, job.limit, job.models, job.origin) == (90_000, DAY, ("H100",), "m.yaml:5")
    assert (job.labels, job.annotations) == ({"k": "v"}, {"note": "w"})
    assert job.pod_sets[0].node_selector == {"pool": "x"}
    assert job.pod_sets[0].tolerations[0].operator == "Exists"


def test_run_times_follow_their_distribution():
    text = "classes:\n  - {name: a, jobs: 40000, arrival: start, gpus: 1, duration: {mean: 2h, median: 1h}}\n"
    found = [j.duration for j in jobs(text)]
    assert statistics.fmean(found) == pytest.approx(2 * HOUR, rel=0.03)
    assert statistics.median(found) == pytest.approx(HOUR, rel=0.03)
    assert min(found) >= 1


def test_jobs_larger_than_the_cluster_allows_are_not_drawn():
    text = "largest: 0.25\nclasses:\n  - {name: a, jobs: 300, arrival: start, job-gpus: {8: 1, 16: 1, 32: 2}, duration: 1h}\n"
    made = generate(mix(text), SITE, 1)
    assert {units(j) for j in made.jobs} == {8, 16}
    assert any(
        "class a: 1 of 3 sizes ask for more than 16 of nvidia.com/gpu (25% of 64) and are not drawn; they were 50.00%"
        in note
        for note in made.notes
    )
    with pytest.raises(
        ArrivalsError, match=r"class a: its smallest job asks for 8 of nvidia.com/gpu, more than the 0\.64"
    ):
        generate(mix(text.replace("0.25", "0.01")), SITE, 1)


LIMITED = (
    "largest: 1\nclasses:\n  - {name: a, jobs: 900, arrival: start, job-gpus: {2: 1, 16: 1, 32: 1}, duration: 1h}\n"
    "  - {name: b, jobs: 9, arrival: start, gpus: 8, duration: 1h}\n"
)


def test_what_a_queue_could_never_hold_is_not_sent_there():
    doors = (DOORS[0]._replace(most=64, per_host=8), DOORS[1]._replace(most=20, per_host=4))
    made = generate(mix(LIMITED), Site(doors, 64), 1)
    sizes = {(j.namespace, units(j)) for j in made.jobs if j.klass == "a"}
    assert sizes == {("team-a", 2), ("team-a", 16), ("team-a", 32), ("team-b", 2), ("team-b", 16)}
    assert {j.namespace for j in made.jobs if j.klass == "b"} == {"team-a"}  # no node of b has 8
    assert made.notes == (
        "class a: sizes that they could never hold are not drawn for team-b/train",
        "class a: pods have at most 4 of nvidia.com/gpu, as the largest node of their queue",
        "class b: nothing of it goes to team-b/train, which could hold no size of it",
    )


def test_without_that_limit_what_can_not_run_is_sent_all_the_same():
    """A mix of one's own may want to see what becomes of it."""
    doors = (DOORS[0]._replace(most=64, per_host=8), DOORS[1]._replace(most=20, per_host=4))
    made = generate(mix(LIMITED.replace("largest: 1\n", "")), Site(doors, 64), 1)
    assert ("team-b", 32) in {(j.namespace, units(j)) for j in made.jobs}
    assert "team-b" in {j.namespace for j in made.jobs if j.klass == "b"}


def test_a_load_counts_what_each_queue_is_really_sent():
    text = "largest: 1\nload: 0.8\nclasses:\n  - {name: a, share: 1, gpus: {1: 1, 16: 1}, duration: 1h}\n"
    doors = (DOORS[0]._replace(most=48, per_host=16), DOORS[1]._replace(most=8, per_host=8))
    found = generate(mix(text), Site(doors, 64), 1, horizon=WEEK).jobs
    assert sum(units(j) * j.duration for j in found) / (64 * WEEK) == pytest.approx(0.8, rel=0.05)


def test_a_class_that_fits_nowhere_is_told():
    doors = tuple(d._replace(most=1) for d in DOORS)
    with pytest.raises(
        ArrivalsError, match="class a: no queue of it could ever hold its smallest job with 2 of nvidia"
    ):
        generate(mix(LIMITED), Site(doors, 64), 1)


def test_assumptions_are_notes():
    made = generate(mix("assumed: [gangs are of eight]\n" + ONE), SITE, 1)
    assert made.notes == ("assumed: gangs are of eight",)
    assert made.source == "mix x"
    assert len(made.digest) == 64


def test_files_beside_the_mix():
    text = (
        "classes:\n  - {name: a, jobs: 2000, arrival: start, gpus: 1, duration: {file: times.csv, column: seconds, most: 1m}}\n"
        "  - {name: b, arrival: {process: replay, file: times.csv, column: 0}, gpus: 1, duration: 1h}\n"
    )
    held = {"times.csv": b"at,seconds\n10s,5\n20s,10\n30s,600\n"}
    found = generate(
        read("m.yaml", b"mix: x\nresource: nvidia.com/gpu\n" + text.encode(), held.__getitem__), SITE, 1
    ).jobs
    assert {j.duration for j in found if j.klass == "a"} == {5000, 10_000, 60_000}
    assert sorted(j.submit for j in found if j.klass == "b" and j.namespace == "team-a") == [
        10_000,
        20_000,
        30_000,
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"at,seconds\n10s,soon\n", "times.csv:2: 'soon' is no length of time"),
        (b"at,minutes\n1,2\n", "times.csv has no column 'seconds'; it has at, minutes"),
        (b"at,seconds\n", "times.csv has no lines below its head"),
        (b"", "times.csv is empty"),
        (b"at,seconds\n1\n", "times.csv:2: there is no column 2"),
        (b"\xff\xfe", "times.csv can not be read"),
        (None, "times.csv can not be read: No such file"),
    ],
)
def test_a_file_that_can_not_be_used_is_told(data, why):
    def fetch(name):
        if data is None:
            raise FileNotFoundError(2, "No such file")
        return data

    text = b"mix: x\nclasses:\n  - {name: a, jobs: 2, arrival: start, gpus: 1, duration: {file: times.csv, column: seconds}}\n"
    with pytest.raises(ArrivalsError) as error:
        read("m.yaml", text, fetch)
    assert why in str(error.value)
    assert str(error.value).startswith("m.yaml:3:")
