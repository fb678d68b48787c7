"""Certified-only mode: a change of three objects, one after another, under an old and a new certificate."""

import time

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from policycheck.adapters import cli
from policycheck.adapters.cli.webhook_manifests import render
from policycheck.adapters.install import Install
from tests.e2e.apiserver import small
from tests.e2e.apiserver.client import Kubectl, Loader
from tests.e2e.apiserver.gate import Gate
from tests.e2e.apiserver.pki import key_bytes
from tests.e2e.apiserver.test_webhook import audited

pytestmark = pytest.mark.slow  # `make e2e` and CI run it
TARGET = {"kueue": "0.17"}
SETTINGS = yaml.safe_dump({"target": TARGET, "webhook": {"override": {"users": ["admin"]}}})


def certificate(folder, name, objects, key):
    """The text of a signed certificate about objects."""
    manifests, inventory, out = (folder / f"{name}{end}" for end in (".yaml", "-nodes.yaml", ".json"))
    manifests.write_text(yaml.safe_dump_all(one for one in objects if one["kind"] != "Node"))
    inventory.write_text(yaml.safe_dump_all(small.nodes()))
    args = ["certify", manifests, "--inventory", inventory, "--target", "kueue=0.17"]
    args += ["--accept", "search", "--sign", key, "--certificate", out, "--quiet"]
    assert cli.main([str(arg) for arg in args]) == 0
    return out.read_text()


@pytest.fixture(scope="module")
def kubectl(plane):
    with plane.client() as client:
        _, left = Loader(client).create(small.cluster())
        assert not left
    return Kubectl(plane.programs / "kubectl", plane.admin, plane.folder)


NEW = {"team-a": 12, "team-b": 12, "team-c": 8}


@pytest.fixture(scope="module")
def gate(plane, kubectl, tmp_path_factory):
    folder = tmp_path_factory.mktemp("certified")
    key = ed25519.Ed25519PrivateKey.generate()
    (folder / "key.pem").write_bytes(key_bytes(key))
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    old = small.cluster()
    new = [one for one in old if one["kind"] != "ClusterQueue"]
    new += [small.queue(name, gpus) for name, gpus in NEW.items()]
    texts = {"old.json": certificate(folder, "old", old, folder / "key.pem")}
    time.sleep(1.1)  # the newer one is told by its time, in seconds
    texts["new.json"] = certificate(folder, "new", new, folder / "key.pem")
    install = Install(
        "registry.example/policycheck:1", certificates="self-signed", settings=SETTINGS, certificate=True
    )
    kubectl.apply(small.space(install.namespace))
    for name, data in (
        ("policycheck-certificate", texts),
        ("policycheck-certificate-key", {"key.pem": public.decode()}),
    ):
        meta = {"name": name, "namespace": install.namespace}
        kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
    made = Gate(plane, kubectl, tmp_path_factory.mktemp("gate"), render(install))
    try:
        made.start()
        yield made
    finally:
        made.close()


def test_what_is_in_no_certificate_is_refused(gate, kubectl):
    done = kubectl.apply(small.queue("stranger", 0), check=False)
    assert done.returncode == 1
    assert "no subject of the certificate" in done.stderr
    done = kubectl.apply(small.queue("team-a", 13), check=False)
    assert "certified with other contents" in done.stderr
    # Work is not what certificates are about.
    assert "created" in kubectl.apply(small.job("fits")).stdout


def test_three_objects_change_one_after_another_and_no_mixture_breaks_a_rule(gate, kubectl, plane):
    early = kubectl.apply(small.queue("team-c", NEW["team-c"]), check=False)
    print(early.stderr)
    assert early.returncode == 1
    assert "KQ110" in early.stderr  # certified, and too early: the others still hold what it takes
    for name, gpus in NEW.items():
        done = kubectl.apply(small.queue(name, gpus))
        assert "configured" in done.stdout or "created" in done.stdout
    notes = audited(plane, "team-c", "create")
    print(notes)
    assert len(notes["critical.policycheck.dev/certificate"]) >= 64
    # Back to the old one is no change to what is certified now.
    done = kubectl.apply(small.queue("team-a", 16), check=False)
    assert "certified with other contents" in done.stderr


def test_in_an_emergency_whoever_may_overrides_it_and_everything_else_waits_until_that_is_put_right(
    gate, kubectl, plane
):
    how = {"policycheck.dev/override": "spare nodes for the outage; owner=ann; until=2099-01-01"}
    done = kubectl.apply(small.queue("outage", 0, how, cohortName="outage"))
    print(done.stderr)
    assert "would be refused" in done.stderr
    notes = audited(plane, "outage", "create")
    assert "spare nodes for the outage" in notes["critical.policycheck.dev/override"]
    kubectl("delete", "localqueue", "main", "-n", "team-b")
    done = kubectl.apply(small.local("team-b"), check=False)
    print(done.stderr)
    assert "outage is in the cluster and certified neither now nor before" in done.stderr
    kubectl("delete", "clusterqueue", "outage")
    end = time.monotonic() + 30
    while (done := kubectl.apply(small.local("team-b"), check=False)).returncode:
        assert time.monotonic() < end, done.stderr
