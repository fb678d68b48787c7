"""A small cluster in files: two teams of 8 GPUs each in one cohort, two nodes, and what they were promised."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from policycheck.adapters.cli import main

GPU = "nvidia.com/gpu"

QUEUE = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  cohortName: all
  namespaceSelector: {{}}
  preemption: {{reclaimWithinCohort: {reclaim}, withinClusterQueue: LowerPriority}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources: [{{name: nvidia.com/gpu, nominalQuota: {nominal}}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: main, namespace: team-{name}}}
spec: {{clusterQueue: {name}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: team-{name}}}
"""

FLAVOR = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec:
  nodeLabels: {gpu: h100}
"""

NODE = """apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels: {{gpu: h100, kubernetes.io/hostname: {name}}}
status:
  allocatable: {{cpu: "64", memory: 512Gi, pods: "110", nvidia.com/gpu: "{gpus}"}}
  conditions: [{{type: Ready, status: "True"}}]
"""

PROMISES = """apiVersion: policycheck.dev/v1
kind: Promises
teams:
  - name: a
    owner: a@example.com
    queues: a
    guarantee: {nvidia.com/gpu: 8}
    within: 10m
    shapes:
      - {name: train, pods: 2, gpus: 1}
  - name: b
    owner: b@example.com
    queues: b
    guarantee: {nvidia.com/gpu: 8}
    shapes:
      - {name: train, gpus: 1}
required: [guarantee-honoured]
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Folder:
    """Files of one cluster, by name; ``write`` changes one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("queues/a.yaml", QUEUE.format(name="a", nominal=8, reclaim="Any"))
        self.write("queues/b.yaml", QUEUE.format(name="b", nominal=8, reclaim="Any"))
        self.write("flavor.yaml", FLAVOR)
        self.nodes(8, 8)
        self.write("promises.yaml", PROMISES)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def nodes(self, *gpus: int, name: str = "nodes.yaml") -> Path:
        made = (NODE.format(name=f"node-{n}", gpus=one) for n, one in enumerate(gpus, 1))
        return self.write(name, "---\n".join(made))

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))


@pytest.fixture
def cluster(tmp_path):
    return Folder(tmp_path / "cluster")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs the command line in a scratch folder beside the cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLICYCHECK_KEY_PASSWORD", raising=False)

    def run(*args: str) -> Ran:
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as end:  # simulate --case ends so
            code = end.code
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return run


@pytest.fixture
def keys(tmp_path):
    """Private and public key in PEM: two pairs, "mine" and "other"."""
    pytest.importorskip("cryptography", reason="the extra 'sign' is not installed")
    pytest.importorskip("securesystemslib", reason="the extra 'sign' is not installed")
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    for name, password in (("mine", None), ("other", None), ("locked", b"secret")):
        private = ed25519.Ed25519PrivateKey.generate()
        how = BestAvailableEncryption(password) if password else NoEncryption()
        (tmp_path / f"{name}.key").write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))
        public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub").write_bytes(public)
    return tmp_path


@pytest.fixture
def without_extra(monkeypatch):
    """As if the libraries for signatures were not installed."""
    for name in ("cryptography", "securesystemslib"):
        monkeypatch.setitem(sys.modules, name, None)
