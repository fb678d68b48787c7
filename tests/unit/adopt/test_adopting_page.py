"""docs/adopting.md, followed word by word on a copy of the example: every command ends as the page says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from policycheck.adapters.cli import main
from policycheck.adapters.settings_merge import _ADDED, _DEEP_MAPS, _MAPS
from policycheck.adapters.settings_show import ORDER

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "adopting.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(console|yaml)\n(.*?)```", re.DOTALL)


def steps():
    """Files to write and commands to run, in the order of the page."""
    for kind, text in BLOCK.findall(PAGE):
        if kind == "yaml":
            yield "write", text.splitlines()[0].removeprefix("# "), text
            continue
        for line in text.splitlines():
            command, _, said = line.removeprefix("$ ").partition("#")
            code = re.match(r" exit (\d)", said)
            yield "run", command.strip(), int(code[1]) if code else 0


def test_it_can_be_followed(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "fixtures" / "clusters" / "demo-bad", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("POLICYCHECK_CONFIG", raising=False)
    ran = 0
    for kind, what, value in steps():
        if kind == "write":
            Path(what).parent.mkdir(parents=True, exist_ok=True)
            Path(what).write_text(value)
        elif what.startswith("policycheck "):
            code = main(shlex.split(what)[1:])
            said = capsys.readouterr()
            assert code == value, f"{what}\n{said.out}{said.err}"
            ran += 1
    assert ran > 10
    assert main(["lint", "."]) == 0
    assert "known before" in capsys.readouterr().out


def test_the_table_of_merging_is_what_merging_does():
    rows = dict(
        re.findall(r"^\| (`.*`) \| (.*?) \|$", PAGE.split("what the nearer file does")[1], re.MULTILINE)
    )
    by_words = {
        words: {key.replace("-", "_") for key in re.findall(r"`([\w-]+)`", keys)}
        for keys, words in rows.items()
    }
    assert by_words["adds to the list"] == _ADDED
    assert by_words["replaces what has the same key"] == _MAPS | _DEEP_MAPS
    assert set().union(*by_words.values()) == set(ORDER)


@pytest.mark.parametrize("page", ["adopting.md"])
def test_what_it_links_to_is_there(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [
        link for link in re.findall(r"\]\((?!https?:)([^)#]+)", text) if not (ROOT / "docs" / link).exists()
    ] == []
    assert (ROOT / "docs" / "schemas" / "settings.json").exists()
