"""Certificates of the webhook: by cert-manager, by itself, or by somebody else.

A leaf is always signed by an authority that lives much longer: the caBundle then stays the same when a leaf is
renewed, and no request is lost between the renewal and the moment at which every replica has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policycheck.adapters.install import CERT_MANAGER, NAME, SELF_SIGNED, Install, Object, named

MANAGER = "cert-manager.io/v1"
TLS = f"{NAME}-tls"
CA = f"{NAME}-ca"
_KEY = {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"}


def hosts(namespace: str) -> list[str]:
    """The names under which the API server calls the webhook."""
    return [f"{NAME}.{namespace}.svc", f"{NAME}.{namespace}.svc.cluster.local"]


def objects(install: Install) -> Iterator[Object]:
    """What makes the certificate; nothing for one that comes from elsewhere."""
    if install.certificates == SELF_SIGNED:
        # Empty: the replicas fill it. Applied again, it keeps what is in it.
        yield named(install, "v1", "Secret", TLS, type="Opaque")
    if install.certificates == CERT_MANAGER:
        yield from _by_manager(install)


def _by_manager(install: Install) -> Iterator[Object]:
    root = f"{NAME}-root"
    yield named(install, MANAGER, "Issuer", root, spec={"selfSigned": {}})
    authority: dict[str, Any] = {
        "isCA": True,
        "commonName": CA,
        "secretName": CA,
        "duration": "87600h",  # ten years
        "privateKey": {**_KEY, "rotationPolicy": "Never"},
        "issuerRef": {"name": root, "kind": "Issuer"},
    }
    yield named(install, MANAGER, "Certificate", CA, spec=authority)
    yield named(install, MANAGER, "Issuer", NAME, spec={"ca": {"secretName": CA}})
    leaf = {
        "secretName": TLS,
        "dnsNames": hosts(install.namespace),
        "duration": "2160h",  # 90 days, renewed when a third is left
        "renewBefore": "720h",
        "privateKey": _KEY,
        "issuerRef": {"name": NAME, "kind": "Issuer"},
    }
    yield named(install, MANAGER, "Certificate", TLS, spec=leaf)
