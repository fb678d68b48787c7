"""What a job needs of its own queue's quota, flavor by flavor, for telling whether its guarantee is kept."""

from __future__ import annotations

from policycheck.model.amount import add
from policycheck.simulate.events import Pair, Wishes
from policycheck.systems.kueue.scheduler.plan import FlavorPlan
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.shape import Shape
from policycheck.systems.kueue.scheduler.state import Queue


def amount_of(shape: Shape, resource: str) -> int:
    """What all pods ask of ``resource``."""
    total = 0
    for one in shape.sets:
        total = add(total, one.total(one.pods).get(resource, 0))
    return total


def wishes(session: Session, queue: Queue, shape: Shape) -> Wishes:
    """The ways to hold a workload of ``shape`` at full size, in the order in which flavors are tried.

    The nth way takes of every resource group the nth flavor that is for its pods, or the last; () when
    some group has none. Combinations beyond that are left out: podsets rarely differ in what they may use.
    """
    plan = session.plan(queue, shape, tuple(s.pods for s in shape.sets))
    choices: list[list[FlavorPlan]] = []
    for sets in plan.sets:
        if sets.missing:
            return ()
        for group in sets.groups:
            allowed = [f for f in group.flavors if not f.refusal]
            if not allowed:
                return ()
            choices.append(allowed)
    pairs = session.trees[queue.tree].pairs
    size = session.trees[queue.tree].size
    found: dict[tuple[tuple[Pair, int], ...], None] = {}
    for number in range(max((len(some) for some in choices), default=0)):
        wish: dict[Pair, int] = {}
        for some in choices:
            for _, cell, amount in some[min(number, len(some) - 1)].needs:
                pair = pairs[cell // size]
                wish[pair] = wish.get(pair, 0) + amount
        found[tuple(sorted(wish.items()))] = None
    return tuple(found)
