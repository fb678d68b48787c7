"""One run of the decision on some state, seen from one workload."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from policycheck.simulate.scheduler import PREEMPTING, Decision, Grant
from policycheck.simulate.why import Loss
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects, KueueWorkload
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler.limits import violation
from policycheck.systems.kueue.scheduler.moment import NANOS, moment
from policycheck.systems.kueue.scheduler.run import Run, until_stable
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.state import root_of
from policycheck.systems.kueue.taking import chain

PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


class Block(NamedTuple):
    """Why a workload is in no queue that could admit it. ``reason`` is Kueue's name, where it has one."""

    reason: str
    text: str


class Trial(NamedTuple):
    """What became of workload ``id``."""

    id: str
    opening: Opening
    session: Session
    run: Run

    @property
    def holds(self) -> bool:
        """Whether it ends up with quota, for good."""
        if self.id not in self.session.items or not self.session.items[self.id].reserved:
            return False
        return self.run.loop is None or not self.run.evictions.get(self.id)

    @property
    def mine(self) -> list[Decision]:
        """Decisions by which it reserved quota or had others evicted, in order."""
        found = (d for log in self.run.cycles for d in (*log.preempting, *log.reserved))
        return [d for d in found if d.workload == self.id]


def workload_of(opening: Opening, name: str) -> KueueWorkload:
    """The workload with this id. Raises KeyError."""
    namespace, _, own = name.partition("/")
    return opening.objects.workloads[namespace, own]


def queue_of(objects: KueueObjects, workload: KueueWorkload) -> ClusterQueue | None:
    """The ClusterQueue that holds the workload's quota, or that it goes to."""
    if workload.has("QuotaReserved") and workload.admission is not None:
        return objects.cluster_queues.get(workload.admission.cluster_queue)
    local = objects.local_queues.get((workload.namespace, workload.queue))
    return objects.cluster_queues.get(local.cluster_queue) if local is not None else None


def narrowed(opening: Opening, name: str) -> Opening:
    """Only the tree that the workload is in, and where nodes are known those that share nodes with it:
    nothing else can matter to it.
    """
    objects = opening.objects
    queue = queue_of(objects, workload_of(opening, name))
    if queue is None:
        return opening
    trees: dict[str, set[str]] = {}
    for n, q in objects.cluster_queues.items():
        trees.setdefault(_tree(q, objects), set()).add(n)
    names = trees.pop(_tree(queue, objects))
    if opening.nodes is not None:
        _add_neighbours(opening, names, trees)
    return restricted(opening, names, name)


def _tree(queue: ClusterQueue, objects: KueueObjects) -> str:
    return f"cohort:{root_of(queue.cohort, objects.cohorts)[0]}" if queue.cohort else f"queue:{queue.name}"


def _add_neighbours(opening: Opening, names: set[str], trees: dict[str, set[str]]) -> None:
    """Take trees over whose flavors have nodes in common with those in ``names``, and with theirs."""
    new = _flavors(opening, names)
    seen: set[str] = set()
    while new:
        seen |= new
        reached = new.union(*(opening.near.get(flavor, ()) for flavor in new))
        new = set()
        for tree in [t for t, some in trees.items() if not reached.isdisjoint(_flavors(opening, some))]:
            some = trees.pop(tree)
            names |= some
            new |= _flavors(opening, some) - seen


def _flavors(opening: Opening, names: Collection[str]) -> set[str]:
    queues = (opening.objects.cluster_queues[n] for n in names)
    return {f.name for queue in queues for group in queue.groups for f in group.flavors}


def restricted(opening: Opening, names: Collection[str], workload: str = "") -> Opening:
    """Only these ClusterQueues and what belongs to them, and the workload with the id given."""
    objects = opening.objects
    queues = {n: q for n, q in objects.cluster_queues.items() if n in names}
    locals_ = {k: q for k, q in objects.local_queues.items() if q.cluster_queue in queues}
    workloads = {
        k: w
        for k, w in objects.workloads.items()
        if w.id == workload
        or (w.namespace, w.queue) in locals_
        or (w.admission is not None and w.admission.cluster_queue in queues)
    }
    kept = objects._replace(cluster_queues=queues, local_queues=locals_, workloads=workloads)
    return opening._replace(objects=kept)


def settle(opening: Opening, name: str) -> Trial:
    """The decision run until nothing changes, within the workload's own tree."""
    return run(narrowed(opening, name), name)


def run(opening: Opening, name: str) -> Trial:
    """The decision run until nothing changes, all queues together."""
    session = opening.session()
    most = 200 + 4 * len(opening.objects.workloads)
    return Trial(name, opening, session, until_stable(session, opening.now, most, stop_at_loop=True))


def alone(opening: Opening, name: str) -> Trial:
    """The same with nobody else there, now or before."""
    workload = workload_of(opening, name)._replace(admission=None, conditions={})
    objects = opening.objects._replace(workloads={(workload.namespace, workload.name): workload})
    return settle(opening._replace(objects=objects), name)


def next_decision(trial: Trial) -> Decision | None:
    """What the next cycle would decide about it as the only one that waits, who has quota keeping it."""
    session = trial.session.fork()
    item = session.items.get(trial.id)
    if item is None or item.reserved:
        return None
    session.release([w.workload for w in session.waiting()])
    session.offer([item.workload])
    now = session.now + NANOS
    return next((d for d in session.cycle(now) if d.workload == trial.id), None)


def grants(trial: Trial) -> dict[str, Grant]:
    """The last grant of every workload that ever held quota in the trial."""
    found = dict(trial.opening.session().holding())
    for log in trial.run.cycles:
        found.update({d.workload: d.grant for d in log.reserved if d.grant is not None})
    return found


def amounts(grant: Grant | None) -> dict[str, int]:
    """What a grant uses, by resource."""
    total: dict[str, int] = {}
    for given in grant.sets if grant is not None else ():
        for resource, amount in given.usage.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def displaced(trial: Trial) -> tuple[Loss, ...]:
    """Everyone that the workload itself had evicted."""
    held = grants(trial)
    victims = {v.workload: v for d in trial.mine if d.outcome == PREEMPTING for v in d.victims}
    return tuple(Loss(v.workload, v.queue, v.reason, amounts(held.get(v.workload))) for v in victims.values())


def losses(before: Trial, after: Trial) -> tuple[Loss, ...]:
    """Who ends up with quota in ``before`` and not in ``after``, of those that are in both."""
    held, kept = before.session.holding(), after.session.holding()
    evicted = {v.workload: v.reason for log in after.run.cycles for d in log.preempting for v in d.victims}
    still = {w.id for w in after.opening.objects.workloads.values()}
    return tuple(
        Loss(name, grant.queue, evicted.get(name, ""), amounts(grant))
        for name, grant in held.items()
        if name not in kept and name in still and name != after.id
    )


def blocked(opening: Opening, workload: KueueWorkload) -> Block | None:
    """Why no queue could admit it, whatever is free; None when one could."""
    return _own_state(opening, workload) or _route(opening, workload) or _refused(opening, workload)


def _own_state(opening: Opening, workload: KueueWorkload) -> Block | None:
    if workload.finished:
        return Block("", "it has finished")
    if workload.deleting:
        return Block("", "it is being deleted")
    if not workload.active:
        return Block("", "it is deactivated: spec.active is false")
    label = workload.labels.get(PRIORITY_LABEL, "")
    if workload.source is not None and label and label not in opening.objects.priority_classes:
        return Block("", f"no WorkloadPriorityClass {label} is in sight: no Workload is made of the job")
    states = sorted(c.name for c in workload.check_states if c.state in ("Retry", "Rejected"))
    if states:
        return Block("PendingEvaluation", f"admission check {', '.join(states)} said Retry or Rejected")
    if moment(workload.requeue_at) > opening.now:
        return Block("PendingEvaluation", f"it is held back until {workload.requeue_at} (requeueAt)")
    return None


def _route(opening: Opening, workload: KueueWorkload) -> Block | None:
    from policycheck.systems.kueue.scheduler.compile import inactive

    objects, name = opening.objects, workload.queue
    if not name:
        return Block("Misconfigured", "it names no LocalQueue (label kueue.x-k8s.io/queue-name)")
    local = objects.local_queues.get((workload.namespace, name))
    if local is None:
        return Block("Misconfigured", f"namespace {workload.namespace} has no LocalQueue {name}")
    if local.stop_policy != "None":
        return Block("Stopped", f"LocalQueue {name} is stopped (stopPolicy {local.stop_policy})")
    queue = objects.cluster_queues.get(local.cluster_queue)
    if queue is None:
        return Block(
            "Misconfigured",
            f"LocalQueue {name} points to ClusterQueue {local.cluster_queue}, which is not in sight",
        )
    if queue.cohort and not chain(queue, objects.cohorts):
        return Block("CohortCycleDetected", f"the cohorts above {queue.name} are each other's parents")
    reason = inactive(queue, objects)
    if reason:
        return Block(
            reason, f"ClusterQueue {queue.name} is inactive: {reason}{_detail(reason, queue, objects)}"
        )
    return None


def _detail(reason: str, queue: ClusterQueue, objects: KueueObjects) -> str:
    """Which object the reason is about."""
    flavors = [f.name for group in queue.groups for f in group.flavors]
    missing: Mapping[str, list[str]] = {
        "FlavorNotFound": [f for f in flavors if f not in objects.flavors],
        "AdmissionCheckNotFound": [c.name for c in queue.checks if c.name not in objects.checks],
        "TopologyNotFound": [
            objects.flavors[f].topology
            for f in flavors
            if f in objects.flavors and objects.flavors[f].topology not in ("", *objects.topologies)
        ],
        "Stopped": [f"stopPolicy {queue.stop_policy}"],
    }
    found = list(dict.fromkeys(missing.get(reason, ())))
    return f" ({', '.join(found)})" if found else ""


def _refused(opening: Opening, workload: KueueWorkload) -> Block | None:
    queue = queue_of(opening.objects, workload)
    if queue is None:
        return None
    selector = queue.namespace_selector
    if selector is None:
        return Block("Misconfigured", f"ClusterQueue {queue.name} has no namespaceSelector: it takes nothing")
    if not selector.matches(opening.namespaces.get(workload.namespace, {})):
        return Block(
            "Misconfigured",
            f"namespace {workload.namespace} does not match the namespaceSelector of {queue.name}",
        )
    problem = violation(workload, opening.limit_rules)
    return Block("Misconfigured", problem) if problem else None
