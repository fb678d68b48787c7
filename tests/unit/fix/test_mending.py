"""``certify --repair --write``: repairs that hold together, written; what still fails stays and is said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, nodes, queue

from policycheck.adapters.cli import main
from policycheck.app import Sources
from policycheck.app.certify import Options
from policycheck.app.mending import mend
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

NEVER = "{reclaimWithinCohort: Never, withinClusterQueue: LowerPriority}  # asked for by research"
TEXT = FLAVOR + queue("a", 8, preemption=NEVER) + queue("b", 8) + nodes(2)
OPTIONS = Options(claims=("guarantee-honoured",), scenarios=5)


def mended(text, is_barred=lambda _: ""):
    held = {"all.yaml": text}
    sources = Sources(tuple(held), read=lambda name: held[name].encode(), tree=Listing(held), in_memory=True)
    return mend(sources, Settings(), OPTIONS, is_barred=is_barred)


def test_a_broken_promise_is_mended_where_it_stands():
    found = mended(TEXT)
    assert [one.words for one in found.made] == [
        ("ClusterQueue a: preemption.reclaimWithinCohort Never -> Any",)
    ]
    assert found.left == ()
    assert found.old == {"all.yaml": TEXT.encode()}
    assert found.new == {
        "all.yaml": TEXT.replace("reclaimWithinCohort: Never", "reclaimWithinCohort: Any").encode()
    }
    assert {v.outcome for one in found.done for v in one.verdicts} == {"HOLDS"}


def test_nothing_is_mended_where_nothing_fails():
    found = mended(FLAVOR + queue("a", 8) + queue("b", 8) + nodes(2))
    assert (found.made, found.left, found.new) == ((), (), {})


def test_files_that_can_not_be_changed_are_left_and_what_would_help_is_shown():
    found = mended(TEXT, lambda _: "it is rendered")
    assert (found.made, found.new) == ((), {})
    assert [bool(one.diff) for one in found.left] == [True]


def test_the_command_writes_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.yaml").write_text(TEXT)
    args = ["certify", "all.yaml", "--claim", "guarantee-honoured", "--budget", "5", "--accept", "search"]
    assert main([*args, "--repair"]) == 1
    assert (tmp_path / "all.yaml").read_text() == TEXT
    capsys.readouterr()
    assert main([*args, "--repair", "--write"]) == 0
    ran = capsys.readouterr()
    assert ran.out.startswith("CERTIFIED")
    assert "wrote all.yaml:\n  ClusterQueue a: preemption.reclaimWithinCohort Never -> Any\n" in ran.err
    assert (
        "reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}  # asked for by research"
        in (tmp_path / "all.yaml").read_text()
    )
    assert main(args) == 0


def test_write_goes_with_repair(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.yaml").write_text(TEXT)
    assert main(["certify", "all.yaml", "--write"]) == 2
    assert "--write goes with --repair" in capsys.readouterr().err


@pytest.mark.parametrize("quiet", [True, False])
def test_that_nothing_was_written_is_said(tmp_path, monkeypatch, capsys, quiet):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.yaml").write_text(FLAVOR + queue("a", 8) + queue("b", 8) + nodes(2))
    args = ["certify", "all.yaml", "--claim", "guarantee-honoured", "--budget", "5", "--repair", "--write"]
    main([*args, "--quiet"] if quiet else args)
    assert ("nothing was written" in capsys.readouterr().err) == (not quiet)
