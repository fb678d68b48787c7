"""How much of a cluster's accelerators can be allocated: pods in order of arrival until more have come than fit.

The protocol of the FGD study ("Beware of Fragmentation", USENIX ATC 2023): all pods in a random order, then
pods drawn from them with replacement, until their demand is ``until`` of the accelerators there are. Nothing
ever ends; a pod that does not fit is gone. The allocation at x % is the mean over the arrivals at which the
demand so far rounds to x %.

Policies, as the study defines them, and what has to be known to get its numbers:

    Random    any node with room, any card with room
    BestFit   the least that is left: half the CPU left over after placement, in parts of 128 cores, and half
              the accelerator left over in all, in parts of 8 cards; a share goes to the card with the least
              left on which it fits. The score is a whole number from 0 to 100: what is within 1/100 is equal.
    ties      equal nodes are taken in one order, drawn anew for each run and fixed for it (TIES: "order");
              "random" draws among them for each pod, "first" takes the inventory's order
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from policycheck.model.inventory import Node
from policycheck.simulate.card import WHOLE
from policycheck.simulate.draw import Draw, stream
from policycheck.simulate.job import Job
from policycheck.simulate.placement import DevicesOf, Ground, Load
from policycheck.systems.core.scheduler.ranking import Ranking
from policycheck.systems.core.scheduler.shape import Shapes

ORDER, RANDOM, FIRST = "order", "random", "first"
TIES = (ORDER, RANDOM, FIRST)
_CPU, _CARDS = 128_000, 8 * WHOLE  # the parts in which BestFit measures
Score = Callable[[int, Load], float]


class Policy(NamedTuple):
    """A way of choosing a node: the highest score, ties by ``ties``; cards by ``pick`` (device.take)."""

    name: str
    score: Callable[[Ground], Score]
    pick: str
    ties: str = ORDER


class Packed(NamedTuple):
    """One run. ``allocated[x]`` is the part of all cards in use, in percent, when x % had arrived."""

    policy: str
    ties: str
    seed: int
    arrived: int
    refused: int
    allocated: dict[int, float]


def _level(_: Ground) -> Score:
    return lambda _state, _load: 0


def _tightest(ground: Ground) -> Score:
    cpu = ground.columns.get("cpu", -1)
    left: dict[int, int] = {}

    def score(state: int, load: Load) -> int:
        _, free, cards = ground.of(state)
        idle = left.get(state)
        if idle is None:
            idle = left[state] = sum(card.milli for card in cards)
        asked = sum(load.ask.units.values()) * load.ask.milli if load.ask is not None else 0
        rest = (free[cpu] - load.vector[cpu]) / _CPU * 0.5 if cpu >= 0 else 0.0
        rest += (idle - asked) / _CARDS * 0.5
        return int((1.0 - rest) * 100)

    return score


RANDOM_FIT = Policy("Random", _level, "random", RANDOM)
BEST_FIT = Policy("BestFit", _tightest, "best")
POLICIES = {p.name: p for p in (RANDOM_FIT, BEST_FIT)}


def demand(job: Job, resource: str) -> int:
    """Thousandths of cards that one pod of the job asks for."""
    return sum(s.requests.get(resource, 0) for s in job.pod_sets[:1]) * job.milli


def arrivals(jobs: Sequence[Job], resource: str, capacity: int, until: float, seed: int) -> list[Job]:
    """The jobs in the order in which they arrive; ``capacity`` in thousandths of cards.

    Raises ValueError when no job asks for ``resource``: then the end never comes.
    """
    if not any(demand(job, resource) for job in jobs):
        raise ValueError(f"none of {len(jobs)} jobs asks for {resource}")
    order = list(jobs)
    stream(seed, "packing", "order").shuffle(order)
    asked = sum(demand(job, resource) for job in jobs)
    again = stream(seed, "packing", "again")
    while True:
        job = jobs[again.below(len(jobs))]
        # The study ends when one more card of the pod would be too much.
        if asked + (job.milli if demand(job, resource) else 0) > until * capacity:
            return order
        asked += demand(job, resource)
        order.append(job)


def pack(
    nodes: Iterable[Node],
    devices_of: DevicesOf,
    jobs: Sequence[Job],
    policy: Policy,
    seed: int,
    *,
    resource: str = "nvidia.com/gpu",
    until: float = 1.3,
) -> Packed:
    """Pods of ``jobs`` (one a job) on ``nodes`` under ``policy``, until ``until`` of all cards were asked for."""
    machines = list(nodes)
    if policy.ties == ORDER:
        stream(seed, "packing", "nodes").shuffle(machines)
    ground = Ground(machines, devices_of)
    total = ground.total(resource) * WHOLE
    if not total:
        raise ValueError(f"no node has {resource}")
    run = _Run(ground, policy, stream(seed, "packing", "ties", policy.name))
    order = arrivals(jobs, resource, total, until, seed)
    meter = _Meter(total)
    refused = 0
    for job in order:
        asked = demand(job, resource)
        placed = run.place(job)
        refused += not placed
        meter.note(asked, asked if placed else 0)
    return Packed(policy.name, policy.ties, seed, len(order), refused, meter.curve(round(until * 100)))


class _Run:
    """The nodes, and a ranking for every shape of pod."""

    def __init__(self, ground: Ground, policy: Policy, draw: Draw) -> None:
        self._ground, self._policy, self._draw = ground, policy, draw
        self._score = policy.score(ground)
        self._shapes = Shapes(ground)
        self._rankings: dict[object, Ranking] = {}

    def place(self, job: Job) -> bool:
        """Put the pod of ``job`` on a node; whether there was room."""
        shape = self._shapes.of(job.pod_sets[0], "", job.models, job.milli)
        key = (shape.load.number, id(shape.reach))
        ranking = self._rankings.get(key)
        if ranking is None:
            ranking = self._rankings[key] = Ranking(self._ground, shape.load, shape.reach, self._score)
        ranking.refresh()
        among = ranking.best()
        if not among:
            return False
        n = among[self._draw.below(len(among))] if self._policy.ties == RANDOM else among[0]
        draw = self._draw.bits() if self._policy.pick == "random" else 0
        self._ground.put(n, shape.load, self._policy.pick, draw)
        return True


class _Meter:
    """Allocation by how much has arrived."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._arrived = self._used = 0
        self._sums: dict[int, tuple[float, int]] = {}

    def note(self, asked: int, given: int) -> None:
        """A pod arrived."""
        self._arrived += asked
        self._used += given
        at = round(100 * self._arrived / self._total)
        total, steps = self._sums.get(at, (0.0, 0))
        self._sums[at] = (total + 100 * self._used / self._total, steps + 1)

    def curve(self, end: int) -> dict[int, float]:
        """Percent allocated at each percent arrived; a percent that was leapt over has the one before it."""
        found: dict[int, float] = {}
        last = 0.0
        for at in range(end + 1):
            if at in self._sums:
                total, steps = self._sums[at]
                last = total / steps
            found[at] = last
        return found
