"""What many checks ask of a cluster and no workload has a part in, worked out before anybody waits for it."""

from __future__ import annotations

from policycheck.model.cluster import Cluster
from policycheck.systems.kueue.checks.common import ceilings, ground
from policycheck.systems.kueue.checks.hardware import all_shortfalls
from policycheck.systems.kueue.checks.promised import corners


def settle(cluster: Cluster) -> None:
    """Works it out, once for a cluster."""
    ground(cluster)
    ceilings(cluster)
    if cluster.inventory.known:
        all_shortfalls(cluster)
        corners(cluster)
