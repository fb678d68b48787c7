import pytest

from policycheck.model import capacity
from policycheck.model.placement import Taint
from policycheck.systems.core import elastic

GPU = "nvidia.com/gpu"


def read(value):
    troubles = []
    return elastic.read(value, troubles), troubles


def eksctl(**group):
    return {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "managedNodeGroups": [{"name": "g", **group}],
    }


def test_eksctl_is_a_minimum_and_a_maximum():
    (group,), troubles = read(
        eksctl(
            instanceType="p5.48xlarge",
            minSize=1,
            desiredCapacity=2,
            maxSize=10,
            labels={"pool": "h100"},
            taints=[{"key": GPU, "value": "true", "effect": "NoSchedule"}],
        )
    )
    assert troubles == []
    assert (group.machines, group.most, group.source) == (1, 10, "elastic")
    assert group.labels["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    total = capacity.total([group], GPU)
    assert (total.low, total.high) == (8, 80)
    assert "assumed: p5.48xlarge = 8 x H100 80GB" in total.why
    assert "g is elastic (1 to 10 machines)" in total.why


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, (2, 2)),
        ({"desiredCapacity": 3}, (3, 3)),
        ({"minSize": 0, "maxSize": 4}, (0, 4)),
        ({"maxSize": 1}, (1, 1)),
        ({"minSize": 0, "desiredCapacity": 2}, (0, 2)),
    ],
)
def test_sizes_that_are_left_out(sizes, expected):
    (group,), _ = read(eksctl(instanceType="g5.xlarge", **sizes))
    assert (group.machines, group.most) == expected


def test_a_group_of_several_types_is_bounded_by_them():
    (group,), _ = read(eksctl(instanceTypes=["g5.xlarge", "g5.12xlarge"], minSize=1, maxSize=1))
    assert group.accelerators is not None
    assert (group.accelerators.physical.low, group.accelerators.physical.high) == (1, 4)
    assert group.allocatable is None


def test_a_plain_type_has_no_gpus_and_an_unknown_one_may_have_some():
    (plain,), _ = read(eksctl(instanceType="c5.2xlarge", minSize=1))
    (unknown,), _ = read(eksctl(instanceType="q9.huge", minSize=1))
    assert capacity.total([plain], GPU).high == 0
    assert capacity.total([unknown], GPU).high is None


def test_older_taints_of_eksctl_are_a_map():
    (group,), _ = read(eksctl(instanceType="g5.xlarge", taints={"team": "ml:NoExecute"}))
    assert group.taints == (Taint("team", "ml", "NoExecute"),)


def karpenter(requirements, **spec):
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"requirements": requirements}},
            **spec,
        },
    }


def within(key, *values):
    return {"key": key, "operator": "In", "values": list(values)}


def test_karpenter_is_bounded_by_its_limits():
    (pool,), _ = read(
        karpenter([within("node.kubernetes.io/instance-type", "p5.48xlarge")], limits={GPU: "64"})
    )
    assert (pool.machines, pool.most) == (0, 8)
    assert capacity.total([pool], GPU).high == 64
    assert pool.labels["karpenter.sh/nodepool"] == "gpu"
    (free,), _ = read(karpenter([within("node.kubernetes.io/instance-type", "p5.48xlarge")]))
    assert capacity.total([free], GPU).high is None


def test_karpenter_by_gpu_requirements():
    (pool,), _ = read(
        karpenter(
            [
                within("karpenter.k8s.aws/instance-gpu-name", "h100"),
                within("karpenter.k8s.aws/instance-gpu-count", "8"),
            ],
            limits={GPU: 16},
        )
    )
    assert pool.accelerators is not None
    assert (pool.accelerators.model, pool.most) == ("H100", 2)


def test_cluster_api_by_the_autoscalers_annotations():
    prefix, size = (
        "capacity.cluster-autoscaler.kubernetes.io/",
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-",
    )
    (pool,), troubles = read(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta1",
            "kind": "MachineDeployment",
            "metadata": {
                "name": "md",
                "annotations": {
                    prefix + "gpu-count": "4",
                    prefix + "cpu": "96",
                    prefix + "labels": "pool=a,zone=b",
                    prefix + "taints": "x=y:NoSchedule",
                    size + "min-size": "1",
                    size + "max-size": "3",
                },
            },
            "spec": {"replicas": 2},
        }
    )
    assert troubles == []
    assert (pool.machines, pool.most, pool.labels) == (1, 3, {"pool": "a", "zone": "b"})
    assert pool.allocatable == {"cpu": 96000, GPU: 4}
    assert pool.taints == (Taint("x", "y", "NoSchedule"),)


def test_gke_counts_over_all_zones():
    pool = {
        "name": "a3",
        "config": {
            "machineType": "a3-highgpu-8g",
            "accelerators": [{"acceleratorType": "nvidia-h100-80gb", "acceleratorCount": "8"}],
            "taints": [{"key": GPU, "value": "present", "effect": "NO_SCHEDULE"}],
            "labels": {"team": "ml"},
        },
        "locations": ["a", "b"],
        "initialNodeCount": 1,
        "autoscaling": {"enabled": True, "minNodeCount": 1, "maxNodeCount": 4},
    }
    assert elastic.is_gke([pool])
    assert not elastic.is_gke([])
    assert not elastic.is_gke({"config": {}})
    troubles = []
    (made,) = elastic.read_gke([pool], troubles)
    assert troubles == []
    assert (made.machines, made.most) == (2, 8)
    assert made.labels["cloud.google.com/gke-accelerator"] == "nvidia-h100-80gb"
    assert made.taints == (Taint(GPU, "present", "NoSchedule"),)
    assert capacity.total([made], GPU).high == 64
    queued = {**pool, "queuedProvisioning": {"enabled": True}}
    assert elastic.read_gke([queued], [])[0].machines == 0
    fixed = {**pool, "autoscaling": {}}
    assert (elastic.read_gke([fixed], [])[0].machines, elastic.read_gke([fixed], [])[0].most) == (2, 2)


def test_a_gke_pool_of_partitions_is_not_whole_gpus():
    pool = {
        "name": "mig",
        "config": {
            "machineType": "a2-highgpu-1g",
            "accelerators": [
                {
                    "acceleratorType": "nvidia-tesla-a100",
                    "acceleratorCount": "1",
                    "gpuPartitionSize": "1g.5gb",
                }
            ],
        },
    }
    (made,) = elastic.read_gke([pool], [])
    assert made.accelerators is not None
    assert (made.accelerators.schedulable.low, made.accelerators.schedulable.high) == (0, 1)
    assert made.allocatable is None


def test_another_object_is_no_elastic_source():
    assert read({"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass"}) == ((), [])
