"""The metrics of a simulation as plain values, with an account of those that are not known."""

from __future__ import annotations

from typing import Any

from policycheck.model.amount import UNLIMITED
from policycheck.simulate.breakup import Fragmentation
from policycheck.simulate.metrics import Count, Group, Metrics, QueueMetrics
from policycheck.simulate.preemption import HEALTHY, Eviction, Preemption, Thrash
from policycheck.simulate.quantile import Number, Ratio, Spread
from policycheck.simulate.stuck import Stuck
from policycheck.simulate.timeline import Supply
from policycheck.simulate.topology import Topology
from policycheck.simulate.waits import Completion, Stretch, Waits

HOUR = 3_600_000  # ms
DIGITS = 6  # of shares; more is noise
WORST = 1000  # stretched jobs that are listed
UNNAMED = "(none)"


class Book:
    """How numbers are written, and why some are not there."""

    def __init__(self, resource: str) -> None:
        self.scale = 1000 if resource == "cpu" else 1
        self.unknown: dict[str, str] = {}

    def time(self, ms: Number) -> Number:
        """Milliseconds in seconds."""
        return _plain(ms, 1000)

    def amount(self, units: int) -> Number:
        """Base units as people count them."""
        return _plain(units, self.scale)

    def hours(self, unit_ms: int) -> float:
        """Units times milliseconds in hours of what people count."""
        return round(unit_ms / (HOUR * self.scale), DIGITS)

    def ratio(self, place: str, ratio: Ratio) -> float | None:
        """The share, or null with the reason under ``place``."""
        value = ratio.value
        if value is None:
            self.unknown[place] = ratio.why
            return None
        return round(value, DIGITS)

    def missing(self, place: str, why: str) -> None:
        """Nothing is known under ``place``."""
        self.unknown[place] = why

    def spread(self, place: str, found: Spread, *, times: bool = True) -> dict[str, Any]:
        """Percentiles, in seconds unless they are no ``times``."""
        if not found.size:
            self.unknown[place] = found.why

        def written(value: Number | None) -> Number | None:
            if value is None:
                return None
            return self.time(value) if times else round(value, DIGITS)

        mean = found.mean
        return {
            "count": found.size,
            "p50": written(found.p50),
            "p90": written(found.p90),
            "p99": written(found.p99),
            "max": written(found.most),
            "mean": None if mean is None else round(mean / 1000 if times else mean, 3),
            "censored": found.censored,
            "lowerBounds": list(found.bounds),
        }


def _plain(value: Number, scale: int) -> Number:
    return value // scale if value % scale == 0 else value / scale


def values(found: Metrics, book: Book) -> dict[str, Any]:
    """The value of ``metrics``."""
    at = "metrics"
    cluster, work = found.cluster, found.work
    return {
        "utilisation": {
            "allocated": book.ratio(f"{at}.utilisation.allocated", cluster.allocated),
            "basis": cluster.basis,
            "capacity": book.amount(cluster.capacity),
            "saturatedShareOfTime": book.ratio(f"{at}.utilisation.saturatedShareOfTime", cluster.saturated),
            "atSaturation": book.ratio(f"{at}.utilisation.atSaturation", cluster.at_saturation),
            "waitingShareOfTime": book.ratio(f"{at}.utilisation.waitingShareOfTime", cluster.waiting),
        },
        "queues": {q.name: _queue(f"{at}.queues.{q.name}", q, book) for q in found.queues},
        "priorities": {g.key: _group(f"{at}.priorities.{g.key}", g, book) for g in found.priorities},
        "classes": {
            g.key or UNNAMED: _group(f"{at}.classes.{g.key or UNNAMED}", g, book) for g in found.classes
        },
        "jobs": _jobs(f"{at}.jobs", found, book),
        "preemption": _preemption(f"{at}.preemption", found.preemption, book),
        "thrash": _thrash(found.preemption.thrash, book),
        "work": {
            "gpuHours": book.hours(work.held),
            "ranGpuHours": book.hours(work.run),
            "wastedGpuHours": book.hours(work.lost),
            "wastedShare": book.ratio(f"{at}.work.wastedShare", work.wasted),
            "goodput": book.ratio(f"{at}.work.goodput", work.goodput),
            "inferenceShare": book.ratio(f"{at}.work.inferenceShare", work.service),
        },
        "fragmentation": _fragmentation(f"{at}.fragmentation", found.fragmentation, book),
        "topology": _topology(f"{at}.topology", found.topology, book),
        "fairness": _fairness(f"{at}.fairness", found, book),
        "scheduler": {
            "cycles": found.effort.cycles,
            "nominations": found.effort.nominations,
            "nominationsPerAdmission": book.ratio(
                f"{at}.scheduler.nominationsPerAdmission", found.effort.per_admission
            ),
        },
    }


def _counts(jobs: Count) -> dict[str, Any]:
    return {
        "submitted": jobs.submitted,
        "reserved": jobs.reserved,
        "started": jobs.started,
        "finished": jobs.finished,
        "running": jobs.running,
        "holding": jobs.holding,
        "pending": jobs.pending,
        "refused": jobs.refused,
    }


def _waits(at: str, waits: Waits, book: Book) -> dict[str, Any]:
    return {
        "wait": book.spread(f"{at}.wait", waits.first),
        "totalWait": book.spread(f"{at}.totalWait", waits.total),
        "quotaReservedWait": book.spread(f"{at}.quotaReservedWait", waits.reserved),
        "readyWait": book.spread(f"{at}.readyWait", waits.ready),
    }


def _queue(at: str, queue: QueueMetrics, book: Book) -> dict[str, Any]:
    use = queue.use
    if queue.nominal >= UNLIMITED:
        book.missing(f"{at}.nominal", "it has no limit")
    return {
        "cohort": queue.cohort or None,
        "nominal": book.amount(queue.nominal) if queue.nominal < UNLIMITED else None,
        **_counts(queue.jobs),
        **_waits(at, queue.waits, book),
        "byPriority": {
            str(rank): book.spread(f"{at}.byPriority.{rank}", found) for rank, found in queue.by_priority
        },
        "preemptedJobs": queue.preempted.part,
        "preemptedShare": book.ratio(f"{at}.preemptedShare", queue.preempted),
        "utilisation": book.ratio(f"{at}.utilisation", use.utilisation),
        "peak": book.amount(use.peak),
        "gpuHours": book.hours(use.used),
        "borrowedGpuHours": book.hours(use.borrowed),
        "guaranteeHonoured": book.ratio(f"{at}.guaranteeHonoured", use.honoured),
        "guaranteeHonouredGpuTime": book.ratio(f"{at}.guaranteeHonouredGpuTime", use.honoured_amount),
        "reclaimLatency": book.spread(f"{at}.reclaimLatency", use.reclaims),
        "shareOfEntitled": book.ratio(f"{at}.shareOfEntitled", use.share),
        "waitingShareOfTime": book.ratio(f"{at}.waitingShareOfTime", use.waiting),
    }


def _group(at: str, group: Group, book: Book) -> dict[str, Any]:
    return {
        "names": list(group.names),
        **_counts(group.jobs),
        **_waits(at, group.waits, book),
        "stretch": _stretch(f"{at}.stretch", group.stretch, book, worst=0),
        "preemptedShare": book.ratio(f"{at}.preemptedShare", group.preempted),
    }


def _jobs(at: str, found: Metrics, book: Book) -> dict[str, Any]:
    if found.makespan is None:
        book.missing(f"{at}.makespan", found.makespan_why)
    return {
        **_counts(found.jobs),
        "services": found.jobs.services,
        "outsideQueues": found.outside,
        **_waits(at, found.waits, book),
        **_completion(at, found.completion, book),
        "stretch": _stretch(f"{at}.stretch", found.stretch, book),
        "makespan": None if found.makespan is None else book.time(found.makespan),
        "preemptedShare": book.ratio(f"{at}.preemptedShare", found.preemption.share),
    }


def _completion(at: str, found: Completion, book: Book) -> dict[str, Any]:
    if found.tail is None:
        book.missing(f"{at}.completion.p99OverP50", found.tail_why)
    tail = None if found.tail is None else round(found.tail, 3)
    return {
        "completion": {**book.spread(f"{at}.completion", found.time), "p99OverP50": tail},
        "slowdown": book.spread(f"{at}.slowdown", found.slowdown, times=False),
        "boundedSlowdown": book.spread(f"{at}.boundedSlowdown", found.bounded, times=False),
    }


def _stretch(at: str, found: Stretch, book: Book, worst: int = WORST) -> dict[str, Any]:
    told: dict[str, Any] = {
        **book.spread(at, found.spread, times=False),
        "over5": found.over5,
        "over10": found.over10,
    }
    if worst:
        told["worst"] = [
            {
                "workload": one.job,
                "queue": one.queue,
                "class": one.klass or None,
                "ownTime": book.time(one.own),
                "times": round(one.times, 3),
                "finished": one.done,
            }
            for one in found.jobs[:worst]
        ]
    return told


def _preemption(at: str, found: Preemption, book: Book) -> dict[str, Any]:
    return {
        "share": book.ratio(f"{at}.share", found.share),
        "line": HEALTHY.value,
        "healthy": found.healthy,
        "jobs": found.share.part,
        "starts": found.starts,
        "byQueue": {name: book.ratio(f"{at}.byQueue.{name}", r) for name, r in found.by_queue.items()},
        "byPriority": {
            str(rank): book.ratio(f"{at}.byPriority.{rank}", r)
            for rank, r in sorted(found.by_priority.items(), reverse=True)
        },
        "byReason": {
            one.reason: {
                **_eviction(f"{at}.byReason", one, book),
                "share": book.ratio(f"{at}.byReason.{one.reason}.share", found.by_reason[one.reason]),
            }
            for one in found.causes
        },
        "evictions": {one.reason: _eviction(f"{at}.evictions", one, book) for one in found.evictions},
    }


def _eviction(at: str, one: Eviction, book: Book) -> dict[str, Any]:
    return {
        "times": one.times,
        "jobs": one.jobs,
        "perStart": book.ratio(f"{at}.{one.reason}.perStart", one.per_start),
    }


def _thrash(found: Thrash, book: Book) -> dict[str, Any]:
    return {
        "preemptedOften": [{"workload": job, "times": times} for job, times in found.often],
        "exchanges": [{"workloads": [one.first, one.second], "times": one.times} for one in found.exchanges],
        "loops": [
            {"time": book.time(loop.at), "workloads": list(loop.workloads), "times": loop.times}
            for loop in found.loops
        ],
    }


def _fragmentation(at: str, found: Fragmentation, book: Book) -> dict[str, Any] | None:
    if found.why:
        book.missing(at, found.why)
        return None
    return {
        "share": book.ratio(f"{at}.share", found.fragment),
        "largestGangShare": book.ratio(f"{at}.largestGangShare", found.gang),
        "brokenShareOfTime": book.ratio(f"{at}.brokenShareOfTime", found.broken),
        "worst": None if found.worst is None else _supply(found.worst, book),
        "series": [
            {
                "time": book.time(one.at),
                "share": _rounded(one.fragment),
                "largestGangShare": _rounded(one.gang),
            }
            for one in found.series
        ],
    }


def _rounded(ratio: Ratio) -> float | None:
    """A point of a series: where nothing was free there is nothing to say, point by point."""
    return None if ratio.value is None else round(ratio.value, DIGITS)


def _supply(one: Supply, book: Book) -> dict[str, Any]:
    return {
        "time": book.time(one.at),
        "free": book.amount(one.free),
        "largest": book.amount(one.largest),
        "allowed": book.amount(one.allowed),
    }


def _topology(at: str, found: Topology, book: Book) -> dict[str, Any]:
    if found.why:
        book.missing(f"{at}.levels", found.why)
    return {
        "levels": [
            {
                "level": one.level,
                "gangs": one.gangs,
                "oneDomainShare": book.ratio(f"{at}.levels.{one.level}.oneDomainShare", one.one),
                "leastPossibleShare": book.ratio(f"{at}.levels.{one.level}.leastPossibleShare", one.best),
                "domainsOverLeast": book.ratio(f"{at}.levels.{one.level}.domainsOverLeast", one.stretch),
                "mostDomains": one.most,
            }
            for one in found.levels
        ],
        "jobsWithoutNodes": found.unplaced_jobs,
        "podsWithoutNodes": found.unplaced_pods,
    }


def _fairness(at: str, found: Metrics, book: Book) -> dict[str, Any]:
    fair = found.fairness
    if fair.jain is None:
        book.missing(f"{at}.jain", fair.jain_why)
    return {
        "jain": None if fair.jain is None else round(fair.jain, DIGITS),
        "queues": fair.queues,
        "finishTime": book.spread(f"{at}.finishTime", fair.finish, times=False),
    }


def stuck(job: Stuck, book: Book) -> dict[str, Any]:
    """One job that waits at the end, or was refused."""
    return {
        "workload": job.job,
        "queue": job.queue or None,
        "priority": job.priority,
        "priorityClass": job.priority_class or None,
        "class": job.klass or None,
        "pods": job.pods,
        "gpus": book.amount(job.amount),
        "since": book.time(job.since),
        "waited": book.time(job.waited),
        "reason": job.reason or None,
        "message": job.why or None,
        "requeues": job.requeues,
        "evictedBy": job.evicted_by or None,
        "holdsQuota": job.holds,
        "starved": job.starved,
        "overtakenBy": job.overtaken or None,
    }
