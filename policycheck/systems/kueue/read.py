"""Kueue's objects out of their newest served form (v1beta2), one object at a time.

Every reader is ``(value, troubles) -> type``; it is tolerant: what cannot be read becomes a trouble
and the rest is read, since an object that the API server would refuse still says what was meant.
Defaults are the API server's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from policycheck.model.amount import QuantityError, amount
from policycheck.model.facts import Trouble
from policycheck.model.origin import ObjectKey, Path
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.systems.core.podspec import (
    items,
    labels,
    mapping,
    pod_set,
    selector,
    taints,
    text,
    tolerations,
    whole,
)
from policycheck.systems.kueue import model

Troubles = list[Trouble]
Value = Mapping[str, Any]


def _amount(resource: str, raw: object, path: Path, troubles: Troubles) -> int:
    if raw is None:
        return 0
    try:
        return amount(resource, raw)
    except QuantityError as error:
        troubles.append(Trouble("bad-quantity", path, str(error)))
        return 0


def _limit(resource: str, raw: object, path: Path, troubles: Troubles) -> int | None:
    return None if raw is None else _amount(resource, raw, path, troubles)


def _weight(spec: Value, path: Path, troubles: Troubles) -> int | None:
    """fairSharing.weight in thousandths, rounded up so that no positive weight becomes zero."""
    raw = mapping(spec.get("fairSharing")).get("weight")
    return None if raw is None else _amount("cpu", raw, (*path, "fairSharing", "weight"), troubles)


def name(value: Value) -> str:
    """metadata.name."""
    return text(mapping(value.get("metadata")).get("name"))


def namespace(value: Value) -> str:
    """metadata.namespace."""
    return text(mapping(value.get("metadata")).get("namespace"))


def _groups(raw: object, troubles: Troubles) -> tuple[model.ResourceGroup, ...]:
    return tuple(
        _group(mapping(g), ("spec", "resourceGroups", n), troubles) for n, g in enumerate(items(raw))
    )


def _group(value: Value, path: Path, troubles: Troubles) -> model.ResourceGroup:
    flavors = []
    for n, flavor in enumerate(items(value.get("flavors"))):
        where = (*path, "flavors", n, "resources")
        quotas = {}
        for m, resource in enumerate(items(mapping(flavor).get("resources"))):
            found = mapping(resource)
            what = text(found.get("name"))
            at = (*where, m)
            quotas[what] = model.Quota(
                _amount(what, found.get("nominalQuota"), (*at, "nominalQuota"), troubles),
                _limit(what, found.get("borrowingLimit"), (*at, "borrowingLimit"), troubles),
                _limit(what, found.get("lendingLimit"), (*at, "lendingLimit"), troubles),
            )
        flavors.append(model.FlavorQuotas(text(mapping(flavor).get("name")), quotas))
    return model.ResourceGroup(tuple(text(r) for r in items(value.get("coveredResources"))), tuple(flavors))


def _preemption(raw: object) -> model.Preemption:
    value = mapping(raw)
    borrow = mapping(value.get("borrowWithinCohort"))
    threshold = borrow.get("maxPriorityThreshold")
    return model.Preemption(
        text(value.get("withinClusterQueue")) or "Never",
        text(value.get("reclaimWithinCohort")) or "Never",
        model.BorrowWithinCohort(
            text(borrow.get("policy")) or "Never", None if threshold is None else whole(threshold)
        ),
    )


def _fungibility(raw: object) -> model.FlavorFungibility:
    value = mapping(raw)
    return model.FlavorFungibility(
        text(value.get("whenCanBorrow")) or "MayStopSearch",
        text(value.get("whenCanPreempt")) or "TryNextFlavor",
        text(value.get("preference")),
    )


def _check_rules(raw: object) -> tuple[model.CheckRule, ...]:
    rules = (mapping(r) for r in items(mapping(raw).get("admissionChecks")))
    return tuple(
        model.CheckRule(text(r.get("name")), tuple(text(f) for f in items(r.get("onFlavors")))) for r in rules
    )


def _concurrent(raw: object) -> model.ConcurrentAdmission | None:
    if not isinstance(raw, dict):
        return None
    constraints = mapping(mapping(raw.get("migration")).get("constraints") or raw.get("constraints"))
    mode = text(raw.get("mode")) or text(mapping(raw.get("migration")).get("mode"))
    return model.ConcurrentAdmission(mode, text(constraints.get("lastAcceptableFlavorName")))


def cluster_queue(value: Value, troubles: Troubles) -> model.ClusterQueue:
    """A ClusterQueue."""
    spec, meta = mapping(value.get("spec")), mapping(value.get("metadata"))
    return model.ClusterQueue(
        name=name(value),
        cohort=text(spec.get("cohortName")),
        groups=_groups(spec.get("resourceGroups"), troubles),
        namespace_selector=selector(spec.get("namespaceSelector")),
        queueing_strategy=text(spec.get("queueingStrategy")) or "BestEffortFIFO",
        preemption=_preemption(spec.get("preemption")),
        fungibility=_fungibility(spec.get("flavorFungibility")),
        checks=_check_rules(spec.get("admissionChecksStrategy")),
        stop_policy=text(spec.get("stopPolicy")) or "None",
        fair_weight=_weight(spec, ("spec",), troubles),
        admission_mode=text(mapping(spec.get("admissionScope")).get("admissionMode")),
        concurrent=_concurrent(spec.get("concurrentAdmissionPolicy")),
        labels=labels(meta.get("labels")),
        annotations=labels(meta.get("annotations")),
        generation=whole(meta.get("generation")),
        deleting=bool(meta.get("deletionTimestamp")),
    )


def cohort(value: Value, troubles: Troubles) -> model.Cohort:
    """A Cohort."""
    spec = mapping(value.get("spec"))
    groups = _groups(spec.get("resourceGroups"), troubles)
    return model.Cohort(name(value), text(spec.get("parentName")), groups, _weight(spec, ("spec",), troubles))


def local_queue(value: Value, troubles: Troubles) -> model.LocalQueue:
    """A LocalQueue."""
    spec, meta = mapping(value.get("spec")), mapping(value.get("metadata"))
    return model.LocalQueue(
        namespace(value),
        name(value),
        text(spec.get("clusterQueue")),
        text(spec.get("stopPolicy")) or "None",
        _weight(spec, ("spec",), troubles),
        labels(meta.get("labels")),
        deleting=bool(meta.get("deletionTimestamp")),
    )


def resource_flavor(value: Value, troubles: Troubles) -> model.ResourceFlavor:  # noqa: ARG001 - one signature for all readers
    """A ResourceFlavor."""
    spec = mapping(value.get("spec"))
    return model.ResourceFlavor(
        name(value),
        labels(spec.get("nodeLabels")),
        taints(spec.get("nodeTaints")),
        tolerations(spec.get("tolerations")),
        text(spec.get("topologyName")),
    )


def topology(value: Value, troubles: Troubles) -> model.Topology:  # noqa: ARG001
    """A Topology."""
    levels = items(mapping(value.get("spec")).get("levels"))
    return model.Topology(name(value), tuple(text(mapping(v).get("nodeLabel")) for v in levels))


def admission_check(value: Value, troubles: Troubles) -> model.AdmissionCheck:  # noqa: ARG001
    """An AdmissionCheck; active only when its status says so."""
    spec = mapping(value.get("spec"))
    raw = spec.get("parameters")
    parameters = None
    if isinstance(raw, dict):
        parameters = ObjectKey(text(raw.get("apiGroup")), text(raw.get("kind")), "", text(raw.get("name")))
    active = [c for c in _conditions(value).values() if c.type == "Active"]
    return model.AdmissionCheck(
        name(value), text(spec.get("controllerName")), parameters, active[0].status if active else None
    )


def provisioning_config(value: Value, troubles: Troubles) -> model.ProvisioningRequestConfig:  # noqa: ARG001
    """A ProvisioningRequestConfig."""
    spec = mapping(value.get("spec"))
    managed = tuple(text(r) for r in items(spec.get("managedResources")))
    return model.ProvisioningRequestConfig(name(value), text(spec.get("provisioningClassName")), managed)


def priority_class(value: Value, troubles: Troubles) -> model.WorkloadPriorityClass:  # noqa: ARG001
    """A WorkloadPriorityClass."""
    return model.WorkloadPriorityClass(name(value), whole(value.get("value")))


def _conditions(value: Value) -> dict[str, model.Condition]:
    found = {}
    for raw in items(mapping(value.get("status")).get("conditions")):
        c = mapping(raw)
        kind = text(c.get("type"))
        found[kind] = model.Condition(
            kind,
            c.get("status") in ("True", True),
            text(c.get("reason")),
            text(c.get("lastTransitionTime")),
            text(c.get("message")),
        )
    return found


def _compressed(part: Value, size: int, *, counts: bool) -> list[str] | list[int]:
    """One column of a compressed topology assignment: universal, or individual with prefix/suffix."""
    if part.get("universal") is not None:
        one = part["universal"]
        return [whole(one)] * size if counts else [text(one)] * size
    individual = part.get("individual")
    if isinstance(individual, dict):
        before, after = text(individual.get("prefix")), text(individual.get("suffix"))
        return [before + text(r) + after for r in items(individual.get("roots"))]
    return [whole(v) for v in items(individual)] if counts else [text(v) for v in items(individual)]


_MOST_DOMAINS = 100_000  # the API server caps a status object long before; keeps a forged count harmless


def topology_assignment(raw: object) -> model.TopologyAssignment | None:
    """A topology assignment, plain (``domains``) or compressed (``slices``)."""
    if not isinstance(raw, dict):
        return None
    levels = tuple(text(v) for v in items(raw.get("levels")))
    domains: list[tuple[tuple[str, ...], int]] = [
        (tuple(text(v) for v in items(mapping(d).get("values"))), whole(mapping(d).get("count")))
        for d in items(raw.get("domains"))
    ]
    for part in items(raw.get("slices")):
        piece = mapping(part)
        size = min(_MOST_DOMAINS, whole(piece.get("domainCount")))
        columns = [_compressed(mapping(v), size, counts=False) for v in items(piece.get("valuesPerLevel"))]
        pods = _compressed(mapping(piece.get("podCounts")), size, counts=True)
        rows = range(min([size, len(pods), *(len(c) for c in columns)]))
        domains.extend((tuple(str(c[n]) for c in columns), int(pods[n])) for n in rows)
    return model.TopologyAssignment(levels, tuple(domains))


def _admission(raw: object, troubles: Troubles) -> model.Admission | None:
    if not isinstance(raw, dict):
        return None
    found = []
    for n, entry in enumerate(items(raw.get("podSetAssignments"))):
        a = mapping(entry)
        where = ("status", "admission", "podSetAssignments", n, "resourceUsage")
        usage = {
            str(r): _amount(str(r), q, (*where, str(r)), troubles)
            for r, q in mapping(a.get("resourceUsage")).items()
        }
        found.append(
            model.PodSetAssignment(
                text(a.get("name")),
                whole(a.get("count")),
                labels(a.get("flavors")),
                usage,
                topology_assignment(a.get("topologyAssignment")),
                text(a.get("delayedTopologyRequest")),
            )
        )
    return model.Admission(text(raw.get("clusterQueue")), tuple(found))


def _pod_sets(spec: Value, troubles: Troubles) -> tuple[PodSet, ...]:
    found = []
    for n, raw in enumerate(items(spec.get("podSets"))):
        p = mapping(raw)
        path: Path = ("spec", "podSets", n, "template")
        least = p.get("minCount")
        made = pod_set(
            text(p.get("name")),
            1 if p.get("count") is None else whole(p.get("count")),
            p.get("template"),
            path,
            troubles,
            min_count=None if least is None else whole(least),
            copy_limits=False,
        )
        request = _topology_request(p.get("topologyRequest"))
        found.append(made if request is None else made._replace(topology=request))
    return tuple(found)


_MODES = ("required", "preferred")


def _topology_request(raw: object) -> TopologyRequest | None:
    """A Workload's topologyRequest; it wins over the template's annotations."""
    if not isinstance(raw, dict):
        return None
    mode = next((m for m in _MODES if raw.get(m)), "unconstrained" if raw.get("unconstrained") else "")
    constraints = items(
        raw.get("podsetSliceRequiredTopologyConstraints") or raw.get("podSetSliceRequiredTopologyConstraints")
    )
    return TopologyRequest(
        mode=mode,
        level=text(raw.get(mode)) if mode in _MODES else "",
        slice_level=text(raw.get("podSetSliceRequiredTopology")),
        slice_size=whole(raw.get("podSetSliceSize")),
        slices=tuple((text(mapping(c).get("topology")), whole(mapping(c).get("size"))) for c in constraints),
        group=text(raw.get("podSetGroupName")),
        pod_index_label=text(raw.get("podIndexLabel")),
    )


def _priority_reference(spec: Value) -> str:
    return text(mapping(spec.get("priorityClassRef")).get("name")) or text(spec.get("priorityClassName"))


def workload(value: Value, troubles: Troubles) -> model.KueueWorkload:
    """A Workload with its status, as initial state of a decision."""
    spec, meta, status = (mapping(value.get(k)) for k in ("spec", "metadata", "status"))
    requeue = mapping(status.get("requeueState"))
    limit = spec.get("maximumExecutionTimeSeconds")
    conditions = _conditions(value)
    states = (mapping(c) for c in items(status.get("admissionChecks")))
    return model.KueueWorkload(
        namespace=namespace(value),
        name=name(value),
        queue=text(spec.get("queueName")),
        pod_sets=_pod_sets(spec, troubles),
        priority=whole(spec.get("priority")),
        priority_class=_priority_reference(spec),
        created=text(meta.get("creationTimestamp")),
        uid=text(meta.get("uid")),
        active=spec.get("active") is not False,
        conditions=conditions,
        admission=_admission(status.get("admission"), troubles),
        check_states=tuple(
            model.CheckState(
                text(c.get("name")),
                text(c.get("state")),
                text(c.get("lastTransitionTime")),
                tuple(mapping(u) for u in items(c.get("podSetUpdates"))),
                whole(c.get("retryCount")),
            )
            for c in states
        ),
        reclaimable={
            text(mapping(r).get("name")): whole(mapping(r).get("count"))
            for r in items(status.get("reclaimablePods"))
        },
        requeue_at=text(requeue.get("requeueAt")),
        requeue_count=whole(requeue.get("count")),
        unhealthy_nodes=tuple(text(mapping(n).get("name")) for n in items(status.get("unhealthyNodes"))),
        labels=labels(meta.get("labels")),
        annotations=labels(meta.get("annotations")),
        owners=tuple(
            (text(mapping(o).get("kind")), text(mapping(o).get("name")))
            for o in items(meta.get("ownerReferences"))
        ),
        preemption_gates=tuple(text(mapping(g).get("name")) for g in items(spec.get("preemptionGates"))),
        max_execution_seconds=None if limit is None else whole(limit),
        finished="Finished" in conditions and conditions["Finished"].status,
        status=status,
        deleting=bool(meta.get("deletionTimestamp")),
    )


Reader = Callable[[Value, Troubles], object]
READERS: Mapping[str, Reader] = {
    "ClusterQueue": cluster_queue,
    "Cohort": cohort,
    "LocalQueue": local_queue,
    "ResourceFlavor": resource_flavor,
    "Topology": topology,
    "AdmissionCheck": admission_check,
    "ProvisioningRequestConfig": provisioning_config,
    "WorkloadPriorityClass": priority_class,
    "Workload": workload,
}
