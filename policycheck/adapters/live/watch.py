"""One kind, kept up with: a list, then every change, then a list again when the server has forgotten where we were.

What is promised: after every list the world holds exactly what the server holds; every change after that is
taken in order. A kind of which nothing changes may be silent for many minutes, bookmarks or not, and then looks
like a connection that is dead. So every watch is short: the server ends it after a minute or so, and that the
next one is taken up from the same place is the sign of life. Nothing that goes wrong ends the thread: it is told
(``status``) and tried again, each time later.

Source: Kubernetes documentation, "API concepts": efficient detection of changes, 410, and that bookmarks come at
no interval that a client may rely on.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, Protocol

from policycheck.adapters.live.connect import ApiError, Connection, LiveError
from policycheck.adapters.live.kinds import Served, discover
from policycheck.adapters.live.listing import GONE, Listing, whole
from policycheck.model.cluster import GroupKind
from policycheck.record import NamedTuple

WATCH = (50, 80)  # seconds after which the server ends a watch; drawn, so that not all end at once
LATE = 20.0  # seconds that the end may be late before the connection is taken for dead
SHORT = 5.0  # seconds: a watch that ended sooner, with no news, is tried again later
FIRST, LONGEST = 0.5, 30.0  # seconds between tries, doubled from one to the next
RECHECK = 60.0  # seconds until a kind that was not served, or not ours to read, is tried again

_CALM = frozenset({"starting", "watching", "absent", "stopped"})

State = Literal["starting", "watching", "absent", "forbidden", "failing", "stopped"]


class Sink(Protocol):
    """What takes the news: ``app.world.World``."""

    def put(self, value: Mapping[str, Any], *, now: float) -> None:
        """An object as it is now."""
        ...

    def drop(
        self, api_version: str, kind: str, namespace: str, name: str, *, version: str, now: float
    ) -> None:
        """An object is gone."""
        ...

    def replace_all(
        self, kind: GroupKind, values: Iterator[Mapping[str, Any]], *, version: str, now: float
    ) -> int:
        """Exactly these objects exist."""
        ...

    def heard(self, kind: GroupKind, *, version: str, now: float) -> None:
        """The watch is alive."""
        ...

    def absent(self, kind: GroupKind, *, now: float) -> None:
        """The server has no such kind."""
        ...


class Tell(Protocol):
    """Takes a line for a log."""

    def __call__(self, level: str, message: str, **fields: Any) -> None:
        """``level`` is info, warning or error."""
        ...


def nobody(level: str, message: str, **fields: Any) -> None:
    """Tells nobody."""


class Status(NamedTuple):
    """How one watch fares. ``lists`` counts whole lists taken, ``failures`` what went wrong since the start."""

    kind: GroupKind
    state: State = "starting"
    why: str = ""
    lists: int = 0
    failures: int = 0


class Watcher:
    """Keeps up with one kind until ``stop`` is set. ``now`` is the clock of the world."""

    def __init__(
        self,
        connection: Connection,
        kind: GroupKind,
        sink: Sink,
        *,
        now: Callable[[], float],
        stop: threading.Event,
        tell: Tell = nobody,
    ) -> None:
        self._connection = connection
        self._tell = tell
        self._sink = sink
        self._now = now
        self._stop = stop
        # Spreads reconnects of many watchers; what comes of it is no result of ours.
        self._draw = random.Random(f"{kind}")  # noqa: S311
        self.status = Status(kind)

    def run(self) -> None:
        """Lists and watches; returns when stopped."""
        pause = FIRST
        while not self._stop.is_set():
            try:
                served = self._served()
                if served is not None:
                    began = self._now()
                    self._follow(served, self._list(served))
                    # A server that forgets at once what it listed would be asked for all of it without end.
                    pause = FIRST if self._now() - began > LONGEST else min(2 * pause, LONGEST)
                wait = RECHECK if served is None else pause
            except ApiError as error:
                forbidden = error.code in {401, 403}
                self._told("forbidden" if forbidden else "failing", str(error))
                wait, pause = pause, min(2 * pause, RECHECK if forbidden else LONGEST)
            except LiveError as error:
                self._told("failing", str(error))
                wait, pause = pause, min(2 * pause, LONGEST)
            except Exception as error:  # noqa: BLE001 - a thread that dies would leave an old picture behind
                self._told("failing", f"{type(error).__name__}: {error}")
                wait, pause = pause, min(2 * pause, LONGEST)
            self._stop.wait(wait * self._draw.uniform(0.75, 1.25))
        self._now_is("stopped")

    def _now_is(self, state: State, why: str = "", *, lists: int = 0, failures: int = 0) -> None:
        """Notes how the watch fares, and tells when that is news."""
        before = self.status
        self.status = Status(before.kind, state, why, before.lists + lists, before.failures + failures)
        if before.state != state:
            level = "info" if state in _CALM else "warning"
            self._tell(level, "watch", kind=before.kind[1], group=before.kind[0], state=state, why=why)

    def _told(self, state: State, why: str) -> None:
        self._now_is(state, why, failures=1)

    def _served(self) -> Served | None:
        kind = self.status.kind
        found = discover(self._connection.get, (kind,))
        if kind in found.served:
            return found.served[kind]
        if kind[0] in found.broken:
            raise LiveError(found.broken[kind[0]])
        self._sink.absent(kind, now=self._now())
        self._now_is("absent", "the server has no such kind")
        return None

    def _list(self, served: Served) -> str:
        listing = Listing(self._connection.get, served)
        self._sink.replace_all(served.group_kind, iter(listing), version=listing.version, now=self._now())
        # The version is known once all came; the list is as new as the moment at which it ended.
        self._sink.heard(served.group_kind, version=listing.version, now=self._now())
        self._now_is("watching", lists=1)
        return listing.version

    def _follow(self, served: Served, version: str) -> None:
        """Takes changes from ``version`` on; returns when a list is needed. Raises ApiError that is no 410."""
        at, pause = version, FIRST
        while not self._stop.is_set():
            before, began = at, self._now()
            try:
                for newer in self._changes(served, before):
                    at = newer
            except ApiError as error:
                if error.code == GONE:
                    return
                if error.code in {401, 403, 404}:
                    raise
                self._told("failing", str(error))
            except LiveError as error:
                self._told("failing", str(error))
            if at != before or self._now() - began > SHORT:
                pause = FIRST
                continue
            # An end at once and without any news, over and over, must not become a loop without rest.
            self._stop.wait(pause * self._draw.uniform(0.75, 1.25))
            pause = min(2 * pause, LONGEST)

    def _changes(self, served: Served, version: str) -> Iterator[str]:
        """One watch: takes every event in, and gives the version after each."""
        import msgspec

        seconds = self._draw.randint(*WATCH)
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        with self._connection.stream(served.path, params, silence=seconds + LATE) as lines:
            self._now_is("watching")
            self._sink.heard(served.group_kind, version=version, now=self._now())
            for line in lines:
                if self._stop.is_set():
                    return
                try:
                    event = msgspec.json.decode(line)
                    yield self._event(served, event["type"], event["object"])
                except (msgspec.DecodeError, KeyError, TypeError) as error:
                    raise LiveError(f"an event of {served.plural} can not be read: {error!r}") from error

    def _event(self, served: Served, what: str, value: dict[str, Any]) -> str:
        if what == "ERROR":
            raise ApiError(int(value.get("code") or 500), str(value.get("message") or value))
        meta = value["metadata"]
        version = str(meta["resourceVersion"])
        now = self._now()
        if what == "BOOKMARK":
            self._sink.heard(served.group_kind, version=version, now=now)
        elif what == "DELETED":
            place = (str(meta.get("namespace") or ""), str(meta["name"]))
            self._sink.drop(served.api_version, served.kind, *place, version=version, now=now)
        else:
            self._sink.put(whole(value, served), now=now)
        return version


class Feed:
    """All watched kinds of one cluster, a thread each, into one sink."""

    def __init__(
        self,
        connection: Connection,
        sink: Sink,
        kinds: tuple[GroupKind, ...],
        *,
        now: Callable[[], float],
        tell: Tell = nobody,
    ) -> None:
        self._connection = connection
        self._stop = threading.Event()
        self._watchers = [
            Watcher(connection, kind, sink, now=now, stop=self._stop, tell=tell) for kind in kinds
        ]
        self._threads = [
            threading.Thread(target=one.run, name=f"watch {one.status.kind[1]}", daemon=True)
            for one in self._watchers
        ]

    def start(self) -> None:
        """Begins; returns at once."""
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """Ends all watches and the connection, and waits for the threads, ``seconds`` at most in all."""
        self._stop.set()
        with suppress(Exception):
            self._connection.close()
        for thread in self._threads:
            thread.join(seconds / max(1, len(self._threads)))

    @property
    def status(self) -> tuple[Status, ...]:
        """How every watch fares."""
        return tuple(one.status for one in self._watchers)
