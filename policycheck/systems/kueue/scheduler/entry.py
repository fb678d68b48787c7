"""A head of one cycle and what becomes of it."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.systems.kueue.scheduler.assign import Assignment
from policycheck.systems.kueue.scheduler.explain import Asked
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.victims import Target

MIGRATION, NODE_FAILURES = "FlavorMigration", "NodeFailures"
# Why a head goes back to its queue.
GENERIC, FAILED, PENDING_PREEMPTION, NO_FIT_AT_ALL, NO_VICTIMS, MISMATCH, GATED = range(7)

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPS = "Workload has overlapping preemption targets with another workload"
DEFERRED = OVERLAPS + ", but will fit after these preemptions complete"


class Entry:
    """One nominated head and what becomes of it."""

    __slots__ = (
        "assignment",
        "back",
        "deferred",
        "failed_node",
        "item",
        "message",
        "migrates",
        "notes",
        "queue",
        "reason",
        "reasons",
        "replaces",
        "skipped",
        "taken",
        "targets",
    )

    def __init__(
        self,
        item: Item,
        queue: Queue,
        assignment: Assignment,
        targets: list[Target],
        reasons: Asked | None = None,
    ) -> None:
        self.item = item
        self.queue = queue
        self.assignment = assignment
        self.targets = targets
        self.back = GENERIC
        self.reason: str | None = None
        self.message = ""
        self.skipped = False  # failed after nomination: its status is written again
        self.taken = False  # reserved quota
        self.deferred = False
        self.replaces: Item | None = None  # the slice of the same job whose place it takes
        self.migrates: Item | None = None  # the less favorable variant that makes way
        self.failed_node = False  # evicted, since a node of its failed and there is no other
        self.notes: list[str] = []
        self.reasons = reasons


class Passed(NamedTuple):
    """A head that waits on without being nominated, for the reason that a nomination would give."""

    item: Item
    queue: Queue
    reason: str
    reasons: Asked | None


class Refused(NamedTuple):
    """A head that was not nominated."""

    item: Item
    queue: Queue
    reason: str
    message: str
    back: int
