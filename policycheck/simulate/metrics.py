"""Every number that an admission simulator can know of a Timeline, and of nothing else.

Times are in milliseconds, GPU time in units times milliseconds; what has no subject is None with a
reason, never 0. How busy an allocated accelerator is can not be known here and is not reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from policycheck.simulate.breakup import Fragmentation, fragmentation
from policycheck.simulate.fairness import Fairness, fairness
from policycheck.simulate.job import BATCH
from policycheck.simulate.passage import Passage, is_preemption, passages
from policycheck.simulate.preemption import Preemption, Work, preemption, work
from policycheck.simulate.quantile import Ratio, Spread
from policycheck.simulate.series import ClusterUse, QueueUse, cluster_use, queue_use
from policycheck.simulate.stuck import Held, held, is_held_up
from policycheck.simulate.timeline import FINISHED, PENDING, REFUSED, RUNNING, QueueLine, Timeline
from policycheck.simulate.topology import Topology, topology
from policycheck.simulate.waits import (
    NOT_STARTED,
    Completion,
    Stretch,
    Waits,
    completion,
    grouped,
    makespan,
    stretch,
    waits,
)


class Count(NamedTuple):
    """Jobs by where they are at the end. ``started``: admitted at least once; ``reserved``: had quota.
    ``running`` are admitted, ``holding`` has those too that have quota and are not admitted.
    """

    submitted: int
    reserved: int
    started: int
    finished: int
    running: int
    holding: int
    pending: int
    refused: int
    services: int


class QueueMetrics(NamedTuple):
    """One queue: its jobs, how they waited, and what it held."""

    name: str
    cohort: str
    nominal: int
    limit: int
    jobs: Count
    waits: Waits
    by_priority: tuple[tuple[int, Spread], ...]  # first waits, the highest priority first
    preempted: Ratio  # distinct jobs over jobs started
    use: QueueUse


class Group(NamedTuple):
    """The jobs of one priority or class, wherever they are. ``names`` are those of a priority's classes."""

    key: str
    names: tuple[str, ...]
    jobs: Count
    waits: Waits
    stretch: Stretch
    preempted: Ratio


class Effort(NamedTuple):
    """What the scheduler had to do. ``per_admission``: nominations over quota set aside."""

    cycles: int
    nominations: int
    per_admission: Ratio


class Metrics(NamedTuple):
    """All of it. ``outside`` are jobs that no queue holds quota for, ``later`` those that would have come
    after the end and count nowhere else.
    """

    resource: str
    end: int
    jobs: Count
    outside: int
    later: int
    waits: Waits
    completion: Completion
    stretch: Stretch
    makespan: int | None
    makespan_why: str
    cluster: ClusterUse
    queues: tuple[QueueMetrics, ...]
    priorities: tuple[Group, ...]  # the highest first
    classes: tuple[Group, ...]  # sorted by name
    preemption: Preemption
    work: Work
    fragmentation: Fragmentation
    topology: Topology
    fairness: Fairness
    held: Held
    effort: Effort


def measure(timeline: Timeline) -> Metrics:
    """Everything of one Timeline."""
    lived = passages(timeline)
    taken = preemption(timeline, lived)
    queues = _queues(timeline, lived, taken)
    jobs = _count(lived)
    reservations = sum(len(p.life.stays) for p in lived)
    span, span_why = makespan(lived)
    return Metrics(
        timeline.resource,
        timeline.end,
        jobs,
        sum(not p.life.queue for p in lived),
        len(timeline.lives) - len(lived),
        waits(lived),
        completion(lived),
        stretch(lived),
        span,
        span_why,
        cluster_use(timeline),
        queues,
        _priorities(lived),
        _classes(lived),
        taken,
        work(lived),
        fragmentation(timeline),
        topology(lived),
        fairness(timeline.queues, {q.name: q.use.share for q in queues}, lived),
        held(timeline, lived),
        Effort(
            timeline.cycles,
            timeline.nominations,
            Ratio(timeline.nominations, reservations, "no quota was set aside"),
        ),
    )


def _queues(timeline: Timeline, lived: Sequence[Passage], taken: Preemption) -> tuple[QueueMetrics, ...]:
    own = grouped(lived, lambda p: p.life.queue)
    return tuple(_queue(line, own.get(line.name, []), timeline.end, taken) for line in timeline.queues)


def _queue(line: QueueLine, own: Sequence[Passage], end: int, taken: Preemption) -> QueueMetrics:
    ranks = grouped(own, lambda p: p.life.job.priority)
    return QueueMetrics(
        line.name,
        line.cohort,
        line.nominal,
        line.limit,
        _count(own),
        waits(own),
        tuple((rank, waits(ranks[rank]).first) for rank in sorted(ranks, reverse=True)),
        taken.by_queue.get(line.name, Ratio(0, 0, NOT_STARTED)),
        queue_use(line, end),
    )


def _priorities(lived: Sequence[Passage]) -> tuple[Group, ...]:
    found = grouped(lived, lambda p: p.life.job.priority)
    return tuple(_group(str(rank), found[rank]) for rank in sorted(found, reverse=True))


def _classes(lived: Sequence[Passage]) -> tuple[Group, ...]:
    found = grouped(lived, lambda p: p.life.job.klass)
    return tuple(_group(name, found[name]) for name in sorted(found))


def _group(key: str, some: Sequence[Passage]) -> Group:
    names = sorted({p.life.job.priority_class for p in some} - {""})
    preempted = sum(any(map(is_preemption, p.life.stays)) for p in some if p.started)
    started = sum(p.started for p in some)
    return Group(
        key,
        tuple(names),
        _count(some),
        waits(some),
        stretch(some),
        Ratio(preempted, started, NOT_STARTED),
    )


def _count(some: Sequence[Passage]) -> Count:
    states = Counter(p.life.state for p in some)
    return Count(
        len(some),
        sum(bool(p.life.stays) for p in some),
        sum(p.started for p in some),
        states[FINISHED],
        states[RUNNING] - sum(map(is_held_up, (p.life for p in some))),
        states[RUNNING],
        states[PENDING],
        states[REFUSED],
        sum(p.life.job.nature != BATCH for p in some),
    )
