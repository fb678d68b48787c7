"""What queues have in common: alike in all but name, or in all but amounts of quota."""

from __future__ import annotations

from policycheck.certify.arena import Kin
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects
from policycheck.systems.kueue.scheduler.compile import inactive


def kin_of(objects: KueueObjects, queue: ClusterQueue) -> Kin:
    """Everything by which the scheduler tells a ClusterQueue from others of its cohort, its name aside. Flavors count
    among the amounts: a queue that has no quota of one has none of it.
    """
    quotas = [q for group in queue.groups for f in group.flavors for q in f.resources.values()]
    policies = (
        queue.cohort,
        queue.queueing_strategy,
        queue.preemption,
        queue.fungibility,
        queue.checks,
        queue.fair_weight,
        queue.admission_mode,
        queue.concurrent,
        bool(inactive(queue, objects)),
        tuple(group.covered for group in queue.groups),
        any(q.borrowing_limit is not None for q in quotas),
        any(q.lending_limit is not None for q in quotas),
    )
    amounts = tuple(
        (group.covered, tuple((f.name, tuple(sorted(f.resources.items()))) for f in group.flavors))
        for group in queue.groups
    )
    return Kin(policies, amounts)
