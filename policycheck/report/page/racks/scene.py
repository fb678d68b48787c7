"""What a picture of racks shows, free of any system and of where anything is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policycheck.model import amount
from policycheck.model.inventory import Node

PLACED, UNPLACED, WAITING = "placed", "unplaced", "waiting"


class Held(NamedTuple):
    """``units`` of ``resource`` on one node are held by the gang with this id."""

    node: str
    resource: str
    units: int
    gang: str


class Gang(NamedTuple):
    """A job, and what became of it.

    ``label`` is what people call it; ``units`` what all its pods ask of the resources that are drawn.
    UNPLACED has quota and no nodes, WAITING neither; ``why`` then says the reason. A PLACED one has a
    reason when some of its pods have no node.
    """

    id: str
    label: str
    queue: str
    units: int
    pods: int
    state: str = PLACED
    why: str = ""


class Scene(NamedTuple):
    """Nodes at one moment. ``levels`` are the label keys of the topology, widest first, without the
    hostname; ``resource`` is what to draw of nodes without accelerators.
    """

    title: str
    nodes: tuple[Node, ...]
    gangs: tuple[Gang, ...]
    held: tuple[Held, ...]
    levels: tuple[str, ...] = ()
    resource: str = ""
    notes: tuple[str, ...] = ()
    known: tuple[str, ...] = ()  # queues that exist, so that colours do not depend on who holds something

    def size(self, units: int) -> str:
        """An amount as people write it: accelerators as they are, else with the resource."""
        return f"{amount.show(self.resource, units)} {self.resource}" if self.resource else f"{units:,}"

    def queues(self) -> tuple[str, ...]:
        """The queues of all gangs and those that are known, those that hold most first."""
        found = dict.fromkeys(self.known, 0)
        for gang in self.gangs:
            found[gang.queue] = found.get(gang.queue, 0) + (gang.units if gang.state == PLACED else 0)
        return tuple(sorted(found, key=lambda name: (-found[name], name)))


def numbered(gangs: Iterable[Gang]) -> tuple[Gang, ...]:
    """The gangs that hold nodes in the order of their numbers, largest first."""
    return tuple(sorted((g for g in gangs if g.state == PLACED), key=lambda g: (-g.units, g.id)))
