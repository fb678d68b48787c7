"""Queues and nodes of a mix that brings its own, from a compact description to manifests.

A thousand queues are a dozen lines in the mix; what comes out is text such as a user would give, so that
it goes the same way as any manifest does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from policycheck.systems.kueue.model import GROUP

if TYPE_CHECKING:
    from policycheck.source.document import Path
    from policycheck.systems.kueue import presetmodel as shapes

API = f"{GROUP}/v1beta2"
HOSTNAME = "kubernetes.io/hostname"
QUEUES, NODES = "queues.json", "nodes.json"


def sources(description: Mapping[str, Any], place: Callable[[Path], str]) -> Mapping[str, bytes]:
    """Files by name: QUEUES, and NODES where the description has machines. The same bytes each time.

    ``place`` says where a path of the description is written. Raises ValueError with a problem a line.
    """
    from pydantic import ValidationError

    from policycheck.simulate.mixwords import problems
    from policycheck.systems.kueue.presetmodel import ClusterModel

    try:
        model = ClusterModel.model_validate(description)
    except ValidationError as error:
        raise ValueError("\n".join(problems(error, ClusterModel, place))) from None
    made = {QUEUES: _list(_queues(model))}
    if model.machines is not None:
        made[NODES] = _list(_nodes(model, model.machines))
    return made


def _list(items: Iterator[dict[str, Any]]) -> bytes:
    value = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    return json.dumps(value, separators=(",", ":")).encode()


def _queues(model: shapes.ClusterModel) -> Iterator[dict[str, Any]]:
    flavor: dict[str, Any] = {}
    if model.flavor.node_labels:
        flavor["nodeLabels"] = model.flavor.node_labels
    if model.topology is not None:
        levels = [{"nodeLabel": level.label} for level in model.topology.levels]
        yield _object("Topology", model.topology.name, {"levels": levels})
        flavor["topologyName"] = model.topology.name
    yield _object("ResourceFlavor", model.flavor.name, flavor)
    for cohort, queue in product(range(model.cohorts.count), range(model.queues.count)):
        yield from _queue(model, f"{model.cohorts.name}-{cohort}", queue)


def _queue(model: shapes.ClusterModel, cohort: str, number: int) -> Iterator[dict[str, Any]]:
    """A namespace with one LocalQueue and its ClusterQueue, all of one name, as Kueue's harness makes them."""
    name = f"{model.queues.name}-0-{number}-{cohort}"
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield _object("LocalQueue", name, {"clusterQueue": name}, name)
    resources = []
    for resource, quota in model.queues.quota.items():
        given: dict[str, Any] = {"name": resource, "nominalQuota": quota.nominal}
        if quota.borrowing_limit is not None:
            given["borrowingLimit"] = quota.borrowing_limit
        resources.append(given)
    spec: dict[str, Any] = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "queueingStrategy": model.queues.strategy,
        "resourceGroups": [
            {
                "coveredResources": list(model.queues.quota),
                "flavors": [{"name": model.flavor.name, "resources": resources}],
            }
        ],
    }
    if model.queues.preemption:
        spec["preemption"] = model.queues.preemption
    yield _object("ClusterQueue", name, spec)


def _object(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def _nodes(model: shapes.ClusterModel, machines: shapes.MachinesModel) -> Iterator[dict[str, Any]]:
    """One Node for every place in the topology; its name is the numbers of its domains."""
    levels = model.topology.levels if model.topology is not None else []
    for place in product(*(range(level.count) for level in levels)):
        name = "-".join(["node", *(f"{level.name[0]}{n}" for level, n in zip(levels, place, strict=True))])
        labels = {**model.flavor.node_labels, **machines.labels, HOSTNAME: name}
        for level, n in zip(levels, place, strict=True):
            labels.setdefault(level.label, f"{level.name}-{n}")
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {
                "allocatable": machines.allocatable,
                "capacity": machines.allocatable,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
