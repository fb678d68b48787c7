import pytest

from policycheck.model.inventory import Range
from policycheck.model.placement import Taint
from policycheck.systems.core import pools

GPU = "nvidia.com/gpu"


def read(*entries, **more):
    troubles = []
    return pools.read({"pools": list(entries), **more}, troubles), troubles


def one(**entry):
    found, troubles = read({"name": "p", "nodes": 4, **entry})
    assert troubles == []
    return found[0]


def test_a_pool_is_so_many_alike_machines():
    made = one(
        gpus=8,
        product="NVIDIA-H100-80GB-HBM3",
        cpu=190,
        memory="2000Gi",
        labels={"pool": "a", "spot": False, "n": 7},
        taints=["nvidia.com/gpu=present:NoSchedule", {"key": "x", "effect": "NoExecute"}],
        allocatable={"rdma/ib": 8},
    )
    assert (made.machines, made.most, made.source) == (4, 4, "pool")
    assert made.allocatable == {"cpu": 190000, "memory": 2000 * 2**30, GPU: 8, "rdma/ib": 8}
    assert made.labels == {
        "pool": "a",
        "spot": "false",
        "n": "7",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    }
    assert made.taints == (Taint("nvidia.com/gpu", "present", "NoSchedule"), Taint("x", "", "NoExecute"))
    assert made.accelerators is not None
    assert (made.accelerators.physical, made.accelerators.schedulable) == (Range(8, 8), Range(8, 8))


def test_an_elastic_pool():
    found, troubles = read({"name": "a", "min": 0, "max": 10}, {"name": "b", "min": 2, "max": "unbounded"})
    assert troubles == []
    assert [(n.machines, n.most) for n in found] == [(0, 10), (2, None)]


def test_shares_and_slices_are_no_whole_gpus():
    shared = one(gpus=2, replicas=4).accelerators
    assert shared is not None
    assert (shared.physical, shared.schedulable, shared.shares) == (Range(2, 2), Range(0, 0), {GPU: 8})
    sliced = one(gpus=1, mig={"1g.10gb+me": 1}, product="NVIDIA-A100-SXM4-80GB")
    assert sliced.allocatable == {GPU: 1, "nvidia.com/mig-1g.10gb.me": 1}
    assert sliced.accelerators is not None
    assert sliced.accelerators.schedulable == Range(1, 1)


def test_another_resource_takes_no_nvidia_label():
    made = one(gpus=8, resource="amd.com/gpu", product="MI300X")
    assert made.labels == {}
    assert made.allocatable == {"amd.com/gpu": 8}


@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        ({"name": "p"}, "missing-field", "a pool needs nodes"),
        ({"nodes": 1}, "missing-field", "needs a name"),
        ({"name": "p", "nodes": -1}, "wrong-type", "whole number from 0"),
        ({"name": "p", "nodes": 1, "gpus": "8"}, "wrong-type", "gpus is '8'"),
        ({"name": "p", "nodes": 1, "gpu": 8}, "unknown-field", "did you mean gpus?"),
        ({"name": "p", "min": 5, "max": 2}, "bad-range", "below the least number 5"),
        ({"name": "p", "nodes": 1, "cpu": "many"}, "bad-quantity", "cpu"),
        ({"name": "p", "nodes": 1, "labels": {"a": 1.5}}, "wrong-type", "in quotes"),
        ({"name": "p", "nodes": 1, "taints": ["x"]}, "missing-field", "a taint needs a key"),
        ({"name": "p", "nodes": 1, "taints": ["x:No"]}, "bad-enum", "NoSchedule"),
        ({"name": "p", "nodes": 1, "gpus": 8, "allocatable": {GPU: 4}}, "contradiction", "say it once"),
        ("x", "wrong-type", "a pool is a mapping"),
    ],
)
def test_a_wrong_pool_is_left_out_and_said(entry, code, words):
    found, troubles = read(entry, {"name": "good", "nodes": 1})
    assert [n.name for n in found] == ["good"]
    assert troubles[0].code == code
    assert words in troubles[0].message


def test_two_pools_of_one_name_and_a_file_without_list():
    assert read({"name": "p", "nodes": 1}, {"name": "p", "nodes": 2})[1][0].code == "duplicate-name"
    troubles = []
    assert pools.read({"pools": "x"}, troubles) == ()
    assert "list of pools" in troubles[0].message


def test_a_product_without_gpus_is_odd():
    assert "no gpus" in one(product="NVIDIA-L4").oddities[0]
