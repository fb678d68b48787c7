"""What the engine is told of a Kueue configuration before the run: queues, patience, the principal resource."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.amount import UNLIMITED, add
from policycheck.simulate.events import Check, Pair, Patience, QueueFacts
from policycheck.simulate.job import SECOND
from policycheck.systems.gpu.resources import is_accelerator, is_whole
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects
from policycheck.systems.kueue.scheduler.life import waits
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.state import quotas

PROVISIONING = "kueue.x-k8s.io/provisioning-request"


def principal(objects: KueueObjects) -> str:
    """The resource that a simulation is told in: whole accelerators if queues have any, else accelerators
    in another form, else the first that queues give quota in. Of several the one with the most quota.
    """
    total: dict[str, int] = {}
    for queue in objects.cluster_queues.values():
        for (_, resource), quota in quotas(queue.groups).items():
            total[resource] = add(total.get(resource, 0), quota.nominal)
    for kind in (is_whole, is_accelerator):
        found = [resource for resource in total if kind(resource)]
        if found:
            return max(found, key=lambda r: (total[r], r))
    return next(iter(total), "cpu")


def patience(session: Session) -> Patience:
    """Timeouts of waitForPodsReady; none when it is off."""
    config = waits(session)
    if config is None:
        return Patience()
    return Patience(round(config.timeout * SECOND), round(config.recovery_timeout * SECOND))


def check(objects: KueueObjects, name: str) -> Check:
    """An admission check. One that provisions nodes is taken for two minutes where nobody knows better."""
    known = objects.checks.get(name)
    controller = known.controller if known is not None else ""
    if controller == PROVISIONING:
        return Check(name, controller, 120 * SECOND, provides=True)
    return Check(name, controller)


def queue_facts(session: Session, queue: ClusterQueue, resource: str) -> QueueFacts:
    """A ClusterQueue for the record; the limit is what all flavors together could ever give it."""
    nominal: Mapping[Pair, int] = {pair: quota.nominal for pair, quota in quotas(queue.groups).items()}
    place = session.queues[queue.name]
    tree = session.trees[place.tree]
    limit = 0
    for pair in nominal:
        if pair[1] == resource:
            limit = add(limit, min(tree.ceiling[tree.cell(place.node, pair)], UNLIMITED))
    weight = 1000 if queue.fair_weight is None else queue.fair_weight
    return QueueFacts(queue.name, queue.cohort, nominal, limit, weight)
