"""Nodes that contradict themselves, and the place at which that is said."""

from __future__ import annotations

import pytest
from gpu_help import findings as lint

from policycheck.systems.gpu import accelerator

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8", "pool": "h100"}
A100 = {
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/mig.strategy": "mixed",
}
FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec:
  nodeLabels: {pool: h100}
"""


def node(name="n1", labels=H100, capacity=None, **offers):
    amounts = {key.replace("__", "."): value for key, value in offers.items()}
    listed = ", ".join(f'nvidia.com/{k.replace("_", "-")}: "{v}"' for k, v in amounts.items())
    held = f"\n  capacity: {{{capacity}}}" if capacity else ""
    written = "".join(f'\n    {k}: "{v}"' for k, v in labels.items())
    return (
        f"---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels:{written}\n"
        f"status:{held}\n  allocatable: {{{listed}}}\n"
    )


def test_alike_nodes_are_one_finding():
    found = lint("".join(node(f"n{i}", gpu=7) for i in range(5)), "GP201")
    assert [message for _, message in found] == [
        "5 nodes (n0, n1 and 3 more): the labels say 8 GPUs, the node offers 7 nvidia.com/gpu"
    ]


def test_an_inventory_beside_the_manifests_is_told_of_at_the_flavor():
    found = lint(FLAVOR, "GP201", inventory={"nodes.yaml": node(gpu=7)})
    assert found == [("spec.nodeLabels", "node n1: the labels say 8 GPUs, the node offers 7 nvidia.com/gpu")]
    other = {**H100, "pool": "else"}
    assert lint(FLAVOR, "GP201", inventory={"nodes.yaml": node(labels=other, gpu=7)}) == []


@pytest.mark.parametrize(
    ("labels", "offers"),
    [
        ({"gpu.replicas": "4", "gpu.sharing-strategy": "time-slicing"}, {"gpu": 32}),
        ({"gpu.replicas": "4", "gpu.sharing-strategy": "mps"}, {"gpu": 0, "gpu.shared": 32}),
        ({"gpu.replicas": "0", "gpu.sharing-strategy": "none"}, {"gpu": 8}),
        ({"mig.strategy": "mixed"}, {"gpu": 4, "mig-1g.10gb": 28}),
        ({"vgpu.present": "true"}, {"gpu": 16}),
        ({}, {"gpu": 0}),
    ],
)
def test_what_agrees_is_silent(labels, offers):
    held = {**H100, **{f"nvidia.com/{key}": value for key, value in labels.items()}}
    amounts = ", ".join(f'nvidia.com/{key}: "{value}"' for key, value in offers.items())
    text = node(labels=held).replace("allocatable: {}", f"allocatable: {{{amounts}}}")
    assert lint(text, "GP201") == []


def test_shares_and_labels_of_shares():
    held = {**H100, "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "none"}
    assert [path for path, _ in lint(node(labels=held, gpu=32), "GP201")] == [
        "metadata.labels['nvidia.com/gpu.replicas']"
    ]


def test_a_node_that_offers_none_is_another_rule():
    assert lint(node(gpu=0), "GP201") == []
    assert len(lint(node(gpu=0), "GP203")) == 1
    single = {
        **H100,
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-INVALID",
        "nvidia.com/gpu.count": "0",
    }
    assert lint(node(labels=single, gpu=0), "GP203") == []
    assert len(lint(node(labels=single, gpu=0), "GP304")) == 1
    down = node(gpu=0) + '  conditions: [{type: Ready, status: "False"}]\n'
    assert lint(down, "GP203") == []


def test_devices_handed_out_by_claims_are_not_missed():
    devices = (
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec:\n"
        "  driver: gpu.nvidia.com\n  nodeName: n1\n  pool: {name: n1, generation: 1, resourceSliceCount: 1}\n"
        "  devices: [{name: gpu-0}]\n"
    )
    assert lint(node(gpu=0) + devices, "GP203") == []


@pytest.mark.parametrize(
    ("slices", "says"),
    [
        ({"mig-3g.40gb": 16}, ""),
        ({"mig-3g.40gb": 17}, "at least 9 cards"),
        ({"mig-1g.10gb": 57}, "at least 9 cards"),
        ({"mig-2g.20gb": 16, "mig-3g.40gb": 8}, ""),
        ({"mig-2g.20gb": 24, "mig-3g.40gb": 8}, "80 of 8 x 8 memory slices"),
        ({"mig-3g.20gb": 2}, "offers nvidia.com/mig-3g.20gb, and NVIDIA-A100-SXM4-80GB has 1g.10gb"),
    ],
)
def test_slices_are_held_against_the_cards(slices, says):
    amounts = ", ".join(f'nvidia.com/{key}: "{value}"' for key, value in slices.items())
    text = node(labels=A100).replace("allocatable: {}", f"allocatable: {{{amounts}}}")
    found = lint(text, "GP301")
    assert len(found) == bool(says)
    assert all(says in message for _, message in found)


def test_shares_of_slices_are_not_slices():
    held = {**A100, "nvidia.com/mig-1g.10gb.replicas": "2", "nvidia.com/mig-1g.10gb.count": "56"}
    text = node(labels=held).replace("allocatable: {}", 'allocatable: {nvidia.com/mig-1g.10gb: "112"}')
    assert lint(text, "GP301") == []
    assert lint(text, "GP201") == []


def test_whole_gpus_beside_slices():
    def offering(whole, slices):
        text = node(labels=A100)
        amounts = f'nvidia.com/gpu: "{whole}", nvidia.com/mig-1g.10gb: "{slices}"'
        return text.replace("allocatable: {}", f"allocatable: {{{amounts}}}")

    assert len(lint(offering(8, 56), "GP302")) == 1
    assert lint(offering(4, 28), "GP302") == []
    assert lint(offering(0, 56), "GP302") == []


def test_cards_that_are_not_sliced_may_be_shared():
    held = {**A100, "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}

    def offering(amounts):
        return node(labels=held).replace("allocatable: {}", f"allocatable: {{{amounts}}}")

    assert lint(offering('nvidia.com/gpu: "16", nvidia.com/mig-1g.10gb: "28"'), "GP302") == []
    assert len(lint(offering('nvidia.com/gpu: "32", nvidia.com/mig-1g.10gb: "28"'), "GP302")) == 1
    assert lint(offering('nvidia.com/gpu: "32"'), "GP201") == []


def test_shares_under_mixed_are_no_gpus():
    held = {**A100, "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
    beside, _ = accelerator.read(held, {"nvidia.com/gpu": 16, "nvidia.com/mig-1g.10gb": 28}, None)
    assert (beside.schedulable.high, beside.shares) == (0, {"nvidia.com/gpu": 16})
    alone, _ = accelerator.read(held, {"nvidia.com/gpu": 32}, None)
    assert (alone.schedulable.high, alone.shares, alone.physical.low) == (0, {"nvidia.com/gpu": 32}, 8)


@pytest.mark.parametrize(
    ("machine", "product", "is_wrong"),
    [
        ("p5.48xlarge", "NVIDIA-H100-80GB-HBM3", False),
        ("p4d.24xlarge", "NVIDIA-A100-SXM4-80GB", True),
        ("p4de.24xlarge", "NVIDIA-A100-SXM4-80GB", False),
        ("g4dn.metal", "Tesla-T4", False),
        ("p5en.48xlarge", "NVIDIA-H200", False),
        ("a2-ultragpu-8g", "NVIDIA-L4", True),
        ("bare-metal", "NVIDIA-L4", False),
    ],
)
def test_machine_types(machine, product, is_wrong):
    held = {**H100, "nvidia.com/gpu.product": product, "node.kubernetes.io/instance-type": machine}
    assert bool(lint(node(labels=held, gpu=8), "GP204")) is is_wrong


def test_dumps_of_two_days_are_told_of_where_nobody_lints_them():
    twice = node(gpu=8) + node(gpu=4)
    assert len(lint(FLAVOR, "GP206", inventory={"nodes.yaml": twice})) == 1
    assert lint(twice, "GP206") == []
    assert lint(FLAVOR, "GP206", inventory={"nodes.yaml": node(gpu=8) + node(gpu=8)}) == []
