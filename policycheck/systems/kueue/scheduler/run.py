"""Cycles until nothing changes, a state repeats, or a bound is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policycheck.simulate.scheduler import PREEMPTING, RESERVED, Decision
from policycheck.systems.kueue.scheduler.moment import NANOS
from policycheck.systems.kueue.scheduler.session import Session

Event = Callable[[Session], None]


class CycleLog(NamedTuple):
    """A cycle that did something."""

    number: int
    reserved: tuple[Decision, ...]
    preempting: tuple[Decision, ...]


class Loop(NamedTuple):
    """Thrash: the state after cycle ``start`` came back ``period`` cycles later."""

    start: int
    period: int


class Run(NamedTuple):
    """What happened. ``converged``: nothing would change any more."""

    cycles: tuple[CycleLog, ...]
    evictions: Mapping[str, int]
    converged: bool
    count: int
    loop: Loop | None


def until_stable(
    session: Session,
    start: int,
    most: int,
    events: Mapping[int, Sequence[Event]] | None = None,
    *,
    stop_at_loop: bool = False,
) -> Run:
    """Run at most ``most`` cycles, one second apart, from ``start`` on; before cycle N (from 1) the
    events of N happen.

    A state that comes back after something changed is a loop; with ``stop_at_loop`` the run ends
    there, since it would go on for ever.
    """
    due = dict(events or {})
    logs: list[CycleLog] = []
    evictions: dict[str, int] = {}
    seen: dict[str, int] = {}
    loop: Loop | None = None
    converged = False
    number, before = 0, ""
    while number < most:
        number += 1
        for event in due.pop(number, ()):
            event(session)
            before = ""
        if not session.has_work():
            if not due:
                number, converged = number - 1, True
                break
            continue
        decisions = session.cycle(start + (number - 1) * NANOS)
        reserved = tuple(d for d in decisions if d.outcome == RESERVED)
        preempting = tuple(d for d in decisions if d.outcome == PREEMPTING)
        for decision in preempting:
            for victim in decision.victims:
                evictions[victim.workload] = evictions.get(victim.workload, 0) + 1
        session.settle()
        if reserved or preempting:
            logs.append(CycleLog(number, reserved, preempting))
            before = ""
            if preempting and not due and loop is None:
                loop = _repeats(seen, session.digest(), number)
                if loop is not None and stop_at_loop:
                    break
        elif not due:
            now = session.digest()
            if now == before:
                converged = True
                break
            before = now
    else:
        converged = not session.has_work()
    return Run(tuple(logs), evictions, converged, number, loop)


def _repeats(seen: dict[str, int], digest: str, number: int) -> Loop | None:
    first = seen.setdefault(digest, number)
    return Loop(first, number - first) if first != number else None
