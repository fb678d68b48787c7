"""What happens to a workload between its cycles: checks, readiness of its pods, back-off, deactivation.

An eviction here is like one that a cycle decides: the quota is held until ``Session.settle``. Sources:
documentation "Setup all-or-nothing with ready pods" (waitForPodsReady), "Admission Check", "Workload"
(active, maximum execution time); the Configuration API; facts 1a and "After reservation".
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

from policycheck.systems.kueue.model import Admission, CheckState, WaitForPodsReady
from policycheck.systems.kueue.scheduler.moment import NANOS
from policycheck.systems.kueue.scheduler.state import AWAY, PARKED, Item, Queue
from policycheck.systems.kueue.scheduler.topology import PENDING, READY, needs_second_pass

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.session import Session

ADMITTED, EVICTED, DEACTIVATED, MARKED, STRANDED = "admitted", "evicted", "deactivated", "marked", "stranded"
PODS_READY_TIMEOUT, ADMISSION_CHECK = "PodsReadyTimeout", "AdmissionCheck"
STOPPED, DEACTIVATION = "ClusterQueueStopped", "Deactivated"
RETRY, REJECTED = "Retry", "Rejected"
REQUEUE, FAILURE = "requeue", "failure"  # what becomes due
Due = tuple[int, str, str]  # when, what, of which workload or node


class Turn(NamedTuple):
    """What an event made of one workload.

    ``what``: admitted; evicted (``reason`` is Kueue's, ``cause`` what is beneath it); deactivated (evicted
    for good, or taken out of its queue); marked (a node of it failed, the next cycle looks for another);
    stranded (a node of it failed, and this Kueue does nothing about it). ``until`` is when it may be looked
    at again, 0 for at once.
    """

    workload: str
    what: str
    reason: str = ""
    cause: str = ""
    until: int = 0


# -- checks -----------------------------------------------------------------------------------------


def required(queue: Queue, admission: Admission) -> list[str]:
    """The checks that apply to the flavors given."""
    if not queue.config.checks:
        return []
    flavors = {f for s in admission.pod_sets for f in s.flavors.values()}
    return [c.name for c in queue.config.checks if not c.on_flavors or not flavors.isdisjoint(c.on_flavors)]


def checks_pass(item: Item, queue: Queue, admission: Admission) -> bool:
    """Whether every check that applies is in the workload's status and Ready, and no place is still to be
    found.
    """
    if any(s.topology is None and s.delayed_topology == PENDING for s in admission.pod_sets):
        return False
    states = {c.name: c.state for c in item.workload.check_states}
    return all(states.get(name) == READY for name in required(queue, admission)) and all(
        state == READY for state in states.values()
    )


def begin_checks(item: Item, queue: Queue, admission: Admission) -> None:
    """Checks that apply and of which nothing is known yet are pending."""
    known = {c.name for c in item.workload.check_states}
    new = tuple(CheckState(n, PENDING) for n in required(queue, admission) if n not in known)
    if new:
        item.workload = item.workload._replace(check_states=item.workload.check_states + new)
        item.checked = True


def reset_checks(item: Item) -> None:
    """After an eviction every check has to be passed again."""
    if item.workload.check_states:
        states = tuple(CheckState(c.name, PENDING) for c in item.workload.check_states)
        item.workload = item.workload._replace(check_states=states)


def begin_again(item: Item) -> None:
    """An evicted workload has stopped, and waits again."""
    item.evicted = False
    item.reason = "PendingEvaluation"
    reset_checks(item)
    if item.workload.unhealthy_nodes:
        item.workload = item.workload._replace(unhealthy_nodes=())


def check(
    session: Session,
    name: str,
    state: CheckState,
    now: int,
    *,
    retry_after: int = 0,
) -> list[Turn]:
    """A check of the workload ``name`` changes its state."""
    item = session.items.get(name)
    if item is None or not item.reserved or item.evicted or item.queue is None or item.admission is None:
        return []
    session.now = max(session.now, now)
    if state.state == REJECTED:
        return deactivate(session, name, ADMISSION_CHECK, now)
    if state.state == RETRY:
        item.wakes = now + retry_after if retry_after > 0 else 0
        return evict(session, item, ADMISSION_CHECK, now, queued=now)
    others = tuple(c for c in item.workload.check_states if c.name != state.name)
    item.workload = item.workload._replace(check_states=(*others, state))
    item.checked = True
    if item.admitted:
        return []
    if needs_second_pass(item):
        session.second[item.id] = item
        session.tried.pop(item.id, None)
    elif checks_pass(item, item.queue, item.admission):
        item.admitted = True
        return [Turn(name, ADMITTED)]
    return []


def pending_checks(session: Session, name: str) -> tuple[str, ...]:
    """The checks that a workload with quota still has to pass."""
    item = session.items.get(name)
    if item is None or item.queue is None or item.admission is None:
        return ()
    states = {c.name: c.state for c in item.workload.check_states}
    return tuple(n for n in required(item.queue, item.admission) if states.get(n) != READY)


# -- readiness --------------------------------------------------------------------------------------


def waits(session: Session) -> WaitForPodsReady | None:
    """The settings of waitForPodsReady, None when it is off."""
    config = session.world.objects.configuration.wait_for_pods_ready
    return config if config.enabled and session.world.waits else None


def ready(session: Session, name: str) -> None:
    """All pods of the workload run."""
    item = session.items.get(name)
    if item is not None:
        item.ready = True
        session.unready.discard(name)


def backoff(attempt: int, base: float, most: float) -> int:
    """Nanoseconds before attempt number ``attempt`` (from 1) is repeated: doubling from ``base`` seconds up
    to ``most``. The real one adds up to a ten-thousandth at random.
    """
    return round(min(base * 2.0 ** min(attempt - 1, 1000), most) * NANOS)


def not_ready(session: Session, name: str, now: int) -> list[Turn]:
    """The workload's pods were not ready in time: back off and queue again, or for good."""
    config, item = waits(session), session.items.get(name)
    if config is None or item is None or not item.reserved or item.evicted:
        return []
    item.requeues += 1
    if config.backoff_limit is not None and item.requeues > config.backoff_limit:
        return deactivate(session, name, "RequeuingLimitExceeded", now)
    item.wakes = now + backoff(item.requeues, config.backoff_base, config.backoff_max)
    queued = now if config.requeuing_timestamp == "Eviction" else item.created
    return evict(session, item, PODS_READY_TIMEOUT, now, queued=queued)


# -- leaving ----------------------------------------------------------------------------------------


def evict(session: Session, item: Item, reason: str, now: int, *, queued: int | None = None) -> list[Turn]:
    """The workload has to stop; it waits again, from ``queued`` on, when ``settle`` has taken its quota."""
    session.now = max(session.now, now)
    if item.evicted or not item.reserved:
        return []
    item.evicted, item.held = True, None
    item.time = item.created if queued is None else queued
    session.victims.append(item)
    session.second.pop(item.id, None)
    if item.queue is not None:
        session.changed(item.queue)
    return [Turn(item.id, EVICTED, reason, until=item.wakes if item.wakes > now else 0)]


def deactivate(session: Session, name: str, cause: str, now: int) -> list[Turn]:
    """The workload is set inactive (spec.active=false): it stops, and queues no more."""
    item = session.items.get(name)
    if item is None or not item.workload.active:
        return []
    item.workload = item.workload._replace(active=False)
    item.wakes, item.shelved = 0, False
    if item.reserved:
        evict(session, item, DEACTIVATION, now)
    elif item.queue is not None and item.place != AWAY:
        item.queue.take_out(item)
    return [Turn(name, DEACTIVATED, DEACTIVATION, cause)]


def activate(session: Session, name: str, now: int) -> None:
    """The workload is active again, its count of requeues forgotten."""
    session.now = max(session.now, now)
    item = session.items.get(name)
    if item is None or item.workload.active:
        return
    item.workload = item.workload._replace(active=True)
    item.requeues = item.wakes = 0
    if not item.reserved:
        session.enqueue(item)


def stop(session: Session, name: str, policy: str, now: int) -> list[Turn]:
    """The ClusterQueue's stopPolicy becomes ``policy``. Workloads that only hold quota give it back under
    both policies, admitted ones under HoldAndDrain; None opens the queue again.
    """
    from policycheck.systems.kueue.scheduler.compile import inactive

    queue = session.queues.get(name)
    if queue is None or queue.config.stop_policy == policy:
        return []
    session.now = max(session.now, now)
    queue.config = queue.config._replace(stop_policy=policy)
    if queue.inactive != "CohortCycleDetected":
        queue.inactive = inactive(queue.config, session.world.objects)
    found: list[Turn] = []
    if policy in ("Hold", "HoldAndDrain"):
        for item in list(queue.holders.values()):
            if policy == "HoldAndDrain" or not item.admitted:
                found += evict(session, item, STOPPED, now)
    else:
        session.return_parked([queue.tree])
    return found


def usage_by_local(session: Session) -> dict[str, dict[str, int]]:
    """What the workloads of each LocalQueue hold."""
    found: dict[str, dict[str, int]] = {}
    for queue in session.queues.values():
        for item in queue.holders.values():
            mine = found.setdefault(item.local, {})
            for given in item.admission.pod_sets if item.admission is not None else ():
                for resource, amount in given.usage.items():
                    mine[resource] = mine.get(resource, 0) + amount
    return found


# -- time -------------------------------------------------------------------------------------------


def shelve(session: Session, item: Item) -> None:
    """Remember when the workload may be looked at again."""
    if item.wakes > session.now or (item.shelved and item.wakes):
        heapq.heappush(session.due, (item.wakes, REQUEUE, item.id))


def next_due(session: Session) -> int | None:
    """When something becomes due by itself."""
    due = session.due
    while due:
        at, what, name = due[0]
        item = session.items.get(name)
        waiting = what == REQUEUE and item is not None and item.place == PARKED and item.wakes == at
        if waiting or (what == FAILURE and session.failing.get(name) == at):
            return at
        heapq.heappop(due)
    return None


def wake(session: Session, now: int) -> list[Turn]:
    """Everything that was due by ``now`` happens."""
    from policycheck.systems.kueue.scheduler.outage import confirm

    session.now = max(session.now, now)
    found: list[Turn] = []
    while (at := next_due(session)) is not None and at <= now:
        _, what, name = heapq.heappop(session.due)
        if what == FAILURE:
            found += confirm(session, name, now)
            continue
        item = session.items[name]
        item.shelved, item.wakes = False, 0
        if item.queue is not None:
            item.queue.take_out(item)
            session.enqueue(item)
    return found
