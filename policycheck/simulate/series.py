"""Integrals over what queues and nodes hold in time. Everything is units times milliseconds, exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from policycheck.model.amount import UNLIMITED
from policycheck.simulate.quantile import Ratio, Spread, spread
from policycheck.simulate.timeline import PENDING, QueueLine, Step, Supply, Timeline

NO_TIME = "the scenario has no length"
NODES, QUOTA = "nodes", "quota"  # what capacity is counted by


class QueueUse(NamedTuple):
    """One queue over the whole scenario.

    A queue asks for its guarantee while it uses any of its nominal quota, or has work pending that would
    fit into what is left of it. ``honoured`` is the share of that time in which nothing such was pending,
    ``honoured_amount`` what it used of the GPU time that it asked for so. ``reclaims`` are the times from
    when work that fits into the nominal quota began to wait until none did. ``share`` is used over
    entitled: the lesser of nominal quota and all that it used or waited for.
    """

    used: int
    borrowed: int  # beyond the nominal quota
    peak: int
    utilisation: Ratio  # of the nominal quota; above 1 it borrowed
    honoured: Ratio
    honoured_amount: Ratio
    reclaims: Spread
    share: Ratio
    waiting: Ratio  # share of time in which anything waits


class ClusterUse(NamedTuple):
    """All queues together against capacity: usable nodes, or nominal quota where nodes are not known.

    ``saturated``: share of time in which what waits, and may be used by its queue, is at least all that
    is free; ``at_saturation`` is the utilisation in that time, the figure by which packing compares.
    ``waiting``: share of time in which anything waits that could be had if there were room.
    """

    basis: str  # NODES | QUOTA
    capacity: int  # the most there was at once, in units
    allocated: Ratio
    saturated: Ratio
    at_saturation: Ratio
    waiting: Ratio


def spans(steps: Sequence[Step], end: int) -> Iterator[tuple[int, Step]]:
    """How long each step holds."""
    for number, step in enumerate(steps):
        until = steps[number + 1].at if number + 1 < len(steps) else end
        if until > step.at:
            yield until - step.at, step


def queue_use(line: QueueLine, end: int) -> QueueUse:
    """The integrals of one queue."""
    limited = line.nominal < UNLIMITED
    used = borrowed = peak = received = asked = asking = unmet = waiting = entitled = got = 0
    for length, step in spans(line.steps, end):
        own = min(step.used, line.nominal)
        wants = min(line.nominal, step.used + step.fitting)
        due = min(line.nominal, step.used + step.waiting)
        used += length * step.used
        borrowed += length * (step.used - own)
        peak = max(peak, step.used)
        waiting += length * (step.jobs > 0)
        asking += length * (wants > 0)
        unmet += length * (step.fitting > 0)
        received += length * own
        asked += length * wants
        entitled += length * due
        got += length * step.used * (due > 0)
    none = "it never asked for any of its nominal quota" if line.nominal else "it has no nominal quota"
    no_quota = "its nominal quota has no limit" if not limited else NO_TIME if not end else none
    return QueueUse(
        used,
        borrowed,
        peak,
        Ratio(used, line.nominal * end if limited else 0, no_quota),
        Ratio(asking - unmet, asking, none if end else NO_TIME),
        Ratio(received, asked, none if end else NO_TIME),
        _reclaims(line, end),
        Ratio(got, entitled, none if end else NO_TIME),
        Ratio(waiting, end, NO_TIME),
    )


def _reclaims(line: QueueLine, end: int) -> Spread:
    since = -1
    done: list[int] = []
    for step in line.steps:
        if step.fitting > 0 and since < 0:
            since = step.at
        elif step.fitting == 0 and since >= 0:
            done.append(step.at - since)
            since = -1
    still = [end - since] if since >= 0 else []
    return spread(done, still, "nothing that fits into its nominal quota ever waited")


def _basis(timeline: Timeline) -> str:
    """What the steps of supply count; without nodes, quota stands in for them."""
    quota = sum(line.nominal for line in timeline.queues if line.nominal < UNLIMITED)
    placed = any(one.largest >= 0 or one.fragment >= 0 or one.total != quota for one in timeline.supply)
    return NODES if placed else QUOTA


class _Total(NamedTuple):
    """All queues between two moments: ``wanted`` waits and is within what its queue may use."""

    length: int
    used: int
    wanted: int
    total: int
    free: int


def cluster_use(timeline: Timeline) -> ClusterUse:
    """The integrals of all queues together."""
    allocated = capacity = saturated = full = full_capacity = waiting = most = 0
    for span in _sweep(timeline):
        taken = span.total - span.free
        allocated += span.length * taken
        capacity += span.length * span.total
        most = max(most, span.total)
        waiting += span.length * (span.wanted > 0)
        if span.wanted > 0 and span.wanted >= span.free:
            saturated += span.length
            full += span.length * taken
            full_capacity += span.length * span.total
    end = timeline.end
    return ClusterUse(
        _basis(timeline),
        most,
        Ratio(allocated, capacity, "there was no capacity at any time" if end else NO_TIME),
        Ratio(saturated, end, NO_TIME),
        Ratio(full, full_capacity, "demand never reached what was free" if end else NO_TIME),
        Ratio(waiting, end, NO_TIME),
    )


def _sweep(timeline: Timeline) -> Iterator[_Total]:
    """All moments at which anything changes, in order. What can never run is no demand."""
    lines = timeline.queues
    state = [[0, 0, 0, line.limit] for line in lines]  # used, waiting, never, limit
    used = wanted = 0
    quota = sum(line.nominal for line in lines if line.nominal < UNLIMITED)
    supply = timeline.supply[0] if timeline.supply else None
    before = 0
    for at, queue, change in _changes(timeline):
        if at > before:
            yield _total(min(at, timeline.end) - before, used, wanted, supply, quota)
            before = at
        if at >= timeline.end:
            return
        if isinstance(change, Supply):
            supply = change
            continue
        one = state[queue]
        used -= one[0]
        wanted -= _wanted(one)
        if isinstance(change, Step):
            one[0], one[1] = change.used, change.waiting
        else:
            one[2] += change
        used += one[0]
        wanted += _wanted(one)
    yield _total(timeline.end - before, used, wanted, supply, quota)


def _wanted(state: Sequence[int]) -> int:
    used, waiting, never, limit = state
    return max(0, min(waiting - never, limit - used))


def _total(length: int, used: int, wanted: int, supply: Supply | None, quota: int) -> _Total:
    if supply is None:
        return _Total(length, used, wanted, quota, max(0, quota - used))
    return _Total(length, used, wanted, supply.total, supply.free)


def _changes(timeline: Timeline) -> list[tuple[int, int, Step | Supply | int]]:
    """Every change as (when, number of the queue, what), in order of time."""
    numbers = {line.name: n for n, line in enumerate(timeline.queues)}
    found: list[tuple[int, int, Step | Supply | int]] = [
        (step.at, n, step) for n, line in enumerate(timeline.queues) for step in line.steps
    ]
    found.extend((one.at, -1, one) for one in timeline.supply)
    found.extend(_never(timeline, numbers))
    found.sort(key=lambda change: change[:2])
    return found


def _never(timeline: Timeline, numbers: Mapping[str, int]) -> Iterable[tuple[int, int, int]]:
    """What is larger than its queue may ever use, or than there ever was."""
    most = max((one.total for one in timeline.supply), default=UNLIMITED)
    for life in timeline.lives:
        number = numbers.get(life.queue)
        if number is None or life.stays or life.state != PENDING:
            continue
        if life.amount > min(timeline.queues[number].limit, most):
            yield life.job.submit, number, life.amount
