"""What physically exists: nodes, accelerators, sharing. What a source cannot say is a range.

Vocabulary: *physical* GPUs are cards; *schedulable* are units of a resource name that the
scheduler can hand out whole (a MIG device or a time slice is a unit of its own resource, not a GPU).
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.origin import DocumentId
from policycheck.model.placement import Taint
from policycheck.record import NamedTuple


class Range(NamedTuple):
    """What is known of a number: between ``low`` and ``high`` (None: no upper bound known).

    ``why`` is empty when low == high and nothing is assumed; else it says what is unknown or
    assumed, in words a person can act on. An error may only be raised when even ``high`` is short.
    """

    low: int
    high: int | None
    why: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high

    def plus(self, other: Range) -> Range:
        """The range of the sum; reasons are joined once each."""
        high = None if self.high is None or other.high is None else self.high + other.high
        reasons = [r for r in (self.why, other.why) if r]
        if len(reasons) == 2 and other.why in self.why:  # it is there already, perhaps among others
            reasons.pop()
        return Range(self.low + other.low, high, "; ".join(reasons))

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low} or more" if self.low else "unknown"
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


NONE = Range(0, 0)


class Accelerators(NamedTuple):
    """The GPUs of one node, by what its labels and allocatable say."""

    model: str  # "NVIDIA-H100-80GB-HBM3"; "" when no label says it
    physical: Range  # cards
    schedulable: Range  # whole GPUs that the scheduler can hand out now (not slices, not shares)
    slices: Mapping[str, int] = {}
    shares: Mapping[str, int] = {}
    sharing: str = ""  # "", "time-slicing", "mps", "mig-single", "mig-mixed"
    replicas: int = 1  # shares per card; 0: nobody says
    resource: str = ""  # the resource that whole GPUs go by; or a device class
    profile: str = ""  # sharing "mig-single": the profile that a unit of ``resource`` is
    model_source: str = ""  # the label or machine type that gave the model, unless it was measured


class Node(NamedTuple):
    """One machine, or ``machines`` alike ones in a pool file or a compact inventory.

    ``allocatable`` is None when the source does not say; amounts are base units per node.
    ``committed`` is what DaemonSets and pods outside any queue hold on it (per node).
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] | None = None
    capacity: Mapping[str, int] | None = None
    ready: bool = True
    unschedulable: bool = False
    accelerators: Accelerators | None = None
    committed: Mapping[str, int] = {}
    machines: int = 1  # alike machines that this record stands for
    most: int | None = 1  # elastic pools: at most so many (None: unbounded); ``machines`` at least
    oddities: tuple[str, ...] = ()  # what is odd about it, each a sentence
    source: str = ""  # "node", "table", "pool", "slices", "compact", "elastic"

    @property
    def usable(self) -> bool:
        """Whether the scheduler may place new pods here at all."""
        return self.ready and not self.unschedulable

    def free(self, resource: str) -> int | None:
        """What queues can use of ``resource`` on this node, or None when unknown."""
        if self.allocatable is None:
            return None
        return max(0, self.allocatable.get(resource, 0) - self.committed.get(resource, 0))


class Inventory(NamedTuple):
    """All nodes in sight. ``known`` is False when no source gave any node: then nothing that
    depends on hardware may be reported as fine or as wrong.
    """

    nodes: tuple[Node, ...] = ()
    known: bool = False
    origins: Mapping[str, DocumentId] = {}
    sources: tuple[str, ...] = ()  # files, for messages
    dated: str = ""  # when it was taken, if the source says so
    oddities: tuple[str, ...] = ()
