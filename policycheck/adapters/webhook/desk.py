"""Where requests wait their turn, and nobody waits longer than the API server does.

One thread judges work, which is quick and comes by the hundred; another one the configuration, of which a change
may concern every queue. So the one does not wait for the other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from policycheck.adapters.webhook.review import Request, seconds
from policycheck.adapters.webhook.service import Service
from policycheck.record import NamedTuple
from policycheck.systems.kueue.jobs import FRAMEWORKS

if TYPE_CHECKING:
    from policycheck.adapters.webhook.service import Outcome

DEFAULT, LONGEST = 10.0, 30.0  # seconds that the API server waits: when it does not say, and at most
SHARE = 0.8  # of that is ours
MOST_WAITING = 512  # requests; more than that can not be answered in time anyway


class Lane(NamedTuple):
    """A service and the one thread that it works in."""

    service: Service
    thread: ThreadPoolExecutor


class Desk:
    """Hands requests to one of two services, one after another, each with its deadline."""

    def __init__(self, work: Service, configuration: Service, ready: Callable[[], str]) -> None:
        self.service = work  # answers what needs no judging
        self._work = Lane(work, ThreadPoolExecutor(1, thread_name_prefix="work"))
        self._configuration = Lane(configuration, ThreadPoolExecutor(1, thread_name_prefix="configuration"))
        self._ready = ready  # why nothing can be judged; "" when all is in sight
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
        lane = self._work if is_work(request) else self._configuration
        work = asyncio.get_running_loop().run_in_executor(
            lane.thread, _until, lane.service, request, end, critical
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
        for lane in (self._work, self._configuration):
            lane.thread.shutdown(wait=False, cancel_futures=True)


def is_work(request: Request) -> bool:
    """Whether a request is about work for queues."""
    return request.kind == "Workload" or (request.group, request.kind) in FRAMEWORKS


def _until(service: Service, request: Request, end: float, critical: bool) -> Outcome:
    def late() -> bool:
        return time.monotonic() >= end

    return service.late(critical=critical) if late() else service.review(request, late, critical=critical)


def allowance(timeout: str) -> float:
    """Seconds that an answer may take, of the ``timeout`` that the API server sends with its request."""
    given = seconds(timeout)
    return SHARE * min(LONGEST, DEFAULT if given is None or given <= 0 else given)
