import pytest

from policycheck.systems.gpu import instances, labels, resources


def test_the_product_sheds_what_the_publisher_appends():
    told = labels.told({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"})
    assert (told.model, told.profile, told.is_shared) == ("NVIDIA-A100-SXM4-40GB", "1g.5gb", True)
    told = labels.told({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-INVALID"})
    assert (told.model, told.profile, told.is_invalid) == ("NVIDIA-A100-SXM4-40GB", "", True)


def test_a_measured_label_wins_over_an_ordered_one():
    told = labels.told(
        {
            "nvidia.com/gpu.product": "NVIDIA-L4",
            "nvidia.com/gpu.count": "2",
            "karpenter.k8s.aws/instance-gpu-name": "t4",
            "karpenter.k8s.aws/instance-gpu-count": "1",
        }
    )
    assert (told.model, told.model_source, told.count_, told.count_source) == ("NVIDIA-L4", "", 2, "")


def test_karpenter_names_model_memory_and_number_as_ordered():
    told = labels.told(
        {
            "karpenter.k8s.aws/instance-gpu-name": "a100",
            "karpenter.k8s.aws/instance-gpu-count": "8",
            "karpenter.k8s.aws/instance-gpu-memory": "40960",
        }
    )
    assert told.model == "A100 40GB"
    assert told.model_source == "karpenter.k8s.aws/instance-gpu-name"
    assert (told.count_, told.count_source) == (8, "karpenter.k8s.aws/instance-gpu-count")
    assert not told.is_measured


@pytest.mark.parametrize(
    ("cloud", "model"),
    [
        ("nvidia-tesla-t4", "T4"),
        ("nvidia-l4", "L4"),
        ("nvidia-a100-80gb", "A100 80GB"),
        ("nvidia-h100-mega-80gb", "H100-MEGA 80GB"),
        ("nvidia-b200", "B200"),
        ("G2", "G2"),
    ],
)
def test_cloud_names_become_models(cloud, model):
    assert labels.tidy(cloud) == model


def test_gke_sharing_and_partitions_are_told():
    told = labels.told(
        {
            "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
            "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
        }
    )
    assert (told.sharing, told.replicas, told.is_shared) == ("time-slicing", 4, True)
    assert labels.told({"cloud.google.com/gke-gpu-partition-size": "1g.5gb"}).profile == "1g.5gb"


@pytest.mark.parametrize("text", ["", "x", "-1", "٣", "99999999999"])
def test_a_count_that_is_no_number_is_not_a_count(text):
    assert labels.told({"nvidia.com/gpu.count": text}).count_ is None


def test_virtual_gpus_are_told_apart():
    assert labels.told({"nvidia.com/gpu.product": "GRID-A100-10C"}).sharing == "vgpu"
    assert labels.told({"nvidia.com/gpu.product": "NVIDIA-A40-48Q"}).sharing == "vgpu"
    assert labels.told({"nvidia.com/gpu.product": "NVIDIA-A40"}).sharing == ""


@pytest.mark.parametrize(
    ("resource", "whole", "accelerator", "network"),
    [
        ("nvidia.com/gpu", True, True, False),
        ("amd.com/gpu", True, True, False),
        ("huawei.com/Ascend910", True, True, False),
        ("google.com/tpu", True, True, False),
        ("nvidia.com/gpu.shared", False, True, False),
        ("nvidia.com/mig-1g.5gb", False, True, False),
        ("alibabacloud.com/gpu-milli", False, True, False),
        ("vpc.amazonaws.com/efa", False, False, True),
        ("rdma/hca_shared_devices_a", False, False, True),
        ("cpu", False, False, False),
    ],
)
def test_resources_are_what_they_are(resource, whole, accelerator, network):
    assert resources.is_whole(resource) == whole
    assert resources.is_accelerator(resource) == accelerator
    assert resources.is_network(resource) == network


def test_the_table_of_machine_types_reads_and_is_dated():
    table = instances.builtin()
    assert table.dated
    assert table.find("p5.48xlarge") == table.find("ml.p5.48xlarge")
    row = table.find("g5.xlarge")
    assert row is not None
    assert (row.gpus, row.title) == (1, "A10G 24GB")
    assert table.find("c5.2xlarge") is None
    assert not any(instances.is_plain(name) for name in table.rows)


@pytest.mark.parametrize(
    ("machine_type", "plain"),
    [
        ("c5.2xlarge", True),
        ("m6id.metal", True),
        ("ml.m5.2xlarge", True),
        ("n2-standard-8", True),
        ("Standard_D8s_v5", True),
        ("n1-standard-4", False),  # GPUs can be attached to it
        ("inf2.xlarge", False),
        ("trn1.32xlarge", False),
        ("dl1.24xlarge", False),
        ("g6.xlarge", False),
        ("Standard_NC24ads_A100_v4", False),
        ("", False),
    ],
)
def test_families_without_accelerators(machine_type, plain):
    assert instances.is_plain(machine_type) == plain


def test_a_users_rows_win_over_the_table():
    mine = instances.parse(
        "# dated: 2027-01\ntype,gpus,model,memory_gb,resource\ng5.xlarge,2,X,1,example.com/x\n"
    )
    laid = instances.overlay(instances.builtin(), mine)
    assert laid.rows["g5.xlarge"].gpus == 2
    assert laid.rows["p5.48xlarge"].gpus == 8
    assert laid.dated == "2027-01"


def test_a_broken_table_says_which_row():
    with pytest.raises(ValueError, match=r"needs type, gpus.*as integers"):
        instances.parse("type,gpus,model,memory_gb,resource\nx,many,X,1,example.com/x\n")
