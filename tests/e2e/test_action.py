"""The action's own steps, run as GitHub would: bash, the environment that the file gives, nothing else."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.e2e.conftest import BAD, GOOD, ROOT, call, clean_environ

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ *([a-z._-]+) *\}\}")


class Job(NamedTuple):
    codes: dict
    outputs: dict
    summary: str
    log: str


def run_action(folder, install=False, **inputs):
    """Runs the steps in order; a failed one skips those after it that do not say always()."""
    inputs = {**{name: given.get("default", "") for name, given in ACTION["inputs"].items()}, **inputs}
    temp = folder / "runner"
    temp.mkdir()
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}
    for file in files.values():
        file.touch()
    if not install:
        stand_in(temp / "policycheck" / "bin")
    known, codes, log, failed = {f"inputs.{name}": value for name, value in inputs.items()}, {}, "", False
    known["github.action_path"] = str(ROOT)
    for step in STEPS:
        if (step["name"].startswith("Install") and not install) or not wanted(step, known, failed):
            continue
        environ = {name: fill(value, known) for name, value in step.get("env", {}).items()}
        cwd = folder / fill(step.get("working-directory", "."), known)
        script = folder / "step.sh"
        script.write_text(step["run"])
        done = call(
            "bash", "--noprofile", "--norc", "-eo", "pipefail", script, check=False, cwd=cwd,
            env=clean_environ(RUNNER_TEMP=temp, **files, **environ),
        )  # fmt: skip
        codes[step["name"]] = done.returncode
        failed = failed or done.returncode != 0
        log += done.stdout + done.stderr
        if "id" in step:
            pairs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
            known |= {f"steps.{step['id']}.outputs.{name}": value for name, value in pairs.items()}
    outputs = {name: fill(given["value"], known) for name, given in ACTION["outputs"].items()}
    return Job(codes, outputs, files["GITHUB_STEP_SUMMARY"].read_text(), log)


def stand_in(folder):
    """What the first step would have installed: this package."""
    folder.mkdir(parents=True)
    for name, command in (("python", ""), ("policycheck", " -m policycheck")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable}{command} "$@"\n')
        path.chmod(0o755)


def fill(text, known):
    return EXPRESSION.sub(lambda found: known.get(found[1], ""), text)


def wanted(step, known, failed):
    condition = step.get("if", "success()")
    if condition == "success()":
        return not failed
    assert condition == "always() && inputs.summary == 'true'"
    return known["inputs.summary"] == "true"


@pytest.fixture
def job(tmp_path):
    shutil.copytree(BAD, tmp_path / "clusters" / "bad cluster")
    shutil.copytree(GOOD, tmp_path / "clusters" / "good")
    return tmp_path


def test_a_bad_configuration_fails_the_job_at_its_end(job):
    ran = run_action(job, paths="clusters/bad cluster")
    assert ran.codes == {"Lint": 0, "Write the summary": 0, "Verdict": 1}
    assert (ran.outputs["exit-code"], ran.outputs["verdict"]) == ("1", "fail")
    summary = json.loads(Path(ran.outputs["json-file"]).read_text())["summary"]
    assert int(ran.outputs["errors"]) == summary["errors"] > 0
    assert int(ran.outputs["warnings"]) == summary["warnings"]
    assert int(ran.outputs["findings"]) == summary["errors"] + summary["warnings"] + summary["infos"]
    assert ran.summary.startswith("## policycheck\n")
    assert "| error |" in ran.summary
    assert "error[" in ran.log


def test_a_good_configuration_passes(job):
    ran = run_action(job, paths="clusters/good")
    assert ran.codes == {"Lint": 0, "Write the summary": 0, "Verdict": 0}
    assert (ran.outputs["verdict"], ran.outputs["errors"]) == ("pass", "0")


def test_several_values_and_another_folder(job):
    ran = run_action(
        job,
        **{
            "working-directory": "clusters",
            "paths": "good\nbad cluster\n",
            "fail-on": "never",
            "summary": "false",
        },
    )
    assert ran.codes == {"Lint": 0, "Verdict": 0}
    assert ran.outputs["verdict"] == "pass"
    assert int(ran.outputs["errors"]) > 0
    assert ran.summary == ""


def test_a_wrong_input_is_an_error_and_not_a_finding(job):
    ran = run_action(job, paths="clusters/good", phase="someday")
    assert ran.codes == {"Lint": 0, "Write the summary": 0, "Verdict": 2}
    assert (ran.outputs["verdict"], ran.outputs["json-file"]) == ("error", "")
    assert "Nothing was checked (exit code 2)" in ran.summary


def test_inputs_can_not_become_code(job):
    hostile = '$(touch pwned) `touch pwned` "; touch pwned; "'
    ran = run_action(job, paths=f"clusters/good\n{hostile}", select=hostile, config=hostile)
    assert ran.outputs["verdict"] == "error"
    assert not list(job.rglob("pwned"))


def test_no_script_has_an_expression_and_every_value_is_used():
    for step in STEPS:
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"
        assert all(f"${name}" in step["run"] or f"${{{name}" in step["run"] for name in step.get("env", {}))
        assert "uses" not in step, "nothing of others without a pinned revision"
    used = " ".join(value for step in STEPS for value in step.get("env", {}).values())
    assert all(f"inputs.{name} " in used for name in set(ACTION["inputs"]) - {"summary", "working-directory"})


@pytest.mark.slow
def test_the_action_installs_itself(job):
    ran = run_action(job, install=True, paths="clusters/good")
    assert ran.codes == {"Install policycheck": 0, "Lint": 0, "Write the summary": 0, "Verdict": 0}, ran.log
    assert (job / "runner" / "policycheck" / "bin" / "policycheck").is_file()
