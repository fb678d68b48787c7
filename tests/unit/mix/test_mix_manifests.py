"""Workloads of manifests as jobs: annotations, classes that match, what is assumed, and several sources at once."""

from __future__ import annotations

import pytest

from policycheck.app import lint, load
from policycheck.app.arrivals import Offering, arrivals, load_mix
from policycheck.app.gather import Sources
from policycheck.data import root
from policycheck.lint.settings import Settings
from policycheck.simulate.job import SERVICE
from policycheck.simulate.period import HOUR
from policycheck.simulate.trouble import ArrivalsError
from policycheck.source.tree import Listing

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 64}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: train, namespace: vision}
spec: {clusterQueue: vision}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 500
"""
JOB = """---
apiVersion: batch/v1
kind: Job
metadata:
  name: NAME
  namespace: vision
  labels: {kueue.x-k8s.io/queue-name: train, kueue.x-k8s.io/priority-class: high, team: a}
  annotations: {ANNOTATIONS}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}}]
"""
SERVE = """---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  namespace: vision
  labels: {kueue.x-k8s.io/queue-name: train}
spec:
  replicas: 2
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]
"""


def job(name="detector", annotations=""):
    return JOB.replace("NAME", name).replace("ANNOTATIONS", annotations)


def made(*texts, mix="", **more):
    held = {"queues.yaml": QUEUES.encode(), "jobs.yaml": "".join(texts).lstrip("-\n").encode()}
    sources = Sources(tuple(held), held.__getitem__, tree=Listing(list(held)), in_memory=True)
    (cluster,) = load(sources, Settings())
    if mix:
        more["mix"] = load_mix("m.yaml", lambda _: mix.encode())
    return arrivals(cluster, Offering(**more))


def test_a_job_is_what_its_manifest_says():
    found = made(
        job(
            annotations='policycheck.dev/duration: 4h, policycheck.dev/submit: "+2h", policycheck.dev/checkpoint: 30m, '
            "policycheck.dev/startup: 90s"
        )
    )
    (one,) = found.jobs
    assert (one.id, one.queue, one.submit, one.duration) == (
        "vision/job-detector",
        "train",
        2 * HOUR,
        4 * HOUR,
    )
    assert (one.checkpoint, one.startup, one.priority, one.priority_class) == (HOUR // 2, 90_000, 500, "high")
    assert (one.pods, one.pod_sets[0].requests["nvidia.com/gpu"]) == (2, 8)
    assert (one.klass, one.origin, one.labels["team"]) == ("Job", "jobs.yaml:1", "a")
    assert found.notes == ()
    assert found.source == "manifests"
    assert found.digest


def test_without_a_word_an_hour_is_assumed_and_said():
    found = made(job())
    assert found.jobs[0].duration == HOUR
    (note,) = found.notes
    assert note.startswith(
        "vision/job-detector: no run time is given, 1h is assumed (annotation policycheck.dev/duration"
    )
    assert made(job(), usual=5 * HOUR).jobs[0].duration == 5 * HOUR


def test_copies_come_one_after_another():
    found = made(
        job(
            annotations='policycheck.dev/duration: 1h, policycheck.dev/copies: "3", policycheck.dev/every: 6h'
        )
    )
    assert [(j.id, j.submit) for j in found.jobs] == [
        ("vision/job-detector", 0),
        ("vision/job-detector.1", 6 * HOUR),
        ("vision/job-detector.2", 12 * HOUR),
    ]
    assert len({id(j.pod_sets) for j in found.jobs}) == 1


@pytest.mark.parametrize(
    ("annotations", "why"),
    [
        (
            "policycheck.dev/duration: soon",
            "annotation policycheck.dev/duration: 'soon' is no length of time",
        ),
        ('policycheck.dev/submit: "-2h"', "annotation policycheck.dev/submit: '-2h' is no length of time"),
        (
            'policycheck.dev/copies: "many"',
            "annotation policycheck.dev/copies: found 'many'; write a whole number from 1 to 100,000",
        ),
        ('policycheck.dev/copies: "0"', "found '0'; write a whole number from 1"),
    ],
)
def test_an_annotation_that_can_not_be_read_is_told_with_its_place(annotations, why):
    with pytest.raises(ArrivalsError) as error:
        made(job(annotations=annotations))
    assert error.value.problems[0].startswith("jobs.yaml:1: vision/job-detector: ")
    assert why in error.value.problems[0]


def test_all_annotations_that_can_not_be_read_are_told():
    with pytest.raises(ArrivalsError) as error:
        made(
            job(annotations="policycheck.dev/duration: a, policycheck.dev/startup: b"),
            job("other", "policycheck.dev/duration: c"),
        )
    assert len(error.value.problems) == 3


CRON = """---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
  namespace: vision
spec:
  schedule: "0 2 * * *"
  jobTemplate:
    metadata:
      labels: {kueue.x-k8s.io/queue-name: train}
      annotations: {policycheck.dev/duration: 2hMORE}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}}]
"""


def test_a_schedule_is_not_simulated_and_that_is_said():
    found = made(CRON.replace("MORE", ""))
    assert [(j.id, j.submit, j.klass) for j in found.jobs] == [("vision/cronjob-nightly", 0, "CronJob")]
    assert found.notes == (
        "vision/cronjob-nightly: schedules are not simulated, it comes once; annotations policycheck.dev/copies and policycheck.dev/every say how often and when",
    )
    every = made(
        CRON.replace(
            "MORE", ', policycheck.dev/copies: "7", policycheck.dev/submit: 2h, policycheck.dev/every: 1d'
        )
    )
    assert [j.submit // HOUR for j in every.jobs] == [2, 26, 50, 74, 98, 122, 146]
    assert every.notes == ()


def test_services_run_for_ever():
    found = made(SERVE)
    assert [(j.id, j.nature, j.duration) for j in found.jobs] == [
        ("vision/deployment-chat-0", SERVICE, 0),
        ("vision/deployment-chat-1", SERVICE, 0),
    ]
    assert found.notes == ()


MATCH = """mix: m
resource: nvidia.com/gpu
classes:
  - name: detectors
    match: {%s}
    duration: {mean: 8h, median: 4h}
    checkpoint: 1h
    startup: 2m
    limit: 2d
"""


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ("labels: {team: a}", True),
        ("labels: {team: b}", False),
        ("kinds: [Job]", True),
        ("kinds: [RayJob]", False),
        ("queues: [train]", True),
        ("queues: ['vision/*']", True),
        ("queues: [other]", False),
        ("labels: {team: a}, kinds: [RayJob]", False),
    ],
)
def test_a_class_that_matches_tells_the_run_time(match, fits):
    found = made(job(), mix=MATCH % match)
    (one,) = found.jobs
    if not fits:
        assert (one.klass, one.duration) == ("Job", HOUR)
        return
    assert (one.klass, one.checkpoint, one.startup, one.limit) == ("detectors", HOUR, 120_000, 48 * HOUR)
    assert one.duration != HOUR
    assert one == made(job(), job("other"), mix=MATCH % match).jobs[0]  # whatever stands beside it
    assert found.notes == ()


def test_an_annotation_goes_before_a_class():
    (one,) = made(job(annotations="policycheck.dev/duration: 3h"), mix=MATCH % "kinds: [Job]").jobs
    assert (one.duration, one.checkpoint, one.klass) == (3 * HOUR, HOUR, "detectors")


MIX = "mix: m\nhorizon: 1d\nclasses:\n  - {name: a, jobs: 3, arrival: start, gpus: 1, duration: 1h}\n"


def test_a_mix_stands_in_for_the_batch_jobs_and_runs_beside_the_services():
    found = made(job(), SERVE, mix=MIX)
    assert {j.klass for j in found.jobs} == {"a", "Deployment"}
    assert "2 services of the manifests run beside what arrives" in found.notes
    assert found.source == "manifests and mix m"
    both = made(job(), SERVE, mix=MIX, manifests=True)
    assert {j.klass for j in both.jobs} == {"a", "Deployment", "Job"}
    assert [(j.submit, j.id) for j in both.jobs] == sorted((j.submit, j.id) for j in both.jobs)


def test_two_jobs_of_one_name_are_refused():
    text = job("train.a.000000").replace("batch/v1", "kueue.x-k8s.io/v1beta2").split("spec:")[0]
    workload = text.replace("kind: Job", "kind: Workload") + (
        "spec: {queueName: train, podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}\n"
    )
    with pytest.raises(
        ArrivalsError,
        match=r"two jobs are called vision/train\.a\.000000: .*m\.yaml:4.*jobs\.yaml:1|jobs\.yaml:1 and m\.yaml:4",
    ):
        made(workload, mix=MIX, manifests=True)


def test_a_cluster_without_accelerators_is_told_to_a_mix_that_asks_for_some():
    held = {"queues.yaml": QUEUES.replace("nvidia.com/gpu", "cpu").encode()}
    sources = Sources(tuple(held), held.__getitem__, tree=Listing(list(held)), in_memory=True)
    (cluster,) = load(sources, Settings())
    mix = load_mix("m.yaml", lambda _: MIX.encode())
    with pytest.raises(
        ArrivalsError, match=r"m\.yaml: asks for accelerators, and the queues in sight have quota in cpu"
    ):
        arrivals(cluster, Offering(mix))


def test_other_accelerators_go_by_their_own_name():
    held = {"queues.yaml": QUEUES.replace("nvidia.com/gpu", "amd.com/gpu").encode()}
    sources = Sources(tuple(held), held.__getitem__, tree=Listing(list(held)), in_memory=True)
    (cluster,) = load(sources, Settings())
    found = arrivals(cluster, Offering(load_mix("m.yaml", lambda _: MIX.encode())))
    assert {next(iter(j.pod_sets[0].requests)) for j in found.jobs} == {"amd.com/gpu"}


def test_the_cluster_of_the_twelve_teams_is_a_good_one():
    folder = root() / "fixtures" / "clusters" / "twelve-teams"
    sources = Sources((str(folder),), lambda path: (root() / path).read_bytes(), today="2026-01-01")
    found = lint(sources, Settings(preview=True))
    assert found.findings == ()
    assert found.errors == ()
    assert found.skipped == ()
