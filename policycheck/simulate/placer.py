"""What puts pods on nodes where the admitting system does not choose them itself.

Quota that is free is no place to run: a Placer says which pods of an admitted job run and where, and
which wait. Nothing here knows how it decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from policycheck.model.workload import PodSet

Where = tuple[tuple[str, int], ...]  # (node, pods)


class SetPlaced(NamedTuple):
    """Pods of one podset: those on nodes, and those for which there is no room, with the reason."""

    name: str
    where: Where
    waiting: int = 0
    why: str = ""  # "0/12 nodes: 8 Insufficient nvidia.com/gpu, 4 untolerated taint ..."; "" when all run


class Placed(NamedTuple):
    """One job on nodes. ``whole``: no pod waits."""

    sets: tuple[SetPlaced, ...]

    @property
    def whole(self) -> bool:
        """Whether every pod has a node."""
        return not any(s.waiting for s in self.sets)


class Set(NamedTuple):
    """A podset to be placed, with what its flavor adds to the pods: selectors and tolerations are in
    ``spec`` already. ``fixed`` are nodes that the admitting system chose itself (then nothing is decided).
    """

    spec: PodSet
    pods: int
    models: tuple[str, ...] = ()
    milli: int = 1000  # of one accelerator per pod; below 1000 a share
    fixed: Where = ()


class Placer(Protocol):
    """Nodes with what runs on them. Placing and freeing are exact opposites."""

    def place(self, job: str, sets: Sequence[Set], draw: int, *, together: bool = False) -> Placed:
        """Place what can be placed; ``together``: all pods or none. ``draw`` breaks ties: the same value on
        the same state gives the same places.
        """

    def fill(self, job: str) -> Placed | None:
        """Try the pods of ``job`` that wait once more; None when none of them fits."""

    def free(self, job: str) -> None:
        """The job's pods are gone."""

    def down(self, node: str) -> Sequence[str]:
        """The node is lost: the jobs with pods on it, which still have to be freed."""

    def up(self, node: str) -> None:
        """The node is usable again."""

    def total(self, resource: str) -> int:
        """What usable nodes have of ``resource``, net of what daemons and unmanaged pods hold."""

    def unused(self, resource: str) -> int:
        """What of it nobody uses."""

    def measures(self) -> Mapping[str, int]:
        """Named integer measures of the state: ``largest``, ``allowed``, ``fragment`` (see timeline.Supply)."""
