"""A runner's part in a composite action: steps in order, expressions, the files and variables that GitHub sets."""

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.e2e.conftest import ROOT, call, clean_environ

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ *([a-z_.-]+) *\}\}")
TERM = re.compile(r"(always\(\)|success\(\))|([a-z_.-]+) (==|!=) '([^']*)'")
GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$GH_CALLS"
if [ -n "${GH_REFUSES:-}" ] && [[ "$*" == *"--method"* ]]; then echo "HTTP 403: not allowed" >&2; exit 1; fi
if [[ "$*" == *"--jq"* ]]; then printf '%s' "${GH_KNOWN:-}"; exit; fi
for arg in "$@"; do if [[ "$arg" == body=@* ]]; then cat "${arg#body=@}" > "$GH_BODY"; fi; done
"""


class Job(NamedTuple):
    codes: dict  # of the steps that ran, by name; None for a step of another action
    outputs: dict
    summary: str
    log: str
    used: dict  # what a step of another action was given
    comment: str
    asked: list  # of gh


class Runner:
    """One job. ``repository`` is the work tree; ``event`` what GitHub writes of it."""

    def __init__(
        self, folder, repository, *, event=None, base_ref="", install=False, upload="success", **more
    ):
        self.repository, self.install, self.upload = repository, install, upload
        self.temp = folder / "runner"
        self.temp.mkdir()
        self.files = {
            name: self.temp / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GH_CALLS", "GH_BODY")
        }
        for file in self.files.values():
            file.touch()
        written = self.temp / "event.json"
        written.write_text(json.dumps(event or {}))
        programs = self.temp / "programs"
        programs.mkdir()
        (programs / "gh").write_text(GH)
        (programs / "gh").chmod(0o755)
        if not install:
            stand_in(self.temp / "policycheck" / "bin")
        self.known = {"github.action_path": str(ROOT), "github.base_ref": base_ref, "github.token": "secret"}
        environ = clean_environ(
            RUNNER_TEMP=self.temp,
            GITHUB_ACTIONS="true",
            GITHUB_BASE_REF=base_ref,
            GITHUB_EVENT_PATH=written,
            GITHUB_REPOSITORY="platform/clusters",
            GITHUB_WORKSPACE=repository,
            **self.files,
            **more,
        )
        self.environ = {**environ, "PATH": f"{programs}:{environ['PATH']}"}

    def run(self, **inputs):
        for name, given in ACTION["inputs"].items():
            self.known[f"inputs.{name}"] = inputs.get(name, self.filled(given.get("default", "")))
        codes, used, log, failed = {}, {}, "", False
        for step in STEPS:
            installs = step["name"].startswith("Install")
            if (installs and not self.install) or not self.wanted(step.get("if", "success()"), failed):
                self.outcome(step, "skipped")
                continue
            if "uses" in step:
                used[step["name"]] = {k: self.filled(v) for k, v in step["with"].items()}
                codes[step["name"]] = None
                self.outcome(step, self.upload)
                failed = failed or (self.upload == "failure" and not step.get("continue-on-error"))
                continue
            done = self.step(step)
            codes[step["name"]] = done.returncode
            failed = failed or done.returncode != 0
            log += done.stdout + done.stderr
            self.outcome(step, "failure" if done.returncode else "success")
        outputs = {name: self.filled(given["value"]) for name, given in ACTION["outputs"].items()}
        text = {name: file.read_text() for name, file in self.files.items()}
        return Job(
            codes,
            outputs,
            text["GITHUB_STEP_SUMMARY"],
            log,
            used,
            text["GH_BODY"],
            text["GH_CALLS"].splitlines(),
        )

    def step(self, step):
        script = self.temp / "step.sh"
        script.write_text(step["run"])
        environ = {name: self.filled(value) for name, value in step.get("env", {}).items()}
        self.files["GITHUB_OUTPUT"].write_text("")
        done = call(
            "bash", "--noprofile", "--norc", "-eo", "pipefail", script, check=False,
            cwd=self.repository / self.filled(step.get("working-directory", ".")), env={**self.environ, **environ},
        )  # fmt: skip
        for line in self.files["GITHUB_OUTPUT"].read_text().splitlines():
            name, value = line.split("=", 1)
            self.known[f"steps.{step['id']}.outputs.{name}"] = value
        return done

    def outcome(self, step, what):
        if "id" in step:
            self.known[f"steps.{step['id']}.outcome"] = what

    def filled(self, text):
        return EXPRESSION.sub(lambda found: self.known.get(found[1], ""), text)

    def wanted(self, condition, failed):
        terms = condition.split(" && ")
        if not any(term in {"always()", "success()"} for term in terms):
            terms.insert(0, "success()")
        return all(self.holds(term, failed) for term in terms)

    def holds(self, term, failed):
        found = TERM.fullmatch(term)
        assert found, f"a condition that is not understood here: {term}"
        if found[1]:
            return found[1] == "always()" or not failed
        return (self.known.get(found[2], "") == found[4]) == (found[3] == "==")


def stand_in(folder: Path):
    """What the first step would have installed: this package."""
    folder.mkdir(parents=True)
    for name, command in (("python", ""), ("policycheck", " -m policycheck")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable}{command} "$@"\n')
        path.chmod(0o755)
