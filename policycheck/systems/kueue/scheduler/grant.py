"""An admission in the neutral form that leaves a session."""

from __future__ import annotations

from policycheck.simulate.scheduler import Grant, SetGrant
from policycheck.systems.kueue.model import Admission


def grant_of(admission: Admission) -> Grant:
    """The neutral form of an admission."""
    return Grant(
        admission.cluster_queue,
        tuple(
            SetGrant(
                s.name,
                s.pods,
                s.flavors,
                s.usage,
                (s.topology.levels, s.topology.domains) if s.topology else None,
            )
            for s in admission.pod_sets
        ),
    )
