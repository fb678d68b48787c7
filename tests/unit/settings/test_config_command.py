"""``config show`` and ``config validate`` as somebody runs them."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from policycheck.adapters.cli import lint as lint_module
from policycheck.adapters.cli import main
from policycheck.adapters.settings_file import load
from policycheck.adapters.settings_layers import layers
from policycheck.adapters.settings_model import SettingsModel
from policycheck.adapters.settings_show import ORDER, effective

MINE = ".policycheck.yaml"
ORG = "severity: {KQ113: info, KQ110: warning}\nignore: [KQ613]\nsuppressions: {max-days: 90}\nfail-on: warning\n"
OWN = """\
extends: ../org.yaml
severity:
  KQ110: error
per-path:
  - paths: teams/*
    ignore: [KQ613]
    reason: they move
  - {paths: old/*, severity: {all: info}}
clusters:
  - {name: prod, paths: [teams]}
target: {kueue: "0.18"}
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    def run(*args):
        code = main(["config", *args])
        caught = capsys.readouterr()
        return Ran(code, caught.out, caught.err)

    return run


@pytest.fixture
def both(write):
    write({"../org.yaml": ORG, MINE: OWN, "teams/a.yaml": ""})


def told(ran):
    return {row["key"]: row for row in json.loads(ran.out)["settings"]}


def place(row):
    return (row["value"], row["origin"], row["file"], row["line"])


def test_every_value_has_its_origin(run, both):
    found = told(run("show", "--format", "json"))
    assert place(found["fail-on"]) == ("warning", "extends", "../org.yaml", 4)
    assert place(found["severity.KQ113"]) == ("info", "extends", "../org.yaml", 1)
    assert place(found["severity.KQ110"]) == ("error", "file", MINE, 3)
    assert place(found["ignore[0]"]) == ("KQ613", "extends", "../org.yaml", 2)
    assert place(found["suppressions.max-days"]) == (90, "extends", "../org.yaml", 3)
    assert place(found["suppressions.remind-days"]) == (14, "default", None, None)
    assert place(found["phase"]) == ("", "default", None, None)
    assert found["per-path[1]"]["line"] == 8
    assert place(found["target.kueue"]) == ("0.18", "file", MINE, 11)


def test_the_command_line_is_an_origin_and_counts_as_in_lint(run, both):
    found = told(
        run(
            "show",
            "--format",
            "json",
            "--fail-on",
            "info",
            "--ignore",
            "KQ1,GP",
            "--target",
            "kueue=0.19,A=true",
        )
    )
    assert place(found["fail-on"]) == ("info", "command line", None, None)
    assert [found[f"ignore[{n}]"]["value"] for n in range(3)] == ["KQ613", "KQ1", "GP"]
    assert place(found["target.kueue"]) == ("0.19,A=true", "command line", None, None)


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--fail-on", "never", "--phase", "pilot"),
        ("--select", "KQ1,GP", "--ignore", "KQ102"),
        ("--target", "ray=2.1", "--context", "c", "--rules", "r", "--crds", "d"),
        ("--inventory", "n.json", "--inventory", "m.json", "--baseline", "b.json"),
    ],
)
def test_what_is_shown_is_what_lint_uses(run, both, args, monkeypatch):
    shown = []
    monkeypatch.setattr("policycheck.adapters.cli.config._as_text", lambda answer: shown.append(answer) or "")
    run("show", *args)
    request = lint_module.quick((".", *args))
    wanted = lint_module.merge(load(MINE), request)
    assert shown[0].effective.settings._replace(extended=wanted.extended) == wanted


def test_all_settings_are_shown_in_the_order_of_the_model(both):
    assert tuple(name for name in SettingsModel.model_fields if name != "extends") == ORDER
    rows = effective(layers(MINE, MINE), {}).rows
    roots = list(dict.fromkeys(row.key.partition("[")[0].partition(".")[0] for row in rows))
    assert roots == [name.replace("_", "-") for name in ORDER]


def test_the_text_says_the_same_in_80_columns_where_it_can(run, both):
    ran = run("show")
    assert ran.out.startswith(f"# settings: {MINE} (the nearest)\n# extends:  ../org.yaml\n")
    assert f"fail-on: warning{' ' * 28}# ../org.yaml:4, extended\n" in ran.out
    assert f'target.kueue: "0.18"{" " * 24}# {MINE}:11\n' in ran.out
    assert "\n# sha256:" in ran.out


def test_for_one_file_only_its_paths_are_shown(run, both):
    ran = run("show", "--for", "teams/a.yaml", "--format", "json")
    assert json.loads(ran.out)["clusters"] == ["prod"]
    assert [key for key in told(ran) if key.startswith("per-path")] == ["per-path[0]"]
    ran = run("show", "--for", "old/x.yaml", "--format", "json")
    assert json.loads(ran.out)["clusters"] == []
    assert [row["value"]["paths"] for key, row in told(ran).items() if key.startswith("per-path")] == [
        ["old/*"]
    ]


def test_for_a_file_the_nearest_settings_count(run, both, write):
    write({f"teams/{MINE}": "fail-on: never\n"})
    assert told(run("show", "--for", "teams/a.yaml", "--format", "json"))["fail-on"]["value"] == "never"
    assert told(run("show", "--format", "json"))["fail-on"]["value"] == "warning"


def test_who_chose_the_file_is_said(run, both, write, monkeypatch):
    write({"ci.yaml": "fail-on: info\n", "other.yaml": "fail-on: never\n"})
    monkeypatch.setenv("POLICYCHECK_CONFIG", "ci.yaml")
    assert run("show").out.startswith("# settings: ci.yaml (by POLICYCHECK_CONFIG)\n")
    ran = run("show", "--config", "other.yaml", "--format", "json")
    assert (json.loads(ran.out)["chosenBy"], told(ran)["fail-on"]["file"]) == ("--config", "other.yaml")
    assert run("show", "--isolated").out.startswith("# no settings file: these are the defaults\n")
    monkeypatch.setenv("POLICYCHECK_CONFIG", "")
    assert "(the nearest)" in run("show").out


def test_without_a_file_all_are_defaults(run, repository):
    found = told(run("show", "--format", "json"))
    assert {row["origin"] for row in found.values()} == {"default"}


def test_two_options_that_contradict_are_refused(run, both):
    assert run("show", "--isolated", "--config", MINE).code == 2


def test_the_environment_counts_in_lint_too(run, repository, write, capsys, monkeypatch):
    write({"q.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "ci.yaml": "fail_on: x\n"})
    monkeypatch.setenv("POLICYCHECK_CONFIG", "ci.yaml")
    assert main(["lint", "q.yaml"]) == 2
    assert "ci.yaml:1:1: unknown key 'fail_on'" in capsys.readouterr().err
    assert main(["lint", "q.yaml", "--isolated"]) == 0
    monkeypatch.setenv("POLICYCHECK_CONFIG", "gone.yaml")
    assert main(["lint", "q.yaml"]) == 2
    assert "gone.yaml:1:1: POLICYCHECK_CONFIG names it, and there is no such file" in capsys.readouterr().err
    assert main(["lint", "q.yaml", "--config", MINE]) == 2
    write({MINE: ""})
    assert main(["lint", "q.yaml", "--config", MINE]) == 0


def test_nothing_wrong_is_said_to_be_in_order(run, both):
    ran = run("validate")
    assert (ran.code, ran.out) == (0, "")
    assert (
        ran.err == f"note: {MINE}:8:5: per-path: old/* matches no file here\n../org.yaml, {MINE}: in order\n"
    )


def test_globs_that_match_nothing_are_noted_and_no_mistake(run, write, monkeypatch, repository):
    write({"../org.yaml": "exclude: [nothing/*]\nper-path: [{paths: no/*, ignore: CR}]\n", "d/a.yaml": ""})
    write(
        {
            MINE: "extends: ../org.yaml\nexclude:\n  - d/*\n  - gone/*\nper-path: [{paths: ['d/*', e], ignore: CR}]\n"
        }
    )
    for folder, at in ((repository, ""), (repository / "d", "../")):
        monkeypatch.chdir(folder)
        ran = run("validate", "--format", "json")
        notes = [f"{n['file']}:{n['line']}: {n['message']}" for n in json.loads(ran.out)["notes"]]
        assert ran.code == 0
        assert notes == [
            f"{at}{MINE}:5: per-path: e matches no file here",
            f"{at}{MINE}:4: exclude: gone/* matches no file here",
        ]


def test_no_settings_are_no_mistake(run, repository):
    assert run("validate") == (0, "", "no settings file: the defaults count\n")


BAD_RULE = "id: ACME1\nname: x\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fail_on: x\n", f"{MINE}:1:1: unknown key 'fail_on'; did you mean 'fail-on'?"),
        ("a: [\n", f"{MINE}:2:1: not YAML"),
        ("fail-on: error\nignore:\n  - KQ101\n  - KQ999\n", f"{MINE}:4:5: ignore: no rule 'KQ999'"),
        ("severity:\n  KQ101: info\n  KQ999: info\n", f"{MINE}:3:3: severity: no rule 'KQ999'"),
        ("params: {KQ112: {nonesuch: 1}}\n", f"{MINE}:1:18: params of KQ112: no parameter 'nonesuch'"),
        (
            "per-path:\n  - {paths: a, ignore: CR}\n  - {paths: b, ignore: XX}\n",
            f"{MINE}:3:5: per-path: no rule 'XX'",
        ),
        ("inventory: [nodes.json]\n", f"{MINE}:1:13: inventory: nodes.json stands for no file"),
        ("context: [., nowhere]\n", f"{MINE}:1:14: context: nowhere stands for no file"),
        ("clusters: [{name: a, paths: gone}]\n", f"{MINE}:1:12: clusters.paths: gone stands for no file"),
        ("baseline: b.json\n", f"{MINE}:1:1: baseline: b.json can not be read (No such file or directory)"),
        ("baseline: other.json\n", f"{MINE}:1:1: baseline: other.json: no baseline of policycheck"),
        ('rulebook: "9.9"\n', f"{MINE}:1:1: rulebook: the settings pin 9.9, and this is policycheck"),
        ("rulebook: 0.1\n", f"{MINE}:1:1: 'rulebook': 0.1 is a number; write a version in quotes"),
        ("rulebook: latest\n", f"{MINE}:1:1: 'rulebook': 'latest' is no pin"),
        ("rules: rules\n", "rules/bad.yaml:1:1: 'id' is 'ACME1'"),
        ("rules: nowhere\n", "nowhere:1:1: no such folder"),
        ("suppressions: {never: KQ101}\nignore: KQ101\n", f"{MINE}:2:1: ignore: KQ101 can not be ignored"),
        ("suppressions: {require: [why]}\n", f"{MINE}:1:26: 'suppressions.require[0]' is 'why'; allowed are"),
        ("suppressions: {max-days: 0}\n", f"{MINE}:1:16: 'suppressions.max-days' is 0"),
        (
            "per-path: [{paths: a, ignore: CR, until: 2026-02-30}]\n",
            "'2026-02-30' is no date; write it like 2027-01-31",
        ),
        ("extends: gone.yaml\n", f"{MINE}:1:1: extends: gone.yaml: there is no such file"),
    ],
)
def test_each_mistake_has_its_line(run, write, text, said):
    write({MINE: text, "other.json": "{}", "rules/bad.yaml": BAD_RULE})
    ran = run("validate")
    assert ran.code == 2
    assert said in ran.out
    for line in ran.out.splitlines():
        assert line.startswith((f"{MINE}:", "rules/bad.yaml:", "nowhere:")), (
            "nothing but mistakes on standard output"
        )
    problems = json.loads(run("validate", "--format", "json").out)["problems"]
    assert [
        f"{p['file']}:{p['line']}:{p['column']}: {p['message']}" for p in problems
    ] == ran.out.splitlines()


def test_files_and_folders_of_rules_can_be_named(run, write):
    write({"ok.yaml": "fail-on: info\n", "bad.yaml": "fail-on: x\n", "rules/bad.yaml": BAD_RULE})
    assert run("validate", "ok.yaml").code == 0
    ran = run("validate", "ok.yaml", "bad.yaml", "rules")
    assert ran.code == 2
    assert "bad.yaml:1:1: 'fail-on'" in ran.out
    assert "rules/bad.yaml:1:1: 'id'" in ran.out
    assert run("validate", "nowhere.yaml").out.startswith("nowhere.yaml:1:1: can not be read")
    assert run("validate", "--config", "bad.yaml").code == 2


def test_a_terminal_is_not_driven_by_settings(run, write):
    write({MINE: 'baseline: "\\e[31mred"\n'})
    assert "\x1b" not in run("validate").out
    assert "\x1b" not in run("show").out
