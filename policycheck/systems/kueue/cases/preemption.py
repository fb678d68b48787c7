"""Situations that ask for the victims of one workload under a given assignment."""

from __future__ import annotations

from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import read
from policycheck.systems.kueue.case import Answer, Case
from policycheck.systems.kueue.cases.world import open_session, read_world
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.assign import FIT, PREEMPT, Assignment, Chosen, SetResult
from policycheck.systems.kueue.scheduler.nominate import Nominator
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.topology import Placer
from policycheck.systems.kueue.scheduler.victims import Contest


def targets(case: Case) -> Answer:
    """The victims, each with its reason."""
    world = read_world(case)
    session = open_session(world)
    asked = mapping(case.get("input"))
    queue = session.queues[text(asked.get("targetClusterQueue"))]
    tree = session.trees[queue.tree]
    item = session.make(read.workload(mapping(asked.get("incoming")), []))
    item.queue = queue
    made = _given(asked.get("assignment"), item, tree, queue)
    amounts = tuple((cell, v) for cell, v in made.usage.items() if v)
    contest = Contest(item, queue, tree, session.members[queue.tree], amounts, made.columns, session.now)
    if session.land is not None and queue.traits is not None:
        placer = Placer(session.land, session.world.profile, queue.traits, item)
        asks = placer.asks(made)
        place = (lambda: placer.find(asks).failure is None) if asks else None
        contest = contest._replace(land=session.land, place=place)
    found = Nominator(session.scene(queue.tree)).targets(contest)
    return {
        "targets": [
            {"workload": v.id, "reason": reason, "clusterQueue": v.queue.name if v.queue else ""}
            for v, reason in found
        ]
    }


def _given(raw: object, item: Item, tree: Tree, queue: Queue) -> Assignment:
    """The assignment that the case gives."""
    made = Assignment()
    made.size, made.mode = tree.size, PREEMPT
    given = [mapping(s) for s in items(mapping(raw).get("podSets"))]
    for member, (shape, one) in enumerate(zip(item.shape.sets, given, strict=False)):
        pods = int(one.get("count", shape.pods))
        wants = shape.total(pods)
        flavors: dict[str, Chosen] = {}
        for resource, chosen in mapping(one.get("flavors")).items():
            flavor = mapping(chosen)
            cell = tree.cell(queue.node, (text(flavor.get("name")), resource))
            amount = wants.get(resource, 0)
            mode = PREEMPT if flavor.get("mode") == "Preempt" else FIT
            flavors[resource] = Chosen(text(flavor.get("name")), mode, 0, cell, amount)
            made.usage[cell] = made.usage.get(cell, 0) + amount
        made.sets.append(SetResult(member, pods, flavors, wants, True, ""))
    made.contest()
    return made
