"""Certificates that the webhook makes for itself, kept in one Secret that all replicas share.

The Secret holds the authorities that are trusted now (``ca.crt``, one or two), the key of the newest
(``ca.key``), and the leaf that is served (``tls.crt``, ``tls.key``). What comes next follows from the Secret and
the time alone, so any replica can do it; the server's check of the resource version lets one of them win, and
the others read what it wrote.

Renewal loses no request, because at every moment each replica serves a leaf that each API server trusts:

- a leaf is renewed when a third of its life is left, by the same authority: the caBundle stays as it is;
- an authority is renewed when a third of its life is left, in steps: the new one is *announced* beside the old
  one while leaves of the old one are still served; once that has had time to reach every API server, a leaf of
  the new one is issued; once every replica has had time to take that up, the old one is dropped.

Sources: Kubernetes documentation, "Dynamic Admission Control" (caBundle); cert-manager's trust notes on rotating
an authority.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from policycheck.record import NamedTuple

CA_DAYS, LEAF_DAYS = 3650, 90
SETTLE = dt.timedelta(minutes=10)  # for a caBundle to reach API servers, a Secret to reach replicas
_EARLY = dt.timedelta(minutes=5)  # clocks of machines differ
_LEFT = 3  # renewed when one third is left

Step = Literal["keep", "begin", "leaf", "announce", "switch", "drop"]


class Pair(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Held(NamedTuple):
    """What the Secret holds. ``authorities``: those that are trusted, oldest first; the key is of the last."""

    authorities: tuple[bytes, ...]
    ca_key: bytes
    leaf: Pair

    @property
    def bundle(self) -> bytes:
        """What API servers are to trust."""
        return b"".join(self.authorities)


def read(data: Mapping[str, bytes]) -> Held | None:
    """What a Secret holds; None when it is empty or nothing that can be used: it is made anew then."""
    try:
        found = x509.load_pem_x509_certificates(data["ca.crt"])
        held = Held(tuple(_pem(one) for one in found), data["ca.key"], Pair(data["tls.crt"], data["tls.key"]))
        leaf = x509.load_pem_x509_certificate(held.leaf.certificate)
        keys = [serialization.load_pem_private_key(key, None) for key in (held.ca_key, held.leaf.key)]
    except (KeyError, ValueError, TypeError):
        return None
    fits = [_public(found[-1]) == _public(keys[0]), _public(leaf) == _public(keys[1])]
    return held if all(fits) and any(_signed(leaf, one) for one in found) else None


def write(held: Held) -> dict[str, bytes]:
    """The data of the Secret."""
    return {
        "ca.crt": held.bundle,
        "ca.key": held.ca_key,
        "tls.crt": held.leaf.certificate,
        "tls.key": held.leaf.key,
    }


def step(held: Held | None, hosts: tuple[str, ...], now: dt.datetime) -> Step:
    """What is to be done at this moment."""
    if held is None:
        return "begin"
    leaf = x509.load_pem_x509_certificate(held.leaf.certificate)
    authorities = [x509.load_pem_x509_certificate(one) for one in held.authorities]
    newest = authorities[-1]
    if newest.not_valid_after_utc <= now:
        return "begin"
    # Where what is served is no good any more, there is nothing to be careful about.
    is_bad = leaf.not_valid_after_utc <= now or _names(leaf) != set(hosts)
    if len(authorities) > 1:
        if not _signed(leaf, newest):
            return "switch" if is_bad or now >= newest.not_valid_before_utc + _EARLY + SETTLE else "keep"
        return "drop" if now >= leaf.not_valid_before_utc + _EARLY + SETTLE else "keep"
    if _is_due(newest, now) and not is_bad:
        return "announce"
    return "leaf" if is_bad or _is_due(leaf, now) else "keep"


def after(held: Held | None, what: Step, hosts: tuple[str, ...], now: dt.datetime) -> Held:
    """What the Secret is to hold after a step."""
    if held is None or what == "begin":
        authority = _authority(now)
        return Held((authority.certificate,), authority.key, _leaf(authority, hosts, now))
    match what:
        case "announce":
            authority = _authority(now)
            return Held((held.authorities[-1], authority.certificate), authority.key, held.leaf)
        case "switch" | "leaf":
            return held._replace(leaf=_leaf(Pair(held.authorities[-1], held.ca_key), hosts, now))
        case "drop":
            return held._replace(authorities=held.authorities[-1:])
        case _:
            return held


def days_left(held: Held, now: dt.datetime) -> float:
    """Days for which the leaf is good."""
    leaf = x509.load_pem_x509_certificate(held.leaf.certificate)
    return (leaf.not_valid_after_utc - now).total_seconds() / 86400


def _is_due(certificate: x509.Certificate, now: dt.datetime) -> bool:
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - now <= life / _LEFT


def _authority(now: dt.datetime) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    # The name tells authorities apart: two of one name and different keys confuse whoever builds the chain.
    name = _name(f"policycheck {now:%Y-%m-%dT%H:%M:%SZ}")
    made = (
        _builder(name, name, key.public_key(), now, CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(_pem(made), _key(key))


def _leaf(authority: Pair, hosts: tuple[str, ...], now: dt.datetime) -> Pair:
    signer = serialization.load_pem_private_key(authority.key, None)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)  # noqa: S101 - ours
    key = ec.generate_private_key(ec.SECP256R1())
    made = (
        _builder(_name(hosts[0][:64]), issuer.subject, key.public_key(), now, LEAF_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .sign(signer, hashes.SHA256())
    )
    return Pair(_pem(made), _key(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, now: dt.datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLY)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _names(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return set(names.get_values_for_type(x509.DNSName))


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _public(of: object) -> bytes:
    public = of.public_key()  # type: ignore[attr-defined]
    encoded: bytes = public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
