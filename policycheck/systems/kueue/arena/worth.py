"""What a queue can enforce, and what it waits for at worst.

Sources: documentation "Preemption" of ClusterQueue (reclaimWithinCohort), "Workload" (maximum execution
time), "Setup all-or-nothing with ready pods" (blockAdmission, requeuingStrategy), "Admission Check".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policycheck.certify.arena import Enforcement, Timing
from policycheck.certify.promise import Shape
from policycheck.simulate.rights import Rights
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.target import gates

CYCLE = 1000  # ms that a scheduling cycle is taken to last at most
GRACE = 30_000  # the default terminationGracePeriodSeconds of pods


def enforcement(
    objects: KueueObjects, rights: Rights, queue: str, pair: tuple[str, str], at: int, rivals: Iterable[int]
) -> Enforcement:
    """What ``queue`` can take back of its nominal quota when it asks with priority ``at``, if the others may
    borrow with any of the priorities ``rivals``.
    """
    config = objects.cluster_queues[queue]
    nominal = next(
        (
            f.resources[pair[1]].nominal
            for g in config.groups
            for f in g.flavors
            if f.name == pair[0] and pair[1] in f.resources
        ),
        0,
    )
    kept = rights.untouched(queue, *pair)
    policy = config.preemption.reclaim_within_cohort
    if policy == "Any":
        return Enforcement(nominal, nominal, "reclaimWithinCohort is Any: all that is lent can be taken back")
    if kept >= nominal:
        return Enforcement(nominal, nominal, "nobody can borrow any of it")
    how = f"{kept} of {nominal} nobody can borrow" if kept else "all of it may be lent"
    if policy == "LowerPriority":
        highest = max(rivals, default=None)
        if highest is None or highest < at:
            return Enforcement(
                nominal, nominal, "reclaimWithinCohort is LowerPriority, and all others are lower"
            )
        return Enforcement(
            nominal,
            kept,
            f"reclaimWithinCohort is LowerPriority, and others may borrow with priority {highest} >= {at}; {how}",
        )
    return Enforcement(nominal, kept, f"reclaimWithinCohort is Never; {how}")


def patience(opening: Opening) -> tuple[int | None, str]:
    """After how many ms a Workload is evicted whose pods are not all ready; None for never, and why."""
    configuration = opening.objects.configuration
    waits = configuration.wait_for_pods_ready
    # Without a Configuration in sight it is on from 0.19 (K#11366).
    on = waits.enabled if configuration.found else gates(opening.target)["WaitForPodsReadyDefault"]
    if not on:
        return None, "waitForPodsReady is not enabled"
    return round(waits.timeout * 1000), f"waitForPodsReady.timeout is {waits.timeout:.0f} s"


def timing(
    opening: Opening, queue: ClusterQueue, others: Iterable[Shape], check_delays: Mapping[str, int]
) -> Timing:
    """What passes at worst between asking and running. ``others`` are the shapes that may hold the quota."""
    sources = [
        f"a cycle is taken to last at most {CYCLE // 1000} s",
        f"victims' pods end within terminationGracePeriodSeconds, {GRACE // 1000} s where nothing else is known",
    ]
    checks: int | None = 0
    for rule in queue.checks:
        delay = check_delays.get(rule.name)
        checks = None if delay is None or checks is None else checks + delay
        sources.append(
            f"admission check {rule.name}: {'no bound is known' if delay is None else f'at most {delay // 1000} s'}"
        )
    limits = [shape.limit for shape in others]
    runs = max(limits) if limits and all(limits) else None
    if runs is not None:
        sources.append(f"no workload of others runs longer than {runs // 1000} s (maximum execution time)")
    waits = opening.objects.configuration.wait_for_pods_ready
    blocked = ""
    if patience(opening)[0] is not None and waits.block_admission:
        blocked = (
            "waitForPodsReady.blockAdmission lets one workload whose pods do not start hold up all others"
        )
        if waits.backoff_limit is None:
            blocked += ", and requeuingStrategy.backoffLimitCount is not set, so that it comes back for ever"
    return Timing(CYCLE, GRACE, checks, runs, blocked, tuple(sources))
