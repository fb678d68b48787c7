"""No input makes a reader of inventories raise, hang, or claim more than it was told."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.model import capacity
from policycheck.systems.core import compact, elastic, inventory, nodes, pools, slices

KEYS = st.sampled_from(
    [
        "metadata", "name", "labels", "spec", "status", "taints", "key", "value", "effect", "allocatable",
        "capacity", "conditions", "type", "unschedulable", "pools", "nodes", "gpus", "min", "max", "mig",
        "replicas", "groups", "accelerators", "physical", "schedulable", "low", "high", "compactInventory",
        "devices", "pool", "driver", "attributes", "basic", "taint", "managedNodeGroups", "template",
        "requirements", "limits", "annotations", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "oddities",
        "nvidia.com/gpu.product", "nvidia.com/gpu.count", "nvidia.com/gpu.replicas", "nvidia.com/mig.strategy",
    ]
)  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["8", "1e3", "", "Ready", "True", "NoSchedule", "mixed", "single", "gpu", "1g.5gb", "NVIDIA-A30"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)
HEADS = st.sampled_from(
    [
        ("v1", "Node"),
        ("resource.k8s.io/v1", "ResourceSlice"),
        ("eksctl.io/v1alpha5", "ClusterConfig"),
        ("karpenter.sh/v1", "NodePool"),
        ("cluster.x-k8s.io/v1beta1", "MachineDeployment"),
    ]
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(HEADS, OBJECTS)
def test_objects_of_any_shape(head, value):
    value = {**value, "apiVersion": head[0], "kind": head[1]}
    made = [nodes.node(value, [])]
    made += elastic.read(value, [])
    made += slices.apply((), [slices.read(value, [])])[0]
    for resource in ("nvidia.com/gpu", "cpu", "nvidia.com/mig-1g.5gb"):
        found = capacity.total(made, resource)
        assert found.low >= 0
        assert found.high is None or found.high >= found.low


@settings(max_examples=300, derandomize=True, deadline=None)
@given(VALUES, VALUES)
def test_hand_written_files_of_any_shape(first, second):
    pools.read({"pools": first, "dated": second}, [])
    compact.read({"compactInventory": 1, "groups": first, "oddities": second}, [])
    compact.read({"compactInventory": first, "groups": [second]}, [])


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.one_of(VALUES, st.lists(OBJECTS, max_size=3)))
def test_any_json_file_is_read_or_accounted_for(value):
    found, (report,) = inventory.load(["x.json"], lambda _: json.dumps(value).encode())
    assert found.known == bool(found.nodes)
    assert report.state == "checked" or report.why
    text = compact.write(found, "2026-11-29")
    again, _ = inventory.load(["c.yaml"], lambda _: text.encode())
    assert len(again.nodes) == len(found.nodes)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_accounted_for(data):
    for name in ("x.yaml", "x.csv", "x"):
        _, (report,) = inventory.load([name], lambda _: data)
        assert report.state == "checked" or report.why


def test_numbers_beyond_any_machine_do_not_hang():
    huge = {"nvidia.com/gpu": "2", "nvidia.com/mig-1g.5gb": "900000000000"}
    made = nodes.node({"metadata": {"name": "n"}, "status": {"allocatable": huge}}, [])
    assert made.accelerators is not None
    assert made.accelerators.physical.high == 2 + 900000000000
    troubles = []
    assert pools.read({"pools": [{"name": "p", "nodes": 10**9}]}, troubles) == ()
    assert "100000" in troubles[0].message
    groups = [{"nodes": 100000, "hosts": True}] * 9
    assert len(compact.read({"compactInventory": 1, "groups": groups}, troubles)) == 200000
    assert "split it" in troubles[-1].message
