"""Preemption: policies that take from equals or from everyone, and those that never act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.ask import Ask, asks, count_place, is_refused, request_place
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    ceilings,
    configuration,
    documents,
    quota_place,
    state,
    undecided,
    whence,
)
from policycheck.systems.kueue.model import (
    ClusterQueue,
    Cohort,
    Configuration,
    LocalQueue,
    WorkloadPriorityClass,
)
from policycheck.systems.kueue.state import FlavorResource, KueueState, Tree
from policycheck.systems.kueue.sums import Ceilings
from policycheck.systems.kueue.target import Target, strategy
from policycheck.wording import join, plural

if TYPE_CHECKING:
    from policycheck.simulate.rights import Taking

_PREEMPTION: Path = ("spec", "preemption")
_RECLAIM: Path = (*_PREEMPTION, "reclaimWithinCohort")


def priorities_without_preemption(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Priorities that only order the queue.

    Said of each queue whose own workloads differ in priority; else once, where there are classes of
    several values and no queue of the scope ever preempts.
    """
    found = state(cluster)
    queues = [
        q for q in found.objects.cluster_queues.values() if not undecided(found.trees[found.tree_of[q.name]])
    ]
    ranks = _ranks(found)
    said = False
    for queue in queues:
        values = sorted(ranks.get(queue.name, {}).items())
        identity = whence(cluster, "ClusterQueue", queue.name)
        if len(values) < 2 or queue.preemption.within_cluster_queue != "Never" or identity is None:
            continue
        said = True
        (low, lowest), (high, highest) = values[0], values[-1]
        what = f"{highest} of {queue.name} has priority {high:,} and {lowest} {low:,}, and the queue never preempts"
        yield Hit(identity, (*_PREEMPTION, "withinClusterQueue"), {"what": what})
    classes = sorted(found.objects.priority_classes.values(), key=lambda c: (-c.value, c.name))
    if said or len({c.value for c in classes}) < 2 or not queues or any(_preempts(q) for q in queues):
        return
    places = [(q.name, i) for q in queues if (i := whence(cluster, "ClusterQueue", q.name)) is not None]
    rest = tuple(
        Related(i, (*_PREEMPTION, "withinClusterQueue"), f"nor does ClusterQueue {n}") for n, i in places[1:4]
    )
    count = plural(len(classes), "WorkloadPriorityClass", "WorkloadPriorityClasses")
    verb = "preempts" if len(queues) == 1 else "preempt"
    what = (
        f"there are {count}, from {classes[0].name} to {classes[-1].name}, "
        f"and {join([q.name for q in queues])} never {verb}"
    )
    yield Hit(places[0][1], (*_PREEMPTION, "withinClusterQueue"), {"what": what}, rest)


def _ranks(found: KueueState) -> dict[str, dict[int, str]]:
    """By ClusterQueue, the priorities of its workloads, each with one that has it."""
    ranks: dict[str, dict[int, str]] = {}
    for workload in found.objects.workloads.values():
        local = found.objects.local_queues.get((workload.namespace, workload.queue))
        if local is not None and not workload.finished:
            name = str(workload.source) if workload.source else f"Workload {workload.id}"
            ranks.setdefault(local.cluster_queue, {}).setdefault(workload.priority, name)
    return ranks


def _preempts(queue: ClusterQueue) -> bool:
    policy = queue.preemption
    return policy.within_cluster_queue != "Never" or (
        bool(queue.cohort) and policy.reclaim_within_cohort != "Never"
    )


def guarantee_not_reclaimable(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Accelerators that others may borrow from a queue that never takes them back."""
    found = state(cluster)
    limits = ceilings(cluster)
    for tree in found.trees.values():
        if len(tree.queues) < 2 or undecided(tree):
            continue
        for name in tree.queues:
            queue = found.objects.cluster_queues[name]
            if queue.preemption.reclaim_within_cohort != "Never":
                continue
            lost = _lendable(found, tree, limits, name)
            identity = whence(cluster, "ClusterQueue", name)
            if lost is None or identity is None:
                continue
            (flavor, resource), amount, takers = lost
            nominal = next(
                h.quota.nominal
                for h in tree.holders[flavor, resource]
                if (h.kind, h.name) == ("ClusterQueue", name)
            )
            rest = [(t, quota_place(cluster, "ClusterQueue", t, (flavor, resource))) for t in takers[:4]]
            values = {
                "queue": name,
                "flavor": flavor,
                "resource": resource,
                "nominal": show(resource, nominal),
                "kept": f"only {show(resource, nominal - amount)} are" if nominal > amount else "none are",
                "takers": join(takers),
                "also": (
                    "; being StrictFIFO, its waiting head also keeps what is unused from the others"
                    if queue.queueing_strategy == "StrictFIFO"
                    else ""
                ),
            }
            related = tuple(
                Related(p[0], p[1], f"ClusterQueue {t} may borrow it") for t, p in rest if p is not None
            )
            yield Hit(identity, _RECLAIM, values, related)


def _lendable(
    found: KueueState, tree: Tree, limits: Ceilings, name: str
) -> tuple[FlavorResource, int, list[str]] | None:
    """The largest quota of accelerators that ``name`` lends, how much of it, and who can take it."""
    best: tuple[FlavorResource, int, list[str]] | None = None
    for pair, held in tree.holders.items():
        own = next((h.quota for h in held if (h.kind, h.name) == ("ClusterQueue", name)), None)
        if own is None or not is_accelerator(pair[1]):
            continue
        amount = own.nominal if own.lending_limit is None else min(own.nominal, own.lending_limit)
        takers = [
            h.name
            for h in held
            if h.kind == "ClusterQueue"
            and h.name != name
            and h.quota.borrowing_limit != 0
            and limits.most(h.name, pair) > h.quota.nominal
            and found.objects.cluster_queues[h.name].stop_policy == "None"
        ]
        if amount > 0 and takers and (best is None or amount > best[1]):
            best = (pair, amount, takers)
    return best


def borrow_without_threshold(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Borrowing that preempts up to any priority; moot under fair sharing, which another rule says."""
    if state(cluster).objects.configuration.fair_sharing is not None:
        return
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue) or not queue.cohort:
            continue
        borrow = queue.preemption.borrow_within_cohort
        if borrow.policy != "LowerPriority" or borrow.max_priority_threshold is not None:
            continue
        may = [
            h for h in _borrowers(cluster, queue.name) if _is_taken(_may(cluster, queue.name, h, "borrowing"))
        ]
        places = [(h, whence(cluster, "ClusterQueue", h)) for h in may[:4]]
        related = tuple(
            Related(at, ("metadata", "name"), f"{h} may be displaced") for h, at in places if at is not None
        )
        values = {"queue": queue.name, "whom": f" in {join(may)}" if may else ""}
        yield Hit(identity, (*_PREEMPTION, "borrowWithinCohort"), values, related)


def _borrowers(cluster: Cluster, name: str) -> list[str]:
    """The other queues of the tree that can borrow where ``name`` has quota; none where nothing can be summed."""
    found, limits = state(cluster), ceilings(cluster)
    tree = found.trees.get(found.tree_of.get(name, ""))
    if tree is None or undecided(tree):
        return []
    pairs = [p for p in tree.holders if is_accelerator(p[1])] or list(tree.holders)
    return sorted(
        {
            other.name
            for pair, held in ((pair, tree.holders[pair]) for pair in pairs)
            if any(h.kind == "ClusterQueue" and h.name == name for h in held)
            for other in held
            if other.kind == "ClusterQueue"
            and other.name != name
            and limits.most(other.name, pair) > other.quota.nominal
        }
    )


def _may(cluster: Cluster, taker: str, holder: str, situation: str) -> Taking | None:
    """A cell of the decision matrix: what the taker may displace in a situation of its own."""
    from policycheck.systems.kueue.taking import ways  # deciding is loaded when a rule asks for it

    found = ways(state(cluster).objects, strategy(Target()), taker, holder)
    return found.get(situation)


def borrow_policy_under_fair_sharing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """``borrowWithinCohort`` has no effect when fair sharing is on."""
    queues = [
        (identity, facts.typed)
        for identity, facts in documents(cluster, "ClusterQueue")
        if isinstance(facts.typed, ClusterQueue)
        and facts.typed.preemption.borrow_within_cohort.policy != "Never"
    ]
    where = configuration(cluster)
    if not queues:
        return
    if isinstance(where, Skip):
        yield where
        return
    if not _is_fair(where[1].typed):
        return
    because = (Related(where[0], ("fairSharing",), "fair sharing is on"),)
    for identity, queue in queues:
        at = (*_PREEMPTION, "borrowWithinCohort")
        yield Hit(identity, at, {"queue": queue.name}, because)


def _is_fair(typed: object) -> bool:
    return isinstance(typed, Configuration) and typed.fair_sharing is not None


def weight_without_fair_sharing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Weights that nobody reads, since the Configuration turns fair sharing off."""
    weighted: list[tuple[Hit, bool]] = []
    for kind in ("ClusterQueue", "Cohort", "LocalQueue"):
        for identity, facts in documents(cluster, kind):
            typed = facts.typed
            if not isinstance(typed, (ClusterQueue, Cohort, LocalQueue)) or typed.fair_weight in (None, 1000):
                continue
            is_local = isinstance(typed, LocalQueue)
            setting = "admissionFairSharing" if is_local else "fairSharing"
            values = {"kind": kind, "name": typed.name, "setting": setting}
            weighted.append((Hit(identity, ("spec", "fairSharing", "weight"), values), is_local))
    where = configuration(cluster)
    if not weighted:
        return
    if isinstance(where, Skip):
        yield where
        return
    typed = where[1].typed
    if not isinstance(typed, Configuration):
        return
    for hit, is_local in weighted:
        if (typed.admission_fair_sharing if is_local else typed.fair_sharing) is None:
            yield hit


def production_borrows(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Important work larger than its queue's own quota, where others reclaim from whoever borrows.

    ``Any`` does not look at priorities: the borrowed part goes to work of any class.
    """
    found = state(cluster)
    lowest = {queue: min(ranks) for queue, ranks in _ranks(found).items()}
    important = {p for p in {a.made.priority for a in asks(cluster)} if _is_important(found, p)}
    for ask in asks(cluster):
        short = _borrows(found, ask) if ask.made.priority in important else None
        if short is None:
            continue
        tree = found.trees[found.tree_of[ask.queue.name]]
        pair, nominal = short
        takers = [
            h.name
            for h in tree.holders.get(pair, ())
            if h.kind == "ClusterQueue"
            and h.name != ask.queue.name
            and h.quota.nominal > 0
            and _takes_any(cluster, h.name, ask.queue.name)
            and lowest.get(h.name, ask.made.priority) < ask.made.priority
        ]
        if not takers:
            continue
        places = [(t, quota_place(cluster, "ClusterQueue", t, pair)) for t in takers[:4]]
        related = tuple(Related(p[0], p[1], f"{t} reclaims from anyone") for t, p in places if p is not None)
        values = {
            "workload": ask.workload,
            "priority": f"{ask.made.priority:,}",
            "total": show(pair[1], ask.charge(pair[1])),
            "resource": pair[1],
            "queue": ask.queue.name,
            "nominal": show(pair[1], nominal),
            "takers": join(takers),
        }
        yield Hit(ask.id, count_place(cluster, ask) or request_place(cluster, ask, pair[1]), values, related)


def _is_taken(cell: Taking | None) -> bool:
    return cell is not None and cell.may


def _takes_any(cluster: Cluster, taker: str, holder: str) -> bool:
    """Whether the taker, within its own quota, displaces what the holder borrows whatever its priority."""
    own = _may(cluster, taker, holder, "own")
    return own is not None and own.may and not own.lower_only


def _borrows(found: KueueState, ask: Ask) -> tuple[FlavorResource, int] | None:
    """The accelerators of which the request exceeds the own quota in every flavor; the best flavor."""
    best: tuple[FlavorResource, int] | None = None
    for group in ask.queue.groups:
        for resource in group.covered:
            if not is_accelerator(resource) or ask.charge(resource) <= 0:
                continue
            for flavor in group.flavors:
                known = found.objects.flavors.get(flavor.name)
                if known is not None and is_refused(known, ask):
                    continue
                nominal = flavor.resources[resource].nominal if resource in flavor.resources else 0
                if nominal >= ask.charge(resource):
                    return None
                if best is None or nominal > best[1]:
                    best = ((flavor.name, resource), nominal)
    return best


def _is_important(found: KueueState, priority: int) -> bool:
    """Whether more classes are below the priority than above it."""
    values = [c.value for c in found.objects.priority_classes.values()]
    return sum(v < priority for v in values) > sum(v > priority for v in values)


def threshold_for_nobody(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A threshold at or above every class: it spares nobody."""
    found = state(cluster)
    values = [c.value for c in found.objects.priority_classes.values()]
    if found.objects.configuration.fair_sharing is not None or len(set(values)) < 2:
        return
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue) or not queue.cohort:
            continue
        borrow = queue.preemption.borrow_within_cohort
        threshold = borrow.max_priority_threshold
        if borrow.policy != "LowerPriority" or threshold is None or threshold < max(values):
            continue
        values_ = {"queue": queue.name, "threshold": f"{threshold:,}", "highest": f"{max(values):,}"}
        yield Hit(identity, (*_PREEMPTION, "borrowWithinCohort", "maxPriorityThreshold"), values_)


def classes_of_one_value(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Two priority classes with the same value: neither goes before the other."""
    by_value: dict[int, list[tuple[str, DocumentId]]] = {}
    for identity, facts in documents(cluster, "WorkloadPriorityClass"):
        if isinstance(facts.typed, WorkloadPriorityClass) and facts.key not in cluster.ambiguous:
            by_value.setdefault(facts.typed.value, []).append((facts.key.name, identity))
    for value, held in sorted(by_value.items()):
        if len({name for name, _ in held}) > 1:
            rest = tuple(Related(i, ("value",), f"class {n} too") for n, i in held[:-1][:4])
            values = {"names": join([n for n, _ in held]), "value": f"{value:,}"}
            yield Hit(held[-1][1], ("value",), values, rest)
