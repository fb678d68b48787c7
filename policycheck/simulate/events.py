"""What the event engine asks of a system that admits jobs, and what it is told about the scenario.

Nothing here knows which system decides. Times are integers in milliseconds of virtual time from the
start of the scenario; ``-1`` stands for never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from policycheck.simulate.job import SECOND, Job
from policycheck.simulate.placer import Placer, Set
from policycheck.simulate.scheduler import Decision, Grant

NEVER = -1
Pair = tuple[str, str]  # (flavor, resource)
# Ways to hold a job within quota, each the amounts it would take: the first is tried first.
Wishes = tuple[tuple[tuple[Pair, int], ...], ...]
Spread = tuple[tuple[str, int, int], ...]  # (level key, domains spanned, least possible then)


class QueueFacts(NamedTuple):
    """A queue as it is set up. ``nominal`` by (flavor, resource), in base units; ``limit`` is the most of
    the principal resource it can ever use (2^63-1: no limit); ``weight`` in thousandths.
    """

    name: str
    cohort: str = ""
    nominal: Mapping[Pair, int] = {}
    limit: int = 2**63 - 1
    weight: int = 1000


class Patience(NamedTuple):
    """What becomes of admitted jobs whose pods do not all run. Times in ms, 0: no limit.

    ``timeout`` counts from admission, ``recovery`` from the moment an already running job loses a pod. An
    evicted job waits ``base * 2^(n-1)`` ms, at most ``cap``, before it is looked at again; after ``most``
    evictions it is given up (-1: never). ``alone``: nobody is admitted while an admitted job is not ready.
    """

    timeout: int = 0
    recovery: int = 0
    base: int = 0
    cap: int = 0
    most: int = NEVER
    alone: bool = False


class Words(NamedTuple):
    """The system's own names for why a job is evicted by something other than another job."""

    preempted: str = "Preempted"
    not_ready: str = "PodsNotReady"
    node_lost: str = "NodeLost"
    check: str = "CheckFailed"
    given_up: str = "GivenUp"
    retried_out: str = "RetriesExhausted"  # cause of giving up: too many timeouts
    too_long: str = "TimeLimit"  # cause of giving up: the maximum execution time


class Check(NamedTuple):
    """Something beside quota that has to agree before a job may start."""

    name: str
    controller: str = ""


class Entry(NamedTuple):
    """A job as the system took it: the queue that will hold quota for it ("" when there is none, then
    ``reason`` and ``why`` say so), the principal amount of all its pods, and what it needs of quota.
    """

    queue: str
    amount: int
    wishes: Wishes = ()
    reason: str = ""
    why: str = ""


class Admitter(Protocol):
    """A system that admits jobs, driven by the engine: it has no clock and no agenda of its own.

    Whoever is named by a job's id must have been offered. All methods that free quota may let others in;
    that shows in the next cycle.
    """

    resource: str  # the principal one
    patience: Patience
    words: Words
    nominations: int  # workloads looked at by cycles so far

    def queues(self) -> Sequence[QueueFacts]:
        """All queues, sorted by name."""

    def amount(self, job: Job) -> int:
        """What all pods of a job ask of the principal resource."""

    def offer(self, jobs: Sequence[tuple[int, Job]], now: int) -> Sequence[Entry]:
        """Submit jobs, each with its number among the arrivals."""

    def has_work(self) -> bool:
        """Whether the next cycle would look at any job."""

    def cycle(self, now: int, most: int = NEVER) -> Sequence[Decision]:
        """One scheduling cycle. ``most``: admit at most so many (-1: as many as fit)."""

    def settle(self, ids: Sequence[str], now: int) -> None:
        """Victims of cycles have stopped: their quota is free, and they wait again."""

    def finish(self, ids: Sequence[str], now: int) -> None:
        """Jobs are done: their quota is free."""

    def evict(self, name: str, reason: str, now: int, until: int) -> None:
        """The engine stopped a job: its quota is free; it waits again and is not looked at before
        ``until`` (-1: never again, it is given up).
        """

    def wake(self, now: int) -> None:
        """Time has passed: jobs whose pause is over may be looked at."""

    def checks(self, name: str) -> Sequence[Check]:
        """Checks that a job with quota still waits for."""

    def passed(self, name: str, check: str, now: int) -> bool:
        """A check agreed; whether the job may start now."""

    def sets(self, job: Job, grant: Grant) -> Sequence[Set]:
        """What a job with quota wants of nodes; pods that the system placed itself are ``fixed``."""

    def spread(self, job: Job, grant: Grant) -> Spread:
        """How far a placement chosen by the system is spread; () when it chose none."""

    def node(self, name: str, now: int, *, up: bool) -> Sequence[str]:
        """A node is lost or back: the jobs that the system itself had placed there."""

    def supply(self) -> tuple[int, int] | None:
        """Total and unused of the principal resource on nodes that the system itself places on; None
        when it knows none.
        """

    def same(self) -> object:
        """Equal while nothing that the next cycle looks at has changed."""

    def outline(self) -> object:
        """Equal for states that may be the same; cheap."""

    def digest(self) -> str:
        """Equal for states that decide alike from here on, whatever the clock says."""

    def explain(self, name: str) -> tuple[str, str]:
        """The system's own reason for which a job waits, and a sentence with the amounts."""


class Pool(NamedTuple):
    """Nodes that are made when something waits for them. ``nodes`` come and go in this order; the first
    ``least`` are always there. ``delay`` ms from the wish to a usable node, ``idle`` ms without any pod
    until it goes (0: it stays).
    """

    name: str
    nodes: tuple[str, ...]
    least: int = 0
    delay: int = 120 * SECOND
    idle: int = 600 * SECOND


class World(NamedTuple):
    """Everything a run needs beside the arrivals. ``placer`` None: where pods go is not simulated."""

    admitter: Admitter
    placer: Placer | None = None
    pools: tuple[Pool, ...] = ()
    notes: tuple[str, ...] = ()  # what was assumed or left out, each a sentence


class Delays(NamedTuple):
    """What the configuration does not say. All in ms.

    ``checks``: until a check agrees, by its name, else by its controller, else ``check``. ``grace``: from
    the decision to evict until the quota is free (at least 1). ``pause``: after a state that repeats,
    until it is looked at again unless something else happens before. ``sample``: fragmentation is
    measured at most so often.
    """

    checks: Mapping[str, int] = {}
    check: int = 0
    grace: int = 0
    pause: int = 1000
    sample: int = 60 * SECOND

    def of(self, check: Check) -> int:
        """How long ``check`` takes."""
        return self.checks.get(check.name, self.checks.get(check.controller, self.check))
