"""What was taken from whom, what that cost, and what was taken back again.

The rate is over jobs, not over pods or attempts: else one gang that thrashes hides everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from policycheck.simulate.job import SECOND
from policycheck.simulate.passage import Passage, evicted, is_preemption
from policycheck.simulate.quantile import Ratio
from policycheck.simulate.timeline import Loop, Timeline
from policycheck.simulate.waits import NOT_STARTED

Key = TypeVar("Key", str, int)

HEALTHY = Ratio(5, 100)  # distinct jobs preempted over jobs started: above this line it is felt
OFTEN = 3  # preemptions of one job that count as thrash
WINDOW = 3600 * SECOND  # in which taking from each other counts as thrash


class Eviction(NamedTuple):
    """One reason for which workloads lost their quota: how often, of how many jobs."""

    reason: str
    times: int
    jobs: int
    per_start: Ratio


class Exchange(NamedTuple):
    """Two workloads that took from each other within WINDOW."""

    first: str
    second: str
    times: int


class Thrash(NamedTuple):
    """``often``: jobs preempted OFTEN times or more, with how often; ``loops``: states that repeated."""

    often: tuple[tuple[str, int], ...]
    exchanges: tuple[Exchange, ...]
    loops: tuple[Loop, ...]

    @property
    def found(self) -> bool:
        """Whether there is any."""
        return bool(self.often or self.exchanges or self.loops)


class Preemption(NamedTuple):
    """``share``: distinct jobs preempted at least once over jobs started; the same by queue, priority and
    the system's reason. ``evictions`` by reason of eviction, ``causes`` by reason of preemption.
    """

    share: Ratio
    by_queue: Mapping[str, Ratio]
    by_priority: Mapping[int, Ratio]
    by_reason: Mapping[str, Ratio]
    starts: int  # admissions, with every one anew after an eviction
    evictions: tuple[Eviction, ...]
    causes: tuple[Eviction, ...]
    thrash: Thrash

    @property
    def healthy(self) -> bool | None:
        """Whether the share is below the line; None when nothing started."""
        share = self.share
        return share.part * HEALTHY.whole < HEALTHY.part * share.whole if share.whole else None


class Work(NamedTuple):
    """What was done with what was admitted, in units times milliseconds. ``wasted``: thrown away over all
    that ran; ``goodput``: useful over all that was admitted; ``service``: services over all admitted.
    """

    held: int
    run: int
    lost: int
    wasted: Ratio
    goodput: Ratio
    service: Ratio


def preemption(timeline: Timeline, passages: Sequence[Passage]) -> Preemption:
    """Who was preempted, how often and why."""
    started = [p for p in passages if p.started]
    hit = {p.life.job.id for p in started if any(map(is_preemption, p.life.stays))}
    starts = sum(stay.admitted >= 0 for p in passages for stay in p.life.stays)
    lost = [(p.life.job.id, stay) for p in passages for stay in evicted(p.life)]
    causes = _evictions(((job, s.cause) for job, s in lost if s.cause), starts)
    return Preemption(
        Ratio(len(hit), len(started), NOT_STARTED),
        _shares(started, hit, lambda p: p.life.queue),
        _shares(started, hit, lambda p: p.life.job.priority),
        {one.reason: Ratio(one.jobs, len(started), NOT_STARTED) for one in causes},
        starts,
        _evictions(((job, s.ended_by) for job, s in lost), starts),
        causes,
        _thrash(timeline, passages),
    )


def work(passages: Sequence[Passage]) -> Work:
    """What ran, what of it was thrown away, and how much of it served."""
    held = run = lost = service = 0
    for one in passages:
        amount = one.life.amount
        held += one.held * amount
        run += one.run * amount
        lost += one.lost * amount
        service += 0 if one.life.job.nature == "batch" else one.held * amount
    nothing = "nothing ran"
    return Work(
        held,
        run,
        lost,
        Ratio(lost, run, nothing),
        Ratio(max(0, run - lost), held, nothing),
        Ratio(service, held, nothing),
    )


def _shares(started: Sequence[Passage], hit: set[str], key: Callable[[Passage], Key]) -> dict[Key, Ratio]:
    whole = Counter(key(p) for p in started)
    part = Counter(key(p) for p in started if p.life.job.id in hit)
    return {name: Ratio(part[name], whole[name], NOT_STARTED) for name in sorted(whole)}


def _evictions(lost: Iterable[tuple[str, str]], starts: int) -> tuple[Eviction, ...]:
    """By reason, the most frequent first."""
    found: dict[str, list[str]] = {}
    for job, reason in lost:
        found.setdefault(reason, []).append(job)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        Eviction(reason, len(jobs), len(set(jobs)), Ratio(len(jobs), starts, NOT_STARTED))
        for reason, jobs in ordered
    )


def _thrash(timeline: Timeline, passages: Sequence[Passage]) -> Thrash:
    often = []
    takings: list[tuple[int, str, str]] = []  # when, who took, from whom
    for one in passages:
        taken = [stay for stay in one.life.stays if is_preemption(stay)]
        if len(taken) >= OFTEN:
            often.append((one.life.job.id, len(taken)))
        takings.extend((stay.ended, stay.by, one.life.job.id) for stay in taken if stay.by)
    often.sort(key=lambda item: (-item[1], item[0]))
    return Thrash(tuple(often), _exchanges(sorted(takings)), timeline.loops)


def _exchanges(takings: Sequence[tuple[int, str, str]]) -> tuple[Exchange, ...]:
    last: dict[tuple[str, str], int] = {}
    found: Counter[tuple[str, str]] = Counter()
    for at, taker, victim in takings:
        before = last.get((victim, taker))
        if before is not None and at - before <= WINDOW:
            found[min(taker, victim), max(taker, victim)] += 1
        last[taker, victim] = at
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Exchange(*pair, times) for pair, times in ordered)
