"""The Workloads that stand for jobs of a simulation, and times as Kueue writes them."""

from __future__ import annotations

from sys import intern

from policycheck.simulate.job import SECOND, Job
from policycheck.systems.core.podspec import plain_number
from policycheck.systems.kueue.jobs import MAX_EXECUTION
from policycheck.systems.kueue.model import KueueWorkload

NANOS = 1_000_000  # in a millisecond
_DAY = 86_400_000
_YEARS = 400 * 365 + 97  # days of 400 years


def stamp(at: int) -> str:
    """RFC 3339 of a time in ms since the beginning of year 1; the inverse of ``moment``."""
    days, rest = divmod(at, _DAY)
    eras, day = divmod(days + 306, _YEARS)  # from 1 March of a year 0 that divides by 400
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year += 400 * eras + (month >= 10)
    seconds, millis = divmod(rest, SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    date = f"{year:04d}-{(month + 2) % 12 + 1:02d}-{day + 1:02d}"
    return f"{date}T{clock}.{millis:03d}Z" if millis else f"{date}T{clock}Z"


def workload(job: Job, number: int, created: str) -> KueueWorkload:
    """The Workload that stands for ``job``. Of two with the same time the one that arrived first has the
    lower uid, since nothing else is known of it.
    """
    namespace, _, name = job.id.rpartition("/")
    return KueueWorkload(
        namespace=intern(namespace),
        name=name,
        queue=job.queue,
        pod_sets=job.pod_sets,
        priority=job.priority,
        priority_class=job.priority_class,
        created=created,
        uid=f"{number:09d}",
        labels=job.labels,
        annotations=job.annotations,
        max_execution_seconds=plain_number(job.labels.get(MAX_EXECUTION, "")) if job.labels else None,
    )
