"""Changes of a certified cluster that somebody might make, each with the claim that is expected to notice.

``by`` is the claim that the quick tests ask alone; "" stands for a survivor, explained in survivors.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from certified import API, GPU, HOST, Value, World

Change = Callable[[World], object]

FIT, HONOURED, BURST = "guarantees-fit", "guarantee-honoured", "burst-usable"
PROTECTED, CONTAINED = "production-protected", "experiments-contained"
GANG, TOPOLOGY, STARVATION = "gang-whole", "topology-honoured", "no-starvation"
STATE = "state-known"


class Mutant(NamedTuple):
    """A change, and which claim is expected to notice."""

    name: str
    by: str
    change: Change


def _spec(kind: str, name: str) -> Callable[[World], Value]:
    return lambda world: world[kind, name]["spec"]


def _quota(world: World, queue: str, place: int = 0) -> Value:
    return world["ClusterQueue", queue]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][place]


def _set(path: str, value: Any) -> Change:
    """``Kind/name:a.b.c`` gets a value; None takes the key away."""
    owner, _, rest = path.partition(":")
    kind, _, name = owner.partition("/")
    *steps, last = rest.split(".")

    def change(world: World) -> None:
        held = world[kind, name]
        for step in steps:
            held = held.setdefault(step, {})
        if value is None:
            del held[last]
        else:
            held[last] = value

    return change


def _of_queue(queue: str, value: int | None, key: str = "nominalQuota", place: int = 0) -> Change:
    def change(world: World) -> None:
        quota = _quota(world, queue, place)
        if value is None:
            del quota[key]
        else:
            quota[key] = value

    return change


def _gone(kind: str, name: str) -> Change:
    return lambda world: world.pop((kind, name))


def _added(kind: str, name: str, api: str = API, **more: Any) -> Change:
    namespace = more.pop("namespace", "")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}

    def change(world: World) -> None:
        world[kind, name] = {"apiVersion": api, "kind": kind, "metadata": metadata, **more}

    return change


def _all(*changes: Change) -> Change:
    def change(world: World) -> None:
        for one in changes:
            one(world)

    return change


def _label(node: str, key: str, value: str | None) -> Change:
    def change(world: World) -> None:
        labels = world["Node", node]["metadata"]["labels"]
        labels.pop(key)
        if value is not None:
            labels[key] = value

    return change


def _has(node: str, resource: str, amount: str) -> Change:
    def change(world: World) -> None:
        world["Node", node]["status"]["allocatable"][resource] = amount

    return change


def _every(kind: str, start: str, change: Callable[[Value], object]) -> Change:
    def made(world: World) -> None:
        for (found, name), document in world.items():
            if found == kind and name.startswith(start):
                change(document)

    return made


def _flavors(queue: str, *names: str, quota: dict[str, int] | None = None) -> Change:
    """Flavors of the first group in this order; those that are new have ``quota``."""

    def change(world: World) -> None:
        group = world["ClusterQueue", queue]["spec"]["resourceGroups"][0]
        known = {flavor["name"]: flavor for flavor in group["flavors"]}
        fresh = [{"name": r, "nominalQuota": (quota or {}).get(r, 0)} for r in group["coveredResources"]]
        group["flavors"] = [known.get(name, {"name": name, "resources": fresh}) for name in names]

    return change


def _renamed_flavor(queue: str, name: str) -> Change:
    def change(world: World) -> None:
        world["ClusterQueue", queue]["spec"]["resourceGroups"][0]["flavors"][0]["name"] = name

    return change


def _uncovered(queue: str, resource: str) -> Change:
    def change(world: World) -> None:
        group = world["ClusterQueue", queue]["spec"]["resourceGroups"][0]
        group["coveredResources"].remove(resource)
        for flavor in group["flavors"]:
            flavor["resources"] = [r for r in flavor["resources"] if r["name"] != resource]

    return change


def _daemon(resource: str, amount: str) -> Change:
    container = {"name": "agent", "image": "agent", "resources": {"requests": {resource: amount}}}
    pod = {"tolerations": [{"operator": "Exists"}], "containers": [container]}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    return _added("DaemonSet", "agent", "apps/v1", namespace="kube-system", spec=spec)


def _policy(queue: str, key: str, value: Any) -> Change:
    return _set(f"ClusterQueue/{queue}:spec.preemption.{key}", value)


_BORROWING = {"policy": "LowerPriority", "maxPriorityThreshold": 1000}
_CONFIGURATION = "Configuration/:"
_WAIT = f"{_CONFIGURATION}waitForPodsReady"

MUTANTS: tuple[Mutant, ...] = (
    # -- quota
    Mutant("quota halved: vision", HONOURED, _of_queue("vision", 8)),
    Mutant("quota halved: search", HONOURED, _of_queue("search", 8)),
    Mutant("quota halved: serving", HONOURED, _of_queue("serving", 4)),
    Mutant("quota moved: vision to ads", HONOURED, _all(_of_queue("vision", 8), _of_queue("ads", 24))),
    Mutant("quota one less: ads", HONOURED, _of_queue("ads", 15)),
    Mutant("quota doubled beyond hardware: vision", HONOURED, _of_queue("vision", 32)),
    Mutant("companion without quota: vision", HONOURED, _of_queue("vision", 0, place=1)),
    Mutant("companion without quota: serving", HONOURED, _of_queue("serving", 0, place=1)),
    Mutant("companion short: serving", HONOURED, _of_queue("serving", 16, place=1)),
    Mutant("companion ample still: vision", "", _of_queue("vision", 32, place=1)),
    Mutant("resource not covered: vision cpu", HONOURED, _uncovered("vision", "cpu")),
    # -- limits
    Mutant("lendingLimit removed: speech", "", _of_queue("speech", None, "lendingLimit")),
    Mutant("lendingLimit 0 added: vision", BURST, _of_queue("vision", 0, "lendingLimit")),
    Mutant("lendingLimit 8 added: ads", BURST, _of_queue("ads", 8, "lendingLimit")),
    Mutant("borrowingLimit 0: search", BURST, _of_queue("search", 0, "borrowingLimit")),
    Mutant("borrowingLimit 8: vision", BURST, _of_queue("vision", 8, "borrowingLimit")),
    Mutant("borrowingLimit 0: cpu of speech", BURST, _of_queue("speech", 0, "borrowingLimit", 1)),
    # -- cohorts
    Mutant("cohort dropped: search", BURST, _set("ClusterQueue/search:spec.cohortName", None)),
    Mutant("cohort misspelt: vision", BURST, _set("ClusterQueue/vision:spec.cohortName", "reserach")),
    Mutant("parent dropped: research", BURST, _set("Cohort/research:spec.parentName", None)),
    Mutant("parent dropped: production", BURST, _set("Cohort/production:spec.parentName", None)),
    Mutant("cohorts in a circle", FIT, _set("Cohort/all:spec.parentName", "research")),
    Mutant("serving joins the others", "", _set("ClusterQueue/serving:spec.cohortName", "production")),
    Mutant(
        "cohort has quota beyond hardware",
        FIT,
        _set(
            "Cohort/all:spec.resourceGroups",
            [
                {
                    "coveredResources": [GPU, "cpu"],
                    "flavors": [
                        {
                            "name": "h100",
                            "resources": [
                                {"name": GPU, "nominalQuota": 32},
                                {"name": "cpu", "nominalQuota": 256},
                            ],
                        }
                    ],
                }
            ],
        ),
    ),
    # -- policies
    Mutant("reclaim LowerPriority: ads", HONOURED, _policy("ads", "reclaimWithinCohort", "LowerPriority")),
    Mutant("reclaim Never: ads", HONOURED, _policy("ads", "reclaimWithinCohort", "Never")),
    Mutant(
        "reclaim LowerPriority: vision", HONOURED, _policy("vision", "reclaimWithinCohort", "LowerPriority")
    ),
    Mutant("reclaim Never: search", HONOURED, _policy("search", "reclaimWithinCohort", "Never")),
    Mutant("reclaim Never: speech", "", _policy("speech", "reclaimWithinCohort", "Never")),
    Mutant("preemption dropped: vision", HONOURED, _set("ClusterQueue/vision:spec.preemption", None)),
    Mutant(
        "newer equals within the queue: search",
        PROTECTED,
        _policy("search", "withinClusterQueue", "LowerOrNewerEqualPriority"),
    ),
    Mutant("within the queue Never: search", "", _policy("search", "withinClusterQueue", "Never")),
    Mutant("borrowWithinCohort: vision", "", _policy("vision", "borrowWithinCohort", _BORROWING)),
    Mutant("borrowWithinCohort: search", "", _policy("search", "borrowWithinCohort", _BORROWING)),
    Mutant("StrictFIFO: vision", STARVATION, _set("ClusterQueue/vision:spec.queueingStrategy", "StrictFIFO")),
    Mutant(
        "StrictFIFO: serving", STARVATION, _set("ClusterQueue/serving:spec.queueingStrategy", "StrictFIFO")
    ),
    Mutant("held: ads", HONOURED, _set("ClusterQueue/ads:spec.stopPolicy", "Hold")),
    Mutant("held and drained: vision", HONOURED, _set("ClusterQueue/vision:spec.stopPolicy", "HoldAndDrain")),
    Mutant("fair sharing, weight 0: ads", "", _set("ClusterQueue/ads:spec.fairSharing", {"weight": "0"})),
    Mutant(
        "fair sharing enabled",
        "",
        _set(f"{_CONFIGURATION}fairSharing", {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]}),
    ),
    Mutant(
        "fungibility turned: vision",
        "",
        _set(
            "ClusterQueue/vision:spec.flavorFungibility",
            {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
        ),
    ),
    # -- what stands before admission
    Mutant(
        "admission check without a bound: ads",
        HONOURED,
        _all(
            _added("AdmissionCheck", "approval", spec={"controllerName": "example.com/approval"}),
            _set(
                "ClusterQueue/ads:spec.admissionChecksStrategy", {"admissionChecks": [{"name": "approval"}]}
            ),
        ),
    ),
    Mutant(
        "namespaces left out: search",
        HONOURED,
        _set("ClusterQueue/search:spec.namespaceSelector", {"matchLabels": {"gpu": "yes"}}),
    ),
    Mutant("queue removed: speech", HONOURED, _gone("ClusterQueue", "speech")),
    Mutant("LocalQueue removed: ads", "", _gone("LocalQueue", "ads")),
    Mutant("LocalQueue held: ads", HONOURED, _set("LocalQueue/ads:spec.stopPolicy", "Hold")),
    Mutant("LocalQueue leads elsewhere: ads", "", _set("LocalQueue/ads:spec.clusterQueue", "search")),
    # -- flavors and topology
    Mutant("topologyName dropped", HONOURED, _set("ResourceFlavor/h100:spec.topologyName", None)),
    Mutant("topology removed", HONOURED, _gone("Topology", "net")),
    Mutant("level removed", HONOURED, _set("Topology/net:spec.levels", [{"nodeLabel": HOST}])),
    Mutant("hostname level removed", HONOURED, _set("Topology/net:spec.levels", [{"nodeLabel": "rack"}])),
    Mutant("toleration of the flavor dropped", HONOURED, _set("ResourceFlavor/h100:spec.tolerations", [])),
    Mutant(
        "nodeLabels of the flavor changed",
        HONOURED,
        _set("ResourceFlavor/h100:spec.nodeLabels", {"gpu": "h200"}),
    ),
    Mutant(
        "nodeLabels of the flavor narrowed",
        FIT,
        _set("ResourceFlavor/h100:spec.nodeLabels", {"gpu": "h100", "rack": "r1"}),
    ),
    Mutant(
        "taint of the flavor added",
        HONOURED,
        _set(
            "ResourceFlavor/h100:spec.nodeTaints",
            [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}],
        ),
    ),
    Mutant("flavor removed", HONOURED, _gone("ResourceFlavor", "h100")),
    Mutant("other flavor: speech", HONOURED, _renamed_flavor("speech", "l4")),
    Mutant("flavor before the own one: vision", "", _flavors("vision", "l4", "h100")),
    Mutant(
        "two flavors, the wrong one first: serving",
        "",
        _flavors("serving", "h100", "l4", quota={GPU: 0, "cpu": 0}),
    ),
    # -- nodes
    Mutant("node removed", FIT, _gone("Node", "h3")),
    Mutant("node of serving removed", FIT, _gone("Node", "l0")),
    Mutant("node halved", FIT, _has("h3", GPU, "4")),
    Mutant("node with few cpus", HONOURED, _has("h3", "cpu", "8")),
    Mutant(
        "every node with few cpus",
        HONOURED,
        _every("Node", "h", lambda n: n["status"]["allocatable"].update(cpu="12")),
    ),
    Mutant("node cordoned", FIT, _set("Node/h3:spec.unschedulable", True)),
    Mutant("node not ready", FIT, _set("Node/h3:status.conditions", [{"type": "Ready", "status": "False"}])),
    Mutant(
        "node tainted",
        FIT,
        _set(
            "Node/h3:spec.taints",
            [{"key": "gpu", "effect": "NoSchedule"}, {"key": "repair", "effect": "NoSchedule"}],
        ),
    ),
    Mutant("node without its rack", HONOURED, _label("h3", "rack", None)),
    Mutant("node of another flavor", FIT, _label("h3", "gpu", "l4")),
    Mutant(
        "every node a rack of its own",
        HONOURED,
        _every("Node", "h", lambda n: n["metadata"]["labels"].update(rack=n["metadata"]["name"])),
    ),
    Mutant("node moved to the other rack", "", _label("h3", "rack", "r1")),
    Mutant("DaemonSet on all cpus", HONOURED, _daemon("cpu", "60")),
    Mutant("DaemonSet on a GPU of each", HONOURED, _daemon(GPU, "1")),
    # -- priorities
    Mutant(
        "classes swapped",
        CONTAINED,
        _all(
            _set("WorkloadPriorityClass/production:value", 100),
            _set("WorkloadPriorityClass/experiment:value", 1000),
        ),
    ),
    Mutant("classes equal", "", _set("WorkloadPriorityClass/experiment:value", 1000)),
    Mutant("class removed: production", PROTECTED, _gone("WorkloadPriorityClass", "production")),
    Mutant("class removed: experiment", CONTAINED, _gone("WorkloadPriorityClass", "experiment")),
    Mutant(
        "pod class may displace: pods",
        "",
        _set("PriorityClass/pods:preemptionPolicy", "PreemptLowerPriority"),
    ),
    Mutant(
        "pod ladder turned",
        PROTECTED,
        _all(
            _set("PriorityClass/pods:value", 2000),
            _set("PriorityClass/pods:preemptionPolicy", "PreemptLowerPriority"),
        ),
    ),
    Mutant("pod class removed: pods", STATE, _gone("PriorityClass", "pods")),
    # -- the whole
    Mutant("waitForPodsReady dropped", GANG, _set(_WAIT, None)),
    Mutant("waitForPodsReady slow", GANG, _set(f"{_WAIT}.timeout", "30m")),
    Mutant("blockAdmission, with retries bounded", "", _set(f"{_WAIT}.blockAdmission", True)),
    Mutant(
        "blockAdmission, with retries without end",
        HONOURED,
        _all(_set(f"{_WAIT}.blockAdmission", True), _set(f"{_WAIT}.requeuingStrategy", {})),
    ),
    Mutant("retries without end", "", _set(f"{_WAIT}.requeuingStrategy", {})),
    Mutant(
        "GPUs left out of quota",
        HONOURED,
        _set(f"{_CONFIGURATION}resources", {"excludeResourcePrefixes": ["nvidia.com/"]}),
    ),
    Mutant(
        "topology gate off",
        HONOURED,
        _set(f"{_CONFIGURATION}featureGates", {"TopologyAwareScheduling": False}),
    ),
)


def named(name: str) -> Mutant:
    """The mutant of that name."""
    return next(mutant for mutant in MUTANTS if mutant.name == name)
