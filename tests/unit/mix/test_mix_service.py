"""Services that follow their load, and nodes that fail."""

from __future__ import annotations

import statistics
from collections import defaultdict
from itertools import pairwise

import pytest

from policycheck.simulate.generate import generate
from policycheck.simulate.job import SERVICE
from policycheck.simulate.mix import Door, Host, Site
from policycheck.simulate.mixfile import read
from policycheck.simulate.period import DAY, HOUR

SITE = Site((Door("web", "serve", "web", 64), Door("lab", "train", "lab", 64)), 128)
DAILY = "curve: {daily: [" + ", ".join(["1"] * 12 + ["3"] * 12) + "]}\n"
HEAD = "mix: x\nresource: nvidia.com/gpu\nhorizon: 2d\nqueues: [web/serve]\n"


def made(text, site=SITE, seed=1, head=HEAD, **more):
    return generate(read("m.yaml", (head + text).encode()), site, seed, **more)


def running(jobs, time):
    return sum(j.submit <= time and (not j.duration or time < j.submit + j.duration) for j in jobs)


def test_replicas_go_from_least_to_most_along_the_curve():
    jobs = made(
        DAILY + "classes:\n  - {name: chat, nature: service, gpus: 4, replicas: {least: 2, most: 10}}\n"
    ).jobs
    assert all(j.nature == SERVICE for j in jobs)
    for day in (0, DAY):
        assert running(jobs, day + 6 * HOUR) == 2
        assert running(jobs, day + 18 * HOUR) == 10
        assert 2 < running(jobs, day + 12 * HOUR) < 10  # between two hours it rises step by step
    assert len({j.submit for j in jobs if 11 * HOUR < j.submit < 13 * HOUR}) >= 6


def test_replicas_of_one_number_are_up_in_turns_that_never_overlap():
    jobs = made(
        DAILY + "classes:\n  - {name: chat, nature: service, gpus: 4, replicas: {least: 2, most: 10}}\n"
    ).jobs
    turns = defaultdict(list)
    for job in jobs:
        name, _, turn = job.id.rpartition(".")
        turns[name].append((int(turn), job.submit, job.duration))
    assert len(turns) == 10
    for ups in turns.values():
        assert [n for n, _, _ in sorted(ups)] == list(range(len(ups)))
        ends = [(start, start + length if length else 10**15) for _, start, length in sorted(ups)]
        assert all(a[1] <= b[0] for a, b in pairwise(ends))
    assert turns["web/serve.chat.0000"] == [(0, 0, 0)]  # the first one runs for ever


def test_a_share_of_the_capacity_holds_in_the_mean():
    jobs = made(DAILY + "classes:\n  - {name: chat, nature: service, gpus: 4, replicas: {share: 0.5}}\n").jobs
    levels = [running(jobs, t) for t in range(0, 2 * DAY, HOUR // 4)]
    assert statistics.fmean(levels) * 4 / 128 == pytest.approx(0.5, rel=0.02)
    assert max(levels) / min(levels) == pytest.approx(3, rel=0.1)


def test_a_service_in_several_queues_is_shared_out_or_stands_in_each():
    text = "queues: [serve, train]\nclasses:\n  - {name: chat, nature: service, gpus: 1, replicas: {most: 8}%s}\n"
    head = "mix: x\nresource: nvidia.com/gpu\n"
    count = lambda jobs: {n: sum(j.namespace == n for j in jobs) for n in ("web", "lab")}  # noqa: E731
    assert count(made(text % "", head=head).jobs) == {"web": 4, "lab": 4}
    assert count(made(text % ", per: queue", head=head).jobs) == {"web": 8, "lab": 8}


def test_a_flat_service_needs_no_horizon():
    text = "queues: [serve]\nclasses:\n  - {name: a, nature: service, gpus: 1, replicas: {most: 2}, startup: 3m}\n"
    found = made(text, head="mix: x\nresource: nvidia.com/gpu\n")
    assert [(j.submit, j.duration, j.startup) for j in found.jobs] == [(0, 0, 180_000)] * 2
    assert found.horizon == 0


FAIL = "classes:\n  - {name: a, rate: 1/h, gpus: 1, duration: 1h}\nfailures:\n  - {nodes: '%s', mtbf: 10d, repair: {exponential: 6h}%s}\n"
HOSTS = tuple(Host(f"gpu-{n:03d}", {"pool": "x" if n % 2 else "y"}) for n in range(200))


def test_nodes_fail_and_come_back():
    found = made(FAIL % ("*", ""), SITE._replace(hosts=HOSTS), horizon=100 * DAY).nodes
    assert list(found) == sorted(found)
    by = defaultdict(list)
    for change in found:
        by[change.node].append(change)
    assert len(by) == 200
    lives, repairs = [], []
    for changes in by.values():
        assert [c.up for c in changes] == [n % 2 == 1 for n in range(len(changes))]
        up = 0
        for change in changes:
            (repairs if change.up else lives).append(change.at - up)
            up = change.at
    assert statistics.fmean(repairs) == pytest.approx(6 * HOUR, rel=0.06)
    assert statistics.fmean(lives) == pytest.approx(10 * DAY, rel=0.1)
    assert {c.why for c in found} == {"node failure", "node repaired"}


def test_only_nodes_that_fit_fail_each_from_a_stream_of_its_own():
    everyone = made(FAIL % ("*", ""), SITE._replace(hosts=HOSTS)).nodes
    some = made(FAIL % ("gpu-0*", ", labels: {pool: x}"), SITE._replace(hosts=HOSTS)).nodes
    assert some
    assert {c.node for c in some} <= {h.name for h in HOSTS if h.name < "gpu-1" and h.labels["pool"] == "x"}
    assert set(some) <= set(everyone)


@pytest.mark.parametrize(
    ("site", "head", "why"),
    [
        (SITE, HEAD, "the mix lets nodes fail, which needs an inventory of nodes: none fails"),
        (
            SITE._replace(hosts=HOSTS),
            HEAD,
            "no node fits 'tpu-*' with the labels of failures[0]: none of them fails",
        ),
    ],
)
def test_what_can_not_fail_is_told(site, head, why):
    assert why in made(FAIL % ("tpu-*", ""), site, head=head).notes
