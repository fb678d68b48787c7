"""Kueue's Configuration: its defaults depend on its version and on Kueue's.

Sources: the Configuration API reference (v1beta1, v1beta2); waitForPodsReady is on by default since
0.19 in v1beta2; in v1beta1 fairSharing and waitForPodsReady need ``enable: true``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.placement import Selector
from policycheck.systems.core.podspec import items, labels, mapping, selector, text, whole
from policycheck.systems.kueue import model

_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def seconds(raw: object, default: float) -> float:
    """A Go duration (``1h30m``, ``5m0s``, ``10s``) in seconds; ``default`` when absent or not one."""
    if not isinstance(raw, str) or not raw:
        return default
    if raw == "0":
        return 0.0
    parts = _PART.findall(raw)
    if not parts or "".join(n + u for n, u in parts) != raw.lstrip("+-"):
        return default
    return sum(float(n) * _SECONDS[u] for n, u in parts) * (-1 if raw.startswith("-") else 1)


def _fair_sharing(raw: object, *, beta1: bool) -> model.FairSharing | None:
    if raw is True:
        return model.FairSharing()
    if not isinstance(raw, dict) or (beta1 and raw.get("enable") is not True):
        return None
    strategies = tuple(text(s) for s in items(raw.get("preemptionStrategies")))
    return model.FairSharing(strategies) if strategies else model.FairSharing()


def _admission_fair_sharing(raw: object) -> model.AdmissionFairSharing | None:
    if raw is True:
        return model.AdmissionFairSharing()
    if not isinstance(raw, dict):
        return None
    weights = {
        k: float(v) for k, v in mapping(raw.get("resourceWeights")).items() if isinstance(v, (int, float))
    }
    return model.AdmissionFairSharing(
        seconds(raw.get("usageHalfLifeTime"), 0.0), seconds(raw.get("usageSamplingInterval"), 300.0), weights
    )


def _wait_for_pods_ready(raw: object, *, beta1: bool) -> model.WaitForPodsReady:
    value = mapping(raw)
    enabled = value.get("enable") is True if beta1 else True
    requeuing = mapping(value.get("requeuingStrategy"))
    limit = requeuing.get("backoffLimitCount")
    timeout = seconds(value.get("timeout"), 300.0 if beta1 else 1800.0)
    block = value.get("blockAdmission")
    return model.WaitForPodsReady(
        enabled=enabled,
        timeout=timeout,
        recovery_timeout=seconds(value.get("recoveryTimeout"), timeout),
        block_admission=(beta1 and enabled) if block is None else block is True,
        requeuing_timestamp=text(requeuing.get("timestamp")) or "Eviction",
        backoff_limit=None if limit is None else whole(limit),
        backoff_base=float(whole(requeuing.get("backoffBaseSeconds"), 60)),
        backoff_max=float(whole(requeuing.get("backoffMaxSeconds"), 3600)),
    )


def _transformations(raw: object) -> tuple[model.Transformation, ...]:
    found = (mapping(t) for t in items(raw))
    return tuple(
        model.Transformation(
            text(t.get("input")),
            text(t.get("strategy")) or "Retain",
            labels(t.get("outputs")),
            text(t.get("multiplyBy")),
        )
        for t in found
    )


def _namespace_selector(value: Mapping[str, Any], integrations: Mapping[str, Any]) -> Selector | None:
    raw = value.get("managedJobsNamespaceSelector")
    if raw is None:
        raw = mapping(integrations.get("podOptions")).get("namespaceSelector")
    return selector(raw)


def configuration(value: Mapping[str, Any], troubles: list[Trouble]) -> model.Configuration:  # noqa: ARG001 - one signature
    """A Configuration with the defaults of its own version."""
    version = text(value.get("apiVersion"))
    beta1 = version.endswith("/v1beta1")
    resources, metrics, integrations = (
        mapping(value.get(k)) for k in ("resources", "metrics", "integrations")
    )
    classes = (mapping(c) for c in items(resources.get("deviceClassMappings")))
    frameworks = tuple(text(f) for f in items(integrations.get("frameworks")))
    return model.Configuration(
        api_version=version,
        fair_sharing=_fair_sharing(value.get("fairSharing"), beta1=beta1),
        admission_fair_sharing=_admission_fair_sharing(value.get("admissionFairSharing")),
        wait_for_pods_ready=_wait_for_pods_ready(value.get("waitForPodsReady"), beta1=beta1),
        manage_jobs_without_queue_name=value.get("manageJobsWithoutQueueName") is True,
        managed_jobs_namespace_selector=_namespace_selector(value, integrations),
        frameworks=frameworks or ("batch/job",),
        exclude_prefixes=tuple(text(p) for p in items(resources.get("excludeResourcePrefixes"))),
        quota_check_strategy=text(resources.get("quotaCheckStrategy")) or "BlockUndeclared",
        transformations=_transformations(resources.get("transformations")),
        device_classes=tuple(
            model.DeviceClassMapping(
                text(c.get("name")), tuple(text(d) for d in items(c.get("deviceClassNames")))
            )
            for c in classes
        ),
        enable_cluster_queue_resources=metrics.get("enableClusterQueueResources") is True,
        feature_gates={str(k): v is True for k, v in mapping(value.get("featureGates")).items()},
        found=True,
    )
