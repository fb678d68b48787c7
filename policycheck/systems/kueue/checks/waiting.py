"""waitForPodsReady: how long Kueue waits, what it does then, and who waits meanwhile."""

from __future__ import annotations

from policycheck.lint.hit import Hit
from policycheck.model.cluster import Cluster
from policycheck.systems.core.podspec import mapping
from policycheck.systems.kueue.checks.common import Found, Params, configured
from policycheck.systems.kueue.configuration import seconds

_WAIT = "waitForPodsReady"


def _written(cluster: Cluster) -> bool:
    """Whether the Configuration says anything of it."""
    where = configured(cluster)
    return where is not None and _WAIT in cluster.entries[where.id].facts.value


def endless_requeues(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Waiting is on and written down, and a workload that never gets ready is requeued for ever."""
    where = configured(cluster)
    if where is not None and _written(cluster):
        wait = where.typed.wait_for_pods_ready
        if wait.enabled and wait.backoff_limit is None:
            values = {"timeout": _minutes(wait.timeout)}
            yield Hit(where.id, (_WAIT, "requeuingStrategy", "backoffLimitCount"), values)


def on_by_default(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Nothing is written, and since 0.19 that means: evicted after half an hour, requeued for ever."""
    where = configured(cluster)
    if where is not None and not _written(cluster) and where.typed.wait_for_pods_ready.enabled:
        yield Hit(where.id, (_WAIT,))


def too_short(cluster: Cluster, params: Params) -> Found:
    """A timeout within which a node, an image and a model do not come."""
    where = configured(cluster)
    if where is None or not _written(cluster):
        return
    wait = where.typed.wait_for_pods_ready
    least = float(str(params.get("minutes", 10))) * 60
    if wait.enabled and wait.timeout < least:
        values = {"timeout": _minutes(wait.timeout), "least": _minutes(least)}
        yield Hit(where.id, (_WAIT, "timeout"), values)


def blocks_admission(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """One workload whose pods are not ready holds back every queue (in v1beta1 by default)."""
    where = configured(cluster)
    if where is not None and _written(cluster):
        wait = where.typed.wait_for_pods_ready
        if wait.enabled and wait.block_admission:
            raw = mapping(cluster.entries[where.id].facts.value.get(_WAIT))
            how = "is true" if raw.get("blockAdmission") is True else "is true by default in v1beta1"
            yield Hit(where.id, (_WAIT, "blockAdmission"), {"how": how, "timeout": _minutes(wait.timeout)})


def written_and_off(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Settings of waitForPodsReady in a v1beta1 Configuration that does not enable it."""
    where = configured(cluster)
    if where is not None and _written(cluster) and not where.typed.wait_for_pods_ready.enabled:
        raw = mapping(cluster.entries[where.id].facts.value.get(_WAIT))
        if raw and raw.get("enable") is not False:
            yield Hit(where.id, (_WAIT,))


def _minutes(seconds: float) -> str:
    """``30m``, ``90s``."""
    whole, rest = divmod(round(seconds), 60)
    return f"{whole}m" if not rest and whole else f"{round(seconds)}s"


_DURATIONS = (
    (_WAIT, "timeout"),
    (_WAIT, "recoveryTimeout"),
    ("admissionFairSharing", "usageHalfLifeTime"),
    ("admissionFairSharing", "usageSamplingInterval"),
    ("multiKueue", "gcInterval"),
    ("multiKueue", "workerLostTimeout"),
    ("objectRetentionPolicies", "workloads", "afterFinished"),
    ("objectRetentionPolicies", "workloads", "afterDeactivatedByKueue"),
)


def no_duration(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A duration in words of its own: the controller does not start with it."""
    where = configured(cluster)
    for steps in _DURATIONS if where is not None else ():
        value: object = cluster.entries[where.id].facts.value if where is not None else None
        for step in steps:
            value = mapping(value).get(step)
        if where is not None and isinstance(value, str) and seconds(value, -1.5) == -1.5:
            yield Hit(where.id, steps, {"field": steps[-1], "written": value})
