"""Trees of queues: grouping all, or regrouping only those that a change touches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from policycheck.model.origin import ObjectKey
from policycheck.record import NamedTuple
from policycheck.systems.kueue.model import GROUP, KueueObjects
from policycheck.systems.kueue.state import FlavorResource, Holder, Tree, quotas, root_of

T = TypeVar("T")
IsAmbiguous = Callable[[ObjectKey], bool]


class Trees(NamedTuple):
    """All trees, and which tree each queue and cohort is in."""

    trees: Mapping[str, Tree]
    of_queue: Mapping[str, str]
    of_cohort: Mapping[str, str]


def _tree_id(cohort: str, objects: KueueObjects) -> str:
    return f"cohort:{root_of(cohort, objects.cohorts)[0]}"


def _queue_tree_id(queue: str, objects: KueueObjects) -> str:
    cohort = objects.cluster_queues[queue].cohort
    return _tree_id(cohort, objects) if cohort else f"queue:{queue}"


def _named_cohorts(queues: Iterable[str], cohorts: Iterable[str], objects: KueueObjects) -> set[str]:
    """The cohorts of these queues, these cohorts, and all their ancestors, implicit ones too."""
    found = {objects.cluster_queues[q].cohort for q in queues} - {""}
    found |= {c for c in cohorts if c in objects.cohorts}
    todo = list(found)
    while todo:
        known = objects.cohorts.get(todo.pop())
        if known is not None and known.parent and known.parent not in found:
            found.add(known.parent)
            todo.append(known.parent)
    return found


def build(objects: KueueObjects, is_ambiguous: IsAmbiguous) -> Trees:
    """Every tree of ``objects``."""
    return _group(objects.cluster_queues, objects.cohorts, objects, is_ambiguous)


def _group(
    queues: Iterable[str], cohorts: Iterable[str], objects: KueueObjects, is_ambiguous: IsAmbiguous
) -> Trees:
    queues = sorted(queues)
    of_queue = {q: _queue_tree_id(q, objects) for q in queues}
    of_cohort = {c: _tree_id(c, objects) for c in sorted(_named_cohorts(queues, cohorts, objects))}
    members: dict[str, tuple[list[str], list[str]]] = {}
    for q, tree in of_queue.items():
        members.setdefault(tree, ([], []))[0].append(q)
    for c, tree in of_cohort.items():
        members.setdefault(tree, ([], []))[1].append(c)
    trees = {tree: _tree(tree, *members[tree], objects, is_ambiguous) for tree in sorted(members)}
    return Trees(trees, of_queue, of_cohort)


def _tree(
    tree: str, queues: list[str], cohorts: list[str], objects: KueueObjects, is_ambiguous: IsAmbiguous
) -> Tree:
    holders: dict[FlavorResource, list[Holder]] = {}
    groups = [("Cohort", c, objects.cohorts[c].groups) for c in cohorts if c in objects.cohorts]
    groups += [("ClusterQueue", q, objects.cluster_queues[q].groups) for q in queues]
    for kind, name, held in groups:
        for where, quota in quotas(held).items():
            holders.setdefault(where, []).append(Holder(kind, name, quota))
    flavors = sorted({flavor for flavor, _ in holders})
    cycles = {root_of(c, objects.cohorts)[1] for c in cohorts} - {()}
    named = [ObjectKey(GROUP, "ClusterQueue", "", q) for q in queues]
    named += [ObjectKey(GROUP, "Cohort", "", c) for c in cohorts]
    named += [ObjectKey(GROUP, "ResourceFlavor", "", f) for f in flavors]
    return Tree(
        id=tree,
        queues=tuple(queues),
        cohorts=tuple(cohorts),
        parents={c: objects.cohorts[c].parent if c in objects.cohorts else "" for c in cohorts},
        implicit=frozenset(c for c in cohorts if c not in objects.cohorts),
        cycle=min(cycles, default=()),
        ambiguous=tuple(key for key in named if is_ambiguous(key)),
        holders={where: tuple(held) for where, held in holders.items()},
        flavors={f: objects.flavors.get(f) for f in flavors},
    )


def rebuild(
    old: Trees, objects: KueueObjects, is_ambiguous: IsAmbiguous, changed: frozenset[ObjectKey]
) -> Trees:
    """The trees of ``objects``, keeping every tree that ``changed`` cannot have touched."""
    queues = {k.name for k in changed if k.kind == "ClusterQueue"}
    cohorts = {k.name for k in changed if k.kind == "Cohort"}
    flavors = {k.name for k in changed if k.kind == "ResourceFlavor"}
    if not (queues or cohorts or flavors):
        return old
    stale = {old.of_queue[q] for q in queues if q in old.of_queue}
    stale |= {old.of_cohort[c] for c in cohorts if c in old.of_cohort}
    stale |= {t.id for t in old.trees.values() if flavors and not flavors.isdisjoint(t.flavors)}
    while True:
        for tree in stale & old.trees.keys():
            queues |= set(old.trees[tree].queues)
            cohorts |= set(old.trees[tree].cohorts)
        live = {q for q in queues if q in objects.cluster_queues}
        joined = {_queue_tree_id(q, objects) for q in live}
        joined |= {_tree_id(c, objects) for c in _named_cohorts(live, cohorts, objects)}
        if joined <= stale:
            break
        stale |= joined
    made = _group(live, cohorts, objects, is_ambiguous)
    return Trees(
        _merge(old.trees, stale, made.trees),
        _merge(old.of_queue, queues, made.of_queue),
        _merge(old.of_cohort, cohorts, made.of_cohort),
    )


def _merge(old: Mapping[str, T], gone: set[str], new: Mapping[str, T]) -> dict[str, T]:
    kept = {name: thing for name, thing in old.items() if name not in gone}
    kept.update(new)
    return dict(sorted(kept.items()))
