"""Streams that are full or closed: no bug of ours, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from policycheck.adapters.cli import main

RUN = "import sys; from policycheck.adapters.cli import script; sys.argv[1:] = {args!r}; script()"
SHELL = ["sh", "-c"]


def ran(args, redirect):
    command = f'exec "{sys.executable}" -c "$CODE" {redirect}'
    return subprocess.run(
        [*SHELL, command],
        env={**os.environ, "CODE": RUN.format(args=args)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("args", [["rules", "list"], ["explain", "CR001"]])
def test_a_full_disk_is_no_bug_of_ours(args):
    done = ran(args, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("policycheck: can not write to standard output: No space left")


@pytest.mark.skipif(os.name != "posix", reason="closes a stream in the shell")
@pytest.mark.parametrize("redirect", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(redirect):
    assert ran(["explain", "CR001"], redirect).returncode == 0
    assert ran(["explain", "NO999"], redirect).returncode == 2
    assert "internal error" not in ran(["explain", "CR001"], redirect).stderr


@pytest.mark.skipif(os.name != "posix", reason="closes a stream in the shell")
def test_standard_input_that_is_closed_could_not_be_read():
    done = ran(["lint", "-"], "<&-")
    assert done.returncode == 3
    assert "standard input is closed" in done.stdout


def test_pages_of_others_stay(tmp_path, capsys):
    for name in ("README.md", "notes.md", "KQ999.md"):
        (tmp_path / name).write_text("kept\n")
    own = tmp_path / "own"
    assert main(("rules", "new", "ORG001", "a-rule", "--rules", str(own))) == 0
    assert main(("rules", "docs", "--rules", str(own), "--to", str(tmp_path))) == 0
    assert capsys.readouterr().out.endswith("2 written, 1 removed\n")
    assert sorted(p.name for p in tmp_path.glob("*.md")) == ["ORG001.md", "README.md", "index.md", "notes.md"]


def test_explaining_a_rule_that_is_broken_says_what_is_wrong_with_it(tmp_path, capsys):
    assert main(("rules", "new", "ORG001", "a-rule", "--rules", str(tmp_path))) == 0
    file = tmp_path / "ORG001-a-rule.yaml"
    file.write_text(file.read_text().replace("phase:", "phaze:"))
    assert main(("explain", "ORG001", "--rules", str(tmp_path))) == 2
    assert "unknown key 'phaze'" in capsys.readouterr().err
