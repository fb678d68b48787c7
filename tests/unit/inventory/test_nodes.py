from policycheck.model.facts import Trouble
from policycheck.model.inventory import Range
from policycheck.model.placement import Taint
from policycheck.systems.core import nodes


def node(status=None, spec=None, labels=None, **metadata):
    troubles: list[Trouble] = []
    made = nodes.node(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "labels": labels or {}, **metadata},
            "spec": spec or {},
            "status": status or {},
        },
        troubles,
    )
    return made, troubles


GPUS = {"cpu": "95690m", "memory": "1167634920Ki", "nvidia.com/gpu": "8"}


def test_amounts_are_base_units():
    made, troubles = node({"allocatable": GPUS, "capacity": {**GPUS, "cpu": "96"}})
    assert troubles == []
    assert made.allocatable == {"cpu": 95690, "memory": 1167634920 * 1024, "nvidia.com/gpu": 8}
    assert made.capacity is not None
    assert made.capacity["cpu"] == 96000


def test_no_status_is_unknown_and_not_zero():
    made, _ = node()
    assert (made.allocatable, made.capacity, made.ready) == (None, None, True)


def test_a_node_that_is_not_ready_offers_nothing_and_says_why():
    for status, ready in (("True", True), ("False", False), ("Unknown", False)):
        made, _ = node(
            {
                "allocatable": GPUS,
                "conditions": [{"type": "Ready", "status": status, "reason": "KubeletDown"}],
            }
        )
        assert made.ready == made.usable == ready
        assert made.accelerators is not None
        assert made.accelerators.schedulable == Range(8, 8) if ready else Range(0, 0)
        assert any("not ready" in o and "KubeletDown" in o for o in made.oddities) != ready


def test_a_cordoned_node_keeps_its_cards_and_offers_none():
    made, _ = node({"allocatable": GPUS}, {"unschedulable": True}, {"nvidia.com/gpu.count": "8"})
    assert not made.usable
    assert made.accelerators is not None
    assert (made.accelerators.physical, made.accelerators.schedulable) == (Range(8, 8), Range(0, 0))
    assert any("cordoned" in o for o in made.oddities)


def test_taints_are_read_and_odd_ones_told():
    made, troubles = node(
        {"allocatable": GPUS},
        {
            "taints": [
                {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
                {"key": "team", "effect": "NoExecute"},
                {"key": "soft", "effect": "PreferNoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
            ]
        },
    )
    assert troubles == []
    assert made.taints[0] == Taint("nvidia.com/gpu", "true", "NoSchedule")
    told = " | ".join(made.oddities)
    assert 'has the value "true" where "present" is usual' in told
    assert "team:NoExecute of its own" in told
    assert "evicts" in told
    assert "soft" not in told
    assert "not-ready" not in told


def test_taints_of_a_node_without_gpus_are_not_odd():
    made, _ = node({"allocatable": {"cpu": "4"}}, {"taints": [{"key": "cp", "effect": "NoSchedule"}]})
    assert made.oddities == ()


def test_an_illegal_label_value_is_odd():
    made, _ = node(labels={"nvidia.com/gpu.machine": "NVIDIA DGX", "ok": "", "fine": "a.b_c-d"})
    assert [o for o in made.oddities if "not legal" in o] == [made.oddities[0]]
    assert "nvidia.com/gpu.machine" in made.oddities[0]


def test_old_labels_alone_are_odd():
    made, _ = node(labels={"failure-domain.beta.kubernetes.io/zone": "a"})
    assert "topology.kubernetes.io/zone" in made.oddities[0]
    both = {"failure-domain.beta.kubernetes.io/zone": "a", "topology.kubernetes.io/zone": "a"}
    assert node(labels=both)[0].oddities == ()


def test_spot_is_told():
    assert any("spot capacity" in o for o in node(labels={"cloud.google.com/gke-spot": "true"})[0].oddities)


def test_what_can_not_be_read_is_a_trouble_with_its_path():
    made, troubles = node(
        {"allocatable": {"cpu": "4 cores", "nvidia.com/gpu": "1"}},
        {"taints": [{"key": "a", "effect": "NoSchedul"}, {"effect": "NoSchedule"}, "x"]},
        {"a": 8},
    )
    assert [(t.code, t.path) for t in troubles] == [
        ("wrong-type", ("metadata", "labels", "a")),
        ("bad-enum", ("spec", "taints", 0, "effect")),
        ("missing-field", ("spec", "taints", 1)),
        ("wrong-type", ("spec", "taints", 2)),
        ("missing-field", ("spec", "taints", 2)),
        ("bad-quantity", ("status", "allocatable", "cpu")),
    ]
    assert made.allocatable == {"nvidia.com/gpu": 1}
    assert "NoExecute" in troubles[1].message


def test_wrong_shapes_do_not_raise():
    for broken in ([], "x", 7, {"metadata": [], "spec": "s", "status": 3}):
        troubles: list[Trouble] = []
        value = broken if isinstance(broken, dict) else {"metadata": broken, "status": {"conditions": broken}}
        made = nodes.node(value, troubles)
        assert made.name == ""
        assert troubles


def test_the_hostname_label_names_a_node_without_name():
    made = nodes.node({"metadata": {"labels": {"kubernetes.io/hostname": "h"}}}, [])
    assert made.name == "h"
