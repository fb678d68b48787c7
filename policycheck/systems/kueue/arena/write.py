"""Objects of a situation as Kubernetes writes them: workloads of an attack, nodes, what stands around.

What is played is read back from what is written here, so a case replays to the same end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policycheck.certify.arena import Ask
from policycheck.model.amount import write
from policycheck.model.inventory import Node
from policycheck.model.placement import NodeTerm, Requirement, Taint, Toleration
from policycheck.model.workload import PodSet, TopologyRequest

Value = dict[str, Any]
_DAY = "2026-01-01T"
_LATEST = 86_399


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """A resource list."""
    return {resource: write(resource, amount) for resource, amount in sorted(amounts.items())}


def time_of(age: int) -> str:
    """When a workload of this age was created: a second later for each step."""
    at = max(0, min(age, _LATEST))
    return f"{_DAY}{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}Z"


def workload(ask: Ask, namespace: str, queue: str) -> Value:
    """The Workload that an Ask means."""
    spec: Value = {
        "queueName": queue,
        "priority": ask.priority,
        "podSets": [_pod_set(one) for one in ask.shape.pod_sets],
    }
    if ask.priority_class:
        spec["priorityClassRef"] = {
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": ask.priority_class,
        }
    if ask.shape.limit:
        spec["maximumExecutionTimeSeconds"] = max(1, ask.shape.limit // 1000)
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": ask.name,
            "namespace": namespace,
            "creationTimestamp": time_of(ask.age),
            "uid": ask.name,
        },
        "spec": spec,
    }


def _pod_set(spec: PodSet) -> Value:
    pod: Value = {"containers": [{"name": "main", "resources": {"requests": quantities(spec.requests)}}]}
    if spec.node_selector:
        pod["nodeSelector"] = dict(spec.node_selector)
    if spec.tolerations:
        pod["tolerations"] = [_toleration(t) for t in spec.tolerations]
    if spec.has_affinity or spec.affinity:
        terms = {"nodeSelectorTerms": [_term(t) for t in spec.affinity]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    made: Value = {"name": spec.name or "main", "count": spec.pods, "template": {"spec": pod}}
    if spec.min_count is not None:
        made["minCount"] = spec.min_count
    if spec.topology is not None:
        made["topologyRequest"] = _topology(spec.topology)
    return made


def _topology(asked: TopologyRequest) -> Value:
    found: Value = {}
    if asked.mode in ("required", "preferred"):
        found[asked.mode] = asked.level
    elif asked.mode == "unconstrained":
        found["unconstrained"] = True
    if asked.slice_level:
        found["podSetSliceRequiredTopology"] = asked.slice_level
        found["podSetSliceSize"] = asked.slice_size
    if asked.slices:
        found["podsetSliceRequiredTopologyConstraints"] = [
            {"topology": level, "size": size} for level, size in asked.slices
        ]
    if asked.group:
        found["podSetGroupName"] = asked.group
    if asked.pod_index_label:
        found["podIndexLabel"] = asked.pod_index_label
    return found


def _toleration(one: Toleration) -> Value:
    fields = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    return {key: value for key, value in fields.items() if value}


def _requirement(one: Requirement) -> Value:
    made: Value = {"key": one.key, "operator": one.operator}
    return made | ({"values": list(one.values)} if one.values else {})


def _term(one: NodeTerm) -> Value:
    made: Value = {}
    if one.expressions:
        made["matchExpressions"] = [_requirement(r) for r in one.expressions]
    if one.fields:
        made["matchFields"] = [_requirement(r) for r in one.fields]
    return made


def _taint(one: Taint) -> Value:
    return {k: v for k, v in (("key", one.key), ("value", one.value), ("effect", one.effect)) if v}


def node(one: Node) -> Value:
    """A node with what queues can have of it: what others hold is taken off already."""
    free = {r: max(0, amount - one.committed.get(r, 0)) for r, amount in (one.allocatable or {}).items()}
    spec: Value = {"taints": [_taint(t) for t in one.taints]} if one.taints else {}
    if one.unschedulable:
        spec["unschedulable"] = True
    ready = {"type": "Ready", "status": "True" if one.ready else "False"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": one.name, "labels": dict(one.labels)},
        "spec": spec,
        "status": {"allocatable": quantities(free), "conditions": [ready]},
    }


def namespaces(labels: Mapping[str, Mapping[str, str]], names: Iterable[str]) -> list[Value]:
    """Namespaces with their labels."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": dict(labels.get(name, {}))},
        }
        for name in sorted(set(names))
    ]
