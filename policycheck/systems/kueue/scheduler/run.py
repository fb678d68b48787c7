"""Cycles until nothing changes, a state repeats, or a bound is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policycheck.simulate.scheduler import EVICTED, PREEMPTING, RESERVED, Decision
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
    ran: int
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
    seen: dict[object, int] = {}
    loop: Loop | None = None
    number, ran = 1, 0
    quiet_states: set[object] = set()  # before cycles that did nothing, since the last that did
    while number <= most:
        for event in due.pop(number, ()):
            event(session)
        if not session.has_work():
            if not due:
                return Run(tuple(logs), evictions, True, ran, loop)
            number = max(number + 1, min(due))
            continue
        before = queue_state(session)
        decisions = session.cycle(start + (number - 1) * NANOS)
        session.settle()
        ran += 1
        log = _log(number, decisions, evictions)
        if log is None:
            if before in quiet_states and not due:
                return Run(tuple(logs), evictions, True, ran, loop)
            quiet_states.add(before)
        else:
            logs.append(log)
            quiet_states.clear()
            if log.preempting and not due and loop is None:
                loop = _repeats(seen, session, number)
                if loop is not None and stop_at_loop:
                    return Run(tuple(logs), evictions, False, ran, loop)
        number += 1
    return Run(tuple(logs), evictions, False, ran, loop)


def _log(number: int, decisions: Sequence[Decision], evictions: dict[str, int]) -> CycleLog | None:
    reserved = tuple(d for d in decisions if d.outcome == RESERVED)
    preempting = tuple(d for d in decisions if d.outcome in (PREEMPTING, EVICTED))
    for decision in preempting:
        for victim in decision.victims:
            evictions[victim.workload] = evictions.get(victim.workload, 0) + 1
    return CycleLog(number, reserved, preempting) if reserved or preempting else None


def queue_state(session: Session) -> object:
    """Who waits where, and how far each flavor scan is. Comparable between cycles without events."""
    return tuple(queue.signature for queue in session.queues.values())


def _repeats(seen: dict[object, int], session: Session, number: int) -> Loop | None:
    """The loop that the state after cycle ``number`` closes, if it does.

    Usage and queue lengths are compared first, and only states alike in those by their digest: a loop
    may so be seen one turn later than it could be, at a fraction of the cost.
    """
    outline = hash(
        (tuple(tuple(t.usage) for t in session.trees), tuple(q.waiting for q in session.queues.values()))
    )
    if outline not in seen:
        seen[outline] = number
        return None
    first = seen.setdefault(session.digest(), number)
    return Loop(first, number - first) if first != number else None
