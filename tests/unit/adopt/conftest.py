"""An old repository: a folder with manifests in which several things are wrong, and the command in it."""

from __future__ import annotations

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
  namespaceSelector: {{}}
  stopPolicy: Hold
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - name: {flavor}
          resources:
            - {{name: nvidia.com/gpu, nominalQuota: 8, borrowingLimit: 4}}
"""


class Ran(NamedTuple):
    """One run of ``lint``: exit code, JSON report, standard error."""

    code: int
    report: Any
    err: str

    @property
    def found(self):
        return sorted((f["rule"], f["file"]) for f in self.report["findings"])

    @property
    def known(self):
        return self.report["summary"]["knownBefore"]

    def note(self, word):
        """The only note with this word."""
        (note,) = [note for note in self.report["summary"]["notes"] if word in note]
        return note


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder in which the command runs, on the first day of 2026."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("POLICYCHECK_CONFIG", raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    return tmp_path / "work"


@pytest.fixture
def write(folder):
    """Writes files by name; None takes one away."""

    def write(files):
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)

    return write


@pytest.fixture
def queue():
    return lambda name, flavor="h100": QUEUE.format(name=name, flavor=flavor)


@pytest.fixture
def lint(capsys):
    """Runs ``policycheck lint``; errors of use have no report."""

    def lint(*args):
        code = main(["lint", *args, "--format", "json"])
        caught = capsys.readouterr()
        return Ran(code, json.loads(caught.out) if caught.out else None, caught.err)

    return lint


@pytest.fixture
def old(write, queue):
    """Two queues, each with a limit on what it may borrow from nobody (KQ101), and on hold (KQ613)."""
    write({"a.yaml": queue("a"), "sub/b.yaml": queue("b")})
