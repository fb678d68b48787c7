"""The domains of one flavor's topology: a tree over its nodes, flat, level by level.

Source: KEP-2724 "Topology aware scheduling" and facts 1c. Only ready, schedulable nodes count that have
the flavor's labels and a label for every level. A leaf is a node when the lowest level is the hostname,
else all nodes with the same values together: then nobody looks at taints or at how a leaf is divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.model.inventory import Node
from policycheck.model.placement import NodeTerm, Toleration, untolerated
from policycheck.model.workload import PodSet
from policycheck.systems.kueue.model import ResourceFlavor, Topology

HOSTNAME = "kubernetes.io/hostname"
Values = tuple[str, ...]
Eligible = tuple[tuple[int, int], ...]  # (leaf, weight of the preferences that it meets)


class Domains:
    """Domains of all levels under one numbering: those of a level are contiguous, in the order of their
    values, and so are the children of a domain. ``first[n]`` is where level n begins.

    Leaves are numbered from 0 as well; leaf x is domain ``first[-2] + x``. ``free`` is what a leaf has
    for pods under this scheme: allocatable less what other pods hold, in base units.
    """

    __slots__ = (
        "_eligible",
        "first",
        "free",
        "hostname",
        "kids",
        "leaves",
        "levels",
        "machines",
        "size",
        "tolerations",
        "topology",
        "up",
        "values",
        "where",
    )

    def __init__(
        self, topology: Topology, tolerations: tuple[Toleration, ...], nodes: Iterable[Node]
    ) -> None:
        self.topology = topology.name
        self.levels = topology.levels
        self.tolerations = tolerations
        self.hostname = bool(self.levels) and self.levels[-1] == HOSTNAME
        groups = self._group(nodes)
        paths = sorted(groups)
        self.values: list[Values] = []
        self.first: list[int] = []
        self.up: list[int] = []
        self.kids: list[tuple[int, int]] = []
        self._grow(paths)
        self.size = len(self.values)
        self.machines = [groups[path] for path in paths]
        self.leaves = len(paths)
        self.where = {self.written(leaf): leaf for leaf in range(self.leaves)}
        self.free: dict[str, list[int]] = {}
        for leaf, machines in enumerate(self.machines):
            for machine in machines:
                self._add(leaf, machine)
        self._eligible: dict[tuple[object, ...], Eligible] = {}

    def _group(self, nodes: Iterable[Node]) -> dict[Values, list[Node]]:
        """Nodes by their values. Two nodes with one hostname are one leaf, where the first of them is."""
        found: dict[Values, list[Node]] = {}
        homes: dict[str, Values] = {}
        for node in sorted(nodes, key=lambda n: n.name):
            path = tuple(node.labels[level] for level in self.levels)
            if self.hostname:
                path = homes.setdefault(path[-1], path)
            found.setdefault(path, []).append(node)
        return found

    def _grow(self, paths: Sequence[Values]) -> None:
        before: dict[Values, int] = {}
        for depth in range(1, len(self.levels) + 1):
            self.first.append(len(self.values))
            here: dict[Values, int] = {}
            for path in paths:
                prefix = path[:depth]
                if prefix in here:
                    continue
                number = here[prefix] = len(self.values)
                parent = before.get(prefix[:-1], -1)
                self.values.append(prefix)
                self.up.append(parent)
                self.kids.append((0, 0))
                if parent >= 0:
                    begin = self.kids[parent][0] or number
                    self.kids[parent] = (begin, number + 1)
            before = here
        self.first.append(len(self.values))

    def _add(self, leaf: int, node: Node) -> None:
        for resource in {**(node.allocatable or {}), **node.committed}:
            amount = (node.allocatable or {}).get(resource, 0) - node.committed.get(resource, 0)
            column = self.free.setdefault(resource, [0] * self.leaves)
            column[leaf] += amount * max(1, node.machines)

    def level(self, key: str) -> int:
        """The number of the level with this label key, or -1."""
        return self.levels.index(key) if key in self.levels else -1

    def written(self, leaf: int) -> Values:
        """The values by which an assignment names the leaf: the hostname alone, where there is one."""
        path = self.values[self.first[-2] + leaf]
        return path[-1:] if self.hostname else path

    @property
    def written_levels(self) -> tuple[str, ...]:
        """The level keys that go with ``written``."""
        return self.levels[-1:] if self.hostname else self.levels

    def above(self, leaf: int, level: int) -> int:
        """The domain of ``level`` that the leaf is in."""
        domain = self.first[-2] + leaf
        for _ in range(len(self.levels) - 1 - level):
            domain = self.up[domain]
        return domain

    def spans(self, begin: int, end: int, level: int) -> list[tuple[int, int]]:
        """The ranges of domains at and below the range ``begin`` to ``end`` of ``level``, level by level."""
        out = [(begin, end)]
        for _ in range(level, len(self.levels) - 1):
            begin, end = (self.kids[begin][0], self.kids[end - 1][1]) if begin < end else (0, 0)
            out.append((begin, end))
        return out

    def eligible(self, spec: PodSet, *, scored: bool) -> Eligible:
        """Leaves to which pods of ``spec`` may go: all, unless leaves are nodes."""
        if not self.hostname:
            return tuple((leaf, 0) for leaf in range(self.leaves))
        key = (
            tuple(sorted(spec.node_selector.items())),
            spec.has_affinity,
            spec.affinity,
            spec.tolerations,
            spec.preferred if scored else (),
        )
        found = self._eligible.get(key)
        if found is None:
            found = self._eligible[key] = tuple(
                (leaf, weigh(self.machines[leaf][0], spec) if scored else 0)
                for leaf in range(self.leaves)
                if not self.refusal(leaf, spec)
            )
        return found

    def refusal(self, leaf: int, spec: PodSet) -> str:
        """Why the node of ``leaf`` is not for pods of ``spec``, or ""."""
        node = self.machines[leaf][0]
        taint = untolerated(node.taints, spec.tolerations + self.tolerations)
        if taint is not None:
            return f'taint "{taint.key}{"=" + taint.value if taint.value else ""}:{taint.effect}"'
        if any(node.labels.get(k) != v for k, v in spec.node_selector.items()):
            return "nodeSelector"
        if (spec.has_affinity or spec.affinity) and not any(_meets(t, node) for t in spec.affinity):
            return "affinity"
        return ""


def _meets(term: NodeTerm, node: Node) -> bool:
    if not term.expressions and not term.fields:
        return False
    name = {"metadata.name": node.name}
    return all(r.matches(node.labels) for r in term.expressions) and all(r.matches(name) for r in term.fields)


def weigh(node: Node, spec: PodSet) -> int:
    """The summed weight of the preferred terms that the node meets."""
    return sum(p.weight for p in spec.preferred if p.weight and _meets(p.term, node))


def build(topology: Topology, flavor: ResourceFlavor, nodes: Iterable[Node]) -> Domains:
    """The domains of ``flavor`` among ``nodes``, each of which stands for one machine at hostname level."""
    wanted = flavor.node_labels.items()
    fitting = (
        node
        for node in nodes
        if node.usable
        and all(node.labels.get(key) == value for key, value in wanted)
        and all(level in node.labels for level in topology.levels)
    )
    return Domains(topology, flavor.tolerations, fitting)
