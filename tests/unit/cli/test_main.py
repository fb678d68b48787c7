import os
import subprocess
import sys

import pytest

from policycheck import __version__
from policycheck.adapters.cli import COMMANDS, group
from policycheck.adapters.cli.exitcode import worst


def test_help_lists_every_command_and_loads_none(run):
    before = {name for name in sys.modules if name.startswith("policycheck.adapters.cli.")}
    ran = run("--help")
    after = {name for name in sys.modules if name.startswith("policycheck.adapters.cli.")}
    assert ran.code == 0
    assert ran.err == ""
    assert all(f"\n  {entry.name} " in ran.out for entry in COMMANDS)
    assert after == before


def test_version(run):
    assert run("--version") == (0, f"policycheck {__version__}\n", "")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "Usage: policycheck"),
        (("lnit",), "No such command 'lnit'"),
        (("lint",), "nothing to check: give a PATH"),
        (("lint", "--colour", "q.yaml"), "No such option"),
        (("lint", "--fail-on", "fatal", "q.yaml"), "'error', 'warning', 'info', 'never'"),
        (("lint", "--format", "xml", "q.yaml"), "no format 'xml'; there are text, concise, json, markdown"),
        (("lint", "--format", "json", "--format", "text", "q.yaml"), "would be mixed in one output"),
        (("lint", "--format", "json=a", "--output", "b", "q.yaml"), "--output has nothing to write"),
        (("lint", "--format", "json", "--statistics", "q.yaml"), "--statistics goes with"),
        (("lint", "--target", "nonsense", "q.yaml"), "'nonsense' is no target"),
        (("lint", "--config", "absent.yaml", "q.yaml"), "absent.yaml"),
        (("lint", "--inventory", "cluster:prod", "q.yaml"), "cluster:prod"),
        (("lint", "--baseline", "b.json", "q.yaml"), "b.json: no such file"),
        (("lint", "--grow-baseline", "q.yaml"), "--grow-baseline says what --write-baseline may do"),
        (("lint", "--isolated", "--config", "c.yaml", "q.yaml"), "give one of them"),
    ],
)
def test_errors_of_use(run, asked, monkeypatch, args, said):
    monkeypatch.setenv("KUBECONFIG", "/nowhere/kubeconfig")
    ran = run(*args)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""
    assert asked.calls == []


def test_settings_that_are_wrong_are_an_error_of_use(run, asked, tmp_path):
    (tmp_path / ".policycheck.yaml").write_text("fail_onn: error\n")
    ran = run("lint", "q.yaml")
    assert ran.code == 2
    assert "fail_onn" in ran.err
    assert "Traceback" not in ran.err


def test_messages_can_not_drive_a_terminal(run, asked, tmp_path):
    (tmp_path / ".policycheck.yaml").write_text('"a\\e[2Jb": 1\n')
    ran = run("lint", "q.yaml")
    assert ran.code == 2
    assert "\x1b" not in ran.err
    asked.answer = KeyError("\x1b[2J")
    (tmp_path / ".policycheck.yaml").unlink()
    assert "\x1b" not in run("lint", "q.yaml").err


def test_a_bug_says_how_to_report_it(run, asked, monkeypatch):
    asked.answer = KeyError("spec")
    ran = run("lint", "q.yaml")
    assert ran.code == 70
    assert "internal error: KeyError: 'spec'" in ran.err
    assert "Please report it" in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""
    assert "Traceback" in run("lint", "--verbose", "q.yaml").err
    monkeypatch.setenv("POLICYCHECK_DEBUG", "1")
    assert "Traceback" in run("lint", "q.yaml").err


def test_interrupted(run, asked):
    asked.answer = KeyboardInterrupt()
    ran = run("lint", "q.yaml")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "interrupted")


def test_a_reader_that_left_changes_no_exit_code(tmp_path):
    script = (
        "import sys; from policycheck import app; from policycheck.lint.finding import LintResult;"
        "from policycheck.source.document import FileReport;"
        "r = LintResult((), (), (), (), (FileReport('q', 'notChecked', 1, 'x', failed=True),) * 5000, {}, 0);"
        "app.lint = lambda sources, settings: r;"
        "from policycheck.adapters.cli import main; sys.exit(main(['lint', '-']))"
    )
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.parametrize(
    ("codes", "expected"),
    [((0,), 0), ((4, 0), 4), ((3, 4), 3), ((3, 1, 4), 1), ((1, 2, 3), 2), ((2, 70, 1), 70), ((), 0)],
)
def test_the_worst_code_wins(codes, expected):
    assert worst(codes) == expected


def test_every_command_that_is_listed_exists():
    for entry in COMMANDS:
        command = group([entry.name]).commands[entry.name]
        assert command.callback, f"{entry.name} is a name without a command"
