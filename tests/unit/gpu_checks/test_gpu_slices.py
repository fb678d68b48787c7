"""Slices and shares as pods and quotas ask for them."""

from __future__ import annotations

import pytest
from gpu_help import messages as lint


def pod(limits, selector="{}", extra=""):
    listed = ", ".join(f"{resource}: {amount}" for resource, amount in limits.items())
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: team}}\nspec:\n  nodeSelector: {selector}\n"
        f"  containers: [{{name: main, image: a, resources: {{limits: {{{listed}}}}}}}]\n{extra}"
    )


def node(name, gpus=4, *, shared=0, product="NVIDIA-L4", pool="l4"):
    kind = "time-slicing" if shared else "none"
    return (
        f"---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {{pool: {pool}, nvidia.com/gpu.product: "
        f'{product}, nvidia.com/gpu.count: "{gpus}", nvidia.com/gpu.replicas: "{shared or 1}", '
        f"nvidia.com/gpu.sharing-strategy: {kind}}}\n"
        f'status: {{allocatable: {{nvidia.com/gpu: "{gpus * (shared or 1)}"}}}}\n'
    )


def flavor(labels="pool: l4"):
    return (
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n"
        f"spec: {{nodeLabels: {{{labels}}}}}\n"
    )


def queue(resource="nvidia.com/gpu", nominal=16):
    return (
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n"
        f"  namespaceSelector: {{}}\n  resourceGroups:\n  - coveredResources: [{resource}]\n    flavors:\n"
        f"    - {{name: f, resources: [{{name: {resource}, nominalQuota: {nominal}}}]}}\n"
    )


@pytest.mark.parametrize(
    ("product", "profile", "is_wrong"),
    [
        ("NVIDIA-A100-SXM4-80GB", "3g.40gb", False),
        ("NVIDIA-A100-SXM4-40GB", "3g.40gb", True),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "1g.5gb", False),
        ("NVIDIA-H100-80GB-HBM3", "1g.10gb.me", False),
        ("NVIDIA-L40S", "1g.10gb", True),
        ("NVIDIA-NEXT", "1g.10gb", False),
    ],
)
def test_profiles_of_products(product, profile, is_wrong):
    wanted = {f"nvidia.com/mig-{profile}": 1}
    direct = pod(wanted, f"{{nvidia.com/gpu.product: {product}}}")
    assert bool(lint(direct, "GP312")) is is_wrong
    by_pool = pod(wanted, "{pool: l4}") + node("n1", product=product)
    assert bool(lint(by_pool, "GP312")) is is_wrong
    assert lint(pod(wanted) + node("n1", product=product), "GP312") == []


def test_affinity_to_one_product_counts():
    term = (
        "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ["
        "{matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: [%s]}]}]}}}\n"
    )
    wanted = {"nvidia.com/mig-3g.40gb": 1}
    assert len(lint(pod(wanted, extra=term % "NVIDIA-A100-SXM4-40GB"), "GP312")) == 1
    assert lint(pod(wanted, extra=term % "NVIDIA-A100-SXM4-40GB, NVIDIA-A100-SXM4-80GB"), "GP312") == []


def test_quotas_are_held_against_their_flavor_until_there_are_nodes():
    text = flavor("nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB") + queue("nvidia.com/mig-3g.40gb")
    assert len(lint(text, "GP312")) == 1
    assert lint(text, "GP312", inventory={"n.yaml": node("n1", product="NVIDIA-A100-SXM4-40GB")}) == []
    assert lint(text.replace("nominalQuota: 16", "nominalQuota: 0"), "GP312") == []


def test_one_device_a_container():
    assert len(lint(pod({"nvidia.com/mig-1g.10gb": 1, "nvidia.com/gpu": 1}), "GP310")) == 1
    assert lint(pod({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}), "GP310") == []
    both = pod({"nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-2g.20gb": 1})
    assert lint(both, "GP311") == []
    assert len(lint(both, "GP310")) == 1


def gang(kind, replicas):
    return (
        f"apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: j, namespace: team}}\nspec:\n"
        f"  pytorchReplicaSpecs:\n    Worker:\n      replicas: {replicas}\n      template: {{spec: {{containers: "
        "[{name: c, image: a, resources: {limits: {nvidia.com/mig-1g.10gb: 1}}}]}}\n"
    )


def test_gangs_over_slices():
    assert len(lint(gang("PyTorchJob", 2), "GP313")) == 1
    assert lint(gang("PyTorchJob", 1), "GP313") == []
    sweep = pod({"nvidia.com/mig-1g.10gb": 1}).replace("v1\nkind: Pod", "batch/v1\nkind: Job")
    assert lint(sweep.replace("spec:\n", "spec:\n  parallelism: 4\n  template:\n   spec:\n  "), "GP313") == []


def test_quota_over_shares():
    nodes = {"n.yaml": node("n1", shared=4, product="NVIDIA-L4-SHARED")}
    assert lint(flavor() + queue(), "GP401", inventory=nodes) == [
        (
            "flavor f: a unit of nvidia.com/gpu on node n1 is a share of a card (4 on each); quotas of q count 16, "
            "on 4 cards"
        )
    ]
    assert lint(flavor() + queue(nominal=4), "GP401", inventory=nodes) == []
    said = flavor("pool: l4, nvidia.com/gpu.product: NVIDIA-L4-SHARED")
    assert lint(said + queue(), "GP401", inventory=nodes) == []


def test_shares_and_gpus_in_one_flavor():
    mixed = {"n.yaml": node("n1", shared=4) + node("n2")}
    assert lint(flavor() + queue(), "GP402", inventory=mixed) == [
        ("flavor f: nvidia.com/gpu is a share of a card (4 on each) on node n1, a whole card on node n2")
    ]
    assert lint(flavor() + queue(), "GP401", inventory=mixed) == []
    apart = {"n.yaml": node("n1", shared=4, pool="dev") + node("n2")}
    assert lint(flavor() + queue(), "GP402", inventory=apart) == []


def test_several_shares_in_a_container():
    shared, whole = node("n1", shared=4), node("n2", pool="whole")
    two = {"nvidia.com/gpu": 2}
    assert len(lint(pod(two, "{pool: l4}") + shared + whole, "GP403")) == 1
    assert lint(pod(two) + shared + whole, "GP403") == []
    assert lint(pod(two, "{pool: whole}") + shared + whole, "GP403") == []


def test_strict_plugins_are_said():
    told = (
        "---\napiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n"
        "spec: {devicePlugin: {config: {name: c, default: s}}}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: gpu}\ndata:\n  s: |\n    version: v1\n"
        "    sharing:\n      timeSlicing:\n        failRequestsGreaterThanOne: true\n"
        "        resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
    )
    found = lint(pod({"nvidia.com/gpu": 2}) + node("n1", shared=4) + told, "GP403")
    assert [message.endswith("refuses more than one (failRequestsGreaterThanOne)") for message in found] == [
        True
    ]


@pytest.mark.parametrize(
    ("resource", "says"),
    [
        ("nvidia.com/mig-4g.5gb", "; there are 4g.20gb, 4g.40gb, 4g.47gb, 4g.48gb and 11 more"),
        ("nvidia.com/mig-8g.80gb", "; there are 7g.80gb"),
        ("nvidia.com/mig-1c.3g.40gb", ""),
        ("nvidia.com/mig-2g.48gb.me.all", ""),
        ("nvidia.com/mig-1g.10gb+me", ""),
        ("nvidia.com/gpu", ""),
    ],
)
def test_profiles_that_no_gpu_has(resource, says):
    found = lint(pod({resource: 1}), "GP315")
    assert [message.endswith(says) for message in found] == [True] * bool(says)
    if says:  # one finding for one fault
        assert lint(pod({resource: 1}, "{nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}"), "GP312") == []
