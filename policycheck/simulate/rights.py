"""What queues may have and take, worked out once and used by rules, claims and comparisons alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Taking(NamedTuple):
    """Whether workloads of one queue may displace those of another, and by which reason.

    ``reason`` is the system's own name, "" when it never may. ``when`` says under which condition in
    words; ``lower_only`` that only workloads of lower priority can be displaced (or, with
    ``newer_equal``, newer ones of equal priority); ``at_most`` bounds the victim's priority.
    """

    may: bool
    reason: str = ""
    lower_only: bool = False
    newer_equal: bool = False
    at_most: int | None = None
    borrowing: bool = False  # also while the taker borrows
    when: str = ""


class Shortage(NamedTuple):
    """A queue cannot be given what was promised: ``promised`` against ``available``, and why."""

    queue: str
    flavor: str
    resource: str
    promised: int
    available: int
    why: str


class Rights(Protocol):
    """A system's quota rights. Amounts are integers in base units; 2^63-1 is unlimited."""

    def queues(self) -> Sequence[str]:
        """All queues, sorted."""

    def resources(self, queue: str) -> Sequence[tuple[str, str]]:
        """(flavor, resource) pairs in which the queue has quota of its own, in order."""

    def guarantee(self, queue: str, flavor: str, resource: str) -> int:
        """What the queue gets whenever it asks, at the latest after displacing borrowers."""

    def kept(self, queue: str, flavor: str, resource: str) -> int:
        """What nobody else can use even while the queue is idle."""

    def untouched(self, queue: str, flavor: str, resource: str) -> int:
        """What others can not hold all together: what is kept, or more where they may not borrow it."""

    def burst(self, queue: str, flavor: str, resource: str) -> int:
        """What it can use beyond its guarantee while the others are idle."""

    def potential(self, queue: str, flavor: str, resource: str) -> int:
        """The most it can ever use: everything, with all others idle."""

    def may_take(self, taker: str, holder: str) -> Mapping[str, Taking]:
        """By situation of the taker, what it may displace of ``holder``'s.

        Situations: ``any`` (its own workloads), ``own`` (the request stays within its own quota),
        ``cohort`` (beyond that, within a cohort that the holder is not in), ``borrowing`` (beyond that
        too). Empty when the two never meet.
        """

    def shortfalls(self) -> Sequence[Shortage]:
        """Guarantees that the tree cannot honour all at once, or not at all."""
