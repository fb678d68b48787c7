"""The domains of one flavor's topology: a tree over its nodes, flat, level by level.

Source: KEP-2724 "Topology aware scheduling" and facts 1c. Only ready, schedulable nodes count that have
the flavor's labels and a label for every level. A leaf is a node when the lowest level is the hostname,
else all nodes with the same values together: then nobody looks at taints or at how a leaf is divided.

Nodes that cannot be used now have a leaf as well, so that they can come back: it is not live and holds
nothing. What nodes change (``live``, ``machines``, ``free``) is replaced and never changed in place, so
that copies share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.model.inventory import Node
from policycheck.model.placement import Taint, Toleration, untolerated
from policycheck.model.workload import PodSet
from policycheck.systems.kueue.model import ResourceFlavor, Topology

HOSTNAME = "kubernetes.io/hostname"
Values = tuple[str, ...]


class Eligible:
    """Which leaves are for some pods. ``weights`` are of the preferences that each meets, () for none."""

    __slots__ = ("every", "fits", "weights")

    def __init__(self, fits: bytes, weights: tuple[int, ...] = ()) -> None:
        self.fits = fits  # by leaf, 1 or 0, live or not
        self.weights = weights if any(weights) else ()
        self.every = all(fits)


class Domains:
    """Domains of all levels under one numbering: those of a level are contiguous, in the order of their
    values, and so are the children of a domain. ``first[n]`` is where level n begins.

    Leaves are numbered from 0 as well; leaf x is domain ``first[-2] + x``. ``free`` is what a leaf has
    for pods under this scheme: allocatable less what other pods hold, in base units.
    """

    __slots__ = (
        "_alike",
        "first",
        "free",
        "homes",
        "hostname",
        "kids",
        "known",
        "leaves",
        "levels",
        "live",
        "machines",
        "names",
        "sifted",
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
        self.leaves = len(paths)
        # The values by which assignments name a leaf: the hostname alone, where there is one.
        self.names: list[Values] = [path[-1:] if self.hostname else path for path in paths]
        self.where = {name: leaf for leaf, name in enumerate(self.names)}
        self.known = [groups[path] for path in paths]  # nodes by leaf, usable or not
        self.homes = {node.name: leaf for leaf, nodes_ in enumerate(self.known) for node in nodes_}
        self.machines = [[n for n in nodes_ if n.usable] for nodes_ in self.known]
        self.live = bytes(1 if machines else 0 for machines in self.machines)
        self.free: dict[str, list[int]] = {}
        for leaf, machines in enumerate(self.machines):
            for machine in machines:
                add_node(self.free, self.leaves, leaf, machine, 1)
        self.sifted: dict[tuple[object, ...], Eligible] = {}
        self._alike: tuple[dict[str, list[int]], list[int], list[int]] | None = None

    def copy(self) -> Domains:
        """A copy whose nodes change by themselves."""
        other = Domains.__new__(Domains)
        for name in Domains.__slots__:
            setattr(other, name, getattr(self, name))
        other.sifted = dict(self.sifted)
        return other

    def _group(self, nodes: Iterable[Node]) -> dict[Values, list[Node]]:
        """Nodes by their values. Two nodes with one hostname are one leaf, where the first of them is."""
        found: dict[Values, list[Node]] = {}
        homes: dict[str, Values] = {}
        for node in sorted(nodes, key=lambda n: (not n.usable, n.name)):
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

    def switch(self, name: str, *, on: bool) -> int:
        """The node can be used from now on, or no more. Its leaf; -1 when nothing changes."""
        leaf = self.homes.get(name, -1)
        if leaf < 0 or on == any(n.name == name for n in self.machines[leaf]):
            return -1
        node = next(n for n in self.known[leaf] if n.name == name)
        machines = [n for n in self.machines[leaf] if n.name != name]
        if on:
            machines = sorted([*machines, node], key=lambda n: n.name)
        self.machines = [*self.machines[:leaf], machines, *self.machines[leaf + 1 :]]
        self.live = self.live[:leaf] + (b"\1" if machines else b"\0") + self.live[leaf + 1 :]
        self.free = {resource: column.copy() for resource, column in self.free.items()}
        add_node(self.free, self.leaves, leaf, node, 1 if on else -1)
        if len(self.known[leaf]) > 1:
            self.sifted = {}  # another node speaks for the leaf
        return leaf

    def retaint(self, name: str, taints: tuple[Taint, ...]) -> int:
        """The node has other taints from now on. Its leaf; -1 when it is not known."""
        leaf = self.homes.get(name, -1)
        if leaf >= 0:
            self.known = self.known.copy()
            self.machines = self.machines.copy()
            for lists in (self.known, self.machines):
                lists[leaf] = [n._replace(taints=taints) if n.name == name else n for n in lists[leaf]]
            self.sifted = {}
        return leaf

    def level(self, key: str) -> int:
        """The number of the level with this label key, or -1."""
        return self.levels.index(key) if key in self.levels else -1

    @property
    def written_levels(self) -> tuple[str, ...]:
        """The level keys that go with ``names``."""
        return self.levels[-1:] if self.hostname else self.levels

    def alike(self) -> tuple[list[int], list[int]]:
        """Leaves that have the same of everything: the class of each, and one leaf of each class."""
        if self._alike is None or self._alike[0] is not self.free:
            numbers: dict[tuple[int, ...], int] = {}
            columns = [self.free[r] for r in sorted(self.free)]
            looks = zip(*columns, strict=True) if columns else [()] * self.leaves
            classes: list[int] = []
            examples: list[int] = []
            for leaf, look in enumerate(looks):
                number = numbers.setdefault(look, len(numbers))
                if number == len(examples):
                    examples.append(leaf)
                classes.append(number)
            self._alike = self.free, classes, examples
        return self._alike[1:]

    def is_live(self, values: Values) -> bool:
        """Whether an assignment to ``values`` names a leaf that is there and can be used."""
        leaf = self.where.get(values, -1)
        return leaf >= 0 and self.live[leaf] == 1

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

    def under(self, domain: int) -> tuple[int, int]:
        """The range of leaves below ``domain``."""
        low, high = self.spans(domain, domain + 1, len(self.values[domain]) - 1)[-1]
        return low - self.first[-2], high - self.first[-2]

    def eligible(self, spec: PodSet, *, scored: bool) -> Eligible:
        """Leaves to which pods of ``spec`` may go: all, unless leaves are nodes."""
        key: tuple[object, ...] = ()
        if self.hostname:
            key = (
                tuple(sorted(spec.node_selector.items())),
                spec.has_affinity,
                spec.affinity,
                spec.tolerations,
                spec.preferred if scored else (),
            )
        found = self.sifted.get(key)
        if found is None:
            found = self.sifted[key] = self._sift(spec, scored=scored)
        return found

    def _sift(self, spec: PodSet, *, scored: bool) -> Eligible:
        """Nodes that look alike to the pods are asked once."""
        if not self.hostname:
            return Eligible(b"\1" * self.leaves)
        terms = [*spec.affinity, *(p.term for p in spec.preferred if scored)]
        keys = sorted({*spec.node_selector, *(r.key for t in terms for r in t.expressions)})
        named = any(t.fields for t in terms)
        answers: dict[tuple[object, ...], tuple[int, int]] = {}
        found = []
        for leaf in range(self.leaves):
            node = self.speaker(leaf)
            look = (node.taints, *map(node.labels.get, keys), node.name if named else "")
            answer = answers.get(look)
            if answer is None:
                fits = 0 if self.refusal(leaf, spec) else 1
                answer = answers[look] = fits, weigh(node, spec) if scored and fits else 0
            found.append(answer)
        return Eligible(bytes(fits for fits, _ in found), tuple(weight for _, weight in found))

    def speaker(self, leaf: int) -> Node:
        """The node whose taints and labels count for ``leaf``."""
        return (self.machines[leaf] or self.known[leaf])[0]

    def refusal(self, leaf: int, spec: PodSet) -> str:
        """Why the node of ``leaf`` is not for pods of ``spec``, or ""."""
        node = self.speaker(leaf)
        taint = untolerated(node.taints, spec.tolerations + self.tolerations)
        if taint is not None:
            return f'taint "{taint.key}{"=" + taint.value if taint.value else ""}:{taint.effect}"'
        if any(node.labels.get(k) != v for k, v in spec.node_selector.items()):
            return "nodeSelector"
        if (spec.has_affinity or spec.affinity) and not any(
            t.matches(node.labels, node.name) for t in spec.affinity
        ):
            return "affinity"
        return ""


def add_node(free: dict[str, list[int]], leaves: int, leaf: int, node: Node, times: int) -> None:
    """Add what ``node`` has for pods to its leaf, ``times`` over."""
    for resource in {**(node.allocatable or {}), **node.committed}:
        amount = (node.allocatable or {}).get(resource, 0) - node.committed.get(resource, 0)
        column = free.get(resource)
        if column is None:
            column = free[resource] = [0] * leaves
        column[leaf] += amount * max(1, node.machines) * times


def weigh(node: Node, spec: PodSet) -> int:
    """The summed weight of the preferred terms that the node meets."""
    return sum(p.weight for p in spec.preferred if p.weight and p.term.matches(node.labels, node.name))


def belongs(node: Node, flavor: ResourceFlavor, topology: Topology) -> bool:
    """Whether the node, when it can be used, is one of the flavor's."""
    return all(node.labels.get(key) == value for key, value in flavor.node_labels.items()) and all(
        level in node.labels for level in topology.levels
    )


def build(topology: Topology, flavor: ResourceFlavor, nodes: Iterable[Node]) -> Domains:
    """The domains of ``flavor`` among ``nodes``, each of which stands for one machine at hostname level.
    Those that cannot be used and do not say what they have are left out.
    """
    fitting = (
        node
        for node in nodes
        if belongs(node, flavor, topology) and (node.usable or node.allocatable is not None)
    )
    return Domains(topology, flavor.tolerations, fitting)
