"""The ground: states of nodes, what fits, exact undo, copies, sums."""

from __future__ import annotations

import pytest

from policycheck.simulate.device import DeviceAsk
from policycheck.simulate.placement import Ground

GPU = "nvidia.com/gpu"


def test_equal_nodes_are_in_one_state_and_differ_once_one_is_used(node, devices):
    ground = Ground([node("a", gpus=2), node("b", gpus=2), node("c", gpus=4)], devices)
    assert ground.state[0] == ground.state[1] != ground.state[2]
    load = ground.load({"cpu": 1000, GPU: 1, "pods": 1})
    first, _ = ground.put(0, load), ground.put(1, load)
    assert ground.state[0] == ground.state[1]
    ground.back(0, load, first)
    assert ground.state[0] != ground.state[1]


def test_pods_leave_in_any_order_and_nothing_remains_of_them(node, devices):
    ground = Ground([node("a", gpus=4)], devices)
    before = ground.row(0)
    loads = [ground.load({"cpu": 100 * n, GPU: 1, "pods": 1}) for n in (1, 2, 3)]
    held = [(load, ground.put(0, load)) for load in loads]
    assert ground.free(0, GPU) == 1
    assert ground.free(0, "cpu") == 8000 - 600
    for load, taken in (held[1], held[0], held[2]):
        ground.back(0, load, taken)
    assert ground.row(0) == before


def test_cards_refuse_what_amounts_would_allow(node, devices):
    ground = Ground([node("a", gpus=2)], devices)
    half = ground.load({GPU: 1}, DeviceAsk({GPU: 1}, 600))
    assert [len(ground.put(0, half)) for _ in range(2)] == [1, 1]
    assert ground.free(0, GPU) == 0
    assert not ground.has_room(ground.state[0], half)  # 400 left on each of two cards
    assert ground.has_room(ground.state[0], ground.load({GPU: 1}, DeviceAsk({GPU: 1}, 400)))
    before = ground.row(0)
    assert ground.put(0, half) is None
    assert ground.row(0) == before


def test_what_is_short_is_named_and_sorted(node, devices):
    ground = Ground([node("a", cpu=1, memory=1, gpus=1)], devices)
    load = ground.load({"cpu": 2000, "memory": 2**31, GPU: 2, "example.com/nic": 1})
    assert ground.short(0, load) == ("cpu", "example.com/nic", "memory", GPU)
    assert ground.short(0, ground.load({"cpu": 1000, GPU: 1})) == ()


def test_what_runs_already_is_taken_off(node, devices):
    ground = Ground([node("a", committed={"cpu": 6000, "pods": 100})], devices)
    assert ground.total("cpu") == 2000
    assert ground.has_room(ground.state[0], ground.load({"cpu": 2000, "pods": 10}))
    assert not ground.has_room(ground.state[0], ground.load({"cpu": 2001}))
    assert not ground.has_room(ground.state[0], ground.load({"pods": 11}))


def test_amounts_that_nobody_says_are_plenty_and_said_so(node, devices):
    bare = node("a", gpus=1)._replace(allocatable={GPU: 1})
    ground = Ground([bare], devices)
    assert ground.has_room(ground.state[0], ground.load({"cpu": 10**6, "memory": 2**50, GPU: 1}))
    assert ground.unused("cpu") == 0
    assert any("cpu of 1 nodes" in note for note in ground.notes)
    silent = Ground([node("a")._replace(allocatable=None, capacity={"cpu": 4000})], devices)
    assert silent.total("cpu") == 4000
    assert any("capacity is taken for it" in note for note in silent.notes)


def test_sums_follow_pods_and_nodes(node, devices):
    cordoned = node("c", gpus=8, unschedulable=True)
    ground = Ground([node("a", gpus=4), node("b", gpus=4), cordoned], devices)
    assert (ground.total(GPU), ground.unused(GPU)) == (8, 8)
    load = ground.load({GPU: 3})
    taken = ground.put(0, load)
    assert ground.unused(GPU) == 5
    ground.close(0)
    assert (ground.total(GPU), ground.unused(GPU)) == (4, 4)
    ground.open(0)
    ground.back(0, load, taken)
    assert (ground.total(GPU), ground.unused(GPU)) == (8, 8)


def test_a_copy_goes_its_own_way(node, devices):
    ground = Ground([node("a", gpus=4), node("b", gpus=4)], devices)
    load = ground.load({GPU: 1})
    ground.put(0, load)
    other = ground.fork()
    other.put(1, load)
    other.close(0)
    assert ground.unused(GPU) == 7
    assert other.unused(GPU) == 3
    assert not ground.closed[0]


def test_a_state_without_pods_is_worked_out_without_changing_any(node, devices):
    ground = Ground([node("a", gpus=2)], devices)
    load = ground.load({"cpu": 1000, GPU: 1})
    empty = ground.state[0]
    held = [(load, ground.put(0, load)) for _ in range(2)]
    full, steps = ground.state[0], len(ground.log)
    assert ground.without(0, held) == empty
    assert (ground.state[0], len(ground.log)) == (full, steps)


def test_states_that_nobody_is_in_are_forgotten_and_sums_stay_right(node, devices, monkeypatch):
    monkeypatch.setattr("policycheck.simulate.placement._MOST_STATES", 3)
    ground = Ground([node("a", gpus=8), node("b", gpus=8)], devices)
    load = ground.load({"cpu": 10, GPU: 1})
    held = [ground.put(n % 2, load) for n in range(12)]
    assert ground.epoch > 0
    assert (ground.unused(GPU), ground.total(GPU)) == (4, 16)
    for n, taken in enumerate(held):
        ground.back(n % 2, load, taken)
    assert ground.unused(GPU) == 16
    assert ground.state[0] == ground.state[1]


def test_pools_are_single_machines_and_those_that_may_come_are_closed(node, devices):
    pool = node("pool", gpus=8)._replace(machines=2, most=4)
    ground = Ground([pool], devices)
    assert [one.name for one in ground.nodes] == ["pool-1", "pool-2", "pool-3", "pool-4"]
    assert ground.closed == [False, False, True, True]
    assert (ground.present, ground.total(GPU)) == (2, 16)
    ground.open(2)
    assert (ground.present, ground.total(GPU)) == (3, 24)
    other = ground.fork()
    other.open(3)
    assert (other.present, ground.present) == (4, 3)
    endless = Ground([node("pool")._replace(machines=1, most=None)], devices)
    assert endless.notes == ("pool may grow beyond 1 machines, which is left out",)


def test_shadow_columns_are_counted_and_never_refuse(node, devices):
    ground = Ground([node("a", cpu=1)], devices, {"cpu (score)": "cpu"})
    load = ground.load({"pods": 1}, beside={"cpu (score)": 900})
    for _ in range(3):
        assert ground.has_room(ground.state[0], load)
        ground.put(0, load)
    assert ground.of(ground.state[0])[1][ground.columns["cpu (score)"]] == 1000 - 2700


@pytest.mark.parametrize("counted", [True, False])
def test_without_cards_accelerators_are_counted(node, devices, counted):
    ground = Ground([node("a", gpus=2)], None if counted else devices)
    load = ground.load({GPU: 2})
    assert ground.put(0, load) is not None
    assert ground.short(0, load) == (GPU,)
    assert ground.unused(GPU) == 0
