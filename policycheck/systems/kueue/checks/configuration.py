"""The Configuration of Kueue itself."""

from __future__ import annotations

from policycheck.lint.hit import Hit, Skip
from policycheck.model.cluster import Cluster
from policycheck.systems.kueue.checks.common import Found, Params, configuration
from policycheck.systems.kueue.model import Configuration


def queue_metrics_off(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Series of quota and usage are not published (off by default)."""
    where = configuration(cluster)
    if isinstance(where, Skip):
        yield where
    elif isinstance(where[1].typed, Configuration) and not where[1].typed.enable_cluster_queue_resources:
        yield Hit(where[0], ("metrics", "enableClusterQueueResources"))
