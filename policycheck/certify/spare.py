"""Hardware that nothing of what is certified needs: whole machines, and what they have beside their accelerators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil

from policycheck.certify.needed import Matter, grouped
from policycheck.model.inventory import Inventory, Node
from policycheck.model.workload import PodSet

MOST_ASKED = 120  # times that it is asked whether less hardware is enough


def spare(
    inventory: Inventory,
    matter: Matter,
    holds: Callable[[Inventory], bool],
    *,
    backwards: bool = False,
    most: int = MOST_ASKED,
) -> Inventory:
    """The inventory less as many machines of each group as ``holds`` without them, group after group; from the last
    group on with ``backwards``. ``holds`` is asked at most ``most`` times, log2 n times for n alike machines; groups
    that are not reached stay as they are.
    """
    found = grouped(inventory, matter)
    left, asked = inventory, 0
    for key in sorted(found, reverse=backwards):
        names = [node.name for node in found[key] for _ in range(node.machines)]
        low, high = 0, len(names)
        while low < high and asked < most:
            middle = (low + high + 1) // 2
            asked += 1
            if holds(_less(left, names[-middle:])):
                low = middle
            else:
                high = middle - 1
        left = _less(left, names[len(names) - low :])
    return left


def lean(inventory: Inventory, pods: Sequence[PodSet], accelerators: Sequence[str]) -> Inventory:
    """The inventory with no more beside accelerators than pods can use that ask for those, at the ratio that the
    greediest of them has, and what all pods take that ask for none.
    """
    asking = [spec for spec in pods if any(spec.requests.get(a, 0) for a in accelerators)]
    beside: Counter[str] = Counter()
    for spec in pods:
        if spec not in asking:
            beside.update({r: v * spec.pods for r, v in spec.requests.items()})
            beside.update({"pods": spec.pods})

    def most(resource: str, node: Node) -> int:
        total = beside[resource]
        for one in accelerators:
            ratios = [
                Fraction(1 if resource == "pods" else spec.requests.get(resource, 0), spec.requests[one])
                for spec in asking
                if spec.requests.get(one, 0)
            ]
            total += ceil(max(ratios, default=Fraction(0)) * (node.free(one) or 0))
        return total

    def trimmed(node: Node) -> Node:
        if node.allocatable is None or not any(node.free(a) for a in accelerators):
            return node
        held = {
            r: v if r in accelerators else min(v, node.committed.get(r, 0) + most(r, node))
            for r, v in node.allocatable.items()
        }
        return node._replace(allocatable=held)

    return inventory._replace(nodes=tuple(map(trimmed, inventory.nodes)))


def _less(inventory: Inventory, names: Sequence[str]) -> Inventory:
    """Without machines: each name takes one of the record that has it."""
    gone = Counter(names)
    kept = []
    for node in inventory.nodes:
        many = min(gone.pop(node.name, 0), node.machines)
        most = None if node.most is None else node.most - many
        if many < node.machines or node.machines == 0:
            kept.append(node._replace(machines=node.machines - many, most=most) if many else node)
    return inventory._replace(nodes=tuple(kept))
