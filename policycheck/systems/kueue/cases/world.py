"""The objects of a recorded situation as typed state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from policycheck.model.amount import QuantityError, amount
from policycheck.model.facts import Trouble
from policycheck.model.inventory import Node
from policycheck.systems.core.nodes import node
from policycheck.systems.core.podspec import items, labels, mapping, pod_set, text
from policycheck.systems.kueue import configuration as configuring
from policycheck.systems.kueue import model, read
from policycheck.systems.kueue.case import Case, UnsupportedError
from policycheck.systems.kueue.scheduler.compile import compile_session
from policycheck.systems.kueue.scheduler.limits import LimitRule
from policycheck.systems.kueue.scheduler.moment import moment
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.target import LATEST, Target, TargetError, parse_version


class World(NamedTuple):
    """Everything a case says about the cluster."""

    objects: model.KueueObjects
    namespaces: Mapping[str, Mapping[str, str]]
    limit_rules: tuple[LimitRule, ...]
    target: Target
    now: int
    nodes: tuple[Node, ...]


def configuration(case: Case) -> model.Configuration:
    """The Configuration that a case's short form means."""
    raw = mapping(case.get("configuration"))
    fair = raw.get("fairSharing")
    return configuring.configuration(
        {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "resources": {**mapping(raw.get("resources")), **_strategy(raw)},
            "admissionFairSharing": raw.get("admissionFairSharing") or None,
            "fairSharing": fair if isinstance(fair, dict) else (True if fair else None),
            "waitForPodsReady": {
                "requeuingStrategy": {"timestamp": raw.get("podsReadyRequeuingTimestamp") or "Eviction"}
            },
        },
        [],
    )


def _strategy(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {"quotaCheckStrategy": raw["quotaCheckStrategy"]} if raw.get("quotaCheckStrategy") else {}


def target(case: Case) -> Target:
    """The version that was recorded, or that the case names, with the case's gates."""
    said = text(case.get("version"))
    try:
        version = parse_version(said) if said else LATEST
    except TargetError as error:
        raise UnsupportedError(f"version: {error}") from error
    return Target(version, {str(k): v is True for k, v in mapping(case.get("featureGates")).items()}, False)


def amounts(raw: object) -> list[tuple[tuple[str, str], int]]:
    """A list of ``{flavor, resource, amount}``."""
    found = (mapping(a) for a in items(raw))
    return [((text(a.get("flavor")), text(a.get("resource"))), int(a.get("amount", 0))) for a in found]


def read_world(case: Case) -> World:
    """The typed state of a case's objects. Raises UnsupportedError for a value that cannot be read."""
    troubles: list[Trouble] = []
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for value in items(case.get("objects")):
        kinds.setdefault(text(mapping(value).get("kind")), []).append(mapping(value))

    def named(kind: str, reader: Any) -> dict[str, Any]:
        return {t.name: t for t in (reader(v, troubles) for v in kinds.get(kind, ()))}

    queues = {q.name: q for q in (_undefaulted(v, troubles) for v in kinds.get("ClusterQueue", ()))}
    workloads = [read.workload(v, troubles) for v in kinds.get("Workload", ())]
    local = [read.local_queue(v, troubles) for v in kinds.get("LocalQueue", ())]
    objects = model.KueueObjects(
        cluster_queues=queues,
        cohorts=named("Cohort", read.cohort),
        local_queues={(q.namespace, q.name): q for q in local},
        flavors=named("ResourceFlavor", read.resource_flavor),
        topologies=named("Topology", read.topology),
        checks=named("AdmissionCheck", read.admission_check),
        workloads={(w.namespace, w.name): w for w in workloads},
        configuration=configuration(case),
    )
    nodes = _nodes(kinds, troubles)
    unread = next((t for t in troubles if t.code in ("wrong-type", "bad-quantity")), None)
    if unread is not None:
        raise UnsupportedError(f"objects: {'.'.join(map(str, unread.path))}: {unread.message}")
    namespaces = {
        read.name(v): labels(mapping(v.get("metadata")).get("labels")) for v in kinds.get("Namespace", ())
    }
    return World(
        objects,
        namespaces,
        tuple(_limit_rules(kinds.get("LimitRange", ()))),
        target(case),
        moment(text(case.get("now"))),
        nodes,
    )


def _nodes(kinds: Mapping[str, list[Mapping[str, Any]]], troubles: list[Trouble]) -> tuple[Node, ...]:
    """Nodes less what pods hold that no queue accounts for. A node without the condition is not ready."""
    found = []
    for value in kinds.get("Node", ()):
        conditions = [mapping(c) for c in items(mapping(value.get("status")).get("conditions"))]
        ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
        found.append(node(value, troubles)._replace(ready=ready))
    held: dict[str, dict[str, int]] = {}
    for value in kinds.get("Pod", ()):
        spec, status = mapping(value.get("spec")), mapping(value.get("status"))
        if spec.get("nodeName") and status.get("phase") not in ("Succeeded", "Failed"):
            mine = held.setdefault(text(spec["nodeName"]), {})
            requests = pod_set("", 1, value, (), troubles, copy_limits=False).requests
            for resource, number in {**requests, "pods": 1}.items():
                mine[resource] = mine.get(resource, 0) + number
    return tuple(n._replace(committed=held.get(n.name, {})) for n in found)


def _undefaulted(value: Mapping[str, Any], troubles: list[Trouble]) -> model.ClusterQueue:
    """A ClusterQueue as it was recorded: no API server filled in what ``preemption`` leaves out.

    The real scheduler holds an absent reclaimWithinCohort for a policy that is not Never and allows
    nothing, which under fair sharing lets a queue preempt its own while it borrows.
    """
    queue = read.cluster_queue(value, troubles)
    raw = mapping(value.get("spec")).get("preemption")
    if isinstance(raw, dict) and "reclaimWithinCohort" not in raw:
        return queue._replace(preemption=queue.preemption._replace(reclaim_within_cohort=""))
    return queue


def _limit_rules(values: Iterable[Mapping[str, Any]]) -> Iterable[LimitRule]:
    for value in values:
        for raw in items(mapping(value.get("spec")).get("limits")):
            entry = mapping(raw)
            yield LimitRule(
                read.namespace(value),
                text(entry.get("type")),
                resources(entry.get("max")),
                resources(entry.get("min")),
            )


def resources(raw: object) -> dict[str, int]:
    """A resource list in base units; what cannot be read is left out."""
    found = {}
    for name, value in mapping(raw).items():
        try:
            found[str(name)] = amount(str(name), value)
        except QuantityError:
            continue
    return found


def open_session(world: World) -> Session:
    """The compiled session of a world."""
    return compile_session(
        world.objects,
        world.namespaces,
        world.target,
        limit_rules=world.limit_rules,
        nodes=world.nodes,
        now=world.now,
    )
