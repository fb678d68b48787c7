"""LimitRanges, device classes, kubelets, the operator's tolerations."""

from __future__ import annotations

import pytest
from gpu_help import messages as lint


def limit_range(spec, namespace="team"):
    return (
        f"---\napiVersion: v1\nkind: LimitRange\nmetadata: {{name: l, namespace: {namespace}}}\n"
        f"spec: {{limits: [{spec}]}}\n"
    )


def job(*amounts, namespace="team", name="j"):
    listed = ", ".join(
        f"{{name: c{n}, image: a, resources: {{limits: {{nvidia.com/gpu: {amount}}}}}}}"
        for n, amount in enumerate(amounts)
    )
    return (
        f"---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{template: {{spec: {{restartPolicy: Never, containers: [{listed}]}}}}}}\n"
    )


def node(name, gpus=8, taints="[]"):
    return (
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{nvidia.com/gpu.present: 'true'}}}}\n"
        f"spec: {{taints: {taints}}}\nstatus: {{allocatable: {{nvidia.com/gpu: {gpus}}}}}\n"
    )


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("{type: Container, max: {nvidia.com/gpu: 4}}", "max"),
        ("{type: Container, max: {nvidia.com/gpu: 4}, default: {nvidia.com/gpu: 1}}", "default"),
        ("{type: Container, max: {nvidia.com/gpu: 4}, default: {nvidia.com/gpu: 0}}", ""),
        ("{type: Pod, max: {nvidia.com/gpu: 4}}", ""),
        ("{type: Container, max: {cpu: 4}}", ""),
    ],
)
def test_what_a_limit_range_gives(spec, field):
    found = lint(limit_range(spec), "GP107")
    assert [message.endswith(f"{field} is their default") for message in found] == [True] * bool(field)


def test_what_a_limit_range_refuses():
    container = limit_range("{type: Container, max: {nvidia.com/gpu: 4}}")
    whole = limit_range("{type: Pod, max: {nvidia.com/gpu: 4}}")
    assert len(lint(container + job(8), "GP106")) == 1
    assert lint(container + job(4, 4), "GP106") == []
    assert len(lint(whole + job(4, 4), "GP106")) == 1
    assert lint(container + job(8, namespace="other"), "GP106") == []


KUBELET = (
    "---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    "topologyManagerPolicy: single-numa-node\ntopologyManagerScope: %s\n"
)


def test_pods_over_a_socket():
    assert len(lint(KUBELET % "container" + job(8) + node("n1"), "GP601")) == 1
    assert lint(KUBELET % "container" + job(4, 4) + node("n1"), "GP601") == []
    assert len(lint(KUBELET % "pod" + job(4, 4) + node("n1"), "GP601")) == 1
    assert lint(KUBELET % "pod" + job(2) + node("n1", gpus=2), "GP601") == []
    several = lint(KUBELET % "pod" + job(8) + job(8, name="k") + node("n1"), "GP601")
    assert [message.endswith("(and 1 more)") for message in several] == [True]


def claim(request, version="v1", kind="ResourceClaim"):
    return (
        f"---\napiVersion: resource.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: c, namespace: team}}\n"
        f"spec: {{devices: {{requests: [{{name: r, {request}}}]}}}}\n"
    )


CLASS = "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu.nvidia.com}\nspec: {}\n"


@pytest.mark.parametrize(
    ("request_", "missing"),
    [
        ("exactly: {deviceClassName: gpu.nvidia.com}", 0),
        ("exactly: {deviceClassName: gpu.nvidia.co}", 1),
        (
            "firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}, {name: b, deviceClassName: other}]",
            1,
        ),
    ],
)
def test_device_classes(request_, missing):
    assert len(lint(CLASS + claim(request_), "GP701")) == missing
    assert lint(claim(request_), "GP701") == []


def test_inline_requests_of_old_versions_are_looked_at():
    assert len(lint(CLASS + claim("deviceClassName: other", "v1beta1"), "GP701")) == 1


def test_cards_offered_in_two_ways():
    part = (
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec:\n"
        "  driver: %s\n  nodeName: n1\n  pool: {name: n1, generation: 1, resourceSliceCount: 1}\n"
        "  devices: [{name: d}]\n"
    )
    assert len(lint(node("n1") + part % "gpu.nvidia.com", "GP702")) == 1
    assert lint(node("n1") + part % "network.example.com", "GP702") == []
    assert lint(node("n2") + part % "gpu.nvidia.com", "GP702") == []


def test_taints_that_the_operator_does_not_tolerate():
    told = "---\napiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {daemonsets: {tolerations: %s}}\n"
    team = "[{key: team, value: ml, effect: NoSchedule}]"
    usual = "[{key: nvidia.com/gpu, value: present, effect: NoSchedule}]"
    assert len(lint(told % "[]" + node("n1", taints=team) + node("n2", taints=team), "GP515")) == 1
    assert lint(told % "[]" + node("n1", taints=usual), "GP515") == []
    assert lint(told % "[{key: team, operator: Exists}]" + node("n1", taints=team), "GP515") == []
