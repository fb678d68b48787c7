"""Small nodes and pods, said in few words."""

from __future__ import annotations

import pytest

from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.model.workload import PodSet
from policycheck.simulate.device import Card, CardKind
from policycheck.simulate.placer import Set
from policycheck.systems.core.scheduler.placer import NodePlacer

GI = 2**30


def make_node(name, cpu=8, memory=32, gpus=0, *, labels=(), taints=(), model="", **more):
    """A node with so many cores, Gi and GPUs; ``labels`` as {"zone": "a"}."""
    exact = Range(gpus, gpus)
    cards = Accelerators(model, exact, exact, resource="nvidia.com/gpu") if gpus else None
    amounts = {"cpu": cpu * 1000, "memory": memory * GI, "pods": 110}
    if gpus:
        amounts["nvidia.com/gpu"] = gpus
    all_labels = {"kubernetes.io/hostname": name, **dict(labels)}
    return Node(name, all_labels, tuple(taints), amounts, accelerators=cards, **more)


def make_set(pods=1, cpu=1, memory=1, gpus=0, *, milli=1000, models=(), fixed=(), **spec):
    """Pods of one shape. Requests of 0 are left out."""
    asked = {"cpu": cpu * 1000, "memory": memory * GI, "nvidia.com/gpu": gpus}
    requests = {resource: amount for resource, amount in asked.items() if amount}
    return Set(PodSet(spec.pop("name", "main"), pods, requests, **spec), pods, models, milli, fixed)


def cards_of(node):
    """One whole card for every GPU."""
    number = node.accelerators.physical.low if node.accelerators else 0
    model = node.accelerators.model if node.accelerators else ""
    return (Card(CardKind(model, "nvidia.com/gpu")),) * number


@pytest.fixture
def node():
    return make_node


@pytest.fixture
def pods():
    return make_set


@pytest.fixture
def devices():
    return cards_of


@pytest.fixture
def placer():
    """A placer on the given nodes."""

    def make(*nodes, **options):
        return NodePlacer(nodes, devices_of=cards_of, **options)

    return make


@pytest.fixture
def where():
    """{node: pods} of everything that was placed."""

    def told(placed):
        found = {}
        for one in placed.sets:
            for name, number in one.where:
                found[name] = found.get(name, 0) + number
        return found

    return told
