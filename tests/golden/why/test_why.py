"""Whole answers of ``why`` and ``matrix`` on the packaged clusters and on a small contended one."""

import json
import os
from pathlib import Path

import pytest

from policycheck import data
from policycheck.adapters.cli import main

HERE = Path(__file__).parent
DEMO, SMALL = data.root() / "fixtures" / "clusters", HERE
SCATTERED = ("scattered", "--inventory", "inventories/scattered.yaml")
POOLS = ("pools", "--inventory", "inventories/pools.yaml")
COMMANDS = {
    # A job that asks 40 where its queue may have 32 at most.
    "why/bad.recognition.txt": (DEMO, "why", "team-speech/job-recognition-large", "demo-bad"),
    "why/bad.recognition.json": (DEMO, "why", "recognition-large", "demo-bad", "--format", "json"),
    "why/bad.pretrain.txt": (DEMO, "why", "job/pretrain-32b", "demo-bad"),
    "why/bad.label-on-pods.txt": (DEMO, "why", "eval-suite", "demo-bad"),
    "why/bad.no-local-queue.txt": (DEMO, "why", "pod/notebook-jun", "demo-bad"),
    "why/bad.no-cluster-queue.txt": (DEMO, "why", "auto-label", "demo-bad"),
    "why/bad.no-selector.txt": (DEMO, "why", "notebook-ana", "demo-bad"),
    "why/bad.misspelt.txt": (DEMO, "why", "job/detectr", "demo-bad"),
    "why/good.recognition.txt": (DEMO, "why", "recognition-large", "demo-good"),
    "why/good.sweep.txt": (DEMO, "why", "sweep-optimizers", "demo-good"),
    "why/small.first.txt": (SMALL, "why", "first", "contended"),
    "why/small.second.txt": (SMALL, "why", "second", "contended", "--target", "kueue=0.18"),
    "why/small.running.txt": (SMALL, "why", "workload/running", "contended"),
    # Quota admits them, and the default scheduler has no node for all of their pods.
    "why/scattered.first.txt": (SMALL, "why", "first", *SCATTERED),
    "why/scattered.gang.txt": (SMALL, "why", "gang", *SCATTERED),
    "why/scattered.large.txt": (SMALL, "why", "large", *SCATTERED),
    # What holds while elastic pools are small, and when they have grown.
    "why/pools.rack.txt": (SMALL, "why", "rack", *POOLS),
    "why/pools.pair.txt": (SMALL, "why", "pair", *POOLS),
    "why/pools.never.txt": (SMALL, "why", "never", *POOLS),
    "why/pools.plain.txt": (SMALL, "why", "plain", *POOLS),
    "why/pools.plain.json": (SMALL, "why", "plain", *POOLS, "--format", "json"),
    "matrix/bad.txt": (DEMO, "matrix", "demo-bad"),
    "matrix/good.txt": (DEMO, "matrix", "demo-good"),
    "matrix/good.research.txt": (DEMO, "matrix", "demo-good", "--queue", "research"),
    "matrix/small.json": (SMALL, "matrix", "contended", "--format", "json"),
    "matrix/small.misspelt.txt": (SMALL, "matrix", "contended", "--queue", "betta"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_whole_output(name, capsys, monkeypatch):
    folder, *command = COMMANDS[name]
    monkeypatch.chdir(folder)
    code = main(command)
    captured = capsys.readouterr()
    actual = f"{captured.out}--- standard error\n{captured.err}--- exit code {code}\n"
    path = HERE.parent / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(actual, encoding="utf-8")
    assert path.is_file(), f"{name} is not recorded; run once with UPDATE_GOLDEN=1 and read it"
    assert actual == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("cluster", ["demo-bad", "demo-good"])
def test_policies_and_decision_agree_on_the_examples(cluster, capsys, monkeypatch):
    monkeypatch.chdir(DEMO)
    assert main(["matrix", cluster, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cells = [
        cell["checked"]
        for scope in found["scopes"]
        for group in scope["groups"]
        for pair in group["pairs"]
        for way in pair["ways"]
        for cell in way["cells"]
    ]
    assert found["differing"] == 0
    assert cells.count("agrees") > 200


@pytest.mark.parametrize("command", ["why", "matrix"])
def test_what_cannot_be_read_is_exit_code_3(command, tmp_path, capsys):
    (tmp_path / "bad.yaml").write_bytes(b"kind: \xe9\n")
    (tmp_path / "good.yaml").write_text((HERE / "contended" / "cluster.yaml").read_text())
    asked = ["first"] if command == "why" else []
    assert main([command, *asked, str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert "bad.yaml" in captured.err
    assert captured.out


def test_no_input_is_exit_code_3_and_a_wrong_name_tells_what_is_unread(tmp_path, capsys):
    assert main(["why", "first", str(tmp_path / "absent")]) == 3
    assert "no workload in what was given" in capsys.readouterr().err
    (tmp_path / "bad.yaml").write_bytes(b"kind: \xe9\n")
    assert main(["why", "frist", str(tmp_path), str(HERE / "contended")]) == 2
    assert "did you mean a/job-first?; could not be read: " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["why", "matrix"])
def test_output_fits_eighty_columns(command, capsys, monkeypatch):
    monkeypatch.chdir(DEMO)
    asked = ["recognition-large"] if command == "why" else []
    main([command, *asked, "demo-bad"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
