"""Kueue's quota rights, out of its quota algebra and preemption policies.

A queue is sure of what it never lends, or others may not borrow; of all its nominal quota only when reclaimWithinCohort lets it
take back what others borrow, whoever they are (documentation "Cohort", "Preemption"; #4809, #672).
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.amount import UNLIMITED
from policycheck.simulate.rights import Shortage, Taking
from policycheck.systems.kueue.model import KueueObjects
from policycheck.systems.kueue.quota import Forest, Tree, build
from policycheck.systems.kueue.scheduler.compile import inactive
from policycheck.systems.kueue.taking import ways
from policycheck.systems.kueue.target import Target, strategy

_LATEST = Target()


class KueueRights:
    """Implements simulate.rights.Rights. Unknown queues and pairs have no rights: every amount is 0."""

    def __init__(self, objects: KueueObjects, target: Target = _LATEST) -> None:
        rules = strategy(target)
        self._objects = objects
        self._forest: Forest = build(
            objects.cluster_queues.values(), objects.cohorts.values(), lending=rules.lending
        )
        self._rules = rules
        self._beyond: dict[tuple[int, tuple[str, str]], int] = {}

    def queues(self) -> list[str]:
        """All ClusterQueues, sorted."""
        return sorted(self._objects.cluster_queues)

    def resources(self, queue: str) -> list[tuple[str, str]]:
        """(flavor, resource) pairs of the queue, in the order written."""
        place = self._forest.place.get(queue)
        return [] if place is None else list(self._forest.trees[place[0]].nodes[place[1]].quotas)

    def _cell(self, queue: str, flavor: str, resource: str) -> tuple[Tree, int] | None:
        place = self._forest.place.get(queue)
        if place is None or (flavor, resource) not in self._forest.trees[place[0]].column:
            return None
        tree = self._forest.trees[place[0]]
        return tree, tree.cell(place[1], (flavor, resource))

    def kept(self, queue: str, flavor: str, resource: str) -> int:
        """What nobody else can use even while the queue is idle."""
        found = self._cell(queue, flavor, resource)
        if found is None:
            return 0
        tree, cell = found
        return min(tree.nominal[cell] if tree.up[cell] < 0 else tree.local[cell], UNLIMITED)

    def untouched(self, queue: str, flavor: str, resource: str) -> int:
        """What others can not hold all together, by its lendingLimit or by their borrowingLimits."""
        found = self._cell(queue, flavor, resource)
        if found is None:
            return 0
        tree, cell = found
        lent = self._borrowable(self._forest.place[queue][0], (flavor, resource)) - _excess(tree, cell)
        return max(self.kept(queue, flavor, resource), min(tree.nominal[cell] - lent, UNLIMITED))

    def _borrowable(self, tree: int, pair: tuple[str, str]) -> int:
        """The most that all queues of a tree could ever use beyond their own quota, added up."""
        key = (tree, pair)
        if key not in self._beyond:
            held = self._forest.trees[tree]
            places = (node for at, node in self._forest.place.values() if at == tree)
            self._beyond[key] = sum(_excess(held, held.cell(node, pair)) for node in places)
        return self._beyond[key]

    def guarantee(self, queue: str, flavor: str, resource: str) -> int:
        """What the queue gets whenever it asks, at the latest after displacing borrowers; 0 when it
        takes no workloads at all.
        """
        found, config = self._cell(queue, flavor, resource), self._objects.cluster_queues.get(queue)
        if found is None or config is None or inactive(config, self._objects):
            return 0
        tree, cell = found
        if config.preemption.reclaim_within_cohort == "Any":
            return min(tree.nominal[cell], UNLIMITED)
        return self.untouched(queue, flavor, resource)

    def potential(self, queue: str, flavor: str, resource: str) -> int:
        """The most it can ever use: everything, with all others idle."""
        found = self._cell(queue, flavor, resource)
        return 0 if found is None else min(found[0].ceiling[found[1]], UNLIMITED)

    def burst(self, queue: str, flavor: str, resource: str) -> int:
        """What it can use beyond its guarantee while the others are idle."""
        most = self.potential(queue, flavor, resource)
        if most == UNLIMITED:
            return UNLIMITED
        return max(0, most - self.guarantee(queue, flavor, resource))

    def may_take(self, taker: str, holder: str) -> Mapping[str, Taking]:
        """By situation of the taker, what it may displace of ``holder``'s: the policy is the taker's."""
        known = self._objects.cluster_queues
        if taker not in known or holder not in known:
            return {}
        if taker != holder and not set(self.resources(taker)) & set(self.resources(holder)):
            return {}
        return ways(self._objects, self._rules, taker, holder)

    def shortfalls(self) -> list[Shortage]:
        """Nominal quota that its queue cannot count on, and why."""
        found = []
        for name in self.queues():
            config = self._objects.cluster_queues[name]
            stopped = inactive(config, self._objects)
            for flavor, resource in self.resources(name):
                tree = self._forest.trees[self._forest.place[name][0]]
                cell = tree.cell(self._forest.place[name][1], (flavor, resource))
                nominal = min(tree.nominal[cell], UNLIMITED)
                sure = self.guarantee(name, flavor, resource)
                if sure < nominal:
                    policy = config.preemption.reclaim_within_cohort
                    why = (
                        f"the queue is inactive: {stopped}"
                        if stopped
                        else f"what is lent comes back only when it is free: reclaimWithinCohort is {policy}"
                    )
                    found.append(Shortage(name, flavor, resource, nominal, sure, why))
        return found


def _excess(tree: Tree, cell: int) -> int:
    """What a queue could use beyond its quota, with everybody else idle."""
    return max(0, min(tree.ceiling[cell], UNLIMITED) - min(tree.nominal[cell], UNLIMITED))
