"""Packing: the protocol, the policies on small inventories, and openb against the recorded results."""

from __future__ import annotations

from pathlib import Path

import pytest

from policycheck.model.workload import PodSet
from policycheck.simulate.job import Job
from policycheck.simulate.placement import Ground
from policycheck.systems.core.scheduler import packing
from policycheck.systems.core.scheduler.fgd import Gradient, common
from policycheck.systems.core.scheduler.packing import (
    BEST_FIT,
    FGD,
    POLICIES,
    RANDOM_FIT,
    TIES,
    Study,
    arrivals,
    demand,
    pack,
)
from policycheck.systems.core.scheduler.shape import Shapes

GPU = "nvidia.com/gpu"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


def make_job(name, cpu, cards, milli=1000, models=()):
    requests = {"cpu": cpu * 1000, "memory": 2**30, **({GPU: cards} if cards else {})}
    return Job(f"t/{name}", "", 0, 1, (PodSet("main", 1, requests),), models=models, milli=milli)


@pytest.fixture
def study(node, devices):
    nodes = [node(f"n{i}", cpu=32, memory=128, gpus=4, model="AB"[i % 2]) for i in range(10)]
    jobs = [make_job(f"whole{i}", 6, 1) for i in range(12)]
    jobs += [make_job(f"half{i}", 2, 1, 500) for i in range(10)]
    jobs += [make_job(f"two{i}", 8, 2) for i in range(4)] + [make_job(f"plain{i}", 4, 0) for i in range(4)]
    return Study(nodes, devices, jobs)


def test_demand_is_in_thousandths():
    assert demand(make_job("x", 1, 2), GPU) == 2000
    assert demand(make_job("x", 1, 1, 300), GPU) == 300
    assert demand(make_job("x", 1, 0), GPU) == 0


def test_all_pods_come_first_then_some_again_until_there_are_enough(study):
    order = arrivals(study, 40_000, 7)
    own = len(study.jobs)
    assert sorted(job.id for job in order[:own]) == sorted(job.id for job in study.jobs)
    asked = sum(demand(job, GPU) for job in order)
    assert 52_000 - 2000 < asked <= 52_000 + 1000  # the study looks at one card of the next pod
    assert order == arrivals(study, 40_000, 7)
    assert order != arrivals(study, 40_000, 8)


def test_curves_are_percent_of_all_cards(study):
    result = pack(study, BEST_FIT, 1)
    assert sorted(result.allocated) == list(range(131))
    assert result.allocated[0] <= 5
    assert abs(result.allocated[50] - 50) < 3  # nobody is refused while half is free
    values = [result.allocated[at] for at in range(131)]
    assert values == sorted(values)
    assert 85 < values[-1] <= 100
    assert result.fragment == {}
    assert pack(study, BEST_FIT, 1) == result
    assert pack(study, BEST_FIT, 2) != result


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("ties", TIES)
def test_every_policy_keeps_to_what_there_is(study, name, ties):
    result = pack(study._replace(fragment=True), POLICIES[name]._replace(ties=ties), 3)
    assert result.arrived >= len(study.jobs)
    for at in (100, 130):
        assert 0 <= result.fragment[at] <= 100 - result.allocated[at] + 1e-6


def test_ties_by_order_are_by_an_order_of_the_run(study, monkeypatch):
    orders = []
    plain = packing.Ground

    def seen(nodes, *more):
        orders.append([one.name for one in nodes])
        return plain(nodes, *more)

    monkeypatch.setattr(packing, "Ground", seen)
    for seed in (1, 1, 2):
        pack(study, BEST_FIT, seed)
    pack(study, BEST_FIT._replace(ties="first"), 1)
    own = [one.name for one in study.nodes]
    assert orders[0] == orders[1] != orders[2]
    assert orders[3] == own != orders[0]
    assert sorted(orders[0]) == own


def test_best_fit_by_hand(node, devices):
    # After a pod of 8 cores and 1 card: a has 24/128 and 3/8 left, b 56/128 and 1/8, c 0/128 and 7/8.
    nodes = [
        node("a", cpu=32, gpus=4),
        node("b", cpu=64, gpus=2),
        node("c", cpu=8, gpus=8),
    ]
    ground = Ground(nodes, devices)
    scorer = BEST_FIT.scorer(ground, [], GPU)
    load = Shapes(ground).of(make_job("x", 8, 1).pod_sets[0], "").load
    scores = [scorer.score(ground.state[n], load) for n in range(3)]
    assert scores == [71, 71, 56]  # 100 - (9.375 + 18.75), 100 - (21.875 + 6.25), 100 - (0 + 43.75), cut off
    exact = packing.EXACT_FIT.scorer(ground, [], GPU)
    assert [round(exact.score(ground.state[n], load), 5) for n in range(3)] == [-0.28125, -0.28125, -0.4375]


def test_shares_go_to_the_card_with_the_least_left(node, devices):
    # 700 and 300 fill one card; the next 300 joins the card with 600 on it.
    jobs = [make_job(str(n), 1, 1, milli) for n, milli in enumerate((700, 300, 600, 300))]
    ground = Ground([node("a", gpus=4)], devices)
    shapes = Shapes(ground)
    for job in jobs:
        ground.put(0, shapes.of(job.pod_sets[0], "", (), job.milli).load, BEST_FIT.pick)
    assert sorted(card.milli for card in ground.of(ground.state[0])[2]) == [0, 100, 1000, 1000]


def test_models_are_kept_to(study):
    jobs = [make_job(str(n), 1, 1, models=("A",)) for n in range(8)]
    result = pack(study._replace(jobs=jobs), RANDOM_FIT, 5)
    assert result.allocated[130] == 50  # half the nodes are of that model


def test_what_others_commonly_ask_for():
    jobs = [make_job(str(n), 1, 1) for n in range(60)] + [make_job(f"h{n}", 2, 1, 500) for n in range(36)]
    jobs += [make_job(f"r{n}", 64, 8) for n in range(4)]
    mix = common(jobs, GPU)
    assert [(s.needs["cpu"], dict(s.ask.units), s.ask.milli, s.weight) for s in mix] == [
        (1000, {GPU: 1}, 1000, 60),
        (2000, {GPU: 1}, 500, 36),
    ]


def test_fgd_keeps_whole_cards_whole(node, devices):
    # The mix wants whole cards: a share on a card that is broken into costs nothing, on a whole one all of it.
    ground = Ground([node("a", gpus=2), node("b", gpus=2)], devices)
    shapes = Shapes(ground)
    share = shapes.of(make_job("s", 1, 1, 300).pod_sets[0], "", (), 300).load
    ground.put(0, share)
    gradient = Gradient(ground, common([make_job("w", 1, 1)], GPU))
    broken, whole = gradient(ground.state[0], share), gradient(ground.state[1], share)
    assert (broken, whole) == (57, 33)  # logistic of +0.3 and of -0.7 cards
    _, taken = gradient.way(ground.state[0], share)
    assert taken[0].card == 0
    assert gradient.fragment(0) / gradient.weight == 700
    assert gradient.fragment(1) == 0


def test_nonsense_is_refused(study):
    with pytest.raises(ValueError, match=r"none of 10 nodes has amd\.com/gpu"):
        pack(study._replace(resource="amd.com/gpu"), BEST_FIT, 1)
    with pytest.raises(ValueError, match=r"none of 1 jobs asks for nvidia\.com/gpu"):
        pack(study._replace(jobs=[make_job("x", 1, 0)]), BEST_FIT, 1)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "at_100", "at_130"),
    [(RANDOM_FIT, 86.30, 87.47), (BEST_FIT, 92.86, 93.08), (FGD, 95.23, 95.39)],
)
def test_openb_comes_out_as_recorded(policy, at_100, at_130):
    if not (SHARED / "inventory" / "openb-nodes.csv").is_file():
        pytest.skip("the recorded data is not beside the checkout")
    import importlib.util

    path = Path(__file__).resolve().parents[2] / "bench" / "bench_packing.py"
    spec = importlib.util.spec_from_file_location("bench_packing", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    from policycheck.systems.core.inventory import load
    from policycheck.systems.gpu.device import devices_of

    csv = SHARED / "inventory" / "openb-nodes.csv"
    nodes = load([str(csv)], lambda p: Path(p).read_bytes()).inventory.nodes
    jobs = bench.read_jobs(SHARED / "traces" / "openb_default.jobs.csv")
    means, _ = bench.run(Study(nodes, devices_of, jobs), policy, 3)
    assert abs(means["a100"] - at_100) < 0.7
    assert abs(means["a130"] - at_130) < 0.7
