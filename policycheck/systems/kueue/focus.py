"""A part of a cluster to look at: the trees that a change can touch, in front of all that is known.

A check that goes through a mapping sees what is in focus, a check that looks a name up finds everything.
So what is found about objects in focus is what is found in the whole cluster, for every check whose answer
about an object depends on that object's trees and on names alone; the others are run on the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from policycheck.model.facts import Facts
from policycheck.model.origin import ObjectKey
from policycheck.model.workload import Workload
from policycheck.record import NamedTuple
from policycheck.systems.core.link import CoreState
from policycheck.systems.kueue import GROUP
from policycheck.systems.kueue.jobs import DEFAULT_QUEUE, queue_of
from policycheck.systems.kueue.link import elastic_flavors
from policycheck.systems.kueue.model import KueueObjects, KueueWorkload, LocalQueue
from policycheck.systems.kueue.state import KueueState

K = TypeVar("K")
V = TypeVar("V")
LocalKey = tuple[str, str]  # namespace and name of a LocalQueue


class Focus(dict[K, V]):
    """All of a mapping for lookups and for its length, some of it for whoever goes through it."""

    __slots__ = ("_every",)

    def __init__(self, every: Mapping[K, V], seen: Iterable[K]) -> None:
        super().__init__((key, every[key]) for key in seen if key in every)
        self._every = every

    def __missing__(self, key: K) -> V:
        return self._every[key]

    def __contains__(self, key: object) -> bool:
        return key in self._every

    def __len__(self) -> int:
        return len(self._every)

    def get(self, key: K, default: Any = None) -> Any:
        """The value of a key, in focus or not."""
        return self._every.get(key, default)


class Leads(NamedTuple):
    """Which LocalQueues lead to a ClusterQueue, and which are in a namespace."""

    to: Mapping[str, tuple[LocalKey, ...]]
    within: Mapping[str, tuple[LocalKey, ...]]


def leads(state: KueueState) -> Leads:
    """Worked out once for a state that is kept."""
    to: dict[str, list[LocalKey]] = {}
    within: dict[str, list[LocalKey]] = {}
    for key, local in state.objects.local_queues.items():
        to.setdefault(local.cluster_queue, []).append(key)
        within.setdefault(key[0], []).append(key)
    return Leads(
        {k: tuple(v) for k, v in to.items()},
        {k: tuple(v) for k, v in within.items()},
    )


class Scene(NamedTuple):
    """What a change can touch: trees, the objects themselves, and namespaces whose LocalQueues it may mean."""

    trees: frozenset[str]  # with all into which their members come, or from which they went
    queues: frozenset[str]  # the ClusterQueues of these trees, before or after
    flavors: frozenset[str]
    keys: frozenset[ObjectKey]
    spaces: frozenset[str]

    def has(self, key: ObjectKey) -> bool:
        """Whether an object is a part of it, rather than beside it for others to be understood."""
        is_queue = (key.group, key.kind) == (GROUP, "ClusterQueue")
        return not is_queue or key.name in self.queues or key in self.keys


def scene(before: KueueState, after: KueueState, changed: Iterable[Facts]) -> Scene | None:
    """What these objects, as they were and as they are, can touch; None for anything."""
    same = (
        before.objects.cluster_queues is after.objects.cluster_queues
        and before.objects.checks is after.objects.checks
    )
    if not same and elastic_flavors(before.objects) != elastic_flavors(after.objects):
        return None  # whether a flavor's nodes are fixed matters to every tree that has it
    trees: set[str] = set()
    every = tuple(changed)
    for state in (before, after):
        for facts in every:
            found = _trees(state, facts)
            if found is None:
                return None
            trees |= found
    keys = frozenset(facts.key for facts in every)
    spaces = frozenset(key.namespace for key in keys if key.namespace)
    return _scene(trees, (before, after), keys, spaces)


def wider(on: Scene, before: KueueState, after: KueueState) -> Scene:
    """The scene where work is a part of the cluster: with the trees to which the namespaces of what changed lead,
    and with every namespace that leads to any of its trees.
    """
    both = (before, after)
    led = {
        state.tree_of[local.cluster_queue]
        for state in both
        for (space, _), local in state.objects.local_queues.items()
        if space in on.spaces and local.cluster_queue in state.tree_of
    }
    made = _scene(on.trees | led, both, on.keys, on.spaces)
    spaces = {
        space
        for state in both
        for (space, _), local in state.objects.local_queues.items()
        if local.cluster_queue in made.queues
    }
    return made._replace(spaces=made.spaces | spaces)


def _scene(
    trees: Iterable[str],
    both: tuple[KueueState, KueueState],
    keys: frozenset[ObjectKey],
    spaces: frozenset[str],
) -> Scene:
    """These trees, with all that is in them before or after."""
    every = _closed(set(trees), both)
    flavors = frozenset(f for s in both for t in every if t in s.trees for f in s.trees[t].flavors)
    queues = frozenset(q for s in both for t in every if t in s.trees for q in s.trees[t].queues)
    return Scene(frozenset(every), queues, flavors, keys, spaces)


def _closed(trees: set[str], states: tuple[KueueState, KueueState]) -> set[str]:
    """With the trees that members of these have in the other state: trees come apart and grow together."""
    while True:
        held = [state.trees[t] for state in states for t in trees if t in state.trees]
        more = {s.tree_of[q] for tree in held for q in tree.queues for s in states if q in s.tree_of}
        more |= {
            s.tree_of_cohort[c]
            for tree in held
            for c in tree.cohorts
            for s in states
            if c in s.tree_of_cohort
        }
        if more <= trees:
            return trees
        trees |= more


def _trees(state: KueueState, facts: Facts) -> set[str] | None:
    key, typed = facts.key, facts.typed
    match typed:
        case Workload() if not key.namespace:
            return None  # a LocalQueue of any namespace may be meant
        case Workload():
            return _of_local(state, key.namespace, queue_of(typed) or DEFAULT_QUEUE)
        case KueueWorkload():
            return _of_local(state, key.namespace, typed.queue)
        case LocalQueue():
            tree = state.tree_of.get(typed.cluster_queue)
            return _of_local(state, key.namespace, key.name) | ({tree} if tree is not None else set())
    if key.group != GROUP:
        return None
    match key.kind:
        case "ClusterQueue":
            return {state.tree_of[key.name]} if key.name in state.tree_of else set()
        case "Cohort":
            return {state.tree_of_cohort[key.name]} if key.name in state.tree_of_cohort else set()
        case "ResourceFlavor":
            return {tree.id for tree in state.trees.values() if key.name in tree.flavors}
    return None


def _of_local(state: KueueState, namespace: str, name: str) -> set[str]:
    local = state.objects.local_queues.get((namespace, name))
    tree = state.tree_of.get(local.cluster_queue) if local is not None else None
    return set() if tree is None else {tree}


def narrowed(state: KueueState, on: Scene, known: Leads) -> KueueState:
    """``state`` with the scene in focus. ``known`` may be of the state before the change."""
    objects = state.objects
    held = [state.trees[t] for t in on.trees if t in state.trees]
    queues = {q for tree in held for q in tree.queues} | _names(on, "ClusterQueue")
    flavors = on.flavors | _names(on, "ResourceFlavor")
    cohorts = {c for tree in held for c in tree.cohorts} | _names(on, "Cohort")
    locals_ = {key for q in queues for key in known.to.get(q, ())}
    locals_ |= {key for space in on.spaces for key in known.within.get(space, ())}
    locals_ |= {(k.namespace, k.name) for k in on.keys if k.kind == "LocalQueue"}
    seen = (queues | _growing(objects, flavors)) & objects.cluster_queues.keys()
    # One queue at least: some rules ask whether there are any.
    seen = seen or set(list(objects.cluster_queues)[:1])
    return state._replace(
        objects=objects._replace(
            cluster_queues=Focus(objects.cluster_queues, sorted(seen)),
            cohorts=Focus(objects.cohorts, sorted(cohorts)),
            local_queues=Focus(objects.local_queues, sorted(locals_)),
            flavors=Focus(objects.flavors, sorted(flavors)),
        ),
        trees=Focus(state.trees, sorted(on.trees)),
        tree_of_cohort=Focus(state.tree_of_cohort, sorted(cohorts)),
    )


def with_work(state: KueueState, core: CoreState, on: Scene) -> tuple[KueueState, CoreState]:
    """A narrowed state, and that of Kubernetes, with the work of the scene's namespaces in focus."""
    made = state.objects.workloads
    work = sorted(key for key in made if key[0] in on.spaces)
    own = sorted(key for key in core.workloads if key.namespace in on.spaces)
    objects = state.objects._replace(workloads=Focus(made, work))
    return state._replace(objects=objects), core._replace(workloads=Focus(core.workloads, own))


def _names(on: Scene, kind: str) -> set[str]:
    return {key.name for key in on.keys if (key.group, key.kind) == (GROUP, kind)}


def _growing(objects: KueueObjects, flavors: frozenset[str] | set[str]) -> set[str]:
    """For each of these flavors a queue, if there is one, that has its nodes brought on demand."""
    found: dict[str, str] = {}
    for queue in objects.cluster_queues.values():
        if queue.checks:
            for flavor in elastic_flavors(objects._replace(cluster_queues={queue.name: queue})):
                if flavor in flavors:
                    found.setdefault(flavor, queue.name)
    return set(found.values())


def shown(state: KueueState) -> dict[str, tuple[ObjectKey, ...]]:
    """What a narrowed state has in focus, by kind of which there may be many."""
    held = state.objects
    return {
        "ClusterQueue": tuple(ObjectKey(GROUP, "ClusterQueue", "", name) for name in held.cluster_queues),
        "Cohort": tuple(ObjectKey(GROUP, "Cohort", "", name) for name in held.cohorts),
        "ResourceFlavor": tuple(ObjectKey(GROUP, "ResourceFlavor", "", name) for name in held.flavors),
        "LocalQueue": tuple(ObjectKey(GROUP, "LocalQueue", space, name) for space, name in held.local_queues),
    }
