"""Every preset loads, generates, and says what its publication says."""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path

import pytest

from policycheck.app import load
from policycheck.app.arrivals import Offering, arrivals, load_mix, mix_sources, presets, site, with_mix
from policycheck.app.gather import Sources
from policycheck.data import root
from policycheck.lint.settings import Settings
from policycheck.simulate.generate import generate
from policycheck.simulate.job import SERVICE
from policycheck.simulate.mix import Door, Site
from policycheck.simulate.trouble import ArrivalsError

GPU = "nvidia.com/gpu"
PUBLISHED = {"philly", "helios", "pai", "acme", "production", "research"}
HARNESS = {"kueue-baseline", "kueue-large-scale", "kueue-topology"}
# A cluster on which no size is too large, so that what is published can be met.
HUGE = Site((Door("team", "train", "team", 65_536, ("block", "rack", "host")),), 65_536)


def nothing(name):
    raise FileNotFoundError(2, "No such file or directory", name)


def brought(name):
    mix = load_mix(name, nothing)
    (cluster,) = load(with_mix(Sources((), nothing), mix), Settings())
    return mix, cluster


def units(job):
    return sum(s.pods * s.requests.get(GPU, 0) for s in job.pod_sets) * job.milli / 1000


def test_the_presets_are_those_that_the_command_line_promises():
    jittered = {f"{name}-jittered" for name in HARNESS}
    assert set(presets()) == PUBLISHED | HARNESS | jittered | {"twelve-teams"}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_published_mix_arrives_on_the_demo_cluster(name):
    folder = str(root() / "fixtures" / "clusters" / "demo-good")
    (cluster,) = load(Sources((folder,), lambda path: Path(path).read_bytes()), Settings())
    made = arrivals(cluster, Offering(load_mix(name, nothing), seed=2))
    assert len(made.jobs) > 1000
    assert made.horizon == 7 * 86_400_000
    assert {j.queue for j in made.jobs} >= {"train", "batch", "serving"}
    assert "dev" not in {j.queue for j in made.jobs}  # those have slices only
    assert any("% of 224 nvidia.com/gpu, which is what the usable nodes have" in note for note in made.notes)


# AcmeTrace, data/cluster_summary.csv: run time mean and median, GPUs in the mean, GPU seconds for each job.
@pytest.mark.parametrize(
    ("name", "mean", "median", "gpus", "gpu_seconds"),
    [
        ("philly", 18_006, 874, 1.928, 61_038),
        ("helios", 6_652, 206, 3.716, 49_351),
        ("pai", 4_787, 480.7, 0.683, None),
    ],
)
def test_a_published_mix_has_the_published_numbers(name, mean, median, gpus, gpu_seconds):
    mix = load_mix(name, nothing)._replace(largest=0.0, resource=GPU)
    runs = sum(k.share * k.duration.mean() for k in mix.classes) / 1000
    sizes = sum(k.share * k.work(GPU) / k.duration.mean() for k in mix.classes)
    work = sum(k.share * k.work(GPU) for k in mix.classes) / 1000
    assert runs == pytest.approx(mean, rel=0.01)
    assert sizes == pytest.approx(gpus, rel=0.01)
    if gpu_seconds:
        assert work == pytest.approx(gpu_seconds, rel=0.01)
    jobs = generate(mix, HUGE, 4, load=0.5 if name != "pai" else 0.02).jobs
    assert statistics.median(j.duration for j in jobs) / 1000 == pytest.approx(median, rel=0.05)
    assert statistics.median(map(units, jobs)) == (0.5 if name == "pai" else 1)


# Seren and Kalos, each with its share of the jobs.
@pytest.mark.parametrize(
    ("cluster", "mean", "gpus", "gpu_seconds"),
    [("seren", 1_414, 5.68, 32_405), ("kalos", 1_260, 26.77, 267_905)],
)
def test_acme_has_the_published_numbers_of_both_clusters(cluster, mean, gpus, gpu_seconds):
    classes = [k for k in load_mix("acme", nothing).classes if k.name.startswith(cluster)]
    share = sum(k.share for k in classes)
    assert sum(k.share * k.duration.mean() for k in classes) / share / 1000 == pytest.approx(mean, rel=0.01)
    assert sum(k.share * k.work(GPU) / k.duration.mean() for k in classes) / share == pytest.approx(
        gpus, rel=0.01
    )
    assert sum(k.share * k.work(GPU) for k in classes) / share / 1000 == pytest.approx(gpu_seconds, rel=0.01)
    medians = {"seren": 122, "kalos": 124}
    mix = load_mix("acme", nothing)._replace(largest=0.0, resource=GPU)
    jobs = [j for j in generate(mix, HUGE, 4, load=0.2).jobs if j.klass.startswith(cluster)]
    assert statistics.median(j.duration for j in jobs) / 1000 == pytest.approx(medians[cluster], rel=0.06)


def test_production_is_mostly_inference():
    made = generate(load_mix("production", nothing)._replace(resource=GPU), HUGE._replace(capacity=2048), 1)
    end = made.horizon
    by = Counter()
    for job in made.jobs:
        by[job.klass] += units(job) * (job.duration or end - job.submit)
    inference = sum(by[name] for name in ("chat", "completion", "embedding", "batch-inference"))
    assert 0.6 <= inference / by.total() <= 0.8
    chat = [j for j in made.jobs if j.klass == "chat"]
    assert all(j.nature == SERVICE for j in chat)
    assert len({j.submit for j in chat}) > 50  # they follow the day


def test_research_has_three_priorities_and_gangs():
    made = generate(load_mix("research", nothing)._replace(resource=GPU), HUGE._replace(capacity=2048), 1)
    assert {j.priority for j in made.jobs} == {100, 1000, 10_000}
    gangs = [j for j in made.jobs if j.klass == "flagship"]
    assert {j.pod_sets[0].topology.level for j in gangs} == {"rack"}
    assert all(j.pods >= 4 for j in gangs)
    assert sum(j.klass in ("experiment", "sweep") for j in made.jobs) / len(made.jobs) > 0.85


# facts of the harness: per queue, in all, request in milli CPU, run time, priority, interval
BASELINE = {
    "small": (10_500, 1000, 200, 50, 100),
    "medium": (3000, 5000, 500, 100, 500),
    "large": (1500, 20_000, 1000, 200, 1200),
}
LARGE = {
    "small": (35_000, 1000, 150, 50, 60),
    "medium": (11_000, 5000, 350, 100, 300),
    "large": (4000, 20_000, 700, 200, 700),
}


@pytest.mark.parametrize(
    ("name", "queues", "classes"), [("kueue-baseline", 30, BASELINE), ("kueue-large-scale", 1000, LARGE)]
)
def test_the_harness_mixes_are_exact(name, queues, classes):
    mix, cluster = brought(name)
    made = arrivals(cluster, Offering(mix))
    assert len(made.jobs) == sum(c[0] for c in classes.values())
    assert made.horizon == 0
    for klass, (number, cpu, run, priority, interval) in classes.items():
        mine = [j for j in made.jobs if j.klass == klass]
        assert len(mine) == number
        assert {(j.pod_sets[0].requests["cpu"], j.duration, j.priority, j.pods) for j in mine} == {
            (cpu, run, priority, 1)
        }
        each = number // queues
        # In lockstep: every queue has its n-th workload of a class at the same time, the first after one interval.
        assert Counter(j.submit for j in mine) == {interval * (n + 1): queues for n in range(each)}
    kueue = cluster.systems["kueue"].objects
    assert len(kueue.cluster_queues) == queues
    assert Counter(q.cohort for q in kueue.cluster_queues.values()) == {
        f"cohort-{n}": queues // (5 if queues == 30 else 10) for n in range(5 if queues == 30 else 10)
    }
    (quota,) = {q.groups[0].flavors[0].resources["cpu"] for q in kueue.cluster_queues.values()}
    assert (quota.nominal, quota.borrowing_limit) == (20_000, 100_000)
    (preemption,) = {q.preemption for q in kueue.cluster_queues.values()}
    assert (preemption.reclaim_within_cohort, preemption.within_cluster_queue) == ("Any", "LowerPriority")


def test_the_topology_mix_is_exact():
    mix, cluster = brought("kueue-topology")
    made = arrivals(cluster, Offering(mix))
    assert len(made.jobs) == 15_000
    counts = Counter(j.klass for j in made.jobs)
    for size, total in (("small", 10_500), ("medium", 3000), ("large", 1500)):
        assert sum(counts[f"{size}-{way}-rack"] for way in ("required", "preferred", "balanced")) == total
    shapes = {(j.klass.split("-")[0], j.pods, j.pod_sets[0].requests["cpu"]) for j in made.jobs}
    assert shapes == {("small", 2, 500), ("medium", 4, 1250), ("large", 8, 2500)}
    rack = "cloud.provider.com/topology-rack"
    asked = {
        (j.klass.partition("-")[2], j.pod_sets[0].topology) for j in made.jobs if j.klass.startswith("large")
    }
    assert {(kind, t.mode, t.level, t.slice_level, t.slice_size) for kind, t in asked} == {
        ("required-rack", "required", rack, "", 0),
        ("preferred-rack", "preferred", rack, "", 0),
        ("balanced-rack", "", "", rack, 4),
    }
    nodes = cluster.inventory.nodes
    assert len(nodes) == 640
    assert Counter(n.labels[rack] for n in nodes) == {f"rack-{n}": 64 for n in range(10)}
    assert {n.allocatable["cpu"] for n in nodes} == {96_000}
    assert len({n.labels["kubernetes.io/hostname"] for n in nodes}) == 640


@pytest.mark.parametrize("name", sorted(HARNESS))
def test_the_jittered_variants_have_the_same_workloads_out_of_step(name):
    plain, jittered = brought(name), brought(f"{name}-jittered")
    assert plain[0].cluster == jittered[0].cluster
    before, after = (arrivals(cluster, Offering(mix)).jobs for mix, cluster in (plain, jittered))
    count = lambda jobs: Counter((j.id, j.klass, j.priority, j.pods) for j in jobs)  # noqa: E731
    assert count(before) == count(after)
    assert len({j.submit for j in before}) < len({j.submit for j in after}) / 2


def test_twelve_teams_have_gangs_three_priorities_and_racks():
    mix, cluster = brought("twelve-teams")
    made = arrivals(cluster, Offering(mix))
    assert len({j.namespace for j in made.jobs}) == 12
    assert {(j.priority_class, j.priority) for j in made.jobs} == {
        ("best-effort", 100),
        ("training", 1000),
        ("production", 10_000),
    }
    assert max(map(units, made.jobs)) >= 64
    assert {j.pod_sets[0].topology.mode for j in made.jobs if j.pods > 1} == {"required", "preferred"}
    place, _ = site(cluster, GPU)
    assert (place.capacity, len(place.hosts)) == (512, 64)
    assert {(d.most, d.per_host) for d in place.doors if d.namespace in ("team-foundation", "team-ads")} == {
        (256, 8),
        (64, 8),
    }
    assert any(not change.up for change in made.nodes)


def test_what_a_mix_brings_is_the_same_bytes():
    mix = load_mix("kueue-topology", nothing)
    assert mix_sources(mix) == mix_sources(mix)
    assert mix_sources(load_mix("philly", nothing)) == {}


def test_paths_of_the_user_go_before_what_a_mix_brings():
    mix = load_mix("kueue-baseline", nothing)
    sources = Sources(("mine",), nothing)
    assert with_mix(sources, mix) is sources


def test_a_mix_that_is_not_there_names_the_presets():
    with pytest.raises(ArrivalsError, match=r"phily: can not be read: No such file .*acme, .*philly"):
        load_mix("phily", nothing)


CLUSTER = """mix: x
resource: cpu
classes:
  - {name: a, jobs: 1, arrival: start, requests: {cpu: 1}, duration: 1s}
cluster:
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("  system: slurm\n", "m.yaml: 'cluster.system' is 'slurm'; allowed are 'kueue'"),
        (
            "  manifests: nowhere\n",
            "'cluster.manifests' is 'nowhere'; allowed are demo-bad, demo-good, twelve-teams",
        ),
        ("  manifests: ../clusters\n", "'cluster.manifests' is '../clusters'"),
        ("  system: kueue\n", "m.yaml:5:1: 'flavor' is missing; it has to be written"),
        (
            "  system: kueue\n  flavor: {name: f}\n  cohorts: {name: c, count: 0}\n  queues: {name: q, count: 1, quota: {cpu: {nominal: 1}}}\n",
            "m.yaml:8:22: 'cohorts.count' is 0; it has to be 1 or more",
        ),
        (
            "  system: kueue\n  flavor: {name: f}\n  cohorts: {name: c, count: 200}\n  queues: {name: q, count: 200, quota: {cpu: {nominal: 1}}}\n",
            "40,000 queues; at most 10,000",
        ),
        (
            "  system: kueue\n  flavor: {name: f}\n  cohorts: {name: c, count: 1}\n  queues: {name: q, count: 1, quota: {cpu: {nominal: much}}}\n",
            "m.yaml:9:45: 'queues.quota.cpu.nominal': 'much' is not a quantity",
        ),
        (
            "  system: kueue\n  flavor: {name: f}\n  cohorts: {name: c, count: 1}\n  queues: {name: q, count: 1, quota: {cpu: {nominal: 1}}}\n  machines: {allocatable: {cpu: 1}}\n",
            "'machines' need a 'topology', whose levels say how many there are",
        ),
    ],
)
def test_a_mistake_in_the_cluster_of_a_mix_is_told_with_its_place(text, why):
    mix = load_mix("m.yaml", lambda _: (CLUSTER + text).encode())
    with pytest.raises(ArrivalsError) as error:
        mix_sources(mix)
    assert why in str(error.value)
