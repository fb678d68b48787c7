"""What a Service does: connections to its address go to a replica that is ready."""

import itertools
import socket
import threading
import time
from contextlib import suppress

import httpx2 as httpx


class Balancer:
    """Relays TCP from one address to replicas; ``replicas`` are (port, address of its readiness).

    A replica that is not ready gets no new connection, and one that refuses a connection is passed over.
    """

    def __init__(self, address, replicas):
        self.replicas = list(replicas)
        self.ready = set()
        self.turn = itertools.count()
        self.stopped = threading.Event()
        self.listener = socket.create_server(address, backlog=256)
        for target in (self._accept, self._probe):
            threading.Thread(target=target, daemon=True).start()

    def close(self):
        self.stopped.set()
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def wait(self, count, seconds=90):
        """Until so many are ready."""
        end = time.monotonic() + seconds
        while len(self.ready) < count:
            assert time.monotonic() < end, (
                f"{len(self.ready)} of {count} replicas are ready after {seconds} s"
            )
            time.sleep(0.05)

    def _probe(self):
        while not self.stopped.wait(0.2):
            for port, url in self.replicas:
                try:
                    is_ready = httpx.get(url, timeout=2, trust_env=False).status_code == 200
                except httpx.HTTPError:
                    is_ready = False
                (self.ready.add if is_ready else self.ready.discard)(port)

    def _accept(self):
        while not self.stopped.is_set():
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        ready = [port for port, _ in self.replicas if port in self.ready]
        start = next(self.turn)
        with client:
            for number in range(len(ready)):
                try:
                    port = ready[(start + number) % len(ready)]
                    server = socket.create_connection(("127.0.0.1", port), timeout=2)
                except OSError:
                    continue
                with server:
                    server.settimeout(None)
                    back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                    back.start()
                    _pump(client, server)
                    back.join()
                return


def _pump(source, sink):
    """Until the source ends; then neither side is written to any more."""
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
