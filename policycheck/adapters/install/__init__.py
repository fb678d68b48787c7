"""What installs the webhook and the background scan in a cluster, as objects of the API.

``webhook manifests`` prints them, and the chart in ``deploy/chart`` renders the same ones (a test compares them).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policycheck.record import NamedTuple

Object = dict[str, Any]
NAME = "policycheck"
EXEMPT = "policycheck.dev/exempt"  # a label of a namespace: the webhook leaves what is in it alone
CERT_MANAGER, SELF_SIGNED, SECRET = "cert-manager", "self-signed", "secret"
CERTIFICATES = (CERT_MANAGER, SELF_SIGNED, SECRET)
PORT = 8443  # admission, over TLS
PLAIN_PORT = 8080  # health and metrics
USER = 65532  # the user that the image runs as


class Install(NamedTuple):
    """What can be chosen. The names of objects can not: RBAC and certificates hang on them."""

    image: str
    namespace: str = NAME
    replicas: int = 2
    certificates: str = CERT_MANAGER
    ca_bundle: str = ""  # base64, for ``secret``: certificates that somebody else makes
    scheduler_namespace: str = "kueue-system"  # where the scheduler's Configuration is read; "" for nowhere
    exempt: tuple[str, ...] = ()  # namespaces beside kube-system and our own
    settings: str = ""  # text of a settings file
    certificate: bool = False  # certified-only: a ConfigMap of that purpose is mounted
    scan: str = "*/30 * * * *"  # when the background scan runs; "" for never
    reports: str = "wgpolicyk8s.io"  # the API group of policy reports
    memory: str = "1Gi"

    @property
    def labels(self) -> dict[str, str]:
        """Of all objects."""
        return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME}


def objects(install: Install) -> Iterator[Object]:
    """Everything, in the order in which it has to be there."""
    from policycheck.adapters.install import certificate, pods, rbac, webhooks

    yield _namespace(install)
    yield from rbac.objects(install)
    yield from pods.settings(install)
    yield from certificate.objects(install)
    yield from pods.webhook(install)
    yield from pods.scan(install)
    # Last: a change is sent to us from the moment on at which this is there.
    yield webhooks.configuration(install)


def named(
    install: Install, api_version: str, kind: str, name: str, *, everywhere: bool = False, **rest: Any
) -> Object:
    """An object of ours; ``everywhere``: it is in no namespace."""
    place = {} if everywhere else {"namespace": install.namespace}
    meta = {"name": name, **place, "labels": install.labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}


def _namespace(install: Install) -> Object:
    made = named(install, "v1", "Namespace", install.namespace, everywhere=True)
    made["metadata"]["labels"] = {
        **install.labels,
        "pod-security.kubernetes.io/enforce": "restricted",
    }
    return made
