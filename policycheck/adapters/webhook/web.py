"""The two faces of the server: reviews over TLS, health and metrics without."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from policycheck.adapters.webhook import review
from policycheck.adapters.webhook.answer import encode
from policycheck.adapters.webhook.review import BadReviewError

if TYPE_CHECKING:
    from policycheck.adapters.webhook.desk import Desk
    from policycheck.adapters.webhook.journal import Journal
    from policycheck.adapters.webhook.metrics import Metrics

CRITICAL, ADVISORY = "/validate-critical", "/validate-advisory"
SLOWEST = 5.0  # seconds in which a body has to be there
# Bodies that are read at one moment take at most so much: what is beyond waits for its turn.
MOST_HELD = 64 << 20


class _Weight:
    """Bytes of bodies that are in memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0

    def take(self, size: int) -> bool:
        """Whether there is room for so many more."""
        if self._held + size > self._most:
            return False
        self._held += size
        return True

    def give(self, size: int) -> None:
        """Gives back what was taken."""
        self._held -= size


def admission(desk: Desk, metrics: Metrics, journal: Journal, draining: Callable[[], bool]) -> Starlette:
    """Answers reviews at two paths, which differ in what is answered when nothing can be judged in time."""
    weight = _Weight(MOST_HELD)

    def endpoint(path: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            taken = _declared(request)
            if taken > review.MOST_BYTES:
                return _refused(
                    BadReviewError(413, f"{taken:,} bytes; at most {review.MOST_BYTES:,} are read")
                )
            if not weight.take(taken):
                return _refused(BadReviewError(503, "too much is being read at this moment; try again"))
            try:
                body = await _body(request)
                began = time.perf_counter()
                asked = review.read(body, request.headers.get("content-type", ""))
            except BadReviewError as error:
                return _refused(error)
            finally:
                weight.give(taken)
            del body
            metrics.busy.inc()
            try:
                wait = request.query_params.get("timeout", "")
                outcome = await desk.review(asked, wait, critical=path == CRITICAL)
            finally:
                metrics.busy.dec()
            spent = time.perf_counter() - began
            metrics.reviewed(asked, outcome, spent, path)
            journal.reviewed(asked, outcome, spent, path)
            headers = {"connection": "close"} if draining() else None
            return Response(encode(asked.uid, outcome.answer), 200, headers, "application/json")

        return answer

    def _refused(error: BadReviewError) -> Response:
        metrics.bad.labels(str(error.status)).inc()
        journal.bad("not a review", status=error.status, why=str(error))
        # What is left of the body is not read: the connection can not be used again.
        return PlainTextResponse(f"policycheck: {error}\n", error.status, {"connection": "close"})

    return Starlette(routes=[Route(path, endpoint(path), methods=["POST"]) for path in (CRITICAL, ADVISORY)])


def _declared(request: Request) -> int:
    """The bytes that a body says it has; the most that is read when it does not say."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else review.MOST_BYTES


async def _body(request: Request) -> bytes:
    """The whole body. Raises BadReviewError when it is too large, too slow, or ends early."""
    try:
        return await asyncio.wait_for(_read(request), SLOWEST)
    except TimeoutError as error:
        raise BadReviewError(408, f"the body took longer than {SLOWEST:g} seconds") from error
    except ClientDisconnect as error:
        raise BadReviewError(400, "the connection ended within the body") from error


async def _read(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > review.MOST_BYTES:
            raise BadReviewError(413, f"more than {review.MOST_BYTES:,} bytes")
        parts.append(part)
    return b"".join(parts)


def plain(metrics: Metrics, unready: Callable[[], str]) -> Starlette:
    """Health and metrics. ``unready`` says why requests should go elsewhere; "" when they may come."""

    async def livez(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        why = unready()
        return PlainTextResponse(f"not ready: {why}\n", 503) if why else PlainTextResponse("ok\n")

    async def numbers(_: Request) -> Response:
        text = await asyncio.get_running_loop().run_in_executor(None, metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return Starlette(routes=[Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", numbers)])
