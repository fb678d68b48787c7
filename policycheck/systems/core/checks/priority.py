"""PriorityClasses of pods: several defaults, classes that are not there, defaults above everybody.

Source: the Kubernetes documentation page "Pod Priority and Preemption".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId
from policycheck.model.workload import PodSet, PriorityClass, Workload
from policycheck.systems.core.link import CoreState
from policycheck.systems.gpu.resources import is_accelerator

Found = Iterator[Hit | Skip]
_GROUP = "scheduling.k8s.io"
_HIGHEST = 1_000_000_000  # above it is the system's
BUILT_IN = ("system-cluster-critical", "system-node-critical")
_SYSTEM_SPACES = ("kube-system", "gpu-operator", "nvidia-gpu-operator")


def state(cluster: Cluster) -> CoreState:
    """Kubernetes' own state of a cluster."""
    found = cluster.systems.get("core")
    return found if isinstance(found, CoreState) else CoreState()


def _classes(cluster: Cluster) -> Iterator[tuple[DocumentId, PriorityClass]]:
    keys = cluster.index.kinds.get((_GROUP, "PriorityClass"), {})
    for key in sorted(keys):
        typed = cluster.entries[keys[key][0]].facts.typed
        if isinstance(typed, PriorityClass):
            yield keys[key][0], typed


def several_defaults(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """Two classes with globalDefault: the API server refuses the second."""
    held = [(i, c) for i, c in _classes(cluster) if c.is_default]
    for identity, one in held[1:]:
        values = {"name": one.name, "other": held[0][1].name}
        because = (Related(held[0][0], ("globalDefault",), f"PriorityClass {held[0][1].name}"),)
        yield Hit(identity, ("globalDefault",), values, because)


def reserved_value(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """A value, or a name, that is kept for the system."""
    for identity, one in _classes(cluster):
        if one.name in BUILT_IN:
            continue
        if one.value > _HIGHEST:
            what = f"its value {one.value:,} is above {_HIGHEST:,}"
            yield Hit(identity, ("value",), {"name": one.name, "what": what})
        elif one.name.startswith("system-"):
            what = "names that begin with system- are kept for the system"
            yield Hit(identity, ("metadata", "name"), {"name": one.name, "what": what})


def high_default(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """A default class above other classes: whoever names none goes before those who do."""
    held = list(_classes(cluster))
    for identity, one in held:
        lower = sorted(c.name for _, c in held if 0 <= c.value < one.value)
        if one.is_default and one.value > 0 and lower:
            verb = "preempts" if one.preempts else "goes before"
            values = {
                "name": one.name,
                "value": f"{one.value:,}",
                "verb": verb,
                "lower": ", ".join(lower[:4]),
            }
            yield Hit(identity, ("globalDefault",), values)


def _templates(cluster: Cluster) -> Iterator[tuple[DocumentId, Workload, PodSet]]:
    for key, workload in state(cluster).workloads.items():
        if workload.owner is None and not workload.phase:
            for pods in workload.pod_sets:
                for identity in cluster.index.ids(key)[:1]:
                    yield identity, workload, pods


def class_missing(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """A class that pods name and that is not there: the API server refuses the pods."""
    known = {c.name for _, c in _classes(cluster)}
    unseen: set[str] = set()
    seen: set[tuple[DocumentId, str]] = set()
    for identity, workload, pods in _templates(cluster):
        name = pods.priority_class
        if not name or name in known or name in BUILT_IN or (identity, name) in seen:
            continue
        seen.add((identity, name))
        if not known:
            unseen.add(name)
            continue
        near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.7)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known)[:5])}"
        values = {"workload": str(workload.key), "name": name, "hint": hint}
        yield Hit(identity, (*pods.path, "spec", "priorityClassName"), values)
    if unseen:
        yield Skip("no PriorityClass is in sight; pass --context with the folder that holds them")


def system_class(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """Work with accelerators under a class of the system's own."""
    for identity, workload, pods in _templates(cluster):
        if workload.nature == "daemon" or workload.key.namespace in _SYSTEM_SPACES:
            continue
        if pods.priority_class in BUILT_IN and any(is_accelerator(r) and v for r, v in pods.requests.items()):
            values = {"workload": str(workload.key), "name": pods.priority_class}
            yield Hit(identity, (*pods.path, "spec", "priorityClassName"), values)
