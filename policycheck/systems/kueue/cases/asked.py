"""What each suite of recorded situations has to bring along (CLI.md, ``simulate --case``)."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.systems.kueue.cases.shape import Shape

TEXT, TIME, FLAG, WHOLE = Shape("text"), Shape("time", null=True), Shape("flag"), Shape("whole")
NUMBER, MAP, SWITCH = Shape("number", null=True), Shape("map"), Shape("switch")
QUEUE = Shape("queue", required=True)
NATURAL = Shape("whole", least=0)


def _list(item: Shape, *, required: bool = False) -> Shape:
    return Shape("list", item=item, required=required)


def _map(item: Shape) -> Shape:
    return Shape("map", item=item)


def _object(fields: Mapping[str, Shape], *, required: bool = False) -> Shape:
    return Shape("map", fields, required=required)


AMOUNTS_BY_NAME = _map(Shape("quantity"))
METADATA = Shape(
    "map",
    {
        "name": TEXT,
        "namespace": TEXT,
        "uid": TEXT,
        "creationTimestamp": TIME,
        "deletionTimestamp": TIME,
        "labels": _map(TEXT),
        "annotations": _map(TEXT),
    },
)
OBJECT = Shape(
    "map",
    {
        "apiVersion": TEXT,
        "kind": Shape("text", required=True),
        "metadata": METADATA._replace(required=True),
        "spec": MAP,
        "status": MAP,
    },
    kube=True,
)
WORKLOAD = OBJECT._replace(fields={**OBJECT.fields, "kind": Shape("text", allowed=("Workload",))})
ASKED_WORKLOAD = WORKLOAD._replace(required=True)
AMOUNTS = _list(
    _object(
        {
            "flavor": Shape("text", required=True),
            "resource": Shape("text", required=True),
            "amount": Shape("whole", required=True),
        }
    )
)
_SHORT = Shape(
    "map",
    {
        "cycles": NATURAL,
        "maxCycles": NATURAL,
        "fairSharing": SWITCH._replace(fields={"preemptionStrategies": _list(TEXT)}),
        "admissionFairSharing": SWITCH,
        "resources": MAP,
        "quotaCheckStrategy": Shape("text", allowed=("", "BlockUndeclared", "IgnoreUndeclared")),
        "podsReadyRequeuingTimestamp": Shape("text", allowed=("", "Eviction", "Creation")),
    },
)
_EVENT = _object(
    {
        "cycle": Shape("whole", least=1),
        "create": _list(WORKLOAD),
        "finish": _list(TEXT),
        "delete": _list(TEXT),
        "stop": _list(TEXT),
        "resume": _list(TEXT),
    }
)
_PLACED = _object(
    {"levels": _list(TEXT), "domains": _list(_object({"values": _list(TEXT), "count": NATURAL}))}
)
_USED = _list(_object({"values": _list(TEXT), "singlePodRequests": AMOUNTS_BY_NAME, "count": NATURAL}))
_ANSWER = {
    "possibility": Shape("text", required=True, allowed=("NoCandidates", "Preempt", "Reclaim")),
    "borrowingAfterSimulation": WHOLE._replace(null=True),
}
_CYCLES: Mapping[str, Shape] = {
    "initialConsumedUsageByLocalQueue": _map(AMOUNTS_BY_NAME),
    "deleteWorkloads": _list(TEXT),
}
_TARGETS: Mapping[str, Shape] = {
    "targetClusterQueue": QUEUE,
    "incoming": ASKED_WORKLOAD,
    "assignment": _object(
        {
            "podSets": Shape(
                "list",
                item=_object(
                    {
                        "name": TEXT,
                        "count": NATURAL,
                        "flavors": _map(_object({"name": Shape("text", required=True), "mode": TEXT})),
                    }
                ),
                required=True,
            )
        },
        required=True,
    ),
}
_FLAVORS: Mapping[str, Shape] = {
    "targetClusterQueue": QUEUE,
    "workload": ASKED_WORKLOAD,
    "clusterQueueUsage": AMOUNTS,
    "secondaryClusterQueueUsage": AMOUNTS,
    "preemptionOracle": _object(
        {
            "default": _object(_ANSWER, required=True),
            "byFlavorResource": _list(
                _object(
                    {
                        **_ANSWER,
                        "flavor": Shape("text", required=True),
                        "resource": Shape("text", required=True),
                    }
                )
            ),
        },
        required=True,
    ),
}
_PLACES: Mapping[str, Shape] = {
    "requests": _list(
        _object(
            {
                "podSet": _object({"name": TEXT, "template": MAP, "topologyRequest": MAP}, required=True),
                "count": Shape("whole", required=True, least=0),
                "singlePodRequests": AMOUNTS_BY_NAME,
                "podSetGroupName": TEXT,
                "implied": FLAG,
                "previousAssignment": _PLACED,
            }
        ),
        required=True,
    ),
    "priorUsageThisFlavor": _USED,
    "priorUsageOtherFlavors": _USED,
    "workload": WORKLOAD._replace(null=True),
}

# By the first words of a suite's name; the longest that fits holds. A second value says whether the
# objects have to hold a ClusterQueue.
SUITES: Mapping[str, tuple[Mapping[str, Shape], bool]] = {
    "validation": (
        {"kind": Shape("text", required=True), "object": MAP._replace(required=True), "oldObject": MAP},
        False,
    ),
    "quota-available": ({"usage": Shape("map", item=AMOUNTS, keys="queue", required=True)}, True),
    "dominant-resource-share": (
        {"usageClusterQueue": QUEUE, "usage": AMOUNTS, "additionalRequest": AMOUNTS},
        True,
    ),
    "clusterqueue-usage": ({}, True),
    "podset-reducer": (
        {
            "podSets": _list(
                _object({"count": NATURAL._replace(required=True), "minCount": NATURAL._replace(null=True)}),
                required=True,
            ),
            "fitsWhenTotalAtMost": WHOLE._replace(required=True),
        },
        False,
    ),
    "entry-ordering": (
        {
            "entries": _list(
                _object({"workload": ASKED_WORKLOAD, "borrowing": WHOLE, "isPreemptor": FLAG}), required=True
            )
        },
        False,
    ),
    "resources-to-reserve": (
        {
            "clusterQueue": Shape("queue"),
            "clusterQueueUsage": AMOUNTS,
            "assignmentUsage": AMOUNTS._replace(required=True),
            "assignmentMode": Shape("text", required=True, allowed=("NoFit", "Preempt", "Fit")),
            "borrowing": WHOLE,
        },
        True,
    ),
    "preemption-candidates-ordering": (
        {
            "candidates": _list(
                _object({"workload": ASKED_WORKLOAD, "clusterQueue": TEXT, "localQueueFSUsage": NUMBER}),
                required=True,
            ),
            "preemptorClusterQueue": Shape("text", required=True),
        },
        False,
    ),
    "preemption": (_TARGETS, True),
    "flavorassigner": (_FLAVORS, True),
    "tas": (_PLACES, False),
    "schedule": (_CYCLES, True),
    "random": (_CYCLES, True),
    "big": (_CYCLES, True),
}


def family(suite: str) -> str:
    """The suite that this one is a kind of, "" when it is of none that is known."""
    kin = (name for name in SUITES if suite == name or suite.startswith(f"{name}-"))
    return max(kin, key=len, default="")


def shape_of(kin: str) -> Shape:
    """The shape of a case of one family; "" is one that only runs cycles."""
    given, _queues = SUITES.get(kin, (_CYCLES, True))
    return Shape(
        "map",
        {
            "suite": Shape("text", required=True),
            "name": Shape("text", required=True),
            "now": TIME,
            "version": TEXT,
            "featureGates": _map(FLAG),
            "configuration": _SHORT,
            "objects": _list(OBJECT),
            "input": _object(given, required=any(field.required for field in given.values())),
            "events": _list(_EVENT),
        },
    )
