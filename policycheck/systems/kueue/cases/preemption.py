"""Situations that ask for the victims of one workload under a given assignment."""

from __future__ import annotations

from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import read
from policycheck.systems.kueue.case import Answer, Case, UnsupportedError
from policycheck.systems.kueue.cases.world import open_session, read_world
from policycheck.systems.kueue.scheduler.nominate import Nominator
from policycheck.systems.kueue.scheduler.victims import Contest


def targets(case: Case) -> Answer:
    """The victims, each with its reason."""
    world = read_world(case)
    if any(
        w.admission and any(s.topology for s in w.admission.pod_sets)
        for w in world.objects.workloads.values()
    ):
        raise UnsupportedError("topology-aware scheduling")
    session = open_session(world)
    asked = mapping(case.get("input"))
    queue = session.queues[text(asked.get("targetClusterQueue"))]
    tree = session.trees[queue.tree]
    item = session.make(read.workload(mapping(asked.get("incoming")), []))
    item.queue = queue
    usage: dict[int, int] = {}
    contested = set()
    for shape, raw in zip(
        item.shape.sets, items(mapping(asked.get("assignment")).get("podSets")), strict=False
    ):
        given = mapping(raw)
        pods = int(given.get("count", shape.pods))
        wants = shape.total(pods)
        for resource, chosen in mapping(given.get("flavors")).items():
            flavor = mapping(chosen)
            cell = tree.cell(queue.node, (text(flavor.get("name")), resource))
            usage[cell] = usage.get(cell, 0) + wants.get(resource, 0)
            if flavor.get("mode") == "Preempt":
                contested.add(cell // tree.size)
    amounts = tuple((cell, v) for cell, v in usage.items() if v)
    contest = Contest(
        item, queue, tree, session.members[queue.tree], amounts, frozenset(contested), session.now
    )
    found = Nominator(session.scene(queue.tree)).targets(contest)
    return {
        "targets": [
            {"workload": v.id, "reason": reason, "clusterQueue": v.queue.name if v.queue else ""}
            for v, reason in found
        ]
    }
