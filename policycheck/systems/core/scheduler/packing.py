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
    FGD       the least growth of what others can not use (module fgd)
    ties      equal nodes are taken in one order, drawn anew for each run and fixed for it (TIES: "order");
              "random" draws among them for each pod, "first" takes the inventory's order

With ties by "order" the recorded means of ten seeds come out within 0.1 point for all three. For BestFit the
rule is worth 0.1 point; FGD, for which most nodes are equal most of the time, falls from 95.4 % to 90.1 %
when it draws among them for each pod.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from policycheck.model.inventory import Node
from policycheck.simulate.card import WHOLE
from policycheck.simulate.draw import Draw, stream
from policycheck.simulate.job import Job
from policycheck.simulate.measure import Shape
from policycheck.simulate.placement import DevicesOf, Ground, Load
from policycheck.systems.core.scheduler.fgd import Gradient, Way, common
from policycheck.systems.core.scheduler.ranking import Ranking
from policycheck.systems.core.scheduler.shape import Shapes

ORDER, RANDOM, FIRST = "order", "random", "first"
TIES = (ORDER, RANDOM, FIRST)
_CPU, _CARDS = 128_000, 8 * WHOLE  # the parts in which BestFit measures


class Scorer(NamedTuple):
    """Scores a node in a state for a load, which has room there; the higher the better. ``way`` are the
    cards that go with the score; without it the policy's ``pick`` says them.
    """

    score: Callable[[int, Load], float]
    way: Callable[[int, Load], Way | None] | None = None


class Policy(NamedTuple):
    """A way of choosing a node: the highest score, ties by ``ties``; cards by ``pick`` (device.take).
    ``scorer`` is made of the ground, of all jobs, and of the resource that cards go by.
    """

    name: str
    scorer: Callable[[Ground, Sequence[Job], str], Scorer]
    pick: str
    ties: str = ORDER


class Study(NamedTuple):
    """What is packed where: ``jobs`` of one pod each, on ``nodes``, until ``until`` of all cards were asked
    for. ``fragment``: it is measured after every arrival.
    """

    nodes: Sequence[Node]
    devices_of: DevicesOf
    jobs: Sequence[Job]
    resource: str = "nvidia.com/gpu"
    until: float = 1.3
    fragment: bool = False


class Packed(NamedTuple):
    """One run. ``allocated[x]`` is the part of all cards in use, in percent, when x % had arrived;
    ``fragment[x]`` the part of all cards that is idle and of no use to the commonest pods, as FGD defines it
    (empty when it was not asked for).
    """

    policy: str
    ties: str
    seed: int
    arrived: int
    refused: int
    allocated: dict[int, float]
    fragment: dict[int, float]


def _level(*_: object) -> Scorer:
    return Scorer(lambda _state, _load: 0)


class _Tightest:
    """What is left over, as BestFit measures it; whole numbers unless ``exact``."""

    def __init__(self, ground: Ground, *, exact: bool = False) -> None:
        self._ground = ground
        self._cpu = ground.columns.get("cpu", -1)
        self._idle: dict[int, int] = {}
        self._exact = exact

    def __call__(self, state: int, load: Load) -> float:
        _, free, cards = self._ground.of(state)
        idle = self._idle.get(state)
        if idle is None:
            idle = self._idle[state] = sum(card.milli for card in cards)
        asked = sum(load.ask.units.values()) * load.ask.milli if load.ask is not None else 0
        rest = (idle - asked) / _CARDS * 0.5
        if self._cpu >= 0:
            rest += (free[self._cpu] - load.vector[self._cpu]) / _CPU * 0.5
        return -rest if self._exact else int((1.0 - rest) * 100)


def _gradient(ground: Ground, jobs: Sequence[Job], resource: str) -> Scorer:
    gradient = Gradient(ground, common(jobs, resource))
    return Scorer(gradient, gradient.way)


RANDOM_FIT = Policy("Random", _level, "random", RANDOM)
BEST_FIT = Policy("BestFit", lambda ground, *_: Scorer(_Tightest(ground)), "best")
EXACT_FIT = Policy("BestFit, not rounded", lambda ground, *_: Scorer(_Tightest(ground, exact=True)), "best")
FGD = Policy("FGD", _gradient, "best")
POLICIES = {p.name: p for p in (RANDOM_FIT, BEST_FIT, FGD)}


def demand(job: Job, resource: str) -> int:
    """Thousandths of cards that one pod of the job asks for."""
    return sum(s.requests.get(resource, 0) for s in job.pod_sets[:1]) * job.milli


def arrivals(study: Study, capacity: int, seed: int) -> list[Job]:
    """The jobs in the order in which they arrive; ``capacity`` in thousandths of cards.

    Raises ValueError when no job asks for the resource: then the end never comes.
    """
    jobs = study.jobs
    if not any(demand(job, study.resource) for job in jobs):
        raise ValueError(f"none of {len(jobs)} jobs asks for {study.resource}")
    order = list(jobs)
    stream(seed, "packing", "order").shuffle(order)
    asked = sum(demand(job, study.resource) for job in jobs)
    again = stream(seed, "packing", "again")
    while True:
        job = jobs[again.below(len(jobs))]
        more = demand(job, study.resource)
        # The study ends when one more card of the pod would be too much.
        if asked + (job.milli if more else 0) > study.until * capacity:
            return order
        asked += more
        order.append(job)


def pack(study: Study, policy: Policy, seed: int) -> Packed:
    """One run of ``study`` under ``policy``.

    Raises ValueError when no node has the resource, or no job asks for it.
    """
    machines, jobs, resource = list(study.nodes), study.jobs, study.resource
    if policy.ties == ORDER:
        stream(seed, "packing", "nodes").shuffle(machines)
    ground = Ground(machines, study.devices_of)
    total = ground.total(resource) * WHOLE
    if not total:
        raise ValueError(f"none of {len(machines)} nodes has {resource}")
    run = _Run(ground, policy, policy.scorer(ground, jobs, resource), stream(seed, "packing", policy.name))
    order = arrivals(study, total, seed)
    used, lost = _Curve(total), _Curve(total)
    gauge = _Fragments(ground, common(jobs, resource)) if study.fragment else None
    refused = arrived = allocated = 0
    for job in order:
        asked = demand(job, resource)
        n = run.place(job)
        arrived += asked
        allocated += asked if n >= 0 else 0
        refused += n < 0
        used.note(arrived, allocated)
        if gauge is not None:
            lost.note(arrived, gauge.after(n))
    end = round(study.until * 100)
    return Packed(
        policy.name,
        policy.ties,
        seed,
        len(order),
        refused,
        used.until(end),
        lost.until(end) if study.fragment else {},
    )


class _Run:
    """The nodes, and a ranking for every shape of pod."""

    def __init__(self, ground: Ground, policy: Policy, scorer: Scorer, draw: Draw) -> None:
        self._ground, self._policy, self._draw = ground, policy, draw
        self._scorer = scorer
        self._shapes = Shapes(ground)
        self._rankings: dict[object, Ranking] = {}

    def place(self, job: Job) -> int:
        """Put the pod of ``job`` on a node: which one; -1 when none has room."""
        ground, policy = self._ground, self._policy
        shape = self._shapes.of(job.pod_sets[0], "", job.models, job.milli)
        key = (shape.load.number, id(shape.reach))
        ranking = self._rankings.get(key)
        if ranking is None:
            ranking = self._rankings[key] = Ranking(ground, shape.load, shape.reach, self._scorer.score)
        ranking.refresh()
        among = ranking.best()
        if not among:
            return -1
        n = among[self._draw.below(len(among))] if policy.ties == RANDOM else among[0]
        draw = self._draw.bits() if policy.pick == "random" else 0
        way = self._scorer.way(ground.state[n], shape.load) if self._scorer.way is not None else None
        ground.put(n, shape.load, policy.pick, draw, way)
        return n


class _Fragments:
    """The fragment over all nodes, kept up node by node."""

    def __init__(self, ground: Ground, mix: Sequence[Shape]) -> None:
        self._gradient = Gradient(ground, mix)
        self._parts = [self._gradient.fragment(n) for n in range(len(ground.nodes))]
        self._sum = sum(self._parts)

    def after(self, n: int) -> float:
        """The sum once node ``n`` has changed; -1: none has."""
        if n >= 0:
            part = self._gradient.fragment(n)
            self._sum += part - self._parts[n]
            self._parts[n] = part
        return self._sum / self._gradient.weight


class _Curve:
    """An amount against what has arrived, both in percent of all cards."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._sums: dict[int, tuple[float, int]] = {}

    def note(self, arrived: int, amount: float) -> None:
        """The amount after an arrival."""
        at = round(100 * arrived / self._total)
        total, steps = self._sums.get(at, (0.0, 0))
        self._sums[at] = (total + 100 * amount / self._total, steps + 1)

    def until(self, end: int) -> dict[int, float]:
        """The mean at each percent arrived; a percent that was leapt over has the one before it."""
        found: dict[int, float] = {}
        last = 0.0
        for at in range(end + 1):
            if at in self._sums:
                total, steps = self._sums[at]
                last = total / steps
            found[at] = last
        return found
