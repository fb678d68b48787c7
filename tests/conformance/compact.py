"""Restated situations: a few lines each, and what they mean as a case of `simulate --case`.

One YAML document a situation. Texts are words:
  queues    q1: in c1 weight=2 strict within=Any reclaim=LowerPriority | f1 cpu=10+5-2; f2 cpu=3 | f3 gpu=4
            (a group after each bar, flavors by semicolon, nominal + borrowing limit - lending limit)
  cohorts   c1: under c2 weight=2 | f1 cpu=4
  flavors   f1: label pool a taint spot true NoSchedule tolerates spot Exists
  work      w1: l1 p=10 t=-60 held=-5 ; main 2x cpu=1 min=1 select pool a -> cpu:f1
            (times in seconds from now; what stands after -> is held)
Topology has its own words (places.py). A LocalQueue has the name of its ClusterQueue unless `locals` says otherwise.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from . import places

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
API = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "ns"
_QUOTA = re.compile(r"(?P<nominal>[^+-]+)(\+(?P<borrow>[^+-]+))?(-(?P<lend>[^+-]+))?\Z")
_POLICIES = {
    "within": ("preemption", "withinClusterQueue"),
    "reclaim": ("preemption", "reclaimWithinCohort"),
    "borrow": ("preemption", "borrowWithinCohort", "policy"),
    "threshold": ("preemption", "borrowWithinCohort", "maxPriorityThreshold"),
    "canBorrow": ("flavorFungibility", "whenCanBorrow"),
    "canPreempt": ("flavorFungibility", "whenCanPreempt"),
    "prefer": ("flavorFungibility", "preference"),
    "weight": ("fairSharing", "weight"),
    "mode": ("admissionScope", "admissionMode"),
    "in": ("cohortName",),
    "under": ("parentName",),
}


def when(seconds: str) -> str:
    """A time as seconds from now."""
    return (NOW + timedelta(seconds=float(seconds))).isoformat().replace("+00:00", "Z")


def put(into: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set a nested field."""
    for step in path[:-1]:
        into = into.setdefault(step, {})
    into[path[-1]] = value


def groups(parts: list[str]) -> list[dict[str, Any]]:
    """Resource groups from the text between bars."""
    out = []
    for part in parts:
        flavors, covered = [], []
        for text in part.split(";"):
            name, *quotas = text.split()
            resources = []
            for quota in quotas:
                resource, amounts = quota.split("=")
                found = _QUOTA.match(amounts)
                assert found, quota
                entry = {"name": resource, "nominalQuota": found["nominal"]}
                if found["borrow"]:
                    entry["borrowingLimit"] = found["borrow"]
                if found["lend"]:
                    entry["lendingLimit"] = found["lend"]
                resources.append(entry)
                if resource not in covered:
                    covered.append(resource)
            flavors.append({"name": name, "resources": resources})
        out.append({"coveredResources": covered, "flavors": flavors})
    return out


def holder(kind: str, name: str, text: str) -> dict[str, Any]:
    """A ClusterQueue or a Cohort."""
    head, *parts = text.split("|")
    spec: dict[str, Any] = {"resourceGroups": groups(parts)} if parts else {}
    if kind == "ClusterQueue":
        spec.setdefault("namespaceSelector", {})
        spec["queueingStrategy"] = "BestEffortFIFO"
    for word in head.split():
        if word == "strict":
            spec["queueingStrategy"] = "StrictFIFO"
            continue
        key, value = word.split("=")
        if key == "check":
            checks = spec.setdefault("admissionChecksStrategy", {}).setdefault("admissionChecks", [])
            who, _, on = value.partition(":")
            checks.append({"name": who} | ({"onFlavors": on.split(",")} if on else {}))
            continue
        put(spec, _POLICIES[key], int(value) if key == "threshold" else value)
    if "flavorFungibility" in spec:
        spec["flavorFungibility"].setdefault("whenCanPreempt", "TryNextFlavor")
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def flavor(name: str, text: str) -> dict[str, Any]:
    """A ResourceFlavor."""
    spec: dict[str, Any] = {}
    words = iter(text.split())
    for word in words:
        if word == "label":
            key = next(words)
            spec.setdefault("nodeLabels", {})[key] = next(words)
        elif word == "taint":
            taint = {"key": next(words), "value": next(words), "effect": next(words)}
            spec.setdefault("nodeTaints", []).append(taint)
        elif word == "tolerates":
            spec.setdefault("tolerations", []).append({"key": next(words), "operator": next(words)})
        elif word == "topology":
            spec["topologyName"] = next(words)
    return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def pod_set(text: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A podset, and what it holds."""
    asked, arrow, held = text.partition("->")
    name, count, *rest = asked.split()
    pods = int(count.removesuffix("x"))
    requests: dict[str, str] = {}
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    out: dict[str, Any] = {"name": "" if name == "-" else name, "count": pods, "template": {"spec": spec}}
    words = iter(rest)
    for word in words:
        if word == "select":
            key = next(words)
            spec.setdefault("nodeSelector", {})[key] = next(words)
        elif word == "tolerates":
            spec.setdefault("tolerations", []).append({"key": next(words), "operator": next(words)})
        elif word == "affinity":
            expression = {"key": next(words), "operator": next(words), "values": next(words).split(",")}
            put(
                spec,
                ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
                {"nodeSelectorTerms": [{"matchExpressions": [expression]}]},
            )
        elif places.take(word, words, out, spec):
            continue
        else:
            resource, amount = word.split("=")
            if resource == "min":
                out["minCount"] = int(amount)
            else:
                requests[resource] = amount
    if not arrow:
        return out, None
    given = {"name": out["name"], "count": pods, "flavors": {}, "resourceUsage": {}}
    levels = None
    rest = iter(held.split())
    for word in rest:
        if word.endswith("x") and word[:-1].isdigit():
            given["count"] = int(word[:-1])
            continue
        if word == "levels":
            levels = next(rest).split(",")
            continue
        if word == "at":
            given["topologyAssignment"] = places.assignment(next(rest), levels)
            continue
        if word == "delayed":
            given["delayedTopologyRequest"] = next(rest)
            continue
        resource, name, amount = word.split(":")
        given["flavors"][resource] = name
        given["resourceUsage"][resource] = amount
    return out, given


def work(name: str, text: str, locals_: dict[str, str]) -> dict[str, Any]:  # noqa: PLR0912 - one a word
    """A Workload."""
    head, *sets = (part.strip() for part in text.split(";"))
    queue, *words = head.split()
    meta: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
    spec: dict[str, Any] = {} if queue == "-" else {"queueName": queue}
    conditions: list[dict[str, Any]] = []
    reclaimable = []
    lost, checks = [], []
    for word in words:
        key, value = word.split("=", 1)
        if key == "p":
            spec["priority"] = int(value)
        elif key == "t":
            meta["creationTimestamp"] = when(value)
        elif key == "uid":
            meta["uid"] = value
        elif key == "lost":
            lost.append({"name": value})
        elif key == "check":
            who, state = value.split(":")
            checks.append({"name": who, "state": state, "message": ""})
        elif key in ("boost", "grouped"):
            note = {"boost": "priority-boost", "grouped": "is-group-workload"}[key]
            meta.setdefault("annotations", {})[f"kueue.x-k8s.io/{note}"] = value
        elif key == "owner":
            kind, who = value.split(":")
            meta.setdefault("ownerReferences", []).append({"kind": kind, "name": who})
        elif key == "done":
            who, pods = value.split(":")
            reclaimable.append({"name": who, "count": int(pods)})
        else:  # a condition: held=-5, Evicted:Preempted=-3
            kind, _, reason = {"held": "QuotaReserved", "admitted": "Admitted"}.get(key, key).partition(":")
            condition = {"type": kind, "status": "True", "reason": reason, "message": ""}
            conditions.append(condition | {"lastTransitionTime": when(value)})
    spec["podSets"], given = [], []
    for one in sets:
        asked, held = pod_set(one)
        spec["podSets"].append(asked)
        if held is not None:
            given.append(held)
    status: dict[str, Any] = {"conditions": conditions} if conditions else {}
    if given:
        status["admission"] = {"clusterQueue": locals_.get(queue, queue), "podSetAssignments": given}
    if lost:
        status["unhealthyNodes"] = lost
    if checks:
        status["admissionChecks"] = checks
    if reclaimable:
        status["reclaimablePods"] = reclaimable
    value = {"apiVersion": API, "kind": "Workload", "metadata": meta, "spec": spec}
    return value | ({"status": status} if status else {})


def local_queue(name: str, text: str) -> dict[str, Any]:
    """A LocalQueue: `q1`, or `q1 weight=2`."""
    queue, *words = text.split()
    spec: dict[str, Any] = {"clusterQueue": queue}
    for word in words:
        spec["fairSharing"] = {"weight": word.removeprefix("weight=")}
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": API, "kind": "LocalQueue", "metadata": meta, "spec": spec}


def expand(doc: dict[str, Any]) -> dict[str, Any]:
    """The case that a restated situation means, without what is expected."""
    texts = {
        k: {n: str(t or "") for n, t in (doc.get(k) or {}).items()} for k in ("queues", "cohorts", "work")
    }
    locals_ = {n: n for n in texts["queues"]} | {n: str(t) for n, t in (doc.get("locals") or {}).items()}
    homes = {n: t.split()[0] for n, t in locals_.items()}
    flavors = {
        n: "" for t in (*texts["queues"].values(), *texts["cohorts"].values()) for n in used_flavors(t)
    }
    flavors |= {n: str(t or "") for n, t in (doc.get("flavors") or {}).items()}
    for name in doc.get("missing") or ():
        flavors.pop(name, None)
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    ]
    objects += [flavor(n, t) for n, t in flavors.items()]
    for key, maker in (
        ("topologies", places.topology),
        ("nodes", places.node),
        ("pods", places.pod),
        ("checks", places.check),
    ):
        objects += [maker(n, str(t or "")) for n, t in (doc.get(key) or {}).items()]
    objects += [holder("Cohort", n, t) for n, t in texts["cohorts"].items()]
    objects += [holder("ClusterQueue", n, t) for n, t in texts["queues"].items()]
    objects += [local_queue(n, t) for n, t in locals_.items()]
    objects += [work(n, t, homes) for n, t in texts["work"].items()]
    events = [
        {
            "cycle": cycle,
            "create": [work(n, t, homes) for n, t in (event.get("create") or {}).items()],
            "finish": [f"{NAMESPACE}/{n}" for n in event.get("finish") or ()],
        }
        for cycle, event in (doc.get("events") or {}).items()
    ]
    case = {
        "suite": doc["area"],
        "name": doc["name"],
        "now": NOW.isoformat().replace("+00:00", "Z"),
        "featureGates": doc.get("gates") or {},
        "configuration": doc.get("configuration") or {},
        "objects": objects,
    }
    if events:
        case["events"] = events
    if "ask" in doc:
        case["input"] = ask(doc["ask"], homes)
    return case


def used_flavors(text: str) -> list[str]:
    """Names of the flavors in a queue's text."""
    return [f.split()[0] for part in text.split("|")[1:] for f in part.split(";")]


def ask(raw: dict[str, Any], homes: dict[str, str]) -> dict[str, Any]:
    """The input of a narrow suite; workloads in it are texts as elsewhere, usages `f1/cpu 5`."""
    out: dict[str, Any] = {}
    for key, value in raw.items():
        if key == "requests":
            out[key] = [placing(t) for t in value]
        elif key == "here":
            out["priorUsageThisFlavor"] = [placed(t) for t in value]
        elif key == "elsewhere":
            out["priorUsageOtherFlavors"] = [placed(t) for t in value]
        elif key in ("workload", "incoming"):
            ((name, text),) = value.items()
            out[key] = work(name, text, homes)
        elif key == "usage" and isinstance(value, dict):
            out[key] = {q: usage(t) for q, t in value.items()}
        elif key in (
            "usage",
            "clusterQueueUsage",
            "secondaryClusterQueueUsage",
            "assignmentUsage",
            "additionalRequest",
        ):
            out[key] = usage(value)
        elif key in ("entries", "candidates"):
            out[key] = [extra | {"workload": work(n, t, homes)} for n, (t, extra) in value.items()]
        elif key == "assignment":
            out[key] = assignment(value)
        else:
            out[key] = value
    return out


def placing(text: str) -> dict[str, Any]:
    """One podset to place: a podset's words; `implied`, and after -> where it was."""
    asked, given = pod_set(text.replace(" implied", ""))
    containers = asked["template"]["spec"].pop("containers")
    out: dict[str, Any] = {"count": asked.pop("count"), "implied": " implied" in text}
    out["singlePodRequests"] = containers[0]["resources"]["requests"]
    group = (asked.get("topologyRequest") or {}).pop("podSetGroupName", None)
    if group:
        out["podSetGroupName"] = group
    if given is not None:
        out["previousAssignment"] = given["topologyAssignment"]
    return out | {"podSet": asked | {"count": 0}}


def placed(text: str) -> dict[str, Any]:
    """`r1/x1*2 cpu=1`: what pods placed before take."""
    where, *words = text.split()
    ((values, pods),) = ((d["values"], d["count"]) for d in places.assignment(where)["domains"])
    return {"values": values, "count": pods, "singlePodRequests": dict(w.split("=") for w in words)}


def usage(text: str | None) -> list[dict[str, Any]]:
    """`f1/cpu 5, f2/cpu 3` in base units."""
    out = []
    for entry in (text or "").split(","):
        if entry.strip():
            pair, amount = entry.split()
            name, resource = pair.split("/", 1)
            out.append({"flavor": name, "resource": resource, "amount": int(amount)})
    return out


def assignment(text: str) -> dict[str, Any]:
    """`main 1x cpu:f1:Preempt; ...`."""
    sets = []
    for part in text.split(";"):
        name, count, *words = part.split()
        flavors = {r: {"name": f, "mode": m} for r, f, m in (w.split(":") for w in words)}
        sets.append({"name": name, "count": int(count[:-1]), "flavors": flavors, "requests": None})
    return {"borrowing": 0, "podSets": sets}
