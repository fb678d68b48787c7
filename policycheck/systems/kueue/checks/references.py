"""References that lead nowhere, with what was probably meant.

A reference is only called broken when objects of its kind are in sight at all: a repository that
holds none of them is linted without its other half, and that is said instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.model.workload import Workload
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import GROUP
from policycheck.systems.kueue.checks.common import (
    Found,
    Params,
    core,
    documents,
    flavor_places,
    misspelt,
    near,
    settled,
    state,
)
from policycheck.systems.kueue.checks.lowered import only_queue
from policycheck.systems.kueue.jobs import PRIORITY_LABEL, QUEUE_LABEL, is_exempt
from policycheck.systems.kueue.model import ClusterQueue, LocalQueue, ResourceFlavor
from policycheck.wording import join

_CHECKS: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
_SCHEDULING = "scheduling.k8s.io"


class Broken(NamedTuple):
    """A reference to something that is not in sight, while others of its kind are."""

    id: DocumentId
    path: Path
    says: str  # "LocalQueue batch leads to ClusterQueue"
    name: str
    meant: str  # of what it is a misspelling; "" when that is not plain
    hint: str = ""  # what else may help
    idle: str = ""  # what may be meant all the same: what nothing else refers to, or alone would do

    @property
    def kind(self) -> str:
        """The kind that is referred to: what ``says`` ends with."""
        return self.says.rpartition(" ")[2]


def _unseen(kind: str) -> Skip:
    return Skip(f"no {kind} is in sight; pass --context with the folder that holds them")


def _cluster_queues(cluster: Cluster) -> Iterator[Broken | Skip]:
    found = state(cluster)
    known = found.objects.cluster_queues
    led_to = {local.cluster_queue for local in found.objects.local_queues.values()}
    for identity, facts in documents(cluster, "LocalQueue"):
        local = facts.typed
        if not isinstance(local, LocalQueue) or not local.cluster_queue or local.cluster_queue in known:
            continue
        if not known:
            yield _unseen("ClusterQueue")
            return
        name = local.cluster_queue
        idle = near(name, (q for q in known if q not in led_to), 0.6)
        hint = f"; no LocalQueue leads to {idle!r}" if idle else ""
        says = f"LocalQueue {local.name} leads to ClusterQueue"
        yield Broken(identity, ("spec", "clusterQueue"), says, name, misspelt(name, known), hint, idle)


def _flavors(cluster: Cluster) -> Iterator[Broken | Skip]:
    known = state(cluster).objects.flavors
    for kind in ("ClusterQueue", "Cohort"):
        for identity, facts in documents(cluster, kind):
            for name, path, _ in flavor_places(facts.value):
                if name in known:
                    continue
                if not known:
                    yield _unseen("ResourceFlavor")
                    return
                says = f"{kind} {facts.key.name} has quota in ResourceFlavor"
                yield Broken(identity, (*path, "name"), says, name, misspelt(name, known))


def _checks(cluster: Cluster) -> Iterator[Broken | Skip]:
    known = state(cluster).objects.checks
    for identity, facts in documents(cluster, "ClusterQueue"):
        strategy = mapping(mapping(facts.value.get("spec")).get("admissionChecksStrategy"))
        for n, raw in enumerate(items(strategy.get("admissionChecks"))):
            name = text(mapping(raw).get("name"))
            if not name or name in known:
                continue
            if not known:
                yield _unseen("AdmissionCheck")
                return
            says = f"ClusterQueue {facts.key.name} waits for AdmissionCheck"
            yield Broken(identity, (*_CHECKS, n, "name"), says, name, misspelt(name, known))


def _topologies(cluster: Cluster) -> Iterator[Broken | Skip]:
    known = state(cluster).objects.topologies
    for identity, facts in documents(cluster, "ResourceFlavor"):
        flavor = facts.typed
        if not isinstance(flavor, ResourceFlavor) or not flavor.topology or flavor.topology in known:
            continue
        if not known:
            yield _unseen("Topology")
            return
        says = f"flavor {flavor.name} names Topology"
        near_one = misspelt(flavor.topology, known)
        yield Broken(identity, ("spec", "topologyName"), says, flavor.topology, near_one)


def _labelled(cluster: Cluster, label: str) -> Iterator[tuple[DocumentId, Facts, str]]:
    """Workloads that carry a label on themselves: document, facts, the label's value."""
    for key in core(cluster).workloads:
        for identity in cluster.index.ids(key):
            facts = cluster.entries[identity].facts
            if isinstance(facts.typed, Workload) and facts.typed.labels.get(label):
                yield identity, facts, facts.typed.labels[label]
    if label == QUEUE_LABEL:
        for identity, facts in documents(cluster, "Workload"):
            name = text(mapping(facts.value.get("spec")).get("queueName"))
            if name:
                yield identity, facts, name


def _local_queues(cluster: Cluster) -> Iterator[Broken | Skip]:
    """Without a namespace in the manifest any LocalQueue of that name may be meant."""
    found = state(cluster)
    known = found.objects.local_queues
    spaces = core(cluster).namespaces
    by_space: dict[str, set[str]] = {}
    for namespace, name in known:
        by_space.setdefault(namespace, set()).add(name)
    everywhere = {name for _, name in known}
    unseen: set[str] = set()
    for identity, facts, queue in _labelled(cluster, QUEUE_LABEL):
        space = facts.key.namespace
        labels = spaces[space].labels if space in spaces else {}
        names = by_space.get(space, set()) | by_space.get("", set()) if space else everywhere
        if queue in names or is_exempt(space, labels, found.objects.configuration):
            continue
        if not names:
            unseen.add(space or "unnamed")
            continue
        elsewhere = settled(cluster, _spaces).get(queue, ())
        hint = f"; there {'is' if len(names) == 1 else 'are'} {join(sorted(names))}" if space else ""
        if elsewhere:
            hint = f"; there is one in namespace {join(elsewhere)}, and it serves that namespace alone"
        is_written = facts.key.group == GROUP
        path: Path = ("spec", "queueName") if is_written else ("metadata", "labels", QUEUE_LABEL)
        says = f"{facts.key} waits in LocalQueue"
        asked = facts.typed.pod_sets if isinstance(facts.typed, Workload) else ()
        only = only_queue(
            cluster, space, {r for pods in asked for r, amount in pods.requests.items() if amount}
        )
        yield Broken(identity, path, says, queue, misspelt(queue, names), hint, only)
    if unseen:
        yield _unseen(f"LocalQueue of the namespaces {join(sorted(unseen))}")


def _spaces(cluster: Cluster) -> Mapping[str, Sequence[str]]:
    """The namespaces that have a LocalQueue of a name, by that, in order."""
    found: dict[str, list[str]] = {}
    for namespace, name in sorted(state(cluster).objects.local_queues):
        found.setdefault(name, []).append(namespace)
    return found


def _priorities(cluster: Cluster) -> Iterator[Broken | Skip]:
    """A PriorityClass of pods with that name is another kind, which the label can not mean."""
    known = state(cluster).objects.priority_classes
    pod_classes = core(cluster).priority_classes
    for identity, facts, name in _labelled(cluster, PRIORITY_LABEL):
        if name in known:
            continue
        if not known and name not in pod_classes:
            yield _unseen("WorkloadPriorityClass")
            return
        path: Path = ("metadata", "labels", PRIORITY_LABEL)
        says = f"{facts.key} has WorkloadPriorityClass"
        yield Broken(identity, path, says, name, misspelt(name, known))


_KINDS: tuple[Callable[[Cluster], Iterator[Broken | Skip]], ...] = (
    _cluster_queues,
    _flavors,
    _checks,
    _topologies,
    _local_queues,
    _priorities,
)


def _broken(cluster: Cluster, look: Callable[[Cluster], Iterator[Broken | Skip]]) -> Iterator[Broken | Skip]:
    """What ``look`` finds; what may stand in a text that could not be read (a template) is not broken."""
    for one in look(cluster):
        if isinstance(one, Broken) and cluster.may_be_unseen(one.kind, one.name):
            yield Skip(f"{one.kind} {one.name} may stand in a text that could not be read")
        else:
            yield one


def _misspelt(found: Iterator[Broken | Skip]) -> Found:
    for one in found:
        if isinstance(one, Broken) and one.meant:
            yield Hit(one.id, one.path, {"says": one.says, "name": one.name, "meant": one.meant})


def cluster_queue_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A LocalQueue that leads to a misspelt ClusterQueue."""
    return _misspelt(_broken(cluster, _cluster_queues))


def local_queue_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A workload in a misspelt LocalQueue."""
    return _misspelt(_broken(cluster, _local_queues))


def flavor_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Quota in a misspelt flavor."""
    return _misspelt(_broken(cluster, _flavors))


def check_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A misspelt admission check."""
    return _misspelt(_broken(cluster, _checks))


def topology_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A flavor with a misspelt topology."""
    return _misspelt(_broken(cluster, _topologies))


def priority_class_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A priority label that is misspelt, or that names a PriorityClass of pods: no Workload is made."""
    pod_classes = core(cluster).priority_classes
    for one in _broken(cluster, _priorities):
        if isinstance(one, Skip) or not (one.meant or one.name in pod_classes):
            continue
        hint = f"did you mean {one.meant!r}?"
        because: tuple[Related, ...] = ()
        if one.name in pod_classes:
            hint = "that is a PriorityClass of pods, which this label can not name"
            ids = cluster.index.ids(ObjectKey(_SCHEDULING, "PriorityClass", "", one.name))
            because = tuple(Related(i, ("value",), f"PriorityClass {one.name}") for i in ids[:1])
        yield Hit(
            one.id, one.path, {"says": one.says, "name": one.name, "hint": hint, "meant": one.meant}, because
        )


def reference_not_in_sight(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Any reference that leads nowhere, and that is no plain misspelling."""
    pod_classes = core(cluster).priority_classes
    for kind in _KINDS:
        for one in _broken(cluster, kind):
            if isinstance(one, Skip):
                yield one
            elif not one.meant and not (kind is _priorities and one.name in pod_classes):
                values = {"says": one.says, "name": one.name, "hint": one.hint, "meant": one.idle}
                yield Hit(one.id, one.path, values)


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


def leads_nowhere(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A LocalQueue that names no ClusterQueue."""
    for identity, facts in documents(cluster, "LocalQueue"):
        local = facts.typed
        if isinstance(local, LocalQueue) and not local.cluster_queue and local.name:
            yield Hit(identity, ("spec", "clusterQueue"), {"local": local.name})
