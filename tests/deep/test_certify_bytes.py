"""Ten thousand single bytes of a certificate and of what it was issued for: every change is refused."""

from __future__ import annotations

from collections import Counter

import pytest

from policycheck.app import Sources
from policycheck.app.certify import Options, certify
from policycheck.app.promises import PromisesError
from policycheck.app.verify import RefusedError, Terms, opened, verify
from policycheck.certify.canonical import encode
from policycheck.certify.certificate import Certificate, statement
from policycheck.certify.verdict import CERTIFIED
from policycheck.lint.settings import Settings
from policycheck.report.verified import REFUSED, VALID
from policycheck.simulate.draw import stream
from policycheck.source.tree import Listing

CHANGES = 10_000
TERMS = Terms("2026-01-15T00:00:00Z")
API = "kueue.x-k8s.io/v1beta2"


def queue(name: str) -> str:
    return f"""apiVersion: {API}
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  cohortName: all
  namespaceSelector: {{}}
  preemption: {{reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources: [{{name: nvidia.com/gpu, nominalQuota: 8}}]
"""


def node(name: str) -> str:
    return f"""apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels: {{gpu: h100, kubernetes.io/hostname: {name}}}
status:
  allocatable: {{cpu: "64", memory: 512Gi, pods: "110", nvidia.com/gpu: "8"}}
  conditions: [{{type: Ready, status: "True"}}]
"""


FILES = {
    "queues.yaml": queue("a") + "---\n" + queue("b"),
    "flavors.yaml": f"""# What the nodes of a pool have in common.
apiVersion: {API}
kind: ResourceFlavor
metadata: {{name: h100}}
spec:
  nodeLabels: {{gpu: h100}}
""",
    "nodes.yaml": node("n1") + "---\n" + node("n2"),
    "promises.yaml": """apiVersion: policycheck.dev/v1
kind: Promises
teams:
- {name: a, owner: a@example.com, queues: a, guarantee: {nvidia.com/gpu: 8}, shapes: [{name: train, pods: 2, gpus: 4}]}
- {name: b, owner: b@example.com, queues: b, guarantee: {nvidia.com/gpu: 8}, shapes: [{name: test, gpus: 1}]}
required: [guarantees-fit]
""",
}


def sources(files: dict[str, bytes]) -> Sources:
    return Sources(tuple(FILES), read=lambda name: files[name], tree=Listing(FILES), in_memory=True)


def inputs() -> dict[str, bytes]:
    return {name: text.encode() for name, text in FILES.items()}


@pytest.fixture(scope="module")
def signed():
    """A certificate of these files by proof alone, so that verifying it again is quick, and its public key."""
    pytest.importorskip("cryptography", reason="the extra 'sign' is not installed")
    pytest.importorskip("securesystemslib", reason="the extra 'sign' is not installed")
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    from policycheck.certify.signing import sign, signer

    key = ed25519.Ed25519PrivateKey.from_private_bytes(b"a key of tests, and of no use   "[:32])
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    options = Options(claims=("guarantees-fit",), scenarios=0)
    (done,), _ = certify(sources(inputs()), Settings(), options)
    assert done.result.outcome == CERTIFIED
    made = Certificate(done.result, "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z")
    return sign(encode(statement(made)), signer(private)), public


def judged(data: bytes, public: bytes, files: dict[str, bytes]) -> str:
    """``valid``, or why not in a word. Anything but a refusal in words is raised."""
    try:
        found = opened(data, public)
        answer, _ = verify(found, sources(files), Settings(), TERMS)
    except RefusedError as error:
        return error.what
    except PromisesError:
        return "promises can not be read"
    if answer.outcome == VALID:
        return "valid"
    assert answer.outcome == REFUSED
    return answer.refusals[0].what


def changed(text: bytes, *names: object) -> bytes:
    """One byte of it is another one."""
    draw = stream(20260901, "single bytes", *names)
    made = bytearray(text)
    made[draw.below(len(made))] ^= 1 + draw.below(255)
    return bytes(made)


@pytest.mark.slow
def test_no_single_byte_can_be_changed(signed, capsys):
    data, public = signed
    assert judged(data, public, inputs()) == "valid"
    found: Counter[tuple[str, str]] = Counter()
    accepted = []
    for number in range(CHANGES):
        files = inputs()
        name = ["certificate", *FILES][number % (1 + len(FILES))]
        if name == "certificate":
            answer = judged(changed(data, name, number), public, files)
        else:
            files[name] = changed(files[name], name, number)
            answer = judged(data, public, files)
        found[name, answer] += 1
        if answer == "valid":
            accepted.append((name, number))
    with capsys.disabled():
        print(f"\n{CHANGES:,} single bytes changed, {len(accepted)} accepted")
        for (name, answer), many in sorted(found.items()):
            print(f"  {name:<16}{answer:<28}{many:>6,}")
    assert accepted == []
    assert judged(data, public, inputs()) == "valid"  # nothing of it was kept
