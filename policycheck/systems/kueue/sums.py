"""Sums over all trees: what quotas promise of each flavor, and what its nodes have.

Kueue itself never looks at nodes when it hands out quota (kubernetes-sigs/kueue#2665), so a sum that
exceeds the hardware shows as admitted workloads whose pods stay Pending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from policycheck.model import capacity
from policycheck.model.amount import add, show
from policycheck.model.inventory import Inventory, Node, Range
from policycheck.record import NamedTuple
from policycheck.systems.kueue import quota
from policycheck.systems.kueue.link import elastic_flavors
from policycheck.systems.kueue.state import FlavorResource, Holder, KueueState, Tree

_MOST_TOLD = 10_000  # trees of which it is kept what they promise


class Promise(NamedTuple):
    """Nominal quota of one resource in one flavor that somebody holds."""

    flavor: str
    holder: Holder


class Shortfall(NamedTuple):
    """Flavors that promise more of a resource than the nodes behind them have, all taken together."""

    flavors: tuple[str, ...]
    resource: str
    promises: tuple[Promise, ...]
    total: int
    nodes: tuple[Node, ...]
    offer: Range

    @property
    def excess(self) -> int:
        """What is promised beyond what may be there at most."""
        return self.total - (self.offer.high or 0)


class Shelf:
    """The nodes of an inventory by label, so that many flavors can be looked up in it.

    ``select`` gives what ``capacity.select`` gives.
    """

    def __init__(self, inventory: Inventory) -> None:
        self.nodes = inventory.nodes
        self._by_label: dict[tuple[str, str], list[int]] = {}
        for number, node in enumerate(self.nodes):
            for label in node.labels.items():
                self._by_label.setdefault(label, []).append(number)
        self._selected: dict[frozenset[tuple[str, str]], tuple[Node, ...]] = {}
        self.told: Told = {}  # what trees promise, for all clusters on this hardware

    def select(self, labels: Mapping[str, str]) -> tuple[Node, ...]:
        """The nodes that carry every one of ``labels``; no label selects all nodes."""
        if not labels:
            return self.nodes
        wanted = frozenset(labels.items())
        if wanted not in self._selected:
            carriers = sorted((self._by_label.get(label, []) for label in wanted), key=len)
            self._selected[wanted] = capacity.select((self.nodes[n] for n in carriers[0]), labels)
        return self._selected[wanted]


class Part(NamedTuple):
    """What one tree promises of a resource in a flavor, and the sum of it."""

    flavor: str
    promises: tuple[Promise, ...]
    total: int


# What trees promise, by resource; with the tree, which so stays the same.
Told = dict[int, tuple[Tree, Mapping[str, list[Part]]]]


class Ground(NamedTuple):
    """The nodes behind each flavor whose capacity is fixed, and why the others are left out."""

    nodes: Mapping[str, tuple[Node, ...]]
    elastic: frozenset[str]
    unknown: Mapping[str, str]  # flavor -> why
    told: Told | None = None  # kept between clusters that have trees in common


def ground(state: KueueState, inventory: Inventory, shelf: Shelf | None = None) -> Ground:
    """The nodes behind every flavor that a queue or cohort names.

    A flavor without node labels covers all nodes. Taints keep nothing away here: a pod may bring a
    toleration of its own.
    """
    named = sorted({flavor for tree in state.trees.values() for flavor in tree.flavors})
    elastic = elastic_flavors(state.objects)
    blind = not capacity.knows_labels(inventory)
    shelf = shelf or Shelf(inventory)
    nodes: dict[str, tuple[Node, ...]] = {}
    unknown: dict[str, str] = {}
    for name in named:
        flavor = state.objects.flavors.get(name)
        if name in elastic:
            continue
        if flavor is None:
            unknown[name] = f"ResourceFlavor {name} is not in sight, so its nodes are not known"
        elif flavor.node_labels and blind:
            unknown[name] = f"the inventory has no node labels, so the nodes of flavor {name} are not known"
        else:
            nodes[name] = shelf.select(flavor.node_labels)
    return Ground(nodes, elastic, unknown, shelf.told)


def promises(state: KueueState, resource: str, told: Told | None = None) -> dict[str, list[Promise]]:
    """Who holds quota of ``resource`` in each flavor, in trees that are what they seem.

    What several documents define differently is not summed. A stopped queue outside any cohort
    promises nothing: nobody can use its quota. ``told`` keeps what each tree promises.
    """
    found: dict[str, list[Promise]] = {}
    for part in _parts(state, resource, told):
        found.setdefault(part.flavor, []).extend(part.promises)
    return found


def _parts(state: KueueState, resource: str, told: Told | None) -> Iterator[Part]:
    known: Told = {} if told is None else told
    if len(known) > _MOST_TOLD + 2 * len(state.trees):
        known.clear()
    for tree in state.trees.values():
        kept = known.get(id(tree))
        if kept is None:
            kept = known[id(tree)] = (tree, _promised(state, tree))
        yield from kept[1].get(resource, ())


def _promised(state: KueueState, tree: Tree) -> dict[str, list[Part]]:
    made: dict[str, list[Part]] = {}
    if tree.ambiguous or not _is_live(state, tree.queues, tree.cohorts):
        return made
    for (flavor, resource), holders in tree.holders.items():
        some = tuple(Promise(flavor, holder) for holder in holders if holder.quota.nominal > 0)
        made.setdefault(resource, []).append(Part(flavor, some, _total(some)))
    return made


def _total(promises: Iterable[Promise]) -> int:
    total = 0
    for promise in promises:
        total = add(total, promise.holder.quota.nominal)
    return total


def _is_live(state: KueueState, queues: Sequence[str], cohorts: Sequence[str]) -> bool:
    return bool(cohorts) or any(state.objects.cluster_queues[q].stop_policy == "None" for q in queues)


def resources(state: KueueState, is_wanted: Callable[[str], bool]) -> list[str]:
    """The resources with quota that ``is_wanted`` takes."""
    return sorted({r for tree in state.trees.values() for _, r in tree.holders if is_wanted(r)})


def shortfalls(
    state: KueueState, base: Ground, resource: str, is_counted: Callable[[Promise, Range], bool]
) -> list[Shortfall]:
    """Where promises of ``resource`` exceed even the most that their nodes may have.

    Flavors that share nodes are summed once: beside each flavor alone, all flavors within its nodes
    and all that hang together through shared nodes. Of sets that say the same only the smallest stays.
    ``is_counted`` tells a promise from a placeholder, given what its flavor's nodes offer.
    """
    most: dict[str, int] = {}
    for part in _parts(state, resource, base.told):
        if base.nodes.get(part.flavor):
            most[part.flavor] = add(most.get(part.flavor, 0), part.total)
    behind = {f: frozenset(n.name for n in base.nodes[f]) for f in most}
    held: dict[str, list[Promise]] = {}
    found: list[Shortfall] = []
    for flavors in _sets(behind):
        nodes = _union(base.nodes[f] for f in flavors)
        offer = capacity.total(nodes, resource)
        bound = 0
        for flavor in flavors:
            bound = add(bound, most[flavor])
        if offer.high is None or bound <= offer.high:
            continue  # even with what is not counted it is no more than there is
        held = held or promises(state, resource, base.told)
        owed = tuple(
            p
            for f in flavors
            for offered in (capacity.total(base.nodes[f], resource),)
            for p in held[f]
            if is_counted(p, offered)
        )
        total = _total(owed)
        if total <= offer.high:
            continue
        new = Shortfall(flavors, resource, owed, total, nodes, offer)
        inner = [s for s in found if set(s.flavors) <= set(flavors)]
        if new.excess > sum(s.excess for s in inner if not _is_inner(s, inner)):
            found.append(new)
    return found


def _is_inner(one: Shortfall, others: Iterable[Shortfall]) -> bool:
    """Whether a larger set among ``others`` holds ``one``."""
    return any(set(one.flavors) < set(o.flavors) for o in others)


def _sets(behind: Mapping[str, frozenset[str]]) -> list[tuple[str, ...]]:
    """The sets of flavors that are summed, small ones first. Flavors on the same nodes are one."""
    found = set()
    for nodes in set(behind.values()):
        found.add(tuple(sorted(f for f, theirs in behind.items() if theirs == nodes)))
        found.add(tuple(sorted(f for f, theirs in behind.items() if theirs <= nodes)))
    done: set[str] = set()
    for start in sorted(behind):
        if start not in done:
            together = connected(start, behind)
            done |= together
            found.add(tuple(sorted(together)))
    return sorted(found, key=lambda names: (len(names), names))


def connected(start: str, behind: Mapping[str, frozenset[str]]) -> set[str]:
    """The flavors that share nodes with ``start``, or with one that does, and so on."""
    names, nodes = {start}, behind[start]
    while True:
        more = {f for f, theirs in behind.items() if not theirs.isdisjoint(nodes)}
        if more <= names:
            return names
        names |= more
        nodes = nodes.union(*(behind[f] for f in more))


def _union(parts: Iterable[tuple[Node, ...]]) -> tuple[Node, ...]:
    return tuple({node.name: node for part in parts for node in part}.values())


def spelled(shares: Sequence[Promise], resource: str, total: int) -> str:
    """How a sum comes about: ``96 = 4 queues x 24``, ``80 = 64 (queue a) + 16 (cohort ml)``."""
    groups: dict[tuple[str, int], list[str]] = {}
    for promise in shares:
        kind = "cohort" if promise.holder.kind == "Cohort" else "queue"
        groups.setdefault((kind, promise.holder.quota.nominal), []).append(promise.holder.name)
    order = sorted(groups.items(), key=lambda item: (-item[0][1] * len(item[1]), item[0]))
    terms = []
    for (kind, amount), names in order[:5]:
        each = show(resource, amount)
        terms.append(f"{each} ({kind} {names[0]})" if len(names) == 1 else f"{len(names)} {kind}s x {each}")
    if len(order) > 5:
        terms.append(f"{sum(len(names) for _, names in order[5:])} smaller ones")
    if len(terms) == 1 and len(shares) == 1:
        return terms[0]
    return f"{show(resource, total)} = {' + '.join(terms)}"


class Ceilings:
    """What a queue could have at most if all others were idle, by (flavor, resource). A tree is worked out when one
    of its queues is asked about.
    """

    def __init__(self, state: KueueState) -> None:
        self._state = state
        self._forests: dict[str, quota.Forest] = {}

    def most(self, queue: str, pair: FlavorResource) -> int:
        """The potential of one pair; 0 when nobody in the tree has any."""
        found = self._cell(queue, pair)
        return 0 if found is None else max(0, found[0].ceiling[found[1]])

    def lent_by_others(self, queue: str, pair: FlavorResource) -> int:
        """What there is to borrow beyond the queue's own quota, were there no borrowing limit."""
        found = self._cell(queue, pair)
        if found is None:
            return 0
        tree, cell = found
        above = tree.up[cell]
        return 0 if above < 0 else max(0, tree.local[cell] + tree.ceiling[above] - tree.subtree[cell])

    def _cell(self, queue: str, pair: FlavorResource) -> tuple[quota.Tree, int] | None:
        held = self._state.tree(queue)
        if held is None:
            return None
        if held.id not in self._forests:
            self._forests[held.id] = self._built(held)
        forest = self._forests[held.id]
        place = forest.place[queue]
        tree = forest.trees[place[0]]
        column = tree.column.get(pair)
        return None if column is None else (tree, column * tree.size + place[1])

    def _built(self, tree: Tree) -> quota.Forest:
        known = self._state.objects
        queues = (known.cluster_queues[name] for name in tree.queues)
        return quota.build(queues, (known.cohorts[name] for name in tree.cohorts if name in known.cohorts))
