import os

import pytest

from policycheck.source.document import FileReport
from policycheck.source.files import STDIN, Reader, expand, load


@pytest.fixture(autouse=True)
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "a.yaml",
        "d/b.yml",
        "d/c.json",
        "d/notes.txt",
        "d/e/f.yaml",
        "d/.git/g.yaml",
        "d/.hidden.yaml",
        "d/node_modules/h.yaml",
        "d/venv/i.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    return tmp_path


def test_folders_are_walked_without_what_is_not_ones_own():
    assert expand(["d"]).files == ("d/b.yml", "d/c.json", "d/e/f.yaml")
    assert expand(["."]).files == ("a.yaml", "d/b.yml", "d/c.json", "d/e/f.yaml")


def test_order_and_repetition_of_arguments_change_nothing():
    expected = expand(["d", "a.yaml"])
    assert expand(["./a.yaml", "d/", "d//e/../b.yml", "a.yaml", "d/e"]) == expected


def test_a_file_that_is_named_may_have_any_suffix():
    assert expand(["d/notes.txt", "d/.hidden.yaml"]).files == ("d/.hidden.yaml", "d/notes.txt")


def test_patterns():
    assert expand(["d/*.y*ml"]).files == ("d/b.yml",)
    assert expand(["**/*.yaml"]).files == ("a.yaml", "d/e/f.yaml", "d/node_modules/h.yaml", "d/venv/i.yaml")
    assert expand(["d*"]).files == expand(["d"]).files


def test_a_file_whose_name_looks_like_a_pattern(tree):
    (tree / "x[1].yaml").write_text("")
    assert expand(["x[1].yaml"]).files == ("x[1].yaml",)


def test_what_stands_for_nothing_is_told(tree):
    (tree / "empty").mkdir()
    found = expand(["nowhere.yaml", "*.toml", "empty", "a.yaml"])
    assert (found.files, found.unmatched) == (("a.yaml",), ("nowhere.yaml", "*.toml", "empty"))


def test_standard_input():
    assert expand(["-", "a.yaml"]).files == (STDIN, "a.yaml")


def test_links_in_a_circle_end(tree):
    (tree / "d" / "e" / "up").symlink_to(tree / "d")
    (tree / "d" / "link.yaml").symlink_to(tree / "a.yaml")
    assert expand(["d"]).files == ("d/b.yml", "d/c.json", "d/e/f.yaml", "d/link.yaml")
    assert expand(["."]).files == ("a.yaml", "d/b.yml", "d/c.json", "d/e/f.yaml")


def test_a_link_to_nowhere_is_a_failure(tree):
    (tree / "d" / "link.yaml").symlink_to("gone")
    (report,) = expand(["d"]).troubles
    assert (report.file, report.state, report.failed) == ("d/link.yaml", "notChecked", True)
    assert expand(["d/link.yaml"]).unmatched == ()


def test_a_pipe_in_a_folder_is_not_waited_for(tree):
    os.mkfifo(tree / "d" / "p.yaml")
    assert [r.file for r in expand(["d"]).troubles] == ["d/p.yaml"]


def test_very_deep_folders_end(tree):
    deep = tree / "deep"
    deep.joinpath(*["x"] * 100).mkdir(parents=True)
    assert expand(["deep"]).files == ()


def test_files_that_can_not_be_read_are_failures():
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    expected = FileReport("a.yaml", "notChecked", None, "can not be read: Permission denied", failed=True)
    assert load("a.yaml", refuse).report == expected
    assert load("gone.yaml", Reader()).report.failed


def test_standard_input_is_read_once():
    asked = []

    def stdin():
        asked.append(1)
        return b"apiVersion: v1\nkind: A\n"

    read = Reader(stdin)
    assert len(load(STDIN, read).documents) == 1
    assert read(STDIN) == b"apiVersion: v1\nkind: A\n"
    assert asked == [1]


def test_without_standard_input_it_is_a_failure():
    assert load(STDIN, Reader()).report.failed


def test_no_more_is_read_than_a_file_may_have(tree):
    (tree / "a.yaml").write_bytes(b"x" * 100)
    assert len(Reader(size=10)("a.yaml")) == 11


def test_a_file_of_a_terabyte_is_not_read_whole(tree):
    with open("large.yaml", "wb") as file:  # noqa: PTH123 - sparse
        file.truncate(2**40)
    assert len(Reader(size=1000)("large.yaml")) == 1001
    assert Reader(size=1000)("a.yaml") == b"# a.yaml\n"


def test_folders_that_are_too_deep_are_said_not_passed_over(tree):
    deep = tree / "/".join(["x"] * 70)
    deep.mkdir(parents=True)
    (deep / "a.yaml").write_text("a: 1\n")
    (trouble,) = expand(["x"]).troubles
    assert trouble.failed
    assert "more than 64 folders deep" in trouble.why
    assert trouble.file == "/".join(["x"] * 66)
    assert expand([trouble.file]).files == (f"{'/'.join(['x'] * 70)}/a.yaml",)


def test_a_pipe_is_read_only_when_it_is_named(tree):
    os.mkfifo("p.yaml")
    assert expand(["p.yaml"]).files == ("p.yaml",)
    for path in (".", "*.yaml", "**/*.yaml"):
        assert [t.file for t in expand([path]).troubles] == ["p.yaml"]
