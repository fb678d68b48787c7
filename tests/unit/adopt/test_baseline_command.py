"""``--baseline``, ``--write-baseline`` and ``--grow-baseline``: a debt that only gets smaller."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

B = ".policycheck-baseline.json"


@pytest.fixture
def entries(folder):
    def entries(name=B):
        return [(one["rule"], one["file"]) for one in json.loads((folder / name).read_text())["entries"]]

    return entries


@pytest.fixture
def started(old, lint):
    """The first baseline of the old repository, which holds everything."""
    before = lint(".")
    assert before.code == 1
    ran = lint(".", "--write-baseline", B)
    assert (ran.code, ran.found, ran.known) == (0, [], len(before.found))
    assert f"{B} is a new baseline of {len(before.found)} findings" in ran.note(B)
    return before


def test_what_is_written_is_known_from_then_on(started, lint):
    ran = lint(".", "--baseline", B, "--fail-on", "info")
    assert (ran.code, ran.found, ran.known) == (0, [], len(started.found))
    assert lint(".").found == started.found, "without it everything is reported"


def test_what_is_new_is_reported_and_fails_the_run(started, lint, write, queue):
    write({"c.yaml": queue("c")})
    ran = lint(".", "--baseline", B)
    assert ran.code == 1
    assert {file for _, file in ran.found} == {"c.yaml"}
    assert ran.known == len(started.found)


def test_moves_and_renames_are_not_new(started, lint, write, queue):
    write({"a.yaml": None, "moved/deep/x.yaml": "# a comment\n\n---\n" + queue("a")})
    assert lint(".", "--baseline", B).found == []


def test_a_second_of_the_same_is_new(started, lint, write, queue):
    text = queue("a").replace("- name: h100", "- name: a100")
    write({"a.yaml": queue("a") + "---\n" + text.replace("name: a\n", "name: z\n")})
    assert lint(".", "--baseline", B).found != []


def test_what_is_fixed_is_said_and_taken_out_when_it_is_written_again(started, lint, write, queue, entries):
    write({"a.yaml": queue("a").replace("  stopPolicy: Hold\n", "")})
    ran = lint(".", "--baseline", B)
    assert ran.code == 0
    assert (
        ran.note("fixed")
        == f"1 entry of {B} is fixed: `--write-baseline {B}` takes it out, so that it stays fixed"
    )
    ran = lint(".", "--write-baseline", B)
    assert ran.note("left") == f"{B}: {len(started.found) - 1} findings left, 1 fixed and taken out"
    assert ("KQ613", "a.yaml") not in entries()
    write({"a.yaml": queue("a")})
    assert lint(".", "--baseline", B).found == [("KQ613", "a.yaml")], "it can not come back"


def test_writing_again_takes_up_nothing_that_is_new(started, lint, write, queue, entries, folder):
    before = (folder / B).read_bytes()
    write({"c.yaml": queue("c")})
    for args in ((), ("--baseline", B)):
        ran = lint(".", "--write-baseline", B, *args)
        assert ran.code == 1
        assert {file for _, file in ran.found} == {"c.yaml"}
        assert "is not in" in ran.note("--grow-baseline")
        assert (folder / B).read_bytes() == before


def test_unless_it_is_asked_to(started, lint, write, queue, entries):
    write({"c.yaml": queue("c")})
    ran = lint(".", "--write-baseline", B, "--grow-baseline", "--select", "KQ613")
    assert (ran.code, ran.found) == (0, [])
    assert ran.note("left").endswith(
        f", {len(started.found) - 2} kept, since not all of their files and rules were part of this run, 1 added"
    )
    assert ("KQ613", "c.yaml") in entries()
    ran = lint(".", "--baseline", B)
    assert "KQ613" not in {rule for rule, _ in ran.found}
    assert {file for _, file in ran.found} == {"c.yaml"}


def test_a_run_on_a_part_takes_nothing_out_of_the_rest(started, lint, write, queue, entries, folder):
    before = (folder / B).read_bytes()
    for args in (
        ("sub",),
        ("a.yaml",),
        (".", "--select", "KQ613"),
        (".", "--ignore", "KQ1"),
        (".", "--phase", "pilot"),
        ("sub", "--context", "."),
        ("a.yaml", "sub/b.yaml"),
    ):
        ran = lint(*args, "--write-baseline", B)
        assert ran.code == 0
        assert "0 fixed" not in ran.note("left")
        assert (folder / B).read_bytes() == before, args


def test_what_needs_other_files_is_not_called_fixed_without_them(started, lint, write, queue, folder):
    write({"a.yaml": None, "sub/b.yaml": None, B: None})
    write(
        {
            "q.yaml": queue("q"),
            "f/f.yaml": "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: x}\n",
        }
    )
    assert lint(".", "--write-baseline", B).code == 0
    assert b"KQ503" in (folder / B).read_bytes()
    write({"q.yaml": queue("q", flavor="x")})
    assert not [note for note in lint("f", "--baseline", B).report["summary"]["notes"] if "fixed" in note]
    assert "fixed" in lint(".", "--baseline", B).note("fixed")


def test_growing_on_another_path_makes_it_about_both(old, lint, folder, write):
    assert lint("sub", "--write-baseline", B).code == 0
    assert json.loads((folder / B).read_text())["paths"] == ["sub"]
    assert lint("a.yaml", "--write-baseline", B, "--grow-baseline").code == 0
    assert json.loads((folder / B).read_text())["paths"] == ["a.yaml", "sub"]
    write({"sub/b.yaml": None})
    assert not [note for note in lint("sub", "--baseline", B).report["summary"]["notes"] if "fixed" in note]
    assert "fixed" in lint(".", "--baseline", B).note("fixed")


def test_a_file_that_is_gone_is_fixed_when_its_folder_was_looked_at(started, lint, write, entries):
    write({"a.yaml": None})
    lint("sub", "--write-baseline", B)
    assert "a.yaml" in {file for _, file in entries()}
    lint(".", "--write-baseline", B)
    assert {file for _, file in entries()} == {"sub/b.yaml"}


def test_a_file_that_can_not_be_read_is_not_fixed(started, lint, write, queue, folder):
    before = (folder / B).read_bytes()
    write({"a.yaml": queue("a") + "  oops: [\n"})
    assert lint(".", "--write-baseline", B).code == 3
    assert (folder / B).read_bytes() == before


def test_it_may_run_from_anywhere(started, lint, monkeypatch, folder, write, queue):
    monkeypatch.chdir(folder / "sub")
    ran = lint("..", "--baseline", f"../{B}")
    assert (ran.found, ran.known) == ([], len(started.found))
    write({"sub/b.yaml": queue("b").replace("  stopPolicy: Hold\n", "")})
    assert "1 fixed" in lint("..", "--write-baseline", f"../{B}").note("left")


def test_the_same_findings_the_same_bytes(started, lint, folder):
    first = (folder / B).read_bytes()
    stamp = (folder / B).stat().st_mtime_ns
    assert lint(".", "--write-baseline", B).code == 0
    assert (folder / B).stat().st_mtime_ns == stamp, "and the file is left alone"
    assert lint(".", "--write-baseline", "again.json").code == 0
    assert (folder / "again.json").read_bytes() == first


def test_another_file_gets_what_is_left_of_the_first(started, lint, write, queue, entries, folder):
    (folder / "d").mkdir()
    write({"a.yaml": queue("a").replace("  stopPolicy: Hold\n", ""), "c.yaml": queue("c")})
    ran = lint(".", "--baseline", B, "--write-baseline", "d/new.json")
    assert ran.code == 1
    assert {file for _, file in entries("d/new.json")} == {"../a.yaml", "../sub/b.yaml"}
    assert len(entries("d/new.json")) == len(entries()) - 1
    assert lint(".", "--baseline", "d/new.json").found == ran.found


def test_it_may_stand_in_the_settings(old, lint, write):
    write({".policycheck.yaml": f"baseline: {B}\n"})
    ran = lint(".")
    assert ran.code == 2
    assert f"{B}: no such file (baseline in .policycheck.yaml); `--write-baseline {B}` makes it" in ran.err
    assert lint(".", "--write-baseline", B).code == 0
    ran = lint(".")
    assert (ran.code, ran.found) == (0, [])
    assert lint(".", "--isolated").code == 1


def test_what_is_suppressed_needs_no_entry(started, lint, write, queue):
    write({"a.yaml": "# policycheck: ignore[KQ613]: moving house\n" + queue("a")})
    ran = lint(".", "--baseline", B)
    assert ran.report["summary"]["suppressed"] == 1
    assert "1 entry" in ran.note("fixed")


def test_a_baseline_and_a_revision_go_together(started, lint, write, queue, folder):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for args in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)
    write({"c.yaml": queue("c")})
    ran = lint(".", "--new-from", "HEAD", "--baseline", B)
    assert {file for _, file in ran.found} == {"c.yaml"}
    assert ran.known == len(started.found)
    assert not [note for note in ran.report["summary"]["notes"] if "fixed" in note]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--baseline", "absent.json"), "absent.json: no such file; `--write-baseline absent.json` makes it"),
        (("--baseline", "foreign.json"), "foreign.json: no baseline of policycheck"),
        (("--baseline", "later.json"), "a baseline of version 2; this policycheck reads 1"),
        (("--baseline", "broken.json"), "broken.json:1:1: no JSON"),
        (("--baseline", "sub"), "sub: can not be read"),
        (("--write-baseline", "foreign.json"), "foreign.json: no baseline of policycheck"),
        (("--write-baseline", "a.yaml"), "a.yaml:1:1: no JSON"),
        (("--baseline", "good.json", "--write-baseline", "foreign.json"), "foreign.json: no baseline"),
        (("--write-baseline", "no/such/folder/b.json"), "no/such/folder/b.json: can not be written"),
        (("--write-baseline", "b.json", "--new-from", "HEAD"), "--new-from leaves out what is old"),
        (("--grow-baseline",), "give both"),
        (
            ("--baseline", "good.json", "--output", "good.json"),
            "good.json is one of the files that are read here",
        ),
        (
            ("--write-baseline", "b.json", "--output", "b.json"),
            "b.json is one of the files that are read here",
        ),
    ],
)
def test_what_is_no_baseline_is_an_error_and_nothing_is_written_over(old, lint, write, folder, args, words):
    empty = '{"policycheck": "baseline", "version": %d, "entries": []}'
    write({"foreign.json": "{}", "later.json": empty % 2, "broken.json": "oops", "good.json": empty % 1})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ran = lint(".", *args)
    assert ran.code == 2
    assert words in ran.err
    after = {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "b.json"
    }
    assert after == before


def test_nothing_is_recorded_when_rules_could_not_run(old, lint, folder):
    ran = lint(".", "--write-baseline", B, "--select", "KQ9999")
    assert ran.code == 2
    assert "was not written" in ran.note(B)
    assert not os.path.lexists(folder / B)


@pytest.mark.parametrize("path", ["absent", "notes.yaml"])
def test_nor_when_nothing_was_checked(old, lint, write, folder, path):
    write({"notes.yaml": "no: manifest\n"})
    ran = lint(path, "--write-baseline", B)
    assert f"{B} was not written: nothing was checked" in ran.note(B)
    assert not os.path.lexists(folder / B)


def test_the_summary_counts_what_is_known(started, capsys):
    from policycheck.adapters.cli import main

    assert main(["lint", ".", "--baseline", B]) == 0
    assert f"no findings · {len(started.found)} known before" in capsys.readouterr().out
