"""Queues, quotas and flavors as rules and reports see them, whatever system holds them.

These are views: a system derives them from its own typed state, which stays the truth.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.record import NamedTuple


class Quota(NamedTuple):
    """Quota of one (flavor, resource) in base units; None means no limit is set."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class Queue(NamedTuple):
    """Where quota is held. ``tree`` names the set of queues that can lend to each other."""

    id: DocumentId
    key: ObjectKey
    system: str
    name: str
    cohort: str  # "" when it shares with nobody
    tree: str
    quotas: Mapping[tuple[str, str], Quota]  # by (flavor, resource)
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    stopped: bool = False


class Cohort(NamedTuple):
    """A set of queues and cohorts; its own quota is on top of its members'."""

    id: DocumentId | None  # None: only named by its members
    name: str
    system: str
    parent: str
    quotas: Mapping[tuple[str, str], Quota]


class Flavor(NamedTuple):
    """A named class of nodes. ``elastic`` when its nodes come on demand, or are in other clusters."""

    id: DocumentId
    name: str
    system: str
    node_labels: Mapping[str, str]
    topology: tuple[str, ...]  # level label keys, widest first
    elastic: bool = False


class QueuedWorkload(NamedTuple):
    """A workload and the queue that it reaches; "" when it reaches none."""

    id: DocumentId
    key: ObjectKey
    system: str
    queue: str
    priority: int


class View(NamedTuple):
    """What one system contributes to the neutral view."""

    queues: tuple[Queue, ...] = ()
    cohorts: tuple[Cohort, ...] = ()
    flavors: tuple[Flavor, ...] = ()
    workloads: tuple[QueuedWorkload, ...] = ()
