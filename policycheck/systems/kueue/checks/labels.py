"""Labels and annotations of Kueue's own prefix: unknown ones, and known ones in a place that is not read.

Source: the documentation page "Labels and Annotations" (facts 1b).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.model.workload import Workload
from policycheck.systems.core.mend import moved
from policycheck.systems.core.podspec import mapping
from policycheck.systems.kueue.checks.common import Found, Params, core, near, state
from policycheck.systems.kueue.jobs import FRAMEWORKS, QUEUE_LABEL, queue_of

PREFIX = "kueue.x-k8s.io/"
_TOPOLOGY = frozenset(
    f"podset-{name}"
    for name in (
        "required-topology",
        "preferred-topology",
        "unconstrained-topology",
        "slice-required-topology",
        "slice-size",
        "slice-required-topology-constraints",
        "group-name",
    )
)
_OBJECT_LABELS = frozenset({"queue-name", "priority-class", "max-exec-time-seconds"})
_EITHER = frozenset({"prebuilt-workload-name", "pod-group-name", "managed"})
_OBJECT_ANNOTATIONS = frozenset(
    {
        "elastic-job",
        "admission-gated-by",
        "job-min-parallelism",
        "job-completions-equal-parallelism",
        "priority-boost",
        "pod-group-total-count",
        "pod-group-fast-admission",
        "pod-group-serving",
        "retriable-in-group",
        "pod-group-pod-index-label",
    }
)
# What Kueue sets itself, and what older releases and other objects use.
_OTHERS = frozenset(
    {
        "cluster-queue-name",
        "local-queue-name",
        "podset",
        "workload",
        "role-hash",
        "job-uid",
        "multikueue-origin",
        "origin-uid",
        "tas",
        "workload-allowed-resource-flavors",
        "workload-slice-replacement-for",
        "safe-to-forcefully-terminate",
        "safe-to-forcefully-delete",
        "pod-group-sched-gate",
        "is-group-workload",
        "pod-index-offset",
        "pod-suspending-parent",
        "component",
        "topology",
        "elastic-job-scheduling-gate",
        "variant-of",
        "can-depend-on-podset",
    }
)
KNOWN = _TOPOLOGY | _OBJECT_LABELS | _EITHER | _OBJECT_ANNOTATIONS | _OTHERS
Told = tuple[str, str]


def _notes(cluster: Cluster) -> Iterator[tuple[DocumentId, Workload, Path, str, Mapping[str, str], bool]]:
    """Every map of labels or annotations of jobs: where it is, which of the two, whether on a template."""
    for key, workload in core(cluster).workloads.items():
        if (key.group, key.kind) not in FRAMEWORKS or workload.owner is not None:
            continue
        is_pod = workload.nature == "pod"
        base: Path = ("spec", "jobTemplate", "metadata") if key.kind == "CronJob" else ("metadata",)
        for identity in cluster.index.ids(key):
            yield identity, workload, (*base, "labels"), "label", workload.labels, False
            yield identity, workload, (*base, "annotations"), "annotation", workload.annotations, False
            for pods in () if is_pod else workload.pod_sets:
                if pods.path:
                    at: Path = (*pods.path, "metadata")
                    yield identity, workload, (*at, "labels"), "label", pods.labels, True
                    yield identity, workload, (*at, "annotations"), "annotation", pods.annotations, True


def unknown_label(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A label or annotation under Kueue's prefix that Kueue does not read."""
    seen: set[tuple[DocumentId, Path]] = set()
    for identity, workload, at, what, notes, _ in _notes(cluster):
        for key in notes:
            name = key.removeprefix(PREFIX)
            if not key.startswith(PREFIX) or name in KNOWN or name.startswith("provreq."):
                continue
            path = (*at, key)
            if (identity, path) in seen:
                continue
            seen.add((identity, path))
            other = near(name, KNOWN, 0.7)
            hint = f"; did you mean {PREFIX}{other}?" if other else ""
            right = PREFIX + other if other else ""
            values = {"what": what, "key": key, "workload": str(workload.key), "hint": hint, "right": right}
            yield Hit(identity, path, values, on_key=True)


def misplaced(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A label written as annotation or the other way round, or on the object where the pods' counts."""
    seen: set[tuple[DocumentId, Path]] = set()
    for identity, workload, at, what, notes, on_template in _notes(cluster):
        for key in notes:
            name = key.removeprefix(PREFIX)
            told = _belongs(workload, name, what, on_template) if key.startswith(PREFIX) else ""
            path = (*at, key)
            if not told or (identity, path) in seen or _is_double(cluster, identity, workload, name):
                continue
            seen.add((identity, path))
            values = {"what": what, "key": key, "workload": str(workload.key), "belongs": told}
            home = _home(workload, name, at)
            changes = (
                moved(identity, path, (*home, key), notes[key], is_alone=len(notes) == 1) if home else ()
            )
            yield Hit(identity, path, values, on_key=True, changes=changes)


def _home(workload: Workload, name: str, at: Path) -> Path:
    """The map of labels or annotations that a known name belongs into; () when there are several."""
    base: Path = ("spec", "jobTemplate", "metadata") if workload.key.kind == "CronJob" else ("metadata",)
    if name in _OBJECT_LABELS:
        return (*base, "labels")
    if name in _OBJECT_ANNOTATIONS or workload.nature == "pod":
        return (*base, "annotations")
    templates = [pods.path for pods in workload.pod_sets if pods.path]
    mine = [path for path in templates if at[: len(path)] == path] or templates
    return (*mine[0], "metadata", "annotations") if len(mine) == 1 else ()


def _is_double(cluster: Cluster, identity: DocumentId, workload: Workload, name: str) -> bool:
    """Whether the object has it in the right place as well, or never means to be in a queue."""
    if name in _OBJECT_LABELS:
        return PREFIX + name in workload.labels
    if name in _TOPOLOGY and any(PREFIX + name in p.annotations for p in workload.pod_sets):
        return True
    meta = mapping(cluster.entries[identity].facts.value.get("metadata"))
    return not (
        queue_of(workload) or QUEUE_LABEL in mapping(meta.get("annotations")) or state(cluster).claimed
    )


def _belongs(workload: Workload, name: str, what: str, on_template: bool) -> str:
    """Where a known name belongs; "" when it is there. Queue labels on templates are another rule's."""
    is_pod = workload.nature == "pod"
    if name in _OBJECT_LABELS and what == "annotation":
        return "it is a label: write it under metadata.labels of the object"
    if name in _OBJECT_LABELS and on_template and name != "queue-name":
        return "it counts on the object itself: write it under metadata.labels of the object"
    if name in _TOPOLOGY and what == "label":
        return "it is an annotation of the pod template"
    if name in _TOPOLOGY and not on_template and not is_pod and workload.key.kind != "AppWrapper":
        return "it counts on the pods: write it under template.metadata.annotations"
    if name in _OBJECT_ANNOTATIONS and what == "label":
        return "it is an annotation: write it under metadata.annotations of the object"
    return ""
