"""The placer: gangs in part, all or none, ties, node loss, filling, copies."""

from __future__ import annotations

import pytest

from policycheck.simulate.draw import stream
from policycheck.simulate.placer import Placer

GPU = "nvidia.com/gpu"


def state(placer):
    """All that decides, without the counters."""
    rows = [placer.ground.row(n) for n in range(len(placer.ground.nodes))]
    return rows, list(placer.ground.closed), {k: dict(v) for k, v in placer.crowd.kinds.items()}


def test_it_is_a_placer(placer, node):
    def takes(one: Placer) -> Placer:
        return one

    assert takes(placer(node("a"))).measures() == {}
    measured = placer(node("a", gpus=2), measure=lambda ground: {"largest": ground.unused(GPU)})
    assert measured.measures() == {"largest": 2}


def test_a_gang_starts_in_part_and_says_why_the_rest_waits(placer, node, pods, where):
    one = placer(node("a", gpus=4), node("b", gpus=4))
    placed = one.place("t/gang", [pods(1, name="head"), pods(5, gpus=2, name="worker")], 0)
    head, worker = placed.sets
    assert (head.name, head.waiting, head.why) == ("head", 0, "")
    assert (worker.name, worker.waiting) == ("worker", 1)
    assert worker.why == "0/2 nodes are available: 2 Insufficient nvidia.com/gpu"
    assert sum(n for _, n in worker.where) == 4
    assert not placed.whole
    assert one.unused(GPU) == 0


def test_reasons_are_those_of_now(placer, node, pods):
    one = placer(node("a", gpus=4), node("b", gpus=4))
    large = pods(gpus=8)
    assert (
        one.place("t/x", [large], 0).sets[0].why == "0/2 nodes are available: 2 Insufficient nvidia.com/gpu"
    )
    one.down("b")
    assert one.place("t/y", [large], 0).sets[0].why == one.placed("t/x").sets[0].why
    assert (
        "1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }" in one.placed("t/x").sets[0].why
    )


def test_together_is_all_or_none(placer, node, pods):
    one = placer(node("a", gpus=4), node("b", gpus=4))
    before = state(one)
    placed = one.place("t/gang", [pods(2), pods(5, gpus=2)], 0, together=True)
    assert [s.where for s in placed.sets] == [(), ()]
    assert [s.waiting for s in placed.sets] == [2, 5]
    assert all("Insufficient nvidia.com/gpu" in s.why for s in placed.sets)
    assert state(one) == before
    assert one.fill("t/gang") is None
    one.free("t/gang")
    assert one.place("t/gang", [pods(2), pods(4, gpus=2)], 0, together=True).whole


def test_what_waits_is_filled_when_there_is_room(placer, node, pods):
    one = placer(node("a", gpus=4))
    one.place("t/first", [pods(gpus=3)], 0)
    assert one.place("t/second", [pods(3, gpus=1)], 0).sets[0].waiting == 2
    assert one.fill("t/second") is None
    one.free("t/first")
    filled = one.fill("t/second")
    assert filled.whole
    assert filled.sets[0].where == (("a", 3),)
    assert one.fill("t/second") is None


def test_placing_and_freeing_are_exact_opposites(placer, node, pods):
    nodes = [node(f"n{i}", gpus=4, labels={"zone": "ab"[i % 2]}) for i in range(4)]
    one = placer(*nodes)
    draw = stream(3, "undo")
    kinds = [
        pods(3, gpus=1),
        pods(2, gpus=2, labels={"app": "x"}),
        pods(4, gpus=1, milli=300),
        pods(1, cpu=3),
    ]
    states = [state(one)]
    for n in range(6):
        one.place(f"t/{n}", [kinds[draw.below(len(kinds))]], n)
        states.append(state(one))
    for n in reversed(range(6)):
        assert state(one) == states[n + 1]
        one.free(f"t/{n}")
    assert state(one) == states[0]


def test_the_same_draw_on_the_same_state_gives_the_same_places(placer, node, pods):
    nodes = [node(f"n{i}", gpus=8) for i in range(12)]

    def places(draw, history=0):
        one = placer(*nodes)
        for n in range(history):  # what came and went leaves no trace
            one.place(f"t/{n}", [pods(3, gpus=2)], n)
        for n in range(history):
            one.free(f"t/{n}")
        return one.place("t/job", [pods(5, gpus=8)], draw)

    assert places(7) == places(7) == places(7, history=5)
    assert len({places(draw).sets[0].where for draw in range(8)}) > 1


def test_a_lost_node_takes_nobody_and_names_who_is_on_it(placer, node, pods):
    one = placer(node("a", gpus=4), node("b", gpus=4))
    one.place("t/both", [pods(2, gpus=4)], 0)
    one.place("t/small", [pods(1)], 0)
    small = one.placed("t/small").sets[0].where[0][0]
    other = "b" if small == "a" else "a"
    assert one.down(small) == ["t/both", "t/small"]
    assert (one.total(GPU), one.unused(GPU)) == (4, 0)
    one.free("t/both")
    placed = one.place("t/both", [pods(2, gpus=4)], 0)
    assert placed.sets[0].where == ((other, 1),)
    assert "1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }" in placed.sets[0].why
    one.up(small)
    assert one.fill("t/both").whole
    assert one.total(GPU) == 8


def test_nodes_that_a_pool_may_add(placer, node, pods):
    one = placer(node("pool", gpus=8)._replace(machines=1, most=2))
    assert one.place("t/job", [pods(2, gpus=8)], 0).sets[0].why.startswith("0/1 nodes are available")
    one.up("pool-2")
    assert one.fill("t/job").whole


def test_names_that_nobody_knows_are_refused(placer, node, pods):
    one = placer(node("a"))
    one.place("t/job", [pods()], 0)
    with pytest.raises(ValueError, match="t/job is placed already"):
        one.place("t/job", [pods()], 0)
    for call in (one.free, one.fill):
        with pytest.raises(ValueError, match="t/other is not placed here; 1 jobs are"):
            call("t/other")
    for call in (one.down, one.up):
        with pytest.raises(ValueError, match="no node is called 'b'; there are 1"):
            call("b")


def test_hostnames_are_names_too(placer, node, pods):
    one = placer(node("a", labels={"kubernetes.io/hostname": "host-a"}))
    assert one.place("t/job", [pods(fixed=(("host-a", 1),))], 0).sets[0].where == (("a", 1),)
    assert one.down("host-a") == ["t/job"]


def test_shares_of_cards(placer, node, pods):
    one = placer(node("a", gpus=2))
    assert one.place("t/job", [pods(4, gpus=1, milli=600)], 0).sets[0].waiting == 2
    assert one.place("t/small", [pods(2, gpus=1, milli=400)], 0).whole


def test_places_are_the_same_when_states_are_numbered_anew(placer, node, pods, monkeypatch):
    def places(most):
        monkeypatch.setattr("policycheck.simulate.placement._MOST_STATES", most)
        one = placer(*(node(f"n{i}", cpu=16, memory=64, gpus=4 + i % 3) for i in range(9)))
        found = []
        for n in range(40):
            found.append(one.place(f"t/{n}", [pods(1 + n % 4, gpus=1 + n % 3), pods(1)], n))
            if n % 3 == 2:
                one.free(f"t/{n - 2}")
        return found, one.ground.epoch

    plain, never = places(10**9)
    anew, often = places(12)
    assert (never, often > 1) == (0, True)
    assert anew == plain


def test_a_copy_is_independent(placer, node, pods):
    one = placer(node("a", gpus=4), node("b", gpus=4))
    one.place("t/job", [pods(3, gpus=2, labels={"app": "x"})], 0)
    before = state(one)
    other = one.fork()
    other.free("t/job")
    other.place("t/next", [pods(4, gpus=2)], 0)
    other.down("a")
    assert state(one) == before
    assert one.placed("t/job").whole
    twin = one.fork()
    assert twin.place("t/z", [pods(2, gpus=1)], 4) == one.place("t/z", [pods(2, gpus=1)], 4)


def test_work_does_not_grow_with_nodes_that_do_not_change(placer, node, pods, monkeypatch):
    from policycheck.systems.core.scheduler import score

    asked = []
    plain = score.Scorer.__call__
    monkeypatch.setattr(score.Scorer, "__call__", lambda *a: asked.append(1) or plain(*a))
    one = placer(*(node(f"n{i:04d}", gpus=8) for i in range(500)))
    one.place("t/job", [pods(256, gpus=8)], 0)
    assert len(asked) <= 3  # 500 equal nodes, 256 equal pods: an empty node and no other has room
