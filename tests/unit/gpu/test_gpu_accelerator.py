import pytest

from policycheck.model.inventory import Range
from policycheck.systems.gpu import accelerator

GPU = "nvidia.com/gpu"


def read(labels=None, allocatable=None, capacity=None):
    found, odd = accelerator.read(labels or {}, allocatable, capacity)
    assert found is not None
    return found, " | ".join(odd)


def gfd(product="NVIDIA-H100-80GB-HBM3", count="8", **more):
    return {
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.count": count,
        **{f"nvidia.com/{key.replace('_', '.')}": value for key, value in more.items()},
    }


def test_a_node_that_nothing_hints_at_has_no_accelerators():
    assert accelerator.read({"kubernetes.io/os": "linux"}, {"cpu": 1000}, None) == (None, ())
    assert accelerator.read({}, {"cpu": 1000, GPU: 0}, {"cpu": 1000, GPU: 0}) == (None, ())
    assert accelerator.read({}, None, None) == (None, ())


def test_labels_and_amounts_that_agree_are_exact_and_not_odd():
    found, odd = read(gfd(), {GPU: 8}, {GPU: 8})
    assert (found.physical, found.schedulable) == (Range(8, 8), Range(8, 8))
    assert (found.model, found.sharing, found.resource, odd) == ("NVIDIA-H100-80GB-HBM3", "", GPU, "")


def test_a_label_does_not_make_a_gpu_schedulable():
    found, odd = read(gfd(), {GPU: 6}, {GPU: 8})
    assert (found.physical, found.schedulable) == (Range(8, 8), Range(6, 6))
    assert "labels say 8 GPUs, the node offers 6" in odd
    assert "capacity is 8 nvidia.com/gpu, allocatable 6: 2 unhealthy" in odd
    found, odd = read(gfd(), {"cpu": 1})
    assert found.schedulable == Range(0, 0)
    assert "the node offers none" in odd


def test_more_units_than_cards_are_not_whole_gpus():
    found, odd = read(gfd(count="1"), {GPU: 12})
    assert (found.physical, found.schedulable.low, found.schedulable.high) == (Range(1, 1), 0, 1)
    assert found.shares == {GPU: 12}
    assert "offers 12 nvidia.com/gpu where labels say 1 GPU" in odd


def test_time_slices_are_shares():
    labels = gfd("Tesla-T4-SHARED", "2", gpu_replicas="4")
    labels["nvidia.com/gpu.sharing-strategy"] = "time-slicing"
    found, odd = read(labels, {GPU: 8})
    assert (found.model, found.physical, found.schedulable) == ("Tesla-T4", Range(2, 2), Range(0, 0))
    assert (found.shares, found.sharing, found.replicas) == ({GPU: 8}, "time-slicing", 4)
    assert "8 units of nvidia.com/gpu are shares of 2 cards" in odd


def test_renamed_shares_are_counted_under_their_name():
    found, _ = read(gfd("Tesla-T4", "2", gpu_replicas="4"), {GPU: 0, "nvidia.com/gpu.shared": 8})
    assert (found.physical, found.schedulable) == (Range(2, 2), Range(0, 0))
    assert found.shares == {"nvidia.com/gpu.shared": 8}


def test_shares_without_labels_leave_the_cards_unknown():
    found, _ = read({}, {"nvidia.com/gpu.shared": 8})
    assert (found.physical.low, found.physical.high) == (1, 8)
    assert "no label says how many shares" in found.physical.why


def test_shares_that_contradict_the_labels_are_odd():
    _, odd = read(gfd("Tesla-T4-SHARED", "2", gpu_replicas="4"), {GPU: 6})
    assert "labels say 2 GPUs x 4 shares = 8, the node offers 6" in odd


def test_mig_single_offers_slices_under_the_plain_name():
    found, odd = read(gfd("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "7"), {GPU: 7})
    assert (found.schedulable, found.slices, found.profile) == (Range(0, 0), {GPU: 7}, "1g.5gb")
    assert (found.physical.low, found.physical.high) == (1, 1)
    assert found.physical.why.startswith("assumed: the slices fill 1 card")
    assert "not a whole GPU" in odd


def test_mig_single_that_does_not_fill_cards_bounds_them():
    found, _ = read(gfd("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "3"), {GPU: 3})
    assert (found.physical.low, found.physical.high) == (2, 3)


def test_mig_invalid_offers_nothing():
    found, odd = read(gfd("NVIDIA-A100-SXM4-40GB-MIG-INVALID", "0"), {GPU: 0})
    assert (found.schedulable, found.physical.high) == (Range(0, 0), None)
    assert "MIG-INVALID" in odd


def test_mig_mixed_never_adds_slices_to_whole_gpus():
    amounts = {GPU: 2, "nvidia.com/mig-1g.10gb": 6, "nvidia.com/mig-2g.20gb": 4, "nvidia.com/mig-3g.40gb": 0}
    found, odd = read({"nvidia.com/mig.strategy": "mixed"}, amounts)
    assert found.schedulable == Range(2, 2)
    assert found.slices == {"nvidia.com/mig-1g.10gb": 6, "nvidia.com/mig-2g.20gb": 4}
    assert (found.physical.low, found.physical.high) == (2, 4)
    assert "not added up" in odd
    found, _ = read(gfd("NVIDIA-A100-SXM4-80GB", "4", mig_strategy="mixed"), amounts)
    assert found.physical == Range(4, 4)


def test_a_profile_that_the_product_does_not_have_is_odd():
    _, odd = read(gfd("NVIDIA-A100-SXM4-40GB", "1", mig_strategy="mixed"), {"nvidia.com/mig-3g.40gb": 2})
    assert "MIG profile 3g.40gb does not exist on NVIDIA-A100-SXM4-40GB (it has 1g.5gb" in odd


def test_capacity_bounds_what_allocatable_does_not_say():
    found, _ = read(gfd(), None, {GPU: 8})
    assert (found.schedulable.low, found.schedulable.high) == (0, 8)
    assert "allocatable is missing; capacity says 8" in found.schedulable.why


def test_one_unit_is_one_card_and_more_may_be_shares():
    assert read({}, {GPU: 1})[0].physical == Range(1, 1)
    found, odd = read({}, {GPU: 12})
    assert (found.physical.low, found.physical.high, found.schedulable) == (1, 12, Range(12, 12))
    assert "12 is a suspicious number of GPUs" in odd
    assert "suspicious" not in read({}, {GPU: 8})[1]


def test_a_machine_type_is_an_assumption_until_the_node_agrees():
    found, odd = read({"node.kubernetes.io/instance-type": "g5.xlarge"})
    assert (found.physical.low, found.physical.high) == (0, 1)
    assert found.physical.why.startswith("assumed: instance type g5.xlarge has 1 x A10G 24GB")
    assert "assumed from instance type g5.xlarge" in odd
    found, _ = read({"node.kubernetes.io/instance-type": "p5.48xlarge"}, {GPU: 8})
    assert (found.physical, found.model) == (Range(8, 8), "H100 80GB")
    found, odd = read({"node.kubernetes.io/instance-type": "p5.48xlarge"}, {"cpu": 1})
    assert (found.physical.low, found.physical.high, found.schedulable) == (0, 8, Range(0, 0))
    assert "the node offers none" in odd


def test_a_vendor_label_is_an_assumption_until_the_node_agrees():
    labels = {"karpenter.k8s.aws/instance-gpu-count": "1", "karpenter.k8s.aws/instance-gpu-name": "t4"}
    found, _ = read(labels)
    assert (found.physical.low, found.physical.high) == (1, 1)
    assert found.physical.why == "assumed from the label karpenter.k8s.aws/instance-gpu-count"
    assert read(labels, {GPU: 1})[0].physical == Range(1, 1)


@pytest.mark.parametrize(
    "resource",
    [
        "amd.com/gpu",
        "gpu.intel.com/xe",
        "habana.ai/gaudi",
        "google.com/tpu",
        "aws.amazon.com/neuron",
        "huawei.com/Ascend910",
    ],
)
def test_other_vendors_keep_their_resource(resource):
    found, _ = read({}, {resource: 4, "aws.amazon.com/neuroncore": 8})
    assert (found.resource, found.schedulable) == (resource, Range(4, 4))


def test_thousandths_are_the_same_gpus():
    labels = {"alibabacloud.com/gpu-card-model": "G2"}
    found, odd = read(labels, {"alibabacloud.com/gpu-count": 8, "alibabacloud.com/gpu-milli": 8000})
    assert (found.model, found.physical, found.schedulable) == ("G2", Range(8, 8), Range(8, 8))
    assert "alibabacloud.com/gpu-milli is the same GPUs in thousandths" in odd


def test_network_devices_are_no_gpus():
    found, odd = read({}, {GPU: 1, "vpc.amazonaws.com/efa": 32})
    assert found.physical == Range(1, 1)
    assert "32 vpc.amazonaws.com/efa beside the GPUs are network devices" in odd
