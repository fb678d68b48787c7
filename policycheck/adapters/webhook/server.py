"""The process: two listeners, files that are taken up again, signals, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from policycheck.adapters.webhook.keypair import KeyPair
from policycheck.record import NamedTuple

# Go keeps idle connections for 90 seconds and does not repeat a POST that was cut off: it has to be the first to end.
KEEP_ALIVE = 120
HEADERS = 10.0  # seconds in which the head of a request has to be there
MOST_CONNECTIONS = 1000
EVERY = 1.0  # seconds between looks at files
GRACE = 20  # seconds for what is under way when all ends


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 that does not wait for ever for the head of a first request."""

    def connection_made(self, transport: Any) -> None:
        """Starts the clock."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEADERS, self._give_up)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._late.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._late.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that leaves signals to the process that it is a part of."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled once for all listeners."""
        yield


def _server(app: Starlette, place: Address, pair: KeyPair | None) -> _Server:
    config = uvicorn.Config(
        app,
        host=place.host,
        port=place.port,
        http=_Protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
    )
    config.load()
    config.ssl = pair.context if pair is not None else None
    return _Server(config)


class Faces(NamedTuple):
    """What is served where."""

    admission: Starlette
    plain: Starlette
    at: Address
    plain_at: Address
    pair: KeyPair | None  # None: without TLS, for whoever ends it elsewhere


class Life:
    """Whether the process is about to end. ``draining`` may be asked at any time."""

    def __init__(self, drain: float) -> None:
        self.draining = False
        self._drain = drain
        self._end = asyncio.Event()

    def stop(self) -> None:
        """Begins the end: not ready any more, and gone when everybody had time to notice."""
        if not self.draining:
            self.draining = True
            asyncio.get_running_loop().call_later(self._drain, self._end.set)
        else:
            self._end.set()  # asked twice: now

    async def ended(self) -> None:
        """Waits for the end."""
        await self._end.wait()


async def run(faces: Faces, life: Life, tick: Callable[[], None], say: Callable[..., None]) -> None:
    """Serves until SIGTERM or SIGINT. ``tick`` is called now and then, in a thread. Raises OSError for an address
    that can not be had.
    """
    listeners = [
        _server(faces.admission, faces.at, faces.pair),
        _server(faces.plain, faces.plain_at, None),
    ]
    sockets = [_bound(place) for place in (faces.at, faces.plain_at)]
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(name, life.stop)
    served = [
        asyncio.create_task(one.serve(sockets=[sock])) for one, sock in zip(listeners, sockets, strict=True)
    ]
    ticking = asyncio.create_task(_tick(tick, say))
    admission, plain = (sock.getsockname()[:2] for sock in sockets)
    say("info", "serving", admission=f"{admission[0]}:{admission[1]}", plain=f"{plain[0]}:{plain[1]}")
    ending = asyncio.create_task(life.ended())
    await asyncio.wait({ending, *served}, return_when=asyncio.FIRST_COMPLETED)
    say("info", "ending")
    # Health is told until the last review is answered.
    for one, task in zip(listeners, served, strict=True):
        one.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await task
    for task in (ticking, ending):
        task.cancel()
    say("info", "ended")


def _bound(place: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((place.host, place.port))
    except OSError:
        made.close()
        raise
    made.listen(2048)
    return made


async def _tick(tick: Callable[[], None], say: Callable[..., None]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(EVERY)
        try:
            await loop.run_in_executor(None, tick)
        except Exception as error:  # noqa: BLE001 - the next look may fare better; answers go on
            say("error", "a look at files or the cluster failed", why=f"{type(error).__name__}: {error}")
