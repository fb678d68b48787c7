"""Two small clusters held against each other, whole."""

import json
import subprocess

import pytest

from policycheck.adapters.cli import main

NODES = """
apiVersion: v1
kind: Node
metadata: {name: n%d, labels: {pool: a}}
status:
  allocatable: {cpu: 64, memory: 512Gi, pods: 110, nvidia.com/gpu: 8}
  capacity: {cpu: 64, memory: 512Gi, pods: 110, nvidia.com/gpu: 8}
"""
BASE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a}
spec: {nodeLabels: {pool: a}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 10
"""
QUEUE = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %(name)s}
spec:
  cohortName: all
  namespaceSelector: {}
  preemption: {reclaimWithinCohort: %(reclaim)s, withinClusterQueue: %(within)s}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: a
      resources: [{name: nvidia.com/gpu, nominalQuota: %(quota)d}]
---
apiVersion: v1
kind: Namespace
metadata: {name: %(name)s}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: %(name)s}
spec: {clusterQueue: %(name)s}
"""
MIX = """
mix: small
horizon: 12h
load: 1.5
classes:
- name: work
  share: 1
  gpus: {1: 2, 4: 1}
  duration: {median: 20m, mean: 40m}
  priority: [{class: high, share: 1}, {class: low, share: 1}]
"""


def cluster(folder, queues, nodes=2):
    folder.mkdir(parents=True)
    text = BASE
    for name, quota, reclaim, within in queues:
        text += QUEUE % {"name": name, "quota": quota, "reclaim": reclaim, "within": within}
    (folder / "queues.yaml").write_text(text)
    (folder / "nodes.yaml").write_text("---".join(NODES % n for n in range(nodes)))


OLD = [("red", 8, "Never", "Never"), ("blue", 8, "Never", "Never")]
NEW = [("red", 10, "Any", "LowerPriority"), ("blue", 6, "Never", "Never")]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mix.yaml").write_text(MIX)
    cluster(tmp_path / "old", OLD)
    cluster(tmp_path / "new", NEW)
    return tmp_path


def compare(capsys, *args, mix=("--mix", "mix.yaml"), form="json", code=0):
    given = main(["compare", *args, *mix, "--target", "kueue=0.19", "--format", form])
    captured = capsys.readouterr()
    assert given == code, captured.err
    return (json.loads(captured.out) if form == "json" and code == 0 else captured.out), captured.err


def team(found, name):
    return next(t for t in found["teams"] if t["queue"] == name)


def figure(of, name):
    return next(f for f in of["figures"] if f["name"] == name)


def test_rights_and_waits_of_both_sides(here, capsys):
    told, _ = compare(capsys, "old", "new", "--seeds", "2")
    (found,) = told["scopes"]
    assert (found["old"]["label"], found["new"]["label"]) == ("old", "new")
    assert found["seeds"] == [1, 2]
    assert found["horizon"] == 12 * 3600
    assert found["jobs"] > 20
    assert team(found, "red")["old"] == {"nominal": 8, "guarantee": 0, "burst": 16}
    assert team(found, "red")["new"] == {"nominal": 10, "guarantee": 10, "burst": 6}
    gained = {(r["taker"], r["victim"], r["reason"]) for r in found["rights"] if r["gained"]}
    assert gained == {("red", "blue", "InCohortReclamation"), ("red", "red", "InClusterQueue")}
    assert not any(not r["gained"] for r in found["rights"])
    taken = figure(found, "preempted jobs")
    assert taken["old"] == 0
    assert taken["new"] > 0
    assert taken["low"] < taken["difference"] < taken["high"]
    assert figure(found, "utilisation at saturation")["old"] > 0.5


def test_classes_of_a_right_are_its_cells(here, capsys):
    told, _ = compare(capsys, "old", "new", "--seeds", "1")
    rights = {(r["taker"], r["victim"]): r for r in told["scopes"][0]["rights"]}
    assert rights["red", "red"]["classes"] == [["high", "low"]]
    assert len(rights["red", "blue"]["classes"]) == 4
    text, _ = compare(capsys, "old", "new", "--seeds", "1", form="text")
    assert "red may now take its own jobs (InClusterQueue): of lower priority" in text
    assert "(InCohortReclamation): whatever the priority" in " ".join(text.split())


def test_the_same_on_both_sides_differs_in_nothing(here, capsys):
    told, _ = compare(capsys, "old", "old", "--seeds", "2")
    (found,) = told["scopes"]
    assert found["rights"] == []
    every = [*found["figures"], *(f for t in found["teams"] for f in t["figures"])]
    assert {f["difference"] for f in every} <= {0, None}
    assert any(f["difference"] == 0 for f in every)
    text, _ = compare(capsys, "old", "old", "--seeds", "2", form="markdown")
    assert "Nothing changed for any of the 2 teams." in text


def test_the_other_way_round_turns_every_difference(here, capsys):
    one, _ = compare(capsys, "old", "new", "--seeds", "1", mix=("--trace", trace(here)))
    other, _ = compare(capsys, "new", "old", "--seeds", "1", mix=("--trace", trace(here)))
    pairs = list(zip(one["scopes"][0]["figures"], other["scopes"][0]["figures"], strict=True))
    assert [a["difference"] for a, _ in pairs] == [
        None if b["difference"] is None else -b["difference"] for _, b in pairs
    ]
    assert any(a["difference"] for a, _ in pairs)
    lost = {(r["taker"], r["victim"]) for r in other["scopes"][0]["rights"] if not r["gained"]}
    assert lost == {("red", "red"), ("red", "blue")}


def trace(folder):
    rows = ["job_id,submit_s,duration_s,pods,gpus_per_pod,queue"]
    rows += [f"j{n},{n * 300},{3600 + n % 7 * 900},1,{1 + n % 4},{('red', 'blue')[n % 2]}" for n in range(60)]
    (folder / "jobs.csv").write_text("\n".join(rows) + "\n")
    return "jobs.csv"


def test_a_queue_that_is_on_one_side_only(here, capsys):
    cluster(here / "more", [*NEW, ("green", 0, "Never", "Never")])
    told, _ = compare(capsys, "old", "more", "--seeds", "1")
    (found,) = told["scopes"]
    assert team(found, "green")["old"] is None
    assert team(found, "green")["new"]["nominal"] == 0
    text, _ = compare(capsys, "old", "more", "--seeds", "1", form="text")
    assert "green: not there -> 0 + 16" in text


def test_scopes_are_paired_by_their_names_below_what_was_given(here, capsys):
    for side, queues in (("a", OLD), ("b", NEW)):
        for name in ("prod", "dev"):
            cluster(here / side / name, queues)
            (here / side / name / "kustomization.yaml").write_text("resources: [queues.yaml, nodes.yaml]\n")
    (here / ".policycheck.yaml").write_text("{}\n")
    told, _ = compare(capsys, "a", "b", "--seeds", "1", "--no-nodes", code=0) if renders() else (None, "")
    if told is None:
        pytest.skip("no kustomize here to render with")
    assert [s["scope"] for s in told["scopes"]] == ["b/dev", "b/prod"]


def renders():
    import shutil

    return shutil.which("kustomize") or shutil.which("kubectl")


FAIR = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
"""


def test_an_upgrade_of_the_scheduler_on_one_configuration(here, capsys):
    cluster(
        here / "fair",
        [("red", 4, "Any", "Never"), ("blue", 4, "Any", "Never"), ("spare", 8, "Never", "Never")],
    )
    (here / "fair" / "configuration.yaml").write_text(FAIR)
    told, _ = compare(capsys, "fair", "fair", "--old-target", "kueue=0.16", "--new-target", "kueue=0.19")
    (found,) = told["scopes"]
    assert (found["old"]["target"], found["new"]["target"]) == ("Kueue 0.16", "Kueue 0.19")
    assert all(t["old"] == t["new"] for t in found["teams"])
    # Since 0.17 a queue within its nominal quota takes what it is owed, whatever the shares are.
    own = {(r["taker"], r["reason"]): r["gained"] for r in found["rights"] if r["situation"] == "own"}
    assert own["red", "InCohortFairSharing"] is False
    assert own["red", "InCohortReclamation"] is True
    assert any(f["difference"] for f in found["figures"])
    gates = "kueue=0.19,FairSharingPreemptWithinNominal=false"
    told, _ = compare(capsys, "fair", "fair", "--old-target", gates, "--seeds", "1")
    assert {r["taker"] for r in told["scopes"][0]["rights"]} == {"red", "blue"}


def test_first_come_first_served_has_no_rights_to_compare(here, capsys):
    told, _ = compare(capsys, "first-come-first-served", "new", "--seeds", "2")
    (found,) = told["scopes"]
    assert found["old"]["target"] == "default scheduler"
    assert found["rights"] is None
    assert team(found, "red")["old"] is None
    assert figure(found, "jobs started")["old"] > 0
    assert figure(team(found, "red"), "wait p90")["difference"] is not None
    text, _ = compare(capsys, "first-come-first-served", "new", "--seeds", "1", form="text")
    assert "first come, first served (default scheduler)" in " ".join(text.split())
    assert "who may take from whom" not in text


def test_no_jobs_is_an_answer_about_rights(here, capsys):
    told, err = compare(capsys, "old", "new", "--seeds", "2", mix=())
    (found,) = told["scopes"]
    assert found["jobs"] == 0
    assert found["rights"]
    assert figure(found, "wait p90")["difference"] is None
    assert "no job to compare waits by" in err


def test_no_queue_on_a_side_is_no_answer(here, capsys):
    (here / "empty").mkdir()
    (here / "empty" / "n.yaml").write_text(NODES % 1)
    _, err = compare(capsys, "old", "empty", code=3)
    assert "no scope with queues is on both sides" in err


def test_a_revision_of_git_on_either_side(here, capsys):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]

    def run(*args):
        subprocess.run([*git, *args], cwd=here, check=True, capture_output=True)

    cluster(here / "at", OLD)
    run("init", "-q", "-b", "main")
    run("add", "at")
    run("commit", "-qm", "old")
    (here / "at" / "queues.yaml").write_text((here / "new" / "queues.yaml").read_text())
    told, _ = compare(capsys, "git:main:at", "at", "--seeds", "1")
    by_hand, _ = compare(capsys, "old", "new", "--seeds", "1")
    (found,) = told["scopes"]
    assert found["old"]["label"] == "main:at"
    assert found["figures"] == by_hand["scopes"][0]["figures"]
    assert found["rights"] == by_hand["scopes"][0]["rights"]
    run("add", "at")
    run("commit", "-qm", "new")
    both, _ = compare(capsys, "git:HEAD~1:at", "git:HEAD:at", "--seeds", "1")
    assert both["scopes"][0]["figures"] == found["figures"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("git:main", "new"), "no revision and path"),
        (("git:nowhere:old", "new"), "nowhere"),
        (("old", "first-come-first-served"), "only OLD may be"),
        (("first-come-first-served", "new", "--old-target", "kueue=0.18"), "does not go with"),
        (("old", "new", "--old-target", "kueue=zero"), "zero"),
        (("old", "new", "--mix", "absent"), "absent"),
        (("old", "new", "--seeds", "0"), "seeds"),
        (("old", "new", "--backend", "dask"), "--scheduler"),
        (("old", "new", "--jobs", "2", "--backend", "here"), "--jobs"),
    ],
)
def test_errors_of_use(here, capsys, args, said):
    assert main(["compare", *args]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_markdown_is_at_most_sixty_lines_and_text_eighty_columns(here, capsys):
    many = [(f"team-{n:02}", 1, "Any" if n % 2 else "Never", "LowerPriority") for n in range(40)]
    fewer = [(f"team-{n:02}", 2, "Never" if n % 2 else "Any", "Never") for n in range(40)]
    cluster(here / "many", many, nodes=5)
    cluster(here / "fewer", fewer, nodes=5)
    text, _ = compare(capsys, "many", "fewer", "--seeds", "1", form="markdown")
    assert 30 < len(text.splitlines()) <= 60
    assert "and 24 more" in text
    text, _ = compare(capsys, "many", "fewer", "--seeds", "2", form="text")
    assert max(len(line) for line in text.splitlines()) <= 80


PROMISES = """
apiVersion: policycheck.dev/v1
kind: Promises
metadata: {name: here}
teams:
- name: blue
  queues: [blue]
  burst: %s
  shapes: [{name: pair, pods: 1, gpus: 2, nodeSelector: {pool: a}}]
"""


def verdict(found, claim, subject=""):
    return next(v for v in found["verdicts"] if (v["claim"], v["subject"]) == (claim, subject))


def test_the_new_side_is_held_against_what_the_old_one_gave(here, capsys):
    told, _ = compare(capsys, "old", "new", "--seeds", "1")
    (found,) = told["scopes"]
    assert any("no promises are written" in note for note in found["notes"])
    assert {v["claim"] for v in found["verdicts"]} == {
        "guarantees-fit", "burst-usable", "inference-protected", "gang-whole", "topology-honoured"
    }  # fmt: skip
    same = verdict(found, "guarantees-fit")
    assert (same["old"]["outcome"], same["new"]["outcome"]) == ("HOLDS", "HOLDS")
    told, _ = compare(capsys, "old", "new", "--seeds", "1", "--claim", "none")
    assert told["scopes"][0]["verdicts"] is None


def test_a_promise_that_the_change_breaks(here, capsys):
    for side in ("old", "new"):
        (here / side / "promises.yaml").write_text(PROMISES % "30%")
    alone = QUEUE.replace("  cohortName: all\n", "") % {
        "name": "blue", "quota": 6, "reclaim": "Never", "within": "Never"
    }  # fmt: skip
    queues = (here / "new" / "queues.yaml").read_text()
    (here / "new" / "queues.yaml").write_text(queues[: queues.index("\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: blue}")] + alone)  # fmt: skip
    told, _ = compare(capsys, "old", "new", "--seeds", "1", "--claim", "burst-usable")
    turned = verdict(told["scopes"][0], "burst-usable", "blue")
    assert (turned["old"]["outcome"], turned["new"]["outcome"]) == ("HOLDS", "FAILS")
    text, _ = compare(capsys, "old", "new", "--seeds", "1", "--claim", "burst-usable", form="text")
    assert "burst-usable: blue: HOLDS -> FAILS" in text
    table, _ = compare(capsys, "old", "new", "--seeds", "1", "--claim", "burst-usable", form="markdown")
    assert "- burst-usable: blue: HOLDS → FAILS: " in table


def test_a_change_can_not_move_the_promise_it_is_held_against(here, capsys):
    (here / "old" / "promises.yaml").write_text(PROMISES % "30%")
    (here / "new" / "promises.yaml").write_text(PROMISES % "10%")
    told, _ = compare(capsys, "old", "new", "--seeds", "1", "--claim", "burst-usable")
    assert any("the promises change too" in note for note in told["scopes"][0]["notes"])
    named, _ = compare(
        capsys, "old", "new", "--seeds", "1", "--claim", "burst-usable", "--promises", "new/promises.yaml"
    )
    assert not any("the promises change too" in note for note in named["scopes"][0]["notes"])


def test_claims_that_there_are_not_are_refused(here, capsys):
    _, said = compare(capsys, "old", "new", "--claim", "burst-useable", code=2)
    assert "burst-usable" in said
    _, said = compare(capsys, "old", "new", "--claim", "none", "--claim", "slo", code=2)
    assert "--claim none goes with no other claim" in said
