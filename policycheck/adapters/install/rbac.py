"""What the webhook and the scan may do: read what they read, and write what is theirs alone.

The webhook reads kinds in all namespaces and writes nothing, but for its own certificate where it makes that
itself. The scan writes policy reports. ConfigMaps are read in the scheduler's namespace alone, Secrets (but for
our own certificate) never.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from policycheck.adapters.install import NAME, SELF_SIGNED, Install, Object, named
from policycheck.adapters.live import kinds
from policycheck.app.world import REQUIRED, WELCOME
from policycheck.model.cluster import GroupKind

RBAC = "rbac.authorization.k8s.io/v1"
SCAN = f"{NAME}-scan"
REPORTS = {
    "wgpolicyk8s.io": ("policyreports", "clusterpolicyreports"),
    "openreports.io": ("reports", "clusterreports"),
}
READ = ["get", "list", "watch"]


def plural(kind: str) -> str:
    """As resources of the API are named."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def objects(install: Install) -> Iterator[Object]:
    """Accounts, roles and bindings."""
    yield from _account(install, NAME, _reading((*REQUIRED, *WELCOME), READ))
    if install.scheduler_namespace:
        yield from _configuration(install)
    if install.certificates == SELF_SIGNED:
        yield from _certificate(install)
    if install.scan:
        reports = {
            "apiGroups": [install.reports],
            "resources": list(REPORTS[install.reports]),
            "verbs": ["get", "list", "create", "update", "delete"],
        }
        yield from _account(install, SCAN, [*_reading(kinds.ALL, ["get", "list"]), reports])


def _reading(read: Iterable[GroupKind], verbs: list[str]) -> list[dict[str, Any]]:
    """One rule a group, for kinds that are read in all namespaces."""
    groups: dict[str, list[str]] = {}
    for group, kind in read:
        if (group, kind) not in kinds.NARROW:
            groups.setdefault(group, []).append(plural(kind))
    return [
        {"apiGroups": [group], "resources": sorted(set(groups[group])), "verbs": verbs}
        for group in sorted(groups)
    ]


def _account(install: Install, name: str, rules: list[dict[str, Any]]) -> Iterator[Object]:
    role = f"{NAME}:{'scan' if name == SCAN else 'webhook'}"
    yield named(install, "v1", "ServiceAccount", name, automountServiceAccountToken=False)
    yield named(install, RBAC, "ClusterRole", role, everywhere=True, rules=rules)
    yield _binding(install, "ClusterRoleBinding", role, "ClusterRole", [name])


def _configuration(install: Install) -> Iterator[Object]:
    """The scheduler's Configuration is in a ConfigMap of its namespace."""
    name = f"{NAME}:configuration"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": READ}]
    role = named(install, RBAC, "Role", name, rules=rules)
    accounts = [NAME, SCAN] if install.scan else [NAME]
    binding = _binding(install, "RoleBinding", name, "Role", accounts)
    for made in (role, binding):
        made["metadata"]["namespace"] = install.scheduler_namespace
        yield made


def _certificate(install: Install) -> Iterator[Object]:
    """One Secret, which the manifests bring along empty, and the caBundle of one webhook configuration."""
    secret = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [f"{NAME}-tls"],
        "verbs": ["get", "update"],
    }
    bundle = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["validatingwebhookconfigurations"],
        "resourceNames": [NAME],
        "verbs": ["get", "patch"],
    }
    name = f"{NAME}:certificate"
    yield named(install, RBAC, "Role", name, rules=[secret])
    yield _binding(install, "RoleBinding", name, "Role", [NAME])
    yield named(install, RBAC, "ClusterRole", name, everywhere=True, rules=[bundle])
    yield _binding(install, "ClusterRoleBinding", name, "ClusterRole", [NAME])


def _binding(install: Install, kind: str, name: str, role: str, accounts: list[str]) -> Object:
    return named(
        install,
        RBAC,
        kind,
        name,
        everywhere=kind == "ClusterRoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        subjects=[
            {"kind": "ServiceAccount", "name": account, "namespace": install.namespace}
            for account in accounts
        ],
    )
