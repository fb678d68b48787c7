"""Situations that ask one function each."""

from __future__ import annotations

from typing import Any

from policycheck.model.amount import UNLIMITED
from policycheck.model.amount import write as write_amount
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import read
from policycheck.systems.kueue.case import Answer, Case
from policycheck.systems.kueue.cases.world import amounts, open_session, read_world
from policycheck.systems.kueue.model import ClusterQueue, FlavorFungibility
from policycheck.systems.kueue.quota import build
from policycheck.systems.kueue.scheduler.assign import FIT, NO_FIT, PREEMPT, Assignment
from policycheck.systems.kueue.scheduler.cycle import Cycle
from policycheck.systems.kueue.scheduler.entry import Entry
from policycheck.systems.kueue.scheduler.moment import moment
from policycheck.systems.kueue.scheduler.plan import Rules
from policycheck.systems.kueue.scheduler.process import to_reserve
from policycheck.systems.kueue.scheduler.reduce import search
from policycheck.systems.kueue.scheduler.share import Shares
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.victims import sort


def quota_available(case: Case) -> Answer:
    """Free and potential quota of every queue."""
    world = read_world(case)
    forest = build(world.objects.cluster_queues.values(), world.objects.cohorts.values())
    usage = mapping(mapping(case.get("input")).get("usage"))
    for name, raw in usage.items():
        tree, node = forest.place[name]
        for pair, amount in amounts(raw):
            forest.trees[tree].add(forest.trees[tree].cell(node, pair), amount)
    free: dict[str, list[dict[str, Any]]] = {}
    most: dict[str, list[dict[str, Any]]] = {}
    for name, (number, node) in forest.place.items():
        home = forest.trees[number]
        for pair in home.nodes[node].quotas:
            cell = home.cell(node, pair)
            free.setdefault(name, []).append(_cell(pair, home.free(cell)))
            most.setdefault(name, []).append(_cell(pair, home.ceiling[cell]))
    return {"available": free, "potentiallyAvailable": most}


def _cell(pair: tuple[str, str], amount: int) -> dict[str, Any]:
    value = min(amount, UNLIMITED)
    shown = "<unlimited>" if value == UNLIMITED else str(value)
    return {"flavor": pair[0], "resource": pair[1], "amount": value, "text": shown}


def dominant_resource_share(case: Case) -> Answer:
    """The share of every queue and cohort."""
    world = read_world(case)
    asked = mapping(case.get("input"))
    forest = build(world.objects.cluster_queues.values(), world.objects.cohorts.values())
    number, node = forest.place[text(asked.get("usageClusterQueue"))]
    for pair, amount in amounts(asked.get("usage")):
        forest.trees[number].add(forest.trees[number].cell(node, pair), amount)
    extra = amounts(asked.get("additionalRequest"))
    out = []
    for kind, places in (("ClusterQueue", forest.place), ("Cohort", forest.cohorts)):
        for name, (number, node) in places.items():
            tree = forest.trees[number]
            before = tree.usage.copy()
            # The question adds the request to each node by itself, whatever its parents hold.
            for pair, amount in extra:
                cell = tree.cell(node, pair)
                tree.usage[cell] += amount
                before.extend([0] * (len(tree.usage) - len(before)))
            share = Shares(tree).share(node)
            tree.usage[:] = before
            out.append(
                {
                    "kind": kind,
                    "name": name,
                    "weightedShareRounded": share.value,
                    "dominantResource": share.dominant,
                    "borrowing": share.borrowing,
                }
            )
    return {"shares": out}


def cluster_queue_usage(case: Case) -> Answer:
    """Reserved and used quota of the one ClusterQueue that is asked about."""
    world = read_world(case)
    session = open_session(world)
    queue = next(iter(session.queues.values()))
    tree = session.trees[queue.tree]
    holders = list(queue.holders.values())
    used: dict[int, int] = {}
    for item in holders:
        if item.admitted:
            for cell, amount in item.amounts:
                used[cell] = used.get(cell, 0) + amount
    reserved = {cell: tree.usage[cell] for cell in range(len(tree.usage))}

    def rows(usage: dict[int, int]) -> list[dict[str, Any]]:
        out = []
        for group in queue.config.groups:
            for flavor in group.flavors:
                resources = []
                for resource in flavor.resources:
                    cell = tree.cell(queue.node, (flavor.name, resource))
                    total = usage.get(cell, 0)
                    over = max(0, total - tree.nominal[cell]) if queue.config.cohort else 0
                    resources.append(
                        {
                            "name": resource,
                            "total": write_amount(resource, total),
                            "borrowed": write_amount(resource, over),
                        }
                    )
                out.append({"name": flavor.name, "resources": resources})
        return out

    return {
        "reservedResources": rows(reserved),
        "usedResources": rows(used),
        "reservingWorkloads": len(holders),
        "admittedWorkloads": sum(i.admitted for i in holders),
    }


def pod_set_reducer(case: Case) -> Answer:
    """The largest total that fits."""
    asked = mapping(case.get("input"))
    spans = []
    for raw in items(asked.get("podSets")):
        p = mapping(raw)
        spans.append((int(p.get("count", 1)), p.get("minCount")))
    most = int(asked.get("fitsWhenTotalAtMost", 0))
    found = search(spans, lambda counts: sum(counts) if sum(counts) <= most else None)
    return {"found": found is not None, "total": found or 0}


def entry_ordering(case: Case) -> Answer:
    """The order in which one cycle decides."""
    session = open_session(read_world(case))
    queue_of: list[Queue] = []
    entries = []
    for raw in items(mapping(case.get("input")).get("entries")):
        asked = mapping(raw)
        item = session.make(read.workload(mapping(asked.get("workload")), []))
        item.reserved = item.workload.has("QuotaReserved")
        assignment = Assignment()
        assignment.height = int(asked.get("borrowing", 0))
        queue = _lone(len(queue_of))
        if asked.get("isPreemptor"):
            queue.preemptor = item
        queue_of.append(queue)
        entries.append(Entry(item, queue, assignment, []))
    ordered = Cycle(session).classical(entries)
    return {"order": [entry.item.workload.name for entry in ordered]}


def _lone(number: int) -> Queue:
    """A queue that stands for nothing but itself."""
    return Queue(ClusterQueue(f"queue {number}"), 0, number, Rules(FlavorFungibility(), False))


_MODES = {"NoFit": NO_FIT, "Preempt": PREEMPT, "Fit": FIT}


def resources_to_reserve(case: Case) -> Answer:
    """What a head without victims holds back."""
    asked = mapping(case.get("input"))
    forest = build(*_queues(case))
    name = text(asked.get("clusterQueue")) or next(iter(forest.place))
    number, node = forest.place[name]
    tree = forest.trees[number]
    for pair, amount in amounts(asked.get("clusterQueueUsage")):
        tree.add(tree.cell(node, pair), amount)
    assignment = Assignment()
    assignment.height = int(asked.get("borrowing", 0))
    assignment.mode = _MODES[text(asked.get("assignmentMode"))]
    assignment.amounts = tuple((tree.cell(node, p), v) for p, v in amounts(asked.get("assignmentUsage")))
    held = assignment.amounts if assignment.mode != PREEMPT else to_reserve(assignment, tree)
    return {
        "reserved": [
            {"flavor": tree.pairs[c // tree.size][0], "resource": tree.pairs[c // tree.size][1], "amount": v}
            for c, v in held
        ]
    }


def _queues(case: Case) -> tuple[Any, Any]:
    objects = read_world(case).objects
    return objects.cluster_queues.values(), objects.cohorts.values()


def candidates_ordering(case: Case) -> Answer:
    """The order in which victims are tried."""
    world = read_world(case)
    session = open_session(world)
    asked = mapping(case.get("input"))
    own = text(asked.get("preemptorClusterQueue"))
    queues: dict[str, Queue] = {}
    use: dict[str, float | None] = {}
    standing: list[tuple[Any, Item, None]] = []
    for raw in items(asked.get("candidates")):
        candidate = mapping(raw)
        item = session.make(read.workload(mapping(candidate.get("workload")), []))
        reserved = item.workload.conditions.get("QuotaReserved")
        item.reserved = reserved is not None and reserved.status
        item.reserved_at = moment(reserved.since) if reserved is not None else 0
        name = text(candidate.get("clusterQueue"))
        item.queue = queues.setdefault(name, _lone(len(queues)))
        use[item.id] = candidate.get("localQueueFSUsage")
        standing.append(((not item.evicted, name == own), item, None))
    local_use = None
    if mapping(case.get("configuration")).get("admissionFairSharing"):

        def local_use(item: Item) -> float | None:
            return use[item.id]

    ordered = sort(standing, world.now, local_use)
    return {"order": [item.workload.name for _, item, _ in ordered]}
