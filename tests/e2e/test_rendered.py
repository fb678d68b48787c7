"""Findings in what real kustomize and helm render, both built from their Go modules."""

import json
import os
import shutil
import sys

import pytest

from tests.e2e.conftest import call

TOOLS = {"kustomize": "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1", "helm": "helm.sh/helm/v3/cmd/helm@v3.19.0"}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which("go"),
        reason="kustomize and helm are built from their Go modules, and there is no go",
    ),
]
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: vision
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - name: nvidia.com/gpu
        nominalQuota: 8
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with both; those that are installed are not built."""
    folder = tmp_path_factory.mktemp("programs")
    for name, module in TOOLS.items():
        known = shutil.which(name)
        if known:
            (folder / name).symlink_to(known)
        else:
            call("go", "install", module, env={**os.environ, "GOBIN": str(folder)})
    return folder


def lint(programs, folder, path):
    environ = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = call(
        sys.executable,
        "-m",
        "policycheck",
        "lint",
        path,
        "--format",
        "json",
        cwd=folder,
        env=environ,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return {one["rule"]: one for one in json.loads(done.stdout)["findings"]}


def test_kustomize(programs, tmp_path):
    for name, text in {
        "base/kustomization.yaml": "resources: [queue.yaml]\n",
        "base/queue.yaml": QUEUE,
        "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\npatches:\n- path: limit.yaml\n  target: {kind: ClusterQueue}\n",
        "prod/limit.yaml": "- op: add\n  path: /spec/resourceGroups/0/flavors/0/resources/0/borrowingLimit\n  value: 4\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = lint(programs, tmp_path, ".")
    assert (found["KQ101"]["file"], found["KQ101"]["line"]) == ("prod/limit.yaml", 3)
    assert (found["KQ801"]["file"], found["KQ801"]["line"]) == ("base/queue.yaml", 3)


def test_helm(programs, tmp_path):
    limit = "        borrowingLimit: {{ .Values.teams.vision.borrows }}\n"
    for name, text in {
        "queues/Chart.yaml": "apiVersion: v2\nname: queues\nversion: 1.0.0\n",
        "queues/values.yaml": "replicas: 4\nteams:\n  vision:\n    borrows: 4  # GPUs\n",
        "queues/templates/queue.yaml": QUEUE + limit,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = lint(programs, tmp_path, "queues")
    assert (found["KQ101"]["file"], found["KQ101"]["line"]) == ("queues/values.yaml", 4)
    assert found["KQ801"]["file"] == "queues/<rendered>"
    assert found["KQ801"]["related"][-1]["file"] == "queues/templates/queue.yaml"
