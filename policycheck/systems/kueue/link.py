"""Linking Kueue's objects: all at once, or only what a change touches. Both give the same state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policycheck.model.cluster import Entry, Index
from policycheck.model.inventory import Inventory
from policycheck.model.origin import ObjectKey
from policycheck.model.queueing import Cohort, Flavor, Queue, QueuedWorkload, Quota, View
from policycheck.systems.core.link import CoreState
from policycheck.systems.kueue import CONFIG_GROUP, GROUP, assembly, trees
from policycheck.systems.kueue.model import (
    AdmissionCheck,
    Configuration,
    KueueObjects,
)
from policycheck.systems.kueue.state import KueueState, quotas

# Kind -> the field of KueueObjects that holds it, and whether its key has a namespace.
_FIELDS: Mapping[str, tuple[str, bool]] = {
    "ClusterQueue": ("cluster_queues", False),
    "Cohort": ("cohorts", False),
    "LocalQueue": ("local_queues", True),
    "ResourceFlavor": ("flavors", False),
    "Topology": ("topologies", False),
    "AdmissionCheck": ("checks", False),
    "ProvisioningRequestConfig": ("provisioning", False),
    "WorkloadPriorityClass": ("priority_classes", False),
    "Workload": ("workloads", True),
}
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
# Their pods run on nodes that come later, and in another cluster: no inventory tells of either.
_NODES_ELSEWHERE = (PROVISIONING, MULTIKUEUE)


def _key(key: ObjectKey, *, namespaced: bool) -> str | tuple[str, str]:
    return (key.namespace, key.name) if namespaced else key.name


def _collect(index: Index, kind: str) -> dict[Any, Any]:
    namespaced = _FIELDS[kind][1]
    found = {_key(k, namespaced=namespaced): e.facts.typed for k, e in index.of_kind(GROUP, kind) if k.name}
    return {name: thing for name, thing in found.items() if thing is not None}


def _configuration(index: Index) -> Configuration:
    found = index.of_kind(CONFIG_GROUP, "Configuration")
    typed = found[0][1].facts.typed if found else None
    return typed if isinstance(typed, Configuration) else Configuration()


def _with_jobs(
    objects: KueueObjects, written: Mapping[Any, Any], core: CoreState, index: Index
) -> tuple[KueueObjects, Any]:
    """Objects with the Workloads that stand in the manifests and those made of jobs."""
    made, claimed = assembly.workloads(core, objects, assembly.surroundings(index))
    of_jobs = {(w.namespace, kind, name) for w in written.values() for kind, name in w.owners}
    fresh = {
        k: w
        for k, w in made.items()
        if w.source is None or (w.namespace, w.source.kind, w.source.name) not in of_jobs
    }
    return objects._replace(workloads=dict(sorted({**fresh, **written}.items()))), claimed


class KueueLinker:
    """Kueue's part of a Cluster (model.cluster.Linker)."""

    name = "kueue"

    def link(self, index: Index, systems: Mapping[str, object]) -> KueueState:
        """The state out of all documents."""
        core = _core(systems)
        collected = {field: _collect(index, kind) for kind, (field, _) in _FIELDS.items()}
        written = collected.pop("workloads")
        objects = KueueObjects(**collected, configuration=_configuration(index))
        objects, claimed = _with_jobs(objects, written, core, index)
        made = trees.build(objects, index.is_ambiguous)
        return KueueState(objects, made.trees, made.of_queue, made.of_cohort, claimed)

    def relink(
        self, state: object, index: Index, systems: Mapping[str, object], changed: frozenset[ObjectKey]
    ) -> KueueState:
        """The state after ``changed``; only the trees that it touches are made again."""
        if not isinstance(state, KueueState):
            return self.link(index, systems)
        core = _core(systems)
        if any(k.group == CONFIG_GROUP for k in changed):
            return self.link(index, systems)
        fresh: dict[str, Any] = {}
        for kind in sorted({k.kind for k in changed if k.group == GROUP and k.kind in _FIELDS}):
            field, namespaced = _FIELDS[kind]
            if field != "workloads":
                of_kind = [k for k in changed if k.group == GROUP and k.kind == kind]
                fresh[field] = _update(getattr(state.objects, field), index, of_kind, namespaced=namespaced)
        objects = state.objects._replace(**fresh)
        claimed = state.claimed
        about_jobs = any(
            k.kind in assembly.ABOUT_JOBS or k.kind == "Workload" or k in core.workloads for k in changed
        )
        if about_jobs or not claimed.isdisjoint(changed) or _was_workload(state, changed):
            objects, claimed = _with_jobs(objects, _collect(index, "Workload"), core, index)
        old = trees.Trees(state.trees, state.tree_of, state.tree_of_cohort)
        ours = frozenset(k for k in changed if k.group == GROUP)
        made = trees.rebuild(old, objects, index.is_ambiguous, ours)
        return KueueState(objects, made.trees, made.of_queue, made.of_cohort, claimed)

    def view(self, state: object, index: Index) -> View:
        """Queues, cohorts, flavors and workloads in the neutral view."""
        if not isinstance(state, KueueState):
            return View()
        return View(
            _queues(state, index), _cohorts(state, index), _flavors(state, index), _queued(state, index)
        )

    def claims(self, state: object) -> frozenset[ObjectKey]:
        """Workloads that Kueue's queues account for."""
        return state.claimed if isinstance(state, KueueState) else frozenset()

    def inventory(self, state: object, claimed: frozenset[ObjectKey]) -> Inventory | None:  # noqa: ARG002
        """Kueue knows no nodes."""
        return None


def _core(systems: Mapping[str, object]) -> CoreState:
    found = systems.get("core")
    return found if isinstance(found, CoreState) else CoreState()


def _was_workload(state: KueueState, changed: frozenset[ObjectKey]) -> bool:
    """Whether a job that is gone had a Workload made of it."""
    sources = {w.source for w in state.objects.workloads.values() if w.source is not None}
    return not sources.isdisjoint(changed)


def _update(
    old: Mapping[Any, Any], index: Index, changed: Iterable[ObjectKey], *, namespaced: bool
) -> dict[Any, Any]:
    made = dict(old)
    for key in changed:
        entry = index.first(key)
        name = _key(key, namespaced=namespaced)
        typed = entry.facts.typed if entry is not None and key.name else None
        if typed is None:
            made.pop(name, None)
        else:
            made[name] = typed
    return dict(sorted(made.items()))


def _entry(index: Index, kind: str, name: str) -> Entry | None:
    return index.first(ObjectKey(GROUP, kind, "", name))


def _neutral(held: Mapping[tuple[str, str], Any]) -> dict[tuple[str, str], Quota]:
    return {where: Quota(q.nominal, q.borrowing_limit, q.lending_limit) for where, q in held.items()}


def _queues(state: KueueState, index: Index) -> tuple[Queue, ...]:
    found = []
    for name, queue in state.objects.cluster_queues.items():
        entry = _entry(index, "ClusterQueue", name)
        if entry is None:
            continue
        found.append(
            Queue(
                entry.origin.id,
                entry.facts.key,
                "kueue",
                name,
                queue.cohort,
                state.tree_of.get(name, ""),
                _neutral(quotas(queue.groups)),
                queue.labels,
                queue.annotations,
                queue.stop_policy != "None",
            )
        )
    return tuple(found)


def _cohorts(state: KueueState, index: Index) -> tuple[Cohort, ...]:
    found = []
    for name in state.tree_of_cohort:
        cohort = state.objects.cohorts.get(name)
        entry = _entry(index, "Cohort", name)
        held = _neutral(quotas(cohort.groups)) if cohort else {}
        found.append(
            Cohort(entry.origin.id if entry else None, name, "kueue", cohort.parent if cohort else "", held)
        )
    return tuple(found)


def is_provisioned(checks: Mapping[str, AdmissionCheck], names: Iterable[str]) -> bool:
    """Whether one of these admission checks brings nodes when asked, or sends the work to another cluster.

    A check that is not in sight might, and so might a controller of somebody else's that has it in
    its name; both count: a false alarm costs more than a missed sum. For the manager of several
    clusters see https://kueue.sigs.k8s.io/docs/concepts/multikueue/.
    """
    return any(name not in checks or _brings_nodes(checks[name].controller) for name in names)


def _brings_nodes(controller: str) -> bool:
    return controller in _NODES_ELSEWHERE or "provision" in controller.lower()


def elastic_flavors(objects: KueueObjects) -> frozenset[str]:
    """Flavors whose nodes some ClusterQueue has provisioned on demand, or has in other clusters."""
    found: set[str] = set()
    for queue in objects.cluster_queues.values():
        own = {f.name for g in queue.groups for f in g.flavors}
        for check in queue.checks:
            if is_provisioned(objects.checks, (check.name,)):
                found |= own & set(check.on_flavors) if check.on_flavors else own
    return frozenset(found)


def _flavors(state: KueueState, index: Index) -> tuple[Flavor, ...]:
    elastic = elastic_flavors(state.objects)
    found = []
    for name, flavor in state.objects.flavors.items():
        entry = _entry(index, "ResourceFlavor", name)
        topology = state.objects.topologies.get(flavor.topology)
        if entry is not None:
            levels = topology.levels if topology else ()
            found.append(Flavor(entry.origin.id, name, "kueue", flavor.node_labels, levels, name in elastic))
    return tuple(found)


def _queued(state: KueueState, index: Index) -> tuple[QueuedWorkload, ...]:
    found = []
    for workload in state.objects.workloads.values():
        key = workload.source or ObjectKey(GROUP, "Workload", workload.namespace, workload.name)
        entry = index.first(key)
        local = state.objects.local_queues.get((workload.namespace, workload.queue))
        if entry is not None:
            queue = local.cluster_queue if local else ""
            found.append(QueuedWorkload(entry.origin.id, key, "kueue", queue, workload.priority))
    return tuple(found)
