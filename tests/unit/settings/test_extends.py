"""``extends``: whose settings count, where relative paths lead, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from policycheck.adapters.settings_file import SettingsError, load
from policycheck.lint.settings import Acceptance, PathOverride

MINE = ".policycheck.yaml"


def refused(path=MINE):
    with pytest.raises(SettingsError) as caught:
        load(path)
    return str(caught.value)


def test_the_nearer_one_replaces_adds_or_is_put_together_key_by_key(write):
    write(
        {
            "base.yaml": (
                "select: [KQ]\nignore: [KQ102]\nfail-on: warning\npreview: true\nphase: pilot\n"
                "severity: {KQ101: info, KQ103: info}\nparams: {KQ101: {a: 1, b: 1}, KQ105: {c: 1}}\n"
                "per-path: [{paths: x, ignore: KQ1}]\nexclude: v/*\ntarget: {kueue: '0.18', ray: '2.0'}\n"
                "inventory: n.json\ncontext: c1\n"
            ),
            MINE: (
                "extends: base.yaml\nselect: [GP]\nignore: [KQ104]\nfail-on: error\n"
                "severity: {KQ101: warning}\nparams: {KQ101: {b: 2}}\nper-path: [{paths: y, ignore: KQ2}]\n"
                "exclude: w/*\ntarget: {kueue: '0.19'}\ninventory: m.json\ncontext: [c1, c2]\n"
            ),
        }
    )
    got = load(MINE)
    assert got.select == ("GP",)
    assert got.ignore == ("KQ102", "KQ104")
    assert (got.fail_on, got.preview, got.phase) == ("error", True, "pilot")
    assert got.severity == {"KQ101": "warning", "KQ103": "info"}
    assert got.params == {"KQ101": {"a": 1, "b": 2}, "KQ105": {"c": 1}}
    assert got.per_path == (PathOverride(("x",), ("KQ1",)), PathOverride(("y",), ("KQ2",)))
    assert got.exclude == ("v/*", "w/*")
    assert got.target == ("kueue=0.19", "ray=2.0")
    assert got.inventory == ("m.json",)
    assert got.context == ("c1", "c2")
    assert (got.file, got.extended) == (MINE, ("base.yaml",))


def test_under_suppressions_the_stricter_counts(write):
    base = "suppressions: {require: [owner], max-days: 90, never: [KQ101], remind-days: 30}\n"
    mine = "suppressions: {require: [until, owner], max-days: %s, never: KQ102, remind-days: 7}\n"
    write({"base.yaml": base, MINE: "extends: base.yaml\n" + mine % 365})
    assert load(MINE).suppressions == Acceptance(("owner", "until"), 90, ("KQ101", "KQ102"), 7)
    write({MINE: "extends: base.yaml\n" + mine % 30})
    assert load(MINE).suppressions.max_days == 30
    write({MINE: "extends: base.yaml\nsuppressions: {max-days: null}\n"})
    assert load(MINE).suppressions.max_days == 90
    write({"base.yaml": "suppressions: {max-days: null}\n"})
    assert load(MINE).suppressions.max_days == 0
    write({"base.yaml": base, MINE: "extends: base.yaml\n"})
    assert load(MINE).suppressions == Acceptance(("owner",), 90, ("KQ101",), 30)


def test_of_several_the_later_counts_and_what_they_share_is_taken_once(write):
    write(
        {
            "root.yaml": "ignore: [KQ100]\nfail-on: never\n",
            "a.yaml": "extends: root.yaml\nignore: [KQ101]\nfail-on: info\n",
            "b.yaml": "extends: root.yaml\nignore: [KQ102]\nfail-on: warning\n",
            MINE: "extends: [a.yaml, b.yaml]\nignore: [KQ103]\n",
        }
    )
    got = load(MINE)
    assert got.fail_on == "warning"
    assert got.ignore == ("KQ100", "KQ101", "KQ102", "KQ103")
    assert got.extended == ("root.yaml", "a.yaml", "b.yaml")


def test_of_one_rule_by_id_and_by_name_the_nearer_file_counts(write):
    write({"base.yaml": "severity: {KQ101: info}\n", MINE: "extends: base.yaml\nseverity: {a-name: error}\n"})
    assert list(load(MINE).severity) == ["KQ101", "a-name"]
    write({"base.yaml": "severity: {a-name: info}\n", MINE: "extends: base.yaml\nseverity: {KQ101: error}\n"})
    assert list(load(MINE).severity) == ["a-name", "KQ101"]


def test_relative_paths_are_taken_from_the_file_they_stand_in(write, repository, monkeypatch):
    write(
        {
            "../shared/org/policy.yaml": "rules: rules\ncrds: crds\nbaseline: b.json\nextends: ../more.yaml\n",
            "../shared/more.yaml": "context: [ctx]\nclusters: [{name: c, paths: here, inventory: n.json}]\n",
            MINE: "extends: ../shared/org/policy.yaml\nrules: own\n",
        }
    )
    (repository / "sub").mkdir()
    monkeypatch.chdir(repository / "sub")
    got = load(f"../{MINE}")
    assert got.rules == ("../../shared/org/rules", "../own")
    assert (got.crds, got.baseline) == (("../../shared/org/crds",), "../../shared/org/b.json")
    assert got.context == ("../../shared/ctx",)
    assert got.clusters[0].paths == ("../../shared/here",)
    assert got.clusters[0].inventory == ("../../shared/n.json",)


def test_a_toml_file_may_extend_and_be_extended(write):
    write(
        {
            "pyproject.toml": '[tool.policycheck]\nextends = "org/pyproject.toml"\nfail-on = "info"\n'
            "[[tool.policycheck.per-path]]\npaths = ['a']\nignore = ['KQ1']\nuntil = 2027-01-31\n",
            "org/pyproject.toml": '[tool.policycheck]\nrules = ["rules"]\n',
        }
    )
    got = load("pyproject.toml")
    assert (got.rules, got.fail_on, got.per_path[0].until) == (("org/rules",), "info", "2027-01-31")


def test_a_package_is_read_and_never_run(write, package):
    package("acme_policies", {"policycheck.yaml": "rules: rules\nextends: strict/more.yaml\n"})
    package("acme_policies", {"strict/more.yaml": "fail-on: info\n"})
    write({MINE: "extends: package:acme_policies\n"})
    got = load(MINE)
    assert got.fail_on == "info"
    assert got.rules[0].endswith("site/acme_policies/rules")
    write({MINE: "extends: package:acme_policies/strict/more.yaml\n"})
    assert load(MINE).rules == ()
    assert "acme_policies" not in sys.modules


def test_a_mistake_in_a_package_is_told_by_its_name(write, package):
    package(
        "acme_policies",
        {"policycheck.yaml": "extends: more.yaml\n", "more.yaml": "select: a\nfail_on: info\n"},
    )
    write({MINE: "extends: package:acme_policies\n"})
    assert refused().startswith("package:acme_policies/more.yaml:2:1: unknown key 'fail_on'")


def test_a_package_in_the_folder_that_is_checked_does_not_stand_in_for_an_installed_one(
    write, monkeypatch, repository
):
    write({"acme_here/__init__.py": "", "acme_here/policycheck.yaml": "fail-on: never\n"})
    write({MINE: "extends: package:acme_here\n"})
    monkeypatch.syspath_prepend(str(repository))
    monkeypatch.syspath_prepend("")
    assert "no package acme_here is installed" in refused()


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("https://example.org/policy.yaml", "nothing is fetched"),
        ("oci://example.org/policy", "nothing is fetched"),
        ("git:main:policy.yaml", "nothing is fetched"),
        ("'package:'", "write package:NAME"),
        ("package:no-name", "write package:NAME"),
        ("package:not_there_at_all", "no package not_there_at_all is installed beside policycheck"),
        ("package:json/none.yaml", "the package has no none.yaml"),
        ("package:json/../os.py", "its name has no `..`"),
        ("nowhere.yaml", "nowhere.yaml: there is no such file"),
        ("sub", "sub: is a folder; name the file in it"),
        ("''", "is neither a path nor package:NAME"),
    ],
)
def test_what_can_not_be_extended_is_refused_at_its_line(write, repository, reference, words):
    (repository / "sub").mkdir()
    write({MINE: f"fail-on: error\nextends:\n  - {reference}\n"})
    assert words in refused()
    assert refused().startswith(f"{MINE}:3:5: extends: ")


def test_a_circle_is_refused(write):
    write({"a.yaml": "extends: b.yaml\n", "b.yaml": f"extends: {MINE}\n", MINE: "extends: a.yaml\n"})
    what = refused()
    assert f"it goes round in a circle: {MINE} -> a.yaml -> b.yaml -> {MINE}" in what
    assert what.startswith("b.yaml:1:1: ")
    write({MINE: f"extends: {MINE}\n"})
    assert "circle" in refused()


def test_a_circle_through_a_link_is_refused(write, repository):
    write({MINE: "extends: link.yaml\n"})
    (repository / "link.yaml").symlink_to(repository / MINE)
    assert "circle" in refused()


@pytest.mark.parametrize(("deep", "ok"), [(8, True), (9, False)])
def test_how_deep_they_may_go(write, deep, ok):
    names = [MINE, *(f"{n}.yaml" for n in range(1, deep))]
    write({name: f"extends: {after}\n" for name, after in pairwise(names)})
    write({names[-1]: "fail-on: info\n"})
    if ok:
        assert load(MINE).fail_on == "info"
    else:
        assert "more than 8 files in a row" in refused()


def test_how_many_there_may_be(write):
    write({f"{n}.yaml": "" for n in range(40)})
    write({MINE: "extends: [" + ", ".join(f"{n}.yaml" for n in range(40)) + "]\n"})
    assert "more than 32 files altogether" in refused()


def test_clusters_of_two_files_have_names_of_their_own(write):
    write({"base.yaml": "clusters: [{name: a, paths: x}]\n"})
    write({MINE: "extends: base.yaml\nclusters:\n  - {name: b, paths: y}\n  - {name: a, paths: y}\n"})
    assert refused() == f"{MINE}:4:5: a cluster 'a' stands in base.yaml too; give one of them another name"


def test_a_mistake_in_what_is_extended_is_told_at_its_place(write):
    write({"base.yaml": "fail-on: fatal\n", MINE: "extends: base.yaml\n"})
    assert refused().startswith("base.yaml:1:1: 'fail-on' is 'fatal'")


def test_layers_that_are_known_are_not_validated_again(write, repository):
    write({"base.yaml": "fail-on: info\n", MINE: "extends: base.yaml\nignore: KQ101\n"})
    cache = repository / "cache"
    first = load(MINE, cache)
    program = (
        "import sys\nbefore = set(sys.modules)\nfrom policycheck.adapters.settings_file import load\n"
        f"print(load({MINE!r}, {str(cache)!r}) == load({MINE!r}, {str(cache)!r}))\n"
        "heavy = ('pydantic', 'pathlib', 'importlib.metadata', 'tomllib', 'policycheck.adapters.settings_model')\n"
        "print([m for m in heavy if m in sys.modules and m not in before])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n[]\n"
    assert load(MINE, cache) == first
    write({"base.yaml": "fail-on: warning\n"})
    assert load(MINE, cache).fail_on == "warning"
