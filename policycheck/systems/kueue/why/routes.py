"""Changes for a workload that no queue can admit as things stand: a stopped, missing or wrong way."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from policycheck.model.placement import Selector
from policycheck.simulate.change import Change
from policycheck.systems.kueue.model import ClusterQueue, KueueWorkload, LocalQueue
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.why.options import WORKLOAD, Choice, about, switch, with_queue, with_workload
from policycheck.systems.kueue.why.trial import PRIORITY_LABEL, queue_of, workload_of

_QUEUE, _NAMESPACE = 1, 3  # ranks: one object of the team's own; one of the platform's


def routes(opening: Opening, name: str) -> Iterator[Choice]:
    """Everything that may bring it to a queue."""
    workload = workload_of(opening, name)
    yield from _classes(opening, workload)
    yield from _active(opening, workload)
    yield from _local_queues(opening, workload)
    yield from _cluster_queues(opening, workload)
    yield from _stopped(opening, workload)
    yield from _namespaces(opening, workload)
    yield from _cohorts(opening, workload)


def _near(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """``known``, those most alike to ``name`` first."""
    names = sorted(known)
    return sorted(names, key=lambda k: -difflib.SequenceMatcher(None, name, k).ratio())[:most]


def _classes(opening: Opening, workload: KueueWorkload) -> Iterator[Choice]:
    label, classes = workload.labels.get(PRIORITY_LABEL, ""), opening.objects.priority_classes
    if not label or label in classes or workload.source is None:
        return
    for name in _near(label, classes, 1):
        labels = {**workload.labels, PRIORITY_LABEL: name}
        made = workload._replace(labels=labels, priority=classes[name].value, priority_class=name)
        change = Change("label", about(workload), f"label {PRIORITY_LABEL}", label, name)
        yield switch("priority class", WORKLOAD, with_workload(opening, made), change)


def _active(opening: Opening, workload: KueueWorkload) -> Iterator[Choice]:
    if not workload.active:
        change = Change("active", f"Workload {workload.name}", "spec.active", "false", "true")
        yield switch("activation", WORKLOAD, with_workload(opening, workload._replace(active=True)), change)


def _local_queues(opening: Opening, workload: KueueWorkload) -> Iterator[Choice]:
    names = [n for space, n in opening.objects.local_queues if space == workload.namespace]
    if workload.queue in names:
        return
    for name in _near(workload.queue, names):
        change = Change(
            "label",
            about(workload),
            "label kueue.x-k8s.io/queue-name",
            workload.queue or "absent",
            name,
        )
        yield switch("LocalQueue", WORKLOAD, with_workload(opening, workload._replace(queue=name)), change)


def _with_local(opening: Opening, local: LocalQueue) -> Opening:
    objects = opening.objects
    locals_ = {**objects.local_queues, (local.namespace, local.name): local}
    return opening._replace(objects=objects._replace(local_queues=locals_))


def _cluster_queues(opening: Opening, workload: KueueWorkload) -> Iterator[Choice]:
    objects = opening.objects
    local = objects.local_queues.get((workload.namespace, workload.queue))
    if local is None or local.cluster_queue in objects.cluster_queues:
        return
    labels = opening.namespaces.get(workload.namespace, {})
    fitting = [
        n
        for n, q in objects.cluster_queues.items()
        if q.namespace_selector is not None and q.namespace_selector.matches(labels)
    ]
    for name in _near(local.cluster_queue, fitting):
        change = Change("route", f"LocalQueue {local.name}", "clusterQueue", local.cluster_queue, name)
        yield switch("ClusterQueue", _QUEUE, _with_local(opening, local._replace(cluster_queue=name)), change)


def _stopped(opening: Opening, workload: KueueWorkload) -> Iterator[Choice]:
    local = opening.objects.local_queues.get((workload.namespace, workload.queue))
    queue = queue_of(opening.objects, workload)
    made, changes = opening, []
    if local is not None and local.stop_policy != "None":
        made = _with_local(made, local._replace(stop_policy="None"))
        changes.append(Change("stop", f"LocalQueue {local.name}", "stopPolicy", local.stop_policy, "None"))
    if queue is not None and queue.stop_policy != "None":
        made = with_queue(made, queue._replace(stop_policy="None"))
        changes.append(Change("stop", f"ClusterQueue {queue.name}", "stopPolicy", queue.stop_policy, "None"))
    if changes:
        yield switch("stop policy", _QUEUE, made, *changes)


def _namespaces(opening: Opening, workload: KueueWorkload) -> Iterator[Choice]:
    queue = queue_of(opening.objects, workload)
    if queue is None:
        return
    if queue.namespace_selector is None:
        change = Change("namespace", f"ClusterQueue {queue.name}", "namespaceSelector", "absent", "{} (all)")
        made = with_queue(opening, queue._replace(namespace_selector=Selector()))
        yield switch("namespace", _NAMESPACE, made, change)
        return
    labels = dict(opening.namespaces.get(workload.namespace, {}))
    changes = []
    for wanted in queue.namespace_selector.requirements:
        if wanted.matches(labels) or wanted.operator not in ("In", "Exists"):
            continue
        before, after = labels.get(wanted.key, "absent"), wanted.values[0] if wanted.values else "true"
        labels[wanted.key] = after
        changes.append(
            Change("namespace", f"Namespace {workload.namespace}", f"label {wanted.key}", before, after)
        )
    if changes:
        namespaces = {**opening.namespaces, workload.namespace: labels}
        yield switch("namespace", _NAMESPACE, opening._replace(namespaces=namespaces), *changes)


def _cohorts(opening: Opening, workload: KueueWorkload) -> Iterator[Choice]:
    """Another cohort, when the queue is in one by itself whose name is nearly that of another."""
    objects = opening.objects
    queue = queue_of(objects, workload)
    if queue is None or not queue.cohort or queue.cohort in objects.cohorts:
        return
    if any(q.cohort == queue.cohort and q.name != queue.name for q in objects.cluster_queues.values()):
        return
    known = {c for q in objects.cluster_queues.values() if (c := q.cohort)} | set(objects.cohorts)
    for name in difflib.get_close_matches(queue.cohort, sorted(known - {queue.cohort}), n=1, cutoff=0.75):
        made: ClusterQueue = queue._replace(cohort=name)
        change = Change("cohort", f"ClusterQueue {queue.name}", "cohortName", queue.cohort, name)
        yield switch("cohort", _QUEUE, with_queue(opening, made), change)
