"""The least hardware: what a certificate states is what its promises need, and no more."""

from __future__ import annotations

import importlib
import json

import pytest

from policycheck.certify.needed import Matter, stated
from policycheck.certify.spare import lean, spare
from policycheck.model.inventory import Inventory, Node
from policycheck.model.workload import PodSet

app = importlib.import_module("policycheck.app.certify")
GPU = "nvidia.com/gpu"
MATTER = Matter(frozenset({"pool"}), frozenset({GPU}), lambda _: True)
CERTIFY = ("certify", "cluster", "--accept", "search", "--budget", "3", "--certificate", "c.json")
AT = ("--issued-at", "2026-01-01T00:00:00Z")
VERIFY = ("verify", "c.json", "cluster", "--unsigned", "--at", "2026-01-02T00:00:00Z")


def node(name: str, pool: str, machines: int = 1) -> Node:
    return Node(name, {"pool": pool}, allocatable={GPU: 8}, machines=machines, most=machines)


def count(inventory: Inventory, pool: str) -> int:
    return sum(n.machines for n in inventory.nodes if n.labels["pool"] == pool)


def test_each_kind_of_nodes_gets_as_small_as_it_may():
    asked = []

    def holds(one: Inventory) -> bool:
        asked.append(one)
        return count(one, "a") >= 3 and count(one, "b") >= 1 and count(one, "a") + count(one, "b") >= 6

    whole = Inventory(
        (node("a1", "a", 30), node("a2", "a", 2), node("b1", "b"), node("b2", "b", 9)), known=True
    )
    first = spare(whole, MATTER, holds)
    assert (count(first, "a"), count(first, "b")) == (3, 3)
    assert len(asked) < 15
    last = spare(whole, MATTER, holds, backwards=True)
    assert (count(last, "a"), count(last, "b")) == (5, 1)
    assert [group["nodes"] for group in stated(last, MATTER)] == [5, 1]


def test_nothing_goes_where_all_is_needed():
    whole = Inventory((node("a1", "a", 2), node("b1", "b")), known=True)
    assert spare(whole, MATTER, lambda _: False) == whole


def test_it_is_asked_so_many_times_and_what_is_not_reached_stays():
    whole = Inventory(tuple(node(f"n{n:03}", f"p{n:03}", 4) for n in range(100)), known=True)
    asked = []
    left = spare(whole, MATTER, lambda one: asked.append(one) or True, most=10)
    assert len(asked) == 10
    assert 60 <= sum(n.machines for n in left.nodes) // 4 < 100


def test_what_nobody_can_use_beside_accelerators_is_not_needed():
    """Pods of 2 GPUs with 10 cpu, of 4 with 24 and 1 of memory, and two that ask for 3 cpu and no GPU."""
    pods = (
        PodSet("a", 4, {GPU: 2, "cpu": 10}),
        PodSet("b", 1, {GPU: 4, "cpu": 24, "memory": 1}),
        PodSet("head", 2, {"cpu": 3}),
    )
    amounts = {GPU: 8, "cpu": 100, "memory": 1000, "pods": 110}
    plain = Node("plain", {"pool": "c"}, allocatable={"cpu": 64})
    inventory = Inventory(
        (Node("n", {"pool": "a"}, allocatable=amounts, committed={"cpu": 5}), plain), known=True
    )
    found = lean(inventory, pods, (GPU,)).nodes
    # 6 cpu a GPU at most; 5 are committed and stay so
    assert found[0].allocatable == {GPU: 8, "cpu": 5 + 48 + 6, "memory": 2, "pods": 4 + 2}
    assert found[0].free("cpu") == 54
    assert found[1] == plain


def test_never_more_than_there_is():
    few = Inventory((Node("n", {}, allocatable={GPU: 8, "cpu": 7, "pods": 3}),), known=True)
    assert lean(few, (PodSet("a", 1, {GPU: 1, "cpu": 9}),), (GPU,)) == few


@pytest.fixture
def issued(cluster, run, tmp_path):
    """A certificate of two teams of 8 GPUs on four nodes of 8, two of which nobody needs."""
    cluster.nodes(8, 8, 8, 8)
    cluster.replace("promises.yaml", "required: [guarantee-honoured]\n", "")
    done = run(*CERTIFY, *AT)
    assert done.code == 0, done.out
    return json.loads((tmp_path / "c.json").read_text())["predicate"]


def test_a_certificate_states_the_nodes_that_are_needed(issued, run):
    assert [group["nodes"] for group in issued["inventory"]] == [2]
    done = run(*VERIFY, "--format", "json")
    assert (done.code, done.json["refusals"], done.json["notes"]) == (0, [], [])


@pytest.mark.parametrize(("nodes", "code"), [((8, 8), 0), ((8, 8, 8), 0), ((8,), 1), ((8, 7, 7), 1)])
def test_it_holds_while_the_live_inventory_contains_them(issued, run, cluster, nodes, code):
    cluster.nodes(*nodes, name="../live.yaml")
    done = run(*VERIFY, "--inventory", "live.yaml", "--format", "json")
    assert done.code == code, done.out
    notes = [one["why"] for one in done.json["notes"] if one["what"] == "inventory"]
    told = f"all nodes that are needed are there: 2 of the {len(nodes)} that there are now"
    assert notes == ([] if code else [told])


def test_without_a_certificate_all_of_it_is_told(issued, run):
    assert [g["nodes"] for g in run(*CERTIFY[:-2], "--format", "json").json["inventory"]] == [4]


@pytest.mark.parametrize(("enough", "stated"), [(3, 4), (2, 2)])
def test_less_on_which_another_claim_breaks_is_not_stated(
    cluster, run, tmp_path, monkeypatch, enough, stated
):
    """Two nodes are enough by arithmetic; some other claim is made to need three."""
    real = app.verdicts_of

    def verdicts_of(prepared, *more):
        found = real(prepared, *more)
        if sum(n.machines for n in prepared.arena.inventory.nodes) < enough:
            found = tuple(v._replace(outcome="FAILS") if v.claim == "no-starvation" else v for v in found)
        return found

    monkeypatch.setattr(app, "verdicts_of", verdicts_of)
    cluster.nodes(8, 8, 8, 8)
    cluster.replace("promises.yaml", "required: [guarantee-honoured]\n", "")
    done = run(*CERTIFY, *AT)
    assert done.code == 0, done.out
    groups = json.loads((tmp_path / "c.json").read_text())["predicate"]["inventory"]
    assert [group["nodes"] for group in groups] == [stated]


def test_nodes_of_services_in_no_queue_matter(cluster, run):
    """No flavor leads to the pool where they run."""
    cluster.write("service.yaml", SERVICE)
    other = cluster.nodes(4, name="other.yaml").read_text()
    cluster.write("other.yaml", other.replace("gpu: h100", "pool: serve").replace("node-1", "node-9"))
    groups = run(*CERTIFY[:-2], "--format", "json").json["inventory"]
    assert [(g["labels"], g["nodes"]) for g in groups] == [({"gpu": "h100"}, 2), ({"pool": "serve"}, 1)]


SERVICE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: team-a}
spec:
  replicas: 2
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      nodeSelector: {pool: serve}
      containers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
