"""What the event engine asks of a system that admits jobs, and what it is told about the scenario.

Nothing here knows which system decides. Times are integers in milliseconds of virtual time from the
start of the scenario; ``NEVER`` stands for no time at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from policycheck.simulate.job import SECOND, Job
from policycheck.simulate.placer import Placer, Set, Where
from policycheck.simulate.scheduler import Decision, Grant

NEVER = -1
Pair = tuple[str, str]  # (flavor, resource)
# Ways to hold a job within quota, each the amounts it would take: the first is tried first.
Wishes = tuple[tuple[tuple[Pair, int], ...], ...]
Spread = tuple[tuple[str, int, int], ...]  # (level key, domains spanned, least possible then)
# What an event made of a job: it may start; it is evicted and waits again; it is evicted or taken out of
# its queue for good.
STARTS, LEAVES, GIVES_UP = "starts", "leaves", "gives up"


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
    """How long the system waits for an admitted job whose pods do not all run, in ms (0: for ever):
    ``timeout`` from its admission, ``recovery`` from the moment when a running one lost pods.
    """

    timeout: int = 0
    recovery: int = 0


class Check(NamedTuple):
    """Something beside quota that has to agree before a job may start. ``usual`` is how long such a check
    takes in ms where nobody says it; ``provides``: when it agrees, nodes for the job have been made.
    """

    name: str
    controller: str = ""
    usual: int = 0
    provides: bool = False


class Entry(NamedTuple):
    """A job as the system took it: the queue that will hold quota for it ("" when there is none, then
    ``reason`` and ``why`` say so), the principal amount of all its pods, and what it needs of quota.
    ``limit`` is the maximum execution time in ms, 0 for none.
    """

    queue: str
    amount: int
    wishes: Wishes = ()
    reason: str = ""
    why: str = ""
    limit: int = 0


class Turn(NamedTuple):
    """What an event made of a job; ``reason`` and ``cause`` are the system's own names."""

    job: str
    what: str
    reason: str = ""
    cause: str = ""


class Admitter(Protocol):
    """A system that admits jobs, driven by the engine: it has no clock and no agenda of its own.

    Jobs are named by id and have been offered. Whoever a cycle or a Turn evicts holds quota until
    ``settle``. What frees quota or lets others in shows in the next cycle.
    """

    @property
    def resource(self) -> str:
        """The principal resource."""

    @property
    def patience(self) -> Patience:
        """How long it waits for pods."""

    @property
    def nominations(self) -> int:
        """Jobs looked at by cycles so far."""

    @property
    def preempted(self) -> str:
        """Its name for an eviction in favour of another job."""

    @property
    def too_long(self) -> str:
        """Its name for the maximum execution time as the cause of giving up."""

    def queues(self) -> Sequence[QueueFacts]:
        """All queues, sorted by name."""

    def amount(self, job: Job) -> int:
        """What all pods of a job ask of the principal resource."""

    def offer(self, jobs: Sequence[tuple[int, Job]], now: int) -> Sequence[Entry]:
        """Submit jobs, each with its number among the arrivals."""

    def has_work(self) -> bool:
        """Whether the next cycle would look at any job."""

    def cycle(self, now: int) -> Iterable[Decision]:
        """One scheduling cycle. It is over when all of its decisions have been gone through; what becomes of one
        may be told before the next is made.
        """

    def settle(self, ids: Sequence[str], now: int) -> None:
        """Evicted jobs have stopped: their quota is free, and those that were not given up wait again."""

    def finish(self, ids: Sequence[str], now: int) -> None:
        """Jobs are done: their quota is free."""

    def checks(self, name: str) -> Sequence[Check]:
        """Checks that a job with quota still waits for."""

    def agree(self, name: str, agreed: str, now: int, /) -> Sequence[Turn]:
        """The check ``agreed`` agrees."""

    def ready(self, name: str, now: int) -> None:
        """All pods of an admitted job run."""

    def not_ready(self, name: str, now: int) -> Sequence[Turn]:
        """They did not all run in time."""

    def give_up(self, name: str, cause: str, now: int) -> Sequence[Turn]:
        """A job is to be stopped for good."""

    def node(self, name: str, now: int, *, up: bool) -> Sequence[Turn]:
        """A node is lost or back."""

    def next_due(self) -> int:
        """When something happens by itself; NEVER when nothing will."""

    def wake(self, now: int) -> Sequence[Turn]:
        """Everything that was due by ``now`` happens."""

    def sets(self, job: Job, grant: Grant) -> Sequence[Set]:
        """What a job with quota wants of nodes; pods that the system placed itself are ``fixed``."""

    def where(self, grant: Grant) -> Where:
        """Nodes (or lowest domains) that the system chose itself; () when it chose none."""

    def spread(self, job: Job, grant: Grant) -> Spread:
        """How far such a placement is spread; () when the system chose none."""

    def total(self) -> int:
        """What nodes that the system places on have of the principal resource; NEVER when it knows none."""

    def same(self) -> object:
        """Equal while nothing that the next cycle looks at has changed."""

    def outline(self) -> object:
        """Equal for states that decide alike, and for others too; cheap."""

    def digest(self) -> str:
        """Equal for states that decide alike from here on, whatever the clock says."""

    def explain(self, name: str) -> tuple[str, str]:
        """The system's own reason for which a job waits, and a sentence with the amounts."""


class Pool(NamedTuple):
    """Nodes that are made when something waits for them, ``nodes`` in this order, none there at first.

    ``delay`` ms from the wish (none for a job that waited for a check that provides) to a usable node; ``idle`` ms without any pod until it goes (0: it stays).
    ``holds`` tells how many pods of a podset fit on one empty node of it.
    """

    name: str
    nodes: tuple[str, ...]
    holds: Callable[[Set], int]
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

    ``checks``: until a check agrees, by its name, else by its controller, else ``check`` (NEVER: as is usual
    for it). ``batch``: parked jobs return so long after quota was freed, all together. ``grace``: from
    the decision to evict until the quota is free (at least 1). ``tired``: a job
    that is preempted again within 60 times what that took last time takes twice as long, up to this: who
    takes from one another for ever does so ever more slowly, since a cycle takes a millisecond here and
    seconds in a cluster. ``unreachable``: from the loss of a node
    until its pods are made anew elsewhere (300 s: what pods tolerate by default). ``pause``: after a state
    that repeats, until it is looked at again unless something else happens before; doubles each time.
    ``sample``: how broken up free nodes are is measured at most so often.
    """

    checks: Mapping[str, int] = {}
    check: int = NEVER
    batch: int = 0
    grace: int = 0
    tired: int = 300 * SECOND
    unreachable: int = 300 * SECOND
    pause: int = SECOND
    sample: int = 60 * SECOND

    def of(self, check: Check) -> int:
        """How long ``check`` takes."""
        usual = check.usual if self.check == NEVER else self.check
        return self.checks.get(check.name, self.checks.get(check.controller, usual))
