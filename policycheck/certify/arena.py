"""Where promises are attacked: moves, the story they make, and what an admitting system offers for it.

A Scenario is a value: it can be shortened, written down and played again to the same end. Nothing here
knows which system decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from policycheck.certify.promise import Shape, Slo
from policycheck.model.inventory import Inventory
from policycheck.model.workload import PodSet
from policycheck.simulate.hold import Demand, Machines
from policycheck.simulate.metrics import Metrics
from policycheck.simulate.rights import Rights
from policycheck.simulate.scheduler import Grant

SUBMIT, FINISH, STOP, RESUME = "submit", "finish", "stop", "resume"


class Ask(NamedTuple):
    """A workload of an attack. ``queue`` holds the quota; the arena knows how it is reached. ``age`` orders
    equals: a lower number is older.
    """

    name: str
    queue: str
    shape: Shape
    priority: int = 0
    priority_class: str = ""
    age: int = 0


class Move(NamedTuple):
    """One thing that happens before cycle ``cycle`` (from 1): workloads come or end, or a queue is held."""

    cycle: int
    what: str
    asks: tuple[Ask, ...] = ()
    names: tuple[str, ...] = ()  # of workloads (finish) or queues (stop, resume)


class Scenario(NamedTuple):
    """Moves in order of their cycles. ``lost`` are nodes that are gone from the start. ``cycles``: at most."""

    moves: tuple[Move, ...]
    lost: tuple[str, ...] = ()
    cycles: int = 60

    @property
    def asks(self) -> tuple[Ask, ...]:
        """All workloads that come."""
        return tuple(ask for move in self.moves for ask in move.asks)


class Happened(NamedTuple):
    """What one cycle did to one workload: reserved (with what it was given) or evicted (with the system's
    reason, and for whom).
    """

    cycle: int
    what: str  # reserved | evicted
    name: str
    queue: str
    reason: str = ""
    by: str = ""
    grant: Grant | None = None


class Story(NamedTuple):
    """How a scenario went. ``unplaced`` are workloads with quota for whose pods there is no node, with the
    reason; ``loop`` the cycles of one turn when states repeat for ever; ``coming`` workloads with quota whose
    nodes are not there yet, and come when they are asked for.
    """

    happened: tuple[Happened, ...]
    holding: Mapping[str, Grant]
    waiting: Mapping[str, str]  # name -> the system's reason
    unplaced: Mapping[str, str] = {}
    loop: int = 0
    cycles: int = 0
    coming: frozenset[str] = frozenset()

    def evictions(self, name: str) -> int:
        """How often a workload was evicted."""
        return sum(h.what == "evicted" and h.name == name for h in self.happened)


class Enforcement(NamedTuple):
    """How a queue comes by its guarantee of one (flavor, resource), worst case. ``enforced`` can be had by
    taking back; the rest of ``nominal`` only when others end. ``why`` says what decides, in words.
    """

    nominal: int
    enforced: int
    why: str


class Timing(NamedTuple):
    """What passes between asking and running at worst, in ms; None: without bound. Each with its source."""

    cycle: int
    grace: int | None  # victims' termination grace
    checks: int | None  # admission checks of the queue
    runs: int | None  # the longest that a workload may hold quota (maximum execution time)
    blocked: str = ""  # why admission as a whole may stand still, or ""
    sources: tuple[str, ...] = ()


class Ladder(NamedTuple):
    """Pod priority, the second way to lose a place: may pods of ``taker`` displace those of ``holder``?"""

    taker: str
    holder: str
    may: bool
    why: str


class Holding(NamedTuple):
    """Quota of one resource in one flavor. ``kind`` of the holder is "ClusterQueue" or "Cohort"; ``queues`` are
    all of the same tree.
    """

    holder: str
    kind: str
    flavor: str
    resource: str
    amount: int
    queues: tuple[str, ...] = ()


class Load(NamedTuple):
    """``times`` alike gangs that have to run at once, each of the pods of one podset. ``flavors`` are
    alternatives, one for all pods of a gang; (): no queue, wherever its pods may go.
    """

    name: str
    pods: PodSet
    times: int
    flavors: tuple[str, ...] = ()


class Posed(NamedTuple):
    """Loads as a question for ``simulate.hold``; demands in the order of the loads. ``why``: it can not be
    asked. ``doubt``: what is asked for beside and not counted, so that it may hold here and not there.
    """

    classes: tuple[Machines, ...] = ()
    demands: tuple[Demand, ...] = ()
    why: str = ""
    doubt: str = ""


class Service(NamedTuple):
    """Something that serves and asks for accelerators. ``shape`` is all of it at its fewest replicas; ``surge``
    are the pods that a rollout adds, by podset; ``queue`` holds its quota, "" where it is in none.
    ``apart``: replicas are workloads of their own.
    """

    name: str
    shape: Shape
    queue: str = ""
    surge: tuple[int, ...] = ()
    apart: bool = True


class Kin(NamedTuple):
    """What a queue is decided by. ``policies``: equal for queues that differ in nothing but name and ``amounts`` of
    quota. Both can be compared and hashed.
    """

    policies: object
    amounts: object


class Measured(NamedTuple):
    """What a simulated stream came to; ``source`` and ``digest`` of the stream."""

    metrics: Metrics
    source: str
    digest: str


class Arena(Protocol):
    """One linked scope, as claims see it. Everything is a function of its arguments."""

    scope: str
    rights: Rights
    inventory: Inventory
    classes: Mapping[str, int]  # priority classes for queueing
    pod_classes: Mapping[str, int]  # pod priority classes
    pod_default: str  # the class of pods that name none, "" for none
    accelerators: Sequence[str]  # resources that count as accelerators, the principal one first
    notes: Sequence[str]  # what is assumed about this scope

    def as_written(self) -> Arena:
        """The same scope, in which queues that let nobody in are not opened for attacks."""

    def queues(self) -> Sequence[str]:
        """Queues that take workloads in any state, stopped ones included, sorted."""

    def peers(self, queue: str) -> Sequence[str]:
        """Queues that can lend to or take from ``queue``, without itself."""

    def inapplicable(self, queue: str) -> str:
        """Why nothing can be certified locally about the queue (it hands work to other clusters), or
        "".
        """

    def unclear(self, queue: str) -> str:
        """Why nothing can be known about the queue (defined in several ways, a circle of cohorts), or ""."""

    def nominal(self, queue: str) -> Mapping[tuple[str, str], int]:
        """The quota of the queue's own by (flavor, resource), whether it can be enforced or not."""

    def kin(self, queue: str) -> Kin:
        """What the queue has in common with others."""

    def shapes(self, queue: str) -> Sequence[Shape]:
        """Shapes of the workloads in sight that go to ``queue``."""

    def enforcement(self, queue: str, flavor: str, resource: str, at: int) -> Enforcement:
        """What ``queue`` can take back when it asks with priority ``at``."""

    def timing(self, queue: str) -> Timing:
        """What it waits for, at worst, beside quota."""

    def ladder(self) -> Sequence[Ladder]:
        """Every pair of pod classes in use."""

    def hosts(self, flavor: str) -> frozenset[str]:
        """Names of the nodes of a flavor."""

    def patience(self) -> tuple[int | None, str]:
        """After how many ms a job is evicted whose pods do not all run, None for never; and why, in words."""

    def places(self, queue: str) -> bool:
        """Whether the system chooses the nodes of everything that is admitted through ``queue``."""

    def spanned(self, grant: Grant, level: str = "") -> int:
        """Over how many domains of ``level`` a placement is spread, a label of nodes; "" is the level above them. 0
        when it is not placed.
        """

    def tolerated(self, shape: Shape) -> Mapping[str, int]:
        """What usable nodes have of accelerators that pods of ``shape`` could run on through any flavor."""

    def play(self, scenario: Scenario) -> Story:
        """The scenario, from a state in which nobody holds anything; deterministic, bounded."""

    def case(self, scenario: Scenario, name: str) -> Mapping[str, Any]:
        """The scenario as a recorded situation for ``simulate --case``."""

    def holdings(self) -> Sequence[Holding]:
        """Everybody who holds quota of accelerators."""

    def opens(self, pods: PodSet, flavor: str) -> bool:
        """Whether there is a node to which such pods may go through ``flavor`` ("": through no queue)."""

    def posed(self, loads: Sequence[Load], lost: tuple[str, ...] = (), *, grown: bool = False) -> Posed:
        """Whether nodes hold the loads at once, as a question; ``grown``: pools at their largest."""

    def provisioning(self) -> Sequence[str]:
        """Names of what brings nodes when they are asked for."""

    def services(self) -> Sequence[Service]:
        """What serves, in sight, sorted by name."""

    def uncovered(self) -> Sequence[str]:
        """Kinds in sight that serve and are not read."""

    def measured(self, slo: Slo, seed: int) -> Measured | str:
        """What a simulated stream comes to, or why there is none."""

    def fits(self, queue: str, shape: Shape) -> str:
        """Why the shape can never be admitted through ``queue``, even alone; "" when it can."""


Test = Callable[[Story], bool]
