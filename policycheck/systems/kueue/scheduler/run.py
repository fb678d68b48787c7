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


class Course:
    """A run as far as it has come; ``number`` is the next cycle. It may be gone on with from a copy."""

    __slots__ = ("evictions", "logs", "loop", "number", "quiet", "ran", "seen")

    def __init__(self) -> None:
        self.number, self.ran = 1, 0
        self.logs: list[CycleLog] = []
        self.evictions: dict[str, int] = {}
        self.seen: dict[object, int] = {}
        self.quiet: set[object] = set()  # states before cycles that did nothing, since the last that did
        self.loop: Loop | None = None

    def copy(self) -> Course:
        """An independent copy."""
        made = Course()
        made.number, made.ran, made.loop = self.number, self.ran, self.loop
        made.logs, made.evictions = list(self.logs), dict(self.evictions)
        made.seen, made.quiet = dict(self.seen), set(self.quiet)
        return made

    def end(self, *, converged: bool) -> Run:
        """What happened so far."""
        return Run(tuple(self.logs), self.evictions, converged, self.ran, self.loop)


def until_stable(
    session: Session,
    start: int,
    most: int,
    events: Mapping[int, Sequence[Event]] | None = None,
    *,
    stop_at_loop: bool = False,
    course: Course | None = None,
    pause: int = 0,
) -> Run:
    """Run at most ``most`` cycles, one second apart, from ``start`` on; before cycle N (from 1) the
    events of N happen.

    A state that comes back after something changed is a loop; with ``stop_at_loop`` the run ends
    there, since it would go on for ever. With ``course`` it goes on from there, and leaves there how far it came;
    with ``pause`` it stops before the events of that cycle, at which something is still to happen.
    """
    due: dict[int, Sequence[Event]] = dict(events or {})
    if pause:
        due[pause] = ()
    at = Course() if course is None else course
    while at.number <= most and at.number != pause:
        for event in due.pop(at.number, ()):
            event(session)
        if not session.has_work():
            if not due:
                return at.end(converged=True)
            at.number = max(at.number + 1, min(due))
            continue
        before = queue_state(session)
        decisions = session.cycle(start + (at.number - 1) * NANOS)
        session.settle()
        at.ran += 1
        log = _log(at.number, decisions, at.evictions)
        if log is None:
            if before in at.quiet and not due:
                return at.end(converged=True)
            at.quiet.add(before)
        else:
            at.logs.append(log)
            at.quiet.clear()
            if log.preempting and not due and at.loop is None:
                at.loop = _repeats(at.seen, session, at.number)
                if at.loop is not None and stop_at_loop:
                    return at.end(converged=False)
        at.number += 1
    return at.end(converged=False)


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
