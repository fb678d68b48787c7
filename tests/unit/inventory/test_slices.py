import json
from pathlib import Path

import pytest

from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.systems.core import slices

FIXTURE = Path(__file__).parents[3] / "fixtures" / "inventories" / "slices.json"


@pytest.fixture
def published():
    troubles = []
    found = [slices.read(item, troubles) for item in json.loads(FIXTURE.read_text())["items"]]
    assert troubles == []
    return found


def test_only_the_newest_generation_of_a_pool_counts(published):
    first = next(p for p in slices.pools(published) if p.name == "dra-1" and p.driver == "gpu.nvidia.com")
    assert len(first.devices) == 4
    assert first.missing == 0


def test_whole_gpus_and_their_partitions_are_not_added_up(published):
    nodes, odd = slices.apply((), published)
    assert odd == ()
    found = {n.name: n for n in nodes}["dra-1"].accelerators
    assert found is not None
    assert (found.physical, found.schedulable, found.slices) == (Range(2, 2), Range(2, 2), {"1g.5gb": 2})
    assert (found.model, found.resource) == ("NVIDIA A100-SXM4-40GB", "gpu.nvidia.com")


def test_a_pool_that_is_not_whole_is_a_lower_bound(published):
    nodes, _ = slices.apply((), published)
    second = {n.name: n for n in nodes}["dra-2"]
    assert second.accelerators is not None
    assert (second.accelerators.physical.low, second.accelerators.physical.high) == (1, None)
    assert any("not whole" in o for o in second.oddities)


def test_partitions_without_their_card_stand_for_it():
    devices = [
        slices.Device("a", "mig", profile="1g.5gb", parent="GPU-0"),
        slices.Device("b", "mig", profile="1g.5gb", parent="GPU-0"),
        slices.Device("c", "mig", profile="2g.10gb", parent="GPU-1"),
    ]
    counted = slices.count(devices)
    assert (counted.cards, counted.whole, counted.partitions) == (2, 0, {"1g.5gb": 2, "2g.10gb": 1})


def test_a_tainted_device_is_not_handed_out():
    counted = slices.count([slices.Device("a", "gpu"), slices.Device("b", "gpu", is_tainted=True)])
    assert (counted.cards, counted.whole) == (2, 1)


def test_the_device_plugins_units_of_the_node_are_the_same_cards(published):
    exact = Range(2, 2)
    plugin = Node(
        "dra-1",
        {},
        allocatable={"nvidia.com/gpu": 2},
        accelerators=Accelerators("", exact, exact, resource="nvidia.com/gpu"),
    )
    nodes, _ = slices.apply((plugin,), published)
    first = next(n for n in nodes if n.name == "dra-1")
    assert first.accelerators is not None
    assert (first.accelerators.physical, first.accelerators.resource) == (exact, "nvidia.com/gpu")
    assert first.accelerators.model == "NVIDIA A100-SXM4-40GB"
    assert any("the same cards twice, counted once" in o for o in first.oddities)


def test_devices_that_no_node_owns_are_said_and_not_counted():
    loose = slices.DeviceSlice("s", "gpu.nvidia.com", "fabric", 1, 1, "", (slices.Device("a", "gpu"),))
    nodes, odd = slices.apply((), [loose])
    assert nodes == ()
    assert "its 1 devices are not counted" in odd[0]


def test_slices_on_a_cordoned_node_offer_nothing(published):
    nodes, _ = slices.apply((Node("dra-1", {}, unschedulable=True),), published)
    first = next(n for n in nodes if n.name == "dra-1")
    assert first.accelerators is not None
    assert (first.accelerators.physical, first.accelerators.schedulable) == (Range(2, 2), Range(0, 0))


def test_a_slice_without_driver_or_pool_is_a_trouble_and_wrong_shapes_do_not_raise():
    troubles = []
    slices.read({"spec": {"devices": ["x", {"attributes": 3, "taints": 1}], "pool": []}}, troubles)
    assert [t.path for t in troubles] == [("spec", "driver"), ("spec", "pool", "name")]
