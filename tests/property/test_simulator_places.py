"""What holds of placement, whatever the nodes and whatever is asked."""

import json
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policycheck.simulate.scheduler import RESERVED
from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.cases.world import open_session, read_world
from policycheck.systems.kueue.scheduler.moment import NANOS
from policycheck.systems.kueue.scheduler.topology import claims_of

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from conformance.compact import expand  # noqa: E402 - tests are no package
from simulator_worlds import NEXT, POLICY, WITHIN  # noqa: E402

LEVELS = ["block", "rack", "kubernetes.io/hostname"]
GATES = ["TASBalancedPlacement", "TASProfileMixed", "TASRespectNodeAffinityPreferred"]


@st.composite
def machine(draw: Any) -> str:
    block, rack = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    words = [f"@pool=p{draw(st.integers(1, 2))}", f"@block=b{block}", f"@rack=b{block}-r{rack}"]
    words += [f"cpu={draw(st.integers(0, 8))}", f"gpu={draw(st.integers(0, 8))}"]
    words.append(f"pods={draw(st.integers(1, 6))}")
    words += ["taint maint true NoSchedule"] if draw(st.integers(0, 5)) == 0 else []
    words += ["cordoned"] if draw(st.integers(0, 7)) == 0 else []
    return " ".join(words)


@st.composite
def asked(draw: Any, levels: list[str]) -> str:
    """A podset with what it asks of topology."""
    words = [f"{draw(st.integers(1, 6))}x", f"cpu={draw(st.integers(0, 3))} gpu={draw(st.integers(0, 3))}"]
    mode = draw(st.sampled_from(["required", "preferred", "unconstrained", ""]))
    level = draw(st.integers(0, len(levels) - 1))
    if mode in ("required", "preferred"):
        words.append(f"{mode} {levels[level]}")
    elif mode:
        words.append(mode)
    if mode != "unconstrained" and draw(st.booleans()):
        slices = draw(st.integers(level if mode else 0, len(levels) - 1))
        words.append(f"slice {levels[slices]} {draw(st.integers(1, 3))}")
    if draw(st.integers(0, 4)) == 0:
        words.append("tolerates maint Exists")
    return " ".join(words)


@st.composite
def worlds(draw: Any) -> dict[str, Any]:
    levels = draw(st.sampled_from([LEVELS, LEVELS[1:], LEVELS[:2]]))
    shared = draw(st.booleans())
    flavors = {f"f{n}": "topology t1" + ("" if shared else f" label pool p{n}") for n in (1, 2)}
    queues, work = {}, {}
    for n in range(1, draw(st.integers(1, 3)) + 1):
        group = [f"f{k} cpu={draw(st.integers(0, 16))} gpu={draw(st.integers(0, 16))}" for k in (1, 2)]
        words = [f"within={draw(WITHIN)} reclaim={draw(POLICY)} canBorrow={draw(NEXT)}"]
        words += ["strict"] if draw(st.booleans()) else []
        words += ["in=c1"] if draw(st.booleans()) else []
        queues[f"q{n}"] = " ".join(words) + " | " + "; ".join(group)
    for n in range(1, draw(st.integers(1, 7)) + 1):
        head = (
            f"{draw(st.sampled_from(list(queues)))} p={draw(st.integers(-1, 2))} t=-{1000 - n} uid=u{n:02d}"
        )
        sets = [f"main {draw(asked(levels))}"]
        if draw(st.booleans()):
            sets.append(f"more {draw(asked(levels))}")
        elif draw(st.booleans()) and "slice" not in sets[0] and ("required" in sets[0] or "pref" in sets[0]):
            asks = " ".join(sets[0].split()[4:6])
            sets = [f"main {draw(st.integers(1, 4))}x gpu=1 {asks} group g", f"lead 1x cpu=1 {asks} group g"]
        work[f"w{n:02d}"] = " ; ".join([head, *sets])
    return {
        "name": "drawn",
        "area": "random-drawn",
        "configuration": {"maxCycles": 12, "fairSharing": draw(st.booleans())},
        "gates": {g: draw(st.booleans()) for g in GATES},
        "topologies": {"t1": " ".join(levels)},
        "nodes": {f"n{k}": draw(machine()) for k in range(draw(st.integers(0, 6)))},
        "flavors": flavors,
        "cohorts": {"c1": ""},
        "queues": queues,
        "work": work,
    }


def opened(doc):
    world = read_world(expand(doc))
    return world, open_session(world)


def held(session):
    """What is used of nodes, worked out from what holders hold."""
    land = session.land
    used = [0] * len(land.usage)
    for item in session.items.values():
        if item.reserved:
            for cell, amount in land.taken(claims_of(land, item)).cells:
                used += [0] * (len(land.usage) - len(used))
                used[cell] += amount
    return used


@given(worlds())
def test_no_leaf_holds_more_than_it_has(doc):
    world, session = opened(doc)
    for number in range(8):
        session.cycle(world.now + number * NANOS)
        land = session.land
        assert held(session) == land.usage
        for flavor, domains in land.fields.items():
            for resource, free in domains.free.items():
                for leaf, used in enumerate(land.used(flavor, resource)):
                    assert 0 <= used <= max(0, free[leaf])
        session.settle()


@given(worlds())
def test_every_pod_has_one_place_where_it_may_be(doc):
    world, session = opened(doc)
    work = {w.id: w for w in world.objects.workloads.values()}
    for number in range(8):
        for decision in session.cycle(world.now + number * NANOS):
            if decision.outcome != RESERVED:
                continue
            specs = {s.name: s for s in work[decision.workload].pod_sets}
            for one in decision.grant.sets:
                _is_in_order(session, one, specs[one.name])
        session.settle()


def _is_in_order(session, one, spec):
    assert one.placement is not None
    levels, domains = one.placement
    places = next(iter(set(one.flavors.values())))
    field = session.land.fields[places]
    size = _slice_size(spec.topology)
    assert sum(pods for _, pods in domains) == one.pods - one.pods % size
    assert [field.where[v] for v, _ in domains] == sorted({field.where[v] for v, _ in domains})
    assert levels == field.written_levels
    request = spec.topology
    for values, _ in domains:
        assert not field.hostname or not field.refusal(field.where[values], spec)
    if request is not None and request.mode == "required" and not request.group:
        at = field.level(request.level)
        assert len({field.above(field.where[v], at) for v, _ in domains}) <= 1
    if request is not None and request.slice_level:
        at, whole = field.level(request.slice_level), {}
        for values, pods in domains:
            domain = field.above(field.where[values], at)
            whole[domain] = whole.get(domain, 0) + pods
        assert all(pods % request.slice_size == 0 for pods in whole.values())


def _slice_size(request):
    return request.slice_size if request is not None and request.slice_level else 1


@given(worlds())
def test_the_order_of_nodes_is_irrelevant_and_runs_repeat(doc):
    before = run(expand(doc))
    nodes = dict(reversed(doc["nodes"].items()))
    assert json.dumps(run(expand({**doc, "nodes": nodes}))) == json.dumps(before)


@given(worlds(), st.integers(0, 4))
def test_a_fork_takes_no_nodes_from_the_other(doc, steps):
    world, session = opened(doc)
    for number in range(steps):
        session.cycle(world.now + number * NANOS)
        session.settle()
    digest, usage = session.digest(), list(session.land.usage)
    fork = session.fork()
    shown = [d[:8] for d in fork.cycle(world.now + steps * NANOS)]
    fork.settle()
    fork.release(list(fork.items))
    assert not any(fork.land.usage)
    assert session.digest() == digest
    assert session.land.usage[: len(usage)] == usage
    assert [d[:8] for d in session.cycle(world.now + steps * NANOS)] == shown


@given(worlds())
def test_adding_then_removing_leaves_usage_as_it_was(doc):
    world, session = opened(doc)
    session.cycle(world.now)
    land = session.land
    before = list(land.usage)
    placed = [i.placed for i in session.items.values() if i.reserved]
    for taken in placed:
        land.add(taken)
    for taken in reversed(placed):
        land.remove(taken)
    assert land.usage == before
    for taken in placed:
        land.remove(taken)
    assert not any(land.usage)


@given(worlds())
def test_a_failure_to_place_says_so_and_where(doc):
    world, session = opened(doc)
    for number in range(5):
        for decision in session.cycle(world.now + number * NANOS):
            if decision.reason == "TopologyPlacementFailed":
                assert decision.message
                assert any(note.startswith("no place on nodes: ") for note in decision.explain().notes)
        session.settle()
