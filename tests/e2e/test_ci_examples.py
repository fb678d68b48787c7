"""What others copy into their repositories is held to the standards of those who check such files."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import ROOT, call

CI = ROOT / "docs" / "ci"
WORKFLOWS = [CI / f"{name}.yml" for name in ("pull-request", "drift", "inventory")]
PROGRAMS = Path(sys.executable).parent
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


def test_workflows_and_action_are_safe():
    call(PROGRAMS / "zizmor", "--offline", "--config", CI / "zizmor.yml", ROOT / "action.yml", *WORKFLOWS)


def test_an_unsafe_workflow_would_be_noticed(tmp_path):
    bad = tmp_path / "bad.yml"
    bad.write_text(WORKFLOWS[0].read_text() + "      - run: echo ${{ github.head_ref }}\n")
    done = call(PROGRAMS / "zizmor", "--offline", "--config", CI / "zizmor.yml", bad, check=False)
    assert "template-injection" in done.stdout + done.stderr


def test_scripts_are_sound():
    call(PROGRAMS / "shellcheck", *sorted((ROOT / "action").glob("*.sh")), cwd=ROOT)


def test_inputs_of_the_examples_are_inputs_of_the_action():
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    (job,) = yaml.safe_load(WORKFLOWS[0].read_text())["jobs"].values()
    (step,) = [one for one in job["steps"] if one.get("uses", "").startswith("policycheck/")]
    assert set(step["with"]) <= set(inputs)


def test_commands_of_the_examples_are_understood():

    texts = [path.read_text() for path in (*WORKFLOWS, CI / "gitlab-ci.yml")]
    for command, options in (
        ("verify", ("--inventory", "--key")),
        ("inventory", ("--write",)),
        ("compare", ("--inventory", "--mix", "--horizon")),
        ("lint", ("--new-from", "--format")),
    ):
        assert any(f"policycheck {command} " in text or f'policycheck" {command} ' in text for text in texts)
        helped = subprocess.run(
            [sys.executable, "-m", "policycheck", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert [option for option in options if option not in helped] == []


def test_the_gitlab_example_is_yaml_with_a_job():
    job = yaml.safe_load((CI / "gitlab-ci.yml").read_text())["policycheck"]
    assert job["artifacts"]["reports"]["codequality"] == "gl-code-quality-report.json"


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("go"), reason="actionlint is built from its Go module, and there is no go"
)
def test_workflows_are_in_order(tmp_path):
    import os

    call("go", "install", ACTIONLINT, env={**os.environ, "GOBIN": str(tmp_path)})
    call(
        tmp_path / "actionlint", "-config-file", CI / "actionlint.yaml", "-shellcheck", PROGRAMS / "shellcheck", *WORKFLOWS
    )  # fmt: skip
