"""What an admitting system's scheduler offers, and the decisions that leave it.

Nothing here knows which system decides. Times are integers in nanoseconds since the zero time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

W_contra = TypeVar("W_contra", contravariant=True)

RESERVED, PREEMPTING, WAITING, EVICTED = "reserved", "preempting", "waiting", "evicted"


class SetGrant(NamedTuple):
    """What one podset is given: a flavor and an amount by resource, and nodes where they are chosen.

    ``placement`` is (level keys, ((level values, pods), ...)), or None.
    """

    name: str
    pods: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]
    placement: tuple[tuple[str, ...], tuple[tuple[tuple[str, ...], int], ...]] | None = None


class Grant(NamedTuple):
    """Quota set aside for a workload."""

    queue: str
    sets: tuple[SetGrant, ...]


class Displaced(NamedTuple):
    """A workload that must make room, and the system's own reason for it."""

    workload: str
    queue: str
    reason: str


class Shortfall(NamedTuple):
    """One resource that was short in one flavor. ``limit`` is what is free, or with reason
    ExceedsMaxQuota the most there could be; ``assumed`` what earlier podsets of the workload take.
    """

    resource: str
    reason: str
    asked: int
    assumed: int
    limit: int

    @property
    def missing(self) -> int:
        """By how much it is short."""
        return self.asked + self.assumed - self.limit


class FlavorTried(NamedTuple):
    """One flavor that was looked at for some podsets, and how it came out."""

    pod_sets: tuple[str, ...]
    flavor: str
    mode: str  # NoFit | NoCandidates | Preempt | Reclaim | Fit
    height: int  # how far up the cohorts it borrows; 0: not at all
    refusal: str  # why it is not for these pods at all, or ""
    shortfalls: tuple[Shortfall, ...]


class VictimWeighed(NamedTuple):
    """One workload that holds contested quota, and why it was taken or spared."""

    workload: str
    queue: str
    taken: bool
    why: str


class Explanation(NamedTuple):
    """The reasons of a decision, in the order in which they were weighed."""

    tried: tuple[FlavorTried, ...]
    weighed: tuple[VictimWeighed, ...]
    notes: tuple[str, ...]


class Decision(NamedTuple):
    """What one cycle decided about one workload.

    ``explain`` works out the reasons from what held when the decision was made; it may be called at
    any later time, and costs nothing until then.
    """

    workload: str
    queue: str
    outcome: str  # reserved | preempting | waiting | evicted
    reason: str  # the system's own reason name for not being admitted; "" when it reserved
    message: str
    grant: Grant | None
    admitted: bool  # all further checks passed as well
    victims: tuple[Displaced, ...]
    explain: Callable[[], Explanation]


class Waiting(NamedTuple):
    """A workload without quota: in which queue, whether the next cycle may look at it, and why not."""

    workload: str
    queue: str
    state: str  # active | inadmissible | notQueued
    reason: str | None  # None: no cycle looked at it
    implied: str | None = None  # the reason that it shares with one just like it that was looked at


class Scheduler(Protocol[W_contra]):
    """A scheduler that decides in cycles on a state of its own."""

    def offer(self, workloads: Iterable[W_contra]) -> None:
        """Submit workloads; those that hold quota already are taken over as they are."""

    def release(self, ids: Iterable[str], *, requeue: bool = False) -> None:
        """The workloads stop: their quota is free. With ``requeue`` they wait again."""

    def cycle(self, now: int) -> Sequence[Decision]:
        """One scheduling cycle at ``now``."""

    def settle(self) -> None:
        """What controllers do between cycles: the evicted release their quota and queue again."""

    def has_work(self) -> bool:
        """Whether the next cycle would look at any workload."""

    def waiting(self) -> Sequence[Waiting]:
        """All workloads without quota, by id."""

    def holding(self) -> Mapping[str, Grant]:
        """All workloads with quota, by id."""

    def fork(self) -> Scheduler[W_contra]:
        """An independent copy of the whole state."""

    def digest(self) -> str:
        """Equal for states that decide alike from here on, whatever the clock says."""
