"""What the operator, mig-parted and the device plugin are told."""

from __future__ import annotations

import textwrap

import pytest
from gpu_help import messages as lint

from policycheck.app import lint_texts
from policycheck.lint.settings import Settings

NODE = """
---
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    nvidia.com/mig.config: {layout}
    nvidia.com/gpu.product: {product}
    nvidia.com/gpu.count: "{count}"
    nvidia.com/device-plugin.config: {plugin}
status: {{allocatable: {{nvidia.com/gpu: "{count}"}}}}
"""


def node(layout, *, name="n1", product="NVIDIA-A100-SXM4-80GB", count=8, plugin="whole"):
    return NODE.format(name=name, layout=layout, product=product, count=count, plugin=plugin)


def policy(strategy="mixed", layouts="layouts", default="all-disabled", plugin="", key=""):
    return (
        "---\napiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n"
        f"  mig: {{strategy: {strategy}}}\n  migManager: {{config: {{name: {layouts}, default: {default}}}}}\n"
        f'  devicePlugin: {{config: {{name: "{plugin}", default: "{key}"}}}}\n'
    )


def carry(text, key="config.yaml", name="layouts"):
    inner = textwrap.indent(textwrap.dedent(text).strip(), "    ")
    return (
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: gpu}}\ndata:\n  {key}: |\n"
        f"    version: v1\n{inner}\n"
    )


def layouts(**named):
    lines = ["mig-configs:", "  all-disabled: [{devices: all, mig-enabled: false}]"]
    lines += [f"  {name.replace('_', '-')}: {value}" for name, value in named.items()]
    return carry("\n".join(lines))


def sliced(mix, devices="all"):
    return f"[{{devices: {devices}, mig-enabled: true, mig-devices: {{{mix}}}}}]"


@pytest.mark.parametrize(
    ("mix", "says"),
    [
        ("1g.10gb: 7", ""),
        ("1g.10gb: 8", "at most 7 x 1g.10gb fit on one card, not 8"),
        ("2g.20gb: 2, 3g.40gb: 1", ""),
        ("3g.40gb: 2, 1g.10gb: 1", "needs 9 of 8 memory slices (compute: 7 of 7)"),
        ("1g.10gb+me: 1, 1g.10gb: 6", ""),
        ("1g.10gb+me: 2", "at most 1 x 1g.10gb+me fit on one card, not 2"),
        ("1g.10gb.me: 1", "no GPU has the profile 1g.10gb.me; write 1g.10gb+me here"),
        ("3g.20gb: 1, 3g.40gb: 1", "no GPU has all of these profiles"),
        ("2g.48gb+me.all: 1", ""),
    ],
)
def test_a_layout_has_to_be_one_of_some_card(mix, says):
    found = lint(layouts(dev=sliced(mix)), "GP505")
    assert len(found) == bool(says)
    assert all(message.endswith(says) for message in found)


def test_a_layout_has_to_be_one_of_the_cards_that_get_it():
    small = layouts(dev=sliced("3g.20gb: 2"))
    assert lint(small + node("dev", product="NVIDIA-A100-SXM4-40GB"), "GP505") == []
    assert "A100 80GB has no profile 3g.20gb" in lint(small + node("dev"), "GP505")[0]
    assert lint(small + node("dev", product="NVIDIA-NEXT-1TB"), "GP505") == []
    filtered = small.replace(
        "devices: all, mig-enabled: true", 'devices: all, device-filter: "0x20B010DE", mig-enabled: true'
    )
    assert lint(filtered + node("dev"), "GP505") == []


def test_cards_that_a_layout_leaves_out():
    assert lint(layouts(half=sliced("1g.10gb: 7", "[0, 1]")) + node("half"), "GP506") == [
        "layout half names cards 0 and 1 and says nothing of 2, 3, 4, 5, 6 and 7"
    ]
    assert lint(layouts(half=sliced("1g.10gb: 7", "[0, 1]")), "GP506") == []
    assert len(lint(layouts(half=sliced("1g.10gb: 7", "[1]")), "GP506")) == 1
    assert lint(layouts(half=sliced("1g.10gb: 7", "[0, 1]")) + node("half", count=2), "GP506") == []


def test_the_half_way_layout_of_nvidia_is_only_told_when_used():
    assert lint(layouts(all_enabled=sliced("")), "GP507") == []
    assert len(lint(layouts(all_enabled=sliced("")) + node("all-enabled"), "GP507")) == 1
    assert len(lint(layouts(mine=sliced("")), "GP507")) == 1


def test_names_of_layouts():
    held = layouts(dev=sliced("1g.10gb: 7"))
    assert lint(policy() + held + node("dev"), "GP502") == []
    assert lint(policy() + held + node("devv"), "GP502") == [
        "node n1: asks for the MIG layout devv, which ConfigMap layouts does not have; did you mean 'dev'?"
    ]
    assert lint(policy(layouts="default-mig-parted-config") + held + node("devv"), "GP502") == []
    assert lint(policy(default="gone") + held, "GP503") == [
        (
            "ConfigMap layouts does not have the layout gone, which the operator gives nodes that name none; "
            "it has all-disabled and dev"
        )
    ]


def test_layouts_that_single_does_not_take():
    mixed = layouts(dev=sliced("2g.20gb: 2, 3g.40gb: 1"))
    assert lint(policy("single") + mixed, "GP508") == []
    assert len(lint(policy("single") + mixed + node("dev"), "GP508")) == 1
    assert lint(policy("mixed") + mixed + node("dev"), "GP508") == []


def test_references_need_others_of_their_kind_in_sight():
    assert lint(policy(), "GP504") == []
    assert len(lint(policy() + carry("mig-configs: {}", name="other"), "GP504")) == 1


SHARED = "sharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]"


def test_sharing_that_nobody_refers_to():
    held = carry(SHARED, key="shared", name="plugin")
    assert lint(held, "GP512") == []
    assert len(lint(policy() + held, "GP512")) == 1
    assert lint(policy(plugin="plugin", key="shared") + held, "GP512") == []
    daemon = (
        "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, namespace: gpu}\nspec:\n  template:\n"
        "    spec:\n      containers: [{name: c, image: nvcr.io/nvidia/k8s-device-plugin:v0.17}]\n"
    )
    assert len(lint(daemon + held, "GP512")) == 1
    assert lint(daemon + "      volumes: [{name: v, configMap: {name: plugin}}]\n" + held, "GP512") == []


def test_a_configuration_that_a_node_names():
    held = carry(SHARED, key="shared", name="plugin")
    told = policy(plugin="plugin", key="shared")
    assert lint(told + held + node("x", plugin="shared"), "GP511") == []
    assert lint(told + held + node("x", plugin="sharde"), "GP511") == [
        "node n1: asks for sharde, which ConfigMap plugin does not have; did you mean 'shared'?"
    ]


QUEUE = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 30}]}]
"""


def test_quotas_of_gpus_that_become_shares():
    held = carry(SHARED, key="shared", name="plugin")
    told = policy(plugin="plugin", key="shared")
    assert lint(told + held + QUEUE, "GP405") == [
        (
            "shared makes 4 units of nvidia.com/gpu out of every GPU; queues promise 30 of them, which are then no "
            "more than 7.5 cards"
        )
    ]
    assert lint(policy(plugin="plugin", key="whole") + held + QUEUE, "GP405") == []
    assert lint(told + held, "GP405") == []


def test_a_foreign_config_map_is_left_alone():
    result = lint_texts({"a.yaml": carry("a: b", name="foreign")}, Settings())
    assert [report.state for report in result.files] == ["notChecked"]
