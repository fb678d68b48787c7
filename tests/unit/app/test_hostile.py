"""What a pull request may try: it ends in a finding or a clear complaint, never in a crash, a hang, or a loss."""

import json

import pytest


@pytest.mark.parametrize(
    "option", [("--output", "q.yaml"), ("--output", "./d/../q.yaml"), ("--output", "link.yaml")]
)
def test_a_report_is_not_written_over_what_was_read(write, lint, folder, queue, option):
    write({"q.yaml": queue("a"), "d/x.txt": ""})
    (folder / "link.yaml").symlink_to("q.yaml")
    ran = lint("q.yaml", *option)
    assert ran.code == 2
    assert "is one of the files that are read here" in ran.err
    assert (folder / "q.yaml").read_text() == queue("a")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("n.json", ("--inventory", "n.json")),
        ("c.yaml", ("--context", "c.yaml")),
        ("own/x.yaml", ("--rules", "own")),
        (".policycheck.yaml", ()),
        ("q.yaml", ("--dump", "model")),
    ],
)
def test_nor_over_what_stands_beside(write, lint, folder, queue, name, more):
    write(
        {
            "q.yaml": queue("a"),
            "n.json": json.dumps({"kind": "List", "items": []}),
            "c.yaml": queue("b"),
            "own/x.yaml": "id: 1\n",
            ".policycheck.yaml": "fail-on: never\n",
        }
    )
    before = (folder / name).read_text()
    ran = lint("q.yaml", *more, "--output", name)
    assert ran.code == 2
    assert (folder / name).read_text() == before


def test_two_formats_do_not_go_to_one_file(write, lint, queue, folder):
    write({"q.yaml": queue("a")})
    assert "two formats go to one file" in lint("q.yaml", "--format", "markdown=o", "--output", "./o").err
    assert not (folder / "o").exists()


@pytest.mark.parametrize(
    "text",
    [
        "[tool.policycheck]\nselect = " + "[" * 5000 + "]" * 5000,
        "[tool.policycheck]\nfail-on = " + "9" * 6000,
        "[tool.policycheck]\nselect = ",
        "[ tool.policycheck ]\nselect = [",
        "tool.policycheck = 3\n",
    ],
)
def test_a_project_file_that_can_not_be_read_is_no_reason_to_forget_its_settings(write, lint, queue, text):
    write({"q.yaml": queue("a"), "pyproject.toml": text})
    ran = lint("q.yaml")
    assert ran.code == 2
    assert "pyproject.toml:1:1: " in ran.err


def test_a_project_file_that_only_mentions_us_is_none_of_ours(write, lint, queue):
    write({"q.yaml": queue("a"), "pyproject.toml": "# not [tool.policycheck]\nx = [\n"})
    assert lint("q.yaml").code in (0, 1)


@pytest.mark.parametrize(
    ("target", "said"), [("kuee=0.19", "did you mean 'kueue'?"), ("nonsense=1", "no system 'nonsense'")]
)
def test_a_target_that_is_no_system_is_not_passed_over(write, lint, queue, target, said):
    write({"q.yaml": queue("a")})
    ran = lint("q.yaml", "--target", target)
    assert ran.code == 2
    assert said in ran.report["summary"]["ruleErrors"][0]["why"]


@pytest.mark.parametrize(("version", "near"), [("0.9", "0.13"), ("7.3", "0.20")])
def test_a_version_that_is_not_known_is_said(write, lint, queue, version, near):
    write({"q.yaml": queue("a")})
    (note,) = lint("q.yaml", "--target", f"kueue={version}").report["summary"]["notes"]
    assert f"kueue {version} is not known here" in note
    assert f"what holds for {near}" in note
    assert lint("q.yaml", "--target", "kueue=0.17").report["summary"]["notes"] == []


def test_a_folder_that_can_be_no_folder_of_rules_is_not_searched_to_its_end(write, lint, queue, monkeypatch):
    monkeypatch.setattr("policycheck.lint.rulebook._MAX_SEEN", 3)
    write({"q.yaml": queue("a"), **{f"r/{n}.txt": "" for n in range(5)}})
    monkeypatch.setattr(
        "policycheck.lint.rulebook.built_in",
        lambda _: __import__("policycheck").lint.rulebook.RuleFolder("r"),
    )
    ran = lint("q.yaml")
    assert ran.code == 2
    assert "give the folder of rule files alone" in ran.report["summary"]["ruleErrors"][0]["why"]


def test_quiet_still_says_why_a_run_failed(write, lint, queue):
    write({"q.yaml": queue("a"), "broken.yaml": "kind: [\n"})
    assert "1 file could not be read:\n  broken.yaml:2" in lint("q.yaml", "broken.yaml", "--quiet").err
    assert "no system 'x'" in lint("q.yaml", "--target", "x=1", "--quiet").err
    assert lint("q.yaml", "--quiet").err == ""


def test_names_can_not_drive_a_terminal(write, lint, folder):
    (folder / "a\x1b[31m").mkdir()
    text = 'apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: "a\\e[2J\\u202e"}\nspec: {"x\\e]0;t\\a": 1}\n'
    write({"a\x1b[31m/q.yaml": text, "t.yaml": 'kind: X\nmetadata: {name: "${\x0b}"}\n'})
    ran = lint("a\x1b[31m", "t.yaml", "b\x1b[31m")
    assert ran.of("CR011")
    assert not {"\x1b", "\x07", "\u202e", "\x0b"} & set(ran.err)
    assert "\x1b" not in lint("t.yaml", "--crds", "c\x1b[31m").err


def test_a_kustomization_that_names_files_outside_reads_none_of_them(write, lint, queue):
    hidden = (
        "kind: ClusterQueue\napiVersion: kueue.x-k8s.io/v1beta2\nmetadata: {name: secret}\nspec: {secrt: 1}\n"
    )
    write({"../secret.yaml": hidden, "k/kustomization.yaml": "resources: [../../secret.yaml, /etc/passwd]\n"})
    ran = lint("k")
    assert ran.places == []
    assert "secrt" not in json.dumps(ran.report)
    assert ran.files["k/kustomization.yaml"][0] == "notChecked"


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB + "kind: ConfigMap\n", "aliases make more than"),
        ("kind: X\ndata: " + "[" * 100_000 + "]" * 100_000, "nested deeper"),
        ("".join(" " * n + "a:\n" for n in range(1500)), "nested deeper"),
        ('{"kind": "X", "a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper"),
        ("kind: X\na: &a\n  b: *a\n", "contains itself"),
    ],
)
def test_bombs_are_refused_and_the_rest_goes_on(write, lint, queue, text, said):
    write({"bomb.yaml": text, "q.yaml": queue("a")})
    ran = lint("bomb.yaml", "q.yaml")
    assert said in ran.files["bomb.yaml"][2]
    assert ran.files["q.yaml"][0] == "checked"
    assert ran.code == 3
