from pathlib import Path

import pytest

from policycheck.model import capacity
from policycheck.model.inventory import Accelerators, Inventory, Node, Range
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.model.placement import NodeTerm, Requirement, Taint, Toleration
from policycheck.model.workload import PodSet, Workload
from policycheck.systems.core import compact, inventory

GPU = "nvidia.com/gpu"
FIXTURES = Path(__file__).parents[3] / "fixtures" / "inventories"


def load(files, **more):
    texts = files if isinstance(files, dict) else {name: (FIXTURES / name).read_text() for name in files}

    def read(path):
        if path not in texts:
            raise FileNotFoundError(2, "No such file or directory")
        return texts[path].encode()

    return inventory.load([*texts, *more.pop("also", ())], read, **more)


def node(name="n", labels=None, taints=(), **more):
    exact = Range(8, 8)
    found = Accelerators("H100", exact, exact, resource=GPU)
    return Node(
        name,
        labels or {},
        taints,
        {GPU: 8, "cpu": 64000, "pods": 110},
        accelerators=found,
        source="node",
        **more,
    )


def daemon(name="d", requests=None, **pod):
    pod_set = PodSet("main", 1, requests or {"cpu": 500}, **pod)
    return Workload(ObjectKey("apps", "DaemonSet", "kube-system", name), "daemon", (pod_set,))


def pod(name="p", at="n", requests=None, owner=None, phase="Running"):
    pod_set = PodSet("main", 1, requests or {GPU: 2, "cpu": 1000})
    return Workload(ObjectKey("", "Pod", "ns", name), "pod", (pod_set,), owner=owner, node=at, phase=phase)


def held(nodes, daemons=(), pods=()):
    return {n.name: dict(n.committed) for n in inventory.commit(nodes, daemons, pods)}


def test_bound_pods_hold_until_they_finish():
    pods = [
        pod("a"),
        pod("b", phase="Succeeded"),
        pod("c", phase="Failed"),
        pod("d", at=""),
        pod("e", at="other"),
    ]
    assert held([node()], pods=pods) == {"n": {GPU: 2, "cpu": 1000, "pods": 1}}


def test_daemons_hold_on_every_node_that_admits_them():
    nodes = [
        node("plain"),
        node("tainted", taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),)),
        node("cordoned", taints=(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),)),
        node("labelled", {"pool": "a"}),
    ]
    assert {n for n, h in held(nodes, [daemon()]).items() if h} == {"plain", "cordoned", "labelled"}
    tolerant = daemon(tolerations=(Toleration(operator="Exists"),))
    assert all(h == {"cpu": 500, "pods": 1} for h in held(nodes, [tolerant]).values())
    chosen = daemon(node_selector={"pool": "a"})
    assert {n for n, h in held(nodes, [chosen]).items() if h} == {"labelled"}
    term = NodeTerm(fields=(Requirement("metadata.name", "In", ("plain",)),))
    assert {n for n, h in held(nodes, [daemon(affinity=(term,), has_affinity=True)]).items() if h} == {
        "plain"
    }
    assert not any(held(nodes, [daemon(affinity=(NodeTerm(),), has_affinity=True)]).values())
    assert not any(held(nodes, [daemon(has_affinity=True)]).values())


def test_a_daemons_own_pods_are_not_counted_again():
    owner = daemon().key
    assert held([node()], [daemon()], [pod(requests={"cpu": 500}, owner=owner)]) == {
        "n": {"cpu": 500, "pods": 1}
    }
    assert held([node()], [], [pod(requests={"cpu": 500}, owner=owner)]) == {"n": {"cpu": 500, "pods": 1}}


def test_pods_that_queues_account_for_are_not_taken_off():
    job = ObjectKey("batch", "Job", "ns", "j")
    deployment = ObjectKey("apps", "Deployment", "ns", "web")
    replica_set = ObjectKey("apps", "ReplicaSet", "ns", "web-5d4f")
    pods = [pod("a"), pod("b", owner=job), pod("c", owner=replica_set), pod("d")]
    workloads = {w.key: w for w in pods}
    claimed = frozenset({pods[0].key, job, deployment})
    made = inventory.assemble({"n": (DocumentId("f"), node())}, (), workloads, claimed)
    assert made.nodes[0].committed == {GPU: 2, "cpu": 1000, "pods": 1}
    assert capacity.total(made.nodes, GPU) == Range(6, 6)


def test_the_order_of_documents_does_not_matter():
    nodes = {name: (DocumentId(f"{name}.yaml"), node(name)) for name in "abc"}
    backwards = dict(reversed(nodes.items()))
    assert inventory.assemble(nodes) == inventory.assemble(backwards)
    assert not inventory.assemble({}).known


def test_two_descriptions_of_one_node_are_said():
    one = Inventory((node("n"),), True, {}, ("a",), "2026-02-01")
    other = Inventory((node("n", {"x": "y"}),), True, {}, ("b",), "2026-01-01")
    merged = inventory.merge([one, other])
    assert merged.nodes == inventory.merge([other, one]).nodes
    assert len(merged.nodes) == 1
    assert "n is described twice" in merged.oddities[0]
    assert merged.dated == "2026-01-01"
    assert inventory.merge([one, one]).oddities == ()


def test_every_way_in_which_a_gpu_may_not_be_a_gpu():
    found, reports = load(["mixed.yaml"])
    assert [r.state for r in reports] == ["checked"]
    nodes = found.nodes
    assert (len(nodes), capacity.physical(nodes).low, capacity.schedulable(nodes)) == (10, 50, Range(26, 26))
    assert capacity.total(nodes, GPU) == Range(8 + 8 + 14 + 2 + 8, 8 + 8 + 14 + 2 + 8)
    assert capacity.total(nodes, "amd.com/gpu") == Range(8, 8)
    assert capacity.total(nodes, "nvidia.com/mig-1g.10gb") == Range(7, 7)
    assert capacity.arithmetic(capacity.select(found, {"example.com/rack": "r1"}), GPU) == "2 nodes x 8"


def test_formats_can_be_mixed():
    found, reports = load(["mixed.yaml", "pools.yaml", "table.csv", "slices.json"])
    assert all(r.state == "checked" for r in reports)
    assert found.sources == ("mixed.yaml", "pools.yaml", "table.csv", "slices.json")
    total = capacity.physical(found.nodes)
    assert total.low == 50 + 72 + 18 + 3
    assert {n.source for n in found.nodes} == {"node", "pool", "table", "slices"}


def test_daemons_beside_nodes_are_taken_off():
    text = """
apiVersion: v1
kind: Node
metadata: {name: node-a}
status: {allocatable: {cpu: "4", nvidia.com/gpu: "1"}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, namespace: x}
spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: x}
spec: {nodeName: node-a, containers: [{name: c, resources: {limits: {nvidia.com/gpu: "1"}}}]}
"""
    found, _ = load({"all.yaml": text})
    assert capacity.free(found.nodes[0], "cpu") == Range(3000, 3000)
    assert capacity.free(found.nodes[0], GPU) == Range(1, 1)
    found, _ = load({"all.yaml": text}, is_queued=lambda _: False)
    assert capacity.free(found.nodes[0], GPU) == Range(0, 0)
    found, _ = load({"all.yaml": text}, is_queued=lambda _: True)
    assert capacity.free(found.nodes[0], GPU) == Range(1, 1)


@pytest.mark.parametrize(
    ("name", "text", "words", "failed"),
    [
        ("main.tf", "resource x {}", "not read yet: Terraform", True),
        ("slurm.conf", "NodeName=x", "not read yet: Slurm", True),
        ("topo.yaml", "switches: {}\nblocks: []\n", "not read yet: a Topograph model", True),
        ("values.yaml", "nodesets: []\nslurm: {}\n", "not read yet: chart values (Slinky)", True),
        ("x.yaml", "a: 1\nb: 2\n", "Accepted are Node objects", True),
        ("x.yaml", "just text\n", "Accepted are Node objects", True),
        ("x.yaml", "", "Accepted are Node objects", True),
        ("x.yaml", "a: [\n", "", True),
        (
            "q.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: q}\n",
            "holds no inventory (1 Service)",
            False,
        ),
        ("p.yaml", "pools:\n- {name: a, nodes: 1, gpus: x}\n", "pools[0].gpus: gpus is 'x'", True),
        ("t.csv", "a,b\n1,2\n", "no column with the number of GPUs", True),
        ("c.yaml", "compactInventory: 9\ngroups: []\n", "this version reads 1", True),
    ],
)
def test_what_is_not_read_is_said(name, text, words, failed):
    found, (report,) = load({name: text})
    assert not found.known
    assert (report.state, report.failed) == ("notChecked", failed)
    assert words in report.why


def test_a_file_that_is_not_there_is_a_failed_report():
    _, reports = load({}, also=["gone.yaml"])
    assert reports[0].failed
    assert "No such file" in reports[0].why


def test_a_pool_that_is_wrong_makes_the_file_partly_read():
    text = "pools:\n- {name: a, nodes: 1}\n- {name: b}\n- {name: c}\n"
    found, (report,) = load({"p.yaml": text})
    assert [n.name for n in found.nodes] == ["a"]
    assert (report.state, report.failed) == ("partly", True)
    assert "(and 1 more)" in report.why


def totals(found):
    resources = sorted({r for n in found.nodes for r in n.allocatable or {}} | {GPU})
    return (
        capacity.machines(found.nodes).low,
        capacity.machines(found.nodes).high,
        [capacity.total(found.nodes, r)[:2] for r in resources],
        [
            (g.model, g.physical[:2], g.schedulable[:2], g.slices, g.shares)
            for g in capacity.by_model(found.nodes)
        ],
        sorted({o for n in found.nodes for o in n.oddities}),
    )


@pytest.mark.parametrize("name", ["mixed.yaml", "pools.yaml", "table.csv", "slices.json"])
def test_the_compact_form_gives_the_same_totals(name):
    found, _ = load([name])
    text = compact.write(found, "2026-11-29")
    again, (report,) = load({"compact.yaml": text})
    assert report.state == "checked"
    assert again.dated == "2026-11-29"
    assert totals(again) == totals(found)
    assert compact.write(again, "2026-11-29") == text


def test_the_compact_form_keeps_levels_and_no_host_names():
    found, _ = load(["mixed.yaml"])
    text = compact.write(found, "2026-11-29")
    for one in found.nodes:
        assert one.name not in text
    assert "annotations" not in text
    assert "volumes.kubernetes.io" not in text
    again, _ = load({"compact.yaml": text})
    rack = [d[1:] for d in capacity.domains(again.nodes, ["example.com/rack"], GPU)[0]]
    assert rack == [d[1:] for d in capacity.domains(found.nodes, ["example.com/rack"], GPU)[0]]
    hosts = [n.labels["kubernetes.io/hostname"] for n in again.nodes]
    assert sorted(hosts) == [f"node-{i:04d}" for i in range(1, 11)]


def test_the_compact_form_groups_alike_machines_whatever_tells_them_apart():
    nodes = tuple(
        node(
            f"worker-{i:03d}.dc.example.com",
            {
                "kubernetes.io/hostname": f"worker-{i:03d}.dc.example.com",
                "example.com/rack": f"r{i % 2}",
                "example.com/asset": f"tag{i}",
                "example.com/address": f"10.0.0.{i}",
                "csi.example.com/node": f"on-worker-{i:03d}.dc.example.com",
            },
        )
        for i in range(8)
    )
    text = compact.write(Inventory(nodes, True), "2026-11-29")
    assert text.count("- nodes: 4") == 2
    assert "Left out, a value of its own on each node" in text
    for secret in ("worker", "tag1", "10.0.0"):
        assert secret not in text


def test_the_compact_form_is_the_same_whatever_the_order():
    found, _ = load(["mixed.yaml"])
    shuffled = found._replace(nodes=tuple(reversed(found.nodes)))
    assert compact.write(shuffled, "2026-11-29") == compact.write(found, "2026-11-29")


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("{nodes: x}", "a group needs nodes"),
        ("{nodes: 4, max: 2}", "max is 2"),
        ("{nodes: 4, colour: red}", "unknown key colour"),
        ("{nodes: 4, allocatable: {cpu: x}}", "cpu"),
        ("{nodes: 4, accelerators: 8}", "accelerators has to be a mapping"),
        ("{nodes: 4, accelerators: {physical: x, schedulable: 1}}", "it has to be a number, or low and high"),
        ("8", "a group is a mapping"),
    ],
)
def test_a_broken_group_is_said(group, words):
    found, (report,) = load(
        {"c.yaml": f"compactInventory: 1\ndated: 2026-11-29\ngroups: [{group}, {{nodes: 1}}]\n"}
    )
    assert len(found.nodes) == 1
    assert words in report.why
    assert report.failed
