"""Kueue's linked state: every object by name, and the trees of queues that can lend to each other."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.amount import add
from policycheck.model.origin import ObjectKey
from policycheck.record import NamedTuple
from policycheck.systems.kueue.model import Cohort, KueueObjects, Quota, ResourceFlavor, ResourceGroup

FlavorResource = tuple[str, str]


class Holder(NamedTuple):
    """Who holds quota of one (flavor, resource)."""

    kind: str  # ClusterQueue | Cohort
    name: str
    quota: Quota


class Tree(NamedTuple):
    """The queues and cohorts under one root, or one queue that is in no cohort.

    ``cycle`` names the cohorts that are each other's ancestors, if any: then no queue of the tree
    admits anything. ``ambiguous`` are members that documents define differently: what needs a sum
    over the tree cannot be said.
    """

    id: str  # "cohort:NAME" or "queue:NAME"
    queues: tuple[str, ...]
    cohorts: tuple[str, ...]
    parents: Mapping[str, str]  # cohort -> its parent, "" for a root
    implicit: frozenset[str]  # cohorts that only their members name
    cycle: tuple[str, ...]
    ambiguous: tuple[ObjectKey, ...]
    holders: Mapping[FlavorResource, tuple[Holder, ...]]
    flavors: Mapping[str, ResourceFlavor | None]  # named by the tree; None is missing

    def nominal(self, flavor: str, resource: str) -> int:
        """The sum of nominal quota over the whole tree."""
        total = 0
        for holder in self.holders.get((flavor, resource), ()):
            total = add(total, holder.quota.nominal)
        return total


class KueueState(NamedTuple):
    """Everything Kueue in one scope. ``claimed`` are the workloads that its queues account for."""

    objects: KueueObjects
    trees: Mapping[str, Tree]
    tree_of: Mapping[str, str]  # ClusterQueue -> tree id
    tree_of_cohort: Mapping[str, str]
    claimed: frozenset[ObjectKey]

    def tree(self, cluster_queue: str) -> Tree | None:
        """The tree that a ClusterQueue is in."""
        return self.trees.get(self.tree_of.get(cluster_queue, ""))


def quotas(groups: tuple[ResourceGroup, ...]) -> dict[FlavorResource, Quota]:
    """Quota by (flavor, resource)."""
    return {(f.name, r): q for g in groups for f in g.flavors for r, q in f.resources.items()}


def root_of(cohort: str, cohorts: Mapping[str, Cohort]) -> tuple[str, tuple[str, ...]]:
    """The root above ``cohort``, and the cycle met on the way, if any.

    In a cycle the root is its first member by name. A parent without an object is an implicit root.
    """
    seen: dict[str, int] = {}
    at = cohort
    while at not in seen:
        seen[at] = len(seen)
        found = cohorts.get(at)
        if found is None or not found.parent:
            return at, ()
        at = found.parent
    cycle = tuple(sorted(list(seen)[seen[at] :]))
    return cycle[0], cycle
