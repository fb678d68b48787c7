"""Heads for which a look at sums tells what a nomination would come to: most of those that wait.

While a cohort is full each release of quota brings every parked class back, and all but a few go straight
back to where they were. What is said here is what the nomination would say, no more and no less.
"""

from __future__ import annotations

from policycheck.systems.kueue.quota import Amounts
from policycheck.systems.kueue.scheduler.assign import EXCEEDS, WAITING
from policycheck.systems.kueue.scheduler.bound import may_find
from policycheck.systems.kueue.scheduler.plan import Plan
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.variant import ALLOWED, REPLACES
from policycheck.systems.kueue.scheduler.victims import Contest


def hopeless(session: Session, item: Item, queue: Queue) -> str:
    """The reason for which a head goes on waiting, when in every flavor one amount neither is free nor could
    be made free by any victims; "" when only a nomination can tell, or when the head would take part in the
    cycle although it waits: by holding back quota (#4809), or by being held up for pods to be ready.
    """
    if queue.config.preemption.reclaim_within_cohort != "Any" or item.scan is not None or item.reserved:
        return ""
    if session.world.fair is not None or session.blocks or queue.traits is not None or not queue.rules.heeds:
        return ""
    shape, annotations = item.shape, item.workload.annotations
    if shape.reducible or (annotations and (ALLOWED in annotations or REPLACES in annotations)):
        return ""
    plan = session.plan(queue, shape, shape.pods)
    return _reason(session, item, queue, plan)


def _reason(session: Session, item: Item, queue: Queue, plan: Plan) -> str:
    """EXCEEDS when no flavor could ever hold it, else WAITING; "" when one of them may do."""
    ceiling = session.trees[queue.tree].ceiling
    reason = ""
    for amounts in plan.ways:
        if not _is_short(session, item, queue, amounts):
            return ""
        if reason != WAITING:
            reason = EXCEEDS if any(amount > ceiling[cell] for cell, amount in amounts) else WAITING
    return reason


def _is_short(session: Session, item: Item, queue: Queue, amounts: Amounts) -> bool:
    """Whether one of ``amounts`` alone has no room, whoever goes: then the flavor is one that the scan passes
    by, since no candidates are found for that amount.
    """
    tree = session.trees[queue.tree]
    for cell, amount in amounts:
        if amount > tree.free(cell):
            columns = frozenset((cell // tree.size,))
            members = session.members[queue.tree]
            contest = Contest(item, queue, tree, members, ((cell, amount),), columns, session.now)
            if not may_find(contest, classical=True):
                return True
    return False
