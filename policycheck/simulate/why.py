"""Why a workload waits: the answer as it leaves the system that admits, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.simulate.change import Change
from policycheck.simulate.scheduler import Grant, VictimWeighed

# Outcomes. ADMITTED: by the decision, when everything in sight asks at once.
HOLDS, ADMITTED, DISPLACED, WAITS, NEVER, BLOCKED, UNMANAGED, UNKNOWN = (
    "holds",
    "admitted",
    "displaced",
    "waits",
    "never",
    "blocked",
    "unmanaged",
    "unknown",
)
Amounts = Mapping[str, int]  # by resource, in base units


class SetAsked(NamedTuple):
    """One podset: pods, and what each is charged."""

    name: str
    pods: int
    each: Amounts


class Held(NamedTuple):
    """What one queue uses of a contested resource, against its own quota."""

    queue: str
    used: int
    nominal: int


class Short(NamedTuple):
    """One resource that does not suffice. ``final``: ``limit`` is the most there can ever be, else what
    is free now. ``made_of`` says in words where the limit comes from.
    """

    resource: str
    asked: int
    limit: int
    final: bool
    made_of: str
    held: tuple[Held, ...] = ()

    @property
    def missing(self) -> int:
        """By how much it is short."""
        return self.asked - self.limit


class Looked(NamedTuple):
    """One flavor that was looked at."""

    flavor: str
    pod_sets: tuple[str, ...]
    mode: str  # as in scheduler.FlavorTried
    refusal: str
    shorts: tuple[Short, ...]


class Loss(NamedTuple):
    """A workload that has its quota no more, what it held, and the reason."""

    workload: str
    queue: str
    reason: str
    amounts: Amounts


class Suggestion(NamedTuple):
    """Changes after which the workload is admitted, tried; and what that costs others."""

    changes: tuple[Change, ...]
    losses: tuple[Loss, ...]


class Unplaced(NamedTuple):
    """Pods of one podset that find no node though there is quota, at least and at most over the ways in
    which equal nodes may be chosen; ``why`` in the scheduler's own words.
    """

    name: str
    pods: int
    least: int
    most: int
    why: str


class End(NamedTuple):
    """The answer when elastic pools are at one end: ``minimum`` or ``maximum``."""

    at: str
    outcome: str
    headline: str


class Answer(NamedTuple):
    """All of it. Texts are sentences without a full stop; "" where there is nothing to say."""

    workload: str  # namespace/name
    made_of: str  # "Job recognition-large"
    outcome: str
    reason: str  # the system's own reason name
    headline: str
    queue: str = ""
    entry: str = ""  # through which queue of its namespace
    cohort: str = ""
    priority: int = 0
    priority_class: str = ""
    asks: tuple[SetAsked, ...] = ()
    total: Amounts = {}
    grant: Grant | None = None
    checks: tuple[str, ...] = ()  # that must pass still
    placement: str = ""  # why nodes are not decided
    looked: tuple[Looked, ...] = ()
    weighed: tuple[VictimWeighed, ...] = ()
    nobody: str = ""  # why nobody can be preempted
    before: tuple[str, ...] = ()  # what else stands before it
    losses: tuple[Loss, ...] = ()  # what admitting it cost
    suggestions: tuple[Suggestion, ...] = ()
    searched: tuple[str, ...] = ()  # kinds of change that were tried
    exhausted: bool = False  # the search ended before all were tried
    notes: tuple[str, ...] = ()
    scope: str = ""
    target: str = ""
    assumed: bool = False
    unplaced: tuple[Unplaced, ...] = ()
    ends: tuple[End, ...] = ()  # both, where they differ
