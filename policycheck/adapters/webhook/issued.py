"""Certificates of the configuration, out of files, taken up again when a file changes."""

from __future__ import annotations

import calendar
import os
import time
from collections.abc import Sequence

from policycheck.adapters.webhook.keypair import Watched
from policycheck.app.certified import Standing, standing
from policycheck.app.verify import Opened, RefusedError, opened
from policycheck.certify.canonical import MOST_BYTES


class Issued:
    """The certificates in files and folders, each signed by one of the keys. Raises ValueError when made of others."""

    def __init__(self, paths: Sequence[str], keys: Sequence[bytes]) -> None:
        self._paths = tuple(paths)
        self._keys = tuple(keys)
        self._watched = Watched()
        self.standing = self._load()

    def refresh(self) -> bool:
        """Loads again if a file changed, came or went; whether one did. Raises ValueError, and what was there stays."""
        files = self._files()
        if files == self._watched.files and not self._watched.changed():
            return False
        self.standing = self._load()
        return True

    def days(self, now: float) -> float:
        """Days until the newest ends."""
        end = time.strptime(self.standing.new.until, "%Y-%m-%dT%H:%M:%SZ")
        return (calendar.timegm(end) - now) / 86_400

    def _files(self) -> tuple[str, ...]:
        """Every file; of a folder all that are no hidden ones, as Kubernetes' own links are."""
        found: list[str] = []
        for path in self._paths:
            if os.path.isdir(path):  # noqa: PTH112 - names are what users give
                names = sorted(n for n in os.listdir(path) if not n.startswith("."))  # noqa: PTH208 - as above
                found.extend(f"{path.rstrip('/')}/{name}" for name in names)
            else:
                found.append(path)
        return tuple(found)

    def _load(self) -> Standing:
        self._watched = Watched(*self._files())
        try:
            texts = self._watched.read()
        except OSError as error:
            raise ValueError(f"a certificate can not be read: {error}") from error
        found = []
        for name, data in zip(self._watched.files, texts, strict=True):
            if len(data) > MOST_BYTES:
                raise ValueError(f"{name} has {len(data):,} bytes; at most {MOST_BYTES:,} are read")
            found.append(self._opened(name, data).certificate)
        return standing(found)

    def _opened(self, name: str, data: bytes) -> Opened:
        """The certificate in a file. Without a key none counts: anybody could write one."""
        why = "no key is given to verify it with"
        for key in self._keys:
            try:
                return opened(data, key)
            except RefusedError as error:
                why = str(error)
        raise ValueError(f"{name}: {why}")
