"""What placed pods take of nodes: the domains of every flavor, and usage that they share.

All usage is one flat list of cells. Flavors whose lowest level is the hostname share the cells of a
host, so that what one flavor takes is gone for the other (TASHandleOverlappingFlavors, 0.18); else each
flavor has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policycheck.model.capacity import expand
from policycheck.model.inventory import Node
from policycheck.systems.kueue.model import KueueObjects, TopologyAssignment
from policycheck.systems.kueue.scheduler.domains import HOSTNAME, Domains, build
from policycheck.systems.kueue.target import Strategy

PODS = "pods"
Claim = tuple[str, int, Mapping[str, int], int]  # flavor, leaf, what one pod takes, pods
Taken = tuple[tuple[int, int], ...]  # (cell, amount)


class Land:
    """Domains by flavor with the usage of their leaves. Adding and removing are exact opposites."""

    __slots__ = ("_cells", "_known", "_shared", "fields", "usage")

    def __init__(self, fields: Mapping[str, Domains], *, shared: bool) -> None:
        self.fields = dict(fields)
        self.usage: list[int] = []
        self._shared = shared
        self._known: dict[tuple[str, tuple[str, ...], str], int] = {}
        self._cells: dict[tuple[str, str], list[int]] = {}

    def copy(self) -> Land:
        """The same land with usage of its own; numbering is shared."""
        other = Land.__new__(Land)
        for name in Land.__slots__:
            setattr(other, name, getattr(self, name))
        other.usage = self.usage.copy()
        return other

    def cells(self, flavor: str, resource: str) -> list[int]:
        """The cells of ``resource``, leaf by leaf."""
        found = self._cells.get((flavor, resource))
        if found is None:
            domains = self.fields[flavor]
            owner = "" if self._shared and domains.hostname else flavor
            known = self._known
            found = self._cells[flavor, resource] = [
                known.setdefault((owner, domains.written(leaf), resource), len(known))
                for leaf in range(domains.leaves)
            ]
        short = len(self._known) - len(self.usage)
        if short > 0:
            self.usage.extend([0] * short)
        return found

    def taken(self, claims: Iterable[Claim]) -> Taken:
        """What ``claims`` take, by cell: what their pods request and a pod slot each."""
        found: dict[int, int] = {}
        for flavor, leaf, each, pods in claims:
            for resource, amount in each.items():
                if resource != PODS and amount:
                    cell = self.cells(flavor, resource)[leaf]
                    found[cell] = found.get(cell, 0) + amount * pods
            cell = self.cells(flavor, PODS)[leaf]
            found[cell] = found.get(cell, 0) + pods
        return tuple(found.items())

    def add(self, taken: Taken) -> None:
        """Use more."""
        usage = self.usage
        for cell, amount in taken:
            usage[cell] += amount

    def remove(self, taken: Taken) -> None:
        """Undo ``add``."""
        usage = self.usage
        for cell, amount in taken:
            usage[cell] -= amount

    def fits(self, claims: Iterable[Claim]) -> bool:
        """Whether every claim by itself still has room. The pod slots are not asked again."""
        usage = self.usage
        for flavor, leaf, each, pods in claims:
            free = self.fields[flavor].free
            for resource, amount in each.items():
                if resource == PODS or amount <= 0:
                    continue
                column = free.get(resource)
                left = (column[leaf] if column else 0) - usage[self.cells(flavor, resource)[leaf]]
                if left // amount < pods:
                    return False
        return True

    def claims(
        self, flavor: str, assignment: TopologyAssignment | None, each: Mapping[str, int]
    ) -> list[Claim]:
        """The claims of an assignment; domains that are not there (any more) take nothing."""
        domains = self.fields.get(flavor)
        if domains is None or assignment is None:
            return []
        where = domains.where
        return [(flavor, where[values], each, pods) for values, pods in assignment.domains if values in where]


def survey(objects: KueueObjects, nodes: Iterable[Node], rules: Strategy) -> Land | None:
    """The land of all flavors that have a topology; None when there are none, or the gate is off.

    A flavor one of whose nodes does not say what it has is left out: quota alone decides about it,
    since nobody can tell whether there is a place.
    """
    if not rules.topology:
        return None
    known = {name for name, topology in objects.topologies.items() if topology.levels}
    flavors = [f for f in objects.flavors.values() if f.topology in known]
    if not flavors:
        return None
    every = tuple(nodes)
    single = [n for node in every for n in expand(node) if n.machines]
    fields = {}
    for flavor in flavors:
        topology = objects.topologies[flavor.topology]
        domains = build(topology, flavor, single if HOSTNAME in topology.levels else every)
        if all(n.allocatable is not None for machines in domains.machines for n in machines):
            fields[flavor.name] = domains
    return Land(fields, shared=rules.topology_overlapping)
