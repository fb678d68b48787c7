"""The one recorded output that follows the catalogue: what a first run shows."""

import socket

import pytest

from policycheck import data
from policycheck.adapters.cli import main


@pytest.fixture
def demo(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1780000000")

    def refuse(*args, **options):
        raise AssertionError("the demo opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    code = main(["demo"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_demo_shows_faults_their_repair_and_the_way_on(demo):
    code, out, err = demo
    assert (code, err) == (0, "")
    bad, good = out.split("== The same cluster, repaired: demo-good\n")
    assert "error[" in bad
    assert "no findings" not in bad
    assert good.lstrip().startswith("no findings")
    assert "kubectl get nodes -o json > nodes.json" in good
    assert "policycheck lint PATH... --inventory nodes.json" in good


def test_the_demo_leaves_nothing_behind(demo, tmp_path):
    assert list(tmp_path.iterdir()) == []


def test_the_demo_as_recorded(demo, golden_command):
    golden_command("demo.txt", demo[1])


def test_the_command_that_it_names_for_the_promises_gives_what_it_shows(demo, capsys, monkeypatch):
    _, out, _ = demo
    told = out.split("policycheck certify ", 1)[1].split("\n\n", 1)[0]
    monkeypatch.chdir(data.root() / "fixtures" / "clusters")
    main(["certify", *told.replace("\\\n", " ").split()])
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("REFUSED: ")
    assert first in out.splitlines()
