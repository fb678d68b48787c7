"""A scope's documents as a Cluster."""

from __future__ import annotations

from policycheck.app.gather import Gathered
from policycheck.model.cluster import Cluster, link


def linked(scope: Gathered) -> Cluster:
    """The scope's documents linked, on the hardware in sight and on that which was given."""
    from policycheck.systems.registry import linkers

    cluster = link(scope.name, scope.entries, linkers(), is_named=scope.is_named, unseen=scope.unseen)
    if not scope.hardware.known:
        return cluster
    from policycheck.systems.core.inventory import less, merge
    from policycheck.systems.core.link import CoreState

    core = cluster.systems["core"]
    workloads = core.workloads.values() if isinstance(core, CoreState) else ()
    claimed = frozenset(key for one in cluster.linkers for key in one.claims(cluster.systems[one.name]))
    given = scope.hardware._replace(nodes=less(scope.hardware.nodes, workloads, claimed))
    merged = merge((cluster.inventory, given))
    return cluster.with_inventory(merged)
