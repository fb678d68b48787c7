from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from policycheck.lint import rulebook
from policycheck.lint.rulebook import RuleFolder, built_in, load, own, seal


def test_rules_are_sorted_by_id_and_found_by_name(world, rule):
    book = world.book(rule(id="EX102", name="b"), rule())
    assert [one.id for one in book.rules] == ["EX101", "EX102"]
    assert book.find("limit-outside-cohort").id == book.find("EX101").id == "EX101"
    assert book.find("EX999") is None


def test_a_broken_file_leaves_the_others_alone(world, rule):
    book = world.book(rule(), rule(id="EX102", name="b", severity="fatal"))
    assert [one.id for one in book.rules] == ["EX101"]
    (problem,) = book.problems
    assert problem.file.endswith("EX102-b.yaml")


def test_what_was_compiled_is_not_compiled_again(world, tmp_path, rule, systems):
    cache = tmp_path / "cache" / "book.json"
    first = world.book(rule(), rule(id="EX102", name="b"), cache=cache)
    again = load((RuleFolder(world.folder, compiled=cache),), systems)
    assert (first.fresh, again.fresh) == (2, 0)
    assert again.rules == first.rules
    assert again.digest == first.digest


def test_only_the_file_that_changed_is_compiled(world, tmp_path, rule):
    cache = tmp_path / "book.json"
    first = world.book(rule(), rule(id="EX102", name="b"), cache=cache)
    changed = world.book(rule(title="Another"), cache=cache)
    assert changed.fresh == 1
    assert changed.find("EX101").title == "Another"
    assert changed.digest != first.digest


def test_a_touched_file_with_the_same_text_is_not_compiled(world, tmp_path, rule, systems):
    cache = tmp_path / "book.json"
    world.book(rule(), cache=cache)
    os.utime(world.folder / "ex" / "EX101-limit-outside-cohort.yaml", ns=(1, 1))
    assert load((RuleFolder(world.folder, compiled=cache),), systems).fresh == 0


def test_a_removed_rule_is_gone(world, tmp_path, rule, systems):
    cache = tmp_path / "book.json"
    world.book(rule(), rule(id="EX102", name="b"), cache=cache)
    (world.folder / "ex" / "EX102-b.yaml").unlink()
    assert [one.id for one in load((RuleFolder(world.folder, compiled=cache),), systems).rules] == ["EX101"]
    assert "EX102" not in cache.read_text()


def test_other_tables_compile_anew(world, tmp_path, rule, systems):
    folder = RuleFolder(world.folder, compiled=tmp_path / "book.json")
    world.book(rule())
    assert [load((folder,), systems, stamp).fresh for stamp in ("a", "a", "b", "b")] == [1, 0, 1, 0]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "x"}', '{"files": {"a": {}}}', "\x00"])
def test_a_spoilt_cache_costs_only_time(world, tmp_path, text, rule):
    cache = tmp_path / "book.json"
    cache.write_text(text)
    assert world.book(rule(), cache=cache).fresh == 1
    assert world.book(rule(), cache=cache).fresh == 0


def test_a_cache_that_can_not_be_written_costs_only_time(world, tmp_path, rule):
    (tmp_path / "file").write_text("")
    book = world.book(rule(), cache=tmp_path / "file" / "book.json")
    assert [one.id for one in book.rules] == ["EX101"]
    assert book.problems == ()


def test_the_compiled_form_has_no_examples_and_no_prose(world, tmp_path, rule):
    cache = tmp_path / "book.json"
    world.book(rule(), cache=cache)
    (entry,) = json.loads(cache.read_text())["files"].values()
    assert "examples" not in entry["rule"]
    assert "rationale" not in entry["rule"]


def test_a_sealed_form_is_trusted_by_size_and_never_written(world, tmp_path, rule, systems):
    world.book(rule())
    target = tmp_path / "sealed.json"
    assert seal(world.folder, target, systems).fresh == 1
    before = target.read_bytes()
    folder = RuleFolder(world.folder, sealed=target)
    path = world.folder / "ex" / "EX101-limit-outside-cohort.yaml"
    os.utime(path, ns=(1, 1))
    assert load((folder,), systems).fresh == 0
    path.write_text(rule(title="A longer title than before"))
    assert load((folder,), systems).fresh == 1
    assert target.read_bytes() == before


def test_where_the_sealed_form_is_of_another_make_the_cache_serves(world, tmp_path, rule, systems):
    world.book(rule())
    seal(world.folder, tmp_path / "sealed.json", systems, "made elsewhere")
    folder = RuleFolder(world.folder, compiled=tmp_path / "cache.json", sealed=tmp_path / "sealed.json")
    assert [load((folder,), systems, "here").fresh for _ in range(2)] == [1, 0]


def test_two_rules_with_one_id_or_name_both_stay_out(world, rule, systems):
    (world.folder / "ex").mkdir()
    for folder in ("a", "b"):
        other = world.folder / folder
        other.mkdir()
        (other / "x.yaml").write_text(rule(id="ACME100", name=folder))
    book = load((own(str(world.folder / "a"), None), own(str(world.folder / "b"), None)), systems)
    assert book.rules == ()
    (problem,) = book.problems
    assert "ACME100 stands in x.yaml and x.yaml" in problem.message


def test_a_folder_that_is_not_there_is_a_problem(tmp_path, systems):
    book = load((own(str(tmp_path / "nowhere"), None),), systems)
    assert "no such folder" in book.problems[0].message


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"x" * 1_000_001])
def test_a_file_that_can_not_be_read_is_a_problem(world, data, rule, systems):
    (world.folder / "bad.yaml").write_bytes(data)
    (world.folder / "link.yaml").symlink_to(world.folder / "nowhere")
    (world.folder / "notes.txt").write_text("no rule")
    (world.folder / ".hidden.yaml").write_text("no rule")
    book = load((RuleFolder(world.folder),), systems)
    assert [problem.file.rsplit("/", 1)[1] for problem in book.problems] == ["bad.yaml", "link.yaml"]


def test_the_checkouts_rules_are_the_built_in_ones(tmp_path):
    folder = built_in(tmp_path)
    assert (Path(folder.path).parent / "pyproject.toml").is_file()
    assert (folder.own, folder.sealed, folder.compiled) == (False, None, str(tmp_path / "rulebook.json"))


def test_a_packaged_rulebook_is_sealed(tmp_path, monkeypatch):
    monkeypatch.setattr("policycheck.data.folder", lambda: str(tmp_path))
    monkeypatch.setattr("policycheck.data.in_checkout", lambda: False)
    folder = built_in(tmp_path / "cache")
    assert folder.compiled == str(tmp_path / "cache" / "rulebook.json")
    assert folder.sealed == str(tmp_path / "rulebook.json")


def test_a_known_rulebook_loads_without_validator_and_engine(world, tmp_path, rule, systems):
    cache = tmp_path / "book.json"
    (world.folder / "own").mkdir()
    (world.folder / "own" / "x.yaml").write_text(rule(id="ACME100"))
    load((RuleFolder(world.folder / "own", True, cache),), systems)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from policycheck.lint.rulebook import RuleFolder, load\n"
        f"book = load((RuleFolder(Path({str(world.folder / 'own')!r}), True, Path({str(cache)!r})),), None)\n"
        "print(len(book.rules), [m for m in sys.modules if m.startswith(('pydantic', 'google', 'cel_'))])\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "1 []"


def test_the_rule_of_these_tests_is_in_order(world, rule_text):
    assert world.book(rule_text).problems == ()
    assert rulebook.ENGINE.startswith("cel-expr-python")
