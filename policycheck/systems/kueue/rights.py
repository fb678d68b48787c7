"""Kueue's quota rights, out of its quota algebra and preemption policies.

A queue is sure of what it never lends; of all its nominal quota only when reclaimWithinCohort lets it
take back what others borrow, whoever they are (documentation "Cohort", "Preemption"; #4809, #672).
"""

from __future__ import annotations

from policycheck.model.amount import UNLIMITED
from policycheck.simulate.rights import Shortage, Taking
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects
from policycheck.systems.kueue.quota import Forest, Tree, build
from policycheck.systems.kueue.scheduler.compile import inactive
from policycheck.systems.kueue.scheduler.victims import FAIR, IN_QUEUE, RECLAMATION, WHILE_BORROWING
from policycheck.systems.kueue.target import Target, strategy

NEVER = Taking(False)
_LATEST = Target()


class KueueRights:
    """Implements simulate.rights.Rights. Unknown queues and pairs have no rights: every amount is 0."""

    def __init__(self, objects: KueueObjects, target: Target = _LATEST) -> None:
        rules = strategy(target)
        self._objects = objects
        self._forest: Forest = build(
            objects.cluster_queues.values(), objects.cohorts.values(), lending=rules.lending
        )
        self._fair = objects.configuration.fair_sharing is not None
        self._within_nominal = rules.within_nominal

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
        return self.kept(queue, flavor, resource)

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

    def may_take(self, taker: str, holder: str) -> Taking:
        """Whether workloads of ``taker`` may displace workloads of ``holder``: the policy is the taker's."""
        config = self._objects.cluster_queues.get(taker)
        if config is None or holder not in self._objects.cluster_queues:
            return NEVER
        if taker == holder:
            return _within(config)
        mine, theirs = self._forest.place[taker], self._forest.place[holder]
        if mine[0] != theirs[0]:
            return Taking(False, when="the queues share no cohort")
        shared = set(self.resources(taker)) & set(self.resources(holder))
        if not shared:
            return Taking(False, when="the queues share no flavor and resource")
        return self._across(config, holder)

    def _across(self, config: ClusterQueue, holder: str) -> Taking:
        policy = config.preemption.reclaim_within_cohort
        if policy not in ("Any", "LowerPriority"):
            return Taking(False, when="reclaimWithinCohort is Never")
        lower = policy == "LowerPriority"
        over = f"while {holder} uses more than its nominal quota"
        if self._fair:
            reason = RECLAMATION if self._within_nominal else FAIR
            return Taking(True, reason, lower, borrowing=True, when=f"{over} and has the larger share")
        borrow = config.preemption.borrow_within_cohort
        if borrow.policy == "LowerPriority":
            return Taking(
                True, WHILE_BORROWING, lower, at_most=borrow.max_priority_threshold, borrowing=True, when=over
            )
        return Taking(True, RECLAMATION, lower, when=f"{over} and {config.name} stays within its own")

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


def _within(config: ClusterQueue) -> Taking:
    policy = config.preemption.within_cluster_queue
    if policy not in ("LowerPriority", "LowerOrNewerEqualPriority"):
        return Taking(False, when="withinClusterQueue is Never")
    newer = policy == "LowerOrNewerEqualPriority"
    return Taking(True, IN_QUEUE, lower_only=True, newer_equal=newer, borrowing=True)
