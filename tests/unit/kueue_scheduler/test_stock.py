"""Counts that are mended equal counts made anew, and what is found in order equals what a search finds."""

import random

import pytest

from policycheck.model.inventory import Node
from policycheck.model.placement import NodeTerm, PreferredTerm, Requirement, Taint
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.systems.kueue.model import KueueObjects, ResourceFlavor, Topology
from policycheck.systems.kueue.scheduler import stock as stocks
from policycheck.systems.kueue.scheduler.filling import fill
from policycheck.systems.kueue.scheduler.land import survey
from policycheck.systems.kueue.scheduler.ranks import Ranks
from policycheck.systems.kueue.scheduler.room import Room
from policycheck.systems.kueue.scheduler.search import Search
from policycheck.systems.kueue.scheduler.stock import stock_of
from policycheck.systems.kueue.scheduler.topology import profile
from policycheck.systems.kueue.scheduler.wish import Ask, resolve
from policycheck.systems.kueue.target import Target, strategy

HOST = "kubernetes.io/hostname"
RULES = strategy(Target())


def node(n, **more):
    labels = {"zone": f"z{n % 3}", "rack": f"r{n // 5}", HOST: f"n{n:02d}"}
    taints = (Taint("maint", "true", "NoSchedule"),) if n % 7 == 6 else ()
    amounts = {"cpu": 1000 * (n % 5), "gpu": n % 4 * 2, "pods": 3 + n % 3}
    return Node(labels[HOST], labels, taints, amounts, **more)


def land_of(levels, *, count=30, flavors=("f", "g")):
    objects = KueueObjects(
        flavors={f: ResourceFlavor(f, {} if f == "f" else {"zone": "z1"}, topology="t") for f in flavors},
        topologies={"t": Topology("t", levels)},
    )
    return survey(objects, [node(n, ready=n % 11 != 3) for n in range(count)], RULES)


def ask(draw, levels):
    mode = draw.choice(["required", "preferred", "unconstrained", ""])
    at = draw.randrange(len(levels))
    slices = {}
    if mode == "" or (mode != "unconstrained" and draw.random() < 0.5):
        slices = {"slice_level": levels[draw.randrange(at, len(levels))], "slice_size": draw.randrange(1, 4)}
        if draw.random() < 0.4 and levels.index(slices["slice_level"]) < len(levels) - 1:
            layers = ((slices["slice_level"], 4), (levels[-1], draw.choice([1, 2])))
            slices = {"slices": layers}
    level = levels[at] if mode in ("required", "preferred") else ""
    each = {"cpu": draw.choice([0, 500, 1000]), "gpu": draw.choice([0, 1, 2])}
    selector = {"zone": "z1"} if draw.random() < 0.3 else {}
    term = NodeTerm((Requirement("rack", "In", ("r1", "r2")),))
    spec = PodSet("main", 1, each, node_selector=selector, preferred=(PreferredTerm(7, term),))
    request = TopologyRequest(mode, level, **slices)
    return Ask(0, draw.randrange(1, 14), each, spec, request, implied=mode == "" and not slices)


def change(draw, land, taken):
    """Somebody comes or goes, or a node does."""
    roll = draw.random()
    if roll < 0.2:
        land.switch(f"n{draw.randrange(30):02d}", on=draw.random() < 0.6)
    elif roll < 0.5 and taken:
        land.remove(taken.pop(draw.randrange(len(taken))))
    else:
        flavor = draw.choice(list(land.fields))
        leaves = draw.sample(range(land.fields[flavor].leaves), 2)
        each = {"cpu": draw.choice([500, 1000]), "gpu": draw.choice([0, 1])}
        taken.append(land.taken([(flavor, leaf, each, 1) for leaf in leaves]))
        land.add(taken[-1])


def shown(counts):
    return counts.pods, counts.slices, counts.pods_led, counts.slices_led, counts.leaders, counts.score


LEADER = Ask(1, 1, {"cpu": 1000}, PodSet("lead", 1, {"cpu": 1000}), TopologyRequest())


@pytest.mark.parametrize("scored", [False, True], ids=["plain", "preferences"])
@pytest.mark.parametrize("led", [False, True], ids=["alone", "led"])
@pytest.mark.parametrize("levels", [("zone", "rack", HOST), ("rack", HOST), ("zone", "rack")], ids=len)
def test_what_is_mended_is_what_would_be_counted(levels, led, scored):
    draw = random.Random(f"{levels} {led} {scored}")
    land, taken = land_of(levels), []
    leader = LEADER if led else None
    asks = [ask(draw, levels) for _ in range(6)]
    for _ in range(120):
        change(draw, land, taken)
        one = draw.choice(asks)
        wish = resolve(one, levels, multi_layer=True)
        if isinstance(wish, str):
            continue
        flavor, empty = draw.choice(list(land.fields)), draw.random() < 0.2
        kept = stock_of(land, flavor, one, leader, wish, scored=scored, empty=empty)
        orders = [kept.ranks(n) for n in range(len(levels))]
        fresh = land.copy()
        anew = stock_of(fresh, flavor, one, leader, wish, scored=scored, empty=empty)
        assert shown(kept.counts) == shown(anew.counts)
        first = kept.domains.first
        for n, order in enumerate(orders):
            made = Ranks(anew.counts, first[n], first[n + 1])
            assert list(order.falling()) == list(made.falling())
            assert list(order.rising()) == list(made.rising())
        if not led and draw.random() < 0.3:
            leaf = draw.randrange(kept.domains.leaves)
            values = kept.domains.names[leaf]
            kept.assume({values: {"cpu": 500, "pods": 1}})
            room = Room(land, flavor, empty=empty)
            may = kept.domains.live[leaf] and kept.eligible.fits[leaf]
            want = room.at(leaf, one.each, [{"cpu": 500, "pods": 1}]) if may else 0
            assert kept.counts.pods[first[-2] + leaf] == want
            kept.mend()
            assert shown(kept.counts) == shown(anew.counts)


def test_leaves_hold_what_is_free_less_what_is_used():
    land = land_of((HOST,), flavors=("f",))
    one = Ask(0, 1, {"cpu": 500}, PodSet("main", 1, {"cpu": 500}), TopologyRequest("unconstrained"))
    wish = resolve(one, (HOST,), multi_layer=True)
    domains = land.fields["f"]
    n04, n02 = domains.where["n04",], domains.where["n02",]
    counts = stock_of(land, "f", one, None, wish, scored=False, empty=False).counts
    assert (counts.pods[n04], counts.pods[n02]) == (4, 4)  # 4 pod slots; 2,000 millicores
    assert counts.pods[domains.where["n03",]] == 0  # not ready
    assert counts.pods[domains.where["n06",]] == 0  # tainted
    land.add(land.taken([("f", n04, {"cpu": 3000}, 1), ("f", n02, {}, 3)]))
    counts = stock_of(land, "f", one, None, wish, scored=False, empty=False).counts
    assert (counts.pods[n04], counts.pods[n02]) == (2, 2)  # 1,000 millicores left; 5 slots less 3
    assert stock_of(land, "f", one, None, wish, scored=False, empty=True).counts.pods[n04] == 4


@pytest.mark.parametrize("mixed", [False, True], ids=["best-fit", "mixed"])
@pytest.mark.parametrize("levels", [("zone", "rack", HOST), ("rack", HOST), ("zone", "rack")], ids=len)
def test_what_is_found_in_order_is_what_a_search_finds(levels, mixed):
    draw = random.Random(f"{levels} {mixed}")
    land, taken = land_of(levels), []
    ways = profile(RULES)._replace(mixed=mixed)
    outcomes = set()
    for _ in range(300):
        change(draw, land, taken)
        one = ask(draw, levels)
        wish = resolve(one, levels, multi_layer=True)
        if isinstance(wish, str):
            continue
        stock = stock_of(land, "f", one, None, wish, scored=False, empty=False)
        plain = Search(stock.domains, ways, stock.counts, wish, one.pods, 0)
        ordered = Search(stock.domains, ways, stock.counts, wish, one.pods, 0, stock)
        found, want = ordered.run(), plain.run()
        if not isinstance(want, str):  # domains that hold nothing are passed over
            want = want[0], [d for d in want[1] if stock.counts.slices[d] or len(want[1]) == 1]
        assert found == want
        outcomes.add("none" if isinstance(found, str) else "one" if len(found[1]) == 1 else "several")
    assert outcomes == {"none", "one", "several"}


def test_placing_does_not_depend_on_what_was_counted_before():
    draw = random.Random(5)
    levels = ("zone", "rack", HOST)
    land, taken = land_of(levels), []
    ways = profile(RULES)._replace(balanced=True)
    asks = [ask(draw, levels)._replace(key=n) for n in range(20)]
    for _ in range(200):
        change(draw, land, taken)
        some = {"f": [draw.choice(asks), draw.choice(asks)._replace(member=1)]}
        assert fill(land, some, ways) == fill(land.copy(), some, ways)


def test_what_every_domain_holds_can_be_asked():
    land = land_of(("zone", "rack", HOST), flavors=("f",))
    spec = PodSet("main", 1, {"cpu": 500}, node_selector={"zone": "z1"})
    domains = land.fields["f"]
    pods = stocks.holds(land, "f", spec).pods
    first = domains.first
    leaves = {domains.names[leaf][0]: pods[first[-2] + leaf] for leaf in range(domains.leaves)}
    assert leaves["n04"] == 4  # 4 pod slots, 4,000 millicores
    assert leaves["n02"] == 0  # in zone z2
    by_zone = {domains.values[d][0]: pods[d] for d in range(first[0], first[1])}
    assert by_zone == {"z0": 0, "z1": sum(leaves.values()), "z2": 0}


def test_few_leaves_are_counted_when_few_have_changed(monkeypatch):
    levels = ("rack", HOST)
    land = land_of(levels, count=400, flavors=("f",))
    counted = []
    count_one, count_all = stocks.Stock._count, stocks.Stock._all
    monkeypatch.setattr(stocks.Stock, "_count", lambda s, leaf: counted.append(leaf) or count_one(s, leaf))
    monkeypatch.setattr(stocks.Stock, "_all", lambda s: counted.append("all") or count_all(s))
    one = Ask(0, 1, {"cpu": 500}, PodSet("main", 1, {"cpu": 500}), TopologyRequest("preferred", "rack"))
    wish = resolve(one, levels, multi_layer=True)
    stock_of(land, "f", one, None, wish, scored=False, empty=False)
    assert counted == ["all"]
    stock_of(land, "f", one, None, wish, scored=False, empty=False)
    assert counted == ["all"]
    land.add(land.taken([("f", 7, {"cpu": 500}, 1), ("f", 9, {"cpu": 500}, 1)]))
    land.add(land.taken([("f", 7, {"cpu": 500}, 1)]))
    stock_of(land, "f", one, None, wish, scored=False, empty=False)
    assert sorted(counted[1:]) == [7, 9]


def test_stocks_that_are_not_used_are_forgotten(monkeypatch):
    monkeypatch.setattr(stocks, "_MOST_COUNTED", 100)
    levels = (HOST,)
    land = land_of(levels, flavors=("f",))
    for cores in (100, 200, 300, 400, 500):
        one = Ask(0, 1, {"cpu": cores}, PodSet("m", 1, {"cpu": cores}), TopologyRequest("unconstrained"))
        stock_of(land, "f", one, None, resolve(one, levels, multi_layer=True), scored=False, empty=False)
    assert [dict(kind.each)["cpu"] for kind in land.known] == [300, 400, 500]
