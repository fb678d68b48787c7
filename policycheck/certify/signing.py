"""Signed certificates: DSSE envelopes with Ed25519 or ECDSA keys, read strictly.

An envelope is accepted in exactly the bytes in which it is written, so that no change of a byte goes
unnoticed, not even one that would mean the same. Source: DSSE protocol v1.0, in-toto envelope.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from policycheck.certify.canonical import MOST_BYTES, CanonicalError, decode, encode
from policycheck.digest import sha256

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, SSlibKey

PAYLOAD = "application/vnd.in-toto+json"
_CURVES = ("secp256r1", "secp384r1")


class SigningError(ValueError):
    """A key or an envelope can not be used; the message says why and what is allowed."""


class MissingError(SigningError):
    """The libraries for signatures are not installed."""


def _libraries() -> None:
    try:
        import cryptography  # noqa: F401
        import securesystemslib  # noqa: F401
    except ImportError as error:
        raise MissingError(
            "signatures need cryptography and securesystemslib: pip install 'policycheck[sign]'"
        ) from error


def signer(pem: bytes, password: bytes | None = None) -> CryptoSigner:
    """The signer of a private key in PEM. Raises SigningError for what is no Ed25519 or ECDSA key."""
    _libraries()
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    try:
        private = load_pem_private_key(pem, password)
    except (ValueError, TypeError) as error:
        hint = "a password is needed" if b"ENCRYPTED" in pem else "is it a private key in PEM?"
        raise SigningError(f"the key can not be read ({hint})") from error
    public = verifier_of(private.public_key())
    return CryptoSigner(private, public)


def verifier(pem: bytes) -> SSlibKey:
    """The public key in PEM that signatures are checked with. Raises SigningError."""
    _libraries()
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        return verifier_of(load_pem_public_key(pem))
    except (ValueError, TypeError) as error:
        if isinstance(error, SigningError):
            raise
        hint = " This is the private key; give the public one." if b"PRIVATE KEY" in pem else ""
        raise SigningError(f"the key can not be read: it has to be a public key in PEM.{hint}") from error


def verifier_of(public: Any) -> SSlibKey:
    """The same of a key object. The id is the digest of the key itself, so it can not be chosen."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from securesystemslib.signer import SSlibKey

    is_curve = isinstance(public, EllipticCurvePublicKey) and public.curve.name in _CURVES
    if not isinstance(public, Ed25519PublicKey) and not is_curve:
        raise SigningError(f"keys are Ed25519 or ECDSA on P-256 or P-384, not {type(public).__name__}")
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return SSlibKey.from_crypto(public, keyid=sha256(der).hexdigest())


def sign(payload: bytes, by: CryptoSigner) -> bytes:
    """The envelope around ``payload``, as the bytes of a file."""
    from securesystemslib.dsse import Envelope

    envelope = Envelope(payload, PAYLOAD, {})
    signature = envelope.sign(by)
    return _written(payload, signature.keyid, bytes.fromhex(signature.signature))


def _written(payload: bytes, keyid: str, signature: bytes) -> bytes:
    return (
        encode(
            {
                "payload": base64.b64encode(payload).decode(),
                "payloadType": PAYLOAD,
                "signatures": [{"keyid": keyid, "sig": base64.b64encode(signature).decode()}],
            }
        )
        + b"\n"
    )


def is_envelope(data: bytes) -> bool:
    """Whether it looks like an envelope rather than a bare Statement."""
    return data[:200].lstrip().startswith(b'{"payload')


def opened(data: bytes, key: SSlibKey) -> bytes:
    """The payload of an envelope that ``key`` signed. Raises SigningError with the reason for refusal."""
    _libraries()
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import Signature

    payload, keyid, signature = _parts(data)
    if keyid != key.keyid:
        raise SigningError(f"it is signed by key {keyid[:16]}..., not by {key.keyid[:16]}...")
    try:
        Envelope(payload, PAYLOAD, {keyid: Signature(keyid, signature.hex())}).verify([key], 1)
    except VerificationError as error:
        raise SigningError("the signature is not that of this key over this text") from error
    return payload


def signed_by(data: bytes) -> str:
    """The id of the key that an envelope claims. Raises SigningError."""
    return _parts(data)[1]


def _parts(data: bytes) -> tuple[bytes, str, bytes]:
    if len(data) > MOST_BYTES:
        raise SigningError(f"the certificate has {len(data)} bytes; at most {MOST_BYTES} are read")
    if not data.endswith(b"\n"):
        raise SigningError("the certificate is cut off: its last byte is missing")
    try:
        value = decode(data[:-1])
        if set(value) != {"payload", "payloadType", "signatures"} or value["payloadType"] != PAYLOAD:
            raise SigningError(f"not an envelope with payloadType {PAYLOAD}")
        (only,) = value["signatures"]
        keyid = only["keyid"]
        payload = base64.b64decode(value["payload"], validate=True)
        signature = base64.b64decode(only["sig"], validate=True)
        is_exact = isinstance(keyid, str) and _written(payload, keyid, signature) == data
    except CanonicalError as error:
        raise SigningError(f"the certificate is {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        if isinstance(error, SigningError):
            raise
        raise SigningError("not an envelope with a payload and one signature") from error
    if not is_exact:
        raise SigningError("the envelope is not in the form in which it was written: it was changed")
    return payload, keyid, signature
