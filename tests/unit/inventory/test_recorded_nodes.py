"""What public Node objects can tell: the table of the recorded data, restated."""

import os
from pathlib import Path

import pytest

from policycheck.adapters.cli import main
from policycheck.model import capacity
from policycheck.systems.core import compact, inventory

DATA = Path(os.environ.get("POLICYCHECK_SHARED", Path(__file__).parents[4] / "shared")) / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason="the recorded data is not beside the checkout"),
]
MODELS = {"G2": 4392, "T4": 842, "G3": 312, "P100": 265, "V100M32": 204, "V100M16": 195, "A10": 2}


def load(*paths):
    found, reports = inventory.load([str(p) for p in paths], lambda p: Path(p).read_bytes())
    assert [r for r in reports if r.state != "checked"] == []
    return found


# node: schedulable (low, high), physical (low, high), model, words that must be said
EXPECTED = {
    "01": (
        (8, 8),
        (8, 8),
        "A100 40GB",
        ["karpenter.k8s.aws/instance-gpu-name", "gpu.product is not published", "spot"],
    ),
    "02": ((0, 8), (8, 8), "NVIDIA-H100-80GB-HBM3", ["allocatable is missing; capacity says 8"]),
    "03": ((2, 2), (2, 4), "", ["not added up", "the slices fill 2 cards"]),
    "04": ((12, 12), (1, 12), "", ["12 is a suspicious number", "no label says whether"]),
    "06": ((0, 1), (0, 1), "A10G 24GB", ["instance type g5.xlarge", "NoExecute of its own"]),
    "07": ((0, 1), (1, 1), "T4 16GB", ["karpenter.k8s.aws/instance-gpu-count", "no status"]),
    "08": ((0, None), (0, None), "T4", ["no status", "neither labels nor amounts say how many"]),
    "09": (
        (0, None),
        (0, None),
        "K80",
        ["no status", "beta.kubernetes.io/instance-type without its successor"],
    ),
    "10": ((0, 8), (8, 8), "NVIDIA-H100-80GB-HBM3", ["no status"]),
    "14": ((0, 1), (1, 1), "Tesla-V100-SXM2-16GB", ["no status"]),
    "15": (
        (0, 1),
        (1, 1),
        "A100-SXM4-40GB",
        ["no MIG suffix: MIG is not configured, or the label publisher is old"],
    ),
    "17": ((0, 1), (1, 1), "A100-SXM4-40GB", ["'NVIDIA DGX', which is not legal"]),
    "19": ((0, None), (0, None), "NVIDIA-H20", ["neither labels nor amounts say how many"]),
    "21": ((0, 1), (1, 1), "NVIDIA-H100-NVL", ["single on a MIG-capable card", "not configured"]),
    "22": ((1, 1), (1, 1), "", ["no label says which GPU model"]),
    "24": ((1, 1), (1, 1), "L4", ["cloud.google.com/gke-accelerator"]),
    "25": ((0, 4), (4, 4), "NVIDIA-GB200", ["kubernetes.io/arch=arm64:NoSchedule"]),
    "26": (
        (8, 8),
        (8, 8),
        "H100 80GB",
        ["instance type p5.48xlarge", "32 vpc.amazonaws.com/efa", "not GPUs"],
    ),
}


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_a_node_says_what_it_can_and_no_more(number, capsys):
    (path,) = (DATA / "nodes").glob(f"{number}-*.yaml")
    schedulable, physical, model, words = EXPECTED[number]
    (node,) = load(path).nodes
    found = node.accelerators
    assert found is not None
    assert (found.schedulable.low, found.schedulable.high) == schedulable
    assert (found.physical.low, found.physical.high) == physical
    assert found.model == model
    # What is not known, and what is assumed, says why.
    assert bool(found.schedulable.why) != found.schedulable.is_exact
    assert found.physical.why or found.physical.is_exact
    assert main(["inventory", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for word in words:
        assert word in text


def test_every_recorded_node_is_expected():
    assert sorted(p.name[:2] for p in (DATA / "nodes").glob("*.yaml")) == sorted(EXPECTED)


def test_the_mixed_node_keeps_its_slices():
    (path,) = (DATA / "nodes").glob("03-*.yaml")
    found = load(path).nodes[0].accelerators
    assert found is not None
    assert found.slices == {"nvidia.com/mig-1g.10gb": 6, "nvidia.com/mig-2g.20gb": 4}


def test_all_nodes_together_and_their_compact_form():
    found = load(*sorted((DATA / "nodes").glob("*.yaml")))
    assert len(found.nodes) == len(EXPECTED)
    total = capacity.total(found.nodes, "nvidia.com/gpu")
    assert (total.low, total.high) == (8 + 2 + 12 + 1 + 1 + 8, None)
    text = compact.write(found, "2026-11-29")
    assert "gpu-node-" not in text
    again, _ = inventory.load(["c.yaml"], lambda _: text.encode())
    assert capacity.total(again.nodes, "nvidia.com/gpu")[:2] == total[:2]
    assert capacity.physical(again.nodes)[:2] == capacity.physical(found.nodes)[:2]


@pytest.mark.parametrize("name", ["openb-nodes.csv", "openb-nodes.k8s.yaml"])
def test_both_forms_of_openb(name):
    found = load(DATA / "inventory" / name)
    assert capacity.machines(found.nodes)[:2] == (1213, 1213)
    assert {g.model: g.physical.low for g in capacity.by_model(found.nodes)} == MODELS
    assert capacity.physical(found.nodes)[:2] == capacity.schedulable(found.nodes)[:2] == (6212, 6212)
    text = compact.write(found, "2026-11-29")
    assert len(text) < 10_000
    again, _ = inventory.load(["c.yaml"], lambda _: text.encode())
    assert {g.model: g.physical.low for g in capacity.by_model(again.nodes)} == MODELS
    assert capacity.machines(again.nodes)[:2] == (1213, 1213)


@pytest.mark.parametrize("folder", ["eksctl", "slinky", "terraform", "topograph"])
def test_the_other_formats_are_read_or_named(folder):
    for path in sorted((DATA / "inventory" / "formats" / folder).iterdir()):
        found, (report,) = inventory.load([str(path)], lambda p: Path(p).read_bytes())
        if folder == "eksctl":
            assert report.state == "checked"
            assert all(n.source == "elastic" for n in found.nodes)
            assert capacity.total(found.nodes, "nvidia.com/gpu").high in (10, 80)
        else:
            assert report.failed
            assert report.why.startswith("not read yet: ")
