import json
import re
import shutil
import venv
import zipfile

import pytest

from tests.e2e.conftest import ROOT, call, clean_environ, install, make_environment

IDS = {re.match(r"[A-Z]+\d+", path.name)[0] for path in (ROOT / "rules").rglob("*.yaml")}


def rule_ids(python, folder):
    done = call(
        python, "-m", "policycheck", "rules", "list", "--format", "json", cwd=folder, env=clean_environ()
    )
    return {rule["id"] for rule in json.loads(done.stdout)}


def test_the_wheel_carries_rules_and_examples_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top.split("-")[0] for top in tops} == {"policycheck"}
    rules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "rules").rglob("*.yaml")}
    assert rules
    assert {f"policycheck/_data/{rule}" for rule in rules} <= set(names)
    assert any(name.startswith("policycheck/_data/fixtures/clusters/demo-bad/") for name in names)
    assert "policycheck/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_the_installed_wheel_lists_its_rules(installed, tmp_path):
    where = call(
        installed, "-c", "import policycheck; print(policycheck.__file__)", cwd=tmp_path, env=clean_environ()
    )
    assert str(ROOT) not in where.stdout
    environ = clean_environ(XDG_CACHE_HOME=tmp_path)
    done = call(
        installed, "-m", "policycheck", "rules", "list", "--format", "json", cwd=tmp_path, env=environ
    )
    assert {rule["id"] for rule in json.loads(done.stdout)} == IDS


def test_the_installed_wheel_runs_the_demo(installed, tmp_path):
    environ = clean_environ(XDG_CACHE_HOME=tmp_path)
    done = call(installed, "-m", "policycheck", "demo", cwd=tmp_path, env=environ)
    assert "error[" in done.stdout
    assert "no findings" in done.stdout
    assert "policycheck lint" in done.stdout.rsplit("\n\n", 3)[-3] + done.stdout


def test_a_rule_added_after_an_editable_install_is_seen(tmp_path):
    checkout = tmp_path / "checkout"
    for name in ("policycheck", "rules", "fixtures"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout / name)
    python = make_environment(tmp_path / "venv")
    install(python, "--editable", checkout)
    before = rule_ids(python, tmp_path)
    assert before == IDS
    model = next(
        path for path in sorted((checkout / "rules").rglob("*.yaml")) if "\nexpression:" in path.read_text()
    )
    identity = re.match(r"[A-Z]+\d+", model.name)[0]
    added = re.sub(
        r"(?m)^name: .*$", "name: added-later", model.read_text().replace(identity, f"{identity[:2]}997")
    )
    (model.parent / f"{identity[:2]}997-added-later.yaml").write_text(added)
    assert rule_ids(python, tmp_path) - before == {f"{identity[:2]}997"}


@pytest.mark.slow
def test_the_wheel_in_an_environment_made_from_nothing(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    call(
        python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel, env=clean_environ()
    )
    assert rule_ids(python, tmp_path) == IDS
    command = tmp_path / "venv" / "bin" / "policycheck"
    assert "no findings" in call(command, "demo", cwd=tmp_path, env=clean_environ()).stdout
