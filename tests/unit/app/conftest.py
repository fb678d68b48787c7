"""The command over files in a scratch folder, with the real rules."""

import json
from typing import Any, NamedTuple

import pytest

from policycheck.adapters.cli import main

QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: {name}
spec:
  cohortName: all
  namespaceSelector: {{}}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - name: {flavor}
          resources:
            - {{name: nvidia.com/gpu, nominalQuota: {gpus}}}
"""

# A rule of which these tests know when it fires: on every flavor.
RULE = """\
id: TT101
name: a-flavor
title: A flavor
severity: warning
confidence: high
phase: observe
subject: kueue.x-k8s.io/ResourceFlavor
at: metadata.name
expression: "object.metadata.name == 'fine'"
message: "{object.metadata.name} is a flavor"
rationale: None.
remediation: Call it fine.
examples:
  bad:
    - manifest: "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}}"
      findings: ["1:1"]
  good:
    - manifest: "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: fine}}"
"""


class Run(NamedTuple):
    """One run: exit code, the JSON report, standard error."""

    code: int
    report: Any
    err: str

    @property
    def places(self):
        return [(f["rule"], f["file"], f["line"], f["path"]) for f in self.report["findings"]]

    @property
    def flavors(self):
        """Names of the objects that TT101 fires on."""
        return [f["object"]["name"] for f in self.report["findings"] if f["rule"] == "TT101"]

    def of(self, *rules):
        return [place for place in self.places if place[0] in rules]

    @property
    def files(self):
        return {f["file"]: (f["state"], f["line"], f["why"]) for f in self.report["summary"]["files"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder in which the command runs."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "work"


@pytest.fixture
def write(folder):
    """Writes files by name; a text that is None takes the file away."""

    def write(files):
        for name, text in files.items():
            path = folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def lint(folder, capsys):
    """Runs ``lint``; without a JSON report there is what went wrong on standard error."""

    def lint(*args):
        code = main(["lint", *args, "--format", "json"])
        captured = capsys.readouterr()
        return Run(code, json.loads(captured.out) if captured.out else None, captured.err)

    return lint


@pytest.fixture
def flavor_rule(tmp_path):
    """Options that add TT101."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/TT101.yaml").write_text(RULE)
    return ("--rules", str(tmp_path / "own"))


@pytest.fixture
def queue():
    """A ClusterQueue as text."""

    def make(name, gpus=8, flavor="h100"):
        return QUEUE.format(name=name, gpus=gpus, flavor=flavor)

    return make
