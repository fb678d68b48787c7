"""Which requests the API server asks about, and what it does when nobody answers.

Two entries. ``critical``: changes of shared quota, which are rare, made by few, and the most harmful when wrong;
they wait while the webhook is down. ``advisory``: all else, which goes through unchecked then (the background
scan finds it later); deletions of configuration too, of which it can only warn. Status and subresources are never
asked about, nor are objects that are being deleted, so that finalizers can always be taken off.
"""

from __future__ import annotations

from typing import Any

from policycheck.adapters.install import (
    CERT_MANAGER,
    EXEMPT,
    NAME,
    SECRET,
    Install,
    Object,
    certificate,
    named,
)
from policycheck.adapters.live import kinds

TIMEOUT = 5  # seconds; the webhook's own deadline is below
PATHS = {"critical": "/validate-critical", "advisory": "/validate-advisory"}
SYSTEM = ("kube-system", "kube-public", "kube-node-lease")

_KUEUE = ["v1beta1", "v1beta2"]
CRITICAL: tuple[tuple[str, list[str], list[str]], ...] = (
    (kinds.KUEUE, _KUEUE, ["clusterqueues", "cohorts", "resourceflavors"]),
)
ADVISORY: tuple[tuple[str, list[str], list[str]], ...] = (
    (
        kinds.KUEUE,
        _KUEUE,
        ["admissionchecks", "localqueues", "topologies", "workloadpriorityclasses"],
    ),
    ("batch", ["v1"], ["cronjobs", "jobs"]),
    ("", ["v1"], ["pods"]),
    ("apps", ["v1"], ["deployments", "statefulsets"]),
    ("jobset.x-k8s.io", ["v1alpha2"], ["jobsets"]),
    ("kubeflow.org", ["v1"], ["jaxjobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"]),
    ("kubeflow.org", ["v1", "v2beta1"], ["mpijobs"]),
    ("trainer.kubeflow.org", ["v1alpha1"], ["trainjobs"]),
    ("ray.io", ["v1"], ["rayclusters", "rayjobs", "rayservices"]),
    ("leaderworkerset.x-k8s.io", ["v1"], ["leaderworkersets"]),
    ("workload.codeflare.dev", ["v1beta2"], ["appwrappers"]),
    ("sparkoperator.k8s.io", ["v1beta2"], ["sparkapplications"]),
)
# What is left behind by a deletion is warned of at most.
DELETIONS = (
    kinds.KUEUE,
    _KUEUE,
    [
        "admissionchecks",
        "clusterqueues",
        "cohorts",
        "localqueues",
        "resourceflavors",
        "topologies",
        "workloadpriorityclasses",
    ],
)
# Simple on purpose: an error in one of these refuses the request where the policy is Fail. A deletion has no object.
_ALIVE = {
    "name": "not-being-deleted",
    "expression": "object == null || !has(object.metadata.deletionTimestamp)",
}
_OWN = {
    "name": "not-made-by-a-controller",
    "expression": "object == null || !has(object.metadata.ownerReferences)",
}


def configuration(install: Install) -> Object:
    """The ValidatingWebhookConfiguration with both entries."""
    made = named(
        install,
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        NAME,
        everywhere=True,
        webhooks=[
            _entry(install, "critical", "Fail", CRITICAL, [_ALIVE, _not_the_scheduler(install)]),
            _entry(install, "advisory", "Ignore", ADVISORY, [_ALIVE, _OWN]),
        ],
    )
    if install.certificates == CERT_MANAGER:
        inject = f"{install.namespace}/{certificate.TLS}"
        made["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": inject}
    return made


def _not_the_scheduler(install: Install) -> dict[str, str]:
    """The scheduler sets finalizers on its own objects, and must not depend on us for that."""
    account = f"system:serviceaccount:{install.scheduler_namespace or 'kueue-system'}:"
    return {
        "name": "not-the-scheduler",
        "expression": f"!request.userInfo.username.startsWith({account!r})",
    }


def _entry(
    install: Install,
    name: str,
    policy: str,
    rules: tuple[tuple[str, list[str], list[str]], ...],
    conditions: list[dict[str, str]],
) -> dict[str, Any]:
    changes = [_rule(*one, ["CREATE", "UPDATE"]) for one in rules]
    deletions = [_rule(*DELETIONS, ["DELETE"])] if policy == "Ignore" else []
    service = {"namespace": install.namespace, "name": NAME, "path": PATHS[name], "port": 443}
    client: dict[str, Any] = {"service": service}
    if install.certificates == SECRET and install.ca_bundle:
        client["caBundle"] = install.ca_bundle
    return {
        "name": f"{name}.policycheck.dev",
        "clientConfig": client,
        "rules": [*changes, *deletions],
        "failurePolicy": policy,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": _exemptions(install)},
        "matchConditions": conditions,
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT,
        "admissionReviewVersions": ["v1"],
    }


def _rule(group: str, versions: list[str], resources: list[str], operations: list[str]) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": versions,
        "operations": operations,
        "resources": resources,
        "scope": "*",
    }


def _exemptions(install: Install) -> list[dict[str, Any]]:
    """Namespaces that can always be repaired, whatever becomes of the webhook."""
    exempt = [*SYSTEM, install.namespace, *install.exempt]
    return [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(dict.fromkeys(exempt))},
        {"key": EXEMPT, "operator": "DoesNotExist"},
    ]
