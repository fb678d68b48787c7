"""Workloads that stand for another: variants of concurrent admission, slices of an elastic job.

A variant is confined to some flavors by an annotation; of one parent's variants the one with the
earlier flavor is the more favorable (KEP "Concurrent admission", alpha). A slice replaces an admitted
workload of the same job with more pods; it must keep its flavors and pays for the difference alone
(KEP-77 "Elastic jobs").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policycheck.systems.kueue.scheduler.state import Item, Queue

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.session import Session

ALLOWED = "kueue.x-k8s.io/workload-allowed-resource-flavors"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


def parent(item: Item) -> str:
    """Name of the workload whose variant ``item`` is, or ""."""
    return next((name for kind, name in item.workload.owners if kind == "Workload"), "")


def _rank(item: Item, queue: Queue) -> int | None:
    """Position of a variant's flavor in its queue: earlier is more favorable."""
    flavor = item.workload.annotations.get(ALLOWED, "")
    names = [f.name for f in queue.config.groups[0].flavors] if queue.config.groups else []
    return names.index(flavor) if flavor in names else None


def sibling(item: Item, queue: Queue, *, better: bool) -> Item | None:
    """An admitted variant of the same parent that is more (or less) favorable than ``item``."""
    mine, family = _rank(item, queue), parent(item)
    if mine is None or not family:
        return None
    for other in queue.holders.values():
        if other is item or not other.admitted or parent(other) != family:
            continue
        if other.workload.namespace != item.workload.namespace:
            continue
        theirs = _rank(other, queue)
        if theirs is not None and (theirs < mine if better else theirs > mine):
            return other
    return None


def may_migrate(item: Item, queue: Queue) -> bool:
    """Whether the policy lets a workload move to the variant's flavor."""
    policy = queue.config.concurrent
    if policy is None or not policy.last_acceptable_flavor:
        return True
    names = [f.name for f in queue.config.groups[0].flavors] if queue.config.groups else []
    mine = _rank(item, queue)
    if mine is None or policy.last_acceptable_flavor not in names:
        return False
    return mine <= names.index(policy.last_acceptable_flavor)


def replaced(session: Session, item: Item, queue: Queue) -> Item | None:
    """The admitted slice that ``item`` replaces, or None."""
    if not session.world.strategy.elastic:
        return None
    old = session.items.get(item.workload.annotations.get(REPLACES, ""))
    if old is None or not old.reserved or old.queue is not queue or old.admission is None:
        return None
    return old if len(old.admission.pod_sets) == len(item.shape.sets) else None


def kept_flavors(old: Item) -> dict[tuple[int, str], str]:
    """The flavors that a replacement must keep, by podset and resource."""
    sets = old.admission.pod_sets if old.admission is not None else ()
    return {(n, r): flavor for n, given in enumerate(sets) for r, flavor in given.flavors.items()}
