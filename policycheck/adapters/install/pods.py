"""What runs: two replicas of the webhook, and the scan every so often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policycheck.adapters.install import (
    NAME,
    PLAIN_PORT,
    PORT,
    SELF_SIGNED,
    USER,
    Install,
    Object,
    certificate,
    named,
)
from policycheck.adapters.install.rbac import SCAN
from policycheck.adapters.live.kinds import VARIABLE

SETTINGS = f"{NAME}-settings"
CERTIFICATE = f"{NAME}-certificate"  # a ConfigMap with the certificates of certified-only mode
SIGNER = f"{NAME}-certificate-key"  # a ConfigMap with the public key that signed them, as key.pem
_CONFIG, _TLS, _CERTIFIED, _SIGNED = "/etc/policycheck", "/tls", "/certificates", "/certificate-key"
_DRAIN = 10  # seconds in which the API server learns that a replica goes, before it stops to answer


def settings(install: Install) -> Iterator[Object]:
    """The settings file, for the webhook and the scan alike."""
    if install.settings:
        yield named(install, "v1", "ConfigMap", SETTINGS, data={"policycheck.yaml": install.settings})


def webhook(install: Install) -> Iterator[Object]:
    """Service, Deployment, disruption budget and network policy."""
    own = _own("webhook")
    yield named(
        install,
        "v1",
        "Service",
        NAME,
        spec={"selector": own, "ports": [{"name": "admission", "port": 443, "targetPort": "admission"}]},
    )
    spec = {
        "replicas": install.replicas,
        "selector": {"matchLabels": own},
        # A new replica is ready before an old one goes: nothing is lost in between.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {"metadata": {"labels": {**install.labels, **own}}, "spec": _webhook_pod(install, own)},
    }
    yield named(install, "apps/v1", "Deployment", NAME, spec=spec)
    budget = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": own},
        # A replica that is not ready protects nobody; it must not keep a node from being drained.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    yield named(install, "policy/v1", "PodDisruptionBudget", NAME, spec=budget)
    yield named(
        install,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        NAME,
        spec={
            "podSelector": {"matchLabels": own},
            "policyTypes": ["Ingress", "Egress"],
            # The API server comes from outside of the pod network: no selector means it.
            "ingress": [{"ports": [_tcp(PORT)]}, {"ports": [_tcp(PLAIN_PORT)]}],
            "egress": [{"ports": [_tcp(443), _tcp(6443)]}],
        },
    )


def scan(install: Install) -> Iterator[Object]:
    """The background scan: a process of its own, so that it takes nothing from requests that wait."""
    if not install.scan:
        return
    own = _own("scan")
    args = ["webhook", "scan", "cluster:", "--reports", install.reports, *_config(install)]
    pod = {
        **_pod(SCAN),
        "restartPolicy": "Never",
        "containers": [{**_container(install, "scan", args), "volumeMounts": _mounts(install)}],
        "volumes": _volumes(install),
    }
    spec = {
        "schedule": install.scan,
        "concurrencyPolicy": "Forbid",  # one scan at a time writes reports
        "startingDeadlineSeconds": 300,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 2,
        "jobTemplate": {
            "spec": {
                "backoffLimit": 1,
                "activeDeadlineSeconds": 1500,
                "template": {"metadata": {"labels": {**install.labels, **own}}, "spec": pod},
            }
        },
    }
    yield named(install, "batch/v1", "CronJob", SCAN, spec=spec)


def _own(component: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": component}


def _tcp(port: int) -> dict[str, Any]:
    return {"protocol": "TCP", "port": port}


def _webhook_pod(install: Install, own: dict[str, str]) -> dict[str, Any]:
    args = ["webhook", "serve", "cluster:"]
    args += ["--listen", f"0.0.0.0:{PORT}", "--plain", f"0.0.0.0:{PLAIN_PORT}"]
    args += ["--tls-cert", f"{_TLS}/tls.crt", "--tls-key", f"{_TLS}/tls.key"]
    if install.certificates == SELF_SIGNED:
        args += ["--self-signed", f"{install.namespace}/{certificate.TLS}"]
    if install.certificate:
        args += ["--certificate", _CERTIFIED, "--key", f"{_SIGNED}/key.pem"]
    container = _container(install, "webhook", [*args, *_config(install)])
    container |= {
        "ports": [
            {"name": "admission", "containerPort": PORT, "protocol": "TCP"},
            {"name": "plain", "containerPort": PLAIN_PORT, "protocol": "TCP"},
        ],
        # The first picture of a large cluster takes its time.
        "startupProbe": _probe("/livez", 2, 60),
        "livenessProbe": _probe("/livez", 10, 3),
        "readinessProbe": _probe("/readyz", 5, 2),
        "lifecycle": {
            "preStop": {"exec": {"command": ["python", "-c", f"import time; time.sleep({_DRAIN})"]}}
        },
        "volumeMounts": [*_mounts(install), *_webhook_mounts(install)],
    }
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": when,
            "labelSelector": {"matchLabels": own},
        }
        for key, when in (
            ("kubernetes.io/hostname", "DoNotSchedule"),
            ("topology.kubernetes.io/zone", "ScheduleAnyway"),
        )
    ]
    return {
        **_pod(NAME),
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 3 * _DRAIN,
        "topologySpreadConstraints": spread,
        "containers": [container],
        "volumes": [*_volumes(install), *_webhook_volumes(install)],
    }


def _probe(path: str, period: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "plain"},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": 3,
    }


def _pod(account: str) -> dict[str, Any]:
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _container(install: Install, name: str, args: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": install.image,
        "args": args,
        "env": [
            {"name": "POLICYCHECK_CACHE_DIR", "value": "/tmp/policycheck"},  # noqa: S108 - a volume of its own
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": VARIABLE, "value": install.scheduler_namespace},
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {
            "requests": {"cpu": "200m", "memory": install.memory},
            "limits": {"cpu": "2", "memory": install.memory},
        },
    }


def _config(install: Install) -> list[str]:
    return ["--config", f"{_CONFIG}/policycheck.yaml"] if install.settings else []


def _mounts(install: Install) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - as above
    if install.settings:
        mounts.append({"name": "settings", "mountPath": _CONFIG, "readOnly": True})
    return mounts


def _volumes(install: Install) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = [{"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}}]
    if install.settings:
        volumes.append({"name": "settings", "configMap": {"name": SETTINGS}})
    return volumes


def _webhook_mounts(install: Install) -> list[dict[str, Any]]:
    is_own = install.certificates == SELF_SIGNED
    mounts: list[dict[str, Any]] = [
        {"name": "tls", "mountPath": _TLS, **({} if is_own else {"readOnly": True})}
    ]
    if install.certificate:
        mounts.append({"name": "certified", "mountPath": _CERTIFIED, "readOnly": True})
        mounts.append({"name": "signer", "mountPath": _SIGNED, "readOnly": True})
    return mounts


def _webhook_volumes(install: Install) -> list[dict[str, Any]]:
    kept: dict[str, Any] = {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    given = {"secret": {"secretName": certificate.TLS, "defaultMode": 0o440}}
    volumes: list[dict[str, Any]] = [
        {"name": "tls", **(kept if install.certificates == SELF_SIGNED else given)}
    ]
    if install.certificate:
        volumes.append({"name": "certified", "configMap": {"name": CERTIFICATE}})
        volumes.append({"name": "signer", "configMap": {"name": SIGNER}})
    return volumes
