"""Words for topology, both ways: nodes, levels, what podsets ask for, and where they are placed.

  topologies  t1: cloud/rack kubernetes.io/hostname
  nodes       x1: @cloud/rack=r1 cpu=4 pods=10 taint maint true NoSchedule (also: unready, cordoned)
  pods        p1: x1 cpu=1 phase=Running
  podset      main 4x cpu=1 required cloud/rack slice kubernetes.io/hostname 2 layers cloud/rack:4,...:2
  placement   at r1/x1*2 (after ->, and in what is expected; several by comma; levels a,b when not the hostname)
The label kubernetes.io/hostname is the node's name unless it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

HOSTNAME = "kubernetes.io/hostname"
_MODES = ("required", "preferred")


def topology(name: str, text: str) -> dict[str, Any]:
    """A Topology."""
    levels = [{"nodeLabel": key} for key in text.split()]
    return _object("kueue.x-k8s.io/v1beta2", "Topology", name, {"levels": levels})


def _object(api: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def node(name: str, text: str) -> dict[str, Any]:
    """A Node."""
    labels, allocatable, taints = {HOSTNAME: name}, {}, []
    out = _object("v1", "Node", name, {})
    ready = "True"
    words = iter(text.split())
    for word in words:
        if word == "taint":
            taints.append({"key": next(words), "value": next(words), "effect": next(words)})
        elif word == "cordoned":
            out["spec"]["unschedulable"] = True
        elif word == "unready":
            ready = "False"
        elif word == "nohost":
            del labels[HOSTNAME]
        elif word.startswith("@"):
            key, value = word[1:].split("=", 1)
            labels[key] = value
        else:
            resource, amount = word.split("=")
            allocatable[resource] = amount
    out["metadata"]["labels"] = labels
    if taints:
        out["spec"]["taints"] = taints
    return out | {"status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]}}


def pod(name: str, text: str) -> dict[str, Any]:
    """A bound Pod."""
    where, *words = text.split()
    pairs = dict(w.split("=") for w in words)
    phase = pairs.pop("phase", None)
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": pairs}}]}
    if where != "-":
        spec["nodeName"] = where
    return _object("v1", "Pod", name, spec) | ({"status": {"phase": phase}} if phase else {})


def check(name: str, text: str) -> dict[str, Any]:
    """An AdmissionCheck that is active."""
    made = _object("kueue.x-k8s.io/v1beta2", "AdmissionCheck", name, {"controllerName": text})
    return made | {"status": {"conditions": [{"type": "Active", "status": "True"}]}}


def take(word: str, words: Iterator[str], out: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether ``word`` is about topology; then it is put into the podset."""
    if word not in (*_MODES, "unconstrained", "slice", "sliceLevel", "layers", "group", "prefer", "equal"):
        return False
    request = out.setdefault("topologyRequest", {})
    if word in _MODES:
        request[word] = next(words)
    elif word == "unconstrained":
        request[word] = True
    elif word in ("slice", "sliceLevel"):
        request["podSetSliceRequiredTopology"] = next(words)
        if word == "slice":
            request["podSetSliceSize"] = int(next(words))
    elif word == "layers":
        pairs = (part.rsplit(":", 1) for part in next(words).split(","))
        request["podsetSliceRequiredTopologyConstraints"] = [
            {"topology": key, "size": int(size)} for key, size in pairs
        ]
    elif word == "group":
        request["podSetGroupName"] = next(words)
    else:
        _placed_by(word, words, spec)
    if not request:
        del out["topologyRequest"]
    return True


def _placed_by(word: str, words: Iterator[str], spec: dict[str, Any]) -> None:
    if word == "equal":
        toleration = {"key": next(words), "operator": "Equal", "value": next(words), "effect": next(words)}
        spec.setdefault("tolerations", []).append(toleration)
        return
    weight = int(next(words))
    expression = {"key": next(words), "operator": next(words), "values": next(words).split(",")}
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(
        {"weight": weight, "preference": {"matchExpressions": [expression]}}
    )


def request_words(value: dict[str, Any] | None) -> list[str]:
    """The words of a topologyRequest; ValueError for what has none."""
    left = dict(value or {})
    words = [w for mode in _MODES if left.get(mode) for w in (mode, left.pop(mode))]
    words += ["unconstrained"] if left.pop("unconstrained", False) else []
    level, size = left.pop("podSetSliceRequiredTopology", None), left.pop("podSetSliceSize", None)
    if level:
        words += ["slice", level, str(size)] if size is not None else ["sliceLevel", level]
    layers = left.pop("podsetSliceRequiredTopologyConstraints", None)
    if layers:
        words += ["layers", ",".join(f"{one['topology']}:{one['size']}" for one in layers)]
    if left.get("podSetGroupName"):
        words += ["group", left.pop("podSetGroupName")]
    if any(left.values()):
        raise ValueError(str(left))
    return words


def assignment(text: str, levels: list[str] | None = None) -> dict[str, Any]:
    """`r1/x1*2,r2/x3*1`."""
    domains = []
    for part in text.split(",") if text != "-" else ():
        values, pods = part.rsplit("*", 1)
        domains.append({"values": values.split("/"), "count": int(pods)})
    return {"levels": levels or [HOSTNAME], "domains": domains}


def written(value: dict[str, Any] | None) -> str:
    """The text of an assignment, plain or compressed; "" for none."""
    if not value:
        return ""
    domains = [(d["values"], d["count"]) for d in value.get("domains") or ()]
    for part in value.get("slices") or ():
        size = part["domainCount"]
        columns = [_column(v, size) for v in part["valuesPerLevel"]]
        pods = part["podCounts"]
        counts = pods["individual"] if "individual" in pods else [pods["universal"]] * size
        domains += [([c[n] for c in columns], counts[n]) for n in range(size)]
    if any("/" in v or "," in v or "*" in v for values, _ in domains for v in values):
        raise ValueError("a value with a sign in it")
    return ",".join(f"{'/'.join(values)}*{pods}" for values, pods in domains) or "-"


def _column(part: dict[str, Any], size: int) -> list[str]:
    if "universal" in part:
        return [part["universal"]] * size
    one = part["individual"]
    return [one.get("prefix", "") + root + one.get("suffix", "") for root in one["roots"]]


def node_text(value: dict[str, Any]) -> tuple[str, str]:
    """Name and text of a Node."""
    meta, spec, status = value["metadata"], dict(value.get("spec") or {}), value.get("status") or {}
    labels = dict(meta.get("labels") or {})
    words = []
    host = labels.pop(HOSTNAME, None)
    if host is None:
        words.append("nohost")
    elif host != meta["name"]:
        words.append(f"@{HOSTNAME}={host}")
    words += [f"@{k}={v}" for k, v in labels.items()]
    words += [f"{r}={q}" for r, q in (status.get("allocatable") or {}).items()]
    for taint in spec.pop("taints", None) or ():
        words += ["taint", taint["key"], taint["value"], taint["effect"]]
    words += ["cordoned"] if spec.pop("unschedulable", False) else []
    ready = [c["status"] for c in status.get("conditions") or () if c["type"] == "Ready"]
    words += [] if ready == ["True"] else ["unready"]
    if spec or any(not w for w in words):
        raise ValueError("node")
    return meta["name"], " ".join(words)


def pod_text(value: dict[str, Any]) -> tuple[str, str]:
    """Name and text of a Pod."""
    spec = value["spec"]
    requests = spec["containers"][0].get("resources", {}).get("requests") or {}
    phase = (value.get("status") or {}).get("phase")
    words = [spec.get("nodeName") or "-", *(f"{r}={q}" for r, q in requests.items())]
    return value["metadata"]["name"], " ".join([*words, *([f"phase={phase}"] if phase else [])])
