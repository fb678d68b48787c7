"""What a simulation returns: the life of every job, and what each queue held over time.

Times are integers in milliseconds of virtual time. A Timeline is a value: the same scenario gives the
same bytes. Metrics and reports are worked out of it and of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.simulate.job import Job

PENDING, RUNNING, FINISHED, REFUSED = "pending", "running", "finished", "refused"
# How a stay ended, beside the system's own reasons of eviction.
DONE, OPEN = "Finished", ""


class Stay(NamedTuple):
    """One time that a job held quota. Times not reached are -1.

    ``ended_by`` is DONE, OPEN (it still holds) or the system's own reason for the eviction, ``cause`` the
    more exact reason of a preemption ("InCohortReclamation"), ``by`` the workload for which it happened.
    ``lost`` is run time in ms that was thrown away, after checkpoint credit.
    """

    reserved: int
    admitted: int = -1
    ready: int = -1  # all pods ran: work counts from here
    ended: int = -1
    ended_by: str = OPEN
    cause: str = ""
    by: str = ""
    lost: int = 0
    flavors: tuple[tuple[str, str], ...] = ()  # (resource, flavor), sorted
    borrowed: int = 0  # of the principal resource beyond the queue's own nominal, when it was reserved
    domains: tuple[tuple[str, int, int], ...] = ()  # (level key, domains spanned, least possible then)
    nodes: tuple[tuple[str, int], ...] = ()  # (node or lowest domain, pods), where pods are placed
    unplaced: int = 0  # pods for which no node had room
    idle: int = 0  # ms between ready and the end in which not all pods ran: run = ended - ready - idle
    restarts: int = 0  # times that it began again within the stay, since a node was lost


class Life(NamedTuple):
    """One job from submission to the end of the scenario. ``amount`` is the principal resource in base
    units for all its pods (for accelerators: units; shares count in thousandths beside).

    ``reason`` and ``why`` are the system's own reason and sentence for what it waits for at the end.
    """

    job: Job
    queue: str  # the queue that holds quota for it; "" when there is none
    amount: int
    state: str  # PENDING | RUNNING | FINISHED | REFUSED
    stays: tuple[Stay, ...] = ()
    finished: int = -1
    reason: str = ""
    why: str = ""
    requeues: int = 0


class Step(NamedTuple):
    """From ``at`` on: what a queue uses of the principal resource, and what waits in it.

    ``waiting`` is the amount asked by its jobs without quota, ``fitting`` that part of it that would fit
    into the nominal quota left (0 when nothing pending does).
    """

    at: int
    used: int
    waiting: int
    fitting: int
    jobs: int  # waiting
    running: int


class QueueLine(NamedTuple):
    """A queue over time. ``nominal`` is of the principal resource over all its flavors; ``limit`` the most
    it can ever use (2^63-1: no limit); ``weight`` of fair sharing in thousandths.
    """

    name: str
    cohort: str
    nominal: int
    limit: int
    weight: int
    steps: tuple[Step, ...]  # times increase strictly; the first is at 0


class Supply(NamedTuple):
    """From ``at`` on: what the usable nodes have of the principal resource, and how broken up it is.

    ``largest`` is the largest gang of the reference shape that fits now, in units; ``allowed`` what as
    many units as are free would allow; both -1 where nodes are not simulated. ``fragment`` in units.
    """

    at: int
    total: int
    free: int
    largest: int = -1
    allowed: int = -1
    fragment: int = -1


class Loop(NamedTuple):
    """Thrash: workloads that took from one another until the clock was pushed on."""

    at: int
    workloads: tuple[str, ...]
    times: int


class Happening(NamedTuple):
    """One event, for ``--events``: what happened to whom, when."""

    at: int
    what: str  # submitted | reserved | admitted | ready | evicted | requeued | finished | refused | node-down | node-up
    who: str
    detail: str = ""


class Timeline(NamedTuple):
    """All that happened. ``resource`` is the principal one: the accelerator if there is any, else the first
    that queues give quota in. ``end`` is the time of the last event or the horizon.
    """

    resource: str
    end: int
    lives: tuple[Life, ...]  # in order of (submit, id)
    queues: tuple[QueueLine, ...]  # sorted by name
    supply: tuple[Supply, ...]
    loops: tuple[Loop, ...] = ()
    cycles: int = 0
    nominations: int = 0
    happenings: tuple[Happening, ...] = ()  # only when asked for
    notes: tuple[str, ...] = ()  # what was assumed or not simulated, each a sentence
    gangs: Mapping[str, int] = {}  # evidence counts by name, for certificates: "partial", "unplaced", ...
