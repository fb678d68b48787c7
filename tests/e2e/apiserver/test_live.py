"""Commands and watches on a real API server that holds the bad example cluster."""

import json
import signal
import threading
import time

import pytest
import yaml

from policycheck.adapters import cli
from policycheck.adapters.live.connect import connect
from policycheck.adapters.live.watch import Feed
from policycheck.app.world import REQUIRED, WELCOME, World
from tests.e2e.apiserver.client import Kubectl, Loader, documents
from tests.e2e.conftest import BAD

pytestmark = pytest.mark.slow  # `make e2e` and CI run it
SECONDS = 90


def until(what, why):
    end = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < end, f"not after {SECONDS} s: {why}"
        time.sleep(0.05)


def command(capsys, *args):
    code = cli.main([str(arg) for arg in args])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.fixture(scope="module")
def loaded(plane):
    """The bad example cluster, as far as the server knows its kinds: (what it made, what it did not)."""
    with plane.client() as client:
        return Loader(client).create(list(documents(BAD)))


@pytest.fixture
def admin(plane, loaded, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(plane.admin))
    return plane


def told(findings):
    return {(one["rule"], one["object"]["kind"], one["object"]["name"], one["path"]) for one in findings}


def test_lint_of_the_cluster_says_what_lint_of_its_manifests_says(admin, loaded, capsys, tmp_path):
    made, left = loaded
    known = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in made}
    kept = [
        one
        for one in documents(BAD)
        if (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) in known
    ]
    assert {one["kind"] for one in left} == {"InferenceService", "Promises", "RayJob", "RayService"}
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(kept))
    _, out, _ = command(capsys, "lint", file, "--format", "json")
    of_files = told(json.loads(out)["findings"])
    code, out, err = command(capsys, "lint", "cluster:admin", "--format", "json")
    of_cluster = told(json.loads(out)["findings"])
    assert code == 1
    assert len(of_files) > 15
    # What the server has dropped by then, nobody can find in it any more: an unknown field.
    assert {(rule, name) for rule, _, name, _ in of_files - of_cluster} == {("KQ001", "speech-dev")}
    assert of_cluster - of_files == set()
    assert "cluster:admin: read" in err
    assert "RayJob" in err


def test_every_command_that_asks_takes_the_cluster(admin, capsys):
    code, out, _ = command(capsys, "inventory", "cluster:admin")
    assert code == 0
    assert "NVIDIA-H100" in out
    code, out, _ = command(capsys, "why", "team-speech/recognition-large", "cluster:admin")
    assert code == 0
    assert "ExceedsMaxQuota" in out
    code, out, _ = command(capsys, "matrix", "cluster:admin", "--format", "json")
    assert code == 0
    assert "foundation" in out
    code, out, _ = command(
        capsys, "certify", "cluster:admin", "--claim", "guarantees-fit", "--format", "json"
    )
    assert code == 1
    assert json.loads(out)["outcome"] == "REFUSED"
    code, out, _ = command(capsys, "compare", BAD, "cluster:admin", "--manifests", "--seeds", "1")
    assert code == 0, out
    code, out, _ = command(
        capsys, "lint", BAD / "kueue", "--inventory", "cluster:admin", "--format", "concise"
    )
    assert "KQ501" in out


def test_nothing_is_written(admin, plane, capsys):
    before = len(plane.audited())
    command(capsys, "lint", "cluster:admin")
    command(capsys, "inventory", "cluster:admin")
    with plane.client() as client:  # a mark, so that the log is known to have come so far
        client.post("/api/v1/namespaces/default/configmaps", json={"metadata": {"generateName": "mark-"}})
    new = [one for one in plane.audited()[before:] if one["user"]["username"] == "admin"]
    assert [one["verb"] for one in new] == ["create"]


def test_a_user_who_may_read_little_is_told_what_was_not_checked(plane, loaded, capsys, monkeypatch):
    kubectl = Kubectl(plane.programs / "kubectl", plane.admin, plane.folder)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "queues"},
        "rules": [
            {
                "apiGroups": ["kueue.x-k8s.io", "scheduling.k8s.io"],
                "resources": ["*"],
                "verbs": ["list"],
            }
        ],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "queues"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "queues"},
        "subjects": [{"kind": "User", "name": "clerk", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    kubectl.apply(role, binding)
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig("clerk", plane.authority.user("clerk"))))
    code, out, err = command(capsys, "lint", "cluster:clerk", "--format", "json", "--fail-on", "never")
    failed = [one for one in json.loads(out)["summary"]["files"] if "forbidden" in one["why"]]
    assert code == 3
    assert [one["file"] for one in failed] == ["cluster:clerk/Node.json"]
    assert 'User "clerk" cannot list resource "nodes"' in failed[0]["why"]
    assert "not checked: Pod" in err


def test_an_unknown_user_is_told(plane, capsys, monkeypatch, tmp_path):
    config = yaml.safe_load(plane.admin.read_text())
    config["users"][0]["user"] = {"token": "nonsense"}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    code, out, _ = command(capsys, "lint", "cluster:admin")
    assert code == 3
    assert "not signed in" in " ".join(out.split())


@pytest.fixture
def fed(admin):
    """A world that keeps up with the server."""
    world = World("live")
    feed = Feed(connect("admin"), world, tuple(dict.fromkeys((*REQUIRED, *WELCOME))), now=time.monotonic)
    feed.start()
    yield world, feed
    feed.stop()


def names(world, kind):
    return {e.facts.key.name for e in world.cluster().entries.values() if e.facts.key.kind == kind}


def queue(name, **spec):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_the_world_keeps_up_through_a_restart_and_after_the_server_has_forgotten(fed, plane):
    world, feed = fed
    kubectl = Kubectl(plane.programs / "kubectl", plane.admin, plane.folder)
    until(lambda: world.is_ready, lambda: (world.missing, feed.status))
    assert {"foundation", "research"} <= names(world, "ClusterQueue")
    assert len(world.cluster().inventory.nodes) == len(kubectl.get("nodes")["items"])
    assert all(one.state in {"watching", "absent"} for one in feed.status), feed.status
    kubectl.apply(queue("added", cohortName="training"))
    until(lambda: "added" in names(world, "ClusterQueue"), "a new queue is seen")
    # Killed, not asked to go: streams break in the middle.
    plane.stop_api(how=signal.SIGKILL)
    until(lambda: any(one.state == "failing" for one in feed.status), "it is noticed")
    plane.start_api()
    kubectl("delete", "clusterqueue", "added", "--wait=false")
    kubectl.apply(queue("after"))
    until(lambda: "after" in names(world, "ClusterQueue"), "the watch is back")
    # A new list takes objects in one by one, and drops those that went at its end.
    until(lambda: "added" not in names(world, "ClusterQueue"), "what went meanwhile is gone")
    # Everything up to now is forgotten, and the server comes back without a memory of its own.
    lists = {one.kind: one.lists for one in feed.status}
    plane.stop_api(how=signal.SIGKILL)
    plane.compact()
    plane.start_api()
    kubectl.apply(queue("later"))
    until(lambda: "later" in names(world, "ClusterQueue"), "it lists anew, or goes on")
    until(lambda: all(one.state in {"watching", "absent"} for one in feed.status), "all are back")
    grown = [one.kind for one in feed.status if one.lists > lists[one.kind]]
    assert len(world.cluster().inventory.nodes) == len(kubectl.get("nodes")["items"])
    print(f"listed anew after the compaction: {len(grown)} of {len(lists)} kinds")


def test_staleness_stays_within_what_bookmarks_allow(fed):
    world, _ = fed
    until(lambda: world.is_ready, "it is in sight")
    ages = world.staleness(time.monotonic())
    assert max(ages.values()) < SECONDS
    assert threading.active_count() < 60
