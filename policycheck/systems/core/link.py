"""Linking Kubernetes' own objects: nodes to an inventory, workloads, namespaces, priority classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from policycheck.model.cluster import Index
from policycheck.model.facts import Facts
from policycheck.model.inventory import Inventory, Node
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.model.queueing import View
from policycheck.model.workload import Namespace, PriorityClass, Workload
from policycheck.record import NamedTuple
from policycheck.systems.core.slices import DeviceSlice

T = TypeVar("T")


class CoreState(NamedTuple):
    """What Kubernetes itself says in one scope. ``nodes`` with the document of each."""

    nodes: Mapping[str, tuple[DocumentId, Node]] = {}
    slices: tuple[DeviceSlice, ...] = ()
    workloads: Mapping[ObjectKey, Workload] = {}
    namespaces: Mapping[str, Namespace] = {}
    priority_classes: Mapping[str, PriorityClass] = {}


class CoreLinker:
    """Kubernetes' part of a Cluster (model.cluster.Linker)."""

    name = "core"

    def link(self, index: Index, systems: Mapping[str, object]) -> CoreState:  # noqa: ARG002 - first of all
        """The state out of all documents."""
        nodes: dict[str, tuple[DocumentId, Node]] = {}
        slices: list[DeviceSlice] = []
        workloads: dict[ObjectKey, Workload] = {}
        namespaces: dict[str, Namespace] = {}
        classes: dict[str, PriorityClass] = {}
        for group, kind in sorted(index.kinds):
            for key, entry in index.of_kind(group, kind):
                match entry.facts.typed:
                    case Node() as node:
                        nodes[key.name] = (entry.origin.id, node)
                    case DeviceSlice() as part:
                        slices.append(part)
                    case Workload() as workload:
                        workloads[key] = workload
                    case Namespace() as namespace:
                        namespaces[key.name] = namespace
                    case PriorityClass() as priority:
                        classes[key.name] = priority
        return CoreState(nodes, tuple(slices), workloads, namespaces, classes)

    def relink(
        self, state: object, index: Index, systems: Mapping[str, object], changed: frozenset[ObjectKey]
    ) -> CoreState:
        """The same as ``link``; the state itself is kept when nothing of it changed."""
        if not isinstance(state, CoreState):
            return self.link(index, systems)
        ours = [key for key in changed if _is_core(index, state, key)]
        return _relinked(state, index, ours) if ours else state

    def view(self, state: object, index: Index) -> View:  # noqa: ARG002
        """Kubernetes itself holds no quota that queues share."""
        return View()

    def claims(self, state: object) -> frozenset[ObjectKey]:  # noqa: ARG002
        """Kubernetes' scheduler accounts for nothing ahead of time."""
        return frozenset()

    def inventory(self, state: object, claimed: frozenset[ObjectKey]) -> Inventory | None:
        """The nodes in sight, less what pods hold that are in no queue."""
        if not isinstance(state, CoreState) or not (state.nodes or state.slices):
            return Inventory()
        from policycheck.systems.core.inventory import assemble

        return assemble(state.nodes, state.slices, state.workloads, claimed)


def _is_core(index: Index, state: CoreState, key: ObjectKey) -> bool:
    entry = index.first(key)
    if entry is not None and _is_ours(entry.facts):
        return True
    known = key in state.workloads or key.name in state.nodes or key.name in state.namespaces
    return known or key.name in state.priority_classes or key.kind == "ResourceSlice"


def _is_ours(facts: Facts) -> bool:
    return isinstance(facts.typed, (Node, DeviceSlice, Workload, Namespace, PriorityClass))


def _relinked(state: CoreState, index: Index, changed: Sequence[ObjectKey]) -> CoreState:
    """``state`` with ``changed`` exchanged, in the order in which linking all puts them."""
    kinds = {key.kind for key in changed}
    nodes, workloads = dict(state.nodes), dict(state.workloads)
    namespaces, classes = dict(state.namespaces), dict(state.priority_classes)
    for key in changed:
        workloads.pop(key, None)
        entry = index.first(key)
        typed = entry.facts.typed if entry is not None else None
        if entry is not None and isinstance(typed, Workload):
            workloads[key] = typed
        elif key.kind == "Node":
            _put(nodes, key.name, (entry.origin.id, typed) if entry and isinstance(typed, Node) else None)
        elif key.kind == "Namespace":
            _put(namespaces, key.name, typed if isinstance(typed, Namespace) else None)
        elif key.kind == "PriorityClass":
            _put(classes, key.name, typed if isinstance(typed, PriorityClass) else None)
    return CoreState(
        dict(sorted(nodes.items())) if "Node" in kinds else state.nodes,
        _slices(index) if "ResourceSlice" in kinds else state.slices,
        dict(sorted(workloads.items())),
        dict(sorted(namespaces.items())) if "Namespace" in kinds else state.namespaces,
        dict(sorted(classes.items())) if "PriorityClass" in kinds else state.priority_classes,
    )


def _put(into: dict[str, T], name: str, thing: T | None) -> None:
    if thing is None:
        into.pop(name, None)
    else:
        into[name] = thing


def _slices(index: Index) -> tuple[DeviceSlice, ...]:
    found = (e.facts.typed for _, e in index.of_kind("resource.k8s.io", "ResourceSlice"))
    return tuple(typed for typed in found if isinstance(typed, DeviceSlice))
