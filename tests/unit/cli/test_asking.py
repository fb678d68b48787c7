"""The commands that ask one thing: what they refuse to write over, and what they say was not checked."""

import os

import pytest

from policycheck.adapters.cli import main

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
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: a, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: a/b:1, resources: {limits: {nvidia.com/gpu: "1"}}}]
"""
POOLS = "pools:\n- {name: gpus, nodes: 2, gpus: 8, product: NVIDIA-H100-80GB-HBM3}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "all.yaml").write_text(QUEUES)
    (tmp_path / "pools.yaml").write_text(POOLS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "args",
    [
        ("matrix", "all.yaml", "--output", "all.yaml"),
        ("why", "train", "all.yaml", "--output", "./all.yaml"),
        ("why", "train", "all.yaml", "--inventory", "pools.yaml", "--output", "pools.yaml"),
        ("inventory", "pools.yaml", "--output", "pools.yaml"),
        ("inventory", ".", "--write", "pools.yaml"),
    ],
)
def test_what_is_read_is_not_written_over(folder, capsys, args):
    assert main(args) == 2
    assert "is one of the files that are read here" in capsys.readouterr().err
    assert (folder / "all.yaml").read_text() == QUEUES
    assert (folder / "pools.yaml").read_text() == POOLS


def test_an_answer_that_does_not_exist_says_what_was_not_checked(folder, capsys):
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    (chart / "templates" / "q.yaml").write_text(QUEUES.replace("team", "{{ .Values.team }}"))
    assert main(("matrix", "chart")) == 3
    assert "chart/Chart.yaml:1: a Helm chart" in capsys.readouterr().err


def test_an_answer_says_that_it_is_without_what_was_not_checked(folder, capsys):
    (folder / "notes.yaml").write_text("title: notes\n")
    (folder / "pools.yaml").unlink()
    assert main(("matrix", ".")) == 0
    assert capsys.readouterr().err == "1 file was not checked (--verbose lists all)\n"
    assert main(("matrix", ".", "--verbose")) == 0
    assert "notes.yaml:1: no Kubernetes object" in capsys.readouterr().err
    assert main(("matrix", ".", "--quiet")) == 0
    assert capsys.readouterr().err == ""


def test_clusters_in_a_matrix_stand_apart(folder, capsys):
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "q.yaml").write_text(QUEUES)
    assert main(("matrix", "a", "b")) == 0
    assert "\n\nWho can take running jobs from whom in b" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_in_a_folder_is_not_waited_for(folder, capsys):
    os.mkfifo(folder / "z.yaml")
    # Somebody who writes, so that a command that opens it fails the test and does not hang.
    holder = os.open(folder / "z.yaml", os.O_RDWR)
    os.write(holder, b"- {")
    try:
        (folder / "all.yaml").unlink()
        assert main(("lint", ".", "--inventory", "pools.yaml")) == 3
        capsys.readouterr()
        from policycheck.adapters.cli.inventory import _files

        assert dict(_files((".",))) == {"pools.yaml": False}
    finally:
        os.close(holder)


@pytest.mark.parametrize("path", ["absent.yaml", "binary.yaml"])
def test_a_dump_of_what_could_not_be_read_is_no_success(folder, capsys, path):
    (folder / "binary.yaml").write_bytes(b"\x00\x01\x02" * 99)
    assert main(("lint", path, "--dump", "model")) == 3
    captured = capsys.readouterr()
    assert captured.err.startswith(path)
    assert captured.out.startswith("[")


@pytest.mark.parametrize(
    "args",
    [("docs", "--to", "all.yaml/pages"), ("new", "ORG001", "a-rule", "--rules", "all.yaml/mine")],
)
def test_a_folder_that_can_not_be_made_is_no_bug_of_ours(folder, capsys, args):
    assert main(("rules", *args)) == 2
    assert "can not write all.yaml/" in capsys.readouterr().err


def test_one_situation_does_not_cost_the_answers_to_the_others(folder, capsys, monkeypatch):
    from policycheck.systems.kueue import case

    def run(given):
        if given["name"] == "bad":
            raise KeyError("\x1b[31m")
        return given

    monkeypatch.setattr(case, "run", run)
    (folder / "cases.jsonl").write_text('{"name": "a"}\n{"name": "bad"}\n[]\n{"name": "b"}\n')
    with pytest.raises(SystemExit) as end:
        main(("simulate", "--case", "cases.jsonl"))
    captured = capsys.readouterr()
    assert end.value.code == 70
    assert captured.out == '{"name": "a"}\n{"name": "b"}\n'
    assert "cases.jsonl, line 2: internal error: KeyError" in captured.err
    assert "\x1b" not in captured.err


@pytest.mark.parametrize("path", ["empty.yaml", "folder"])
def test_what_is_accepted_is_said_once(folder, capsys, path):
    (folder / "empty.yaml").write_text("")
    (folder / "folder").mkdir()
    (folder / "folder" / "empty.yaml").write_text("")
    assert main(("inventory", path)) == 3
    assert capsys.readouterr().err.count("a CSV table") == 1


def test_a_new_rule_says_how_to_run_it_and_runs_so(folder, capsys):
    rule = ("--rules", "own", "--select", "ORG001")
    assert main(("rules", "new", "ORG001", "a-rule", *rule[:2], "--subject", "batch/Job")) == 0
    assert (
        "policycheck lint PATH --rules own --select ORG001; it runs unselected once"
        in capsys.readouterr().out
    )
    assert main(("lint", "all.yaml", *rule, "--format", "concise", "--quiet")) == 0
    assert "warning[ORG001]" in capsys.readouterr().out
    file = folder / "own" / "ORG001-a-rule.yaml"
    file.write_text(file.read_text().replace("status: preview", "status: stable"))
    assert main(("lint", "all.yaml", *rule[:2], "--format", "concise", "--quiet")) == 0
    assert "warning[ORG001]" in capsys.readouterr().out
