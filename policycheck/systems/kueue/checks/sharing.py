"""Cohorts: what can be borrowed, what cannot although it looks so, and limits that do nothing."""

from __future__ import annotations

from policycheck.lint.hit import Hit, Related
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    ceilings,
    documents,
    misspelt,
    quota_place,
    quota_places,
    state,
    undecided,
    whence,
)
from policycheck.systems.kueue.checks.hardware import COMPANIONS
from policycheck.systems.kueue.model import ClusterQueue, ResourceGroup
from policycheck.systems.kueue.state import FlavorResource, Holder, Tree
from policycheck.wording import join

_COHORT: Path = ("spec", "cohortName")


def isolated_queue(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A queue outside any cohort while others share the very quota that it holds a part of."""
    found = state(cluster)
    shared: dict[FlavorResource, tuple[Tree, tuple[Holder, ...]]] = {}
    for tree in found.trees.values():
        if tree.cohorts and not undecided(tree):
            shared.update({pair: (tree, held) for pair, held in tree.holders.items() if len(held) > 1})
    for name, queue in found.objects.cluster_queues.items():
        tree = found.trees[found.tree_of[name]]
        if queue.cohort or undecided(tree):
            continue
        common = [pair for pair in tree.holders if pair in shared]
        accelerators = [pair for pair in common if is_accelerator(pair[1])]
        identity = whence(cluster, "ClusterQueue", name)
        if not common or identity is None:
            continue
        pair = (accelerators or common)[0]
        theirs, held = shared[pair]
        yield Hit(
            identity,
            _COHORT,
            {
                "queue": name,
                "flavor": pair[0],
                "resource": pair[1],
                "others": join([h.name for h in held if h.kind == "ClusterQueue"] or [h.name for h in held]),
                "cohort": theirs.id.partition(":")[2],
            },
            _quota_related(cluster, pair, held),
        )


def _quota_related(cluster: Cluster, pair: FlavorResource, held: tuple[Holder, ...]) -> tuple[Related, ...]:
    places = [(h, quota_place(cluster, h.kind, h.name, pair)) for h in held]
    return tuple(
        Related(place[0], (*place[1], "nominalQuota"), f"{h.kind} {h.name} shares {pair[0]}")
        for h, place in places[:4]
        if place is not None
    )


def nothing_shared(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A queue in a cohort with others, of which none has a (flavor, resource) of its own."""
    found = state(cluster)
    for tree in found.trees.values():
        if len(tree.queues) < 2 or undecided(tree):
            continue
        for name in tree.queues:
            own = [pair for pair, held in tree.holders.items() if any(_is(h, name) for h in held)]
            identity = whence(cluster, "ClusterQueue", name)
            if not own or identity is None or any(len(tree.holders[pair]) > 1 for pair in own):
                continue
            others = sorted({f for f, _ in tree.holders} - {f for f, _ in own})
            mine = sorted({f for f, _ in own})
            values = {
                "queue": name,
                "cohort": found.objects.cluster_queues[name].cohort,
                "own": join(mine),
                "others": join(others) or "the same flavors with other resources",
            }
            yield Hit(identity, _COHORT, values)


def _is(holder: Holder, queue: str) -> bool:
    return holder.kind == "ClusterQueue" and holder.name == queue


def lone_cohort(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A cohort with one queue and no quota of its own: nothing to borrow, nobody to lend to."""
    found = state(cluster)
    for tree in found.trees.values():
        if len(tree.queues) != 1 or not tree.cohorts or undecided(tree):
            continue
        if any(h.kind == "Cohort" and h.quota.nominal > 0 for held in tree.holders.values() for h in held):
            continue
        name = tree.queues[0]
        identity = whence(cluster, "ClusterQueue", name)
        if identity is None:
            continue
        cohort = found.objects.cluster_queues[name].cohort
        other = misspelt(cohort, (c for c in found.tree_of_cohort if c not in tree.cohorts))
        hint = f"; did you mean {other!r}?" if other else ""
        yield Hit(identity, _COHORT, {"queue": name, "cohort": cohort, "hint": hint, "meant": other})


def cohort_cycle(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Cohorts that are each other's parents: no queue below them admits anything."""
    found = state(cluster)
    for tree in found.trees.values():
        if not tree.cycle:
            continue
        places: list[tuple[DocumentId, str]] = []
        for name in tree.cycle:
            identity = whence(cluster, "Cohort", name)
            if identity is not None:
                places.append((identity, name))
        if not places:
            continue
        chain = [tree.cycle[0]]
        while len(chain) <= len(tree.cycle):
            chain.append(tree.parents.get(chain[-1], ""))
        rest = tuple(Related(i, ("spec", "parentName"), f"Cohort {n}") for i, n in places[1:9])
        queues = join(tree.queues) if tree.queues else "any queue that joins"
        values = {"chain": " -> ".join(chain[:9]), "queues": queues}
        yield Hit(places[0][0], ("spec", "parentName"), values, rest)


def borrowing_limit_idle(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A borrowing limit above all that there is to borrow."""
    found = state(cluster)
    limits = ceilings(cluster)
    for tree in found.trees.values():
        if undecided(tree):
            continue
        for pair, held in tree.holders.items():
            for holder in held:
                limit = holder.quota.borrowing_limit
                if holder.kind != "ClusterQueue" or limit is None:
                    continue
                lent = limits.lent_by_others(holder.name, pair)
                place = quota_place(cluster, holder.kind, holder.name, pair) if 0 < lent < limit else None
                if place is None:
                    continue
                values = {
                    "queue": holder.name,
                    "flavor": pair[0],
                    "resource": pair[1],
                    "limit": show(pair[1], limit),
                    "lent": show(pair[1], lent),
                }
                yield Hit(place[0], (*place[1], "borrowingLimit"), values)


def nothing_ever(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Covered resources of which no flavor of their group can ever give any: one finding for a group."""
    found = state(cluster)
    for name, queue in found.objects.cluster_queues.items():
        identity = whence(cluster, "ClusterQueue", name)
        if identity is None or undecided(found.trees[found.tree_of[name]]):
            continue
        places = quota_places(cluster.entries[identity].facts.value)
        for group in queue.groups:
            nothing = _nothing_of(cluster, name, group)
            if not nothing:
                continue
            values = {
                "queue": name,
                "resource": join([resource for _, resource in nothing], 8),
                "flavors": join([f.name for f in group.flavors if any(r in f.resources for _, r in nothing)]),
            }
            spots = [(*places[pair], "nominalQuota") for pair in nothing]
            more = [Related(identity, at, f"nor of {r}") for at, (_, r) in zip(spots, nothing, strict=True)]
            yield Hit(identity, spots[0], values, tuple(more[1:8]))


def _nothing_of(cluster: Cluster, queue: str, group: ResourceGroup) -> list[FlavorResource]:
    """What the queue covers in this group and can have in none of its flavors, each in the first of them."""
    limits, nothing = ceilings(cluster), []
    devices = any(is_accelerator(r) and q.nominal for f in group.flavors for r, q in f.resources.items())
    for resource in group.covered:
        pairs = [(f.name, resource) for f in group.flavors if resource in f.resources]
        left_out = resource in COMPANIONS and devices  # a rule of its own
        if pairs and not left_out and not any(limits.most(queue, pair) for pair in pairs):
            nothing.append(pairs[0])
    return nothing


def cohort_without_members(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A Cohort that no queue and no other cohort is in; often its name is one letter off."""
    found = state(cluster)
    if not found.objects.cluster_queues:
        return
    used = {q.cohort for q in found.objects.cluster_queues.values()}
    used |= {c.parent for c in found.objects.cohorts.values() if c.parent != c.name}
    used.discard("")
    implicit = used - found.objects.cohorts.keys()
    for identity, facts in documents(cluster, "Cohort"):
        name = facts.key.name
        if not name or name in used or not used:
            continue
        other = misspelt(name, implicit)
        if other:
            hint = f"; did you mean {other!r}, which queues name and nobody defines?"
        else:
            hint = f"; queues are in {join(sorted(used))}"
        yield Hit(identity, ("metadata", "name"), {"cohort": name, "hint": hint})


def cohort_parent_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A parent that no Cohort defines and that is nearly one which is: its own tree, without quota."""
    found = state(cluster)
    known = found.objects.cohorts
    named = {q.cohort for q in found.objects.cluster_queues.values()}
    for identity, facts in documents(cluster, "Cohort"):
        cohort = known.get(facts.key.name)
        if cohort is None or not cohort.parent or cohort.parent in known or cohort.parent in named:
            continue
        other = misspelt(cohort.parent, known)
        if other:
            values = {"cohort": cohort.name, "parent": cohort.parent, "meant": other}
            yield Hit(identity, ("spec", "parentName"), values)


def queue_without_quota(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A ClusterQueue that covers no resource, and to which LocalQueues lead."""
    found = state(cluster)
    led = {local.cluster_queue for local in found.objects.local_queues.values()}
    for name, queue in found.objects.cluster_queues.items():
        identity = whence(cluster, "ClusterQueue", name)
        if queue.groups or name not in led or identity is None:
            continue
        yield Hit(identity, ("spec", "resourceGroups"), {"queue": name})


def queue_stopped(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A stop policy left in git. What the queue does not use is lent on, and has to be taken back later."""
    found = state(cluster)
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue) or queue.stop_policy == "None":
            continue
        drains = queue.stop_policy == "HoldAndDrain"
        effect = "nothing new starts there" + (", and what runs is evicted" if drains else "")
        tree = found.trees.get(found.tree_of.get(queue.name, ""))
        takers = [] if tree is None or not queue.cohort else [q for q in tree.queues if q != queue.name]
        lent = f"; its quota stays lent to {join(takers)}" if takers else ""
        values = {"queue": queue.name, "policy": queue.stop_policy, "effect": effect, "lent": lent}
        yield Hit(identity, ("spec", "stopPolicy"), values)
