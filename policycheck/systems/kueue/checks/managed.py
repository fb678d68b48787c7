"""Which workloads Kueue manages: those that it holds for ever, namespaces that it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.lint.hit import Hit, Related
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.model.placement import Selector
from policycheck.model.workload import Workload
from policycheck.systems.kueue.checks.common import Found, Params, configured, core, documents, near, state
from policycheck.systems.kueue.checks.lowered import queued
from policycheck.systems.kueue.checks.namespaces import selects
from policycheck.systems.kueue.jobs import (
    FRAMEWORKS,
    KUEUE_NAMESPACE,
    QUEUE_LABEL,
    is_exempt,
    queue_of,
)
from policycheck.systems.kueue.model import LocalQueue
from policycheck.wording import join, plural

_PREFIX = "kueue.x-k8s.io/"
_SELECTOR: Path = ("managedJobsNamespaceSelector",)
# Names that no platform runs its own jobs in; a selector that takes one of each takes everything.
_SYSTEM = ("kube-public", "openshift-monitoring", "cert-manager", "monitoring", "argocd")


def waiting_outside(cluster: Cluster) -> Iterator[tuple[DocumentId, Workload]]:
    """Workloads that Kueue manages and that no queue takes: suspended, and nobody resumes them.

    What somebody else made is its maker's; what has run is past that.
    """
    found = state(cluster)
    objects = found.objects
    if not objects.configuration.manage_jobs_without_queue_name:
        return
    for key, workload in core(cluster).workloads.items():
        if key not in found.claimed or queue_of(workload) or workload.owner is not None or workload.phase:
            continue
        if (key.namespace, "default") in objects.local_queues or (key.group, key.kind) not in FRAMEWORKS:
            continue
        for identity in cluster.index.ids(key):
            yield identity, workload


def in_no_queue(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A workload without queue where Kueue manages all of them: it never starts."""
    where = configured(cluster)
    for identity, workload in waiting_outside(cluster):
        if template_label(workload) or means_queue(workload):
            continue  # another rule says what is wrong with the label
        queues = [n for space, n in state(cluster).objects.local_queues if space == workload.key.namespace]
        hint = (
            f"LocalQueues of {workload.key.namespace}: {join(queues)}" if queues else "it has no LocalQueue"
        )
        because = (
            (Related(where.id, ("manageJobsWithoutQueueName",), "manages what names no queue"),)
            if where is not None
            else ()
        )
        values = {"workload": str(workload.key), "hint": hint}
        asked = {r for pods in workload.pod_sets for r, amount in pods.requests.items() if amount}
        change, safety = queued(cluster, identity, workload, asked)
        yield Hit(identity, ("kind",), values, because, changes=(change,), safety=safety)


def means_queue(workload: Workload) -> bool:
    """Whether the object tries to name a queue: with an empty label, a misspelt one, or an annotation."""
    own = {*workload.labels, *workload.annotations}
    return QUEUE_LABEL in own or any(near(QUEUE_LABEL, (key,), 0.9) for key in own if key.startswith(_PREFIX))


def template_label(workload: Workload) -> bool:
    """Whether a pod template carries the queue label that belongs on the object."""
    return workload.nature != "pod" and any(p.path and p.labels.get(QUEUE_LABEL) for p in workload.pod_sets)


def manages_everything(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Jobs without a queue are managed in every namespace, also in those of operators."""
    where = configured(cluster)
    if where is None or not where.typed.manage_jobs_without_queue_name:
        return
    selector = where.typed.managed_jobs_namespace_selector
    found = state(cluster)
    led = {space for space, _ in found.objects.local_queues}
    spaces = core(cluster).namespaces
    taken = sorted(
        name
        for name, namespace in spaces.items()
        if name not in led
        and name not in ("kube-system", KUEUE_NAMESPACE)
        and not is_exempt(name, namespace.labels, where.typed)
    )
    if selector is not None and not taken and not _takes_all(selector):
        return
    told = f"{join(taken)} among them, which has no LocalQueue" if len(taken) == 1 else ""
    if len(taken) > 1:
        told = f"{join(taken)} among them, which have no LocalQueue"
    what = (
        "no managedJobsNamespaceSelector narrows it" if selector is None else "the selector takes every one"
    )
    if taken and selector is not None:
        what = f"the selector takes {plural(len(taken), 'namespace')} without LocalQueue"
    at = _SELECTOR if selector is not None else ("manageJobsWithoutQueueName",)
    yield Hit(where.id, at, {"what": what, "told": f" ({told})" if told else ""})


def _takes_all(selector: Selector) -> bool:
    return all(selector.matches({"kubernetes.io/metadata.name": name}) for name in _SYSTEM)


def manages_nobody(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The selector of managed namespaces takes none of those that have LocalQueues."""
    where = configured(cluster)
    if where is None or where.typed.managed_jobs_namespace_selector is None:
        return
    spaces = core(cluster).namespaces
    led = sorted({space for space, _ in state(cluster).objects.local_queues if space in spaces})
    if not led or any(not is_exempt(name, spaces[name].labels, where.typed) for name in led):
        return
    keys = [r.key for r in where.typed.managed_jobs_namespace_selector.requirements]
    labels = {key for name in led for key in spaces[name].labels}
    other = next((near(key, labels) for key in keys if key not in labels and near(key, labels)), "")
    hint = f"; did you mean the label {other!r}?" if other else ""
    yield Hit(where.id, _SELECTOR, {"spaces": join(led), "hint": hint})


def queue_where_nothing_is_managed(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A LocalQueue in a namespace that Kueue leaves alone, while others with one are managed."""
    found = state(cluster)
    spaces = core(cluster).namespaces
    configuration = found.objects.configuration
    known = [s for s, _ in found.objects.local_queues if s in spaces]
    if configuration.managed_jobs_namespace_selector is not None and all(
        is_exempt(s, spaces[s].labels, configuration) for s in known
    ):
        return  # none is managed, which is said once, of the selector
    for identity, facts in documents(cluster, "LocalQueue"):
        local = facts.typed
        if not isinstance(local, LocalQueue) or not local.namespace:
            continue
        space = spaces.get(local.namespace)
        if space is None and configuration.managed_jobs_namespace_selector is not None:
            continue  # its labels are not known
        if not is_exempt(local.namespace, space.labels if space else {}, configuration):
            continue
        if selects(cluster, local) is False:
            continue  # its ClusterQueue does not take the namespace either, which another rule says
        effect = "what names it runs at once, outside any quota"
        if local.name == "default":
            effect += "; before 0.19.1 jobs without a queue are suspended there for ever"
        values = {"local": local.name, "namespace": local.namespace, "effect": effect}
        yield Hit(identity, ("metadata", "namespace"), values)
