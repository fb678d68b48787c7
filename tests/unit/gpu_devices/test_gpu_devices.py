"""What the record of a node says of its devices, and what it does not."""

import os
from collections import Counter
from pathlib import Path

import pytest

from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.simulate.device import DeviceAsk, fits, free_units, take
from policycheck.systems.core import inventory, nodes
from policycheck.systems.core.slices import Device, DeviceSlice, apply
from policycheck.systems.gpu.device import devices_of, known

DATA = Path(os.environ.get("POLICYCHECK_SHARED", Path(__file__).parents[4] / "shared")) / "data"
A100 = "NVIDIA-A100-SXM4-40GB"
GPU = "nvidia.com/gpu"


def node(allocatable, **labels):
    labels = {"nvidia.com/" + key.replace("_", "."): value for key, value in labels.items()}
    return nodes.build(name="n", labels=labels, allocatable=allocatable)


def test_whole_cards_with_model_and_nvlink_domain():
    of = node({GPU: 4}, gpu_product="NVIDIA-GB200", gpu_count="4", gpu_clique="c.1")
    devices = devices_of(of)
    assert len(devices) == 4
    assert {(c.kind.model, c.domain, c.numa) for c in devices} == {("NVIDIA-GB200", "c.1", -1)}
    assert known(of).notes == ()


def test_a_node_without_devices_has_none():
    assert known(node({"cpu": 4})) == ((), ())


def test_what_nobody_says_is_not_counted_and_is_said():
    of = nodes.build(name="n", labels={"nvidia.com/gpu.count": "8"}, allocatable=None)
    devices, notes = known(of)
    assert devices == ()
    assert notes == ("no source says what the node offers: no device is counted",)


def test_cards_are_spread_over_numa_nodes_only_when_told():
    devices, notes = known(node({GPU: 8}, gpu_product="H100", gpu_count="8"), sockets=2)
    assert [c.numa for c in devices] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert notes == ("assumed: 8 cards are spread evenly over 2 NUMA nodes",)


def test_slices_of_the_mixed_strategy_are_laid_out_alike_on_all_cards():
    of = node(
        {GPU: 0, "nvidia.com/mig-1g.5gb": 4, "nvidia.com/mig-2g.10gb": 2, "nvidia.com/mig-3g.20gb": 2},
        gpu_product=A100,
        gpu_count="2",
        mig_strategy="mixed",
    )
    devices, notes = known(of)
    assert len(devices) == 2
    assert devices[0] == devices[1]
    assert Counter(name for name, _, _ in devices[0].made) == {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
    assert notes == ("which slices are on which card is not known: laid out on 2 cards",)
    assert free_units(devices, "nvidia.com/mig-1g.5gb") == 4
    assert free_units(devices, GPU) == 0
    assert not fits(devices, DeviceAsk({"nvidia.com/mig-3g.20gb": 3}))


def test_a_full_layout_is_no_guess():
    of = node({GPU: 0, "nvidia.com/mig-1g.5gb": 14}, gpu_product=A100, gpu_count="2", mig_strategy="mixed")
    devices, notes = known(of)
    assert [len(c.made) for c in devices] == [7, 7]
    assert notes == ()


def test_slices_and_whole_cards_beside_each_other():
    of = node(
        {GPU: 2, "nvidia.com/mig-3g.20gb": 2, "nvidia.com/mig-1g.5gb": 7},
        gpu_product=A100,
        gpu_count="4",
        mig_strategy="mixed",
    )
    devices = devices_of(of)
    assert free_units(devices, GPU) == 2
    assert sorted(len(c.made) for c in devices) == [0, 0, 2, 7]


def test_the_suffix_of_a_profile_becomes_a_point_in_its_resource():
    of = node(
        {GPU: 0, "nvidia.com/mig-1g.5gb.me": 1, "nvidia.com/mig-1g.5gb": 6},
        gpu_product=A100,
        gpu_count="1",
        mig_strategy="mixed",
    )
    assert free_units(devices_of(of), "nvidia.com/mig-1g.5gb.me") == 1
    assert len(devices_of(of)) == 1


def test_the_single_strategy_hands_out_slices_under_the_name_of_gpus():
    of = node({GPU: 14}, gpu_product=A100 + "-MIG-1g.5gb", gpu_count="14", mig_strategy="single")
    devices = devices_of(of)
    assert len(devices) == 2
    assert free_units(devices, GPU) == 14
    assert all(c.kind.whole == "" for c in devices)
    after, _ = take(devices, DeviceAsk({GPU: 8}))
    assert free_units(after, GPU) == 6


def test_shares_are_slots_of_as_many_cards():
    told = {"product": "Tesla-T4-SHARED", "count": "2", "replicas": "4", "sharing-strategy": "mps"}
    labels = {f"nvidia.com/gpu.{key}": value for key, value in told.items()}
    of = nodes.build(name="n", labels=labels, allocatable={GPU: 8})
    assert [(c.kind.share, c.kind.shares, c.slots, c.kind.limit) for c in devices_of(of)] == [
        (GPU, 4, 4, 1)
    ] * 2
    renamed = node({GPU: 0, GPU + ".shared": 6}, gpu_product="Tesla-T4", gpu_count="2", gpu_replicas="3")
    assert free_units(devices_of(renamed), GPU + ".shared") == 6
    assert free_units(devices_of(renamed), GPU) == 0
    assert {c.kind.limit for c in devices_of(renamed)} == {0}


def test_shares_of_an_unknown_number_of_cards_are_said():
    devices, notes = known(node({GPU + ".shared": 6}))
    assert free_units(devices, GPU + ".shared") == 6
    assert "6 shares" in notes[0]
    assert "counted as one card" in notes[0]


def test_more_units_than_cards_are_shares_of_these():
    devices = devices_of(node({GPU: 12}, gpu_product="T4", gpu_count="4"))
    assert [c.slots for c in devices] == [3, 3, 3, 3]


def test_units_that_may_be_shares_are_said():
    _, notes = known(node({GPU: 12}))
    assert notes == (
        "12 nvidia.com/gpu are counted as whole cards: no label says whether the units are whole GPUs or shares",
    )


def test_an_unknown_geometry_counts_its_slices_and_no_more():
    of = node({"nvidia.com/mig-9g.99gb": 3, "nvidia.com/mig-8g.88gb": 2}, mig_strategy="mixed")
    devices, notes = known(of)
    assert free_units(devices, "nvidia.com/mig-9g.99gb") == 3
    assert free_units(devices, "nvidia.com/mig-8g.88gb") == 2
    assert len(devices) == 1
    assert "geometry of this product is not known" in notes[0]


def test_what_daemons_hold_is_taken_off():
    of = node({GPU: 4}, gpu_count="4")._replace(committed={GPU: 1, "cpu": 2})
    devices, notes = known(of)
    assert free_units(devices, GPU) == 3
    assert len(devices) == 4
    assert "1 nvidia.com/gpu held by daemons" in notes[0]
    all_gone = devices_of(node({GPU: 4}, gpu_count="4")._replace(committed={GPU: 9}))
    assert free_units(all_gone, GPU) == 0


def test_an_absurd_number_of_cards_is_cut_and_said():
    devices, notes = known(node({GPU: 10**9}, gpu_count="1000000000"[:9]))
    assert len(devices) <= 4096
    assert notes


def test_an_absurd_number_of_slices_is_cut():
    of = node({GPU: 0, "nvidia.com/mig-1g.5gb": 10**6}, gpu_product=A100, mig_strategy="mixed")
    assert len(devices_of(of)) <= 4096


def published(*devices, node="n"):
    one = DeviceSlice("s", "gpu.nvidia.com", "p", 1, 1, node, devices)
    (made,), _ = apply([], [one])
    return made


def test_a_card_and_its_partitions_are_one_card():
    counters = frozenset({"gpu-0"})
    of = published(
        Device("gpu-0", "gpu", A100, uuid="u0", counters=counters),
        *(Device(f"m{i}", "mig", A100, "1g.5gb", "u0", counters=counters) for i in range(7)),
        *(Device(f"t{i}", "mig", A100, "3g.20gb", "u0", counters=counters) for i in range(2)),
    )
    devices = devices_of(of)
    assert len(devices) == 1
    assert fits(devices, DeviceAsk({"gpu.nvidia.com": 1}))
    assert fits(devices, DeviceAsk({"mig.nvidia.com/3g.20gb": 2}))
    assert fits(devices, DeviceAsk({"mig.nvidia.com/3g.20gb": 1, "mig.nvidia.com/1g.5gb": 4}))
    assert not fits(devices, DeviceAsk({"mig.nvidia.com/3g.20gb": 2, "mig.nvidia.com/1g.5gb": 1}))
    after, _ = take(devices, DeviceAsk({"mig.nvidia.com": 1}))
    assert not fits(after, DeviceAsk({"gpu.nvidia.com": 1}))


def test_partitions_without_their_card_are_laid_out():
    of = published(
        Device("gpu-0", "gpu", A100, uuid="u0"),
        *(Device(f"m{i}", "mig", A100, "3g.20gb", "u1") for i in range(2)),
    )
    devices = devices_of(of)
    assert free_units(devices, "gpu.nvidia.com") == 1
    assert free_units(devices, "mig.nvidia.com/3g.20gb") == 2
    after, _ = take(devices, DeviceAsk({"mig.nvidia.com/3g.20gb": 2}))
    assert free_units(after, "gpu.nvidia.com") == 1


def test_a_pool_that_is_not_whole_is_a_lower_bound():
    one = DeviceSlice("s", "gpu.nvidia.com", "p", 1, 3, "n", (Device("gpu-0", "gpu", A100, uuid="u0"),))
    (of,), _ = apply([], [one])
    devices, notes = known(of)
    assert len(devices) == 1
    assert "2 ResourceSlices of its pool not in sight: only what is in sight is counted" in notes


def test_partitions_of_a_vendor_without_a_table_are_not_placed():
    found = Accelerators(
        "MI300X", Range(8, 8), Range(8, 8), {"cpx": 64}, sharing="mig-mixed", resource="gpu.amd.com"
    )
    devices, notes = known(Node("n", {}, accelerators=found))
    assert free_units(devices, "gpu.amd.com") == 8
    assert "geometry of this vendor's partitions is not known" in notes[0]


def test_a_cordoned_node_keeps_its_devices():
    of = nodes.without_schedulable(node({GPU: 8}, gpu_count="8")._replace(unschedulable=True))
    assert free_units(devices_of(of), GPU) == 8


@pytest.mark.shared
@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded data is not beside the checkout")
def test_recorded_nodes_offer_exactly_their_units():
    files = sorted(str(p) for p in (DATA / "nodes").glob("*.yaml"))
    found, _ = inventory.load(files, lambda p: Path(p).read_bytes())
    counted = 0
    for one in found.nodes:
        devices = devices_of(one)
        for resource, units in (one.allocatable or {}).items():
            if resource.startswith("nvidia.com/"):
                assert free_units(devices, resource) == units, (one.name, resource)
                counted += units
    assert counted == 8 + 2 + 6 + 4 + 12 + 1 + 1 + 8
