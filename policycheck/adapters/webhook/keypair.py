"""The key pair of the server, taken up again when its files change: connections that are open stay as they are,
new ones get the new certificate.

An SSLContext can be loaded again while it is in use; each handshake takes what is loaded at its moment (the
documentation of SSLContext.load_cert_chain and of OpenSSL's SSL_CTX_use_certificate).
"""

from __future__ import annotations

import datetime as dt
import os
import ssl
from collections.abc import Callable

from policycheck.record import NamedTuple

LEAST = 1.0  # days that the certificate has to count still for the server to be ready


class KeyPairError(Exception):
    """The files hold no key pair; says which and why."""


class Watched:
    """Files that are looked at from time to time: whether they are others than those that were read last.

    Kubernetes exchanges a mounted Secret by turning a symbolic link, so time and size of the target count.
    """

    def __init__(self, *files: str) -> None:
        self.files = files
        self._seen: tuple[object, ...] = ()

    def changed(self) -> bool:
        """Whether a file is another than at the last call of ``read``; missing files count as unchanged."""
        now = self._state()
        return now is not None and now != self._seen

    def read(self) -> list[bytes]:
        """The bytes of every file. Raises OSError."""
        state = self._state()
        found = []
        for name in self.files:
            with open(name, "rb") as file:  # noqa: PTH123 - a name is what users give
                found.append(file.read())
        self._seen = state or ()
        return found

    def _state(self) -> tuple[object, ...] | None:
        try:
            stats = [os.stat(name) for name in self.files]  # noqa: PTH116 - as above
        except OSError:
            return None
        return tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in stats)


class Ending(NamedTuple):
    """Until when a certificate counts, in seconds since the epoch."""

    at: float

    def days(self, now: float) -> float:
        """Days that are left."""
        return (self.at - now) / 86_400


class KeyPair:
    """A context for the server. ``now`` gives seconds since the epoch."""

    def __init__(self, certificate: str, key: str, now: Callable[[], float]) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self._files = Watched(certificate, key)
        self._now = now
        self._ending = Ending(0.0)
        self.load()

    def load(self) -> None:
        """Takes the files up. What was loaded before stays when they do not fit together. Raises KeyPairError."""
        certificate, key = self._files.files
        try:
            data, _ = self._files.read()
            trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            trial.load_cert_chain(certificate, key)  # half of a pair may be written: try it elsewhere first
            ending = Ending(_not_after(data))
            self.context.load_cert_chain(certificate, key)
        except (OSError, ValueError) as error:
            raise KeyPairError(f"{certificate} and {key} are no key pair: {error}") from error
        self._ending = ending

    def refresh(self) -> bool:
        """Loads again if the files changed; whether they had. Raises KeyPairError."""
        if not self._files.changed():
            return False
        self.load()
        return True

    @property
    def days(self) -> float:
        """Days until the certificate ends."""
        return self._ending.days(self._now())

    @property
    def is_good(self) -> bool:
        """Whether it counts for longer than a day from now."""
        return self.days > LEAST


def _not_after(pem: bytes) -> float:
    """When the first certificate of a chain ends. Raises ValueError."""
    from cryptography import x509

    found = x509.load_pem_x509_certificate(pem)
    return found.not_valid_after_utc.astimezone(dt.UTC).timestamp()
