"""``policycheck certify``: outcomes and exit codes, what is written, what is refused."""

from __future__ import annotations

import json

import pytest

BARE = ("certify", "cluster", "--accept", "search", "--budget", "5")


def test_a_configuration_that_keeps_its_promises_is_certified(cluster, run):
    done = run(*BARE, "--format", "json")
    assert done.code == 0, done.err
    told = done.json
    assert told["schemaVersion"] == 1
    assert told["outcome"] == "CERTIFIED"
    honoured = [v for v in told["verdicts"] if v["claim"] == "guarantee-honoured"]
    assert [(v["subject"], v["outcome"], v["basis"], v["required"]) for v in honoured] == [
        ("a", "HOLDS", "search", True),
        ("b", "HOLDS", "search", True),
    ]
    assert all(v["premiseExercised"]["othersExceededNominal"] > 0 for v in honoured)
    assert {s["object"] for s in told["subjects"]} >= {
        "kueue.x-k8s.io/ClusterQueue/a",
        "kueue.x-k8s.io/LocalQueue/team-a/main",
        "kueue.x-k8s.io/ResourceFlavor/h100",
        "Namespace/team-b",
    }
    assert not any("Node/" in s["object"] or "Promises" in s["object"] for s in told["subjects"])
    assert [f["file"] for f in told["files"]] == [
        "flavor.yaml",
        "inventory:nodes.yaml",
        "promises.yaml",
        "queues/a.yaml",
        "queues/b.yaml",
    ]
    assert told["inventory"] == [
        {
            "nodes": 2,
            "labels": {"gpu": "h100"},
            "ownLabels": [],
            "taints": [],
            "free": {"nvidia.com/gpu": "8", "pods": "110"},
        }
    ]
    assert (told["seed"], told["budget"], told["accepted"]) == (1, 5, ["search"])
    assert told["target"]["kueue"]["assumed"] is True
    assert told["promises"]["owners"] == {"a": "a@example.com", "b": "b@example.com"}


def test_the_same_input_gives_the_same_bytes_wherever_it_lies(cluster, run, tmp_path):
    first = run(*BARE, "--format", "json").out
    (tmp_path / "elsewhere").mkdir()
    cluster.root.rename(tmp_path / "elsewhere" / "moved")
    second = run("certify", "elsewhere/moved", *BARE[2:], "--format", "json").out
    third = run("certify", tmp_path / "elsewhere" / "moved", *BARE[2:], "--format", "json").out
    assert first == second == third


def test_search_alone_does_not_count_unless_it_is_accepted(cluster, run):
    done = run("certify", "cluster", "--budget", "5")
    assert done.code == 4
    assert done.out.startswith("UNDECIDED: ")
    assert "--accept search" in done.out


def test_a_broken_promise_is_refused_with_a_story_that_replays(cluster, run):
    cluster.replace("queues/a.yaml", "reclaimWithinCohort: Any", "reclaimWithinCohort: Never")
    done = run(*BARE, "--format", "json", "--save-cases", "cases")
    assert done.code == 1
    (failed,) = [v for v in done.json["verdicts"] if v["outcome"] == "FAILS" and v["required"]]
    assert (failed["claim"], failed["subject"], failed["basis"]) == ("guarantee-honoured", "a", "proof")
    assert "reclaimWithinCohort is Never" in failed["headline"]
    found = failed["counterexample"]
    assert 1 < found["workloads"] <= 5
    assert len(found["timeline"]) <= 10
    starved = [v for v in done.json["verdicts"] if v["outcome"] == "FAILS" and not v["required"]]
    assert [(v["claim"], v["subject"]) for v in starved] == [("no-starvation", "a")]
    assert "wrote 2 counterexamples to cases" in done.err
    (answer,) = run("simulate", "--case", "cases/guarantee-honoured-a.json").out.splitlines()
    final = json.loads(answer)["final"]
    assert {name.partition("/")[2] for name in final["reserved"]} == set(found["end"]["reserved"])
    assert {name.partition("/")[2] for name in final["pending"]} == set(found["end"]["pending"])


def test_the_text_tells_the_story_and_what_it_rests_on(cluster, run):
    cluster.replace("queues/a.yaml", "reclaimWithinCohort: Any", "reclaimWithinCohort: Never")
    done = run(*BARE, "--claim", "guarantee-honoured")
    assert done.out.splitlines()[0] == "REFUSED: 1 of 2 verdicts fails"
    assert "  guarantee-honoured: a" in done.out
    assert "      | cycle 1: b submits" in done.out
    assert "  promises   cluster/promises.yaml" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    quiet = run(*BARE, "--claim", "guarantee-honoured", "--quiet").out
    assert "What it rests on" not in quiet


def test_markdown_is_a_table_with_the_story_behind_it(cluster, run):
    cluster.replace("queues/a.yaml", "reclaimWithinCohort: Any", "reclaimWithinCohort: Never")
    out = run(*BARE, "--claim", "guarantee-honoured", "--format", "markdown").out
    assert out.startswith("## policycheck certify: REFUSED\n")
    assert "| fails | guarantee-honoured | a | reclaimWithinCohort is Never" in out
    assert "<details><summary>guarantee-honoured: a: the story, with" in out


def test_an_empty_promise_is_derived_and_said_to_be(cluster, run):
    (cluster.root / "promises.yaml").unlink()
    done = run(*BARE, "--claim", "guarantee-honoured")
    assert done.code == 0
    assert "none written: all are derived from the configuration" in " ".join(done.out.split())


def test_what_is_refused_on_the_way_in_leaves_it_undecided(cluster, run):
    cluster.replace("queues/b.yaml", "  cohortName: all", "  cohort: all")
    done = run(*BARE, "--format", "json")
    (doubt,) = [v for v in done.json["verdicts"] if v["claim"] == "state-known"]
    assert (doubt["outcome"], doubt["required"]) == ("UNKNOWN", True)
    assert "cluster/queues/b.yaml:1" in doubt["headline"]
    assert done.json["outcome"] != "CERTIFIED"


def test_two_definitions_of_one_queue_leave_it_undecided(cluster, run):
    text = (cluster.root / "queues/b.yaml").read_text()
    cluster.write("queues/c.yaml", text.replace("nominalQuota: 8", "nominalQuota: 4"))
    done = run(*BARE)
    assert done.code == 4
    assert "ClusterQueue b is defined differently in several documents" in " ".join(done.out.split())


def test_a_file_that_can_not_be_read_leaves_it_undecided(cluster, run):
    cluster.write("broken.yaml", "kind: ClusterQueue\nspec: [\n")
    done = run(*BARE)
    assert done.code == 3  # unread goes before undecided
    assert done.out.startswith("UNDECIDED")
    assert "broken.yaml" in done.err


def test_promises_that_mean_nothing_here_leave_it_undecided(cluster, run):
    cluster.replace("promises.yaml", "gpus: 1}\nrequired", "gpus: 1, priorityClass: gold}\nrequired")
    done = run(*BARE)
    assert done.code == 4
    assert "promises.yaml:16: no priority class 'gold' in sight" in " ".join(done.out.split())


def test_promises_with_a_slip_end_with_2_and_their_places(cluster, run):
    cluster.replace("promises.yaml", "guarantee:", "guarantees:")
    done = run(*BARE)
    assert done.code == 2
    assert (
        "cluster/promises.yaml:7:5: unknown key 'teams[0].guarantees'; did you mean 'guarantee'?" in done.err
    )
    assert "cluster/promises.yaml:14:5" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("promises:\n  teams: []\n", "a file of promises has kind Promises"),
        ("teams: [\n", "promises.yaml:"),
        ("apiVersion: policycheck.dev/v1\nkind: Promises\nteams: []\nteams: []\n", "teams"),
    ],
)
def test_a_file_of_that_name_that_is_none_is_no_silence(cluster, run, text, said):
    cluster.write("promises.yaml", text)
    done = run(*BARE)
    assert done.code == 2
    assert said in done.err


def test_a_file_of_promises_that_is_named_counts_instead(cluster, run, tmp_path):
    text = (cluster.root / "promises.yaml").read_text()
    (tmp_path / "told.yaml").write_text(
        text.replace("{nvidia.com/gpu: 8}\n    within", "{nvidia.com/gpu: 9}\n    within")
    )
    done = run(*BARE, "--promises", "told.yaml")
    assert done.code == 1
    assert "9 nvidia.com/gpu are promised, and the quota of a is 8" in " ".join(done.out.split())
    assert run(*BARE, "--promises", "gone.yaml").code == 2


def test_two_documents_of_promises_are_one_too_many(cluster, run):
    cluster.write("more/promises.yaml", "apiVersion: policycheck.dev/v1\nkind: Promises\n")
    done = run(*BARE)
    assert done.code == 2
    assert "cluster/more/promises.yaml:1, cluster/promises.yaml:1" in done.err


def test_promises_beside_a_kustomization_are_found_by_name(cluster, run):
    names = "".join(f"- {name}\n" for name in ("queues/a.yaml", "queues/b.yaml", "flavor.yaml", "nodes.yaml"))
    cluster.write("kustomization.yaml", f"resources:\n{names}")
    from policycheck.app import Sources
    from policycheck.app.certify import prepare
    from policycheck.lint.settings import Settings
    from policycheck.source.files import Reader

    def render(folder):
        files = ("queues/a.yaml", "queues/b.yaml", "flavor.yaml", "nodes.yaml")
        return b"---\n".join((cluster.root / name).read_bytes() for name in files)

    (one,), _ = prepare(Sources((str(cluster.root),), Reader(), render=render), Settings(), "")
    assert one.promises.owners == {"a": "a@example.com", "b": "b@example.com"}


def test_time_that_is_up_is_unknown_and_never_a_verdict(cluster, run):
    done = run(*BARE, "--timeout", "0.000001", "--format", "json")
    assert done.code == 4
    assert {(v["outcome"], v["headline"]) for v in done.json["verdicts"]} == {
        ("UNKNOWN", "not tried: time was up")
    }
    assert {v["subject"] for v in done.json["verdicts"] if v["claim"] == "guarantee-honoured"} == {"a", "b"}


def test_no_queue_is_no_input(cluster, run):
    done = run("certify", "cluster/nodes.yaml")
    assert done.code == 3
    assert "no queue in what was given" in done.err


def test_a_claim_that_is_none_is_a_mistake(cluster, run):
    done = run(*BARE, "--claim", "guarantee-honored")
    assert done.code == 2
    assert "did you mean 'guarantee-honoured'" in done.err


def test_several_clusters_are_told_apart_and_not_certified_in_one(cluster, run, tmp_path):
    import shutil

    shutil.copytree(cluster.root, tmp_path / "second")
    (tmp_path / "second/queues/a.yaml").write_text(
        (cluster.root / "queues/a.yaml").read_text().replace("Cohort: Any", "Cohort: Never")
    )
    done = run("certify", "cluster", "second", *BARE[2:], "--format", "json")
    assert done.code == 1
    told = done.json
    assert {v["scope"]: v["outcome"] for v in told["verdicts"] if v["subject"] == "a" and v["required"]} == {
        "cluster": "HOLDS",
        "second": "FAILS",
    }
    assert {s["scope"] for s in told["subjects"]} == set(told["resultDigest"]) == {"cluster", "second"}
    refused = run("certify", "cluster", "second", *BARE[2:], "--certificate", "c.json")
    assert refused.code == 2
    assert "a certificate is about one cluster" in refused.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sign", "mine.key"), "--sign needs --certificate"),
        (("--certificate", "c", "--sign", "gone.key"), "gone.key: No such file"),
        (("--certificate", "c", "--sign", "mine.pub"), "private key"),
        (("--certificate", "c", "--sign", "locked.key"), "a password is needed"),
        (("--certificate", "c", "--valid-for", "soon"), "--valid-for"),
        (("--certificate", "c", "--valid-for", "1ms"), "a second at least"),
        (("--certificate", "c", "--issued-at", "2026-02-30T00:00:00Z"), "--issued-at"),
        (("--certificate", "c", "--issued-at", "9999-12-31T00:00:00Z"), "after the year 9999"),
        (
            (
                "--certificate",
                "cluster/flavor.yaml",
            ),
            "is one of the files that are read",
        ),
        (("--certificate", "c", "--claim", "burst-usable"), "not tested: guarantee-honoured"),
    ],
)
def test_what_can_not_be_issued_is_said_before_or_instead(cluster, run, keys, options, said):
    done = run(*BARE, *options)
    assert done.code == 2
    assert said in done.err
    assert not (keys / "c").exists()
    assert (cluster.root / "flavor.yaml").read_text().startswith("apiVersion")


def test_without_the_extra_signing_is_refused_with_the_hint(cluster, run, tmp_path, without_extra):
    (tmp_path / "some.key").write_text("-----BEGIN PRIVATE KEY-----\n")
    done = run(*BARE, "--certificate", "c", "--sign", "some.key")
    assert done.code == 2
    assert "pip install 'policycheck[sign]'" in done.err


def test_nothing_is_issued_for_what_is_refused(cluster, run, tmp_path):
    cluster.replace("queues/a.yaml", "reclaimWithinCohort: Any", "reclaimWithinCohort: Never")
    (tmp_path / "c.json").write_text("old")
    done = run(*BARE, "--certificate", "c.json")
    assert done.code == 1
    assert "no certificate is written: the outcome is REFUSED; c.json is left as it was" in done.err
    assert (tmp_path / "c.json").read_text() == "old"


def test_claims_have_pages_and_are_listed(run):
    listed = run("explain")
    assert listed.code == 0
    assert "  guarantee-honoured " in listed.out
    page = run("explain", "Guarantee-Honoured")
    assert page.code == 0
    assert page.out.splitlines()[0] == "guarantee-honoured"
    assert "policycheck certify PATH --claim guarantee-honoured" in page.out


@pytest.mark.parametrize(("password", "code"), [("secret", 0), ("wrong", 2)])
def test_the_password_of_a_key_comes_from_the_environment(cluster, run, keys, monkeypatch, password, code):
    monkeypatch.setenv("POLICYCHECK_KEY_PASSWORD", password)
    done = run(*BARE, "--certificate", "c.json", "--sign", "locked.key")
    assert done.code == code, done.err
    assert password not in done.err + done.out
    assert (keys / "c.json").exists() is (code == 0)
    if not code:
        assert run("verify", "c.json", "cluster", "--key", "locked.pub").code == 0
