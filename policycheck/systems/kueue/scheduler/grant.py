"""What an assignment gives, and an admission in the neutral form that leaves a session."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.simulate.scheduler import Grant, SetGrant
from policycheck.systems.kueue.model import Admission
from policycheck.systems.kueue.quota import Amounts


class Given(NamedTuple):
    """An admission as the system writes it, as quota counts it, and as others are told. Workloads of one
    shape that fit in the same way share it: most of what one that holds quota takes of memory.
    """

    admission: Admission
    charges: tuple[Amounts, frozenset[int]]
    grant: Grant


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
