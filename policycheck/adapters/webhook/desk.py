"""Where requests wait their turn: one thread judges, and nobody waits longer than the API server does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from policycheck.adapters.webhook.review import Request, seconds

if TYPE_CHECKING:
    from policycheck.adapters.webhook.service import Outcome, Service

DEFAULT, LONGEST = 10.0, 30.0  # seconds that the API server waits: when it does not say, and at most
SHARE = 0.8  # of that is ours
MOST_WAITING = 512  # requests; more than that can not be answered in time anyway


class Desk:
    """Hands requests to the service, one after another, each with its deadline."""

    def __init__(self, service: Service, ready: Callable[[], str]) -> None:
        self.service = service
        self._ready = ready  # why nothing can be judged; "" when all is in sight
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="judge")
        self.waiting = 0

    async def review(self, request: Request, said: str, *, critical: bool) -> Outcome:
        """The answer, in time."""
        quick = self.service.at_once(request)
        if quick is not None:
            return quick
        why = self._ready()
        if why:
            return self.service.unready(why, critical=critical)
        if self.waiting >= MOST_WAITING:
            return self.service.failed(f"{self.waiting} requests wait", critical=critical)
        end = time.monotonic() + allowance(said)
        work = asyncio.get_running_loop().run_in_executor(
            self._thread, _until, self.service, request, end, critical
        )
        self.waiting += 1
        work.add_done_callback(self._done)
        done, _ = await asyncio.wait({work}, timeout=max(0.0, end - time.monotonic()))
        return work.result() if done else self.service.late(critical=critical)

    def _done(self, work: asyncio.Future[Outcome]) -> None:
        self.waiting -= 1
        if not work.cancelled():
            work.exception()  # taken note of; an answer was given without it

    def close(self) -> None:
        """No more requests; what is judged now may end."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _until(service: Service, request: Request, end: float, critical: bool) -> Outcome:
    def late() -> bool:
        return time.monotonic() >= end

    return service.late(critical=critical) if late() else service.review(request, late, critical=critical)


def allowance(timeout: str) -> float:
    """Seconds that an answer may take, of the ``timeout`` that the API server sends with its request."""
    given = seconds(timeout)
    return SHARE * min(LONGEST, DEFAULT if given is None or given <= 0 else given)
