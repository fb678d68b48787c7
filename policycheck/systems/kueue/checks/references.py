"""References that lead nowhere, with what was probably meant.

A reference is only called broken when objects of its kind are in sight at all: a repository that
holds none of them is linted without its other half, and that is said instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.model.workload import Workload
from policycheck.systems.core.podspec import items, mapping
from policycheck.systems.kueue import GROUP
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    core,
    documents,
    flavor_places,
    join,
    meant,
    near,
    state,
)
from policycheck.systems.kueue.jobs import PRIORITY_LABEL, QUEUE_LABEL, is_exempt
from policycheck.systems.kueue.model import ClusterQueue, LocalQueue

_CHECKS: Path = ("spec", "admissionChecksStrategy", "admissionChecks")


def _unseen(kind: str) -> Skip:
    return Skip(f"no {kind} is in sight; pass --context with the folder that holds them")


def cluster_queue_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A LocalQueue that leads to a ClusterQueue which nobody defines."""
    known = state(cluster).objects.cluster_queues
    for identity, facts in documents(cluster, "LocalQueue"):
        local = facts.typed
        if not isinstance(local, LocalQueue) or not local.cluster_queue or local.cluster_queue in known:
            continue
        if not known:
            yield _unseen("ClusterQueue")
            continue
        values = {
            "local": local.name,
            "queue": local.cluster_queue,
            "hint": meant(local.cluster_queue, known),
        }
        yield Hit(identity, ("spec", "clusterQueue"), values)


def flavor_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A queue or cohort that gives quota in a flavor which nobody defines."""
    known = state(cluster).objects.flavors
    for kind in ("ClusterQueue", "Cohort"):
        for identity, facts in documents(cluster, kind):
            for name, path, _ in flavor_places(facts.value):
                if name in known:
                    continue
                if not known:
                    yield _unseen("ResourceFlavor")
                    break
                values = {"kind": kind, "queue": facts.key.name, "flavor": name, "hint": meant(name, known)}
                yield Hit(identity, (*path, "name"), values)


def check_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A queue that waits for an admission check which nobody defines."""
    known = state(cluster).objects.checks
    for identity, facts in documents(cluster, "ClusterQueue"):
        for name, path, _ in _admission_checks(facts.value):
            if name in known:
                continue
            if not known:
                yield _unseen("AdmissionCheck")
                break
            values = {"queue": facts.key.name, "check": name, "hint": meant(name, known)}
            yield Hit(identity, (*path, "name"), values)


def _admission_checks(value: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    strategy = mapping(mapping(value.get("spec")).get("admissionChecksStrategy"))
    for n, raw in enumerate(items(strategy.get("admissionChecks"))):
        name = mapping(raw).get("name")
        if isinstance(name, str) and name:
            yield name, (*_CHECKS, n), raw


def labelled(cluster: Cluster, label: str) -> Iterator[tuple[DocumentId, Facts, str]]:
    """Workloads that carry a label on themselves: document, facts, the label's value."""
    for key in core(cluster).workloads:
        for identity in cluster.index.ids(key):
            facts = cluster.entries[identity].facts
            if isinstance(facts.typed, Workload) and facts.typed.labels.get(label):
                yield identity, facts, facts.typed.labels[label]
    if label == QUEUE_LABEL:
        for identity, facts in documents(cluster, "Workload"):
            name = mapping(facts.value.get("spec")).get("queueName")
            if isinstance(name, str) and name:
                yield identity, facts, name


def local_queue_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A workload that waits in a LocalQueue which its namespace does not have.

    Without a namespace in the manifest any LocalQueue of that name may be meant.
    """
    found = state(cluster)
    known = found.objects.local_queues
    spaces = {namespace for namespace, _ in known}
    unseen = False
    for identity, facts, queue in labelled(cluster, QUEUE_LABEL):
        space = facts.key.namespace
        if is_exempt(space, {}, found.objects.configuration):
            continue
        names = {name for namespace, name in known if not space or namespace in ("", space)}
        if queue in names:
            continue
        if not names:
            unseen = True
            continue
        elsewhere = sorted(namespace for namespace, name in known if name == queue)
        hint = meant(queue, names)
        if elsewhere and not near(queue, names):
            hint = f"; there is one in namespace {join(elsewhere)}, and a LocalQueue serves its own namespace alone"
        is_written = facts.key.group == GROUP
        path: Path = ("spec", "queueName") if is_written else ("metadata", "labels", QUEUE_LABEL)
        where = f" in namespace {space}" if space else ""
        yield Hit(identity, path, {"workload": str(facts.key), "queue": queue, "where": where, "hint": hint})
    if unseen:
        yield _unseen(f"LocalQueue for some workloads' namespaces ({join(sorted(spaces)) or 'none at all'})")


def priority_class_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A workload whose priority label names no WorkloadPriorityClass: Kueue makes no Workload of it."""
    found = state(cluster)
    known = found.objects.priority_classes
    pod_classes = core(cluster).priority_classes
    for identity, facts, name in labelled(cluster, PRIORITY_LABEL):
        if name in known:
            continue
        path: Path = ("metadata", "labels", PRIORITY_LABEL)
        values = {"workload": str(facts.key), "class": name, "hint": meant(name, known)}
        if name in pod_classes:
            values["hint"] = "; that is a PriorityClass of pods, which this label can not name"
            ids = cluster.index.ids(ObjectKey("scheduling.k8s.io", "PriorityClass", "", name))
            because = tuple(Related(i, ("value",), f"PriorityClass {name}") for i in ids[:1])
            yield Hit(identity, path, values, because)
        elif known:
            yield Hit(identity, path, values)
        else:
            yield _unseen("WorkloadPriorityClass")


def queue_of_local(cluster: Cluster, namespace: str, name: str) -> ClusterQueue | None:
    """The ClusterQueue that a LocalQueue leads to, when both are beyond doubt."""
    found = state(cluster)
    spaces = [namespace] if namespace else sorted({s for s, n in found.objects.local_queues if n == name})
    if len(spaces) != 1:
        return None
    local = found.objects.local_queues.get((spaces[0], name))
    if local is None or ObjectKey(GROUP, "LocalQueue", spaces[0], name) in cluster.ambiguous:
        return None
    if ObjectKey(GROUP, "ClusterQueue", "", local.cluster_queue) in cluster.ambiguous:
        return None
    return found.objects.cluster_queues.get(local.cluster_queue)
