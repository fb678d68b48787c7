"""simulate as a command: what it reads, refuses and writes, and with which exit code it ends."""

import json

import pytest

from policycheck.systems.kueue.metricnames import NAMES

QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpus}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: gpus
      resources: [{name: nvidia.com/gpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: a}
spec: {clusterQueue: team}
"""
JOB = """\
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: a, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: a/b:1, resources: {limits: {nvidia.com/gpu: "8"}}}]
"""
NODES = "pools:\n- {name: gpus, nodes: 1, gpus: 8, product: NVIDIA-H100-80GB-HBM3}\n"
TRACE = """\
job_id,submit_s,duration_s,pods,gpus_per_pod,queue
one,0,100,1,4,team
two,10,100,1,4,team
three,20,100,1,8,team
four,30,100,1,16,team
"""


@pytest.fixture
def folder(tmp_path, run):
    (tmp_path / "q.yaml").write_text(QUEUES)
    (tmp_path / "jobs.yaml").write_text(QUEUES + JOB)
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "t.csv").write_text(TRACE)
    return tmp_path


def found(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_a_trace_to_its_end_by_hand(folder, run):
    # Quota 8: one and two run at once from 0 and 10; three (8) starts when two ends at 110, and four can
    # never start. The end is 410 s.
    answer = found(run("simulate", "q.yaml", "--trace", "t.csv", "--no-nodes", "--format", "json"))
    assert answer["schemaVersion"] == 1
    jobs = answer["metrics"]["jobs"]
    assert (jobs["submitted"], jobs["finished"], jobs["pending"]) == (4, 3, 1)
    wait = answer["metrics"]["queues"]["team"]["wait"]
    assert (wait["p50"], wait["p90"], wait["censored"]) == (0, pytest.approx(180, abs=1), 1)
    assert "max" in wait["lowerBounds"]
    assert [(one["workload"], one["gpus"]) for one in answer["stuck"]] == [("a/four", 16)]
    assert answer["stuck"][0]["reason"]
    assert answer["scenario"]["seed"] == 1
    assert set(answer["scenario"]["digests"]) == {"configuration", "inventory", "arrivals"}


def test_the_text_names_the_queue_and_what_waits(folder, run):
    ran = run("simulate", "q.yaml", "--trace", "t.csv", "--inventory", "nodes.yaml")
    assert ran.code == 0
    assert "3 finished" in ran.out
    assert "a/four" in ran.out
    assert "kueue_admission_wait_time_seconds" in ran.out
    assert ran.err == ""
    assert max(map(len, ran.out.splitlines())) <= 80


def test_what_goes_on_for_ever_is_stopped_and_told(folder, run):
    # Nodes of 4 GPUs: the pod of three has quota and no node, is evicted when it is not ready in time, and
    # waits anew without end.
    (folder / "nodes.yaml").write_text(NODES.replace("nodes: 1, gpus: 8", "nodes: 2, gpus: 4"))
    ran = run("simulate", "q.yaml", "--trace", "t.csv", "--inventory", "nodes.yaml")
    assert ran.code == 0
    flat = " ".join(ran.out.split())
    assert "1 job had quota and no node for 1 pod" in flat
    assert "the last time by PodsReadyTimeout" in flat
    assert "it was stopped after 1d" in flat


def test_the_jobs_of_the_manifests(folder, run):
    answer = found(run("simulate", "jobs.yaml", "--usual", "2h", "--format", "json"))
    assert answer["metrics"]["jobs"]["finished"] == 1
    assert answer["metrics"]["work"]["ranGpuHours"] == pytest.approx(16, rel=0.01)
    assert any("2h" in note for note in answer["scenario"]["notes"])


def test_manifests_beside_a_trace(folder, run):
    alone = found(run("simulate", "jobs.yaml", "--trace", "t.csv", "--format", "json"))
    both = found(run("simulate", "jobs.yaml", "--trace", "t.csv", "--manifests", "--format", "json"))
    assert alone["metrics"]["jobs"]["submitted"] == 4
    assert both["metrics"]["jobs"]["submitted"] == 5


def test_the_same_bytes_and_events_only_when_asked(folder, run):
    args = ("simulate", "q.yaml", "--trace", "t.csv", "--format", "json")
    one = run(*args, "--events")
    assert one.out == run(*args, "--events").out
    events = json.loads(one.out)["events"]
    assert events[0]["event"] == "submitted"
    assert {event["event"] for event in events} >= {"submitted", "reserved", "admitted", "finished"}
    assert "events" not in found(run(*args))


def test_a_horizon_ends_it(folder, run):
    answer = found(run("simulate", "q.yaml", "--trace", "t.csv", "--horizon", "15s", "--format", "json"))
    assert answer["scenario"]["horizon"] == answer["scenario"]["end"] == 15
    assert answer["metrics"]["jobs"]["submitted"] == 2
    assert answer["scenario"]["later"] == 2


def test_a_mix_in_a_file(folder, run):
    (folder / "mix.yaml").write_text(
        "mix: small\nclasses:\n- {name: train, jobs: 3, arrival: {process: interval, every: 1m}, gpus: 4, duration: 1h}\n"
    )
    answer = found(run("simulate", "q.yaml", "--mix", "mix.yaml", "--format", "json"))
    assert answer["metrics"]["classes"]["train"]["submitted"] == 3


def test_another_seed_is_another_story(folder, run):
    (folder / "mix.yaml").write_text("mix: m\nclasses:\n- {name: t, rate: 30/h, gpus: 4, duration: 20m}\n")
    args = ("simulate", "q.yaml", "--mix", "mix.yaml", "--horizon", "2h", "--format", "json", "--seed")
    one, again, other = (found(run(*args, seed))["metrics"] for seed in ("1", "1", "2"))
    assert one == again
    assert one["jobs"] != other["jobs"]


def test_a_preset_with_queues_of_its_own_needs_no_path(run, monkeypatch):
    from policycheck.app import arrivals

    ran = run("simulate", "--mix", "kueue-baseline", "--horizon", "2s", "--quiet")
    assert ran.code == 0
    assert "30 queues" in ran.out
    assert "kueue-baseline" in arrivals.presets()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "nothing to simulate"),
        (("--mix", "philly"), "nothing to simulate"),
        (("q.yaml", "--mix", "filly"), "philly"),
        (("q.yaml", "--horizon", "soon", "--trace", "t.csv"), "--horizon: 'soon' is no length of time"),
        (("q.yaml", "--service-time", "-1s", "--trace", "t.csv"), "--service-time"),
        (("q.yaml", "--seed", "-1"), "--seed"),
        (("q.yaml", "--load", "0"), "--load"),
        (("q.yaml", "--accept", "everything"), "--accept"),
        (("q.yaml", "--target", "kueue=new"), "kueue"),
        (("q.yaml", "--trace", "t.csv", "--output", "t.csv"), "is one of the files that are read here"),
        (("q.yaml", "--trace", "t.csv", "--output", "q.yaml"), "is one of the files that are read here"),
        (("q.yaml", "--trace", "t.csv", "--inventory", "cluster:prod"), "cluster:prod"),
    ],
)
def test_what_is_asked_wrongly_is_exit_2(folder, run, args, said):
    ran = run("simulate", *args)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "t.csv:1"),
        (TRACE + "five,40,-1,1,4,team\n", "t.csv:6"),
    ],
)
def test_a_trace_that_can_not_be_read_is_exit_3(folder, run, lines, said):
    (folder / "t.csv").write_text(lines)
    ran = run("simulate", "q.yaml", "--trace", "t.csv")
    assert ran.code == 3
    assert said in ran.err
    assert ran.out == ""


def test_good_lines_are_kept_when_asked(folder, run):
    (folder / "t.csv").write_text(TRACE + "five,40,much,1,4,team\nsix,50,more,1,4,team\n")
    ran = run("simulate", "q.yaml", "--trace", "t.csv")
    assert ran.code == 3
    assert "--accept broken-lines" in ran.err
    answer = found(
        run("simulate", "q.yaml", "--trace", "t.csv", "--accept", "broken-lines", "--format", "json")
    )
    assert answer["metrics"]["jobs"]["submitted"] == 4
    assert any("2" in note for note in answer["scenario"]["notes"])


def test_leaving_lines_out_is_advised_where_there_is_one_to_leave_out(folder, run):
    (folder / "t.csv").write_text(TRACE.splitlines()[0] + "\n")
    ran = run("simulate", "q.yaml", "--trace", "t.csv")
    assert (ran.code, ran.out) == (3, "")
    assert "no job is left" in ran.err
    assert "broken-lines" not in ran.err


def test_a_load_beyond_words_is_told_in_few(folder, run):
    (folder / "mix.yaml").write_text(
        "mix: m\nload: 1\nclasses:\n- {name: t, share: 1, gpus: 4, duration: 20m}\n"
    )
    ran = run("simulate", "q.yaml", "--mix", "mix.yaml", "--horizon", "2h", "--load", "1e300")
    assert ran.code != 0
    assert "far more would arrive" in ran.err
    assert len(ran.err) < 1000


def test_a_trace_that_is_not_there_is_exit_3(folder, run):
    ran = run("simulate", "q.yaml", "--trace", "absent.csv")
    assert ran.code == 3
    assert "absent.csv" in ran.err


def test_no_queue_in_sight_is_exit_3(folder, run):
    (folder / "q.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    ran = run("simulate", "q.yaml", "--trace", "t.csv")
    assert ran.code == 3
    assert "no queue in what was given" in ran.err


def test_no_job_in_sight_is_exit_3(folder, run):
    ran = run("simulate", "q.yaml")
    assert ran.code == 3
    assert "no job in what was given" in ran.err
    assert "Nothing arrived" in ran.out


def test_output_goes_to_a_file(folder, run):
    ran = run("simulate", "q.yaml", "--trace", "t.csv", "--format", "json", "--output", "out.json")
    assert (ran.code, ran.out) == (0, "")
    assert json.loads((folder / "out.json").read_text())["schemaVersion"] == 1


def test_names_of_users_stand_at_places_that_exist(folder, run):
    metrics = found(run("simulate", "q.yaml", "--trace", "t.csv", "--format", "json"))["metrics"]
    metrics["preemption"]["evictions"]["Preempted"] = {"times": 1, "jobs": 1, "perStart": 0.5}
    for place in NAMES:
        value = metrics
        for part in place.split("."):
            value = next(iter(value.values())) if part == "*" else value[part]


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_load_that_is_no_number_is_refused_before_jobs_are_drawn_without_end(folder, run, command, value):
    paths = [str(folder / "q.yaml")] * (2 if command == "compare" else 1)
    ran = run(command, *paths, "--mix", "research", "--load", value)
    assert (ran.code, ran.out) == (2, "")
    assert f"{value} is no number to count with" in ran.err


@pytest.mark.parametrize("command", ["certify", "verify"])
def test_a_timeout_that_is_no_number_is_refused(folder, run, command):
    ran = run(command, str(folder / "q.yaml"), str(folder / "q.yaml"), "--timeout", "nan")
    assert (ran.code, ran.out) == (2, "")
    assert "nan is no number to count with" in ran.err


@pytest.mark.parametrize("option", ["--horizon", "--usual"])
@pytest.mark.parametrize("more", [(), ("--seeds", "2")])
def test_a_length_of_nothing_is_refused_and_does_not_stand_for_the_default(folder, run, option, more):
    ran = run("simulate", str(folder / "jobs.yaml"), "--trace", str(folder / "t.csv"), option, "0", *more)
    assert (ran.code, ran.out) == (2, "")
    assert f"{option}: '0' is too short" in ran.err


def test_an_admission_may_take_no_time(folder, run):
    ran = run("simulate", str(folder / "q.yaml"), "--trace", str(folder / "t.csv"), "--service-time", "0")
    assert ran.code == 0
