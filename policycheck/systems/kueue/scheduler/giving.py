"""What an assignment comes to when it is given: the admission, and what that takes."""

from __future__ import annotations

from policycheck.systems.kueue.model import Admission, PodSetAssignment
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.entry import Entry
from policycheck.systems.kueue.scheduler.grant import Given, grant_of
from policycheck.systems.kueue.scheduler.state import Charges, Item


def give(entry: Entry, tree: Tree) -> Given:
    """What the entry's assignment gives, made once for all that share it."""
    made = entry.assignment.given
    if made is None:
        admission = _admission(entry)
        taken = charges(tree, entry.queue.node, admission)
        made = entry.assignment.given = Given(admission, taken, grant_of(admission))
    return made


def charges(tree: Tree, node: int, admission: Admission) -> Charges:
    """What ``admission`` takes in the queue at ``node``."""
    usage: dict[int, int] = {}
    for given in admission.pod_sets:
        for resource, flavor in given.flavors.items():
            cell = tree.cell(node, (flavor, resource))
            usage[cell] = usage.get(cell, 0) + given.usage.get(resource, 0)
    return tuple(usage.items()), frozenset(cell // tree.size for cell in usage)


def requests(item: Item) -> dict[str, int]:
    """What all its pods ask of quota."""
    total: dict[str, int] = {}
    for one in item.shape.sets:
        for resource, amount in one.total(one.pods).items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _admission(entry: Entry) -> Admission:
    shape = entry.item.shape
    sets = [
        PodSetAssignment(
            shape.sets[r.member].name,
            r.pods,
            {resource: c.flavor for resource, c in r.flavors.items()},
            {resource: c.amount for resource, c in r.flavors.items()},
            entry.assignment.topology.get(r.member),
            entry.assignment.delayed.get(r.member, ""),
        )
        for r in entry.assignment.sets
    ]
    return Admission(entry.queue.name, tuple(sets))
