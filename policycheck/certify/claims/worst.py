"""Room for a service in the worst state of batch work: arithmetic over nodes.

Batch work holds at most what quota gives in each flavor, and takes the nodes where it hurts most: of a node
with 8 GPUs one is enough to keep out pods of 8. A node that serves so many pods loses the first one for what
is left over on it and one unit more, every other one for what a pod takes; the cheapest go first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from policycheck.certify.arena import Arena, Load
from policycheck.model.placement import Toleration
from policycheck.model.workload import PodSet


class Spot(NamedTuple):
    """Alike nodes: how many, what is free of the resource, how many of the pods fit, and through which flavors
    batch work comes here.
    """

    machines: int
    free: int
    fits: int
    flavors: frozenset[str]


def spots(
    arena: Arena,
    spec: PodSet,
    flavors: tuple[str, ...],
    resource: str,
    batch: Sequence[str],
    tolerations: tuple[Toleration, ...],
) -> list[Spot]:
    """The nodes to which the pods may go. ``batch`` are the flavors with quota of ``resource``, and
    ``tolerations`` what its pods bring.
    """
    small = PodSet("unit", 1, {resource: 1}, tolerations=tolerations)
    # One load a flavor tells which classes of nodes it leads to.
    loads = [Load("service", spec._replace(pods=1), 1, flavors)]
    loads += [Load(flavor, small, 1, (flavor,)) for flavor in batch]
    posed = arena.posed(loads)
    if posed.why:
        return []
    mine = {n for home in posed.demands[0].allowed for n in home}
    each = posed.demands[0].parts[0].each
    found = []
    for n in sorted(mine):
        one = posed.classes[n]
        through = [
            f for f, d in zip(batch, posed.demands[1:], strict=True) if any(n in home for home in d.allowed)
        ]
        fits = min(one.free.get(r, 0) // a for r, a in each.items())
        found.append(Spot(one.machines, one.free.get(resource, 0), fits, frozenset(through)))
    return found


def left(some: Sequence[Spot], each: int, budget: Mapping[str, int], *, certain: bool) -> int:
    """Pods that still go there when batch work has done its worst with what quota gives in each flavor.

    A lower bound: any flavor that leads to a node may spend all budgets there together. With ``certain`` an
    upper one: only what some flavor by itself can do.
    """
    total = sum(spot.machines * spot.fits for spot in some)
    if certain:
        return total - max(
            (_taken([s for s in some if f in s.flavors], each, b, certain=True) for f, b in budget.items()),
            default=0,
        )
    open_to = [s for s in some if s.flavors]
    reach = {f for s in open_to for f in s.flavors}
    return total - _taken(open_to, each, sum(b for f, b in budget.items() if f in reach), certain=False)


def _taken(some: Sequence[Spot], each: int, budget: int, *, certain: bool) -> int:
    """The most pods that ``budget`` units keep out; with ``certain`` no more than surely are.

    Where another resource ends first, the first pod of a node costs more than the next ones, and nodes are
    emptied as a whole.
    """
    # Cheapest first, as for a knapsack that may take a part of the last item: no choice does better.
    costs: list[tuple[int, int, int]] = []  # units, pods that go for it, times
    for spot in some:
        if not spot.fits:
            continue
        first = spot.free - spot.fits * each + 1
        if first <= each:
            costs += [(first, 1, spot.machines), (each, 1, spot.machines * (spot.fits - 1))]
        else:
            costs.append((first + each * (spot.fits - 1), spot.fits, spot.machines))
    gone = 0
    for cost, pods, times in sorted(costs, key=lambda c: (Fraction(c[0], c[1]), c)):
        often = min(times, budget // cost)
        gone += pods * often
        budget -= cost * often
        if often < times and pods > 1 and not certain:
            return gone + pods
    return gone
