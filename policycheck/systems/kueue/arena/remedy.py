"""What may be changed in Kueue's configuration so that a claim holds: quota, limits, policies, strategies."""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.certify.promise import Promises, TeamPromise
from policycheck.certify.repair import ObjectEdit, Remedy
from policycheck.certify.verdict import Verdict
from policycheck.model.amount import write
from policycheck.model.origin import ObjectKey, Path
from policycheck.systems.kueue.arena.stage import KueueArena
from policycheck.systems.kueue.model import GROUP, ClusterQueue

# Whom a change touches, the least first.
OWN_POLICY, OWN_QUOTA, OTHERS_POLICY, OTHERS_QUOTA, EVERYBODY = range(5)


def remedies(arena: KueueArena, promises: Promises, verdict: Verdict) -> Iterator[Remedy]:
    """Everything that may help with a failed verdict; what does is found by trying."""
    match verdict.claim:
        case "guarantee-honoured":
            for team in (t for t in promises.teams if t.name == verdict.subject):
                yield from _guarantee(arena, team)
        case "burst-usable":
            for team in (t for t in promises.teams if t.name == verdict.subject):
                yield from _burst(arena, team)
        case "production-protected" | "experiments-contained" | "inference-protected":
            yield from _protection(arena)
        case "no-starvation":
            for team in (t for t in promises.teams if t.name == verdict.subject):
                yield from _starvation(arena, team)
        case "no-thrash":
            yield from _thrash(arena)
        case "gang-whole":
            yield from _patience(arena, promises)


def _key(queue: str) -> ObjectKey:
    return ObjectKey(GROUP, "ClusterQueue", "", queue)


def _policy(queue: ClusterQueue, field: str, now: str, value: str, rank: int) -> Iterator[Remedy]:
    if now != value:
        words = f"ClusterQueue {queue.name}: preemption.{field} {now} -> {value}"
        yield Remedy(words, rank, (ObjectEdit(_key(queue.name), ("spec", "preemption", field), value),))


def _places(queue: ClusterQueue) -> Iterator[tuple[str, str, Path]]:
    """(flavor, resource, path of its quota) of everything that the queue has quota of."""
    for g, group in enumerate(queue.groups):
        for f, flavor in enumerate(group.flavors):
            for r, resource in enumerate(flavor.resources):
                yield flavor.name, resource, ("spec", "resourceGroups", g, "flavors", f, "resources", r)


def _guarantee(arena: KueueArena, team: TeamPromise) -> Iterator[Remedy]:
    queues = arena.opening.objects.cluster_queues
    for name in team.queues:
        queue = queues.get(name)
        if queue is None:
            continue
        now = queue.preemption.reclaim_within_cohort
        yield from _policy(queue, "reclaimWithinCohort", now, "Any", OWN_POLICY)
        yield from _policy(
            queue, "withinClusterQueue", queue.preemption.within_cluster_queue, "LowerPriority", OWN_POLICY
        )
        yield from _kept(queue, team, arena)
        yield from _raised(queue, team, arena)
        for peer in arena.peers(name):
            other = queues[peer]
            yield from _policy(
                other, "reclaimWithinCohort", other.preemption.reclaim_within_cohort, "Any", OTHERS_POLICY
            )


def _kept(queue: ClusterQueue, team: TeamPromise, arena: KueueArena) -> Iterator[Remedy]:
    """Nothing of what was promised is lent: of the accelerators, and with them of their companions."""
    if not arena.peers(queue.name):
        return
    own, every = [], []
    for _, resource, path in _places(queue):
        edit = ObjectEdit(_key(queue.name), (*path, "lendingLimit"), 0)
        every.append(edit)
        if resource in team.guarantee:
            own.append(edit)
    for edits, what in ((own, "accelerators"), (every, "everything")):
        if edits:
            words = f"ClusterQueue {queue.name}: lendingLimit 0 for {what}"
            yield Remedy(words, OWN_QUOTA, tuple(edits))


def _raised(queue: ClusterQueue, team: TeamPromise, arena: KueueArena) -> Iterator[Remedy]:
    """As much more nominal quota as is missing, in the first flavor that has some."""
    for resource, promised in sorted(team.guarantee.items()):
        have = sum(v for q in team.queues for (_, r), v in arena.nominal(q).items() if r == resource)
        if have >= promised:
            continue
        for flavor, other, path in _places(queue):
            if other == resource:
                now = arena.nominal(queue.name)[flavor, resource]
                value = write(resource, now + promised - have)
                words = f"ClusterQueue {queue.name}: nominalQuota of {resource} in {flavor} {now} -> {value}"
                edit = ObjectEdit(_key(queue.name), (*path, "nominalQuota"), _plain(value))
                yield Remedy(words, OWN_QUOTA, (edit,))
                break


def _plain(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _burst(arena: KueueArena, team: TeamPromise) -> Iterator[Remedy]:
    queues = arena.opening.objects.cluster_queues
    cohorts = sorted({q.cohort for q in queues.values() if q.cohort})
    for name in team.queues:
        queue = queues.get(name)
        if queue is None:
            continue
        if not queue.cohort:
            for cohort in cohorts:
                words = f"ClusterQueue {name}: cohortName {cohort}"
                yield Remedy(words, OWN_POLICY, (ObjectEdit(_key(name), ("spec", "cohortName"), cohort),))
        yield from _unlimited(queue, "borrowingLimit", OWN_QUOTA)
        for peer in arena.peers(name):
            yield from _unlimited(queues[peer], "lendingLimit", OTHERS_QUOTA)


def _unlimited(queue: ClusterQueue, field: str, rank: int) -> Iterator[Remedy]:
    """The limit is gone everywhere it is set."""
    edits = []
    for flavor, resource, path in _places(queue):
        quota = next(
            f.resources[resource]
            for g in queue.groups
            for f in g.flavors
            if f.name == flavor and resource in f.resources
        )
        limit = quota.borrowing_limit if field == "borrowingLimit" else quota.lending_limit
        if limit is not None:
            edits.append(ObjectEdit(_key(queue.name), (*path, field), action="remove"))
    if edits:
        yield Remedy(f"ClusterQueue {queue.name}: no {field}", rank, tuple(edits))


def _protection(arena: KueueArena) -> Iterator[Remedy]:
    for queue in arena.opening.objects.cluster_queues.values():
        within, reclaim = queue.preemption.within_cluster_queue, queue.preemption.reclaim_within_cohort
        if within == "LowerOrNewerEqualPriority":
            yield from _policy(queue, "withinClusterQueue", within, "LowerPriority", OWN_POLICY)
        if reclaim == "Any":
            yield from _policy(queue, "reclaimWithinCohort", reclaim, "LowerPriority", OTHERS_POLICY)
        if queue.preemption.borrow_within_cohort.policy != "Never":
            edit = ObjectEdit(_key(queue.name), ("spec", "preemption", "borrowWithinCohort"), action="remove")
            words = f"ClusterQueue {queue.name}: no preemption while borrowing"
            yield Remedy(words, OWN_POLICY, (edit,))


def _starvation(arena: KueueArena, team: TeamPromise) -> Iterator[Remedy]:
    queues = arena.opening.objects.cluster_queues
    for name in team.queues:
        queue = queues.get(name)
        if queue is None:
            continue
        if queue.queueing_strategy != "BestEffortFIFO":
            edit = ObjectEdit(_key(name), ("spec", "queueingStrategy"), "BestEffortFIFO")
            yield Remedy(f"ClusterQueue {name}: queueingStrategy BestEffortFIFO", OWN_POLICY, (edit,))
        yield from _policy(
            queue, "reclaimWithinCohort", queue.preemption.reclaim_within_cohort, "Any", OWN_POLICY
        )


def _thrash(arena: KueueArena) -> Iterator[Remedy]:
    for queue in arena.opening.objects.cluster_queues.values():
        if queue.preemption.borrow_within_cohort.policy != "Never":
            edit = ObjectEdit(_key(queue.name), ("spec", "preemption", "borrowWithinCohort"), action="remove")
            yield Remedy(f"ClusterQueue {queue.name}: no preemption while borrowing", OWN_POLICY, (edit,))
        if queue.preemption.within_cluster_queue == "LowerOrNewerEqualPriority":
            yield from _policy(
                queue, "withinClusterQueue", "LowerOrNewerEqualPriority", "LowerPriority", OWN_POLICY
            )


def _patience(arena: KueueArena, promises: Promises) -> Iterator[Remedy]:
    if promises.whole_within is None:
        return
    seconds = promises.whole_within // 1000
    for key in arena.configurations:
        edit = ObjectEdit(key, ("waitForPodsReady", "timeout"), f"{seconds}s")
        yield Remedy(f"Configuration: waitForPodsReady.timeout {seconds}s", EVERYBODY, (edit,))
