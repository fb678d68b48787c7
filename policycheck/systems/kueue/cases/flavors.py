"""Situations that ask for the flavors of one workload, preemption being answered for."""

from __future__ import annotations

from collections.abc import Callable

from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import read
from policycheck.systems.kueue.case import Answer, Case, UnsupportedError
from policycheck.systems.kueue.cases.world import amounts, open_session, read_world
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.assign import (
    MODES,
    NO_CANDIDATES,
    NO_FIT,
    PREEMPT,
    RECLAIM,
    Assigner,
    Assignment,
)
from policycheck.systems.kueue.scheduler.state import Item
from policycheck.systems.kueue.scheduler.topology import Placer

_ANSWERS = {"NoCandidates": NO_CANDIDATES, "Preempt": PREEMPT, "Reclaim": RECLAIM}


def assignment(case: Case) -> Answer:
    """The assignment of the case's workload."""
    world = read_world(case)
    session = open_session(world)
    asked = mapping(case.get("input"))
    queue = session.queues[text(asked.get("targetClusterQueue"))]
    tree = session.trees[queue.tree]
    others = [q for q in session.queues.values() if q is not queue]
    for one, field in [(queue, "clusterQueueUsage"), *((q, "secondaryClusterQueueUsage") for q in others)]:
        for pair, amount in amounts(asked.get(field)):
            home = session.trees[one.tree]
            home.add(home.cell(one.node, pair), amount)
    item = session.make(read.workload(mapping(asked.get("workload")), []))
    if asked.get("replacedWorkloadSliceTotalRequests"):
        raise UnsupportedError("elastic workload slices")
    plan = session.plan(queue, item.shape, tuple(s.pods for s in item.shape.sets))
    oracle = _oracle(tree, mapping(asked.get("preemptionOracle")))
    made = Assigner(tree, queue.rules, oracle).assign(plan)
    if session.land is not None and queue.traits is not None and made.mode != NO_FIT:
        Placer(session.land, session.world.profile, queue.traits, item).settle(made)
    return {"assignment": shown(made, item)}


def _oracle(tree: Tree, script: object) -> Callable[[int, int], tuple[int, int]]:
    """What the case says preemption would answer."""
    said = mapping(script)
    table = {
        (text(a.get("flavor")), text(a.get("resource"))): a
        for a in (mapping(x) for x in items(said.get("byFlavorResource")))
    }

    def answer(cell: int, _amount: int) -> tuple[int, int]:
        found = mapping(table.get(tree.pairs[cell // tree.size], said.get("default")))
        return _ANSWERS[text(found.get("possibility"))], int(found.get("borrowingAfterSimulation") or 0)

    return answer


def shown(made: Assignment, item: Item) -> Answer:
    """An assignment in the form that was recorded."""
    sets = [
        {
            "name": item.shape.sets[r.member].name,
            "count": r.pods,
            "flavors": {
                resource: {"name": c.flavor, "mode": MODES[c.mode], "borrow": c.height}
                for resource, c in r.flavors.items()
            },
        }
        for r in made.sets
    ]
    return {
        "representativeMode": MODES[made.mode],
        "borrowing": made.height,
        "noFitReason": made.reason,
        "podSets": sets,
    }
