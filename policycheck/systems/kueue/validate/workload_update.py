"""What may change in a Workload once it holds quota, and readers that both checks share.

Source: what Kueue's webhook answers (conformance suite ``validation``), and the Workload API
reference for what is immutable while quota is reserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, labels, mapping, text, whole
from policycheck.systems.kueue.validate.gates import Gates
from policycheck.systems.kueue.validate.problem import (
    FORBIDDEN,
    REQUIRED,
    Problem,
    changed,
    invalid,
    problem,
)

Value = Mapping[str, Any]
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
ELASTIC = "kueue.x-k8s.io/elastic-job"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
_EVICT = "quota is reserved for it: suspend the job first (its reservation then ends)"
_MOVES = ("topologyAssignment", "delayedTopologyRequest")  # placement may be redone while quota is held


def status(value: Value) -> Value:
    """status, or nothing."""
    return mapping(value.get("status"))


def pod_sets(value: Value) -> list[Value]:
    """spec.podSets."""
    return [mapping(p) for p in items(mapping(value.get("spec")).get("podSets"))]


def notes(value: Value) -> Mapping[str, str]:
    """metadata.annotations."""
    return labels(mapping(value.get("metadata")).get("annotations"))


def is_elastic(value: Value, gates: Gates) -> bool:
    """Whether the workload is a slice of an elastic job."""
    return gates.elastic and notes(value).get(ELASTIC) == "true"


def is_reserved(value: Value) -> bool:
    """Whether the condition QuotaReserved is True."""
    conditions = (mapping(c) for c in items(status(value).get("conditions")))
    return any(c.get("type") == "QuotaReserved" and c.get("status") == "True" for c in conditions)


def gate_names(raw: str) -> list[str]:
    """The gates of an admission-gated-by annotation."""
    return [name.strip() for name in raw.split(",")]


def update(new: Value, old: Value, gates: Gates) -> list[Problem]:
    """What the change from ``old`` to ``new`` may not do."""
    problems: list[Problem] = []
    if is_reserved(old) and is_reserved(new):
        problems += _admission(new, old)
        problems += _reclaimable(new, old, gates)
    if is_reserved(old):
        problems += _pod_sets(new, old, gates)
    if is_reserved(old) and is_reserved(new):
        problems += _held(new, old)
    problems += _check_states(new, old)
    problems += _cluster_name(new, old, gates)
    if gates.admission_gated_by:
        problems += _gated_by(new, old)
    return problems


def _pod_sets(new: Value, old: Value, gates: Gates) -> list[Problem]:
    path: Path = ("spec", "podSets")
    now, before = pod_sets(new), pod_sets(old)
    if len(now) != len(before):
        return [changed(path, "the number of podsets", _EVICT)]
    problems = []
    for n, (one, was) in enumerate(zip(now, before, strict=True)):
        ours, theirs = dict(one), dict(was)
        if gates.elastic:
            ours.pop("count", None)
            theirs.pop("count", None)
        if ours != theirs:
            say = f"podset {text(one.get('name'))}"
            problems.append(changed((*path, n), say, _EVICT, f"spec.podSets.{n}"))
    return problems


def _held(new: Value, old: Value) -> list[Problem]:
    """What a workload that holds quota keeps: its queue, and which kind of priority class it has."""
    now, before = mapping(new.get("spec")), mapping(old.get("spec"))
    problems = []
    if now.get("queueName") != before.get("queueName"):
        problems.append(changed(("spec", "queueName"), "queueName", _EVICT))
    ours, theirs = mapping(now.get("priorityClassRef")), mapping(before.get("priorityClassRef"))
    if any(ours.get(k) != theirs.get(k) for k in ("group", "kind")):
        problems.append(changed(("spec", "priorityClassRef"), "the kind of priority class", _EVICT))
    return problems


def _admission(new: Value, old: Value) -> list[Problem]:
    ours, theirs = status(new).get("admission"), status(old).get("admission")
    if not isinstance(ours, dict) or not isinstance(theirs, dict) or _fixed(ours) == _fixed(theirs):
        return []
    return [changed(("status", "admission"), "status.admission", _EVICT)]


def _fixed(admission: Value) -> dict[str, object]:
    """An admission without what may be computed anew."""
    sets = [
        {k: v for k, v in mapping(p).items() if k not in _MOVES}
        for p in items(admission.get("podSetAssignments"))
    ]
    return {**admission, "podSetAssignments": sets}


def _reclaimable(new: Value, old: Value, gates: Gates) -> list[Problem]:
    """Reclaimable counts only grow, unless an elastic job scaled that podset down."""
    now = {text(mapping(r).get("name")): whole(mapping(r).get("count")) for r in _recorded(new)}
    counts = {text(p.get("name")): whole(p.get("count"), 1) for p in pod_sets(new)}
    admitted = {
        text(mapping(p).get("name")): whole(mapping(p).get("count"))
        for p in items(mapping(status(new).get("admission")).get("podSetAssignments"))
    }
    problems = []
    for n, raw in enumerate(_recorded(old)):
        name, least = text(mapping(raw).get("name")), whole(mapping(raw).get("count"))
        if is_elastic(new, gates) and counts.get(name, 0) < admitted.get(name, 0):
            continue
        field = f"status.reclaimablePods[{name}]"
        path: Path = ("status", "reclaimablePods", n)
        if name not in now:
            say = f"{name} had {least} reclaimable pods; the entry cannot be removed while quota is reserved"
            problems.append(problem(REQUIRED, path, "reclaimable", say, field))
        elif now[name] < least:
            say = f"{name} had {least} reclaimable pods and now has {now[name]}; the number may only grow"
            problems.append(invalid((*path, "count"), "reclaimable", say, f"{field}.count"))
    return problems


def _recorded(value: Value) -> list[Any]:
    return items(status(value).get("reclaimablePods"))


def _check_states(new: Value, old: Value) -> list[Problem]:
    """What a check that is Ready adds to podsets stays as it is."""
    before = {text(mapping(c).get("name")): mapping(c) for c in items(status(old).get("admissionChecks"))}
    problems = []
    for n, raw in enumerate(items(status(new).get("admissionChecks"))):
        check = mapping(raw)
        was = before.get(text(check.get("name")))
        if was is None or (check.get("state"), was.get("state")) != ("Ready", "Ready"):
            continue
        if items(check.get("podSetUpdates")) != items(was.get("podSetUpdates")):
            path: Path = ("status", "admissionChecks", n, "podSetUpdates")
            problems.append(changed(path, "podSetUpdates of a check that is Ready", "leave them as they are"))
    return problems


def _cluster_name(new: Value, old: Value, gates: Gates) -> list[Problem]:
    """MultiKueue: the cluster is one of those nominated, and stays (a slice inherits its own)."""
    now, before = text(status(new).get("clusterName")), text(status(old).get("clusterName"))
    path: Path = ("status", "clusterName")
    if now == before or not now or (gates.elastic and REPLACES in notes(new)):
        return []
    if before and is_reserved(new):
        return [changed(path, f"clusterName (it was {before})", _EVICT)]
    nominated = [text(c) for c in items(status(old).get("nominatedClusterNames"))]
    if now in nominated:
        return []
    say = f"clusterName is {now!r}; nominated are {', '.join(nominated) or 'none'}"
    return [invalid(path, "cluster-name", say)]


def _gated_by(new: Value, old: Value) -> list[Problem]:
    now, before = notes(new).get(GATED_BY, ""), notes(old).get(GATED_BY, "")
    path: Path = ("metadata", "annotations", GATED_BY)
    if not now:
        return []
    added = [g for g in gate_names(now) if g not in gate_names(before)]
    if not added:
        return []
    say = f"{', '.join(added)} cannot be added after creation; gates may only be removed"
    return [problem(FORBIDDEN, path, "gate-added", say)]
