"""What a queue's preemption policies let it take from another, situation by situation.

A pure reading of the policies and of the cohort tree; no usage is looked at. The policy is always the
taker's. Sources: documentation "Preemption" of ClusterQueue; KEP-79 "Hierarchical cohorts", KEP-1337
"Preempt within cohort while borrowing", KEP-1714 "Fair sharing".
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.record import NamedTuple
from policycheck.simulate.rights import Taking
from policycheck.systems.kueue.model import ClusterQueue, Cohort, KueueObjects
from policycheck.systems.kueue.scheduler.compile import inactive
from policycheck.systems.kueue.target import Strategy

ANY, OWN, COHORT, BORROWING = "any", "own", "cohort", "borrowing"
NEVER = Taking(False)


class Kinship(NamedTuple):
    """Where two queues meet: the cohorts above each, strictly below the one they have in common."""

    related: bool
    above_taker: tuple[str, ...]
    above_holder: tuple[str, ...]


def chain(queue: ClusterQueue, cohorts: Mapping[str, Cohort]) -> tuple[str, ...]:
    """The cohorts above ``queue``, nearest first; () for none, and for cohorts that go in a circle."""
    found: dict[str, None] = {}
    at = queue.cohort
    while at:
        if at in found:
            return ()
        found[at] = None
        known = cohorts.get(at)
        at = known.parent if known is not None else ""
    return tuple(found)


def kinship(taker: ClusterQueue, holder: ClusterQueue, cohorts: Mapping[str, Cohort]) -> Kinship:
    """How ``taker`` and ``holder`` are related."""
    mine, theirs = chain(taker, cohorts), chain(holder, cohorts)
    common = next((c for c in mine if c in theirs), None)
    if common is None:
        return Kinship(False, mine, theirs)
    return Kinship(True, mine[: mine.index(common)], theirs[: theirs.index(common)])


def ways(objects: KueueObjects, rules: Strategy, taker: str, holder: str) -> dict[str, Taking]:
    """By situation of the taker, what it may take from ``holder``.

    ``any``: from its own workloads. ``own``: the request stays within the taker's own quota.
    ``cohort``: beyond that, but within the quota of a cohort above it that the holder is not in.
    ``borrowing``: beyond that too. Empty when the two never meet or the taker admits nothing.
    """
    queues = objects.cluster_queues
    mine, theirs = queues[taker], queues[holder]
    if inactive(mine, objects):
        return {}
    fair = objects.configuration.fair_sharing is not None
    if taker == holder:
        return {ANY: _within(mine)}
    kin = kinship(mine, theirs, objects.cohorts)
    if not kin.related:
        return {}
    if fair:
        return _fair(mine, rules)
    found = {OWN: _reclaim(mine, f"{taker} stays within its own quota")}
    if kin.above_taker:
        where = " or ".join(kin.above_taker)
        found[COHORT] = _reclaim(mine, f"{taker} borrows what cohort {where} lent away")
    found[BORROWING] = _while_borrowing(mine)
    return found


def _within(queue: ClusterQueue) -> Taking:
    policy = queue.preemption.within_cluster_queue
    if policy not in ("LowerPriority", "LowerOrNewerEqualPriority"):
        return NEVER._replace(when=f"withinClusterQueue is {policy or 'not set'}")
    newer = policy == "LowerOrNewerEqualPriority"
    return Taking(True, "InClusterQueue", lower_only=True, newer_equal=newer, borrowing=True)


def _reclaim(queue: ClusterQueue, when: str, reason: str = "InCohortReclamation") -> Taking:
    policy = queue.preemption.reclaim_within_cohort
    if policy not in ("LowerPriority", "Any"):
        return NEVER._replace(when=f"reclaimWithinCohort is {policy or 'not set'}")
    return Taking(True, reason, lower_only=policy == "LowerPriority", when=when)


def _while_borrowing(queue: ClusterQueue) -> Taking:
    policy = queue.preemption.borrow_within_cohort
    reclaim = queue.preemption.reclaim_within_cohort
    if reclaim not in ("LowerPriority", "Any"):
        return NEVER._replace(when=f"reclaimWithinCohort is {reclaim or 'not set'}")
    if policy.policy == "Never":
        return NEVER._replace(when="borrowWithinCohort is Never")
    return Taking(
        True,
        "InCohortReclaimWhileBorrowing",
        lower_only=True,
        at_most=policy.max_priority_threshold,
        borrowing=True,
        when=f"{queue.name} borrows itself",
    )


def _fair(queue: ClusterQueue, rules: Strategy) -> dict[str, Taking]:
    share = f"{queue.name}'s share stays at or below that of the other"
    beyond = _reclaim(queue, share, "InCohortFairSharing")
    beyond = beyond._replace(borrowing=beyond.may)
    if not rules.within_nominal:
        return {OWN: beyond._replace(borrowing=False), BORROWING: beyond}
    return {OWN: _reclaim(queue, f"{queue.name} stays within its own quota"), BORROWING: beyond}
