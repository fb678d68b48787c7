"""Quota algebra: one tree for cohorts and queues alike, per (flavor, resource), exact and iterative.

A *cell* is one (flavor, resource) of one node; every list below is indexed by cell, and ``up`` gives
the parent's cell, so that an operation is a walk over integers. Formulas: KEP-79 "Hierarchical
cohorts" and the documentation of cohorts (facts 1c): usage of a cohort is what its children use
beyond the part they never lend, so usage is a function of what the leaves use, and adding then
removing an amount leaves every cell as it was.

Amounts are integers in base units. An unlimited quota is stored as ``INFINITE``, so large that no
sum of requests (each below 2^63) reaches it: what is unlimited stays so whatever is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policycheck.model.amount import UNLIMITED
from policycheck.record import NamedTuple
from policycheck.systems.kueue.model import ClusterQueue, Cohort, Quota, ResourceGroup

INFINITE = 1 << 100
FlavorResource = tuple[str, str]
Amounts = Sequence[tuple[int, int]]  # (cell, amount)


def plus(a: int, b: int) -> int:
    """Sum of two quotas: unlimited absorbs; a bounded sum saturates just below unlimited."""
    if a == UNLIMITED or b == UNLIMITED:
        return UNLIMITED
    return max(-UNLIMITED, min(a + b, UNLIMITED - 1))


def minus(a: int, b: int) -> int:
    """Difference of two quotas: unlimited minus unlimited is nothing."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    return -UNLIMITED if b == UNLIMITED else max(-UNLIMITED, a - b)


def _stored(value: int) -> int:
    return INFINITE if value >= UNLIMITED else value


class Node(NamedTuple):
    """A queue or a cohort as a node: its quotas and its place."""

    name: str
    is_queue: bool
    parent: int  # -1 for the root
    quotas: Mapping[FlavorResource, Quota]
    weight: float  # fairSharing.weight; 1 when unset


class Tree:
    """One root cohort with all below it, or a queue without cohort. Node 0 is the root; a parent
    comes before its children. ``usage`` is the only list that changes after building.
    """

    __slots__ = (
        "ceiling",
        "children",
        "column",
        "defined",
        "height",
        "limit",
        "local",
        "nodes",
        "nominal",
        "pairs",
        "room",
        "size",
        "subtree",
        "up",
        "usage",
    )

    def __init__(self, nodes: Sequence[Node], pairs: Iterable[FlavorResource]) -> None:
        self.nodes = tuple(nodes)
        self.size = len(self.nodes)
        self.children: tuple[tuple[int, ...], ...] = _children(self.nodes)
        self.height = _heights(self.nodes)
        self.column: dict[FlavorResource, int] = {}
        self.pairs: list[FlavorResource] = []
        self.up: list[int] = []
        self.nominal: list[int] = []
        self.subtree: list[int] = []  # quota of the subtree: own, and what children lend
        self.local: list[int] = []  # of it, never lent to the parent
        self.limit: list[int | None] = []  # borrowing limit
        self.room: list[int | None] = []  # what the parent may give while nothing is used there
        self.ceiling: list[int] = []  # free when all others are idle ("potential")
        self.defined: list[bool] = []  # whether the node has this pair at all
        self.usage: list[int] = []
        for pair in pairs:
            self.add_column(pair)

    def add_column(self, pair: FlavorResource) -> int:
        """The column of ``pair``, made when it is new. Cells of a column are contiguous, by node."""
        if pair in self.column:
            return self.column[pair]
        column = self.column[pair] = len(self.pairs)
        self.pairs.append(pair)
        base = column * self.size
        self.up.extend(base + n.parent if n.parent >= 0 else -1 for n in self.nodes)
        quotas = [n.quotas.get(pair) for n in self.nodes]
        self.defined.extend(q is not None for q in quotas)
        for known in range(self.size - 1, 0, -1):
            if self.defined[base + known]:
                self.defined[base + self.nodes[known].parent] = True
        subtree, local = _lend(self.nodes, quotas)
        self.nominal.extend(_stored(q.nominal if q else 0) for q in quotas)
        self.subtree.extend(map(_stored, subtree))
        self.local.extend(map(_stored, local))
        self.usage.extend([0] * self.size)
        self._add_limits(quotas, subtree, local)
        return column

    def _add_limits(self, quotas: list[Quota | None], subtree: list[int], local: list[int]) -> None:
        ceiling: list[int] = []
        for number, node in enumerate(self.nodes):
            quota = quotas[number]
            limit = quota.borrowing_limit if quota else None
            self.limit.append(None if limit is None else _stored(limit))
            if node.parent < 0 or limit is None:
                self.room.append(None)
            else:
                self.room.append(_stored(plus(minus(subtree[number], local[number]), limit)))
            best = subtree[number] if node.parent < 0 else plus(local[number], ceiling[node.parent])
            if node.parent >= 0 and limit is not None:
                best = min(best, plus(subtree[number], limit))
            ceiling.append(best)
        self.ceiling.extend(map(_stored, ceiling))

    def cell(self, node: int, pair: FlavorResource) -> int:
        """The cell of ``pair`` at ``node``; a pair nobody has quota for gets a column of its own."""
        column = self.column.get(pair)
        if column is None:
            column = self.add_column(pair)
        elif len(self.usage) < len(self.up):  # added by a copy that shares everything but usage
            self.usage.extend([0] * (len(self.up) - len(self.usage)))
        return column * self.size + node

    def available(self, cell: int) -> int:
        """Free now at this cell, with borrowing; negative when more is used than there is.

        available(root) = subtree - usage; available(n) = own + min(available(parent), room - borrowed),
        unrolled into one walk: the least of the sums along the path.
        """
        usage, local, room, up = self.usage, self.local, self.room, self.up
        own, best = 0, INFINITE << 1
        above = up[cell]
        while above >= 0:
            kept, used = local[cell], usage[cell]
            most = room[cell]
            if kept > used:
                own += kept - used
                if most is not None and own + most < best:
                    best = own + most
            elif most is not None and own + most - used + kept < best:
                best = own + most - used + kept
            cell, above = above, up[above]
        return min(best, own + self.subtree[cell] - usage[cell])

    def free(self, cell: int) -> int:
        """What a queue may still use at this cell, never negative."""
        value = self.available(cell)
        return max(0, value)

    def add(self, cell: int, amount: int) -> None:
        """Use ``amount`` more at this cell; what exceeds the part never lent goes on to the parent."""
        usage, local, up = self.usage, self.local, self.up
        while cell >= 0:
            used = usage[cell]
            usage[cell] = used + amount
            own = local[cell] - used
            if own > 0:
                if amount <= own:
                    return
                amount -= own
            elif amount <= 0:
                return
            cell = up[cell]

    def remove(self, cell: int, amount: int) -> None:
        """Undo ``add(cell, amount)`` exactly."""
        usage, local, up = self.usage, self.local, self.up
        while cell >= 0:
            used = usage[cell]
            usage[cell] = used - amount
            lent = used - local[cell]
            if lent <= 0:
                return
            amount = min(amount, lent)
            cell = up[cell]

    def add_all(self, amounts: Amounts) -> None:
        """``add`` for each of ``amounts``."""
        for cell, amount in amounts:
            self.add(cell, amount)

    def remove_all(self, amounts: Amounts) -> None:
        """``remove`` for each of ``amounts``."""
        for cell, amount in amounts:
            self.remove(cell, amount)

    def fits(self, amounts: Amounts) -> bool:
        """Whether a queue can use all of ``amounts`` now."""
        return all(amount <= self.free(cell) for cell, amount in amounts)

    def reach(self, cell: int, amount: int) -> tuple[int, bool]:
        """How far up ``amount`` must be borrowed: the height of the lowest subtree whose quota holds
        it (0: no borrowing), and whether that subtree is less than the whole tree.
        """
        usage, subtree, local, up = self.usage, self.subtree, self.local, self.up
        above = up[cell]
        if above < 0 or usage[cell] + amount <= subtree[cell]:
            return 0, above >= 0
        own = local[cell] - usage[cell]
        rest = amount - own if own > 0 else amount
        while above >= 0:
            cell, above = above, up[above]
            if usage[cell] + rest <= subtree[cell]:
                break
            own = local[cell] - usage[cell]
            if own > 0:
                rest -= own
        return self.height[cell % self.size], above >= 0

    def path(self, node: int) -> list[int]:
        """Ancestors of ``node``, nearest first."""
        out = []
        node = self.nodes[node].parent
        while node >= 0:
            out.append(node)
            node = self.nodes[node].parent
        return out


def _children(nodes: Sequence[Node]) -> tuple[tuple[int, ...], ...]:
    found: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        if node.parent >= 0:
            found[node.parent].append(number)
    return tuple(map(tuple, found))


def _heights(nodes: Sequence[Node]) -> list[int]:
    """A queue is 0, a cohort of queues alone 1, one more for each level of cohorts."""
    height = [0] * len(nodes)
    for number in range(len(nodes) - 1, 0, -1):
        parent = nodes[number].parent
        above = 1 if nodes[number].is_queue else height[number] + 1
        height[parent] = max(height[parent], above)
    return height


def _lend(nodes: Sequence[Node], quotas: Sequence[Quota | None]) -> tuple[list[int], list[int]]:
    """Subtree quota and the part of it that is never lent, children before parents."""
    subtree = [q.nominal if q else 0 for q in quotas]
    local = [0] * len(nodes)
    for number in range(len(nodes) - 1, -1, -1):
        quota = quotas[number]
        if quota and quota.lending_limit is not None:
            local[number] = max(0, minus(subtree[number], quota.lending_limit))
        parent = nodes[number].parent
        if parent >= 0:
            subtree[parent] = plus(subtree[parent], minus(subtree[number], local[number]))
    return subtree, local


class Forest(NamedTuple):
    """All trees. ``place`` gives tree and node of a queue, ``cohorts`` of a cohort; queues below a
    cycle of cohorts each stand alone and are listed in ``cyclic``.
    """

    trees: tuple[Tree, ...]
    place: Mapping[str, tuple[int, int]]
    cohorts: Mapping[str, tuple[int, int]]
    cyclic: frozenset[str]


def pair_quotas(groups: Iterable[ResourceGroup], *, lending: bool = True) -> dict[FlavorResource, Quota]:
    """Quotas of resource groups by (flavor, resource), in the order written."""
    found: dict[FlavorResource, Quota] = {}
    for group in groups:
        for flavor in group.flavors:
            for resource, quota in flavor.resources.items():
                found[flavor.name, resource] = quota if lending else quota._replace(lending_limit=None)
    return found


def _weight(thousandths: int | None) -> float:
    return 1.0 if thousandths is None else thousandths / 1000


def _cyclic(parents: Mapping[str, str]) -> set[str]:
    """Cohorts from which a walk up never ends."""
    known: dict[str, bool] = {}
    for start in parents:
        walked: dict[str, None] = {}
        at = start
        while at and at not in known and at not in walked:
            walked[at] = None
            at = parents.get(at, "")
        bad = at in walked or known.get(at, False)
        known.update(dict.fromkeys(walked, bad))
    return {name for name, bad in known.items() if bad}


def build(queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort], *, lending: bool = True) -> Forest:
    """Trees of all queues and cohorts. A cohort that is only named exists without quota."""
    all_queues, known = list(queues), {c.name: c for c in cohorts}
    parents = {name: c.parent for name, c in known.items()}
    for name in [c.parent for c in known.values()] + [q.cohort for q in all_queues]:
        if name:
            parents.setdefault(name, "")
    cyclic = _cyclic(parents)
    below: dict[str, list[str]] = {}
    for name, parent in parents.items():
        if parent and name not in cyclic:
            below.setdefault(parent, []).append(name)
    members: dict[str, list[ClusterQueue]] = {}
    for queue in all_queues:
        members.setdefault(queue.cohort, []).append(queue)
    trees: list[Tree] = []
    place: dict[str, tuple[int, int]] = {}
    where: dict[str, tuple[int, int]] = {}
    stuck = [q for q in all_queues if q.cohort in cyclic]
    for queue in [*members.get("", ()), *stuck]:
        node = Node(
            queue.name, True, -1, pair_quotas(queue.groups, lending=lending), _weight(queue.fair_weight)
        )
        place[queue.name] = (len(trees), 0)
        trees.append(Tree((node,), node.quotas))
    for root in (n for n, parent in parents.items() if not parent and n not in cyclic):
        nodes = _nodes(root, known, below, members, lending=lending)
        for number, node in enumerate(nodes):
            (place if node.is_queue else where)[node.name] = (len(trees), number)
        trees.append(Tree(nodes, dict.fromkeys(pair for n in nodes for pair in n.quotas)))
    return Forest(tuple(trees), place, where, frozenset(q.name for q in stuck))


def _nodes(
    root: str,
    known: Mapping[str, Cohort],
    below: Mapping[str, list[str]],
    members: Mapping[str, list[ClusterQueue]],
    *,
    lending: bool,
) -> list[Node]:
    """Nodes of one tree, breadth first, so that parents precede children."""
    nodes: list[Node] = []
    wave = [(root, -1)]
    while wave:
        following: list[tuple[str, int]] = []
        for name, parent in wave:
            cohort = known.get(name) or Cohort(name)
            own = len(nodes)
            quotas = pair_quotas(cohort.groups, lending=lending)
            nodes.append(Node(name, False, parent, quotas, _weight(cohort.fair_weight)))
            nodes.extend(
                Node(q.name, True, own, pair_quotas(q.groups, lending=lending), _weight(q.fair_weight))
                for q in members.get(name, ())
            )
            following.extend((child, own) for child in below.get(name, ()))
        wave = following
    return nodes
