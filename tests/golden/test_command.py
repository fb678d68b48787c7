"""Whole output of the command on files, with rules of its own so that the catalogue can grow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from policycheck.adapters.cli import main

HERE = Path(__file__).parent
RULES = ("--rules", "rules", "--select", "AC", "--target", "kueue=0.19")
COMMANDS = {
    "lint.txt": ("lint", "cluster"),
    "lint.concise": ("lint", "cluster", "--format", "concise"),
    "lint.json": ("lint", "cluster", "--format", "json"),
    "lint.markdown": ("lint", "cluster", "--format", "markdown"),
    "lint.verbose.txt": ("lint", "cluster", "--verbose"),
    "lint.one-file.txt": ("lint", "cluster/flavors.json"),
    "lint.statistics.txt": ("lint", "cluster", "--statistics"),
    "lint.warnings.txt": ("lint", "cluster/queues.yaml", "--fail-on", "warning", "--ignore", "AC002"),
    "lint.nothing-there.txt": ("lint", "absent"),
    "lint.dump.json": ("lint", "cluster/flavors.json", "--dump", "model"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_whole_output(name, golden_command, capsys, monkeypatch):
    monkeypatch.chdir(HERE)
    code = main([*COMMANDS[name], *RULES])
    captured = capsys.readouterr()
    golden_command(name, f"{captured.out}--- standard error\n{captured.err}--- exit code {code}\n")


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_same_bytes_under_another_hash_seed_and_order(form):
    def run(seed, *paths):
        command = (sys.executable, "-m", "policycheck", "lint", *paths, *RULES, "--format", form)
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(command, cwd=HERE, env=environ, capture_output=True, check=False)

    files = sorted(path.relative_to(HERE).as_posix() for path in (HERE / "cluster").iterdir())
    one, other = run("1", *files), run("2", *reversed(files))
    assert one.returncode == other.returncode == 1
    assert one.stdout == other.stdout
    assert b"AC002" in one.stdout


def test_standard_input_is_a_file_like_any_other():
    text = (HERE / "cluster" / "queues.yaml").read_bytes()
    command = (sys.executable, "-m", "policycheck", "lint", "-", *RULES, "--format", "concise", "--quiet")
    done = subprocess.run(command, cwd=HERE, input=text, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(b"<stdin>:4:1: warning[AC001]")


def test_the_excerpt_of_standard_input_is_shown():
    text = (HERE / "cluster" / "queues.yaml").read_bytes()
    command = (sys.executable, "-m", "policycheck", "lint", "-", *RULES)
    done = subprocess.run(command, cwd=HERE, input=text, capture_output=True, check=False)
    assert done.stderr == b""
    assert b"nominalQuota: 128}" in done.stdout
