"""Recorded jobs: what a trace holds, and how the user wants it read and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.simulate.mix import Topology

BY_TIME, BY_ARRIVAL = "time", "arrival"
BY_NAME, SPREAD, SPREAD_JOBS = "name", "spread", "spread-jobs"


class Size(NamedTuple):
    """What a recorded job asks for: pods, and for each of them accelerators (``milli`` below 1000: so much
    of one), cpu and memory in base units. Jobs of one size share the object.
    """

    pods: int
    gpus: int
    milli: int
    cpu: int
    memory: int

    @property
    def units(self) -> float:
        """Accelerators of all pods; a share counts as a part."""
        return self.pods * self.gpus * self.milli / 1000


class Row(NamedTuple):
    """One recorded job. Times in ms; ``line`` is its line in the file."""

    line: int
    id: str
    submit: int
    duration: int
    size: Size
    queue: str
    priority: str
    models: tuple[str, ...]
    state: str


class Reading(NamedTuple):
    """How a trace is read. ``columns`` maps fields to columns; times in ms of the trace's own clock, counted
    from its first job.
    """

    columns: Mapping[str, str] = {}
    pod_gpus: int = 8  # the most that one pod has of a job's accelerators
    keep_good: bool = False  # leave out lines that can not be read, and count them
    without_gpus: bool = False  # keep jobs that ask for no accelerator
    never_ran: bool = False  # keep jobs that ran for no time
    skip_states: tuple[str, ...] = ()
    start: int = 0
    end: int = 0  # 0: all


class Replaying(NamedTuple):
    """How rows become jobs.

    ``order`` BY_TIME keeps the recorded times, made ``compress`` times as dense; BY_ARRIVAL shuffles the
    jobs, sends one every ``step`` ms, and goes on drawing with replacement until so much was asked for as
    ``until`` times the capacity; then nothing ends, as in the experiments that packing is compared by.
    ``queues`` maps the trace's queues to queues in sight ("*" for all others); a value BY_NAME, SPREAD (whole
    recorded queues) or SPREAD_JOBS (job by job) says how; left out, it is by name if all are in sight, else
    spread. ``priorities`` maps what the trace calls a priority to a number.
    """

    order: str = BY_TIME
    compress: float = 1.0
    until: float = 1.3
    step: int = 1000
    queues: Mapping[str, str] = {}
    priorities: Mapping[str, int] = {}
    checkpoint: int = 0
    startup: int = 0
    topology: Topology | None = None  # what gangs ask for; traces do not tell


class Trace(NamedTuple):
    """What was read: rows in order of (submit, line), and what there is to say of it."""

    file: str
    rows: tuple[Row, ...]
    digest: str
    notes: tuple[str, ...] = ()
