"""A Workload as it stands. What may change in it is in ``workload_update``.

Source: the Workload API reference, and what Kueue's webhook answers (facts 1a, 1b; conformance
suite ``validation``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.model.amount import QuantityError, amount, quantity
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, text, whole
from policycheck.systems.kueue.validate.flavor import tolerations
from policycheck.systems.kueue.validate.gates import Gates
from policycheck.systems.kueue.validate.names import (
    annotation_map,
    dns_label,
    domain_path,
    label_map,
    subdomain,
)
from policycheck.systems.kueue.validate.problem import (
    FORBIDDEN,
    NOT_FOUND,
    NOT_SUPPORTED,
    REQUIRED,
    Problem,
    invalid,
    problem,
)
from policycheck.systems.kueue.validate.workload_update import (
    GATED_BY,
    gate_names,
    is_elastic,
    is_reserved,
    notes,
    pod_sets,
    status,
    update,
)

Value = Mapping[str, Any]
BOOST = "kueue.x-k8s.io/priority-boost"
_INTEGER = re.compile(r"[+-]?\d{1,20}\Z", re.ASCII)
_META: Path = ("metadata", "annotations")
_PODSETS: Path = ("spec", "podSets")


def workload(new: Value, old: Value | None, gates: Gates) -> list[Problem]:
    """A Workload, created or updated."""
    problems: list[Problem] = []
    for n, one in enumerate(pod_sets(new)):
        problems += _pod_set(one, (*_PODSETS, n), gates)
    problems += _counts(new, gates)
    problems += _annotations(new, gates)
    problems += _names(mapping(new.get("spec")))
    problems += _admission(new, old)
    problems += _check_states(new)
    problems += _reclaimable(new, old, gates)
    if old is not None:
        problems += update(new, old, gates)
    return problems


def _names(spec: Value) -> list[Problem]:
    problems = []
    queue = text(spec.get("queueName"))
    if queue and (why := subdomain(queue)):
        problems.append(invalid(("spec", "queueName"), "bad-name", f"queueName {queue!r} {why}"))
    name = text(mapping(spec.get("priorityClassRef")).get("name"))
    if name and (why := subdomain(name)):
        at: Path = ("spec", "priorityClassRef", "name")
        problems.append(invalid(at, "bad-name", f"priority class {name!r} {why}"))
    return problems


def _pod_set(value: Value, path: Path, gates: Gates) -> list[Problem]:
    problems: list[Problem] = []
    name = text(value.get("name"))
    if name and (why := dns_label(name)):
        problems.append(invalid((*path, "name"), "bad-name", f"podset name {name!r} {why}"))
    template = mapping(value.get("template"))
    at: Path = (*path, "template")
    if gates.pod_set_metadata:
        meta = mapping(template.get("metadata"))
        problems += label_map(meta.get("labels"), (*at, "metadata", "labels"))
        problems += annotation_map(meta.get("annotations"), (*at, "metadata", "annotations"))
    for resources, where in _resources(mapping(template.get("spec")), (*at, "spec")):
        problems += _amounts(resources, where, gates)
    if gates.slice_size:
        problems += _slices(mapping(value.get("topologyRequest")), (*path, "topologyRequest"))
    least, count = value.get("minCount"), whole(value.get("count"), 1)
    if isinstance(least, int) and least > count:
        say = f"minCount is {least} and count is {count}; write at most the count"
        problems.append(invalid((*path, "minCount"), "min-count", say))
    return problems


def _resources(spec: Value, path: Path) -> Iterator[tuple[Value, Path]]:
    for field in ("initContainers", "containers"):
        for n, container in enumerate(items(spec.get(field))):
            yield mapping(mapping(container).get("resources")), (*path, field, n, "resources")
    yield mapping(spec.get("resources")), (*path, "resources")


def _amounts(resources: Value, path: Path, gates: Gates) -> list[Problem]:
    """Requests and limits: ``pods`` belongs to Kueue, and nothing is negative."""
    problems = []
    for kind in ("requests", "limits"):
        for name, raw in mapping(resources.get(kind)).items():
            where: Path = (*path, kind, str(name))
            if name == "pods":
                say = "Kueue counts pods itself under the name 'pods'; remove it from the container"
                problems.append(invalid(where, "reserved-resource", say))
            if gates.non_negative and _is_negative(raw):
                say = f"{name} is {raw}; it has to be 0 or more"
                problems.append(invalid(where, "negative", say))
    return problems


def _is_negative(raw: object) -> bool:
    try:
        return quantity(raw) < 0
    except QuantityError:
        return False


def _slices(value: Value, path: Path) -> list[Problem]:
    """Slices come with a level and a positive size."""
    problems = []
    size, level = value.get("podSetSliceSize"), value.get("podSetSliceRequiredTopology")
    where: Path = (*path, "podSetSliceSize")
    if size is not None and level is None:
        say = "podSetSliceSize needs podSetSliceRequiredTopology; set the level, or remove the size"
        problems.append(problem(FORBIDDEN, where, "slice-size", say))
    elif size is not None and whole(size) <= 0:
        problems.append(invalid(where, "slice-size", f"podSetSliceSize is {size}; it has to be 1 or more"))
    at: Path = (*path, "podsetSliceRequiredTopologyConstraints")
    for n, raw in enumerate(items(value.get("podsetSliceRequiredTopologyConstraints"))):
        size = whole(mapping(raw).get("size"))
        if size <= 0:
            problems.append(
                invalid((*at, n, "size"), "slice-size", f"size is {size}; it has to be 1 or more")
            )
    return problems


def _counts(new: Value, gates: Gates) -> list[Problem]:
    """Partial admission: one podset, and not together with elastic jobs."""
    variable = [p for p in pod_sets(new) if p.get("minCount") is not None]
    problems = []
    if len(variable) > 1:
        names = ", ".join(text(p.get("name")) for p in variable)
        say = f"minCount is set on {len(variable)} podsets ({names}); at most one may have it"
        problems.append(invalid(_PODSETS, "min-count", say))
    if variable and is_elastic(new, gates):
        say = "partial admission (minCount) and elastic jobs exclude each other; remove one of them"
        problems.append(invalid(_PODSETS, "elastic-partial", say))
    return problems


def _annotations(new: Value, gates: Gates) -> list[Problem]:
    found = notes(new)
    problems = []
    if gates.priority_boost and BOOST in found and not _INTEGER.match(found[BOOST]):
        say = f"{BOOST} is {found[BOOST]!r}; write a whole number such as 10, -5 or 0"
        problems.append(invalid((*_META, BOOST), "bad-boost", say))
    if not gates.admission_gated_by or GATED_BY not in found:
        return problems
    names = gate_names(found[GATED_BY])
    for n, name in enumerate(names):
        why = domain_path(name)
        if name in names[:n]:
            why = "stands twice"
        if why:
            problems.append(invalid((*_META, GATED_BY), "bad-gate", f"gate {name!r} {why}"))
    return problems


def _admission(new: Value, old: Value | None) -> list[Problem]:
    """What was admitted: there while quota is reserved, naming podsets, usage a multiple of pods."""
    if not is_reserved(new):
        return []
    path: Path = ("status", "admission")
    admission = status(new).get("admission")
    if not isinstance(admission, dict):
        # An object that is in this state already stays updatable, so that it can be removed.
        was = old is not None and is_reserved(old) and not isinstance(status(old).get("admission"), dict)
        say = "status.admission has to be there while the condition QuotaReserved is True"
        return [] if was else [problem(REQUIRED, path, "no-admission", say)]
    problems = []
    names = {text(p.get("name")) for p in pod_sets(new)}
    for n, raw in enumerate(items(admission.get("podSetAssignments"))):
        given, at = mapping(raw), (*path, "podSetAssignments", n)
        name = text(given.get("name"))
        if name not in names:
            say = f"no podset is called {name!r}; there are {', '.join(sorted(names))}"
            problems.append(problem(NOT_FOUND, (*at, "name"), "unknown-podset", say))
        problems += _usage(given, at)
    return problems


def _usage(given: Value, path: Path) -> list[Problem]:
    pods = given.get("count")
    if not isinstance(pods, int) or pods <= 0:
        return []
    problems = []
    for name, raw in mapping(given.get("resourceUsage")).items():
        try:
            used = amount(str(name), raw)
        except QuantityError:
            continue
        if used % pods:
            say = f"usage of {name} is {raw}, which {pods} pods cannot share equally"
            problems.append(invalid((*path, "resourceUsage", str(name)), "usage-multiple", say))
    return problems


def _check_states(new: Value) -> list[Problem]:
    """What admission checks add to podsets: existing ones, well-formed labels and tolerations."""
    problems: list[Problem] = []
    names = [text(p.get("name")) for p in pod_sets(new)]
    for n, check in enumerate(items(status(new).get("admissionChecks"))):
        for m, raw in enumerate(items(mapping(check).get("podSetUpdates"))):
            one = mapping(raw)
            at: Path = ("status", "admissionChecks", n, "podSetUpdates", m)
            name = text(one.get("name"))
            if name not in names:
                say = f"no podset is called {name!r}; there are {', '.join(names)}"
                problems.append(problem(NOT_SUPPORTED, (*at, "name"), "unknown-podset", say))
            problems += label_map(one.get("labels"), (*at, "labels"))
            problems += annotation_map(one.get("annotations"), (*at, "annotations"))
            problems += label_map(one.get("nodeSelector"), (*at, "nodeSelector"))
            problems += tolerations(one.get("tolerations"), (*at, "tolerations"))
    return problems


def _reclaimable(new: Value, old: Value | None, gates: Gates) -> list[Problem]:
    """No more pods are reclaimable than there are.

    An elastic job may scale below a count that was recorded before and did not change.
    """
    counts = {text(p.get("name")): whole(p.get("count"), 1) for p in pod_sets(new)}
    recorded = {}
    if old is not None and is_elastic(new, gates):
        recorded = {
            text(mapping(r).get("name")): whole(mapping(r).get("count"))
            for r in items(status(old).get("reclaimablePods"))
        }
    problems = []
    for n, raw in enumerate(items(status(new).get("reclaimablePods"))):
        name, count = text(mapping(raw).get("name")), whole(mapping(raw).get("count"))
        path: Path = ("status", "reclaimablePods", n)
        field = f"status.reclaimablePods[{name}]"
        if name not in counts:
            say = f"no podset is called {name!r}; there are {', '.join(counts)}"
            at: Path = (*path, "name")
            problems.append(problem(NOT_SUPPORTED, at, "unknown-podset", say, f"{field}.name"))
        elif count > counts[name] and recorded.get(name) != count:
            say = f"{count} pods of {name} are reclaimable and there are {counts[name]}; write at most that"
            problems.append(invalid((*path, "count"), "reclaimable", say, f"{field}.count"))
    return problems
