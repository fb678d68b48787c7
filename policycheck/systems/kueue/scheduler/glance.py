"""Heads for which a look at sums tells what a nomination would come to: most of those that wait.

While a cohort is full each release of quota brings every parked class back, and all but a few go straight
back to where they were. What is said here is what the nomination would say, no more and no less.
"""

from __future__ import annotations

from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.quota import Tree
from policycheck.systems.kueue.scheduler.assign import EXCEEDS, WAITING
from policycheck.systems.kueue.scheduler.bound import flat, most, own
from policycheck.systems.kueue.scheduler.kin import Kin, Ways
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.variant import ALLOWED, REPLACES

Needs = tuple[tuple[int, int, int, bool], ...]


def hopeless(session: Session, item: Item, queue: Queue) -> str:
    """The reason for which a head goes on waiting, when in every flavor one amount neither is free nor could
    be made free by any victims; "" when only a nomination can tell, or when the head would take part in the
    cycle although it waits: by holding back quota (#4809), or by being held up for pods to be ready.
    """
    if item.scan is not None or item.reserved or queue.traits is not None or not item.plain:
        return ""
    kin = queue.kin_of(item) if item.bag is None else item.bag.kin
    ways = kin.ways
    if ways is None:
        ways = kin.ways = _ways(session, item, queue)
        kin.most = most(queue, item.priority)
        kin.confined = queue.config.preemption.borrow_within_cohort.policy == "Never" and flat(
            session.trees[queue.tree], queue.node
        )
    if not ways:
        return ""
    tree = session.trees[queue.tree]
    reason = ""
    for needs in ways:
        if not _is_short(tree, queue, kin, needs):
            return ""
        if reason != WAITING:
            reason = EXCEEDS if any(need[3] for need in needs) else WAITING
    return reason


def is_plain(workload: KueueWorkload) -> bool:
    """Whether nothing about it asks for another look than workloads of its shape get."""
    annotations = workload.annotations
    return not annotations or (ALLOWED not in annotations and REPLACES not in annotations)


def _ways(session: Session, item: Item, queue: Queue) -> Ways:
    """What is compared for workloads of one kind; () when only a nomination can tell."""
    if queue.config.preemption.reclaim_within_cohort != "Any" or item.shape.reducible:
        return ()
    if session.world.fair is not None or session.blocks or not queue.rules.heeds:
        return ()
    tree = session.trees[queue.tree]
    return tuple(
        tuple([(cell, amount, cell - queue.node, amount > tree.ceiling[cell]) for cell, amount in amounts])
        for amounts in session.plan(queue, item.shape, item.shape.pods).ways
    )


def _is_short(tree: Tree, queue: Queue, kin: Kin, needs: Needs) -> bool:
    """Whether one amount alone has no room, whoever goes: then the flavor is one that the scan passes by, since
    no candidates are found for that amount. As bound.may_find would say of it.
    """
    usage, size = tree.usage, tree.size
    for cell, amount, base, _ in needs:
        available = tree.available(cell)
        if amount <= available or amount <= 0:
            continue
        mine = own(queue, kin.most, cell)
        left = amount - available - mine
        if left <= 0:
            continue
        if kin.confined and usage[cell] - mine + amount > tree.nominal[cell]:
            return True
        if left > sum(usage[base : base + size]) - usage[cell]:
            return True
    return False
