"""Faults that a first user met: each stays mended."""

import os
import threading

import pytest

from policycheck import app
from policycheck.adapters.cli import main
from policycheck.adapters.cli.common import reader
from policycheck.lint.settings import Settings

QUEUE = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: team
spec:
  namespaceSelector: {}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(QUEUE)
    return tmp_path


def lint(*paths, **more):
    return app.lint(app.Sources(paths=paths, read=reader(), **more), Settings())


def test_a_missing_path_leaves_the_target_of_the_others_alone(folder):
    result = lint("a.yaml", "nothere")
    assert result.targets["kueue"].version == "0.19"
    assert [f.file for f in result.files if f.failed] == ["nothere"]
    assert result.scopes == ("",)


def test_a_kind_that_is_no_text_is_no_bug(folder):
    (folder / "b.yaml").write_text(QUEUE.replace("ClusterQueue", "[Job]") + "---\n" + QUEUE)
    assert lint("b.yaml").targets["kueue"].assumed


def test_a_long_line_is_no_table_and_no_bug(folder, capsys):
    (folder / "d.json").write_text('{"apiVersion":"v1","kind":"X","a":"' + "," * 200_000 + '"}')
    assert main(["lint", "a.yaml", "--inventory", "d.json"]) == 0
    assert "d.json: holds no inventory" in capsys.readouterr().out


def test_rules_in_preview_that_did_not_run_are_said(folder):
    rules = folder / "own"
    rules.mkdir()
    assert (
        main(
            [
                "rules",
                "new",
                "ORG001",
                "my-rule",
                "--rules",
                "own",
                "--subject",
                "kueue.x-k8s.io/ClusterQueue",
            ]
        )
        == 0
    )
    notes = lint("a.yaml", rules=("own",)).notes
    assert any("ORG001" in note and "preview" in note for note in notes)


def test_a_pipe_is_read_once(folder):
    os.mkfifo("pools")
    text = "pools: [{name: p, nodes: 2, gpus: 8, product: NVIDIA-L4}]\n"
    writer = threading.Thread(target=lambda: (folder / "pools").write_text(text))
    writer.start()
    clusters = app.load(app.Sources(paths=("a.yaml",), read=reader(), inventory=("pools",)), Settings())
    writer.join()
    assert sum(node.machines for node in clusters[0].inventory.nodes) == 2


def test_targets_that_contradict_each_other_are_refused(folder, capsys):
    assert main(["lint", "a.yaml", "--target", "kueue=0.17", "--target", "kueue=0.19"]) == 2
    assert "say one" in capsys.readouterr().err


def test_a_gate_that_nothing_depends_on_is_said(folder):
    notes = lint("a.yaml", targets=("kueue=0.19,NoSuchGate=true",)).notes
    assert any("NoSuchGate" in note for note in notes)


def test_an_annotation_without_a_rule_is_malformed(folder):
    (folder / "a.yaml").write_text(
        QUEUE.replace("  name: team\n", '  name: team\n  annotations:\n    policycheck.dev/ignore: "KQ101"\n')
    )
    assert "CR090" in [f.rule for f in lint("a.yaml").findings]


def test_an_inventory_among_the_manifests_is_named_as_one(folder):
    (folder / "pools.yaml").write_text("pools: [{name: p, nodes: 2, gpus: 8, product: NVIDIA-L4}]\n")
    report = next(f for f in lint("a.yaml", "pools.yaml").files if f.file == "pools.yaml")
    assert report.state == "notChecked"
    assert "--inventory" in report.why
