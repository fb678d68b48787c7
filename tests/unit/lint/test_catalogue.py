"""`policycheck rules` and `explain`, through the whole pipe, on a folder of one's own."""

from __future__ import annotations

import json

import pytest

from policycheck.adapters.cli import main

QUEUE = "kueue.x-k8s.io/ClusterQueue"


@pytest.fixture
def folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("POLICYCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own"
    assert main(["rules", "new", "ACME100", "needs-team", "--rules", str(path), "--subject", QUEUE]) == 0
    capsys.readouterr()
    return path


@pytest.fixture
def change(folder):
    def replace(old, new):
        path = folder / "ACME100-needs-team.yaml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return replace


def test_a_new_rule_passes_its_own_test(folder, capsys):
    assert main(["rules", "test", str(folder)]) == 0
    assert capsys.readouterr().out == "1 rule, 2 examples, 0 failed\n"


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (
            '"3:1 metadata.labels"',
            '"3:2 metadata.labels"',
            ["- 3:2 metadata.labels", "+ 3:1 metadata.labels"],
        ),
        ('"3:1 metadata.labels"', '"3:1 metadata.name"', ["- 3:1 metadata.name", "+ 3:1 metadata.labels"]),
        ('"3:1 metadata.labels"', '"3:1 labels", "4:1 x"', ["- 4:1 x"]),
        ('"3:1 metadata.labels"', '"3:1 abels"', ["- 3:1 abels", "+ 3:1 metadata.labels"]),
        ("team: research", "tram: research", ["+ 5:3 metadata.labels"]),
        ("has(object.metadata.labels) && ", "", ["! on ClusterQueue example: the field 'labels' is not set"]),
        (
            "  good:\n    - manifest",
            "  good:\n    - skipped: true\n      manifest",
            ["! the rule ran; the example says 'skipped: true'"],
        ),
    ],
)
def test_an_example_that_does_not_come_out_fails_with_the_difference(folder, change, capsys, old, new, lines):
    change(old, new)
    assert main(["rules", "test", str(folder)]) == 1
    shown = capsys.readouterr()
    assert shown.out == "1 rule, 2 examples, 1 failed\n"
    for line in lines:
        assert f"  {line}" in shown.err


def test_a_broken_rule_is_told_with_its_line_and_exit_code_2(folder, change, capsys):
    change("at: metadata.labels", "at: metadata.lables")
    assert main(["rules", "test", str(folder)]) == 2
    error = capsys.readouterr().err
    assert f"{folder.as_posix()}/ACME100-needs-team.yaml:11:1: at: no field 'lables'" in error
    assert "did you mean 'labels'?" in error


def test_the_list_has_ones_own_rules_too(folder, capsys):
    assert main(["rules", "list", "--rules", str(folder), "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    own = next(one for one in listed if one["id"] == "ACME100")
    assert own == {
        "id": "ACME100",
        "name": "needs-team",
        "title": "Needs team",
        "severity": "warning",
        "confidence": "medium",
        "phase": "observe",
        "status": "preview",
        "system": "own",
        "fix": None,
    }
    assert main(["rules", "list", "--rules", str(folder)]) == 0
    assert "needs-team (preview)" in capsys.readouterr().out


def test_the_list_goes_on_without_a_broken_rule_and_says_so(folder, change, capsys):
    change("severity: warning", "severity: fatal")
    assert main(["rules", "list", "--rules", str(folder), "--format", "json"]) == 2
    shown = capsys.readouterr()
    assert "ACME100" not in [one["id"] for one in json.loads(shown.out)]
    assert "'severity' is 'fatal'" in shown.err


@pytest.mark.parametrize("name", ["ACME100", "acme100", "needs-team"])
def test_a_page_tells_what_why_and_what_to_do(folder, capsys, name):
    assert main(["explain", name, "--rules", str(folder)]) == 0
    page = capsys.readouterr().out
    for words in ("ACME100 needs-team", "what it says", "why it matters", "what to do", "found at 3:1"):
        assert words in page
    assert all(len(line) <= 80 for line in page.splitlines())


def test_an_unknown_rule_is_exit_code_2_with_a_guess(folder, capsys):
    assert main(["explain", "needs-tem", "--rules", str(folder)]) == 2
    assert "no rule, claim or reason 'needs-tem'; did you mean 'needs-team'?" in capsys.readouterr().err


def test_pages_are_written_checked_and_taken_away(folder, capsys, tmp_path):
    docs = tmp_path / "docs"
    command = ["rules", "docs", "--rules", str(folder), "--to", str(docs)]
    assert main([*command, "--check"]) == 1
    assert not docs.exists()
    assert main(command) == 0
    assert sorted(path.name for path in docs.iterdir()) == ["ACME100.md", "index.md"]
    assert "[ACME100](ACME100.md)" in (docs / "index.md").read_text()
    assert main([*command, "--check"]) == 0
    (docs / "GONE1.md").write_text("x")
    capsys.readouterr()
    assert main([*command, "--check"]) == 1
    assert "GONE1.md is not up to date" in capsys.readouterr().err
    assert main(command) == 0
    assert not (docs / "GONE1.md").exists()


def test_a_scaffold_overwrites_nothing(folder, capsys):
    before = (folder / "ACME100-needs-team.yaml").read_text()
    assert main(["rules", "new", "ACME100", "needs-team", "--rules", str(folder)]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert (folder / "ACME100-needs-team.yaml").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ACME101", "x", "--subject", "v1/Pood"], "did you mean 'v1/Pod'?"),
        (["ACME101", "Not-A-Name"], "it has to match"),
        (["KQ101", "x"], "the letters KQ are taken"),
        (["acme", "x"], "it has to match"),
    ],
)
def test_a_scaffold_for_what_can_not_be_is_refused(folder, capsys, arguments, words):
    assert main(["rules", "new", *arguments, "--rules", str(folder)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("subject", ["v1/Pod", "batch/Job", "kueue.x-k8s.io/ResourceFlavor"])
def test_a_scaffold_passes_for_any_kind(folder, subject, capsys):
    assert main(["rules", "new", "ACME200", "other", "--rules", str(folder), "--subject", subject]) == 0
    assert main(["rules", "test", str(folder), "--rule", "ACME200"]) == 0, capsys.readouterr().err
