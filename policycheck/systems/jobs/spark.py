"""SparkApplication: a driver and its first executors, with the requests that Spark itself computes.

Memory is what is asked plus an overhead of at least 384 MiB; an executor adds what Python and
off-heap memory take. Typed fields win over ``sparkConf``. Source: Spark's documentation "Running on
Kubernetes" and "Configuration" (3.5), and the Spark operator's API reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.workload import PodSet
from policycheck.systems.core.podspec import labels, mapping, pod_set, text, whole
from policycheck.systems.jobs.facts import Made

_MEMORY = re.compile(r"(\d{1,18})([a-z]*)\Z", re.ASCII)
_UNITS = {"b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}
_UNITS |= {"t": 2**40, "tb": 2**40, "p": 2**50, "pb": 2**50}
_MIB = 2**20
_LEAST_OVERHEAD = 384
_JVM, _OTHER = 0.1, 0.4  # memory overhead by language


def read(value: Mapping[str, Any], kind: str, troubles: list[Trouble]) -> Made:  # noqa: ARG001 - one signature
    """A SparkApplication."""
    spec = mapping(value.get("spec"))
    executor = mapping(spec.get("executor"))
    return Made(
        (
            _role(spec, "driver", 1, troubles),
            _role(spec, "executor", max(0, whole(executor.get("instances"))), troubles),
        ),
        priority_class=text(mapping(spec.get("batchSchedulerOptions")).get("priorityClassName")),
    )


def _role(spec: Mapping[str, Any], role: str, pods: int, troubles: list[Trouble]) -> PodSet:
    """One role's podset: its pod template with what Spark puts on top."""
    own, conf = mapping(spec.get(role)), labels(spec.get("sparkConf"))
    template = mapping(own.get("template"))
    pod = mapping(template.get("spec"))
    first, *others = (
        pod["containers"] if isinstance(pod.get("containers"), list) and pod["containers"] else [{}]
    )
    requests = {
        **_gpu(own),
        "cpu": _cores(own, conf, role),
        "memory": str(_memory(spec, own, conf, role, troubles)),
    }
    limits = {**_gpu(own), **({"cpu": own["coreLimit"]} if own.get("coreLimit") else {})}
    container = {**mapping(first), "resources": {"requests": requests, "limits": limits}}
    made = {
        "metadata": {"labels": own.get("labels"), "annotations": own.get("annotations")},
        "spec": {
            **pod,
            "containers": [container, *others],
            "nodeSelector": spec.get("nodeSelector") or own.get("nodeSelector") or pod.get("nodeSelector"),
            "tolerations": own.get("tolerations") or pod.get("tolerations"),
            "affinity": own.get("affinity") or pod.get("affinity"),
            "priorityClassName": own.get("priorityClassName") or pod.get("priorityClassName"),
        },
    }
    return pod_set(role, pods, made, ("spec", role), troubles)


def _gpu(own: Mapping[str, Any]) -> dict[str, object]:
    gpu = mapping(own.get("gpu"))
    return {text(gpu.get("name")): gpu.get("quantity")} if gpu.get("name") else {}


def _cores(own: Mapping[str, Any], conf: Mapping[str, str], role: str) -> str:
    asked = own.get("coreRequest") or conf.get(f"spark.kubernetes.{role}.request.cores")
    return text(asked) or text(own.get("cores")) or conf.get(f"spark.{role}.cores", "1")


def _memory(
    spec: Mapping[str, Any],
    own: Mapping[str, Any],
    conf: Mapping[str, str],
    role: str,
    troubles: list[Trouble],
) -> int:
    """Bytes that one pod of the role requests."""
    at: Path = ("spec", role, "memory")
    memory = _mib(own.get("memory") or conf.get(f"spark.{role}.memory", "1g"), at, troubles)
    stated = own.get("memoryOverhead") or conf.get(f"spark.{role}.memoryOverhead")
    if stated:
        overhead = _mib(stated, ("spec", role, "memoryOverhead"), troubles)
    else:
        overhead = max(_LEAST_OVERHEAD, int(_factor(spec, conf, role) * memory))
    extra = _executor_extra(spec, conf, troubles) if role == "executor" else 0
    return (memory + overhead + extra) * _MIB


def _factor(spec: Mapping[str, Any], conf: Mapping[str, str], role: str) -> float:
    raw = conf.get(f"spark.{role}.memoryOverheadFactor") or conf.get("spark.kubernetes.memoryOverheadFactor")
    try:
        factor = float(raw or text(spec.get("memoryOverheadFactor")))
    except ValueError:
        factor = -1.0
    if 0 <= factor < 1e6:
        return factor
    return _OTHER if spec.get("type") in ("Python", "R") else _JVM


def _executor_extra(spec: Mapping[str, Any], conf: Mapping[str, str], troubles: list[Trouble]) -> int:
    at: Path = ("spec", "sparkConf")
    extra = 0
    if spec.get("type") == "Python" and "spark.executor.pyspark.memory" in conf:
        name = "spark.executor.pyspark.memory"
        extra += _mib(conf[name], (*at, name), troubles)
    if conf.get("spark.memory.offHeap.enabled", "").lower() == "true":
        name = "spark.memory.offHeap.size"
        extra += _mib(conf.get(name, "0"), (*at, name), troubles, unit="b")
    return extra


def _mib(raw: object, path: Path, troubles: list[Trouble], *, unit: str = "m") -> int:
    """A Spark memory string (``2g``, ``512m``, ``512``) in MiB, rounded down."""
    match = _MEMORY.match(text(raw).strip().lower())
    if match is None or (match[2] and match[2] not in _UNITS):
        say = f"{text(raw)!r} is no memory size of Spark's; write a whole number and a unit, as in 512m or 2g"
        troubles.append(Trouble("bad-quantity", path, say))
        return 0
    return int(match[1]) * _UNITS[match[2] or unit] // _MIB
