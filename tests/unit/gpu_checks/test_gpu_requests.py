"""Amounts of accelerators, and where pods that no queue decides about may go."""

from __future__ import annotations

import pytest
from gpu_help import messages as lint

from policycheck.systems.gpu.labels import is_published


def pod(limits, *, spec="", name="p", kind="Pod", namespace="team"):
    listed = ", ".join(f'{resource}: "{amount}"' for resource, amount in limits.items())
    return (
        f"---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n{spec}"
        f"  containers: [{{name: main, image: a, resources: {{limits: {{{listed}}}}}}}]\n"
    )


def node(name, offers="nvidia.com/gpu: 8", *, labels="", taints="[]"):
    return (
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}{labels}}}}}\n"
        f"spec: {{taints: {taints}}}\nstatus: {{allocatable: {{{offers}}}}}\n"
    )


H100 = ", nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, pool: h100"
TAINTED = "[{key: nvidia.com/gpu, value: present, effect: NoSchedule}]"
GPU = {"nvidia.com/gpu": 1}


@pytest.mark.parametrize(
    ("amount", "is_part"),
    [("1", False), ("500m", True), ("0.5", True), ("1000m", False), ("1e0", False), ("x", False)],
)
def test_parts_of_gpus(amount, is_part):
    assert bool(lint(pod({"nvidia.com/gpu": amount}), "GP102")) is is_part
    assert lint(pod({"cpu": amount}), "GP102") == []


def test_a_part_is_told_of_once():
    text = pod({"nvidia.com/gpu": "500m"}).replace("limits:", 'requests: {nvidia.com/gpu: "500m"}, limits:')
    assert len(lint(text, "GP102")) == 1


def test_init_containers():
    early = "  initContainers: [{name: i, image: a, resources: {limits: {nvidia.com/gpu: 4}}%s}]\n"
    assert lint(pod(GPU, spec=early % ""), "GP104") == [
        (
            "init container i of Pod team/p asks for 4 nvidia.com/gpu, the containers after it for 1: the pod holds 4 "
            "for its whole life"
        )
    ]
    assert lint(pod({"nvidia.com/gpu": 4}, spec=early % ""), "GP104") == []
    assert lint(pod(GPU, spec=early % ", restartPolicy: Always"), "GP104") == []


def test_two_vendors():
    assert len(lint(pod({"nvidia.com/gpu": 1, "amd.com/gpu": 1}), "GP103")) == 1
    assert lint(pod({"nvidia.com/gpu": 1, "vpc.amazonaws.com/efa": 1}), "GP103") == []


@pytest.mark.parametrize(
    ("asked", "offers", "hint"),
    [
        ("nvidia.com/gpus", "nvidia.com/gpu: 8", "; did you mean nvidia.com/gpu?"),
        ("nvidia.com/gpu", "nvidia.com/gpu.shared: 32", "; GPUs are shared and go by nvidia.com/gpu.shared"),
        ("nvidia.com/gpu", "nvidia.com/mig-1g.10gb: 56", "; every card is sliced"),
        ("amd.com/gpu", "nvidia.com/gpu: 8", ""),
    ],
)
def test_what_nobody_offers(asked, offers, hint):
    found = lint(pod({asked: 1}) + node("n1", offers), "GP105")
    assert len(found) == 1
    assert found[0].endswith(f"){hint}")


def test_slices_under_single_are_gpus():
    labels = ", nvidia.com/mig.strategy: single, nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    found = lint(pod({"nvidia.com/mig-1g.5gb": 1}) + node("n1", "nvidia.com/gpu: 56", labels=labels), "GP105")
    assert [m.endswith("; under MIG strategy single slices go by nvidia.com/gpu") for m in found] == [True]


def test_what_may_come_is_not_missed():
    assert lint(pod({"nvidia.com/gpus": 1}) + node("n1", "cpu: 8"), "GP105") == []
    assert lint(pod({"rdma/hca": 1}) + node("n1"), "GP105") == []
    elastic = {"i.yaml": "pools: [{name: a, nodes: 0..4, gpus: 8}]"}
    assert lint(pod({"nvidia.com/gpus": 1}), "GP105", inventory=elastic) == []


def test_labels_that_nothing_publishes():
    wanted = pod(GPU, spec="  nodeSelector: {nvidia.com/gpu.prodcut: a}\n")
    assert [m.rpartition("; ")[2] for m in lint(wanted, "GP111")] == ["did you mean nvidia.com/gpu.product?"]
    assert lint(wanted + node("n1", labels=H100), "GP111") == []
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    term = (
        f"  affinity: {{nodeAffinity: {{{required}: {{nodeSelectorTerms: [{{matchExpressions: "
        "[{key: nvidia.com/gpu.name, operator: %s}]}]}}}\n"
    )
    assert len(lint(pod(GPU, spec=term % "Exists"), "GP111")) == 1
    assert lint(pod(GPU, spec=term % "DoesNotExist"), "GP111") == []


@pytest.mark.parametrize(
    "key",
    [
        "nvidia.com/gpu.product", "nvidia.com/mig-1g.10gb.count", "nvidia.com/gpu.deploy.driver", "nvidia.com/gpu",
        "pool", "example.com/gpu.model", "nvidia.com/gpu.clique", "nvidia.com/team",
    ],
)  # fmt: skip
def test_labels_that_are_published_or_anybodys(key):
    assert is_published(key)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("  nodeSelector: {pool: h100}\n  tolerations: [{operator: Exists}]\n", ""),
        ("  nodeSelector: {pool: h10}\n", "none has pool=h10; did you mean h100?"),
        ("  nodeSelector: {nvidia.com/gpu.product: H100-80GB-HBM3}\n", "did you mean NVIDIA-H100-80GB-HBM3?"),
        (
            "  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3-SHARED}\n",
            "did you mean NVIDIA-H100-80GB-HBM3?",
        ),
        ("  nodeSelector: {pol: h100}\n", "none carries the label pol; did you mean pool?"),
        ("", "node n1 with the taint nvidia.com/gpu=present:NoSchedule"),
        (
            "  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoExecute}]\n",
            "; a toleration has its key and the effect NoExecute",
        ),
        (
            "  tolerations: [{key: nvidia.com/gpu, value: 'true', effect: NoSchedule}]\n",
            '; a toleration has its key and the value "true"',
        ),
        (
            "  tolerations: [{key: nvidia.com/gpus, operator: Exists}]\n",
            "; a toleration is for nvidia.com/gpus",
        ),
    ],
)
def test_pods_that_no_node_takes(spec, says):
    found = lint(
        pod(GPU, spec=spec) + node("n1", labels=H100, taints=TAINTED) + node("c1", "cpu: 8", taints=TAINTED),
        "GP112",
    )
    assert len(found) == bool(says)
    assert all(message.endswith(says) for message in found)


def test_what_opens_by_itself_is_left_alone():
    gke = node("n1", labels=", cloud.google.com/gke-nodepool: a", taints=TAINTED)
    assert lint(pod(GPU) + gke, "GP112") == []
    sick = node("n1", taints="[{key: node.kubernetes.io/not-ready, effect: NoSchedule}]")
    assert lint(pod(GPU) + sick, "GP112") == []
    assert lint(pod({"cpu": 1}) + node("n1", taints=TAINTED), "GP112") == []
    pools = {"i.yaml": "pools: [{name: a, nodes: 2, gpus: 8}]"}
    assert lint(pod(GPU, spec="  nodeSelector: {a: b}\n"), "GP112", inventory=pools) == []


def daemon(image, spec=""):
    return (
        "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, namespace: gpu}\nspec:\n  template:\n    spec:\n"
        f"{spec}      containers: [{{name: c, image: {image}}}]\n"
    )


def test_daemons_and_taints():
    team = node("n1", labels=H100, taints="[{key: team, value: ml, effect: NoSchedule}]")
    own = "      tolerations: [{key: nvidia.com/gpu, operator: Exists}]\n"
    assert lint(daemon("nvcr.io/nvidia/k8s-device-plugin:v1", own) + team, "GP121") == [
        "DaemonSet gpu/d does not tolerate team=ml:NoSchedule of node n1: it does not run there"
    ]
    assert (
        lint(daemon("nvcr.io/nvidia/k8s-device-plugin:v1", own) + node("n1", taints=TAINTED), "GP121") == []
    )
    assert lint(daemon("log-shipper:1") + team, "GP121") == []
    elsewhere = "      nodeSelector: {pool: other}\n"
    assert lint(daemon("nvidia-dcgm-exporter:1", elsewhere) + team, "GP121") == []


def test_open_pools_need_somewhere_else_to_go():
    web, cpu = pod({"cpu": 1}), node("c1", "cpu: 8")
    assert len(lint(web + node("n1", labels=H100) + node("n2", labels=H100) + cpu, "GP122")) == 1
    assert lint(web + node("n1", labels=H100), "GP122") == []
    assert lint(web + node("n1", labels=H100, taints=TAINTED) + cpu, "GP122") == []
    assert (
        lint(pod({"cpu": 1}, spec="  nodeSelector: {a: b}\n") + node("n1", labels=H100) + cpu, "GP122") == []
    )


def test_pods_that_are_written_in_other_terms_do_no_harm():
    spark = (
        "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: s, namespace: team}\n"
        "spec: {driver: {cores: 1}, executor: {instances: 2, gpu: {name: nvidia.com/gpu, quantity: 1}}}\n"
    )
    assert lint(spark, "GP102") == []
