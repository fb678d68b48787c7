"""Fair sharing between queues and between LocalQueues: weights of zero, usage that counts bytes."""

from __future__ import annotations

from policycheck.lint.hit import Hit
from policycheck.model.cluster import Cluster
from policycheck.systems.kueue.checks.common import Found, Params, configured, documents, state
from policycheck.systems.kueue.model import ClusterQueue, Cohort, LocalQueue

_USAGE = "UsageBasedAdmissionFairSharing"


def weight_zero(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A weight of 0 where weights are read: infinite share as soon as anything is borrowed or used."""
    where = configured(cluster)
    if where is None:
        return
    for kind in ("ClusterQueue", "Cohort", "LocalQueue"):
        for identity, facts in documents(cluster, kind):
            typed = facts.typed
            if not isinstance(typed, (ClusterQueue, Cohort, LocalQueue)) or typed.fair_weight != 0:
                continue
            if isinstance(typed, LocalQueue):
                is_read = where.typed.admission_fair_sharing is not None
                effect = "it is always last (before 0.19.1 the order is undefined and it may be first)"
            else:
                is_read = where.typed.fair_sharing is not None
                effect = (
                    "borrowing makes its share infinite: always last to be admitted, first to be preempted"
                )
            if is_read:
                values = {"kind": kind, "name": typed.name, "effect": effect}
                yield Hit(identity, ("spec", "fairSharing", "weight"), values)


def scope_without_sharing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Usage based admission that the Configuration does not switch on."""
    where = configured(cluster)
    if where is None or where.typed.admission_fair_sharing is not None:
        return
    for identity, facts in documents(cluster, "ClusterQueue"):
        if isinstance(facts.typed, ClusterQueue) and facts.typed.admission_mode == _USAGE:
            yield Hit(identity, ("spec", "admissionScope", "admissionMode"), {"queue": facts.typed.name})


def usage_in_bytes(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Usage is summed in base units: without a weight, bytes of memory outweigh every GPU."""
    where = configured(cluster)
    if where is None or where.typed.admission_fair_sharing is None:
        return
    weights = where.typed.admission_fair_sharing.weights
    covered = {r for q in state(cluster).objects.cluster_queues.values() for g in q.groups for r in g.covered}
    if weights.get("memory", 1.0) > 1e-6 and ("memory" in covered or not covered):
        yield Hit(where.id, ("admissionFairSharing", "resourceWeights"))


def usage_never_decays(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """No half life: usage is never remembered, and LocalQueues are ordered as without the setting."""
    where = configured(cluster)
    usage = None if where is None else where.typed.admission_fair_sharing
    if where is not None and usage is not None and usage.half_life == 0:
        yield Hit(where.id, ("admissionFairSharing", "usageHalfLifeTime"))
