from __future__ import annotations

import subprocess
import sys

import pytest

from policycheck.adapters.settings_file import SettingsError, find, load
from policycheck.lint.settings import ClusterScope, PathOverride, Settings

WHOLE = """\
select: [all]
ignore: KQ102
severity: {KQ101: warning}
params:
  KQ101: {most: 4}
per-path:
  - paths: old/*
    ignore: [KQ]
    reason: goes away
phase: queues
fail-on: warning
preview: true
clusters:
  - name: prod
    paths: [clusters/prod, shared]
    inventory: nodes.json
    target: {kueue: 0.19}
inventory: [nodes.json]
context: base
exclude: [vendor/*]
target:
  kueue: "0.18,Gate=false"
rules: own-rules
baseline: baseline.json
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_setting_arrives(repository):
    path = repository / ".policycheck.yaml"
    path.write_text(WHOLE)
    assert load(path) == Settings(
        select=("all",),
        ignore=("KQ102",),
        severity={"KQ101": "warning"},
        params={"KQ101": {"most": 4}},
        per_path=(PathOverride(("old/*",), ("KQ",), "goes away"),),
        phase="queues",
        fail_on="warning",
        preview=True,
        clusters=(ClusterScope("prod", ("clusters/prod", "shared"), ("nodes.json",), (), ("kueue=0.19",)),),
        inventory=("nodes.json",),
        context=("base",),
        exclude=("vendor/*",),
        target=("kueue=0.18,Gate=false",),
        rules=("own-rules",),
        baseline="baseline.json",
        file=".policycheck.yaml",
    )


def test_no_file_means_the_defaults(repository):
    assert find(["a"]) is None
    assert load(None) == Settings()


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_an_empty_file_means_the_defaults(repository, text):
    (repository / ".policycheck.yaml").write_text(text)
    assert load(repository / ".policycheck.yaml") == Settings(file=".policycheck.yaml")


def test_paths_are_seen_from_where_the_command_runs(repository, monkeypatch):
    (repository / ".policycheck.yaml").write_text("rules: own\ninventory: [cluster:prod, /abs/nodes.json]\n")
    monkeypatch.chdir(repository / "a" / "b")
    settings = load(find())
    assert settings.rules == ("../../own",)
    assert settings.inventory == ("cluster:prod", "/abs/nodes.json")
    assert settings.file == "../../.policycheck.yaml"


@pytest.mark.parametrize("name", [".policycheck.yaml", ".policycheck.yml", "pyproject.toml"])
def test_the_nearest_file_above_the_paths_is_taken(repository, name):
    text = '[tool.policycheck]\nfail-on = "info"\n' if name.endswith("toml") else "fail-on: info\n"
    (repository / ".policycheck.yaml").write_text("fail-on: never\n")
    (repository / "a" / name).write_text(text)
    assert find(["a/b"]) == str(repository / "a" / name)
    assert load(find(["a/b"])).fail_on == "info"
    assert find(["a/b", "."]) == str(repository / ".policycheck.yaml")


def test_nothing_above_the_repository_is_taken(repository):
    inner = repository / "a"
    (inner / ".git").mkdir()
    (repository / ".policycheck.yaml").write_text("fail-on: never\n")
    assert find(["a/b"]) is None


def test_outside_of_a_repository_only_the_folder_itself_counts(repository):
    (repository / ".git").rmdir()
    (repository / ".policycheck.yaml").write_text("fail-on: never\n")
    assert find(["a/b"]) is None
    assert find(["."]) == str(repository / ".policycheck.yaml")


def test_a_pyproject_without_our_section_or_with_broken_text_is_not_ours(repository):
    (repository / "pyproject.toml").write_text("[project]\nname = 'policycheck-user'\n")
    assert find() is None
    (repository / "pyproject.toml").write_text("policycheck = [")
    assert find() is None


def test_two_files_side_by_side_are_an_error(repository):
    (repository / ".policycheck.yaml").write_text("")
    (repository / "pyproject.toml").write_text("[tool.policycheck]\n")
    with pytest.raises(SettingsError, match=r"\.policycheck\.yaml and pyproject\.toml; keep one"):
        find()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select: all\nfail_on: error\n", ":2:1: unknown key 'fail_on'; did you mean 'fail-on'?"),
        ("fail-on: fatal\n", ":1:1: 'fail-on' is 'fatal'; allowed are 'error', 'warning', 'info', 'never'"),
        (
            "per-path:\n  - paths: x\n    ignor: y\n",
            ":3:5: unknown key 'per-path[0].ignor'; did you mean 'ignore'?",
        ),
        (
            "per-path:\n  - paths: x\n",
            ":2:5: 'per-path[0]': it changes nothing: write ignore, select or severity",
        ),
        ("clusters: [{name: a, paths: []}]\n", "'clusters[0].paths' is empty"),
        ("clusters: [{name: a, paths: x}, {name: a, paths: y}]\n", "a stands there twice"),
        ("target: {kueue: latest}\n", "write system=version"),
        ("severity: {KQ101: fatal}\n", ":1:12: 'severity.KQ101' is 'fatal'"),
        ("- a\n", ":1:1: settings are a map"),
        ("a: [\n", "not YAML"),
        ("select: a\nselect: b\n", ":2:1: the key 'select' is written twice"),
        ("select:\n", "'select' is None; write a list"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_is_allowed(repository, text, words):
    path = repository / ".policycheck.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(".policycheck.yaml:")


def test_a_mistake_in_toml_has_its_line(repository):
    path = repository / "pyproject.toml"
    path.write_text("[project]\nname = 'x'\n\n[tool.policycheck]\nselect = ['all']\nfail-on = 'fatal'\n")
    with pytest.raises(SettingsError, match=r"pyproject\.toml:6:1: 'fail-on' is 'fatal'"):
        load(path)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a: \x00"])
def test_bytes_that_are_no_text_are_an_error_and_no_traceback(repository, data):
    path = repository / ".policycheck.yaml"
    path.write_bytes(data)
    with pytest.raises(SettingsError):
        load(path)


def test_a_file_that_is_not_there_is_an_error(repository):
    with pytest.raises(SettingsError, match="can not be read"):
        load("nowhere.yaml")


def test_a_known_file_is_not_validated_again(repository):
    path = repository / ".policycheck.yaml"
    path.write_text(WHOLE)
    cache = repository / "cache"
    first = load(path, cache)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from policycheck.adapters.settings_file import load\n"
        f"print(load(Path({str(path)!r}), Path({str(cache)!r})).phase)\n"
        "print([m for m in sys.modules if m.startswith('pydantic')])\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "queues\n[]\n"
    assert load(path, cache) == first
    path.write_text("phase: later\n")
    with pytest.raises(SettingsError):
        load(path, cache)
