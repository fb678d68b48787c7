"""Keeps the webhook's own certificate: Secret, caBundle and the files that are served, in that order of trust.

Each replica runs one. What is served comes last: files are written only when the caBundle of the webhook
configuration holds the authority that signed them.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from policycheck.adapters.live import certs
from policycheck.adapters.live.certs import Held
from policycheck.adapters.live.connect import ApiError, Connection, LiveError
from policycheck.adapters.live.watch import Tell, nobody
from policycheck.record import NamedTuple

EVERY = 10.0  # seconds between looks
_TRIES = 5  # when replicas write at the same moment
_CONFLICT, _ABSENT = 409, 404
_HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Place(NamedTuple):
    """Where things are: the Secret, the webhook configuration, the folder of the files that are served."""

    namespace: str
    secret: str
    configuration: str
    folder: str
    hosts: tuple[str, ...]


class Kept(NamedTuple):
    """How the certificate stands."""

    days: float = 0.0
    step: certs.Step = "keep"
    why: str = ""  # what went wrong at the last look; "" when nothing did


class Keeper:
    """Looks now and then, and does what is due. ``status`` may be read from any thread."""

    def __init__(
        self,
        connection: Connection,
        place: Place,
        clock: Callable[[], dt.datetime] | None = None,
        tell: Tell = nobody,
    ) -> None:
        self._connection = connection
        self._tell = tell
        self._place = place
        self._clock = clock or _utc
        self._stop = threading.Event()
        self.status = Kept()

    def run(self) -> None:
        """Looks until stopped; what goes wrong is told in ``status``, and tried again."""
        while not self._stop.is_set():
            self.look()
            self._stop.wait(EVERY)

    def start(self) -> threading.Thread:
        """``run`` in a thread of its own."""
        thread = threading.Thread(target=self.run, name="certificate", daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """Ends ``run`` after the look that it is at."""
        self._stop.set()

    def look(self) -> Kept:
        """One look: Secret, caBundle, files. Never raises."""
        try:
            held, what = self._secret()
            self._announce(held)
            self._serve(held)
        except Exception as error:  # noqa: BLE001 - a thread that dies would let the certificate end
            known = isinstance(error, (LiveError, OSError))
            why = str(error) if known else f"{type(error).__name__}: {error}"
            if why != self.status.why:
                self._tell("error", "the certificate could not be looked after", why=why)
            self.status = self.status._replace(why=why)
            return self.status
        if what != "keep":
            self._tell("info", "certificate", step=what)
        self.status = Kept(certs.days_left(held, self._clock()), what)
        return self.status

    def _secret(self) -> tuple[Held, certs.Step]:
        """The Secret as it is to be now, written where that was due."""
        place = self._place
        path = f"/api/v1/namespaces/{place.namespace}/secrets/{place.secret}"
        for _ in range(_TRIES):
            found = self._connection.get(path)
            held = certs.read(_decoded(found.get("data") or {}))
            now = self._clock()
            what = certs.step(held, place.hosts, now)
            made = certs.after(held, what, place.hosts, now)
            if what == "keep":
                return made, what
            if held is not None and what in {"leaf", "switch"}:
                # A leaf is given out only where its authority is known to be announced.
                self._announce(held)
            data = {name: base64.b64encode(value).decode() for name, value in certs.write(made).items()}
            try:
                self._connection.send("PUT", path, {**found, "data": data})
            except ApiError as error:
                if error.code != _CONFLICT:
                    raise
                continue  # another replica was faster: look at what it wrote
            return made, what
        raise LiveError(f"Secret {place.namespace}/{place.secret} changes too fast to be written")

    def _announce(self, held: Held) -> None:
        """The caBundle of every webhook in our configuration holds what the Secret trusts.

        A replica that read the Secret just before another one changed it may put the bundle back for one look.
        That harms nothing: what is served is signed by an authority that both have.
        """
        path = f"{_HOOKS}/{self._place.configuration}"
        try:
            found = self._connection.get(path)
        except ApiError as error:
            if error.code == _ABSENT:  # nobody asks us yet, or any more
                return
            raise
        bundle = base64.b64encode(held.bundle).decode()
        hooks = found.get("webhooks") or []
        if all(hook["clientConfig"].get("caBundle") == bundle for hook in hooks):
            return
        version = found["metadata"]["resourceVersion"]
        patch: list[dict[str, Any]] = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
        for number, _ in enumerate(hooks):
            where = f"/webhooks/{number}/clientConfig/caBundle"
            patch.append({"op": "add", "path": where, "value": bundle})
        self._connection.send("PATCH", path, patch, kind="application/json-patch+json")

    def _serve(self, held: Held) -> None:
        """The files, each whole at every moment; the key first, so that a reader of both finds a pair or waits."""
        folder = Path(self._place.folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in (("tls.key", held.leaf.key), ("tls.crt", held.leaf.certificate)):
            file = folder / name
            with suppress(OSError):
                if file.read_bytes() == value:
                    continue
            _replace(file, value)


def _replace(file: Path, value: bytes) -> None:
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # readable by us alone
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(value)
        Path(beside).replace(file)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise


def _decoded(data: Mapping[str, str]) -> dict[str, bytes]:
    try:
        return {name: base64.b64decode(value, validate=True) for name, value in data.items()}
    except (binascii.Error, ValueError):
        return {}


def _utc() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
